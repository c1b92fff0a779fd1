"""What a repository shows of itself: its remote, read from its files, and its first commits, by git within a time."""

from __future__ import annotations

import os
import re

from howcome.domain.identity import Repository, normal_remote

MAX_CONFIG_BYTES = 256 << 10
MAX_COMMITS = 16
_SECTION = re.compile(r'^\s*\[\s*(?:remote\s+"(?P<remote>[^"]*)"|[^\]]*)\s*\]')
_URL = re.compile(r"^\s*url\s*=\s*(?P<url>.+?)\s*$", re.IGNORECASE)


def remote_of(root: str) -> str:
    """The normal form of a repository's remote: `origin`'s, or that of the only one; "" without one."""
    try:
        with open(os.path.join(_common_folder(root), "config"), "rb") as stream:
            lines = stream.read(MAX_CONFIG_BYTES).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    remotes: dict[str, str] = {}
    section = None
    for line in lines:
        head, url = _SECTION.match(line), _URL.match(line)
        if head:
            section = head["remote"]
        elif url and section is not None:
            remotes.setdefault(section, normal_remote(url["url"].strip('"')))
    return remotes.get("origin") or (next(iter(remotes.values())) if len(remotes) == 1 else "")


def read_repository(root: str, limit_s: float) -> Repository | None:
    """What the repository at a project's root shows; None when there is none. Starts git, for so long at most."""
    folder = _common_folder(root)
    if not os.path.isdir(os.path.join(folder, "objects")):
        return None
    is_shallow = os.path.exists(os.path.join(folder, "shallow"))
    commits = () if is_shallow else _first_commits(root, limit_s)
    return Repository(root, commits, remote_of(root), is_shallow=is_shallow)


def _common_folder(root: str) -> str:
    """Where git keeps what all worktrees share; a bare repository is its own."""
    inner = os.path.join(root, ".git")
    return inner if os.path.isdir(inner) else root


def _first_commits(root: str, limit_s: float) -> tuple[str, ...]:
    """The commits without parents behind HEAD; none when git cannot say, or not in time."""
    from howcome.clients.git import GitError, git

    try:
        said = git(root, "rev-list", "--max-parents=0", "HEAD", "--", limit_s=limit_s)
    except GitError:
        return ()
    found = sorted(said.split())
    return tuple(found) if len(found) <= MAX_COMMITS else ()
