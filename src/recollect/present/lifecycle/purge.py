"""Deleting the memory: what recollect made in its folder, and nothing else that may lie there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from recollect.app import DATABASE_NAME
from recollect.errors import LifecycleError

_FILES = ("hook-errors.log", "hook-errors.log.old", "config.toml", "worker.lock", "worker.sock")
_FOLDERS = ("index", "installs", "spool", "damaged")
"""`damaged` is where `recollect doctor` tells its user to put a database that cannot be read."""


def purge(home: Path) -> list[str]:
    """Deletes every file of the store; what was deleted, by name. The folder goes too, if nothing else is in it.

    Raises:
        LifecycleError: Something could not be deleted; the message says what.
    """
    names = [name for name in _listed(home) if _is_ours(name)]
    try:
        for name in sorted(names, key=lambda name: not name.startswith(DATABASE_NAME)):  # the words first
            path = home / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        if home.is_dir() and not os.listdir(home) and not home.is_symlink():
            home.rmdir()
    except OSError as error:
        raise LifecycleError(f"{error.filename or home}: {error.strerror}. Delete it by hand.") from error
    return names


def what_is_kept(home: Path) -> list[str]:
    """What lies in the folder that recollect did not make."""
    return [name for name in _listed(home) if not _is_ours(name)]


def _listed(home: Path) -> list[str]:
    return sorted(os.listdir(home)) if home.is_dir() else []


def _is_ours(name: str) -> bool:
    return name.startswith(DATABASE_NAME) or name in _FILES or name in _FOLDERS
