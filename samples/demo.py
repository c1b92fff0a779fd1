"""`make demo`: what howcome does, on the sample transcripts (and on yours, if any), in a throw-away store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

SAMPLES = Path(__file__).resolve().parent
PROJECT = "/home/dev/tidepool"
HOWCOME = [sys.executable, "-m", "howcome"]
PROMPTS = (
    ("asks for a decision in other words", "Should we use redis to drop readings that a gauge sends twice?"),
    ("is about to repeat a mistake", "The migration fails with duplicate column name, what do I do?"),
    ("has nothing to do with the past", "Write a haiku about the sea."),
)
OWN_BYTES = 50_000_000


def main() -> None:
    """Imports, distils, searches, and shows what a new session's model would receive."""
    with tempfile.TemporaryDirectory(prefix="howcome-demo-") as home:
        environment = surroundings(home)
        step("1. Read the transcripts of two agents about one invented project")
        run(["import", str(SAMPLES / "claude-code"), str(SAMPLES / "codex")], environment)
        step("2. What the sessions taught: no model is asked")
        run(["distil"], environment)
        run(["memories", "--project", PROJECT], environment)
        step("3. Ask")
        run(["search", "--project", PROJECT, "--limit", "3", "why not redis for duplicates"], environment)
        step("4. Start a new session: what its model would receive")
        print("\n   as it begins:\n")
        print(textwrap.indent(injected("SessionStart", PROJECT, environment, source="startup"), "   | "))
        for what, prompt in PROMPTS:
            print(f"\n   with a prompt that {what}:\n   > {prompt}\n")
            said = injected("UserPromptSubmit", PROJECT, environment, prompt=prompt)
            print(textwrap.indent(said or "(nothing: it stays silent)", "   | "))
    own_transcripts()
    step("Next: `howcome init` connects Claude Code, `howcome import` reads the sessions you already have")


def surroundings(home: str) -> dict[str, str]:
    """A store of its own, searched by words: no model is built, and no output is held back by a pager."""
    return {**os.environ, "HOWCOME_HOME": home, "HOWCOME_EMBEDDING": "off", "PAGER": "cat"}


def own_transcripts() -> None:
    """The same on this machine's newest transcripts, in another throw-away store."""
    root = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"
    found = sorted(root.rglob("*.jsonl"), key=lambda path: path.stat().st_mtime, reverse=True) if root.is_dir() else []
    chosen, size = [], 0
    for path in found:
        size += path.stat().st_size
        if size > OWN_BYTES and chosen:
            break
        chosen.append(str(path))
    if not chosen:
        return
    step(f"5. Your own {len(chosen)} newest transcripts, read into a store that is thrown away")
    with tempfile.TemporaryDirectory(prefix="howcome-demo-") as home:
        environment = surroundings(home)
        run(["import", *chosen], environment)
        run(["search", "--all-projects", "--by", "session", "--limit", "3", "what did we decide and why"], environment)


def injected(event: str, cwd: str, environment: dict[str, str], **fields: str) -> str:
    """What a hook answers, as the agent gets it."""
    payload = {"hook_event_name": event, "session_id": "a-new-session", "cwd": cwd, **fields}
    done = subprocess.run(
        [*HOWCOME, "hook", event], input=json.dumps(payload), env=environment, text=True,
        capture_output=True, check=True,
    )  # fmt: skip
    if not done.stdout:
        return ""
    context: str = json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    return context


def run(arguments: list[str], environment: dict[str, str]) -> None:
    """One command, shown and run."""
    shown = [Path(word).name if word.startswith(str(SAMPLES.parent)) else word for word in arguments]
    print(f"   $ howcome {' '.join(json.dumps(word) if ' ' in word else word for word in shown[:8])}", flush=True)
    progress = None if sys.stderr.isatty() else subprocess.DEVNULL
    subprocess.run([*HOWCOME, *arguments], env=environment, check=True, stderr=progress)


def step(title: str) -> None:
    """A heading."""
    print(f"\n{title}\n{'-' * min(len(title), shutil.get_terminal_size().columns)}", flush=True)


if __name__ == "__main__":
    main()
