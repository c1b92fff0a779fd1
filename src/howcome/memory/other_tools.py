"""Memories of other tools, as lines of an export: claude-mem's database, mem0's history, basic-memory's notes.

Each reader is for one tool, and only reads. What it gives is from outside: it waits for review like any such import.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from howcome.domain.events import ORIGIN_ASSISTANT, ORIGIN_USER
from howcome.domain.memories import DEFAULT_TYPE, MAX_TEXT_CHARS
from howcome.errors import UsageError
from howcome.memory.export import new_line

MAX_FILES, MAX_FILE_BYTES = 20_000, 1 << 20
_TYPES = {
    "decision": "decision", "bugfix": "failure", "problem": "failure", "bug": "failure", "fix": "failure",
    "technique": "pattern", "pattern": "pattern", "discovery": "discovery", "insight": "discovery",
}  # fmt: skip
"""Their kinds, as ours; any other is context."""

_CLAUDE_MEM = (
    "SELECT 'o' || id, project, type, title || coalesce('. ' || nullif(subtitle, ''), ''), created_at_epoch"
    " FROM observations WHERE title <> '' UNION ALL"
    " SELECT 's' || id, project, 'discovery', learned, created_at_epoch FROM session_summaries"
    " WHERE learned <> '' ORDER BY created_at_epoch"
)
_MEM0 = "SELECT memory_id, event, new_memory, created_at FROM history ORDER BY rowid"
_OBSERVATION = re.compile(r"^\s*[-*] \[([^\]\s][^\]]*)\] +(\S.*)$")
_TAGS = re.compile(r"(?:\s+#[\w/-]+)+(?=\s*(?:\([^()]*\))?\s*$)")
_FIELD = re.compile(r"^(\w+): *(.*)$")


def claude_mem(path: str, project: str) -> Iterator[dict[str, object]]:
    """Observations and what summaries say was learned, of the project that has the folder's name (13.25)."""
    name = os.path.basename(project)
    for row, where, kind, text, at_ms in _rows(path, _CLAUDE_MEM):
        if where == name:
            yield _line("claude-mem", f"{where}/{row}", kind, text, at_ms)


def mem0(path: str, _: str) -> Iterator[dict[str, object]]:
    """What the history (`history.db`) has not deleted, or the JSON of `get_all` (2.2)."""
    if path.endswith(".json"):
        found = _json(path)
        values = found.get("results") if isinstance(found, dict) else found
        for one in [one for one in values if isinstance(one, dict)] if isinstance(values, list) else []:
            origin = ORIGIN_USER if one.get("role") == "user" else ORIGIN_ASSISTANT
            yield _line("mem0", str(one.get("id")), "", one.get("memory"), _ms(one.get("created_at")), origin)
        return
    live: dict[str, tuple[object, object]] = {}
    for memory, event, text, at in _rows(path, _MEM0):
        live[memory] = (text, live.get(memory, (None, at))[1])
        if event == "DELETE":
            del live[memory]
    for memory, (text, at) in live.items():
        yield _line("mem0", memory, "", text, _ms(at))


def basic_memory(path: str, _: str) -> Iterator[dict[str, object]]:
    """Each observation (`- [category] text`) of a folder's notes, after the note's title (0.24)."""
    if not os.path.isdir(path):
        raise UsageError(f"{path}: the folder of the notes is wanted")
    for number, file in enumerate(sorted(Path(path).rglob("*.md"))):
        if number >= MAX_FILES or file.is_symlink() or file.stat().st_size > MAX_FILE_BYTES:
            continue
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
        head = {found[1]: found[2] for found in filter(None, map(_FIELD.match, lines[:30]))}
        title = head.get("title", file.stem).strip("\"'")
        at_ms = _ms(head.get("created")) or int(file.stat().st_mtime * 1000)
        for line in lines:
            if (found := _OBSERVATION.match(line)) and found[1].lower() != "x":
                text = f"{title}: {_TAGS.sub('', found[2]).strip()}"
                yield _line("basic-memory", f"{head.get('permalink', title)}/{text}", found[1].lower(), text, at_ms)


TOOLS: Mapping[str, tuple[str, Callable[[str, str], Iterator[dict[str, object]]]]] = {
    "claude-mem": ("~/.claude-mem/claude-mem.db", claude_mem),
    "mem0": ("~/.mem0/history.db", mem0),
    "basic-memory": ("~/basic-memory", basic_memory),
}
"""Each tool, where it keeps memories unless told otherwise, and who reads them (a path, the project's root)."""


def _line(
    tool: str, ident: str, kind: str, text: object, at_ms: int, origin: str = ORIGIN_ASSISTANT
) -> dict[str, object]:
    said = str(text or "").strip()[:MAX_TEXT_CHARS]
    line = new_line(f"{tool}\0{ident}", _TYPES.get(kind, DEFAULT_TYPE), said, max(at_ms, 0))
    return {**line, "agent": tool, "origin": origin}


def _rows(path: str, statement: str) -> list[Any]:
    if not os.path.isfile(path):
        raise UsageError(f"{path}: there is no such file")
    try:
        with closing(sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro", uri=True)) as database:
            return database.execute(statement).fetchall()
    except sqlite3.Error as error:
        raise UsageError(f"{path}: cannot be read as that tool's database ({error})") from error


def _json(path: str) -> object:
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (OSError, ValueError, RecursionError) as error:
        raise UsageError(f"{path}: cannot be read as JSON ({error})") from error


def _ms(text: object) -> int:
    try:
        found = datetime.fromisoformat(str(text))
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
