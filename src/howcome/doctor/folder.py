"""What the store stands on: its folder's owner and modes, its file system, the room that is left."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from howcome.doctor.base import Finding, Level, Machine
from howcome.doctor.facts import quoted
from howcome.present.own_files import foreign_paths, own_paths
from howcome.present.render import counted, in_units

LEAST_FREE_BYTES = 1_000_000_000
"""Below this, or below twice the store (an index is built anew beside the old one), a warning."""

NO_ROOM_BYTES = 50_000_000
"""Below this an error: the write-ahead log alone takes up to 16 MB, a pass of the index some 20."""

NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs 9p ceph glusterfs lustre gpfs beegfs fuse.sshfs fuse.rclone fuse.s3fs"
    " fuse.glusterfs fuse.ceph davfs vboxsf prl_fs".split()
)
"""SQLite's write-ahead log needs memory shared by all its processes, which these do not give (sqlite.org/wal.html)."""

GIT_OBJECTS = "/sync/git/.git/objects/"
"""What git keeps there nobody writes again, so git takes the right to away."""

_SHOWN = 3


def check_folder(machine: Machine) -> list[Finding]:
    """Nobody else may read what is kept: folders 0700, files 0600, all of them the user's own, who can write there."""
    home = machine.home
    if not os.path.lexists(home):
        missing = Finding("note", "folder", f"{home} is not there yet", "howcome import")
        return [_unwritable(home, _nearest(home)) or missing]
    if not os.path.isdir(home):
        return [Finding("error", "folder", f"{home} is no folder", f"mv {quoted(home, home + '.old')}")]
    findings = []
    if os.path.islink(home):
        real = os.path.realpath(home)
        remedy = f"export HOWCOME_HOME={quoted(real)}"
        findings.append(Finding("note", "folder", f"{home} is a link to {real}; every process must see both", remedy))
    paths = _ours(home)
    foreign = [path for path, status in paths if status.st_uid != os.geteuid()]
    if foreign:
        what = f"{_named(foreign, home)} belong to another user, whom howcome cannot write for"
        findings.append(Finding("error", "folder", what, give_back(home)))
    elif unwritable := _unwritable(home, home):
        findings.append(unwritable)
    own = [(path, status) for path, status in paths if status.st_uid == os.geteuid()]
    findings += [*_closed_to_us(home, own), *_open_to_others(home, own)]
    return findings or [Finding("ok", "folder", f"{home}: {counted(len(paths), 'file')} and folders, nobody else's")]


def _open_to_others(home: str, paths: list[tuple[str, os.stat_result]]) -> list[Finding]:
    """What others may read; in a folder that they cannot enter it is a note. What is not ours stays as it is."""
    is_shared, real = bool(foreign_paths(home)), os.path.realpath(home)
    found = [path for path, status in paths if status.st_mode & 0o077 and not (is_shared and path == real)]
    if not found:
        return []
    remedy = "howcome doctor --fix" if is_shared else f"chmod -R go-rwx {quoted(home)}"
    level: Level = "error"
    what = f"other users of this machine may read {_named(found, home)}"
    if not os.stat(real).st_mode & 0o077:
        level, what = "note", f"{_named(found, home)} would be open to others, but nobody else can enter the folder"

    def close() -> str:
        _set_modes(found, lambda status: status.st_mode & 0o700)
        return f"took the rights of others from {counted(len(found), 'path')}"

    return [Finding(level, "folder", what, remedy, close)]


def _closed_to_us(home: str, paths: list[tuple[str, os.stat_result]]) -> list[Finding]:
    """What their owner may not write: SQLite gives the files beside a database its mode, and these keep it."""
    real = os.path.realpath(home)
    found = [
        path
        for path, status in paths
        if path != real and _own_mode(status) & ~status.st_mode and not path.startswith(real + GIT_OBJECTS)
    ]
    what = f"{_named(found, home)} cannot be written by you, who own it: nothing new is stored"

    def open_to_us() -> str:
        _set_modes(found, lambda status: status.st_mode | _own_mode(status))
        return f"made {counted(len(found), 'path')} writable for you"

    remedy = f"chmod -R u+rwX {quoted(home)}"
    return [Finding("error", "folder", what, remedy, open_to_us)] if found else []


def _own_mode(status: os.stat_result) -> int:
    return 0o700 if stat.S_ISDIR(status.st_mode) else 0o600


def _set_modes(paths: list[str], mode_of: Callable[[os.stat_result], int]) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            os.chmod(path, stat.S_IMODE(mode_of(os.lstat(path))))


def _unwritable(home: str, folder: str) -> Finding | None:
    """The finding when a folder cannot be written, in which the memory is or has to be made."""
    if os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
        return None
    what = f"{home} is not writable: nothing new is stored"
    if folder != home:
        what = f"{home} cannot be made: {folder} is not writable"
    return Finding("error", "folder", what, writing_remedy(home, folder))


def writing_remedy(home: str, folder: str) -> str:
    """What makes a folder writable, or takes another one."""
    status = os.stat(folder)
    if folder != home or os.statvfs(folder).f_flag & os.ST_RDONLY:
        return "export HOWCOME_HOME=/a/folder/that/can/be/written"
    return give_back(home) if status.st_uid != os.geteuid() else f"chmod -R u+rwX {quoted(home)}"


def give_back(home: str) -> str:
    """What makes the folder its user's again."""
    return f'sudo chown -R "$(id -un)" {quoted(home)}'


def _ours(home: str) -> list[tuple[str, os.stat_result]]:
    """The folder, and every file and folder of ours in it, with its status."""
    real = os.path.realpath(home)
    found = []
    for path in (real, *own_paths(real)):
        with suppress(FileNotFoundError):  # a merge of the index, a checkpoint: gone since it was listed
            found.append((path, os.lstat(path)))
    return found


def _named(paths: list[str], home: str) -> str:
    real = os.path.realpath(home)
    names = [os.path.relpath(path, real) if path != real else home for path in paths[:_SHOWN]]
    rest = len(paths) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")


def check_file_system(machine: Machine) -> list[Finding]:
    """The store must be on a disk of this machine."""
    folder = _nearest(machine.home)
    try:
        with open(machine.mounts, encoding="utf-8", errors="surrogateescape") as stream:
            place, kind = file_system(stream.read(), folder)
    except FileNotFoundError:  # not Linux
        return []
    if kind not in NETWORK_FILE_SYSTEMS:
        return [Finding("ok", "file system", f"{kind} at {place}")]
    what = f"{machine.home} is on {place} ({kind}), a network file system: its write-ahead log can damage the store"
    return [Finding("error", "file system", what, "export HOWCOME_HOME=/a/folder/on/a/local/disk")]


def file_system(mounts: str, folder: str) -> tuple[str, str]:
    """Where the file system of a folder is mounted, and its kind, by a text in the format of /proc/mounts."""
    best = ("/", "unknown")
    for line in mounts.splitlines():
        fields = line.split(" ")
        if len(fields) < 3:
            continue
        place = fields[1].encode("latin-1", "surrogateescape").decode("unicode_escape")  # a blank is written \040
        is_above = folder == place or folder.startswith(place.rstrip("/") + "/")
        if is_above and len(place) >= len(best[0]):
            best = (place, fields[2])
    return best


def check_disk(machine: Machine) -> list[Finding]:
    """Room for what comes, and for an index that is built anew beside the old one."""
    free = machine.disk_free(_nearest(machine.home))
    store = sum(status.st_size for _, status in _ours(machine.home)) if os.path.isdir(machine.home) else 0
    wanted = max(LEAST_FREE_BYTES, 2 * store)
    if free >= wanted:
        return [Finding("ok", "disk", f"{in_units(free)} free, the store takes {in_units(store)}")]
    what = f"{in_units(free)} free on the disk of {machine.home}; {in_units(wanted)} are wanted"
    level: Level = "error" if free < NO_ROOM_BYTES else "warning"
    return [Finding(level, "disk", what, "export HOWCOME_HOME=/a/folder/on/a/larger/disk")]


def _nearest(folder: str) -> str:
    """The folder itself, or the nearest one above it that is there; links followed."""
    path = os.path.realpath(folder)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path
