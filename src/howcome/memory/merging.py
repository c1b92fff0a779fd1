"""A memory on several machines: its words never change, and of what becomes of it the last word counts.

A record is a line of an export, and `times`: when each part (REGISTERS) of what may change was said. Merging takes the
later word of each part, whoever merges and in whatever order. A purged one is a stone for ever.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

Record = dict[str, Any]
Known = Mapping[str, Any]

REGISTERS: Mapping[str, tuple[str, ...]] = {
    "life": ("deleted_ms", "wrong_ms", "gone_ms"),
    "status": ("status", "status_ms"),
    "pin": ("pinned_ms",),
    "place": ("supersedes",),
    "also": ("also",),
}
"""What may change of a memory, each part at once: forgotten or restored, done, pinned, whose place it takes, where it
holds."""


def values(record: Mapping[str, Any], register: str) -> list[Any]:
    """What a record says of one part."""
    return [record.get(name) for name in REGISTERS[register]]


def without_none(record: Mapping[str, Any]) -> Record:
    """A record with what it says alone: one that says the same is equal."""
    return {name: value for name, value in record.items() if value is not None}


def is_stone(record: Mapping[str, Any]) -> bool:
    """Whether its text was purged."""
    return record.get("purged_ms") is not None


def stamped(value: Record, known: Known | None, now_ms: int) -> Record:
    """A memory as it is here (a line of an export), with the times.

    `known` was `agreed` on when it was last shared. What has changed since and has no time of its own (restored,
    unpinned) is said now.
    """
    if is_stone(value):
        return value
    record, times = dict(value), {}
    for register, names in REGISTERS.items():
        here = values(value, register)
        if known and here == known["here"][register]:
            record.update(zip(names, known["said"][register], strict=True))
            times[register] = known["times"][register]
            continue
        own = max((one for one in here if isinstance(one, int)), default=None)
        if known:
            times[register] = max(now_ms if own is None else own, known["times"][register] + 1)
        elif own is None:
            own = value["created_ms"] if any(here) else 0
        times.setdefault(register, own)
    return {**without_none(record), "times": times}


def merged(theirs: Record | None, ours: Record | None) -> Record:
    """One record of two; the words are theirs, the same as ours."""
    if theirs is None or ours is None:
        return theirs or ours or {}
    for one in (theirs, ours):
        if is_stone(one):
            return one
    result, times = dict(theirs), {}
    for register, names in REGISTERS.items():
        last = max((theirs, ours), key=lambda one: (one["times"][register], json.dumps(values(one, register))))
        times[register] = last["times"][register]
        result.update(zip(names, values(last, register), strict=True))
    return {**without_none(result), "times": times}


def alike(one: Record, other: Record) -> tuple[Record, Record]:
    """The same words with two keys, each with the last word on both; what one lets go the other may say still."""
    for each in (one, other):
        if is_stone(each) or (each.get("gone_ms") is not None and each.get("deleted_ms") == each["gone_ms"]):
            return one, other
    return merged(one, other), merged(other, one)


def agreed(record: Record, here: Mapping[str, Any]) -> dict[str, Any]:
    """What is remembered of a record that is shared now, and of what could be done of it here."""
    if is_stone(record):
        return {}
    said, done = ({register: values(one, register) for register in REGISTERS} for one in (record, here))
    return {"said": said, "times": record["times"], "here": done}
