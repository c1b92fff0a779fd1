"""What happened each day (UTC), in figures: by project, kind, origin and tool.

Nothing is kept for it: the events are counted when somebody asks, so the figures are always those of the events.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from howcome.domain.times import DAY_MS

if TYPE_CHECKING:
    from howcome.domain.stored import Scope
    from howcome.log.database import Database

LAST_DAY = 2_932_896
"""9999-12-31, in days since 1970: what a transcript dates later counts there."""

_COUNTS = (
    f"SELECT CASE WHEN order_ms < {DAY_MS * LAST_DAY} THEN order_ms / {DAY_MS} ELSE {LAST_DAY} END AS day,"  # noqa: S608 - fixed
    " project_id, kind, origin, coalesce(tool, '') AS tool, count(*) AS events,"
    " count(*) FILTER (WHERE failed = 1 OR exit_code <> 0) AS failures"
    " FROM events WHERE {since} AND (?1 IS NULL OR project_id = ?1) GROUP BY 1, 2, 3, 4, 5"
)
_EVENTS = (
    f"SELECT d.day, p.root, d.kind, d.origin, d.tool, d.events, d.failures FROM ({_COUNTS}) d"  # noqa: S608 - fixed text
    " JOIN projects p ON p.id = d.project_id ORDER BY 1, 2, 3, 4, 5"
)
_LEARNT = (
    f"SELECT m.created_ms / {DAY_MS}, coalesce(p.root, ''), count(*) FROM memories m"  # noqa: S608 - fixed text
    " LEFT JOIN projects p ON p.id = m.project_id WHERE m.source IN ('rules', 'llm') AND m.purged_ms IS NULL"
    " AND (?1 IS NULL OR m.project_id = ?1) AND m.created_ms >= ?2 GROUP BY 1, 2 ORDER BY 1, 2"
)


class DayCount(NamedTuple):
    """So many events of a kind, an origin (numbers) and a tool ("": none), and how many of them failed.

    `day` counts days since 1970; `project` is a root.
    """

    day: int
    project: str
    kind: int
    origin: int
    tool: str
    events: int
    failures: int


class Daily:
    """Counts the events of each day."""

    _since = "order_ms >= ?2"

    def __init__(self, db: Database) -> None:
        self._db = db

    def events(self, scope: Scope, since_ms: int = 0) -> list[DayCount]:
        """What happened in a scope from the day of a moment (UTC ms) on, day by day."""
        rows = self._db.rows(_EVENTS.format(since=self._since), (scope.number, _midnight(since_ms)))
        return [DayCount(*row) for row in rows]

    def learnt(self, scope: Scope, since_ms: int = 0) -> list[tuple[int, str, int]]:
        """How many memories were distilled from what was said on each day: day, project ("": everywhere), memories."""
        return self._db.rows(_LEARNT, (scope.number, _midnight(since_ms)))


class ServerDaily(Daily):
    """The same on a server, which reads only the parts of the table that are young enough."""

    _since = "ts >= to_timestamp(?2 / 1000)"


def _midnight(moment_ms: int) -> int:
    return moment_ms - moment_ms % DAY_MS
