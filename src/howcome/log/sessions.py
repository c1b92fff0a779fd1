"""Sessions, accounts and what was said to whom."""

from __future__ import annotations

import json
from contextlib import nullcontext

from howcome.domain.events import ASSISTANT_TEXT, KINDS, ORIGIN_ASSISTANT, ORIGIN_USER, ORIGINS, TOOL_CALL, USER_PROMPT
from howcome.domain.sources import COUNTERS
from howcome.domain.stored import SessionSummary
from howcome.domain.times import DAY_MS
from howcome.domain.verdicts import KEPT_DAYS, MANIFEST, PROMPT, PastVerdict
from howcome.log.database import ALL_ROWS, Database, Kept
from howcome.log.event_rows import one
from howcome.log.memory_rows import EVENT_OF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from howcome.domain.stored import Scope
    from howcome.domain.verdicts import KeptVerdict

_PATH = "(replace(e.file, char(92), '/') || '/')"
_FILES_IN = (
    "SELECT e.session_id, e.id, e.kind = 0 FROM events e JOIN projects p ON p.id = e.project_id"  # noqa: S608 - fixed text
    " WHERE {where}(e.kind = 0 OR (e.file IS NOT NULL AND EXISTS (SELECT 1 FROM json_each(?1) f"
    f" WHERE instr({_PATH}, p.root || '/' || f.value || '/') = 1 OR instr({_PATH}, f.value || '/') = 1"
    f" OR (instr({_PATH}, p.root || '/') != 1 AND instr({_PATH}, '/' || f.value || '/') > 0))))"
    " ORDER BY e.session_id, e.order_ms, e.id"
)
"""Prompts, and calls that name a file below a folder, in the order of their sessions."""

_VERDICT = "project_id, asked, lines, tokens, rule, considered"
_SAID = {"injections": "event_id", "memory_injections": "memory_id"}
_TRIM = (
    "DELETE FROM verdicts WHERE asked_ms < ?1 AND id <"
    " (SELECT id FROM verdicts WHERE asked_ms >= ?1 ORDER BY id LIMIT 1)"
)
"""Takes away the oldest: the first one that is kept is found without reading others."""

_LINES = "verdicts v JOIN json_each(v.considered) c ON c.value ->> 2 = ''"
"""Each line that was said, with its verdict: `c.value ->> 0` is the row that it is from."""

_LAST = "v.id > (SELECT max(id) FROM verdicts) - 2000"
"""There is no index: of so many rows, those of some weeks, a scan takes 1 ms."""

_BITES = (
    f"SELECT e.session_id, count(*) FROM {_LINES} LEFT JOIN events e ON e.id = CAST(c.value ->> 0 AS BIGINT)"  # noqa: S608 - fixed text
    f" WHERE v.session = ?1 AND v.hook = ?2 AND v.lines > 0 AND {_LAST} AND v.id >"
    " (SELECT coalesce(max(v.id), 0) FROM verdicts v"
    f" WHERE v.session = ?1 AND v.hook = ?3 AND {_LAST}) GROUP BY 1"
)
_ELSEWHERE = (
    f"SELECT CAST(c.value ->> 0 AS BIGINT), count(DISTINCT v.session) FROM {_LINES}"  # noqa: S608 - fixed text
    f" WHERE v.asked = ?1 AND v.session != ?2 AND v.asked_ms >= ?3 AND v.lines > 0 AND {_LAST} GROUP BY 1"
)


class Sessions:
    """Sessions by their row ids; people know them by the client's own id."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def find(self, prefix: str, limit: int = 5) -> list[tuple[int, str, str]]:
        """Sessions whose client id is or starts with `prefix`: row id, client id, project root; the exact one alone."""
        sql = "SELECT s.id, s.name, p.root FROM sessions s JOIN projects p ON p.id = s.project_id WHERE "
        exact = list(self._db.rows(sql + "s.name = ?", (prefix,)))
        if exact or not prefix:
            return exact
        return list(
            self._db.rows(sql + "substr(s.name, 1, ?1) = ?2 ORDER BY s.name LIMIT ?3", (len(prefix), prefix, limit))
        )

    def named(self, name: str) -> list[int]:
        """Row ids of the sessions with this client id."""
        return [row[0] for row in self._db.rows("SELECT id FROM sessions WHERE name = ?", (name,))]

    def of_project(self, project_id: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions (row ids) are of a project."""
        sql = "SELECT id FROM sessions WHERE id IN (SELECT value FROM json_each(?)) AND project_id = ?"
        return {row[0] for row in self._db.rows(sql, (json.dumps(list(asked)), project_id))}

    def of_agent(self, agent_id: str) -> list[int]:
        """Row ids of the sessions in which a subagent of this id worked; all events are read (1 ms a thousand)."""
        return [
            row[0] for row in self._db.rows("SELECT DISTINCT session_id FROM events WHERE agent_id = ?", (agent_id,))
        ]

    def clients(self) -> dict[str, set[int]]:
        """The sessions (row ids) of each client, by the names of these."""
        found: dict[str, set[int]] = {}
        for client, row in self._db.rows("SELECT client, id FROM sessions ORDER BY client"):
            found.setdefault(client, set()).add(row)
        return found

    def since_prompt(self, name: str, before_ms: int | None = None) -> tuple[int, int, int]:
        """When something was typed last in a session (the client's id), how many tools were called since, and how often
        something was typed: all before a moment; zeros where nothing was.
        """  # noqa: D205 - one sentence
        found = self._db.row(
            "SELECT p.last_ms, (SELECT count(*) FROM events e WHERE e.session_id = p.session_id AND e.kind = ?4"
            " AND e.agent_id IS NULL AND e.order_ms >= p.last_ms AND (?3 IS NULL OR e.order_ms < ?3)), p.typed"
            " FROM (SELECT e.session_id, max(e.order_ms) AS last_ms, count(*) AS typed FROM sessions s JOIN events e"
            " ON e.session_id = s.id WHERE s.name = ?1 AND e.kind = ?2 AND e.agent_id IS NULL"
            " AND (?3 IS NULL OR e.order_ms < ?3) GROUP BY e.session_id ORDER BY 2 DESC LIMIT 1) p"
            " WHERE p.last_ms > 0",
            (name, KINDS.index(USER_PROMPT), before_ms, KINDS.index(TOOL_CALL)),
        )
        return (int(found[0]), int(found[1]), int(found[2])) if found else (0, 0, 0)

    def of_event(self, row: int) -> int | None:
        """The row id of the session that an event, or a rationale, belongs to."""
        found = self._db.row("SELECT session_id FROM events WHERE id = ?", (abs(row),))
        return found[0] if found else None

    def exchanges_in(self, scope: Scope, folders: Sequence[str]) -> dict[int, int]:
        """Exchanges (rows of prompts) in which a file below one of some folders was named, with their sessions.

        Folders are paths below the project's root; of a file elsewhere (another checkout) any part of its path. All
        events are read (1 ms a thousand).
        """
        where = "" if scope.is_everything else "e.project_id = ?2 AND "
        values = (json.dumps(list(folders)), *([] if scope.is_everything else [scope.project_id]))
        found: dict[int, int] = {}
        opened = (0, 0)
        for session, row, is_prompt in self._db.rows(_FILES_IN.format(where=where), values):
            if is_prompt:
                opened = session, row
            elif opened[0] == session:
                found[opened[1]] = session
        return found

    def recent(
        self,
        scope: Scope,
        limit: int,
        among: Collection[int] | None = None,
        since_ms: int = 0,
        before_ms: int | None = None,
    ) -> list[SessionSummary]:
        """The sessions of a scope (and among some) in which something happened last, newest first, and what is cheap.

        Below 0, `limit` is none. Not those that were stored last: a first import reads the newest transcript first. The
        last moment of a session is one look into an index, so that only those that are shown are counted. What a
        session was about is said by its first prompt that is more than a word or two.
        """
        where = "WHERE TRUE" if scope.is_everything else "WHERE project_id = ?1"
        where += "" if among is None else " AND id IN (SELECT value FROM json_each(?4))"
        last = "SELECT max(order_ms) FROM events WHERE session_id = sessions.id"
        last += "" if before_ms is None else f" AND order_ms < {before_ms:d}"
        sql = (
            "SELECT s.id, s.name, s.client, p.root, (SELECT min(order_ms) FROM events WHERE session_id = s.id),"  # noqa: S608 - fixed text
            " s.last_ms, (SELECT count(*) FROM events WHERE session_id = s.id),"
            " coalesce((SELECT excerpt FROM events WHERE session_id = s.id AND kind = 0"
            " ORDER BY length(excerpt) < 12, order_ms, id LIMIT 1),"
            " (SELECT excerpt FROM events WHERE session_id = s.id ORDER BY order_ms, id LIMIT 1))"
            f" FROM (SELECT * FROM (SELECT id, name, client, project_id, ({last}) AS last_ms FROM sessions {where}) one"
            " WHERE last_ms >= ?3 ORDER BY last_ms DESC, id DESC LIMIT ?2) s JOIN projects p ON p.id = s.project_id"
            " ORDER BY s.last_ms DESC, s.id DESC"
        )
        values = (
            scope.project_id,
            limit if limit >= 0 else ALL_ROWS,
            since_ms,
            *([] if among is None else [json.dumps(list(among))]),
        )
        return [SessionSummary(row) for row in self._db.rows(sql, values)]

    def ends(
        self, session_id: int, project_id: int | None, before_ms: int | None = None
    ) -> tuple[int | None, int | None]:
        """The rows of what a person asked first in a session, and of what its agent said last (before then)."""
        where = "WHERE session_id = ? AND project_id = ? AND kind = ? AND origin = ? AND agent_id IS NULL"
        where += "" if before_ms is None else f" AND order_ms < {before_ms:d}"

        def row(kind: str, origin: str, order: str) -> int | None:
            sql = f"SELECT id FROM events {where} ORDER BY {order} LIMIT 1"  # noqa: S608 - fixed text
            found = self._db.row(sql, (session_id, project_id, KINDS.index(kind), ORIGINS.index(origin)))
            return found[0] if found else None

        asked = row(USER_PROMPT, ORIGIN_USER, "order_ms, id")
        return asked, row(ASSISTANT_TEXT, ORIGIN_ASSISTANT, "order_ms DESC, id DESC")

    def prompts_around(self, exchange: int, count: int) -> list[int]:
        """The prompts (positions) next to one in its session: at most so many before it, and after it."""
        sql = (
            "SELECT id FROM events WHERE session_id = (SELECT session_id FROM events WHERE id = ?1) AND kind = 0"
            " AND agent_id IS NULL AND (order_ms, id) {} (SELECT order_ms, id FROM events WHERE id = ?1)"
            " ORDER BY order_ms {}, id {} LIMIT ?2"
        )
        ways = (("<", "DESC", "DESC"), (">", "ASC", "ASC"))
        return [row for way in ways for (row,) in self._db.rows(sql.format(*way), (exchange, count))]

    def of_memory(self, row: int) -> dict[str, str]:
        """The events (ids) that bear a memory out, as far as they are here, with their sessions (client's ids)."""
        sql = (
            f"SELECT m.event, s.name FROM memory_evidence m JOIN events e ON e.key {EVENT_OF.format('m.event')}"  # noqa: S608 - fixed text
            " JOIN sessions s ON s.id = e.session_id WHERE m.memory_id = ?"
        )
        return dict(self._db.rows(sql, (row,)))


class Accounts:
    """How much of everything there is."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        tables = ("projects", "sessions", "events", "memberships", "quarantine", "injections")
        count = "SELECT count(*) FROM {}"
        counts = {name: int(one(self._db.rows(count.format(name)))) for name in tables}
        counts["sources"] = int(one(self._db.rows(count.format("sources WHERE is_current"))))
        return counts

    def of_project(self, project_id: int) -> tuple[int, int]:
        """How many events and memories of a project there are; a purged memory is none."""
        sql = (
            "SELECT (SELECT count(*) FROM events WHERE project_id = ?1),"
            " (SELECT count(*) FROM memories WHERE project_id = ?1 AND purged_ms IS NULL)"
        )
        events, memories = self._db.rows(sql, (project_id,))[0]
        return events, memories

    def kinds(self) -> dict[int, int]:
        """Events by the number of their kind."""
        return dict(self._db.rows("SELECT kind, count(*) FROM events GROUP BY kind"))

    def sources(self) -> list[dict[str, object]]:
        """Per generation of each file: path, generation, offset and every counter."""
        names = ("path", "client", "generation", "is_current", "offset", "tail_bytes", "read_ms", *COUNTERS)
        rows = self._db.rows(f"SELECT {', '.join(names)} FROM sources ORDER BY path, generation")  # noqa: S608 - fixed names
        return [dict(zip(names, row, strict=True)) for row in rows]

    def last_ms(self) -> int:
        """The time of the newest event, 0 for an empty store."""
        return int(one(self._db.rows("SELECT coalesce(max(ts_ms), 0) FROM events")))


class Injections:
    """What was said to which session (the client's id)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def record(
        self,
        session: str,
        hook: str,
        now_ms: int,
        events: Sequence[tuple[int, float]] = (),
        memories: Sequence[tuple[int, float]] = (),
        verdict: KeptVerdict | None = None,
    ) -> None:
        """Remembers which events and memories (row, score) were said to a session, and why no more, in one write."""
        is_silent = not events and not memories
        with self._db.without_waiting() if is_silent else nullcontext(), self._db.transaction():
            for table, said in (("injections", events), ("memory_injections", memories)):
                self._db.executemany(
                    f"INSERT INTO {table} (session, {_SAID[table]}, hook, score, said_ms) VALUES (?, ?, ?, ?, ?)",  # noqa: S608 - fixed names
                    [(session, row, Kept(hook), score, now_ms) for row, score in said],
                )
            if verdict is not None:
                what = Kept(json.dumps(verdict.considered, separators=(",", ":")))
                self._db.execute(
                    f"INSERT INTO verdicts (session, hook, asked_ms, {_VERDICT}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",  # noqa: S608 - fixed names
                    (session, Kept(hook), now_ms, verdict.project_id, verdict.asked, verdict.lines, verdict.tokens,
                     Kept(verdict.rule), what),
                )  # fmt: skip
                self._db.execute(_TRIM, (now_ms - KEPT_DAYS * DAY_MS,))

    def verdicts(
        self, *, session: str | None = None, project_id: int | None = None, since_ms: int = 0, limit: int | None = None
    ) -> list[PastVerdict]:
        """The verdicts of a session (the client's id), of a project, or of all, the newest first."""
        rows = self._db.rows(
            f"SELECT id, session, hook, asked_ms, {_VERDICT} FROM verdicts WHERE (?1 IS NULL OR session = ?1)"  # noqa: S608 - fixed names
            " AND (?2 IS NULL OR project_id = ?2) AND asked_ms >= ?3 ORDER BY id DESC LIMIT ?4",
            (session, project_id, since_ms, ALL_ROWS if limit is None else limit),
        )
        return [PastVerdict(*row[:4], kept=(*row[4:-1], json.loads(row[-1]))) for row in rows]

    def bites(self, session: str) -> tuple[int, dict[int, int]]:
        """How many lines a session was told with prompts since its window is new, and of which sessions (rows)."""
        found = self._db.rows(_BITES, (session, Kept(PROMPT), Kept(MANIFEST)))
        return sum(lines for _, lines in found), {row: lines for row, lines in found if row is not None}

    def told_elsewhere(self, asked: bytes | None, session: str, since_ms: int) -> dict[int, int]:
        """What the same prompt was told in other sessions since then, and in how many."""
        return dict(self._db.rows(_ELSEWHERE, (asked, session, since_ms)))

    def events_known(self, session: str, but_by: str = "") -> set[int]:
        """Rows that a session holds already: said to it, by any hook but one, or copied from what it is a fork of."""
        found = self._db.rows(
            "SELECT event_id FROM injections WHERE session = ?1 AND hook != ?2 UNION"
            " SELECT m.event_id FROM memberships m JOIN sessions s ON s.id = m.session_id WHERE s.name = ?1",
            (session, Kept(but_by)),
        )
        return {row[0] for row in found}

    def forget(self, session: str) -> None:
        """Forgets what was said to a session."""
        with self._db.transaction():
            self._db.execute("DELETE FROM injections WHERE session = ?", (session,))
            self._db.execute("DELETE FROM memory_injections WHERE session = ?", (session,))

    def memories_known(self, session: str, but_by: str = "") -> set[int]:
        """Rows of memories that were said to a session, by any hook or by any but one."""
        sql = "SELECT memory_id FROM memory_injections WHERE session = ? AND hook != ?"
        return {row[0] for row in self._db.rows(sql, (session, Kept(but_by)))}

    def rehearse(self) -> None:
        """From now on nothing was said yet, and what is said is noted beside the database: in tables that end with it.

        A temporary table hides the one of its name.
        """
        for table in ("injections", "memory_injections", "verdicts"):
            self._db.hide(table)
