"""Small disks: a file system of a few megabytes in memory, or in a file on a loop device; with room on request."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KINDS = {"tmpfs": 0, "ext4": 4096, "ext4 in small blocks": 1024}
"""Each with the size of its blocks: where they are smaller than a page, a page that is mapped may have no room."""

BALLAST = "ballast"


class Disk:
    """A mounted file system; part of it is taken by a file, whose removal makes room."""

    def __init__(self, place: Path) -> None:
        self.place = place

    @property
    def free_bytes(self) -> int:
        """What is left."""
        found = os.statvfs(self.place)
        return found.f_bavail * found.f_frsize

    def leave(self, size: int) -> None:
        """Takes everything but so many bytes."""
        with (self.place / BALLAST).open("ab") as stream:
            while (more := self.free_bytes - size) > 0:
                try:
                    stream.write(bytes(min(more, 1 << 16)))
                    stream.flush()
                except OSError:
                    break

    def make_room(self) -> None:
        """Gives it all back."""
        (self.place / BALLAST).unlink(missing_ok=True)


@contextlib.contextmanager
def mounted(kind: str, megabytes: int, room: Path) -> Iterator[Disk]:
    """A disk of so many megabytes; the test is skipped where none can be mounted, with the reason."""
    if os.geteuid() != 0:
        pytest.skip("only root mounts a disk")
    place = room / "disk"
    place.mkdir()
    words = (
        ["-t", "tmpfs", "-o", f"size={megabytes}m", "none"] if kind == "tmpfs" else _image(room, megabytes, KINDS[kind])
    )
    done = subprocess.run(["mount", *words, str(place)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no {kind} can be mounted here: {done.stderr.strip()}")
    try:
        yield Disk(place)
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True, capture_output=True)


def _image(room: Path, megabytes: int, block_bytes: int) -> list[str]:
    maker = shutil.which("mkfs.ext4", path=f"{os.environ.get('PATH', '')}:/sbin:/usr/sbin")
    if maker is None:
        pytest.skip("no mkfs.ext4")
    image = room / "image"
    with image.open("wb") as stream:
        stream.truncate(megabytes << 20)
    subprocess.run([maker, "-q", "-m", "0", "-b", str(block_bytes), str(image)], check=True, capture_output=True)
    return ["-o", "loop", str(image)]
