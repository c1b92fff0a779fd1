"""Where the machines of one person meet: a folder that something else carries about, or a branch of a git repository.

Both are a folder of sealed files to whoever syncs: `fetch` gives it as it is there now, `push` brings there what was
written into it; SyncError says that the place cannot be reached. Git merges nothing: who comes second reads what came
first, and writes again.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from glob import glob

from howcome.clients.git import GitError, git
from howcome.errors import SyncError, UsageError
from howcome.files import read_plain

BRANCH = "refs/heads/howcome"
GIT_LIMIT_S = 120.0
MAX_FILE_BYTES = 1 << 20
AGAIN = "Nothing is lost: run `howcome sync` again"
_AUTHOR = ("-c", "user.name=howcome", "-c", "user.email=howcome@localhost", "-c", "commit.gpgsign=false")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://.|(?:[^/@:]+@)?[^/@:]{2,}:(?!//)", re.IGNORECASE)
_CREDENTIALS = re.compile(r"(?<=://)[^/\s]*@")


def shown(remote: str) -> str:
    """A remote without the user and password that it may name."""
    return _CREDENTIALS.sub("", remote)


def normal(text: str) -> str:
    """What a person names as a remote (of git, or a folder), so that it means the same wherever it is said."""
    if _URL.match(text) and not text.startswith("-"):
        return text
    path = os.path.realpath(os.path.expanduser(text))
    if not os.path.isdir(path):
        raise UsageError(f"{text}: there is no such folder; make it first, or name a git remote")
    return path


class Folder:
    """A folder that is shared (a mounted disk, Syncthing, Dropbox …)."""

    def __init__(self, path: str) -> None:
        self._path = path

    def fetch(self) -> str:
        """The folder."""
        if not os.path.isdir(self._path):
            raise SyncError(f"{self._path} is not there (not mounted?). {AGAIN}")
        return self._path

    def push(self) -> bool:
        """What is written in it is shared."""
        return True


class Branch:
    """A branch of a git repository, in a working copy of our own that can be thrown away."""

    def __init__(self, url: str, work: str) -> None:
        self._url, self._work, self._head = url, work, ""

    def fetch(self) -> str:
        """The working copy, as the branch is now; one that a kill or a power cut damaged is made anew."""
        os.makedirs(self._work, mode=0o700, exist_ok=True)
        self._head = self._remote_head()
        try:
            self._check_out()
        except SyncError:
            shutil.rmtree(self._work)
            os.makedirs(self._work, mode=0o700)
            self._check_out()
        return self._work

    def _check_out(self) -> None:
        self._git("init", "--quiet")
        self._git("symbolic-ref", "HEAD", BRANCH)
        if self._head:
            self._git("fetch", "--quiet", "--depth=1", "--no-tags", self._url, BRANCH)
            self._git("reset", "--quiet", "--hard", "FETCH_HEAD")
        else:
            self._git("update-ref", "-d", "HEAD")
            self._git("read-tree", "--empty")
        self._git("clean", "-fdxq")

    def push(self) -> bool:
        """Brings what was written to the remote; False where another machine was faster."""
        self._git("add", "--all")
        if not self._git("status", "--porcelain"):
            return True
        self._git(*_AUTHOR, "commit", "--quiet", "--no-verify", "-m", "sync")
        try:
            self._git("push", "--quiet", self._url, f"HEAD:{BRANCH}")
        except SyncError:
            if self._remote_head() == self._head:
                raise
            return False
        return True

    def _remote_head(self) -> str:
        return self._git("ls-remote", "--quiet", self._url, BRANCH).partition("\t")[0]

    def _git(self, *words: str) -> str:
        try:
            return git(self._work, *words, limit_s=GIT_LIMIT_S, is_remote=True)
        except GitError as error:
            raise SyncError(f"{shown(self._url)}: {shown(str(error))}. {AGAIN}") from error


def remote_of(remote: str, work: str) -> Folder | Branch:
    """What a normal remote is; `work` is a folder of our own for a working copy."""
    is_git = _URL.match(remote) or any(os.path.exists(os.path.join(remote, name)) for name in (".git", "objects"))
    return Branch(remote, work) if is_git else Folder(remote)


def sealed_files(tree: str) -> Iterator[tuple[str, bytes]]:
    """The files of memories in a folder, also copies that somebody's software made of them, as paths in it."""
    for path in sorted(glob(os.path.join("[0-9a-f]" * 2, "*.sealed"), root_dir=tree)):
        if (data := read_plain(os.path.join(tree, path), MAX_FILE_BYTES)) is not None:
            yield path, data


def put(tree: str, path: str, data: bytes) -> None:
    """Puts a file into a folder, whole or not at all; it need not outlast a power cut, as it can be written again."""
    full = os.path.join(tree, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    part = f"{full}.part"
    with open(part, "wb") as stream:
        stream.write(data)
    os.replace(part, full)
