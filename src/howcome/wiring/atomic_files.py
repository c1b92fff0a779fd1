"""Replace a user's file in one step, or leave it exactly as it was."""

from __future__ import annotations

import codecs
import errno
import json
import os
import re
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from howcome.errors import LifecycleError
from howcome.files import replacing, sync

PRIVATE_DIRECTORY = 0o700
_ATTEMPTS = 10
_TOML_PLACE = re.compile(r"(.*) \(at line (\d+), column (\d+)\)")
_Report = TypeVar("_Report")
_Given = ParamSpec("_Given")


class FileChangedError(LifecycleError):
    """Somebody else wrote the file between our read and our write; nothing was written, read it again."""


class Snapshot(NamedTuple):
    """What a file held when it was read; `data` and `mode` are None when there was no file.

    `target` is `path` with links followed: a file that is a link into a dotfiles repository is edited there.
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
    """Write `data` in place of `before` by rename; an existing file's mode, owner and attributes stay."""
    with replacing(str(before.target), last_look=lambda: _require_unchanged(before)) as file:
        file.write(data)
        if before.data is not None:
            file.flush()
            _copy_attributes(before.target, file.name)


def remove_file(before: Snapshot) -> None:
    """Remove the file that `before` describes (the target of a link, never the link)."""
    _require_unchanged(before)
    os.unlink(before.target)
    with suppress(OSError):  # some file systems refuse it; it is gone
        sync(str(before.target.parent))


def require_writable(before: Snapshot) -> None:
    """Refuse a place where the file cannot be made or replaced, before anything is written anywhere."""
    above = next(path for path in before.path.parents if os.path.lexists(path))
    if not above.is_dir():
        what = "This link leads nowhere" if above.is_symlink() else os.strerror(errno.ENOTDIR)
        raise NotADirectoryError(errno.ENOTDIR, what, str(above))
    if before.path.is_symlink() and not before.target.parent.is_dir():
        what = f"This link leads into {before.target.parent}, which is not there"
        raise FileNotFoundError(errno.ENOENT, what, str(before.path))
    folder = next(path for path in before.target.parents if os.path.lexists(path))
    if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))
    if before.data is not None and os.geteuid() not in (0, os.stat(before.target).st_uid):
        raise PermissionError(errno.EPERM, "The file belongs to another user", str(before.target))


def edit_safely(path: Path, once: Callable[_Given, _Report], *given: _Given.args, **named: _Given.kwargs) -> _Report:
    """Run one read-and-replace of a user's file (with what it is given); again if somebody else was faster."""
    for _ in range(_ATTEMPTS):
        try:
            return once(*given, **named)
        except FileChangedError:
            continue
        except (OSError, ValueError, RecursionError) as error:
            raise LifecycleError(f"{_reason(path, error)} Nothing was written to {path}.") from error
    raise LifecycleError(f"{path} keeps changing. Close the program that writes it and try again.")


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
            return "The path of the interpreter, of howcome or of HOWCOME_HOME is not UTF-8; settings cannot hold it."
        case _ if place := _TOML_PLACE.fullmatch(str(error)):
            return f"{settings}, line {place[2]}, column {place[3]}: {place[1]}. {remedy}"
        case _:
            kind = "TOML" if settings.suffix == ".toml" else "JSON"
            return f"{settings} cannot be read as {kind}: {error}. {remedy}"


def digest(data: bytes) -> str:
    """The SHA-256 of a file's content."""
    from hashlib import sha256  # dear, and `status` mostly has nothing to compare

    return sha256(data).hexdigest()


def remove_empty(directories: Iterable[str]) -> None:
    """Remove directories, innermost first, as far as they are empty."""
    for directory in sorted(directories, key=len, reverse=True):
        with suppress(OSError):  # somebody uses it meanwhile
            os.rmdir(directory)


def decoded(data: bytes) -> tuple[bytes, str]:
    """The byte order mark, if any, and the text after it."""
    body = data.removeprefix(codecs.BOM_UTF8)
    return data[: len(data) - len(body)], body.decode()


def _copy_attributes(source: Path, copy: str) -> None:
    """Give `copy` the mode, owner, access lists and extended attributes of `source`, but a fresh time."""
    from shutil import copystat

    status = os.stat(source)
    if status.st_uid != os.geteuid():
        os.chown(copy, status.st_uid, -1)
    with suppress(PermissionError):  # a group that we are not in: the owner still has the file
        os.chown(copy, -1, status.st_gid)
    copystat(source, copy)
    os.utime(copy)  # watchers go by it


def _require_unchanged(before: Snapshot) -> None:
    if read_snapshot(before.path) != before:
        raise FileChangedError(f"{before.path} was changed by somebody else at the same moment.")
