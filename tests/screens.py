"""`make screens`: what people see, on the sample transcripts: text and pictures (SVG, dark and light) in `.screens/`.

Each command runs in a real terminal of 80 and of 120 columns, there with NO_COLOR, too, and in a pipe.
`python -m tests.screens docs` makes the pictures of the documents instead, in `docs/screens/`.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME, DIMMED_MONOKAI
from rich.text import Text
from tests import viewer_screens
from tests.builders import START, Claude, write

from howcome.domain.events import squeeze

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).resolve().parents[1]
SAMPLES, FOLDER, DOCUMENTS = ROOT / "samples", ROOT / ".screens", ROOT / "docs" / "screens"
PROJECT = "/home/dev/tidepool"
PROGRAM = [sys.executable, "-m", "howcome"]
TOLD = "Should we use redis to drop readings that a gauge sends twice?"
_HERE = ("--project", "tidepool")
COMMANDS = {
    "search": ("search", *_HERE, "-n", "4", "why not redis for duplicates"),
    "timeline": ("timeline", *_HERE),
    "timeline-session": ("timeline", "c41d7e96"),
    "show-event": ("show", "EVENT"),
    "show-memory": ("show", "MEMORY"),
    "memories": ("memories", *_HERE),
    "memories-why": ("memories", "--why", "MEMORY"),
    "status": ("status",),
    "remember": ("remember", *_HERE, "--type", "decision", "Gauges are polled each minute: their modem sleeps."),
    "learnt": ("learnt", *_HERE),
    "receipt": ("receipt", *_HERE, "--since", "1d"),
    "stats": ("stats", *_HERE, "--by", "session"),
    "patterns": ("patterns", *_HERE),
    "why": ("why", *_HERE),
    "doctor": ("doctor",),
    "init": ("init", "--dry-run"),
}  # fmt: skip
"""The commands for people; EVENT and MEMORY are the ids of the first that `search` and `memories` name."""

_THEMES = {"dark": DIMMED_MONOKAI, "light": DEFAULT_TERMINAL_THEME}
_LINES = 400
_DOCUMENT_COLUMNS, _SHOWN = 90, ("search", "timeline")


def prepared(folder: Path) -> dict[str, str]:
    """A machine with the samples as its history, all read and distilled, and a prompt that was told something."""
    home = folder / "home"
    shutil.copytree(SAMPLES / "claude-code", home / ".claude")
    shutil.copytree(SAMPLES / "codex", home / ".codex")
    environment = {
        "HOME": str(home), "HOWCOME_HOME": str(home / ".howcome"), "PATH": os.environ["PATH"], "PAGER": "cat",
        "TERM": "xterm-256color", "TZ": "Europe/Berlin", "LANG": "C.UTF-8", "HOWCOME_EMBEDDING": "off",
        "HOWCOME_TRANSCRIPT_FOLDERS": str(folder),
    }  # fmt: skip
    for arguments in (["import"], ["distil"]):
        in_a_pipe(arguments, environment)
    begun = {"hook_event_name": "SessionStart", "session_id": "a-new-session", "cwd": PROJECT, "source": "startup"}
    in_a_pipe(["hook", "SessionStart"], environment, json.dumps(begun))
    told(environment, TOLD, "a-new-session")
    return environment


def in_a_pipe(arguments: list[str], environment: Mapping[str, str], data: str = "") -> str:
    """What a command prints where nobody looks."""
    done = subprocess.run(
        [*PROGRAM, *arguments], env=environment, input=data, capture_output=True, text=True, check=False,
        cwd=environment["HOME"],
    )  # fmt: skip
    return done.stdout + done.stderr


def on_a_terminal(arguments: list[str], environment: Mapping[str, str], columns: int) -> str:
    """What a command prints on a terminal so wide."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", _LINES, columns, 0, 0))
    started = subprocess.Popen(
        [*PROGRAM, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environment,
        cwd=environment["HOME"],
    )  # fmt: skip
    os.close(follower)
    shown = b""
    try:
        while part := os.read(leader, 1 << 16):
            shown += part
    except OSError:  # the other side is closed
        pass
    started.wait(60)
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def arguments_of(name: str, environment: Mapping[str, str]) -> list[str]:
    """A command of `COMMANDS`, with the ids that the store gives."""
    words = list(COMMANDS[name])
    for place, (listing, pattern) in {"EVENT": ("search", r"ev-\w+"), "MEMORY": ("memories", r"mem-\w+")}.items():
        if place in words:
            found = re.findall(pattern, in_a_pipe(list(COMMANDS[listing]), environment))
            words[words.index(place)] = found[0]
    return words


def picture(shown: str, columns: int, title: str, theme: str) -> str:
    """A screen as SVG."""
    with open(os.devnull, "w") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, legacy_windows=False)
        console.print(Text.from_ansi(shown), soft_wrap=False)
    return console.export_svg(title=squeeze(title, columns - 20), theme=_THEMES[theme])


def told(environment: Mapping[str, str], prompt: str, session: str) -> str:
    """What the hook of a prompt says to the model."""
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": session, "cwd": PROJECT, "prompt": prompt}
    answer = in_a_pipe(["hook", "UserPromptSubmit"], environment, json.dumps(payload))
    context: str = json.loads(answer)["hookSpecificOutput"]["additionalContext"]
    return context


def of_documents() -> None:
    """The pictures that the README and the guide show: a prompt before and after, and two commands."""
    DOCUMENTS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="howcome-screens-") as temporary:
        environment = prepared(Path(temporary))
        after = told(environment, TOLD, "another-session")
        shown = (
            f"\x1b[2mBefore: a new session's model gets your prompt.\x1b[0m\n\n\x1b[1m> {TOLD}\x1b[0m\n\n\n"
            "\x1b[2mAfter: with it, what an earlier session decided, and why.\x1b[0m\n\n"
            f"\x1b[1m> {TOLD}\x1b[0m\n\n\x1b[36m{after}\x1b[0m\n"
        )
        (DOCUMENTS / "prompt.svg").write_text(picture(shown, _DOCUMENT_COLUMNS, "a prompt, some weeks later", "dark"))
        for name in _SHOWN:
            arguments = arguments_of(name, environment)
            shown = on_a_terminal(arguments, environment, _DOCUMENT_COLUMNS)
            title = " ".join(["howcome", *arguments])
            (DOCUMENTS / f"{name}.svg").write_text(picture(shown, _DOCUMENT_COLUMNS, title, "dark"))
        for session in ("a-new-session", "another-session"):
            talk = Claude(session, cwd=PROJECT, start=int(time.time() - START.timestamp()))
            read = Path(environment["HOME"]) / ".claude" / "projects" / "-new" / f"{session}.jsonl"
            write(read, talk.user(TOLD), talk.text("No: a restart of Redis loses what it has seen. The upsert stays."))
        in_a_pipe(["import"], environment)
        viewer_screens.of_documents(environment, DOCUMENTS)


def main() -> None:
    """Records every command into `.screens/`."""
    if sys.argv[1:] == ["docs"]:
        of_documents()
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    with tempfile.TemporaryDirectory(prefix="howcome-screens-") as temporary:
        environment = prepared(Path(temporary))
        store, kept = Path(environment["HOWCOME_HOME"]), Path(temporary) / "kept"
        shutil.copytree(store, kept)

        def again() -> dict[str, str]:
            """The same store for each: a command may change it."""
            shutil.rmtree(store)
            shutil.copytree(kept, store)
            return environment

        for name in COMMANDS:
            arguments = arguments_of(name, environment)
            title = " ".join(["howcome", *arguments])
            (FOLDER / f"{name}.pipe.txt").write_text(in_a_pipe(arguments, again()))
            for columns in (80, 120):
                plain = on_a_terminal(arguments, {**again(), "NO_COLOR": "1"}, columns)
                (FOLDER / f"{name}.{columns}.txt").write_text(plain)
                shown = on_a_terminal(arguments, again(), columns)
                for theme in _THEMES:
                    (FOLDER / f"{name}.{columns}.{theme}.svg").write_text(picture(shown, columns, title, theme))
            print(f"{name}: {title}", flush=True)
        viewer_screens.of_pages(again(), FOLDER)
    print(f"in {FOLDER.name}/: NAME.COLUMNS.THEME.svg, NAME.COLUMNS.txt (NO_COLOR), NAME.pipe.txt, view-PAGE….png")


if __name__ == "__main__":
    main()
