"""What resolving imports needs to know of a project: its files, what each imports, and its configuration."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol


class SourceTree:
    """The files of one language family of a project.

    Attributes:
        imports: Its files by path, with what each imports.
        configs: Paths of configuration files.
        text: The text of a configuration file; '' when there is none.
    """

    def __init__(
        self, imports: Mapping[str, Sequence[str]], configs: Collection[str], text: Callable[[str], str]
    ) -> None:
        self.imports, self.configs, self.text = imports, configs, text

    def folders_with(self, name: str) -> list[str]:
        """Folders that hold a configuration file of this name, sorted."""
        return sorted(path.rpartition("/")[0] for path in self.configs if path.rpartition("/")[2] == name)


class Resolver(Protocol):
    """Turns what a file imports into files of the project; what is not in the project is no file (None)."""

    def targets(self, path: str, imports: Sequence[str]) -> Collection[str | None]:
        """The files that a file imports, itself perhaps among them."""
        ...


class Language(NamedTuple):
    """One language family: which files are its, how their imports are found and what they mean."""

    suffixes: Mapping[str, str]
    """Ending of a file's name → its grammar."""

    kinds: Sequence[str]
    """Which nodes of a tree are looked for."""

    query: str
    """The same, as tree-sitter queries write it."""

    read: Callable[[Sequence[Any]], list[str]]
    """What the nodes of a file import, in words that need no parser to be resolved."""

    resolver: Callable[[SourceTree], Resolver]
    """What resolves the imports of a project."""


def join(folder: str, path: str) -> str | None:
    """A path below the project's root from a folder and a path relative to it; None when it leads out of the root."""
    parts: list[str] = []
    for part in f"{folder}/{path}".split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def folder_of(path: str) -> str:
    """The folder of a path; '' for the root."""
    return path.rpartition("/")[0]


def ancestors(folder: str) -> list[str]:
    """A folder and those above it, up to the root ('')."""
    found = [folder]
    while folder:
        folder = folder.rpartition("/")[0]
        found.append(folder)
    return found


def nearness(path: str, other: str) -> int:
    """How many leading parts two paths share."""
    count = 0
    for left, right in zip(path.split("/"), other.split("/"), strict=False):
        if left != right:
            break
        count += 1
    return count
