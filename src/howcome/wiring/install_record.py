"""What was in each file before howcome came, and what was written to it: kept until it is undone.

In `<HOWCOME_HOME>/installs` there are, for each file (`<key>` stands for it):

    <key>.json               the record
    <key>-<digest>.original  the bytes to put back
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from howcome.clients.wiring import Entry
from howcome.files import write_whole
from howcome.wiring.atomic_files import PRIVATE_DIRECTORY, digest, read_snapshot

RECORD_VERSION = 2

State = Literal["ok", "missing", "edited", "outdated", "invalid", "foreign"]
"""How something of ours stands in a file. Edited: its user changed it, and it works; outdated: it does not start this
howcome, or is of an earlier version; invalid: the file cannot be read; foreign: somebody else's is in its place."""


class Owner:
    """For whom something is in a file: an agent, in a scope (`root` is the project's, else empty), wired this way."""

    def __init__(
        self, agent: str, scope: str = "user", root: str = "", options: Mapping[str, str] | None = None
    ) -> None:
        self.agent, self.scope, self.root, self.options = agent, scope, root, options or {}

    def __eq__(self, other: object) -> bool:
        """However it is wired."""
        return isinstance(other, Owner) and self._place == other._place

    def __hash__(self) -> int:
        """As it is compared."""
        return hash(self._place)

    @property
    def _place(self) -> tuple[str, str, str]:
        return self.agent, self.scope, self.root


class Record(NamedTuple):
    """What one file held before, and what was written to it.

    `original` is None when the backup is lost or damaged. `written_sha256` names every content that was written over
    that original: a crash between record and rename leaves an earlier one in place.
    """

    path: str
    existed: bool
    mode: int | None
    original: bytes | None
    written_sha256: tuple[str, ...]
    created_directories: tuple[str, ...]
    owners: Mapping[Owner, tuple[Entry, ...]]

    def wrote(self, data: bytes | None) -> bool:
        """Whether `data` is ours to the byte, so that the original may take its place."""
        return data is not None and self.original is not None and digest(data) in self.written_sha256

    def entries(self, owner: Owner | None = None) -> tuple[Entry, ...]:
        """What is ours in the file: of one owner, or of all."""
        owned = self.owners.values() if owner is None else [self.owners.get(owner, ())]
        return tuple(entry for entries in owned for entry in entries)


class Records:
    """The directory of records and backups."""

    def __init__(self, state_dir: Path) -> None:
        self.directory = state_dir / "installs"

    def load(self, path: Path) -> Record | None:
        """The record of a file, or None when there is none that this version can read."""
        record = self._read(self._path(path))
        return record if record and _place(Path(record.path)) == _place(path) else None

    def all(self) -> list[Record]:
        """Every record that can be read, in no particular order."""
        with suppress(OSError):
            names = sorted(os.listdir(self.directory))
            found = [self._read(self.directory / name) for name in names if name.endswith(".json")]
            return [record for record in found if record]
        return []

    def save(self, record: Record) -> None:
        """Keep the original first, then the record that leads to it."""
        os.makedirs(self.directory.parent, PRIVATE_DIRECTORY, exist_ok=True)
        os.makedirs(self.directory, PRIVATE_DIRECTORY, exist_ok=True)
        os.chmod(self.directory, PRIVATE_DIRECTORY)
        sha256 = None
        if record.original is not None and record.existed:
            sha256 = digest(record.original)
            self.keep(Path(record.path), record.original)
        fields = {name: value for name, value in record._asdict().items() if name != "original"}
        fields |= {"version": RECORD_VERSION, "original_sha256": sha256}
        fields["owners"] = [
            {**vars(owner), "entries": [entry._asdict() for entry in entries]}
            for owner, entries in record.owners.items()
        ]
        write_whole(str(self._path(Path(record.path))), json.dumps(fields, indent=2).encode())

    def forget(self, record: Record, now: bytes | None) -> Path | None:
        """Drop the record, and the backup too if the file holds the same bytes now; else say where it is."""
        backup, path = self.backup_of(record), Path(record.path)
        with suppress(OSError):  # a record left behind does no harm
            is_back = now == record.original
            self._path(path).unlink(missing_ok=True)
            if backup and is_back:
                backup.unlink(missing_ok=True)
                backup = None
            self.directory.rmdir()  # stays while it holds other records or backups
        return backup

    def backup_of(self, record: Record) -> Path | None:
        """Where the original is kept, if there was one."""
        if not record.existed or record.original is None:
            return None
        return self._backup(_key(Path(record.path)), digest(record.original))

    def keep(self, path: Path, data: bytes) -> Path:
        """Keep bytes that are about to be overwritten at their user's wish; where they are."""
        os.makedirs(self.directory, PRIVATE_DIRECTORY, exist_ok=True)
        backup = self._backup(_key(path), digest(data))
        write_whole(str(backup), data)
        return backup

    def _path(self, path: Path) -> Path:
        return self.directory / f"{_key(path)}.json"

    def _backup(self, key: str, sha256: str) -> Path:
        return self.directory / f"{key}-{sha256[:16]}.original"

    def _read(self, path: Path) -> Record | None:
        try:
            fields = json.loads(read_snapshot(path).data or b"{}")
            version, sha256 = fields.pop("version"), fields.pop("original_sha256")
            original = self._original(path.stem, sha256)
            return _decoded(fields, original) if version == RECORD_VERSION else None
        except (ValueError, TypeError, KeyError, AttributeError, NotADirectoryError):
            return None

    def _original(self, key: str, sha256: str | None) -> bytes | None:
        if not sha256:
            return b""
        data = read_snapshot(self._backup(key, sha256)).data
        return data if data is not None and digest(data) == sha256 else None


def owned_by(records: Iterable[Record], agents: Iterable[str] | None = None) -> list[Owner]:
    """Every owner in the records, of the agents named or of all; each once."""
    wanted = None if agents is None else set(agents)
    owners = {owner: None for record in records for owner in record.owners}
    return [owner for owner in owners if wanted is None or owner.agent in wanted]


def _place(path: Path) -> Path:
    """The same for every way to name a file; a link stays the link."""
    return Path(os.path.realpath(path.parent)) / path.name


def _key(path: Path) -> str:
    return digest(os.fsencode(_place(path)))[:16]


def _decoded(fields: dict[str, object], original: bytes | None) -> Record:
    owners: dict[Owner, tuple[Entry, ...]] = {}
    for owned in fields.pop("owners"):  # type: ignore[attr-defined]  # a wrong shape raises, and is no record
        entries = [Entry(one["kind"], tuple(one["path"]), one["value"]) for one in owned.pop("entries")]
        owners[Owner(**owned)] = tuple(entries)
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return Record(original=original, owners=owners, **{**fields, **lists})  # type: ignore[arg-type]  # as above
