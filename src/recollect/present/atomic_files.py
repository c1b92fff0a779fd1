"""Replace a user's file in one step, or leave it exactly as it was; keep what it held until it is put back."""

import codecs
import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, NoReturn, TypeVar

from recollect.errors import LifecycleError

PRIVATE_DIRECTORY = 0o700
RECORD_VERSION = 1
_ATTEMPTS = 10
_Report = TypeVar("_Report")


_SPACE = re.compile(r"[ \t\r\n]*")
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(NaN|-?Infinity)')
_DECODER = json.JSONDecoder(parse_int=float)  # an int of 5,000 digits would raise


class FileChangedError(LifecycleError):
    """Somebody else wrote the file between our read and our write; nothing was written, read it again."""


@dataclass(frozen=True)
class Snapshot:
    """What a file held when it was read; `data` and `mode` are None when there was no file.

    `target` is `path` with links followed: a settings file that is a link into a dotfiles repository is edited
    there, and the link stays.
    """

    path: Path
    target: Path
    data: bytes | None
    mode: int | None


def read_snapshot(path: Path) -> Snapshot:
    """Read a regular file, or note that there is none."""
    target = Path(os.path.realpath(path))
    try:
        # O_NONBLOCK: a FIFO in this place must give an error, not a wait without end.
        descriptor = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return Snapshot(path, target, None, None)
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "Not a regular file", str(target))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return Snapshot(path, target, file.read(), stat.S_IMODE(mode))
    finally:
        os.close(descriptor)


def replace_file(before: Snapshot, data: bytes) -> None:
    """Write `data` in place of `before` by rename; an existing file's mode, owner and attributes stay.

    Raises:
        FileChangedError: The file is no longer what `before` says.
    """
    with _beside(before.target) as file:
        _write_through(file, data)
        if before.data is not None:
            _copy_attributes(before.target, file.name)
        _require_unchanged(before)
        os.rename(file.name, before.target)
    _sync_directory(before.target.parent)


def remove_file(before: Snapshot) -> None:
    """Remove the file that `before` describes (the target of a link, never the link).

    Raises:
        FileChangedError: The file is no longer what `before` says.
    """
    _require_unchanged(before)
    os.unlink(before.target)
    _sync_directory(before.target.parent)


def write_private(path: Path, data: bytes) -> None:
    """Write a file of our own, 0600, whole or not at all."""
    with _beside(path) as file:
        _write_through(file, data)
        os.rename(file.name, path)
    _sync_directory(path.parent)


def edit_safely(settings: Path, once: Callable[[], _Report]) -> _Report:
    """Run one read-and-replace of a user's file; again if somebody else was faster.

    Raises:
        LifecycleError: The file cannot be read, understood or written; it is as it was.
    """
    for _ in range(_ATTEMPTS):
        try:
            return once()
        except FileChangedError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            raise LifecycleError(f"{_reason(settings, error)} Nothing was written to {settings}.") from error
    raise LifecycleError(f"{settings} keeps changing. Close the program that writes it and try again.")


def _reason(settings: Path, error: Exception) -> str:
    remedy = "Correct it there, or move the file away, and try again."
    match error:
        case OSError():
            return f"{error.filename or settings}: {error.strerror or error}."
        case json.JSONDecodeError():
            return f"{settings}, line {error.lineno}, column {error.colno}: {error.msg}. {remedy}"
        case UnicodeDecodeError():
            start, data = error.start, error.object
            line, column = data.count(b"\n", 0, start) + 1, start - data.rfind(b"\n", 0, start)
            return f"{settings}, line {line}, column {column}: not UTF-8 text. {remedy}"
        case UnicodeEncodeError():
            return (
                "The path of the interpreter, of recollect or of RECOLLECT_HOME is not UTF-8; settings cannot hold it."
            )
        case _:
            return f"{settings} cannot be read as JSON: {error}. {remedy}"


@dataclass(frozen=True)
class Record:
    """What one settings file held before the hooks came, and what was written to it.

    `original` is None when the backup is lost or damaged. `written_sha256` names every content that was written over
    that original: a crash between record and rename leaves an earlier one in place.
    """

    settings: str
    existed: bool
    mode: int | None
    original: bytes | None  # None: the backup is lost or damaged
    written_sha256: tuple[str, ...]
    commands: tuple[str, ...]
    created_directories: tuple[str, ...]

    def wrote(self, data: bytes | None) -> bool:
        """Whether `data` is ours to the byte, so that the original may take its place."""
        return data is not None and self.original is not None and digest(data) in self.written_sha256


class Records:
    """The directory of records and backups, for one settings file."""

    def __init__(self, state_dir: Path, config_dir: Path) -> None:
        self._directory = state_dir / "installs"
        self._key = digest(os.fsencode(os.path.realpath(config_dir)))[:16]
        self._path = self._directory / f"{self._key}.json"

    def load(self) -> Record | None:
        """The record, or None when there is none that this version can read."""
        data = read_snapshot(self._path).data
        try:
            fields = json.loads(data or b"{}")
            if fields.pop("version") != RECORD_VERSION:
                return None
            original = self._original(fields.pop("original_sha256"))
            lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
            return Record(original=original, **{**fields, **lists})
        except (ValueError, TypeError, KeyError, AttributeError):
            return None

    def save(self, record: Record) -> None:
        """Keep the original first, then the record that leads to it."""
        os.makedirs(self._directory.parent, PRIVATE_DIRECTORY, exist_ok=True)
        os.makedirs(self._directory, PRIVATE_DIRECTORY, exist_ok=True)
        os.chmod(self._directory, PRIVATE_DIRECTORY)
        fields = asdict(record)
        original = fields.pop("original")
        backup = self.backup_of(record)
        if backup:
            write_private(backup, original)
        fields |= {"version": RECORD_VERSION, "original_sha256": backup and digest(original)}
        write_private(self._path, json.dumps(fields, indent=2).encode())

    def forget(self, record: Record, now: bytes | None) -> Path | None:
        """Drop the record, and the backup too if the file holds the same bytes now; else say where it is."""
        backup = self.backup_of(record)
        with suppress(OSError):  # a record left behind does no harm
            self._path.unlink(missing_ok=True)
            if backup and now == record.original:
                backup.unlink(missing_ok=True)
                backup = None
            self._directory.rmdir()  # stays while it holds other records or backups
        return backup

    def backup_of(self, record: Record) -> Path | None:
        """Where the original is kept, if there was one."""
        return self._backup(digest(record.original)) if record.existed and record.original is not None else None

    def _backup(self, sha256: str | None) -> Path | None:
        return self._directory / f"{self._key}-{sha256[:16]}.original" if sha256 else None

    def _original(self, sha256: str | None) -> bytes | None:
        backup = self._backup(sha256)
        data = read_snapshot(backup).data if backup else b""
        return data if data is not None and (backup is None or digest(data) == sha256) else None


def digest(data: bytes) -> str:
    """The SHA-256 of a file's content."""
    return hashlib.sha256(data).hexdigest()


def missing_directories(directory: Path) -> list[str]:
    """What has to be created for `directory`, outermost first."""
    missing = [str(path) for path in (directory, *directory.parents) if not os.path.lexists(path)]
    return missing[::-1]


def remove_empty(directories: tuple[str, ...]) -> None:
    """Remove directories, innermost first, as far as they are empty."""
    with suppress(OSError):  # somebody uses it meanwhile
        for directory in reversed(directories):
            os.rmdir(directory)


@dataclass(frozen=True)
class Item:
    """A member of an object (with a key) or an element of an array, and where it stands in the text."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: object


@dataclass(frozen=True)
class Container:
    """An object or an array; `start` and `end` are the places of its brackets."""

    start: int
    end: int
    items: tuple[Item, ...]

    def member(self, key: str) -> Item | None:
        """The member in effect: of equal keys the last one."""
        return next((item for item in reversed(self.items) if item.key == key), None)

    def span(self, item: Item) -> tuple[int, int]:
        """What to cut to be rid of an item and of its comma; the inverse of appending it."""
        at = self.items.index(item)
        if at > 0:
            return self.items[at - 1].end, item.end
        return (item.start, self.items[1].start) if len(self.items) > 1 else (self.start + 1, self.end)


def decoded(data: bytes) -> tuple[bytes, str]:
    """The byte order mark, if any, and the text after it."""
    body = data.removeprefix(codecs.BOM_UTF8)
    return data[: len(data) - len(body)], body.decode()


def is_blank(text: str) -> bool:
    """Whether there is nothing but JSON white space."""
    return _skip(text, 0) == len(text)


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def document(text: str) -> dict[str, object]:
    """The settings as values; a blank file holds none."""

    def refuse(_name: str) -> NoReturn:
        place = next(match.start(1) for match in _CONSTANT.finditer(text) if match[1])
        raise json.JSONDecodeError("This is not a JSON number", text, place)

    settings = json.JSONDecoder(parse_constant=refuse, parse_int=float).decode(text) if not is_blank(text) else {}
    if not isinstance(settings, dict):
        raise json.JSONDecodeError("The settings must be a JSON object", text, _skip(text, 0))
    return settings


def container_at(text: str, start: int) -> Container:
    """The object or array whose bracket opens at `start`; the text is valid JSON."""
    items = []
    at = _skip(text, start + 1)
    while text[at] not in "]}":
        key, value_start = None, at
        if text[start] == "{":
            key, end = _DECODER.raw_decode(text, at)
            value_start = _skip(text, _skip(text, end) + 1)
        value, end = _DECODER.raw_decode(text, value_start)
        items.append(Item(key, at, value_start, end, value))
        at = _skip(text, end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return Container(start, at, tuple(items))


def root_of(text: str) -> Container:
    """The object that the whole text is."""
    return container_at(text, _skip(text, 0))


def entries_of(text: str, item: Item | None, kind: type) -> Iterator[tuple[Container, Item]]:
    """The entries of an item's value, each with the container it stands in, if the value is of that kind."""
    if item is not None and isinstance(item.value, kind):
        container = container_at(text, item.value_start)
        yield from ((container, entry) for entry in container.items)


@contextmanager
def _beside(target: Path) -> Iterator[IO[bytes]]:
    """A private file in the same directory, gone at the end unless it was renamed into place."""
    directory = target.parent
    try:
        temporary = tempfile.NamedTemporaryFile(prefix=f".{target.name}.", suffix=".tmp", dir=directory, delete=False)  # noqa: SIM115
    except OSError as error:  # named after the directory: the temporary name says nothing to its user
        raise OSError(error.errno, error.strerror, str(directory)) from error
    with temporary as file:
        try:
            yield file
        finally:
            with suppress(FileNotFoundError):
                os.unlink(file.name)


def _write_through(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()
    os.fsync(file.fileno())


def _copy_attributes(source: Path, copy: str) -> None:
    """Give `copy` the mode, owner, access lists and extended attributes of `source`, but a fresh time."""
    status = os.stat(source)
    if status.st_uid != os.geteuid():
        os.chown(copy, status.st_uid, -1)
    with suppress(PermissionError):  # a group that we are not in: the owner still has the file
        os.chown(copy, -1, status.st_gid)
    shutil.copystat(source, copy)
    os.utime(copy)  # watchers go by it


def _require_unchanged(before: Snapshot) -> None:
    if read_snapshot(before.path) != before:
        raise FileChangedError(f"{before.path} was changed by somebody else at the same moment.")


def _sync_directory(directory: Path) -> None:
    with suppress(OSError):  # some file systems refuse it; the rename itself is done
        descriptor = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
