"""Deleting the memory: what howcome made in its folder, and nothing else that may lie there.

Sessions may be running, and a worker in the middle of a commit. So the words go first: whoever works sees that, ends
and lets go of its lock. Then all is listed again, until nothing is left.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from howcome.clients.projects import is_inside
from howcome.errors import LifecycleError
from howcome.log.place import is_database_file
from howcome.present.own_files import RECORDS, foreign_paths, own_paths
from howcome.present.render import counted
from howcome.settings import CONFIG_NAME
from howcome.wiring.atomic_files import remove_empty
from howcome.worker.thread import LOCK_NAME, take_lock, worker_state

WAIT_S = 3.0
"""How long whoever works is waited for: it looks once in a second, and ends after its piece of at most some 0.3 s."""

LIST_EVERY_S = 0.05


@dataclass(frozen=True)
class Purge:
    """What is to be deleted: paths, a folder's before what is in it; `for_others` not what connected agents need."""

    home: Path
    paths: tuple[str, ...]
    for_others: bool = False

    @property
    def files(self) -> list[str]:
        """The files, the words first."""
        files = [path for path in self.paths if not os.path.isdir(path)]
        return sorted(files, key=lambda path: not is_database_file(path))

    @property
    def memory(self) -> list[str]:
        """The files of them that are the memory's: without the records of installs, which undoing one takes away."""
        return [path for path in self.files if not is_inside(path, str(self.home / RECORDS))]

    @property
    def backups(self) -> list[str]:
        """What agents' own files were before they were connected."""
        return [path for path in self.paths if path.endswith(".original")]

    @property
    def size_bytes(self) -> int:
        """Of the memory's files."""
        size = 0
        for path in self.memory:
            with suppress(OSError):
                size += os.lstat(path).st_size
        return size

    @property
    def keeps_settings(self) -> bool:
        """Whether `config.toml` stays, for the agents that stay connected."""
        return self.for_others and str(self.home / CONFIG_NAME) in own_paths(str(self.home))


def plan_purge(home: Path, *, for_others: bool = False) -> Purge:
    """Everything of ours in the folder, by its exact name; `for_others` without what agents that stay need."""
    kept = (str(home / RECORDS), str(home / CONFIG_NAME)) if for_others else ()
    found = [path for path in own_paths(str(home)) if not any(is_inside(path, one) for one in kept)]
    return Purge(home, tuple(found), for_others)


def require_deletable(plan: Purge) -> None:
    """Refuse, before anything is done, to delete where nothing can be deleted."""
    for folder in dict.fromkeys(os.path.dirname(path) for path in plan.files):
        if not os.access(folder, os.W_OK | os.X_OK, effective_ids=os.access in os.supports_effective_ids):
            raise LifecycleError(
                f"{folder} is not writable, so the memory cannot be deleted. Nothing was changed."
                " `howcome doctor` says how to make it writable."
            )


def purge(plan: Purge, *, wait_s: float = WAIT_S) -> list[str]:
    """Deletes what is planned and what comes meanwhile, folders as far as they are empty then.

    LifecycleError says that something is left, or may come, and what to do; all else is deleted.
    """
    deadline, home = time.monotonic() + wait_s, str(plan.home)
    deleted: dict[str, None] = {}
    _delete([path for path in plan.files if is_database_file(path)], deleted)
    while worker_state(home)["working"] and time.monotonic() < deadline:
        time.sleep(LIST_EVERY_S)
    lock = take_lock(home) if os.path.isfile(os.path.join(home, LOCK_NAME)) else None  # so that nobody begins
    try:
        while True:
            problems = _delete(plan.files, deleted)
            remove_empty([*plan.paths, home])
            plan = plan_purge(plan.home, for_others=plan.for_others)
            if all(path in problems for path in plan.files) or time.monotonic() > deadline:
                break
            time.sleep(LIST_EVERY_S)
        _require_gone(plan, problems, len(deleted), is_over=lock is not None or not worker_state(home)["working"])
    finally:
        if lock is not None:
            os.close(lock)
    return [os.path.relpath(path, plan.home) for path in deleted]


def _delete(files: list[str], deleted: dict[str, None]) -> dict[str, str]:
    """Deletes files; those that could not be, with the reason."""
    problems = {}
    for path in files:
        try:
            with suppress(FileNotFoundError):
                os.unlink(path)
                deleted[path] = None
        except OSError as error:
            problems[path] = str(error.strerror)
    return problems


def _require_gone(plan: Purge, problems: Mapping[str, str], number: int, *, is_over: bool) -> None:
    """Nothing is said to be deleted that is there, or that somebody may be writing."""
    deleted = f"{counted(number, 'file')} of the memory {'was' if number == 1 else 'were'} deleted"
    left = plan.files
    stuck = [f"{path}: {problems[path]}" for path in left if path in problems]
    if stuck:
        raise LifecycleError(
            f"{deleted}, {len(left)} could not be: {stuck[0]}. Delete what is left in {plan.home} by hand."
        )
    if left or not is_over:
        what = f", {counted(len(left), 'file')} came again ({left[0]})" if left else ""
        raise LifecycleError(
            f"{deleted}{what}, but an agent's session is still at work in {plan.home}: end the agents' sessions and run"
            " this again."
        )


def what_is_kept(home: Path) -> list[str]:
    """What lies in the folder that howcome did not make, as paths in it."""
    return [os.path.relpath(path, home) for path in foreign_paths(str(home))]
