"""What the machine refuses (room, rights, files, memory), told from damage and said in a sentence.

Tantivy's errors are texts: a number of the system's in one is believed. Where there is none ("Worker thread failed"),
the machine is asked before an index is: one that is whole must not be thrown away because a disk was full.
"""

from __future__ import annotations

import errno
import os

from howcome.domain.patterns import late
from howcome.errors import MachineError

_LIMIT = "raise the limit of this shell or program"
CAUSES: dict[int, tuple[str, str]] = {
    errno.ENOSPC: ("the disk is full", "make room on it"),
    errno.EDQUOT: ("your quota on this disk is used up", "make room, or ask for more"),
    errno.EFBIG: ("files may not grow further here (`ulimit -f`)", _LIMIT),
    errno.EROFS: ("the file system is read-only", "mount it writable, or set HOWCOME_HOME to another folder"),
    errno.EACCES: ("this user may not write there", "`howcome doctor` names the folder and what to do"),
    errno.EPERM: ("this user may not write there", "`howcome doctor` names the folder and what to do"),
    errno.EMFILE: ("this process may not open more files (`ulimit -n`)", _LIMIT),
    errno.ENFILE: ("the machine has too many files open", "end programs that you do not need"),
    errno.ENOMEM: ("there is too little memory (`ulimit -v`)", f"end other programs, or {_LIMIT}"),
    errno.EAGAIN: ("no thread can be started (`ulimit -u`, `ulimit -v`)", f"end other programs, or {_LIMIT}"),
    errno.EIO: ("the disk cannot be read or written (Input/output error)", "copy what is on it, and look at `dmesg`"),
}
"""The system's number → what it means here, and what to do."""

AFTERWARDS = "What is stored stays as it is; transcripts are read on as soon as that is mended"

_NUMBER = late(r"os error (\d+)|code: (\d+)")
_WORDS = {
    "ailed to spawn": errno.EAGAIN, "can't start new thread": errno.EAGAIN,
    "failed to map segment": errno.ENOMEM, "cannot allocate memory": errno.ENOMEM,
    **{os.strerror(number): number for number in CAUSES if number != errno.EPERM},
}  # fmt: skip
"""What libraries say that do not tell the number."""

LEAST_ROOM_BYTES = 16 << 20
LEAST_FILE_BYTES = 256 << 20
LEAST_FREE_FILES = 24
WRITER_BYTES = 640 << 20
"""Address space for a writer: its heap, and the stacks and arenas of its threads. Where there is less, Tantivy ends the
whole process."""


def number_of(error: BaseException | None) -> int | None:
    """The system's number behind an error or what caused it, when it is one of CAUSES."""
    while error is not None:
        if isinstance(error, MemoryError):
            return errno.ENOMEM
        if isinstance(error, OSError) and error.errno in CAUSES:
            return error.errno
        said = str(error)
        numbers = [int(one or other) for one, other in _NUMBER.findall(said)]
        numbers += [number for words, number in _WORDS.items() if words in said]
        found = next((number for number in numbers if number in CAUSES), None)
        if found is not None:
            return found
        error = error.__cause__ or error.__context__
    return None


def refusal(number: int) -> MachineError:
    """The error for a number of CAUSES."""
    cause, remedy = CAUSES[number]
    return MachineError(f"{cause}: {remedy}. {AFTERWARDS}.", number)


def refusal_of(error: BaseException) -> MachineError | None:
    """The machine's refusal behind an error; None when it is something else."""
    number = number_of(error)
    return None if number is None else refusal(number)


def shortage(folder: str) -> int | None:
    """What the machine is short of now, as a number of CAUSES; None when a file can be written and a thread started."""
    try:
        _write_a_little(folder)
        _open_a_few()
        _start_a_thread()
    except (OSError, RuntimeError) as error:
        return number_of(error)
    return _limit(folder)


def require_memory() -> None:
    """Refuses to begin writing an index where the process may not have the memory for it."""
    if _may_not_write():
        raise refusal(errno.ENOMEM)


def _write_a_little(folder: str) -> None:
    import tempfile

    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    with tempfile.TemporaryFile(dir=folder) as stream:  # without a name: nothing is left behind by a kill
        stream.write(bytes(65536))
        stream.flush()


def _open_a_few() -> None:
    opened: list[int] = []
    try:
        opened.extend(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC) for _ in range(LEAST_FREE_FILES))
    finally:
        for descriptor in opened:
            os.close(descriptor)


def _start_a_thread() -> None:
    import threading

    thread = threading.Thread(target=int)
    thread.start()
    thread.join()


def _limit(folder: str) -> int | None:
    """A limit that is so near that what has just failed is likely to have met it, and to have made room again."""
    import resource

    file_bytes = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if file_bytes != resource.RLIM_INFINITY and file_bytes < LEAST_FILE_BYTES:
        return errno.EFBIG
    while not os.path.isdir(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    status = os.statvfs(folder)
    if status.f_bavail * status.f_frsize < LEAST_ROOM_BYTES:
        return errno.ENOSPC
    return errno.ENOMEM if _may_not_write() else None


def _may_not_write() -> bool:
    """Whether a limit on this process's memory is nearer than WRITER_BYTES; nothing is taken."""
    import mmap
    import resource

    if resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY:
        return False
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)
    try:
        mmap.mmap(-1, WRITER_BYTES, flags=flags).close()
    except OSError:
        return True
    return False
