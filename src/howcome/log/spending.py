"""The ledger of language models' calls: reserved before they are made, settled after."""

from __future__ import annotations

from howcome.domain.spending import OVER_BUDGET, STOPPED, UNSETTLED, Call, Caps, Receipt, Usage, day_of
from howcome.errors import StoreError
from howcome.log.database import ALL_ROWS, Database

_SPENT = (
    "SELECT count(*), coalesce(sum(charged), 0) FROM spending"
    " WHERE outcome != ?1 AND (day = ?2 OR (day > ?2 AND coalesce(seen_day, ?2) >= ?2))"
)
"""Of a day that lies ahead, only until the clock passes the day on which that was found: see `domain.spending`."""

_RECEIPTS = (
    "SELECT id, purpose, provider, model, charged, started_ms, duration_ms, tokens_in, tokens_out, cost_usd, outcome,"
    " times FROM spending WHERE started_ms >= ? ORDER BY id DESC LIMIT ?"
)
_INSERT = (
    "INSERT INTO spending (day, purpose, provider, model, started_ms, charged, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)"
)
_COUNT_REFUSED = (
    " ON CONFLICT (day, purpose, provider, model) WHERE outcome = 'over budget'"
    " DO UPDATE SET times = spending.times + 1"
)
_CHARGE_AHEAD = (
    "UPDATE spending SET day = ahead.day, seen_day = ahead.seen_day"
    " FROM (SELECT day, seen_day FROM spending WHERE day > ?1 AND seen_day >= ?1 AND outcome != ?3"
    " ORDER BY day, seen_day DESC LIMIT 1) AS ahead WHERE spending.id = ?2"
)
"""While the clock is behind, what is spent is spent on the day that it had shown: that one goes on when it is right."""

_SETTLE = (
    "UPDATE spending SET outcome = ?, tokens_in = ?, tokens_out = ?, cost_usd = ?, charged = ?, duration_ms = ?"
    " WHERE id = ? AND outcome = ?"
)


class Spending:
    """Says whether a call may be made, and keeps a receipt of each.

    Of any number of processes that reserve at once, exactly as many are allowed as the caps say; what is reserved is
    spent until it is settled, also when nobody settles it any more. Where it cannot be written nothing may be spent.
    """

    def __init__(self, db: Database) -> None:
        self._db = db
        self._ledger: Spending | None = None

    def reserve(self, call: Call, caps: Caps, now_ms: int) -> tuple[int, str]:
        """The row of a call that may be made, and ''; or 0, and why it may not be made."""
        if self._ledger is not None:
            return self._ledger.reserve(call, caps, now_ms)
        if self._db.is_read_only:
            raise StoreError("the ledger cannot be written, so that nothing may be spent")
        today, row = day_of(now_ms), (call.purpose, call.provider, call.model, now_ms)
        with self._db.transaction():  # looking and writing are one step: no other process comes between
            if self.stopped_ms() is not None:
                return 0, "spending is stopped (`howcome spending --go` allows it again)"
            self._db.execute("UPDATE spending SET seen_day = ?1 WHERE day > ?1 AND seen_day IS NULL", (today,))
            problem = caps.problem_with(call, *self.spent_on(now_ms))
            if problem:
                self._db.execute(_INSERT + _COUNT_REFUSED, (today, *row, 0, OVER_BUDGET))
                return 0, problem
            self._db.execute(_INSERT, (today, *row, call.tokens, UNSETTLED))
            reserved = self._db.last_id()
            self._db.execute(_CHARGE_AHEAD, (today, reserved, OVER_BUDGET))
            return reserved, ""

    def settle(self, row: int, outcome: str, usage: Usage, charged: int, duration_ms: int) -> None:
        """What became of a call, what it used, and the tokens that are charged for it."""
        if self._ledger is not None:
            self._ledger.settle(row, outcome, usage, charged, duration_ms)
            return
        used = (usage.tokens_in, usage.tokens_out, usage.cost_usd)
        with self._db.transaction():
            self._db.execute(_SETTLE, (outcome, *used, charged, duration_ms, row, UNSETTLED))

    def spent_on(self, now_ms: int) -> tuple[int, int]:
        """How many calls and tokens count as spent on the day of a time."""
        calls, tokens = self._db.row(_SPENT, (OVER_BUDGET, day_of(now_ms))) or (0, 0)
        return calls, tokens

    def receipts(self, since_ms: int, limit: int | None = None) -> list[Receipt]:
        """What was spent since then, newest first; calls that the budget refused are one receipt a day and purpose."""
        rows = self._db.rows(_RECEIPTS, (since_ms, ALL_ROWS if limit is None else limit))
        return [
            Receipt(row, Call(*call), started_ms, duration_ms, Usage(*used), outcome, times)
            for row, *call, started_ms, duration_ms, used_in, used_out, cost, outcome, times in rows
            for used in ((used_in, used_out, cost),)
        ]

    def stopped_ms(self) -> int | None:
        """Since when (UTC ms) nothing may be spent; None when it may."""
        row = self._db.row("SELECT value FROM meta WHERE name = ?", (STOPPED,))
        return int(row[0]) if row else None

    def stop(self, now_ms: int) -> None:
        """No process makes a call from now on."""
        with self._db.transaction():
            self._db.execute("INSERT OR IGNORE INTO meta (name, value) VALUES (?, ?)", (STOPPED, now_ms))

    def resume(self) -> None:
        """Calls may be made again, as far as the caps allow."""
        with self._db.transaction():
            self._db.execute("DELETE FROM meta WHERE name = ?", (STOPPED,))

    def spend_from(self, other: Spending) -> None:
        """Calls are reserved and settled in another store: for one that is thrown away afterwards."""
        self._ledger = other
