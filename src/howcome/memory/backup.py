"""Once a day: what no transcript holds (what people keep, pin, forget and purge; the settings), in files of their own.

`backups/memories-DATE.jsonl` is in the form that `howcome export` writes and `howcome import-memories` reads;
`backups/config-DATE.toml` is the settings as they were. A file counts when it was read back; the last few are kept.
"""

from __future__ import annotations

import errno
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress

from howcome.domain.memories import HAND, RULES, Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.domain.times import iso_day
from howcome.errors import StoreError
from howcome.files import replacing, settle
from howcome.memory.export import exported, stone
from howcome.settings import CONFIG_NAME
from howcome.store.base import Store

FOLDER = "backups"
KEPT = 7
"""Files of each kind. What was the same the day before takes no new one: these are seven states, not seven days."""

OVERDUE_MS = 3 * 24 * 3600 * 1000
MEMORIES = ("memories", ".jsonl")
CONFIG = ("config", ".toml")


def back_up_memories(store: Store, home: str, now_ms: int) -> bool:
    """Writes today's backup (UTC) unless there is one; whether it did. Nothing of before is lost by an OSError."""
    day, folder = iso_day(now_ms), os.path.join(home, FOLDER)
    if store.is_read_only or os.path.exists(_path(folder, MEMORIES, day)):
        return False
    os.makedirs(folder, mode=0o700, exist_ok=True)
    config = b""
    with suppress(FileNotFoundError), open(os.path.join(home, CONFIG_NAME), "rb") as stream:
        config = stream.read()
    if config:
        _put(folder, CONFIG, day, config)
    _put(folder, MEMORIES, day, _lines(exported(store, Scope.everything(), _is_by_hand)))
    return True


def newest_backup(home: str) -> str | None:
    """The path of the newest backup of memories."""
    return next(reversed(_paths(os.path.join(home, FOLDER), MEMORIES)), None)


def is_overdue(store: Store, home: str, now_ms: int) -> bool:
    """Whether something was kept by hand days ago and is in no backup: neither a session nor the worker wrote one."""
    newest = newest_backup(home)
    last_day = "" if newest is None else os.path.basename(newest)[len("memories-") :][: len("2026-11-22")]
    wanted = MemoryFilter(source=HAND, with_forgotten=True, with_superseded=True)
    kept = store.memories.select(Scope.everything(), wanted, 1)
    due_ms = now_ms - OVERDUE_MS
    if not kept or last_day >= iso_day(due_ms):
        return False
    return kept[0].created_ms < due_ms and iso_day(kept[0].created_ms) > last_day


def purge_from_backups(home: str, memory: Memory) -> None:
    """Leaves of a memory in every backup what is left of it in the rows: a stone."""
    folder = os.path.join(home, FOLDER)
    try:
        for path in _paths(folder, MEMORIES):
            lines = _read(path).splitlines(keepends=True)
            key = b'"key": "%s"' % memory.key.hex().encode()
            kept = [
                _lines([stone(memory, json.loads(line).get("supersedes"))]) if key in line else line for line in lines
            ]
            if kept != lines:
                _write(path, b"".join(kept))
    except OSError as error:
        raise StoreError(f"{folder}: {error.strerror or error}: it may still hold {memory.id}") from error


def _is_by_hand(memory: Memory) -> bool:
    """Whether reading transcripts again would not give it, or not as it is."""
    touched = (memory.pinned_ms, memory.deleted_ms, memory.status_ms, memory.purged_ms)
    return memory.source != RULES or bool(memory.also) or any(moment is not None for moment in touched)


def _lines(values: Iterable[Mapping[str, object]]) -> bytes:
    return b"".join(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n" for value in values)


def _paths(folder: str, kind: tuple[str, str]) -> list[str]:
    """The backups of a kind, oldest first."""
    pattern = re.compile(rf"{kind[0]}-\d{{4}}-\d\d-\d\d{re.escape(kind[1])}")
    try:
        return sorted(os.path.join(folder, name) for name in os.listdir(folder) if pattern.fullmatch(name))
    except FileNotFoundError:
        return []


def _path(folder: str, kind: tuple[str, str], day: str) -> str:
    return os.path.join(folder, f"{kind[0]}-{day}{kind[1]}")


def _put(folder: str, kind: tuple[str, str], day: str, data: bytes) -> None:
    path, before = _path(folder, kind, day), _paths(folder, kind)
    if before and _read(before[-1]) == data:
        os.rename(before[-1], path)
        return
    _write(path, data)
    for old in _paths(folder, kind)[:-KEPT]:
        os.unlink(old)


def _write(path: str, data: bytes) -> None:
    with replacing(path) as stream:
        stream.write(data)
        settle(stream)
        if _read(stream.name) != data:
            raise OSError(errno.EIO, "it does not read as it was written", path)


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()
