"""What the store stands on: its folder's owner and modes, its file system, the room that is left."""

from __future__ import annotations

import os
import stat

from recollect.present.checks.base import Finding, Level, Machine, counted, in_units, quoted

LEAST_FREE_BYTES = 1_000_000_000
"""Below this, or below twice the store (an index is built anew beside the old one), a warning."""

NO_ROOM_BYTES = 50_000_000
"""Below this an error: the write-ahead log alone takes up to 16 MB, a pass of the index some 20."""

NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs ncpfs afs 9p ceph glusterfs lustre gpfs beegfs fuse.sshfs fuse.rclone fuse.s3fs"
    " fuse.glusterfs fuse.ceph davfs vboxsf prl_fs".split()
)
"""SQLite's write-ahead log needs memory shared by all its processes, which these do not give (sqlite.org/wal.html)."""

_SHOWN = 3


def check_folder(machine: Machine) -> list[Finding]:
    """Nobody else may read what is kept: folders 0700, files 0600, all of them the user's own."""
    home = machine.home
    if not os.path.lexists(home):
        return [Finding("note", "folder", f"{home} is not there yet", "recollect import")]
    if not os.path.isdir(home):
        return [Finding("error", "folder", f"{home} is no folder", f"mv {quoted(home, home + '.old')}")]
    findings = []
    if os.path.islink(home):
        real = os.path.realpath(home)
        remedy = f"export RECOLLECT_HOME={quoted(real)}"
        findings.append(Finding("note", "folder", f"{home} is a link to {real}; every process must see both", remedy))
    paths = _everything(home)
    foreign = [path for path, status in paths if status.st_uid != os.geteuid()]
    if foreign:
        what = f"{_named(foreign, home)} belong to another user, whom recollect cannot write for"
        findings.append(Finding("error", "folder", what, f'sudo chown -R "$(id -un)" {quoted(home)}'))
    open_paths = [path for path, status in paths if status.st_mode & 0o077 and path not in set(foreign)]
    if open_paths:
        what = f"other users of this machine may read {_named(open_paths, home)}"
        remedy = f"chmod -R go-rwx {quoted(home)}"
        findings.append(Finding("error", "folder", what, remedy, lambda: _close(open_paths)))
    return findings or [Finding("ok", "folder", f"{home}: {counted(len(paths), 'file')} and folders, nobody else's")]


def _everything(home: str) -> list[tuple[str, os.stat_result]]:
    """Every file and folder with its status; links inside are not followed and have no mode of their own."""
    real = os.path.realpath(home)
    found = [(real, os.stat(real))]
    for parent, folders, names in os.walk(real):
        for name in (*folders, *names):
            path = os.path.join(parent, name)
            try:
                status = os.lstat(path)
            except FileNotFoundError:  # a merge of the index, a checkpoint: gone since it was listed
                continue
            if not stat.S_ISLNK(status.st_mode):
                found.append((path, status))
    return found


def _named(paths: list[str], home: str) -> str:
    real = os.path.realpath(home)
    names = [os.path.relpath(path, real) if path != real else home for path in paths[:_SHOWN]]
    rest = len(paths) - len(names)
    return ", ".join(names) + (f" and {rest} more" if rest else "")


def _close(paths: list[str]) -> str:
    for path in paths:
        try:
            os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode) & 0o700)
        except FileNotFoundError:
            continue
    return f"took the rights of others from {counted(len(paths), 'path')}"


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
    return [Finding("error", "file system", what, "export RECOLLECT_HOME=/a/folder/on/a/local/disk")]


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
    is_there = os.path.isdir(machine.home)
    store = sum(status.st_size for _, status in _everything(machine.home)) if is_there else 0
    wanted = max(LEAST_FREE_BYTES, 2 * store)
    if free >= wanted:
        return [Finding("ok", "disk", f"{in_units(free)} free, the store takes {in_units(store)}")]
    what = f"{in_units(free)} free on the disk of {machine.home}; {in_units(wanted)} are wanted"
    level: Level = "error" if free < NO_ROOM_BYTES else "warning"
    return [Finding(level, "disk", what, "export RECOLLECT_HOME=/a/folder/on/a/larger/disk")]


def _nearest(folder: str) -> str:
    """The folder itself, or the nearest one above it that is there; links followed."""
    path = os.path.realpath(folder)
    while not os.path.isdir(path):
        path = os.path.dirname(path)
    return path

