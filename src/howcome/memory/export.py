"""Memories as JSON values, to be read by another store."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b

from howcome.domain.events import ORIGIN_USER
from howcome.domain.memories import HAND, KEY_BYTES, OPEN, Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.store.base import Store

EXPORT_FORMAT = "memories"
EXPORT_VERSION = 1
HEAD: Mapping[str, object] = {"howcome": EXPORT_FORMAT, "version": EXPORT_VERSION}
"""The first line."""

MAX_LISTED = 1_000_000
_STONE = ("id", "type", "project", "origin", "status", "created_ms", "purged_ms")
_WHOLE = ("id", "type", "text", "project", "agent", "origin", "status", "created_ms", "deleted_ms")
_ADDED = ("pinned_ms", "status_ms", "wrong_ms", "gone_ms", "subject", "also")
"""What is written of a purged memory, of any other, and what of that only where a distiller or people added it."""

MARK = "mac"
"""The field by which a store knows its own lines again: a keyed hash of the others."""


def exported(
    store: Store, scope: Scope, is_wanted: Callable[[Memory], bool] | None = None
) -> Iterator[dict[str, object]]:
    """The head, and every memory of a scope that `is_wanted`, what is superseded before what supersedes it.

    Purged ones are stones without text or owner: what they superseded stays superseded, and no older export raises
    them where this one is read.
    """
    yield {**HEAD}
    secret = bytes(store.meta("key"))  # type: ignore[call-overload]
    wanted = MemoryFilter(with_forgotten=True, with_superseded=True, with_purged=True)
    found = store.memories.select(scope, wanted, MAX_LISTED, oldest_first=True)
    keys = {memory.row: memory.key.hex() for memory in found}
    for memory in filter(is_wanted, _in_order(found)) if is_wanted else _in_order(found):
        superseded = keys.get(memory.supersedes or 0)
        value = stone(memory, superseded)
        if memory.purged_ms is None:
            said = {name: getattr(memory, name) for name in _WHOLE}
            added = {name: found for name in _ADDED if (found := getattr(memory, name)) not in (None, "", [])}
            value = {"key": value["key"], **said, "supersedes": superseded, "evidence": memory.evidence, **added}
            if memory.source != HAND:
                value |= {"source": memory.source, "said": store.memories.said(memory.row)}
        yield {**value, MARK: _mark(value, secret)}


def store_id(store: Store) -> str:
    """What tells a store from others, and nothing of its key."""
    return blake2b(bytes(store.meta("key")), digest_size=8, person=b"sync").hexdigest()  # type: ignore[call-overload]


def is_own(value: Mapping[str, object], secret: bytes) -> bool:
    """Whether a store with this key wrote a line, and nobody has changed it since."""
    return hmac.compare_digest(str(value.get(MARK)).encode("utf-8", "replace"), _mark(value, secret).encode())


def _mark(value: Mapping[str, object], secret: bytes) -> str:
    said = json.dumps({name: each for name, each in value.items() if name != MARK}, sort_keys=True)
    return blake2b(said.encode(), digest_size=16, key=secret, person=b"export").hexdigest()


def _in_order(found: Sequence[Memory]) -> Iterator[Memory]:
    """In the order of their rows, but each after what it supersedes: what was distilled comes in any order."""
    by_row = {memory.row: memory for memory in found}
    for memory in found:
        chain = []
        row: int | None = memory.row
        while row in by_row:
            chain.append(by_row.pop(row))
            row = chain[-1].supersedes
        yield from reversed(chain)


def stone(memory: Memory, superseded: str | None) -> dict[str, object]:
    """What is left of a purged memory."""
    said = {name: getattr(memory, name) for name in _STONE}
    return {"key": memory.key.hex(), **said, "supersedes": superseded}


def new_line(ident: str, type_: str, text: str, created_ms: int) -> dict[str, object]:
    """A line of what no store has kept yet; `ident` tells it from others."""
    key = blake2b(ident.encode("utf-8", "replace"), digest_size=KEY_BYTES).hexdigest()
    said = {"key": key, "type": type_, "text": text, "agent": None, "origin": ORIGIN_USER, "status": OPEN}
    return {**said, "created_ms": created_ms, "supersedes": None, "evidence": []}
