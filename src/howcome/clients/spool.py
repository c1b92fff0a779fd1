"""The spool: observations of agents that leave no transcript, on disk until they are in the store.

    spool/observations.jsonl            appended to, one write a call, under append.lock
    spool/batch-<ms>-<random>.jsonl     what was claimed (or grew large); deleted when its rows are committed
    spool/dead/<batch>.failed-<n>-<Error>.jsonl   a batch that the store refused n times, as it was
    spool/dead/<batch>.records.jsonl    lines that are no observations: {"reason": …, "line": …}
    spool/key                           keys the placeholders of secrets, which are redacted before they come here

One process at a time moves batches into the store (claim.lock); the kernel lets go of a lock when its holder dies.
Whoever dies in between leaves a batch that the next one takes over: ids are given at the append, so nothing is twice.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import stat
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from howcome.errors import StoreError, StoreLockedError

FOLDER = "spool"
DEAD = "dead"
LIVE = "observations.jsonl"
APPEND_LOCK = "append.lock"
CLAIM_LOCK = "claim.lock"
KEY_NAME = "key"
KEY_BYTES = 32
LOCK_WAIT_S = 5.0
"""An append holds its lock for well under a millisecond, so whoever waits that long meets a stopped process."""

ROTATE_BYTES = 4 << 20
"""A larger file is made a batch by the next append, so that one batch fits the time of one hook."""

MAX_BATCH_BYTES = 256 << 20
"""Nothing that `append` makes is this large; so much is counted (`files.MAX_DOCUMENT_BYTES`: so much is read)."""

_OPEN_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FAILED = ".failed-"
_RECORDS = ".records"
_POLL_S = 0.002


class DeadLetter:
    """A file in `dead`: single records that were refused, or a whole batch with how often it failed and why."""

    def __init__(self, path: str) -> None:
        self.path, self.failed_s = path, _mtime_s(path)
        name = os.path.basename(path).removesuffix(".jsonl")
        self.is_records = is_records(path)
        count, _, reason = name.partition(_FAILED)[2].partition("-")
        self.attempts = int(count) if count.isdecimal() else 1
        self.reason = reason or "unknown"


def append(home: str, observations: Iterable[Mapping[str, object]]) -> int:
    """Adds observations to the spool, all or none of them; each gets an id and a time when it has none.

    Nothing is checked or redacted here: `ingest.spool.take_in` does that first.

    Raises:
        StoreError: the spool cannot be written; StoreLockedError when another process held it for too long.
        ValueError: a value that JSON cannot hold.
    """
    lines = [encode(observation) for observation in observations]
    if lines:
        folder = _folder(home)
        with _system_errors(folder), locked(os.path.join(folder, APPEND_LOCK), LOCK_WAIT_S):
            _write(folder, b"".join(lines))
    return len(lines)


def encode(observation: Mapping[str, object]) -> bytes:
    """The line of an observation."""
    given = {"id": os.urandom(16).hex(), "ts_ms": time.time_ns() // 1_000_000}
    text = json.dumps({**given, **observation}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "replace") + b"\n"


def _write(folder: str, data: bytes) -> None:
    path = os.path.join(folder, LIVE)
    if _size(path) >= ROTATE_BYTES:
        os.rename(path, os.path.join(folder, _batch_name()))
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _OPEN_FLAGS, 0o600)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            raise StoreError(f"{path}: not a regular file of yours; move it away")
        size, written = status.st_size, 0
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            data = b"\n" + data  # a writer was killed in mid-line: what it left must not swallow this line
        try:
            written = os.write(descriptor, data)
        finally:
            if written < len(data):
                os.ftruncate(descriptor, size)
        if written < len(data):
            raise StoreError(f"{path}: no space left; nothing was kept")
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: str, wait_s: float) -> Iterator[None]:
    """Holds a lock file; the kernel lets go of it when this process dies.

    Raises:
        StoreLockedError: another process held it for longer than `wait_s`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
    try:
        end = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= end:
                    raise StoreLockedError(f"{path}: another process holds it; try again") from None
            time.sleep(_POLL_S)
        yield
    finally:
        os.close(descriptor)


def _folder(home: str) -> str:
    """The spool's folder, made when it is not there, for nobody else's eyes."""
    folder = os.path.join(home, FOLDER)
    with _system_errors(folder):
        os.makedirs(home, mode=0o700, exist_ok=True)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        status = os.stat(folder)
        if status.st_mode & 0o077 and status.st_uid == os.geteuid():
            os.chmod(folder, 0o700)
    return folder


def key_of(home: str) -> bytes:
    """The key of the placeholders in this spool, made on first use: equal secrets stay equal among observations."""
    folder = _folder(home)
    path = os.path.join(folder, KEY_NAME)
    with _system_errors(path), locked(os.path.join(folder, APPEND_LOCK), LOCK_WAIT_S):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _OPEN_FLAGS, 0o600)
        try:
            key = os.read(descriptor, KEY_BYTES)
            if len(key) < KEY_BYTES:  # new, or its maker was killed: no placeholder was made with it
                key = os.urandom(KEY_BYTES)
                os.pwrite(descriptor, key, 0)
        finally:
            os.close(descriptor)
    return key


# -- claiming: only under `claiming` --------------------------------------------------------------------------------
@contextlib.contextmanager
def claiming(home: str, wait_s: float = 0.0) -> Iterator[None]:
    """Be the one process that moves batches into the store.

    Raises:
        StoreLockedError: another one is at it.
        StoreError: the spool cannot be read or written.
    """
    folder = _folder(home)
    with _system_errors(folder), locked(os.path.join(folder, CLAIM_LOCK), wait_s):
        yield


def is_empty(home: str) -> bool:
    """Whether nothing at all waits, dead letters aside; costs one look into a folder that is mostly not there."""
    folder = os.path.join(home, FOLDER)
    return not _size(os.path.join(folder, LIVE)) and not any(map(_is_batch, _names(folder)))


def claim(home: str) -> list[str]:
    """Every batch, oldest first; what was appended until now becomes the last of them."""
    folder = _folder(home)
    for each in (folder, os.path.join(folder, DEAD)):  # what a mover that was killed did not finish
        for name in _names(each):
            if name.startswith("batch-") and name.endswith(".part"):
                os.unlink(os.path.join(each, name))
    live = os.path.join(folder, LIVE)
    with locked(os.path.join(folder, APPEND_LOCK), LOCK_WAIT_S):
        if _size(live):
            os.rename(live, os.path.join(folder, _batch_name()))
    return [os.path.join(folder, name) for name in filter(_is_batch, _names(folder))]


def bury(home: str, path: str, reason: str, attempts: int = 1) -> None:
    """Puts a batch aside that the store refused for the `attempts`-th time; its name says why."""
    buried = _dead_file(home, path, f"{_FAILED}{attempts}-{reason}")
    os.rename(path, buried)
    os.utime(buried, follow_symlinks=False)


def keep_refused(home: str, path: str, refused: list[tuple[str, str]]) -> None:
    """Puts single lines of a batch aside, each with its reason; again for the same batch is once."""
    from howcome.files import write_whole  # who appends does without

    lines = [json.dumps({"reason": reason, "line": line}).encode() + b"\n" for reason, line in refused]
    write_whole(_dead_file(home, path, _RECORDS), b"".join(lines))


def _dead_file(home: str, path: str, why: str) -> str:
    """Where what is put aside of a batch goes; its folder is made."""
    folder = os.path.join(home, FOLDER, DEAD)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return os.path.join(folder, f"{os.path.basename(path).split('.')[0]}{why}.jsonl")


def keep_rest(home: str, path: str, lines: list[bytes]) -> None:
    """What is left of a batch becomes a batch of its own, in its place among the others."""
    from howcome.files import write_whole  # as above

    begin = "-".join(os.path.basename(path).split(".")[0].split("-")[:2])
    name = begin + "-" + os.urandom(4).hex() + ".jsonl"
    write_whole(os.path.join(home, FOLDER, name), b"\n".join(lines) + b"\n")


def is_records(path: str) -> bool:
    """Whether a file holds single refused lines, each wrapped with its reason."""
    return path.endswith(f"{_RECORDS}.jsonl")


def dead_letters(home: str) -> list[DeadLetter]:
    """What was put aside, oldest first."""
    folder = os.path.join(home, FOLDER, DEAD)
    return [DeadLetter(os.path.join(folder, name)) for name in _names(folder) if name.endswith(".jsonl")]


def discard_dead(home: str) -> int:
    """Deletes all dead letters; how many files."""
    letters = dead_letters(home)
    if letters:
        with claiming(home, LOCK_WAIT_S):
            for letter in letters:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(letter.path)
    return len(letters)


def spool_counts(home: str) -> dict[str, object]:
    """What waits and what is dead, for `status` and `doctor`; a spool that cannot be read counts as empty.

    `waiting` and `dead` are lines, `oldest_s` is when the oldest waiting file was last written (Unix seconds, or None),
    `reasons` counts dead lines by why.
    """
    folder = os.path.join(home, FOLDER)
    waiting = [os.path.join(folder, name) for name in _names(folder) if name == LIVE or _is_batch(name)]
    waiting = [path for path in waiting if _size(path)]
    dead = dead_letters(home)
    reasons = Counter(reason for letter in dead for reason in _reasons(letter))
    reasons.update({letter.reason: 0 for letter in dead if not letter.is_records})  # also of one that is empty
    return {
        "waiting": sum(len(_lines(path)) for path in waiting), "waiting_bytes": sum(map(_size, waiting)),
        "waiting_files": len(waiting), "oldest_s": min(map(_mtime_s, waiting), default=None),
        "dead": reasons.total(), "dead_files": len(dead), "reasons": dict(reasons),
    }  # fmt: skip


def _reasons(letter: DeadLetter) -> Iterator[str]:
    """Why each line is dead."""
    for line in _lines(letter.path):
        try:
            yield str(json.loads(line)["reason"]).partition(":")[0] if letter.is_records else letter.reason
        except (ValueError, LookupError, TypeError, RecursionError):
            yield "unknown"


def _lines(path: str) -> list[bytes]:
    from howcome.files import read_plain

    data = read_plain(path, MAX_BATCH_BYTES)
    return data.removesuffix(b"\n").split(b"\n") if data else []


def _batch_name() -> str:
    return f"batch-{time.time_ns() // 1_000_000:013d}-{os.urandom(4).hex()}.jsonl"


def _is_batch(name: str) -> bool:
    return name.startswith("batch-") and name.endswith(".jsonl")


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _size(path: str) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:
        return 0


def _mtime_s(path: str) -> float:
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return time.time()


@contextlib.contextmanager
def _system_errors(path: str) -> Iterator[None]:
    """What the file system refuses, as an error that says where."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or path}: {error.strerror or error}") from error
