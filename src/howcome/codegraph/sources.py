"""The source files of a project: which there are, and reading one without being led astray by it."""

from __future__ import annotations

import os
import stat
import subprocess
from collections.abc import Iterable, Iterator

CONFIG_NAMES = frozenset(("Cargo.toml", "go.mod", "jsconfig.json", "package.json", "tsconfig.json"))
"""Files that say what an import is called, beside those that a tsconfig.json names."""

MAX_FILES = 50_000
MAX_FILE_BYTES = 1 << 20
"""Nobody writes a source file of a megabyte by hand: what is larger is generated or packed."""

MAX_CONFIG_BYTES = 256 << 10
MAX_ENTRIES = 500_000
"""A walk (a folder that is no repository, perhaps a home folder) looks at so many names."""

GIT_LIMIT_S = 60.0
_NEVER = frozenset(("__pycache__", "bower_components", "node_modules", "site-packages", "venv"))
"""Folders of other people's code, wherever they stand; a walk also leaves out hidden ones and those below."""

_UNWALKED = frozenset(map(os.fsencode, (*_NEVER, "build", "dist", "out", "target", "vendor")))
_LIST = ("git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--")
"""A repository's own settings may name a program for `fsmonitor`; listing files must not run it."""


class Listing:
    """The files of a project that a graph looks at: source files and configuration by their path, with their status.

    `limits` names what was left out because there is too much of it.
    """

    def __init__(self, root: str, suffixes: tuple[str, ...], max_files: int = MAX_FILES) -> None:
        self.root = os.path.realpath(root)
        self.limits: list[str] = []
        self._inside: dict[str, bool] = {}
        self.files: dict[str, os.stat_result] = {}
        self.configs: set[str] = set()
        for path in self._paths():
            is_source = path.endswith(suffixes)
            is_config = path.rpartition("/")[2] in CONFIG_NAMES
            status = self._status(path) if is_source or is_config else None
            if status is None:
                continue
            if is_config:
                self.configs.add(path)
            elif len(self.files) < max_files:
                self.files[path] = status
            elif "files" not in self.limits:
                self.limits.append("files")

    def read(self, path: str, limit_bytes: int) -> bytes | None:
        """The bytes of a regular file below the root; None when it is none (any more), or larger than that."""
        full = os.path.join(self.root, path)
        if not self._is_inside(os.path.dirname(full)):
            return None
        try:
            descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with open(descriptor, "rb") as stream:
                if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                    return None
                data = stream.read(limit_bytes + 1)
        except (OSError, ValueError):
            return None
        return data if len(data) <= limit_bytes else None

    def text(self, path: str) -> str:
        """The text of a configuration file; '' when it cannot be read."""
        return (self.read(path, MAX_CONFIG_BYTES) or b"").decode("utf-8-sig", "replace")

    def _paths(self) -> Iterator[str]:
        """Paths below the root, sorted, each once, without those that are no text."""
        listed = self._git() if os.path.exists(os.path.join(self.root, ".git")) else None
        for path in sorted(set(listed if listed is not None else self._walk())):
            if path and path.isprintable() and _NEVER.isdisjoint(path.split("/")[:-1]):
                yield path

    def _git(self) -> list[str] | None:
        """What git has or would take; None when it cannot say."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        try:
            done = subprocess.run(
                _LIST,
                cwd=self.root,
                env=environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=GIT_LIMIT_S,
                check=True,
            )
        except (OSError, subprocess.SubprocessError):
            return None
        return _texts(done.stdout.split(b"\0"))

    def _walk(self) -> list[str]:
        found: list[bytes] = []
        seen = 0
        top = os.fsencode(self.root)
        for folder, folders, names in os.walk(top):  # symbolic links to folders are not followed: no loops
            folders[:] = sorted(name for name in folders if name not in _UNWALKED and not name.startswith(b"."))
            seen += len(folders) + len(names)
            found += [os.path.relpath(os.path.join(folder, name), top) for name in names]
            if seen > MAX_ENTRIES:
                self.limits.append("entries")
                break
        return _texts(found)

    def _status(self, path: str) -> os.stat_result | None:
        full = os.path.join(self.root, path)
        try:
            status = os.lstat(full)
        except (OSError, ValueError):
            return None
        return status if stat.S_ISREG(status.st_mode) and self._is_inside(os.path.dirname(full)) else None

    def _is_inside(self, folder: str) -> bool:
        """Whether a folder is really where it says: a link in its path may lead out of the project."""
        if folder not in self._inside:
            self._inside[folder] = os.path.realpath(folder) == folder
        return self._inside[folder]


def _texts(names: Iterable[bytes]) -> list[str]:
    """Names that are text: a store holds nothing else."""
    found = []
    for name in names:
        try:
            found.append(name.decode())
        except UnicodeDecodeError:
            continue
    return found
