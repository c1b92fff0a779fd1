"""Wiring agents in the home of a test, and looking at what is there then."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from howcome.clients.registry import DEFAULT, client_of, names
from howcome.wiring import FileReport, Owner, install, parts_of, uninstall, wired_parts
from howcome.wiring.json_text import JsonText

AGENTS = names()
CLAUDE_CODE = client_of(DEFAULT)
assert CLAUDE_CODE is not None
EVENT_TIMEOUTS = {event: hook.timeout for event, hook in CLAUDE_CODE.wired_hooks().items()}
"""Every hook event that is installed for Claude Code, with its timeout."""


def put(home: Path, files: dict[str, bytes]) -> None:
    """Files of the user's."""
    for name, data in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_bytes(data)


def files(home: Path) -> dict[str, bytes | None]:
    """Every file and folder of the home, but the memory's."""
    found = [path for path in home.rglob("*") if ".howcome" not in path.relative_to(home).parts[:1]]
    return {str(path.relative_to(home)): path.read_bytes() if path.is_file() else None for path in found}


def wire(agent: str, **options: Any) -> list[FileReport]:
    """Connect one agent."""
    owner = Owner(agent, **options)
    return install(owner, parts_of(owner), Path(os.environ["HOME"]) / ".howcome")


def unwire(agent: str, **options: Any) -> list[FileReport]:
    """Disconnect it."""
    owner = Owner(agent, **options)
    return uninstall([(owner, wired_parts(owner))], Path(os.environ["HOME"]) / ".howcome")


def values(path: Path) -> Any:
    """What an agent reads in its file."""
    text = path.read_text()
    return tomllib.loads(text) if path.suffix == ".toml" else JsonText(text, comments=True).document
