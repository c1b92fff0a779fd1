"""The manifest of a window that is compacted: what its summary loses, so that the work goes on where it stood.

The commands with what became of them, the files that were changed, what is unfinished, and the user's last words, all
of the session itself. Summaries keep the story and drop exactly these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os.path import commonprefix

from howcome.domain import events
from howcome.domain.commands import LOOKING
from howcome.domain.stored import StoredEvent
from howcome.domain.text import tokens
from howcome.learn.actions import Action
from howcome.learn.base import stream_of
from howcome.learn.scene import Said, Scene, scene_of
from howcome.learn.shell import commands
from howcome.learn.sources.open_ends import todos_left
from howcome.learn.sources.seen import one_line

LAST_EVENTS = 3000
"""Of a long session so many events, the last, are looked at: some days of work."""

COMMANDS, CHANGED, READ, WORDS, TODOS = 16, 20, 20, 5, 10
MAX_COMMAND_CHARS, MAX_WORDS_CHARS, MAX_TODO_CHARS = 100, 160, 100
"""Of the commands and paths of 289 real tasks nine in ten are named (`benchmarks/compaction.py`)."""


def manifest(told: Sequence[StoredEvent], limit_tokens: int) -> list[str]:
    """The lines of the manifest of a session (with texts), the most needed first, within a limit."""
    recent = [event for event in told if event.agent_id is None][-LAST_EVENTS:]
    scenes = [scene_of(exchange) for exchange in stream_of(recent)]
    actions = [action for scene in scenes for action in scene.actions]
    lines: list[str] = []
    for line in _lines(scenes, actions):
        limit_tokens -= tokens(line) + 1
        if limit_tokens < 0:
            break
        lines.append(line)
    return lines


def _lines(scenes: Sequence[Scene], actions: Sequence[Action]) -> Iterator[str]:
    left = [one_line(item, MAX_TODO_CHARS) for item in todos_left(actions)]
    if left:
        yield f"Unfinished: {'; '.join(left[:TODOS])}"
    yield from _files([action for action in reversed(actions) if action.call.file and not action.has_failed])
    words = [said for scene in scenes for said in scene.user_said() if said.event.kind == events.USER_PROMPT]
    once: dict[str, Said] = {}  # a prompt that waited is told where it came and where it ran
    for said in reversed(words):
        once.setdefault(said.text, said)
    for said in list(once.values())[:WORDS]:
        yield f"[{said.event.id}] user: {one_line(said.text, MAX_WORDS_CHARS)}"
    ran: dict[str, Action] = {}
    for action in reversed(actions):
        if action.command and action.result is not None and not _only_looks(action.command):
            ran.setdefault(without_cuts(action.command), action)
    for action in list(ran.values())[:COMMANDS]:
        code = action.result.exit_code if action.result is not None else None
        failed = f"failed with {code}" if code else "failed"
        became = failed if action.has_failed else "worked"
        yield f"[{action.call.id}] `{one_line(action.command, MAX_COMMAND_CHARS)}` {became}"


def _files(actions: Sequence[Action]) -> Iterator[str]:
    """The files that were changed, and those that were only read, the last first, by their paths below one folder."""
    changed = list(dict.fromkeys(action.call.file or "" for action in actions if action.is_edit))[:CHANGED]
    read = [file for file in dict.fromkeys(action.call.file or "" for action in actions) if file not in changed][:READ]
    common = commonprefix(changed or read)  # noqa: RUF071 - cut at a slash; some paths may be relative
    folder = common[: common.rfind("/") + 1]
    for head, files in (("Changed files", changed), ("Looked at", read)):
        if files:
            below = f" (below {folder})" if len(folder) > 1 else ""
            yield f"{head}{below}, the last first: {', '.join(file.removeprefix(folder) for file in files)}"


def without_cuts(command: str) -> str:
    """A command without what only cuts its output: run with another cut it is the same one."""
    parts = command.split(" | ")
    while len(parts) > 1 and parts[-1].split(None, 1)[0:1] and parts[-1].split(None, 1)[0] in LOOKING:
        parts.pop()
    return " | ".join(parts).removesuffix(" 2>&1").strip()


def _only_looks(command: str) -> bool:
    """Whether a command did nothing but look: what it found stands in the files."""
    parts = commands(command)
    return bool(parts) and all(part.program in LOOKING for part in parts)
