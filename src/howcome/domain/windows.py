"""Paths of Windows machines, as transcripts from there hold them: read on another system they are only names."""

from __future__ import annotations

import posixpath
import re

MAX_CHARS = 4096
_DRIVE = re.compile(r"([A-Za-z]):(?=[\\/])")
_SHELL_DRIVE = re.compile(r"/cygdrive/([A-Za-z])(?=/|$)|/([A-Za-z])(?=/Users/)")
_DEVICE = re.compile(r"[\\/]{2}[?.][\\/](?:UNC(?=[\\/]))?")
_NOT_A_ROOT = re.compile(r"^[A-Z]:(?:/Users(?:/[^/]+)?)?$")
"""A drive, and home folders: what is below them is many projects'."""


def windows_path(path: str) -> str | None:
    """A path of a Windows machine in one spelling (`C:/Users/x`, `//server/share`); None for any other path.

    The forms: `C:\\`, `c:/`, `\\\\?\\C:\\`, `\\\\server\\share`, `/c/Users/` (Git's shell) and `/cygdrive/c/`.
    """
    device = _DEVICE.match(path)
    rest = path[device.end() : MAX_CHARS] if device else path[:MAX_CHARS]
    is_share = rest.startswith("\\") and (device is not None or rest.startswith("\\\\"))
    drive = _DRIVE.match(rest) or (None if device else _SHELL_DRIVE.match(rest))
    if drive is None and not is_share:
        return None
    letter = next(filter(None, drive.groups())).upper() if drive else ""
    below = posixpath.normpath("/" + rest[drive.end() if drive else 0 :].replace("\\", "/").strip("/"))
    return f"{letter}:{below}" if letter else "/" + below


def windows_parents(root: str) -> list[str]:
    """The folders above a Windows path, nearest first, that may be its project's root: no drive, no home folder."""
    found: list[str] = []
    while _DRIVE.match(root) and not _NOT_A_ROOT.match(root := root.rpartition("/")[0]):
        found.append(root)
    return found
