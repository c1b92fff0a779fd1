"""Import graphs: what the graph tier asks of any, and those that the store keeps."""

from __future__ import annotations

import json

from howcome.domain.code import CodeFile, GraphState, Neighbour, file_name, file_stem
from howcome.log.event_rows import one, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from typing import Any, Protocol

    from howcome.domain.code import GraphChange
    from howcome.log.database import Database

    class ImportGraph(Protocol):
        """Which file of a project imports which, asked by file names.

        One that is elsewhere raises ProviderError when it does not answer.
        """

        def files_called(
            self, project_id: int, names: Collection[str], stems: Collection[str]
        ) -> list[tuple[int, str]]:
            """Files (row id, path) with one of these names or stems (`domain.code.file_name`, `file_stem`)."""

        def neighbours(self, rows: Iterable[int]) -> list[Neighbour]:
            """The files that these import, and those that import these, each pair once."""


_PUT_FILE = (
    "INSERT INTO code_files (project_id, path, name, stem, digest, size_bytes, mtime_ns, imports, fate)"
    " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9) ON CONFLICT (project_id, path)"
    " DO UPDATE SET digest = ?5, size_bytes = ?6, mtime_ns = ?7, imports = ?8, fate = ?9"
)
_NEIGHBOURS = (
    "WITH pairs (of_file, file) AS ("
    " SELECT from_file, to_file FROM code_edges WHERE from_file IN (SELECT value FROM json_each(?1))"
    " UNION SELECT to_file, from_file FROM code_edges WHERE to_file IN (SELECT value FROM json_each(?1)))"
    " SELECT of_file, file, f.path, (SELECT count(*) FROM code_edges WHERE from_file = of_file)"
    " + (SELECT count(*) FROM code_edges WHERE to_file = of_file), (SELECT count(*) FROM code_edges WHERE from_file ="
    " file) + (SELECT count(*) FROM code_edges WHERE to_file = file)"
    " FROM pairs JOIN code_files f ON f.id = file ORDER BY of_file, f.path"
)


_STATE = "reader, built_ms, files, edges, limits"


class CodeGraph:
    """The import graphs that the store holds: each written whole by a build."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def write(self, root: str, change: GraphChange, now_ms: int) -> int:
        """Makes the graph of a root's project what a build found, in one transaction; the project's row id.

        Only what differs is written: a build after an edit of one file is a few rows.
        """
        with self._db.transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO projects (root, created_ms) VALUES (?, ?)", (path_text(root), now_ms)
            )
            project_id = int(one(self._db.rows("SELECT id FROM projects WHERE root = ?", (path_text(root),))))
            rows = (
                (project_id, path, file_name(path), file_stem(path), file.digest, file.size_bytes, file.mtime_ns,
                 json.dumps(file.imports), file.fate)
                for path, file in change.changed.items()
            )  # fmt: skip
            self._db.executemany(_PUT_FILE, rows)
            known = dict(self._db.rows("SELECT path, id FROM code_files WHERE project_id = ?", (project_id,)))
            wanted = set(change.paths)
            gone = [(row,) for path, row in known.items() if path not in wanted]
            kept = known.keys() & wanted
            edges = {(known[start], known[end]) for start, end in change.edges if start in kept and end in kept}
            self._write_edges(project_id, edges)
            self._db.executemany("DELETE FROM code_files WHERE id = ?", gone)
            self._db.execute(
                "INSERT OR REPLACE INTO code_graphs (project_id, reader, built_ms, files, edges, limits)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (project_id, change.reader, now_ms, len(known) - len(gone), len(edges), json.dumps(change.limits)),
            )
        return project_id

    def _write_edges(self, project_id: int, edges: set[tuple[int, int]]) -> None:
        old = set(self._db.rows("SELECT from_file, to_file FROM code_edges WHERE project_id = ?", (project_id,)))
        self._db.executemany("DELETE FROM code_edges WHERE from_file = ? AND to_file = ?", sorted(old - edges))
        self._db.executemany(
            "INSERT INTO code_edges (project_id, from_file, to_file) VALUES (?, ?, ?)",
            [(project_id, *edge) for edge in sorted(edges - old)],
        )

    def state(self, project_id: int) -> GraphState | None:
        """What is known of a project's graph; None when none was built."""
        row = self._db.row(f"SELECT {_STATE} FROM code_graphs WHERE project_id = ?", (project_id,))  # noqa: S608 - fixed names
        return _state(row) if row else None

    def states(self) -> list[tuple[int, str, GraphState]]:
        """Every project that has a graph: its row id, its root, what is known of the graph; the oldest one first."""
        sql = f"SELECT {_STATE}, id, root FROM code_graphs JOIN projects ON id = project_id ORDER BY built_ms, id"  # noqa: S608 - fixed names
        return [(row[5], row[6], _state(row)) for row in self._db.rows(sql)]

    def files(self, project_id: int) -> dict[str, CodeFile]:
        """Every file of a graph by its path."""
        sql = "SELECT path, digest, size_bytes, mtime_ns, imports, fate FROM code_files WHERE project_id = ?"
        return {
            path: CodeFile(digest, size_bytes, mtime_ns, json.loads(imports), fate)
            for path, digest, size_bytes, mtime_ns, imports, fate in self._db.rows(sql, (project_id,))
        }

    def edges(self, project_id: int) -> list[tuple[str, str]]:
        """Every edge of a graph as two paths, sorted."""
        return self._db.rows(
            "SELECT a.path, b.path FROM code_edges e JOIN code_files a ON a.id = e.from_file"
            " JOIN code_files b ON b.id = e.to_file WHERE e.project_id = ? ORDER BY 1, 2",
            (project_id,),
        )

    def files_called(self, project_id: int, names: Collection[str], stems: Collection[str]) -> list[tuple[int, str]]:
        """Files (row id, path) with one of these names or stems, in the order of their paths."""
        return self._db.rows(
            "SELECT id, path FROM code_files WHERE project_id = ?1"
            " AND name IN (SELECT CAST(value AS TEXT) FROM json_each(?2))"
            " UNION SELECT id, path FROM code_files WHERE project_id = ?1"
            " AND stem IN (SELECT CAST(value AS TEXT) FROM json_each(?3)) ORDER BY 2",
            (project_id, json.dumps(list(names)), json.dumps(list(stems))),
        )

    def neighbours(self, rows: Iterable[int]) -> list[Neighbour]:
        """The files that these import, and those that import these, each pair once."""
        return [Neighbour(*row) for row in self._db.rows(_NEIGHBOURS, (json.dumps(list(rows)),))]

    def imports(self, row: int) -> tuple[list[str], list[str]]:
        """The paths of what a file imports, and of what imports it, sorted."""
        sql = "SELECT f.path FROM code_edges e JOIN code_files f ON f.id = e.{} WHERE e.{} = ? ORDER BY 1"
        to_files = self._db.rows(sql.format("to_file", "from_file"), (row,))
        from_files = self._db.rows(sql.format("from_file", "to_file"), (row,))
        return [path for (path,) in to_files], [path for (path,) in from_files]


def _state(row: tuple[Any, ...]) -> GraphState:
    return GraphState(row[0], row[1], row[2], row[3], json.loads(row[4]))
