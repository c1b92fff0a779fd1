"""Which folders are one project: evidence, other roots, what somebody decided."""

from __future__ import annotations

from howcome.log.event_rows import path_text
from howcome.log.memory_rows import NEXT_CHANGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from howcome.domain.identity import Repository
    from howcome.log.database import Database

_DERIVED = ("code_edges", "code_files", "code_graphs", "unreconciled")
"""Tables whose rows of a project that is joined to another go: they are made anew."""

_MOVED = (
    "sessions",
    "events",
    "project_paths",
    "candidates",
    "rationales",
    "distil_batches",
    "project_aliases",
    "verdicts",
)


class Projects:
    """Projects by their roots."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def without_waiting(self) -> AbstractContextManager[None]:
        """Meanwhile a write that another process holds up fails at once."""
        return self._db.without_waiting()

    def of_path(self, path: str) -> int | None:
        """The project of a folder that was seen before, or whose root is that folder."""
        row = self._db.row("SELECT project_id FROM project_paths WHERE path = ?", (path_text(path),))
        return row[0] if row else self.of_root(path)

    def of_root(self, root: str) -> int | None:
        """The project with this root, be it another root of it."""
        sql = "SELECT id FROM projects WHERE root = ?1 UNION ALL SELECT project_id FROM project_aliases WHERE root = ?1"
        row = self._db.row(sql, (path_text(root),))
        return row[0] if row else None

    def roots(self) -> list[tuple[int, str]]:
        """Every project's row id and root."""
        return self._db.rows("SELECT id, root FROM projects ORDER BY root")

    def keep_repository(self, found: Repository, now_ms: int) -> None:
        """Keeps what a repository's folder shows, in place of what it showed before."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO repositories (root, commits, remote, is_shallow, seen_ms)"
                " VALUES (?, ?, ?, ?, ?)",
                (path_text(found.root), " ".join(found.commits), found.remote, found.is_shallow, now_ms),
            )

    def repositories(self) -> list[Repository]:
        """What every folder showed when it was looked at, those of the oldest projects first."""
        from howcome.domain.identity import Repository

        rows = self._db.rows(
            "SELECT r.root, r.commits, r.remote, r.is_shallow FROM repositories r"
            " LEFT JOIN projects p ON p.root = r.root ORDER BY p.id IS NULL, p.id, r.root"
        )
        return [Repository(root, tuple(c.split()), remote, is_shallow=bool(is_)) for root, c, remote, is_ in rows]

    def alias(self, root: str, project_id: int, now_ms: int) -> None:
        """From now on a root that is no project's is this project's."""
        with self._db.transaction():
            self._alias(root, project_id, now_ms)

    def keep_apart(self, one: str, other: str, now_ms: int) -> None:
        """Remembers that two roots are two projects, whatever they show."""
        with self._db.transaction():
            self._db.execute(
                "INSERT OR IGNORE INTO projects_apart (one, other, noted_ms) VALUES (?, ?, ?)",
                (*sorted((path_text(one), path_text(other))), now_ms),
            )

    def roots_apart(self) -> set[tuple[str, str]]:
        """The pairs of roots, each in order, that somebody said are two projects."""
        return set(self._db.rows("SELECT one, other FROM projects_apart"))

    def aliases(self) -> list[tuple[str, str]]:
        """Other roots of projects, each with the project's own root."""
        sql = "SELECT a.root, p.root FROM project_aliases a JOIN projects p ON p.id = a.project_id ORDER BY 2, 1"
        return self._db.rows(sql)

    def join(self, kept: int, joined: int, now_ms: int) -> None:
        """Makes one project a part of another: its rows, its paths and its root are the other's from now on.

        Searching needs the lexical index built anew afterwards (`SearchIndex.rebuild`).
        """
        root = next(root for (root,) in self._db.rows("SELECT root FROM projects WHERE id = ?", (joined,)))
        with self._db.transaction():
            execute = self._db.execute
            for table in _DERIVED:
                execute(f"DELETE FROM {table} WHERE project_id = ?", (joined,))  # noqa: S608 - fixed names
            for table in _MOVED:
                execute(f"UPDATE {table} SET project_id = ? WHERE project_id = ?", (kept, joined))  # noqa: S608 - fixed names
            execute(
                f"UPDATE memories SET project_id = ?, change = {NEXT_CHANGE} WHERE project_id = ?",  # noqa: S608 - fixed text
                (kept, joined),
            )
            held = "SELECT memory_id, ? FROM memory_projects WHERE project_id = ?"
            execute(f"INSERT OR IGNORE INTO memory_projects {held}", (kept, joined))
            execute("DELETE FROM memory_projects WHERE project_id = ?", (joined,))
            own = "SELECT id FROM memories WHERE project_id = ?1"
            execute(f"DELETE FROM memory_projects WHERE project_id = ?1 AND memory_id IN ({own})", (kept,))  # noqa: S608 - fixed text
            execute("INSERT OR IGNORE INTO unreconciled VALUES (?)", (kept,))
            execute("DELETE FROM projects WHERE id = ?", (joined,))
            self._alias(root, kept, now_ms)

    def _alias(self, root: str, project_id: int, now_ms: int) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO project_aliases (root, project_id, noted_ms) VALUES (?, ?, ?)",
            (path_text(root), project_id, now_ms),
        )
