"""Files of a project that import files of it: the import graph as it is kept, and what is shown of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    Edge = tuple[str, str]
    """The file that imports, and the one that it imports: paths below the project's root, with `/`."""

_NO_STEM = ("_", "-")


@dataclass(slots=True, eq=False)
class CodeFile:
    """A source file as it was last read: what it imports in the words of its language, not yet resolved.

    Attributes:
        digest: Keyed hash of its bytes.
        size_bytes, mtime_ns: Of the file then; `mtime_ns` is 0 when it was too young to tell a later edit by it.
        imports: What it imports (see the readers in `codegraph`); [] when it was not read.
        fate: READ, or why it was read in part or not at all.
    """

    READ, BROKEN, BINARY, LARGE, SLOW = "read", "syntax_errors", "binary", "too_large", "too_slow"
    UNREADABLE = "unreadable"

    digest: bytes
    size_bytes: int
    mtime_ns: int
    imports: Sequence[str]
    fate: str


@dataclass(slots=True, eq=False)
class GraphChange:
    """What a build found: files that are new or read anew, the paths of all files, and all edges."""

    reader: int
    paths: Collection[str]
    changed: Mapping[str, CodeFile]
    edges: Collection[Edge]
    limits: Sequence[str]


@dataclass(slots=True, eq=False)
class GraphState:
    """What is known of a project's graph: the version of the readers, when it was built (UTC ms), how large it is."""

    reader: int
    built_ms: int
    files: int
    edges: int
    limits: Sequence[str]


@dataclass(slots=True, eq=False)
class Neighbour:
    """A file one import away from another (`of`, by row ids): its path, and how many edges each of the two has."""

    of: int
    row: int
    path: str
    degree_of: int
    degree: int


def file_name(path: str) -> str:
    """The last part of a path, lower case: what prompts call a file by."""
    return path.rpartition("/")[2].lower()


def file_stem(name: str) -> str:
    """A name without its ending, `_` and `-`, lower case: `tidal_clock.py`, `TidalClock.java` and `TidalClock` meet."""
    stem = file_name(name).partition(".")[0]
    for mark in _NO_STEM:
        stem = stem.replace(mark, "")
    return stem


def ends_alike(path: str, named: str) -> bool:
    """Whether a path (lower case) and what somebody called a file (lower case) may be the same file.

    One of them ends with the other, by whole parts: `a/b.py` is `/home/me/a/b.py` and `b.py`.
    """
    return path == named or path.endswith("/" + named) or named.endswith("/" + path)
