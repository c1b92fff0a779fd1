"""Memories as Markdown that a person edits and reads back: one line each, `- [type] text (mem-3f9a…, 2026-11-24)`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from howcome.domain.memories import TYPES, Memory
from howcome.domain.times import iso_day
from howcome.errors import NotFoundError, UsageError
from howcome.memory.export import new_line
from howcome.memory.remember import Memories

HEAD = "# Memories"
_NOTE = (
    "<!-- Change a text, or add lines `- [decision] …`; then: howcome import-memories --mine FILE. A line that you take"
    " out changes nothing: howcome forget ID does. -->"
)
_MEMORY = re.compile(rf"- \[({'|'.join(TYPES)})\] (.*?)(?: \((mem-[0-9a-f]{{4,32}}), [\d-]+\))?", re.DOTALL)
EVERYWHERE = "Everywhere"


class Line(NamedTuple):
    """One memory of a file: its line's number, what it says, its id (None: a new one), and under which heading."""

    number: int
    type: str
    text: str
    id: str | None
    project: str


def written(memories: Iterable[Memory]) -> Iterator[str]:
    """The lines of a file: live memories by project."""
    yield from (HEAD, "", _NOTE)
    project: str | None = ""
    for one in sorted(memories, key=lambda one: (one.project or "", one.created_ms)):
        if one.project != project:
            project = one.project
            yield from ("", f"## {project or EVERYWHERE}", "")
        first, *more = one.text.split("\n")
        mark = f" ({one.id}, {iso_day(one.created_ms)})"
        lines = [f"- [{one.type}] {first}", *(f"  {line}" for line in more)]
        yield from (*lines[:-1], lines[-1] + mark)


def read(lines: Iterable[str]) -> Iterator[Line]:
    """What a file says; UsageError where it is no such file."""
    number, held, project = 0, "", ""
    for at, line in enumerate(lines, 1):
        if at == 1 and line.strip() != HEAD:
            raise UsageError(f"this is no export of memories: its first line is not {HEAD!r}")
        if held and line.startswith("  "):
            held = f"{held}\n{line[2:].rstrip()}"
            continue
        yield from _memory(number, held, project)
        number, held = at, line.rstrip() if line.startswith("- [") else ""
        project = line[3:].strip() if line.startswith("## ") else project
    yield from _memory(number, held, project)


def _memory(number: int, held: str, project: str) -> Iterator[Line]:
    found = _MEMORY.fullmatch(held) if held else None
    if found is not None and found[2].strip():
        yield Line(number, found[1], found[2].strip(), found[3], project)


def compared(memories: Memories, lines: Iterable[Line]) -> tuple[list[tuple[Memory, Line]], list[Line], int]:
    """The memories whose line says something else, each with it; the lines of none; how many live ones are the same."""
    edited, new, same = [], [], 0
    for line in lines:
        try:
            known = memories.get(line.id) if line.id is not None else None
        except NotFoundError:
            known = None
        if known is None:
            new.append(line)
        elif (known.text, known.type) != (line.text, line.type):
            edited.append((known, line))
        elif known.is_live:
            same += 1
    return edited, new, same


def as_export(line: Line, project: str | None, now_ms: int) -> dict[str, object]:
    """A line as one of an export."""
    return {**new_line(f"{line.type}\0{line.text}", line.type, line.text, now_ms), "project": project}
