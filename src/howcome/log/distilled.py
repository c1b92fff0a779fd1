"""What sessions taught, how far they are distilled, and the memories that are made from it."""

from __future__ import annotations

import json

from howcome.domain import events
from howcome.domain.candidates import WISH, Told
from howcome.domain.memories import CLIENT, RULES, Memory, MemoryFilter
from howcome.domain.stored import Scope
from howcome.log.database import Database, Kept
from howcome.log.memories import Memories
from howcome.log.memory_rows import HOLDS, LIVE
from howcome.log.memory_writing import MemoryWriter
from howcome.log.projects import Projects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.reconciliation import Changes, DueSession, Known, Plan, Steps, Taught

MAX_KNOWN = 1_000_000
_DUE = (
    "WITH seen (id) AS ("
    " SELECT DISTINCT session_id FROM events"
    " WHERE id > coalesce((SELECT last_row FROM distilled_marks WHERE distiller = ?1), 0)"
    " UNION SELECT session_id FROM memberships)"
    " SELECT * FROM (SELECT s.id AS session, d.last_row AS done, d.members AS had, d.distiller = ?1 AS is_mine,"
    " coalesce((SELECT max(id) FROM events WHERE session_id = s.id), 0) AS last_row,"
    " (SELECT count(*) FROM events WHERE session_id = s.id) AS events,"
    " (SELECT count(*) FROM memberships WHERE session_id = s.id) AS members FROM seen"
    " JOIN sessions s ON s.id = seen.id LEFT JOIN distilled d ON d.session_id = s.id"
    " WHERE (?2 IS NULL OR s.project_id = ?2 OR EXISTS"
    " (SELECT 1 FROM events WHERE session_id = s.id AND project_id = ?2))"
    " AND (?3 IS NULL OR EXISTS (SELECT 1 FROM events WHERE session_id = s.id AND order_ms >= ?3))) due"
    " WHERE is_mine IS NOT TRUE OR last_row > done OR members != had ORDER BY last_row DESC"
)
_BY_HAND = f"SELECT 1 FROM memories o WHERE o.source != '{RULES}' AND memories.id IN (o.supersedes, o.superseded_by)"  # noqa: S608 - fixed text
TOUCHED = (
    "(access_count > 0 OR deleted_ms IS NOT NULL OR purged_ms IS NOT NULL OR pinned_ms IS NOT NULL"  # noqa: S608 - fixed text
    " OR status_ms IS NOT NULL OR EXISTS (SELECT 1 FROM memory_injections WHERE memory_id = memories.id)"
    " OR EXISTS (SELECT 1 FROM memory_reviews WHERE settled_ms IS NOT NULL AND memories.id IN (older, newer))"
    f" OR EXISTS ({_BY_HAND}) OR EXISTS (SELECT 1 FROM memory_projects WHERE memory_id = memories.id))"
)
"""Somebody read, was told, forgot, changed, pinned or settled something about a memory, or said where else it holds."""


class Candidates:
    """What exchanges taught (candidates), and what a plan makes of a project's."""

    def __init__(self, db: Database) -> None:
        self._db, self._memories = db, Memories(db)

    def due(self, distiller: str, scope: Scope, since_ms: int | None = None) -> list[DueSession]:
        """Sessions with events that this distiller (name and version) has not seen, those written last first."""
        from howcome.domain.reconciliation import DueSession

        found = self._db.rows(_DUE, (distiller, scope.number, since_ms))
        return [
            DueSession(session, done if is_mine and members == had else 0, last_row, own, members)
            for session, done, had, is_mine, last_row, own, members in found
        ]

    def mark(self, distiller: str, last_row: int) -> None:
        """Every event up to a row is distilled: later only newer ones are looked for."""
        if self._db.row("SELECT last_row FROM distilled_marks WHERE distiller = ?", (distiller,)) == (last_row,):
            return
        with self._db.transaction():
            self._db.execute("DELETE FROM distilled_marks")
            self._db.execute("INSERT INTO distilled_marks VALUES (?, ?)", (distiller, last_row))

    def record(self, due: DueSession, distiller: str, taught: Sequence[Taught], exchanges: Iterable[int]) -> int:
        """Replaces what some exchanges of a session taught, and moves its cursor, in one transaction.

        Args:
            due: The session, as it was read.
            distiller: Who distilled it.
            taught: What was distilled anew, one for each exchange.
            exchanges: All exchanges that the session has now: what others taught is taken away.

        Returns:
            How many candidates were not known before.
        """
        with self._db.transaction():
            self._db.execute(
                "INSERT OR REPLACE INTO distilled VALUES (?, ?, ?, ?)", (due.row, distiller, due.last_row, due.members)
            )
            rows = self._db.rows("SELECT DISTINCT exchange FROM candidates WHERE session_id = ?", (due.row,))
            known = {exchange for (exchange,) in rows}
            for exchange in known - set(exchanges):
                self._replace(due.row, exchange, [])
            said = [one for one in taught if one.exchange in known or one.candidates]
            roots = {new.project for one in said for new in one.candidates}
            ids = {root: Projects(self._db).of_root(root) for root in roots}
            return sum(
                self._replace(due.row, one.exchange, self._rows_of(one, ids), is_new=one.exchange not in known)
                for one in said
            )

    def _rows_of(self, taught: Taught, ids: Mapping[str, int | None]) -> list[tuple[object, ...]]:
        """Candidates as rows; the words of what was erased are not stored again."""
        if not taught.candidates:
            return []
        erased = self._db.rows(
            "SELECT key FROM memories WHERE purged_ms IS NOT NULL"
            " AND hex(key) IN (SELECT CAST(value AS TEXT) FROM json_each(?))",
            (json.dumps([new.key.hex().upper() for new in taught.candidates]),),
        )
        gone = {key for (key,) in erased}
        return [
            (
                ids[new.project], new.key, one.type, one.text, one.subject, events.ORIGIN_NUMBERS[one.origin],
                one.ts_ms, json.dumps(one.evidence), one.source,
            )
            for new in taught.candidates
            if new.key not in gone
            for one in (new.candidate,)
        ]  # fmt: skip

    def _replace(self, session: int, exchange: int, rows: list[tuple[object, ...]], *, is_new: bool = False) -> int:
        """Writes what one exchange taught where it is not so already; how many candidates are new.

        `is_new`: nothing is stored of it yet.
        """
        place, here = (session, exchange), "WHERE session_id = ? AND exchange = ?"
        columns = "project_id, key, type, text, subject, origin, ts_ms, evidence, source"
        old = [] if is_new else self._db.rows(f"SELECT {columns} FROM candidates {here}", place)  # noqa: S608 - fixed names
        if set(old) == set(rows):
            return 0
        if not is_new:
            self._db.execute(f"DELETE FROM candidates {here}", place)  # noqa: S608 - fixed names
        self._db.executemany(
            f"INSERT INTO candidates (session_id, exchange, {columns}) VALUES (?,?,?,?,?,?,?,?,?,?,?)",  # noqa: S608 - fixed names
            [(*place, *row) for row in rows],
        )
        projects = {(row[0],) for row in (*old, *rows)}
        self._db.executemany("INSERT OR IGNORE INTO unreconciled VALUES (?)", projects)
        return len(set(rows) - set(old))

    def unreconciled(self) -> list[int]:
        """Ids of the projects whose candidates have changed since their memories were made."""
        return [project for (project,) in self._db.rows("SELECT project_id FROM unreconciled ORDER BY project_id")]

    def known_of(self, project_id: int) -> Known:
        """What a project's memories are to be made from; the stamp is taken first, so that it is never too new."""
        from howcome.domain.reconciliation import Known, StoredCandidate

        stamp = self._stamp(project_id)
        rows = self._db.rows(
            "SELECT key, type, text, origin, ts_ms, subject, evidence FROM candidates WHERE project_id = ?",
            (project_id,),
        )
        candidates = [
            StoredCandidate(key, kind, text, events.ORIGINS[origin], ts_ms, subject, tuple(json.loads(evidence)))
            for key, kind, text, origin, ts_ms, subject, evidence in rows
        ]
        wanted = MemoryFilter(with_forgotten=True, with_superseded=True)
        found = self._memories.select(Scope.project(project_id), wanted, MAX_KNOWN, oldest_first=True)
        let_go = {one.row for one in found if one.source == CLIENT and one.is_let_go}  # nobody meant it
        kept = [memory for memory in found if not (memory.is_outside or memory.row in let_go)]
        touched = self._db.rows(f"SELECT key FROM memories WHERE project_id = ? AND {TOUCHED}", (project_id,))  # noqa: S608 - fixed text
        return Known(project_id, candidates, kept, touched={key for (key,) in touched}, stamp=stamp)

    def _stamp(self, project_id: int) -> tuple[object, ...]:
        return tuple(
            self._db.row(
                "SELECT (SELECT max(change) FROM memories), (SELECT max(id) FROM candidates WHERE project_id = ?1),"
                " (SELECT count(*) FROM candidates WHERE project_id = ?1)",
                (project_id,),
            )
        )

    def apply(self, known: Known, plan: Plan, source: str, now_ms: int) -> Changes | None:
        """Makes a project's distilled memories what a plan says, in one transaction; None when something has changed.

        What people did stays: what they forgot, changed, pinned, resolved or erased is as they left it, and a memory
        that somebody read or was told is not taken away.
        """
        from howcome.log.sqlite_plan import PlanWriter

        with self._db.transaction():
            if self._stamp(known.project_id) != known.stamp:
                return None
            return PlanWriter(self._db, known, plan, source, now_ms).write()

    def told_of(self, keys: Iterable[bytes], before_ms: int | None = None) -> dict[bytes, Told]:
        """Which source found memories (by key), and how often they were said (before a moment); by hand: nothing."""
        rows = self._db.rows(
            "SELECT memory_key, min(source), count(DISTINCT session_id), max((SELECT count(DISTINCT o.project_id)"
            " FROM candidates o WHERE o.subject = c.subject AND c.subject LIKE ?2 || '%'))"
            " FROM candidates c WHERE memory_key IN (SELECT unhex(value) FROM json_each(?1))"
            " AND (?3 IS NULL OR ts_ms < ?3) GROUP BY memory_key",
            (json.dumps([key.hex() for key in keys]), Kept(WISH), before_ms),
        )
        return {key: Told(source, sessions, max(1, projects)) for key, source, sessions, projects in rows}

    def wordings(self, row: int) -> list[str]:
        """The other words in which sessions said what a memory says, in order."""
        sql = (
            "SELECT c.text FROM candidates c JOIN memories m ON m.key = c.memory_key AND m.text != c.text"
            " WHERE m.id = ? GROUP BY c.text ORDER BY min(c.ts_ms), c.text"
        )
        return [text for (text,) in self._db.rows(sql, (row,))]

    def sample(self, scope: Scope, source: str) -> list[Memory]:
        """All live memories of a scope that come from a distiller, in the order of their keys."""
        where = "" if scope.is_everything else f" AND {HOLDS.format('memories', '?2')}"
        sql = f"SELECT id FROM memories WHERE {LIVE} AND source = ?1{where}"  # noqa: S608 - fixed text
        rows = self._db.rows(sql, (source, *([] if scope.is_everything else [scope.project_id])))
        return sorted(self._memories.by_row([row for (row,) in rows]).values(), key=lambda memory: memory.key)


class InStep:
    """Memories of files, which are kept in step with what these say."""

    def __init__(self, db: Database) -> None:
        self._db, self._writer = db, MemoryWriter(db)

    def stamp(self) -> tuple[int, ...]:
        """Another one after each change of a memory."""
        return tuple(self._db.row("SELECT coalesce(max(change), 0), count(*), coalesce(max(id), 0) FROM memories"))

    def found_by(self, source: str) -> dict[int, list[str]]:
        """Distilled memories (rows) that a source found, each in all its wordings; none where another one did, too."""
        rows = self._db.rows(
            "SELECT m.id, iif(min(c.source) = max(c.source), json_group_array(DISTINCT c.text), '[]') FROM memories m"
            " JOIN candidates c ON c.memory_key = m.key WHERE m.source = ? AND m.superseded_by IS NULL"
            " AND m.purged_ms IS NULL GROUP BY m.id HAVING count(*) FILTER (WHERE c.source = ?) > 0",
            (RULES, source),
        )
        return {row: json.loads(texts) for row, texts in rows}

    def apply(self, stamp: tuple[int, ...], steps: Steps, now_ms: int) -> bool:
        """Does all that, in one transaction; False when a memory has changed since the stamp was taken."""
        with self._db.transaction():
            if self.stamp() != stamp:
                return False
            for row in steps.gone:
                self._writer.change(row, "deleted_ms = ?, gone_ms = ?", now_ms, now_ms)
            for row in steps.back:
                self._writer.change(row, "deleted_ms = NULL, gone_ms = NULL")
            for new in steps.new:
                self._writer.add(new)
            self._writer.weigh_again([*steps.gone, *steps.back])
        return True


class MemoryVectors:
    """Vectors (half floats) of memories and candidates, by which near ones are told and memories are found."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def has_any(self) -> bool:
        """Whether there is one, of any model."""
        return self._db.row("SELECT 1 FROM memory_vectors LIMIT 1") is not None

    def projects_without(self, model: str) -> list[int]:
        """Ids of projects with candidates that a model has made no vectors of."""
        sql = (
            "SELECT DISTINCT project_id FROM candidates c WHERE NOT EXISTS"
            " (SELECT 1 FROM memory_vectors v WHERE v.key = c.key AND v.model = ?) ORDER BY 1"
        )
        return [project for (project,) in self._db.rows(sql, (model,))]

    def of(self, model: str, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Vectors of candidates by key, those that a model has made."""
        wanted = set(keys)
        rows = self._db.rows("SELECT key, vector FROM memory_vectors WHERE model = ?", (model,))
        return {key: vector for key, vector in rows if key in wanted}

    def without(self, model: str, limit: int) -> dict[bytes, str]:
        """Texts of live memories by key that a model has made no vectors of, the newest first."""
        rows = self._db.rows(
            f"SELECT m.key, m.text FROM memories m WHERE {LIVE} AND NOT EXISTS"  # noqa: S608 - fixed text
            " (SELECT 1 FROM memory_vectors v WHERE v.key = m.key AND v.model = ?) ORDER BY m.id DESC LIMIT ?",
            (model, limit),
        )
        return dict(rows)

    def keep(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keeps vectors of candidates by key; those of other models go."""
        with self._db.transaction():
            self._db.execute("DELETE FROM memory_vectors WHERE model != ?", (model,))
            self._db.executemany(
                "INSERT OR REPLACE INTO memory_vectors VALUES (?, ?, ?)",
                [(key, model, vector) for key, vector in vectors.items()],
            )
