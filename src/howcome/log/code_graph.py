"""The ports to import graphs: what the graph tier asks of any, and what a store does that also keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from howcome.domain.code import CodeFile, GraphChange, GraphState, Neighbour


class ImportGraph(Protocol):
    """Which file of a project imports which, asked by file names.

    One that is elsewhere raises ProviderError when it does not answer.
    """

    def files_called(self, project_id: int, names: Collection[str], stems: Collection[str]) -> list[tuple[int, str]]:
        """Files (row id, path) with one of these names or stems (`domain.code.file_name`, `file_stem`)."""
        ...

    def neighbours(self, rows: Iterable[int]) -> list[Neighbour]:
        """The files that these import, and those that import these, each pair once."""
        ...


class CodeGraph(ImportGraph, Protocol):
    """The part of the store that holds import graphs: written whole by a build."""

    def write(self, root: str, change: GraphChange, now_ms: int) -> int:
        """Makes the graph of a root's project what a build found, in one transaction; the project's row id."""
        ...

    def state(self, project_id: int) -> GraphState | None:
        """What is known of a project's graph; None when none was built."""
        ...

    def states(self) -> list[tuple[int, str, GraphState]]:
        """Every project that has a graph: its row id, its root, what is known of the graph; the oldest one first."""
        ...

    def files(self, project_id: int) -> dict[str, CodeFile]:
        """Every file of a graph by its path."""
        ...

    def edges(self, project_id: int) -> list[tuple[str, str]]:
        """Every edge of a graph as two paths, sorted."""
        ...

    def imports(self, row: int) -> tuple[list[str], list[str]]:
        """The paths of what a file imports, and of what imports it, sorted."""
        ...
