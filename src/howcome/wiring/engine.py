"""Install, undo and inspect the parts of one owner: each file in one step, its record first, never half.

Everything is planned before anything is written: when one file cannot be edited safely (LifecycleError), none is. When
that happens later, it stays as it is, and so do those after it. A crash between two writes leaves whole files, which
the next `install` completes and `uninstall` undoes.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from howcome.clients.wiring import Entry
from howcome.errors import LifecycleError
from howcome.files import remove_leftovers
from howcome.wiring import atomic_files as files
from howcome.wiring.atomic_files import Snapshot, decoded, digest, edit_safely, read_snapshot
from howcome.wiring.install_record import Owner, Record, Records, State
from howcome.wiring.parts import KINDS, Merged, Part, Whole

Outcome = Literal["created", "changed", "unchanged", "kept", "replaced", "restored", "removed", "edited", "nothing"]
"""What happened, or would happen, to a file. Installing: it was made, entries went in or were refreshed, all was in
place, its user's own version stayed, or gave way (`--force`). Undoing: the original bytes are back, the file that we
made is gone, our entries were cut out of what others wrote since, or nothing of ours was there."""


class FileReport(NamedTuple):
    """What was done to one file for one owner; `backup` is where bytes from before are kept, if they are."""

    agent: str
    scope: str
    path: Path
    what: str
    outcome: Outcome
    backup: Path | None = None


class PartState(NamedTuple):
    """How one part of an agent's wiring stands; `detail` says why it is not ok."""

    agent: str
    scope: str
    path: Path
    what: str
    state: State
    detail: str = ""


class _Change(NamedTuple):
    """What is to be written: `data` (None: no file), and the record to keep before that (None: as it is)."""

    before: Snapshot
    data: bytes | None
    record: Record | None
    outcome: Outcome


# ---------------------------------------------------------------- install


def install(
    owner: Owner, parts: Sequence[Part], state_dir: Path, *, force: bool = False, dry_run: bool = False
) -> list[FileReport]:
    """Put all parts in place, or only say what would be done; a second call finds nothing to do."""
    records = Records(state_dir)
    planned = [edit_safely(part.path, _planned, owner, part, records, force=force) for part in parts]
    if dry_run:
        return [_report(owner, part, change, records) for part, change in zip(parts, planned, strict=True)]
    return [edit_safely(part.path, _installed, owner, part, records, force=force) for part in parts]


def _installed(owner: Owner, part: Part, records: Records, *, force: bool) -> FileReport:
    change = _planned(owner, part, records, force=force)
    kept = None
    if change.outcome == "replaced" and change.before.data is not None:
        kept = records.keep(part.path, change.before.data)
    if change.record is not None:
        records.save(change.record)
    if change.data is not None and change.data != change.before.data:
        directories = change.record.created_directories if change.record else ()
        try:
            for directory in directories:
                os.makedirs(directory, files.PRIVATE_DIRECTORY, exist_ok=True)
            files.replace_file(change.before, change.data)
        except BaseException:
            files.remove_empty(directories)
            raise
    report = _report(owner, part, change, records)
    return report._replace(backup=kept) if kept else report


def _planned(owner: Owner, part: Part, records: Records, *, force: bool) -> _Change:
    before, record = read_snapshot(part.path), records.load(part.path)
    if isinstance(part, Whole):
        is_edited = part.is_edited(before.data, record)
        if is_edited and not force:
            return _Change(before, before.data, None, "kept")
        data = part.content
    else:
        is_edited = False
        data = part.with_ours(before.data, record, record.entries(owner) if record else ())
    is_changed = data != before.data
    if is_changed:
        files.require_writable(before)
    owned = _owned(owner, part, record, is_changed=is_changed)
    is_recorded = record is not None and _is_same(record, owner, owned)
    next_record = None if is_recorded and not is_changed else _next_record(before, data, part, owner, owned, record)
    outcome: Outcome = "created" if before.data is None else "changed" if is_changed else "unchanged"
    return _Change(before, data, next_record, "replaced" if is_edited else outcome)


def _owned(owner: Owner, part: Part, record: Record | None, *, is_changed: bool) -> tuple[Entry, ...]:
    """What to record as ours: the entries, and earlier ones that a crash may leave in the file."""
    places = {entry.place for entry in part.entries}
    earlier = [] if record is None else [entry for entry in record.entries(owner) if entry not in part.entries]
    return (*part.entries, *(entry for entry in earlier if is_changed or entry.place in places))


def _is_same(record: Record, owner: Owner, owned: tuple[Entry, ...]) -> bool:
    return any(one == owner and one.options == owner.options for one in record.owners) and record.owners[owner] == owned


def _next_record(
    before: Snapshot, data: bytes, part: Part, owner: Owner, owned: tuple[Entry, ...], last: Record | None
) -> Record:
    """The record to keep before `data` is written over `before`.

    The digests of all that was written over the same original stay: a crash may leave any of them in the file.
    """
    original = _original(before, part, last)
    written = last.written_sha256 if last and (last.wrote(before.data) or isinstance(part, Whole)) else ()
    created = last.created_directories if last else ()
    folder = before.path.parent
    missing = [str(path) for path in (folder, *folder.parents) if not os.path.lexists(path)]
    others = {one: entries for one, entries in (last.owners if last else {}).items() if one != owner}
    return Record(
        path=str(part.path.absolute()),
        existed=original is not None,
        mode=before.mode,
        original=original or b"",
        written_sha256=tuple(dict.fromkeys([*written, digest(data)])),
        created_directories=tuple(dict.fromkeys([*created, *reversed(missing)])),
        owners={**others, owner: owned},
    )


def _original(before: Snapshot, part: Part, record: Record | None) -> bytes | None:
    """The file as it would be had howcome never been there; None: there would be no file."""
    if isinstance(part, Whole):
        if record is not None:
            return record.original if record.existed else None
        return None if before.data in (None, part.content) else before.data
    if before.data is None:
        return None
    if record and record.wrote(before.data):
        return record.original if record.existed else None
    return part.without_ours(before.data, record, record.entries() if record else ())


def _report(owner: Owner, part: Part, change: _Change, records: Records) -> FileReport:
    record = change.record or records.load(part.path)
    backup = records.backup_of(record) if record else None
    return FileReport(owner.agent, owner.scope, part.path, part.what, change.outcome, backup)


# ---------------------------------------------------------------- undo


def uninstall(
    wired: Iterable[tuple[Owner, Sequence[Part]]], state_dir: Path, *, dry_run: bool = False
) -> list[FileReport]:
    """Take the parts of some owners out of every file, and leave no other trace there."""
    records = Records(state_dir)
    todo = [(owner, part) for owner, parts in wired for part in parts]
    for owner, part in todo:
        edit_safely(part.path, _require_undoable, owner, part, records)
    undone = [edit_safely(part.path, _undone, owner, part, records, dry_run=dry_run) for owner, part in todo]
    if dry_run:
        return [report for report, _ in undone]
    for _, part in todo:
        remove_leftovers(os.path.realpath(part.path))
    # The records go last: until then a crash leaves nothing that a second run would not find.
    gone = [change.record for _, change in undone if change.data is None and change.record]
    files.remove_empty({name for record in gone for name in record.created_directories})
    return [_forgotten(report, change, records) for report, change in undone]


def _undone(owner: Owner, part: Part, records: Records, *, dry_run: bool) -> tuple[FileReport, _Change]:
    change = _undoing(owner, part, records)
    report = FileReport(owner.agent, owner.scope, part.path, part.what, change.outcome)
    if dry_run:
        return report, change
    if change.data is None and change.before.data is not None:
        files.remove_file(change.before)
    elif change.data is not None and change.data != change.before.data:
        if change.record and change.record.owners:
            records.save(change.record)
        files.replace_file(change.before, change.data)
    return report, change


def _require_undoable(owner: Owner, part: Part, records: Records) -> None:
    change = _undoing(owner, part, records)
    if change.data != change.before.data:
        files.require_writable(change.before)


def _undoing(owner: Owner, part: Part, records: Records) -> _Change:
    """The file without one owner's part; the record is what is left of it (no owners: to be forgotten)."""
    before, record = read_snapshot(part.path), records.load(part.path)
    if record is not None and set(record.owners) - {owner}:
        return _shared(owner, part, before, record)
    if isinstance(part, Whole) and part.is_edited(before.data, record):
        return _Change(before, before.data, record and record._replace(owners={}), "kept" if record else "nothing")
    after = _original(before, part, record) if before.data is not None else None
    outcome: Outcome = "nothing"
    if after is None and before.data is not None:
        outcome = "removed"
    elif after != before.data:
        outcome = "restored" if record and record.wrote(before.data) else "edited"
    return _Change(before, after, record and record._replace(owners={}), outcome)


def _shared(owner: Owner, part: Part, before: Snapshot, record: Record) -> _Change:
    """One owner's entries out of a file in which there are others' of ours."""
    others = {one: owned for one, owned in record.owners.items() if one != owner}
    data = before.data
    if data is not None and isinstance(part, Merged):
        data = part.without(data, record.entries(owner), record)
    written = record.written_sha256 if record.wrote(before.data) else ()
    left = record._replace(owners=others)
    if data is not None and written:
        left = left._replace(written_sha256=tuple(dict.fromkeys([*written, digest(data)])))
    return _Change(before, data, left, "edited" if data != before.data else "nothing")


def _forgotten(report: FileReport, change: _Change, records: Records) -> FileReport:
    if change.record is None:
        return report
    if change.record.owners:
        records.save(change.record)
        return report
    return report._replace(backup=records.forget(change.record, now=change.data))


# ---------------------------------------------------------------- inspect


def inspect(owner: Owner, parts: Sequence[Part], state_dir: Path) -> list[PartState]:
    """How every part stands now; nothing is written and nothing raised for a file that cannot be read."""
    records = Records(state_dir)
    return [state for part in parts for state in _states(owner, part, records)]


def _states(owner: Owner, part: Part, records: Records) -> list[PartState]:
    record = records.load(part.path)

    def found(what: str, state: State, detail: str = "") -> PartState:
        return PartState(owner.agent, owner.scope, part.path, what, state, detail)

    try:
        data = edit_safely(part.path, read_snapshot, part.path).data
        if isinstance(part, Whole):
            return [found(part.what, *_whole_state(part, data, record))]
        _, text = edit_safely(part.path, decoded, data or b"")
        before = record.entries(owner) if record else ()
        states = edit_safely(part.path, lambda: [part.format.state(text, entry, before) for entry in part.entries])
    except LifecycleError as error:
        return [found(part.what, "invalid", str(error))]
    names = [entry.value if isinstance(entry.value, str) else entry.path[-1] for entry in part.entries]
    kinds = [KINDS[entry.kind] for entry in part.entries]
    return [found(f"{kind} {name}", *state) for kind, name, state in zip(kinds, names, states, strict=True)]


def _whole_state(part: Whole, data: bytes | None, record: Record | None) -> tuple[State, str]:
    if data is None:
        return "missing", ""
    if data == part.content:
        return "ok", ""
    if not part.is_edited(data, record):
        return "outdated", "of an earlier version"
    return ("edited", "changed by hand, and kept so") if record else ("foreign", "not howcome's")
