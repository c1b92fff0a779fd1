"""Whether two folders are one project: what a repository shows of itself, and what follows when two show the same."""

from __future__ import annotations

import re

SAME, DOUBT, OTHER = "same", "doubt", "other"
_SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://(?:[^/@]*@)?(?P<host>[^/:]*)(?::\d+)?/*(?P<path>.*)$", re.IGNORECASE)
_SCP = re.compile(r"^(?:[^/@:]*@)?(?P<host>[^/:]+):/*(?P<path>[^:].*)$")


class Repository:
    """What a repository shows: its first commits (sorted), its remote (see `normal_remote`), whether it is shallow."""

    __slots__ = ("commits", "is_shallow", "remote", "root")

    def __init__(self, root: str, commits: tuple[str, ...], remote: str, *, is_shallow: bool) -> None:
        self.root, self.commits, self.remote, self.is_shallow = root, commits, remote, is_shallow


def compare(one: Repository, other: Repository) -> str:
    """SAME: equal first commits and an equal remote. DOUBT: one of these is equal, and the other may be. Else OTHER.

    A fork and a project that was made from a template share the first commit, but not the remote.
    """
    is_remote_equal = bool(one.remote) and one.remote == other.remote
    if one.is_shallow or other.is_shallow or not (one.commits and other.commits):
        return DOUBT if is_remote_equal else OTHER
    if one.commits == other.commits:
        return SAME if is_remote_equal else DOUBT
    return DOUBT if set(one.commits) & set(other.commits) else OTHER


def normal_remote(url: str) -> str:
    """A remote as host and path, alike for every way to reach it, without user, password, port, query and `.git`."""
    url = url.strip().split("?")[0].split("#")[0]
    found = _SCHEME.match(url) or (None if url.startswith(("/", ".")) else _SCP.match(url))
    host, path = (found["host"].lower(), found["path"]) if found else ("", url)
    return f"{host}/{path}".rstrip("/").removesuffix(".git").rstrip("/") if host or path else ""
