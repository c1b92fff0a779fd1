"""Writes the Claude Code plugin (`plugin/`) from the code: `python -m tests.plugin`. A test checks that it is current.

Its launcher (`launch.sh`) and its page are written by hand; the links in it bring the package's source along.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from howcome.clients.claude_code import CLIENT
from howcome.clients.wiring import SERVER, Install

ROOT = Path(__file__).resolve().parents[1]
ASSETS = ROOT / "src" / "howcome" / "clients" / "assets"
LAUNCH = '"${CLAUDE_PLUGIN_ROOT}/launch.sh"'


def plugin_files() -> dict[str, str]:
    """What is generated: a path from the repository's root, and its text."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    about = {name: project[name] for name in ("name", "version", "description", "license", "keywords")}
    author = {"name": SERVER}
    listed = {"name": SERVER, "source": "./plugin", "description": project["description"]}
    hooks = {
        entry.path[-1]: [{**({"matcher": entry.matcher} if entry.matcher else {}), "hooks": [entry.value]}]
        for entry in Install(_command, (), {}).hooks(CLIENT.wired_hooks())
    }
    server = {"command": "sh", "args": ["${CLAUDE_PLUGIN_ROOT}/launch.sh", "mcp"]}
    return {
        ".claude-plugin/marketplace.json": _json(
            {"name": SERVER, "owner": author, "description": project["description"], "plugins": [listed]}
        ),
        "plugin/.claude-plugin/plugin.json": _json({**about, "author": author}),
        "plugin/hooks/hooks.json": _json({"hooks": hooks}),
        "plugin/.mcp.json": _json({"mcpServers": {SERVER: server}}),
        "plugin/skills/temporal-recall/SKILL.md": _as_plugins(ASSETS / "SKILL.md"),
        **{f"plugin/commands/{file.name}": _as_plugins(file) for file in sorted(ASSETS.glob("commands/*.md"))},
    }


def _command(event: str) -> str:
    """A hook's shell command: always exit 0, whatever is missing."""
    return f"sh {LAUNCH} {event} 2>/dev/null || true"


def _as_plugins(path: Path) -> str:
    """A text of ours with the names that a plugin's tools have in the client."""
    return path.read_text(encoding="utf-8").replace(f"mcp__{SERVER}__", f"mcp__plugin_{SERVER}_{SERVER}__")


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name, text in plugin_files().items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(text, encoding="utf-8")
