"""The ledger of commands: what failed in which way, and what then worked."""

from __future__ import annotations

import json

from howcome.domain import events
from howcome.domain.commands import Run

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from howcome.domain.stored import Scope
    from howcome.log.database import Database

BEFORE = 60
"""Calls and results before a new one that are looked at again: what failed there may be mended now."""

NEWEST = 50
_KINDS = tuple(events.KINDS.index(kind) for kind in (events.TOOL_CALL, events.TOOL_RESULT))
_NEW = f"SELECT id, session_id FROM events WHERE id > ? AND id <= ? AND kind IN {_KINDS} ORDER BY id"  # noqa: S608 - numbers
_BEFORE = (
    f"SELECT id FROM events WHERE session_id = ?1 AND id <= ?2 AND kind IN {_KINDS}"  # noqa: S608 - numbers
    f" ORDER BY order_ms DESC, id DESC LIMIT {BEFORE}"
)
_PUT = (
    "INSERT INTO commands (call_id, form, exact, alike, fixed_by, fix) VALUES (?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (call_id, form) DO UPDATE SET exact = excluded.exact, alike = excluded.alike,"
    " fixed_by = coalesce(excluded.fixed_by, commands.fixed_by),"
    " fix = coalesce(excluded.fix, commands.fix)"
)
_WITHIN = " JOIN events e ON e.id = c.call_id WHERE e.project_id = ?1 AND e.order_ms < coalesce(?2, 1E18)"
_FAILED = (
    "SELECT c.call_id, c.form, c.exact, c.alike,"  # noqa: S608 - fixed text
    " CASE WHEN f.project_id = ?1 AND f.order_ms < coalesce(?2, 1E18) THEN c.fixed_by END, c.fix"
    " FROM (SELECT * FROM commands WHERE exact IN (SELECT value FROM json_each(?3))"
    " UNION SELECT * FROM commands WHERE alike IN (SELECT value FROM json_each(?3))"
    " UNION SELECT * FROM commands WHERE form IN (SELECT value FROM json_each(?3)) AND exact IS NOT NULL) c"
    f" LEFT JOIN events f ON f.id = c.fixed_by{_WITHIN} AND e.session_id NOT IN (SELECT value FROM json_each(?4))"
    f" ORDER BY e.order_ms DESC, e.id DESC LIMIT {NEWEST}"
)
_RAN = (
    "SELECT c.form, e.session_id, max(c.call_id) FROM events e JOIN commands c ON c.call_id = e.id"
    " WHERE e.session_id IN (SELECT value FROM json_each(?3)) AND e.project_id = ?1"
    " AND e.order_ms < coalesce(?2, 1E18) AND c.exact IS NULL GROUP BY c.form, e.session_id"
)
_FAILING = (
    "SELECT c.form, count(DISTINCT e.session_id) FROM commands c"  # noqa: S608 - fixed text
    f"{_WITHIN} AND c.form IN (SELECT value FROM json_each(?3)) AND c.exact IS NOT NULL GROUP BY c.form"
)
_FAILURES = (
    "SELECT call_id, exact FROM commands WHERE exact IS NOT NULL AND call_id IN (SELECT value FROM json_each(?))"
)
_NEWEST_FAILED = (
    "SELECT f.*, (SELECT fix FROM commands c WHERE c.form = f.form AND c.fixed_by = f.fixed_by) FROM"
    " (SELECT c.form AS form, count(*), count(DISTINCT e.session_id), max(c.call_id) AS call, max(c.fixed_by) AS"
    " fixed_by FROM commands c JOIN events e ON e.id = c.call_id WHERE c.exact IS NOT NULL"
    " AND (?1 IS NULL OR e.project_id = ?1) GROUP BY c.form ORDER BY call DESC LIMIT ?2) f ORDER BY call DESC"
)
_WORKED = f"SELECT 1 FROM commands c{_WITHIN} AND c.form = ?3 AND c.exact IS NULL LIMIT 1"  # noqa: S608 - fixed text


class Commands:
    """Commands that ran, by numbers of their forms (`domain.commands.number`)."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def unread(self, limit: int) -> tuple[int, dict[int, list[int]]] | None:
        """The next events that are not looked through, at most so many; None where there are none.

        The last one's position, and by session the tool calls and results to look at, with those shortly before them.
        """
        mark = int((self._db.row("SELECT last_row FROM command_mark") or (0,))[0])
        [(last,)] = self._db.rows(
            "SELECT max(id) FROM (SELECT id FROM events WHERE id > ? ORDER BY id LIMIT ?) one", (mark, limit)
        )
        sessions: dict[int, list[int]] = {}
        for row, session in self._db.rows(_NEW, (mark, last or 0)):
            sessions.setdefault(session, []).append(row)
        for session, rows in sessions.items():
            rows += [row for (row,) in self._db.rows(_BEFORE, (session, mark))]
        return None if last is None else (last, sessions)

    def record(self, runs: Sequence[Run], last_row: int) -> None:
        """Keeps what ran, and that every event up to a position is looked through."""
        with self._db.transaction():
            self._db.executemany(
                _PUT, [(run.call, run.form, run.exact, run.alike, run.fixed_by, run.fix) for run in runs]
            )
            self._db.execute(
                "INSERT INTO command_mark VALUES (1, ?)"
                " ON CONFLICT (id) DO UPDATE SET last_row = max(command_mark.last_row, excluded.last_row)",
                (last_row,),
            )

    def failed(
        self, scope: Scope, numbers: Collection[int], without: Collection[int], before_ms: int | None
    ) -> list[Run]:
        """A project's failures with one of some numbers (form, exact, alike), not of some sessions; newest first."""
        values = (scope.project_id, before_ms, json.dumps([*numbers]), json.dumps([*without]))
        return [Run(*row) for row in self._db.rows(_FAILED, values)]

    def worked_in(self, scope: Scope, sessions: Collection[int], before_ms: int | None) -> list[tuple[int, int, int]]:
        """What worked in some sessions (rows): the form, the session, and the last call there."""
        return list(self._db.rows(_RAN, (scope.project_id, before_ms, json.dumps([*sessions]))))

    def failed_in(self, scope: Scope, forms: Collection[int], before_ms: int | None) -> dict[int, int]:
        """In how many sessions of a project some forms failed."""
        return dict(self._db.rows(_FAILING, (scope.project_id, before_ms, json.dumps([*forms]))))

    def failures_of(self, calls: Collection[int]) -> dict[int, int]:
        """How some calls (positions) failed, those that did: by the same number in the same way."""
        return dict(self._db.rows(_FAILURES, (json.dumps([*calls]),)))

    def newest_failed(self, scope: Scope, limit: int) -> list[tuple[int, int, int, int, int | None, int | None]]:
        """What failed last: the form, how often and in how many sessions, the last call, what mended it, its form."""
        return list(self._db.rows(_NEWEST_FAILED, (scope.number, limit)))

    def has_worked(self, scope: Scope, form: int, before_ms: int | None) -> bool:
        """Whether a command has ever worked in a project."""
        return self._db.row(_WORKED, (scope.project_id, before_ms, form)) is not None
