"""The words a session is written in: steps of a prompt and the model's turns, and the tools it calls."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tests.client.script import DEFAULT_SUMMARY, Call, Turn, call

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime
    from pathlib import Path

ROOT = "@project@"


@dataclass(frozen=True)
class Step:
    """One prompt and the model's turns for it."""

    prompt: str
    turns: Sequence[Turn] = ()
    subagent: Sequence[Turn] = ()
    summary: str = DEFAULT_SUMMARY


def _nothing(project: Path) -> None:
    """Leave the tree as the session before left it."""


@dataclass(frozen=True)
class Session:
    """One session: its id and clock, what is put into the tree before it, its steps, the commit after it."""

    session_id: str
    start: datetime
    commit: str
    steps: Sequence[Step]
    prepare: Callable[[Path], None] = _nothing


def read(name: str, text: str = "") -> Turn:
    """Build a turn that reads a file of the project."""
    return call("Read", text, file_path=f"{ROOT}/{name}")


def write(name: str, content: str, text: str = "") -> Turn:
    """Build a turn that writes a file of the project."""
    return call("Write", text, file_path=f"{ROOT}/{name}", content=content)


def edit(name: str, old: str, new: str, text: str = "") -> Turn:
    """Build a turn that edits a file of the project."""
    return call("Edit", text, file_path=f"{ROOT}/{name}", old_string=old, new_string=new)


def bash(command: str, description: str, text: str = "") -> Turn:
    """Build a turn that runs a command."""
    return call("Bash", text, command=command, description=description)


def placed(turns: Sequence[Turn], project: Path) -> list[Turn]:
    """Put the real folder of the project into the tool calls."""
    return [replace(turn, calls=tuple(_placed(c, project) for c in turn.calls)) for turn in turns]


def _placed(tool: Call, project: Path) -> Call:
    """Put the real folder into one call."""
    values: dict[str, Any] = {
        key: value.replace(ROOT, str(project)) if isinstance(value, str) else value for key, value in tool.input.items()
    }
    return Call(tool.name, values)
