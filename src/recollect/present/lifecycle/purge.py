"""Deleting the memory: what recollect made in its folder, and nothing else that may lie there."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from recollect.app import DATABASE_NAME
from recollect.errors import LifecycleError
from recollect.present.own_files import RECORDS, foreign_paths, own_paths


@dataclass(frozen=True)
class Purge:
    """What is to be deleted: paths of files and folders, each folder before what is in it, and the files' bytes."""

    home: Path
    paths: tuple[str, ...]
    size_bytes: int

    @property
    def files(self) -> list[str]:
        """The files, the words first."""
        files = [path for path in self.paths if not os.path.isdir(path)]
        return sorted(files, key=lambda path: not os.path.basename(path).startswith(DATABASE_NAME))


def plan_purge(home: Path, *, keep_records: bool = False) -> Purge:
    """Everything of ours in the folder, by its exact name; with `keep_records` not what undoes an install."""
    records = str(home / RECORDS)
    found = [path for path in own_paths(str(home)) if not (keep_records and _is_in(path, records))]
    return Purge(home, tuple(found), sum(_size(path) for path in found))


def require_deletable(plan: Purge) -> None:
    """Refuse, before anything is done, to delete where nothing can be deleted.

    Raises:
        LifecycleError: A folder may not be written; it is named.
    """
    for folder in dict.fromkeys(os.path.dirname(path) for path in plan.files):
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise LifecycleError(
                f"{folder} is not writable, so the memory cannot be deleted. Nothing was changed."
                " `recollect doctor` says how to make it writable."
            )


def purge(plan: Purge) -> list[str]:
    """Deletes what is planned, folders as far as they are empty then.

    Returns:
        The files that were deleted, as paths in the folder.

    Raises:
        LifecycleError: Something could not be deleted; all else is, and the message says what is left.
    """
    files, left = plan.files, []
    for path in files:
        try:
            os.unlink(path)
        except FileNotFoundError:
            continue
        except OSError as error:
            left.append(f"{path}: {error.strerror}")
    for path in (*reversed(plan.paths), str(plan.home)):
        _remove_empty(path)
    if left:
        raise LifecycleError(
            f"{len(files) - len(left)} files of the memory were deleted, {len(left)} could not be: {left[0]}."
            f" Delete what is left in {plan.home} by hand."
        )
    return [os.path.relpath(path, plan.home) for path in files]


def what_is_kept(home: Path) -> list[str]:
    """What lies in the folder that recollect did not make, as paths in it."""
    return [os.path.relpath(path, home) for path in foreign_paths(str(home))]


def _remove_empty(path: str) -> None:
    if not os.path.islink(path) and os.path.isdir(path):
        try:
            os.rmdir(path)
        except OSError:  # somebody else's file is in it
            return


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + os.sep)


def _size(path: str) -> int:
    try:
        return 0 if os.path.isdir(path) else os.lstat(path).st_size
    except OSError:
        return 0
