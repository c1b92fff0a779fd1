"""Memories as JSON values, to be read by another store."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import blake2b

from howcome.domain.memories import HAND, Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.store.base import Store

EXPORT_FORMAT = "memories"
EXPORT_VERSION = 1
HEAD: Mapping[str, object] = {"howcome": EXPORT_FORMAT, "version": EXPORT_VERSION}
"""The first line."""

MAX_LISTED = 1_000_000
MARK = "mac"
"""The field by which a store knows its own lines again: a keyed hash of the others."""


def exported(
    store: Store, scope: Scope, is_wanted: Callable[[Memory], bool] | None = None
) -> Iterator[dict[str, object]]:
    """Every memory of a scope, what is superseded before what supersedes it; the first value is the head.

    With `is_wanted` only those that it wants.

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
        value = (
            stone(memory, superseded)
            if memory.purged_ms is not None
            else {
                "key": memory.key.hex(),
                "id": memory.id,
                "type": memory.type,
                "text": memory.text,
                "project": memory.project,
                "agent": memory.agent,
                "origin": memory.origin,
                "status": memory.status,
                "created_ms": memory.created_ms,
                "deleted_ms": memory.deleted_ms,
                "supersedes": superseded,
                "evidence": memory.evidence,
                **_life(store, memory),
            }
        )
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


def _life(store: Store, memory: Memory) -> dict[str, object]:
    """What a distiller and people added to it; nothing where there is nothing."""
    added: dict[str, object] = {"pinned_ms": memory.pinned_ms, "status_ms": memory.status_ms}
    added |= {"wrong_ms": memory.wrong_ms, "gone_ms": memory.gone_ms}
    added |= {"subject": memory.subject or None, "also": memory.also or None}
    if memory.source != HAND:
        added |= {"source": memory.source, "said": store.memories.said(memory.row)}
    return {name: value for name, value in added.items() if value is not None}


def stone(memory: Memory, superseded: str | None) -> dict[str, object]:
    """What is left of a purged memory."""
    return {
        "key": memory.key.hex(), "id": memory.id, "type": memory.type, "project": memory.project,
        "origin": memory.origin, "status": memory.status, "created_ms": memory.created_ms,
        "purged_ms": memory.purged_ms, "supersedes": superseded,
    }  # fmt: skip
