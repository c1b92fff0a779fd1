"""Exported memories into a store: each line by itself, whatever is wrong with the others.

Lines that this store wrote, and those of a file that a person calls theirs, are believed. All others come from outside:
their memories get keys of this store's, so that they keep nobody's place, the origin `external`, and wait for review;
what they claim (origin, pin, whose place they take) does not hold, and their marks of purged memories are left out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice

from howcome.clients.decode import clean_text
from howcome.clients.projects import MAX_PATH_CHARS
from howcome.domain import events, memories
from howcome.domain.memories import Claims, Memory, NewMemory
from howcome.domain.stored import ID_HEX_CHARS, ID_PREFIX
from howcome.errors import HowcomeError, UsageError
from howcome.memory.chains import walked
from howcome.memory.export import EXPORT_FORMAT, EXPORT_VERSION, is_own
from howcome.memory.text import owner
from howcome.store.base import Store

MAX_TIME_MS = 253_402_300_800_000
"""The end of the year 9999: no clock says more."""

_KEY = re.compile(rf"[0-9a-fA-F]{{{2 * memories.KEY_BYTES}}}")
_EVENT_ID = re.compile(rf"{ID_PREFIX}[0-9a-f]{{1,32}}")
"""What an id may be; it is shown as it is."""


@dataclass(slots=True, eq=False)
class ImportReport:
    """What became of the lines of an export: counts, and (line number, what is wrong) of those that are none.

    `outside` of those that were `added` wait for review. `stones` are marks of memories that were purged where the
    export was written: they are kept, too, but those of a stranger's file are `left_out`; `still_here` are the ids of
    such memories that are not purged here. `keys` are those of the lines, each with that of the memory here.
    """

    added: int = 0
    known: int = 0
    left_out: int = 0
    outside: int = 0
    purged: int = 0
    stones: int = 0
    still_here: list[str] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    keys: dict[bytes, bytes] = field(default_factory=dict)


class MemoryImport:
    """One import. `clean` redacts a text, `add` stores a memory; a trial only counts, what `is_mine` is believed."""

    def __init__(
        self,
        store: Store,
        clean: Callable[[str], str],
        add: Callable[[NewMemory], tuple[Memory, bool]],
        *,
        now_ms: int,
        is_trial: bool,
        is_mine: bool,
    ) -> None:
        self._store, self._clean, self._add, self._is_trial = store, clean, add, is_trial
        self._now_ms, self._is_mine = now_ms, is_mine
        self._secret = bytes(store.meta("key"))  # type: ignore[call-overload]
        self._seen: set[bytes] = set()
        self._outside: dict[bytes, bytes] = {}  # a file's own keys, and those that its lines have here
        self._report = ImportReport()

    def run(self, values: Iterable[tuple[int, object]], outside: Mapping[bytes, bytes]) -> ImportReport:
        """Every line in its order, so that what is superseded comes before what supersedes it; see `require_head`.

        `outside` are keys of earlier imports' lines, and those that their memories have here.
        """
        lines = iter(values)
        self._outside.update(outside)
        require_head(list(islice(lines, 1)))
        for number, value in lines:
            try:
                if not isinstance(value, dict):
                    raise UsageError("not a JSON object")
                self._one(value)
            except (HowcomeError, ValueError) as error:
                self._report.problems.append((number, str(error)))
        if not self._is_trial:
            self._store.kept.note()
        return self._report

    def _one(self, fields: Mapping[str, object]) -> None:
        key = _key(fields.get("key"))
        is_stone = fields.get("purged_ms") is not None
        is_believed = self._is_mine or is_own(fields, self._secret)
        if is_stone and not is_believed:
            self._report.left_out += 1
            return
        told, stranger, came = key, self._stranger_key(key, fields), self._by_key(self._outside.get(key, b""))
        self._outside[key] = stranger
        if not is_believed:
            key = stranger
        before = self._by_key(stranger)
        known = self._by_key(key) or _what_came(before, came, fields)
        self._report.keys[told] = known.key if known is not None else key
        if known is not None or key in self._seen:
            self._known_already(known, is_stone=is_stone)
            return
        new = self._new(key, fields)
        if before is not None:  # then it is one's own after all; but who forgot it meant it
            new.replaces, new.deleted_ms = before.row, new.deleted_ms or before.deleted_ms
        if not is_believed or (new.origin == events.ORIGIN_EXTERNAL and new.source == memories.HAND):
            self._disbelieve(new, fields)
        self._seen.add(key)
        is_new = True
        if not self._is_trial:
            added, is_new = self._add(new)
            self._report.keys[told] = added.key
            if new.claims is not None and not is_new:  # one's own, or what was accepted, in the same words
                del self._report.keys[told]
                self._forget_outdated(new)
        elif new.purged_ms is None:
            self._clean(new.text)
        if new.purged_ms is not None:
            self._report.stones += 1
        else:
            self._report.added += is_new
            self._report.outside += is_new and new.claims is not None
            self._report.known += not is_new

    def _known_already(self, known: Memory | None, *, is_stone: bool) -> None:
        """Nothing is done to what is here, but what was purged on one side only is told."""
        if known is not None and is_stone and known.purged_ms is None:
            self._report.still_here.append(known.id)
        elif known is not None and not is_stone and known.purged_ms is not None:
            self._report.purged += 1
        else:
            self._report.known += 1

    def _forget_outdated(self, new: NewMemory) -> None:
        """What waits, and what its author has put words in the place of that are here already."""
        for old in self._store.memories.by_row([new.supersedes or 0]).values():
            if old.is_live and old.agent == new.agent:
                self._store.memories.set_deleted(old.row, self._now_ms)

    def _by_key(self, key: bytes) -> Memory | None:
        return next(iter(self._store.memories.find(key.hex(), limit=1)), None) if key else None

    def _stranger_key(self, key: bytes, fields: Mapping[str, object]) -> bytes:
        """What a line from outside is known by here: nobody can make it the key of anything else."""
        what = "\0".join(str(fields.get(name)) for name in ("type", "text", "project", "agent"))
        data = key + what.encode("utf-8", "replace")
        return blake2b(data, digest_size=memories.KEY_BYTES, key=self._secret, person=b"outside").digest()

    def _disbelieve(self, new: NewMemory, fields: Mapping[str, object]) -> None:
        """Takes out what only a person may say of a memory; where it stands on the review list it is shown again."""
        old, now_ms = fields.get("supersedes"), self._now_ms
        target = self._by_key(_key(old)) if old is not None else None
        sibling = self._by_key(self._outside.get(_key(old), b"")) if old is not None else None
        if target is None and sibling is not None and not sibling.is_outside:  # it was accepted, and is said anew
            target = sibling
        heirs = [target, *walked(self._store, target, "superseded_by")] if target is not None else []
        new.claims = Claims(now_ms, next((one.row for one in heirs if one.is_live), None), new.pinned_ms)
        new.supersedes = None
        if sibling is not None and sibling.is_outside and sibling.superseded_by is None:
            new.supersedes = sibling.row
        new.origin, new.source, new.subject, new.said = events.ORIGIN_EXTERNAL, memories.HAND, "", ()
        new.pinned_ms, new.wrong_ms, new.gone_ms = None, None, None
        new.created_ms = min(new.created_ms, now_ms)
        new.evidence = tuple(event for event in new.evidence if len(event) >= len(ID_PREFIX) + ID_HEX_CHARS)

    def _new(self, key: bytes, fields: Mapping[str, object]) -> NewMemory:
        old = fields.get("supersedes")
        superseded = self._by_key(_key(old)) if old is not None else None
        created_ms = _time(fields, "created_ms")
        if created_ms is None:
            raise UsageError("created_ms is missing")
        purged_ms = _time(fields, "purged_ms")
        return NewMemory(
            key=key,
            type=_word(fields, "type", memories.TYPES),
            text=_text(fields, "text") if purged_ms is None else "",
            project=_project(fields),
            also=_also(fields) if purged_ms is None else (),
            agent=owner(_text(fields, "agent")) if fields.get("agent") is not None else None,
            origin=_word(fields, "origin", events.ORIGINS),
            status=_word(fields, "status", memories.STATUSES),
            created_ms=created_ms,
            evidence=_evidence(fields.get("evidence")),
            supersedes=superseded.row if superseded is not None and superseded.superseded_by is None else None,
            is_copy=True,
            deleted_ms=_time(fields, "deleted_ms"),
            purged_ms=purged_ms,
            source=_word(fields, "source", memories.SOURCES) if "source" in fields else memories.HAND,
            subject=self._clean(_text(fields, "subject")) if fields.get("subject") and purged_ms is None else "",
            said=_said(fields.get("said")),
            pinned_ms=_time(fields, "pinned_ms"),
            status_ms=_time(fields, "status_ms"),
            wrong_ms=_time(fields, "wrong_ms"),
            gone_ms=_time(fields, "gone_ms"),
        )


def require_head(first: Sequence[tuple[int, object]]) -> None:
    """Refuses what is no export of a version that is known here, by its first line (none when it is empty)."""
    if not first:
        raise UsageError("this is no export: it is empty")
    [(_, value)] = first
    if not isinstance(value, dict) or EXPORT_FORMAT not in (value.get("howcome"), value.get("recollect")):  # as it was
        raise UsageError("this is no export of memories: `howcome export` writes one")
    if value.get("version") != EXPORT_VERSION:
        version = value.get("version")
        raise UsageError(f"an export of version {version!r}; this howcome reads {EXPORT_VERSION}: upgrade it")


def _what_came(before: Memory | None, came: Memory | None, fields: Mapping[str, object]) -> Memory | None:
    """What became of a line that came `before`, or (`came`) by another way: it was accepted, refused or purged."""
    if before is not None and (not before.is_outside or before.purged_ms is not None):
        return before
    said = memories.normalized(str(fields.get("text")))
    return came if came is not None and (came.purged_ms or memories.normalized(came.text) == said) else None


def _key(value: object) -> bytes:
    if not isinstance(value, str) or not _KEY.fullmatch(value):
        raise UsageError(f"the key is not {2 * memories.KEY_BYTES} hex digits")
    return bytes.fromhex(value)


def _text(fields: Mapping[str, object], name: str) -> str:
    value = fields.get(name)
    if not isinstance(value, str):
        raise UsageError(f"{name} is not a text")
    return value


def _project(fields: Mapping[str, object]) -> str | None:
    """The root as it is: the folder may be another machine's."""
    if fields.get("project") is None:
        return None
    root = clean_text(_text(fields, "project"))
    if not root.startswith("/") or len(root) > MAX_PATH_CHARS or not root.isprintable():
        raise UsageError("project is not the path of a folder")
    return root


def _also(fields: Mapping[str, object]) -> list[str]:
    """The roots of other projects, as they are."""
    value = fields.get("also")
    if value is None:
        return []
    if not isinstance(value, list) or len(value) > memories.MAX_ALSO:
        raise UsageError(f"also is not a list of at most {memories.MAX_ALSO} folders")
    return [root for each in value if (root := _project({"project": each}))]


def _word(fields: Mapping[str, object], name: str, allowed: tuple[str, ...]) -> str:
    value = fields.get(name)
    if value not in allowed:
        raise UsageError(f"{name} is not one of {', '.join(allowed)}")
    return str(value)


def _time(fields: Mapping[str, object], name: str) -> int | None:
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MAX_TIME_MS:
        raise UsageError(f"{name} is not a time in milliseconds")
    return value


def _said(value: object) -> list[tuple[int, str]]:
    pairs = [] if value is None else value
    if not isinstance(pairs, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        raise UsageError("said is not a list of [milliseconds, event id]")
    return [(_time({"said": ts_ms}, "said") or 0, _evidence([event])[0]) for ts_ms, event in pairs]


def _evidence(value: object) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list) or not all(isinstance(item, str) and _EVENT_ID.fullmatch(item) for item in value):
        raise UsageError(f"evidence is not a list of event ids ({ID_PREFIX} and hex digits)")
    return value[: memories.MAX_EVIDENCE]
