"""Rationales: what was asked, done and why, one an exchange.

They are events to whoever reads a session, with a row of their own that no other event has: the negative of their
prompt's. Indexes, vectors and cursors walk the positive ones, and never see them.
"""

from __future__ import annotations

import json

from howcome.domain import events
from howcome.domain.rationales import Unasked, UnreadSession
from howcome.domain.stored import StoredEvent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from howcome.domain.rationales import NewRationale, Rationale
    from howcome.domain.stored import Scope
    from howcome.log.database import Database

_KIND = events.STORED_KINDS.index(events.RATIONALE)
_SELECT = (
    "SELECT -r.prompt_id, r.key, r.origin, s.name, s.client, p.root, r.ts_ms, r.order_ms, r.text FROM rationales r"
    " JOIN sessions s ON s.id = r.session_id JOIN projects p ON p.id = r.project_id"
)
_UNREAD = (
    "SELECT * FROM (SELECT s.id, CASE WHEN c.author = ?1 THEN c.last_row ELSE 0 END AS done,"
    " (SELECT max(id) FROM events WHERE session_id = s.id) AS last_row"
    " FROM (SELECT DISTINCT session_id FROM events"
    " WHERE id > coalesce((SELECT last_row FROM rationale_marks WHERE author = ?1), 0)) new"
    " JOIN sessions s ON s.id = new.session_id LEFT JOIN rationale_cursors c ON c.session_id = s.id"
    " WHERE (?2 IS NULL OR EXISTS (SELECT 1 FROM events WHERE session_id = s.id AND project_id = ?2))"
    " AND (?3 IS NULL OR EXISTS (SELECT 1 FROM events WHERE session_id = s.id AND order_ms >= ?3))) unread"
    " WHERE last_row > coalesce(done, 0) ORDER BY last_row DESC"
)
_WITHIN = "(?1 IS NULL OR project_id = ?1) AND (?2 IS NULL OR order_ms >= ?2)"
_INSERT = (
    "INSERT INTO rationales (prompt_id, key, session_id, project_id, origin, ts_ms, order_ms, last_row, author, text)"
    " SELECT id, ?2, session_id, project_id, ?3, ?4, ?5, ?6, ?7, ?8 FROM events WHERE id = ?1"
    " ON CONFLICT (prompt_id) DO UPDATE SET origin = ?3, ts_ms = ?4, order_ms = ?5, last_row = ?6, author = ?7,"
    " asked = CASE WHEN rationales.last_row = ?6 THEN rationales.asked ELSE '' END, text = ?8"
)


class RationaleEvents:
    """Rationales as events: each is the negative of its prompt's position."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def by_prompt(self, prompts: Iterable[int], *, with_text: bool) -> dict[int, StoredEvent]:
        """Those of some exchanges (positions of prompts), by their own position."""
        sql = f"{_SELECT} WHERE r.prompt_id IN (SELECT value FROM json_each(?))"  # noqa: S608 - fixed text
        found = self._db.rows(sql, (json.dumps(list(prompts)),))
        return {row[0]: _event(row, with_text=with_text) for row in found}

    def find(self, low: bytes, high: bytes, limit: int) -> list[StoredEvent]:
        """Those with a key between two others, with their texts."""
        rows = self._db.rows(f"{_SELECT} WHERE r.key BETWEEN ? AND ? LIMIT ?", (low, high, limit))
        return [_event(row, with_text=True) for row in rows]

    def in_place(self, told: list[StoredEvent], *, with_text: bool) -> list[StoredEvent]:
        """What a session holds, the rationale of each exchange at its end."""
        prompts = [event.row for event in told if is_main_prompt(event)]
        rationales = self.by_prompt(prompts, with_text=with_text) if prompts else {}
        return list(_in_place(told, rationales)) if rationales else told


class Rationales:
    """What authors wrote of exchanges, and how far each has looked."""

    def __init__(self, db: Database) -> None:
        self._db, self._told = db, RationaleEvents(db)

    def unread_sessions(self, author: str, scope: Scope, since_ms: int | None = None) -> list[UnreadSession]:
        """Sessions with events that an author of this name and version has not looked through, the newest first."""
        found = self._db.rows(_UNREAD, (author, scope.number, since_ms))
        return [UnreadSession(session, done or 0, last_row) for session, done, last_row in found]

    def record(
        self, session: UnreadSession, author: str, written: Sequence[NewRationale], *, is_whole: bool
    ) -> tuple[int, int]:
        """Writes rationales of a session's exchanges and moves its cursor, in one transaction.

        What a model wrote of an exchange that has not grown since stays.

        Args:
            session: As it was when it was read.
            author: Who looked it through.
            written: Of exchanges that were looked through.
            is_whole: Whether these were the last of the session: its cursor moves only then.

        Returns:
            How many are new, and how many replaced another text or were taken away.
        """
        new = changed = 0
        with self._db.transaction():
            for one in written:
                is_new, is_other = self._write(one, author)
                new, changed = new + is_new, changed + is_other
            if is_whole:
                cursor = (session.row, author, session.last_row)
                self._db.execute("INSERT OR REPLACE INTO rationale_cursors VALUES (?, ?, ?)", cursor)
        return new, changed

    def _write(self, one: NewRationale, author: str) -> tuple[bool, bool]:
        """Whether it is the first of its exchange, and whether it replaces another text."""
        known = self._db.row("SELECT text, last_row, author FROM rationales WHERE prompt_id = ?", (one.prompt_row,))
        if one.rationale is None:
            self._db.execute("DELETE FROM rationales WHERE prompt_id = ?", (one.prompt_row,))
            return False, known is not None
        if known is not None and known[1] == one.last_row and _writer(known[2]) != _writer(author):
            return False, False
        said, origin = one.rationale.text, events.ORIGINS.index(one.rationale.origin)
        place = (one.prompt_row, one.key, origin, one.ts_ms, one.order_ms, one.last_row)
        self._db.execute(_INSERT, (*place, author, said))
        return known is None, known is not None and known[0] != one.rationale.text

    def mark(self, author: str, last_row: int) -> None:
        """Every event up to a row is looked through."""
        if self._db.row("SELECT last_row FROM rationale_marks WHERE author = ?", (author,)) == (last_row,):
            return
        with self._db.transaction():
            self._db.execute("DELETE FROM rationale_marks")
            self._db.execute("INSERT INTO rationale_marks VALUES (?, ?)", (author, last_row))

    def to_ask(self, model: str, scope: Scope, since_ms: int | None, limit: int) -> list[Unasked]:
        """Rationales that this model was not asked for, the newest first."""
        found = self._db.rows(
            f"SELECT prompt_id, session_id, last_row FROM rationales WHERE {_WITHIN} AND asked != ?3"  # noqa: S608 - fixed text
            " ORDER BY order_ms DESC, prompt_id DESC LIMIT ?4",
            (scope.number, since_ms, model, limit),
        )
        return [Unasked(*row) for row in found]

    def replace(self, unasked: Unasked, model: str, rationale: Rationale | None) -> bool:
        """What a model said of an exchange, None when it was nothing of use; False when the exchange has grown."""
        place = (unasked.prompt_row, unasked.last_row)
        where = "WHERE prompt_id = ? AND last_row = ?"
        with self._db.transaction():
            self._db.execute(f"UPDATE rationales SET asked = ? {where}", (model, *place))  # noqa: S608 - fixed text
            is_there = bool(self._db.changes())
            if rationale is not None:
                origin = events.ORIGINS.index(rationale.origin)
                self._db.execute(
                    f"UPDATE rationales SET author = ?, origin = ?, text = ? {where}",  # noqa: S608 - fixed text
                    (model, origin, rationale.text, *place),
                )
        return is_there

    def newest(self, scope: Scope, since_ms: int | None, limit: int) -> list[StoredEvent]:
        """The newest rationales of a scope, with their texts, newest first."""
        rows = self._db.rows(
            f"SELECT prompt_id FROM rationales WHERE {_WITHIN} ORDER BY order_ms DESC, prompt_id DESC LIMIT ?3",  # noqa: S608 - fixed text
            (scope.number, since_ms, limit),
        )
        found = self._told.by_prompt([prompt for (prompt,) in rows], with_text=True)
        return [found[-prompt] for (prompt,) in rows if -prompt in found]

    def counts(self, scope: Scope, since_ms: int | None = None) -> dict[str, int]:
        """How many rationales a scope has, by author."""
        sql = f"SELECT author, count(*) FROM rationales WHERE {_WITHIN} GROUP BY author ORDER BY author"  # noqa: S608 - fixed text
        return dict(self._db.rows(sql, (scope.number, since_ms)))


def is_main_prompt(event: StoredEvent) -> bool:
    """Whether an event opens an exchange of the main agent's."""
    return event.kind == events.USER_PROMPT and event.agent_id is None


def _writer(author: str) -> str:
    """An author without its version."""
    return author.partition(" ")[0]


def _in_place(told: Iterable[StoredEvent], rationales: dict[int, StoredEvent]) -> Iterator[StoredEvent]:
    waiting: StoredEvent | None = None
    for event in told:
        if is_main_prompt(event):
            if waiting is not None:
                yield waiting
            waiting = rationales.get(-event.row)
        yield event
    if waiting is not None:
        yield waiting


def _event(row: tuple[object, ...], *, with_text: bool) -> StoredEvent:
    names = ("row", "key", "origin", "session", "client", "project", "ts_ms", "order_ms", "excerpt")
    values = dict(zip(names, row, strict=True))
    nothing = dict.fromkeys(("tool", "file", "branch", "agent_id", "failed", "exit_code"))
    text = str(values["excerpt"])
    excerpt = events.cut(text, events.EXCERPT_CHARS)
    return StoredEvent(
        {**values, **nothing, "kind": _KIND, "text_chars": len(text), "excerpt": excerpt}, text if with_text else None
    )
