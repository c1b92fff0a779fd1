"""Syntax trees by tree-sitter: the nodes of a source that may import something, found within a time.

Trees of a whole source are asked by a query, which runs in C. A source with syntax errors is walked instead: a query
takes time in the square of what lies in an error (200 kB of brackets: half a minute), a walk does not. A query cannot
be stopped (its callback ends the process with a fault), so patterns look at a node's first child at most: with more,
calls within calls cost the square of their depth.

Resolving what was found needs to know of a project its files, what each imports, and its configuration: `SourceTree`.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from howcome.errors import ProviderError

PARSE_LIMIT_S = 1.0
"""A megabyte of noise takes two seconds; a large source of people's a tenth of one."""

CHUNK_BYTES = 4096
"""A source is handed over in pieces, because only so can parsing be stopped; as bytes: a view of them crashes it."""

MAX_NODES = 4_000_000
GRAMMARS = {
    "python": ("tree_sitter_python", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "go": ("tree_sitter_go", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "java": ("tree_sitter_java", "language"),
}
"""Grammar → its package, and the function in it that gives it."""

MISSING = "the import graph needs tree-sitter: install howcome with its extra `graph`"


class TooSlowError(Exception):
    """A source took longer than it may."""


class Grammar:
    """One language's parser and what is looked for in its trees."""

    def __init__(self, name: str, query: str, kinds: Sequence[str]) -> None:
        package, function = GRAMMARS[name]
        try:
            binding: Any = importlib.import_module("tree_sitter")
            language = binding.Language(getattr(importlib.import_module(package), function)())
        except ImportError as error:
            raise ProviderError(MISSING) from error
        self._language = language  # neither the parser nor the query keeps it alive, and without it both crash
        self._parser, self._query = binding.Parser(language), binding.Query(language, query)
        self._cursor: Callable[[Any], Any] = binding.QueryCursor
        self._kinds = frozenset(kinds)

    def nodes(self, data: bytes, limit_s: float = PARSE_LIMIT_S) -> tuple[list[Any], bool]:
        """The nodes looked for, and whether the source is without syntax errors."""
        end = time.monotonic() + limit_s

        def is_late(*_: object) -> bool:
            return time.monotonic() > end

        try:
            tree = self._parser.parse(lambda offset, _: data[offset : offset + CHUNK_BYTES], progress_callback=is_late)
        except ValueError as error:  # what it raises when it was told to stop
            self._parser.reset()
            raise TooSlowError from error
        if tree.root_node.has_error:
            return self._walked(tree, is_late), False
        found: dict[str, list[Any]] = self._cursor(self._query).captures(tree.root_node)
        return [node for nodes in found.values() for node in nodes], True

    def _walked(self, tree: Any, is_late: Callable[[], bool]) -> list[Any]:  # noqa: ANN401 - tree-sitter is optional
        cursor, found = tree.walk(), []
        for number in range(MAX_NODES):
            if number % 4096 == 0 and is_late():
                break
            if cursor.node.type in self._kinds:
                found.append(cursor.node)
            if cursor.goto_first_child() or cursor.goto_next_sibling():
                continue
            while cursor.goto_parent():
                if cursor.goto_next_sibling():
                    break
            else:
                return found
        raise TooSlowError


def text_of(node: Any) -> str:  # noqa: ANN401 - tree-sitter is optional
    """The source of a node."""
    return bytes(node.text).decode("utf-8", "replace")


class SourceTree(NamedTuple):
    """The files of one language family of a project.

    Attributes:
        imports: Its files by path, with what each imports.
        configs: Paths of configuration files.
        text: The text of a configuration file; '' when there is none.
    """

    imports: Mapping[str, Sequence[str]]
    configs: Collection[str]
    text: Callable[[str], str]

    def folders_with(self, name: str) -> list[tuple[str, str]]:
        """Folders that hold a configuration file of this name, sorted, each with that file's text."""
        folders = sorted(folder_of(path) for path in self.configs if path.rpartition("/")[2] == name)
        return [(folder, self.text(f"{folder}/{name}".lstrip("/"))) for folder in folders]


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
