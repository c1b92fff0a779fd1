"""What a memory's row is, and what its columns mean in a statement."""

from __future__ import annotations

import json

from howcome.domain import events
from howcome.domain.memories import KEY_BYTES, OPEN, REVERTED, Memory
from howcome.domain.stored import ID_HEX_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.log.database import Database

OUTSIDE = "EXISTS (SELECT 1 FROM memory_reviews WHERE newer = {}.id AND reason = 'imported' AND settled_ms IS NULL)"
"""A file brought a memory, and nobody has accepted it."""

HOLDS = "({0}.project_id = {1} OR {0}.id IN (SELECT memory_id FROM memory_projects WHERE project_id = {1}))"
"""A memory ({0}) holds in a project ({1}): it is its own, or one of the others."""

_ALSO = (
    "(SELECT json_group_array(a.root ORDER BY a.root) FROM memory_projects s JOIN projects a ON a.id = s.project_id"
    " WHERE s.memory_id = m.id AND s.project_id != m.project_id)"
)
CHANGES = (
    "(r.reason = 'choice' AND (o.origin = 0 OR o.origin = m.origin"
    f" OR substr(o.text, 1, {len(REVERTED)}) = '{REVERTED}'))"
)
"""A memory (o) says what became of another (m) that it contradicts (r): said by somebody no less trusted, or by git."""

CONTRADICTS = (
    "(SELECT json_group_array(lower(hex(o.key)) || ' ' || coalesce(CAST(CASE WHEN o.id = r.newer"  # noqa: S608 - fixed text
    f" AND {CHANGES} THEN coalesce(o.said_ms, o.created_ms) END AS TEXT), '') || ' ' || iif(o.origin < 2, o.text, '')"
    " ORDER BY o.id) FROM memory_reviews r JOIN memories o"
    " ON o.id = iif(r.older = m.id, r.newer, r.older) AND o.id != m.id WHERE (r.older = m.id OR r.newer = m.id)"
    " AND r.settled_ms IS NULL AND r.reason != 'imported'"
    " AND o.deleted_ms IS NULL AND o.superseded_by IS NULL AND o.purged_ms IS NULL)"
)
"""The live memories that one may contradict, as JSON, as long as nobody has settled it. Each is a line of three words:
the key; when it was said, where it chose otherwise later; its text, where somebody or the agent said it
(`events.ORIGINS`)."""

ASLEEP = (
    "EXISTS (SELECT 1 FROM consolidated c WHERE c.memory_id = {0}.id AND c.kept_id = {0}.id AND c.undone_ms IS NULL"
    " AND {0}.access_count = 0 AND {0}.pinned_ms IS NULL AND coalesce({0}.said_ms, 0) < c.run_ms)"
)
"""Consolidation let a memory sleep, and nobody read, pinned or said it since."""

NEXT_CHANGE = "(SELECT coalesce(max(change), 0) + 1 FROM memories)"
LIVE = "deleted_ms IS NULL AND superseded_by IS NULL AND purged_ms IS NULL"
LIVE_THEN = (
    "{0}.deleted_ms IS NULL AND {0}.purged_ms IS NULL AND {0}.created_ms < {1} AND NOT EXISTS"
    " (SELECT 1 FROM memories n WHERE n.id = {0}.superseded_by AND n.created_ms < {1})"
)
"""A memory ({0}) lived at a moment ({1}); what was forgotten since stays forgotten."""

_REST = 2 * KEY_BYTES - ID_HEX_CHARS
EVENT_OF = f"BETWEEN unhex(substr({{0}}, 4) || '{'0' * _REST}') AND unhex(substr({{0}}, 4) || '{'f' * _REST}')"
"""The keys of the events that an id ({0}) can mean."""

_COLUMNS = (
    "row", "key", "type", "text", "project", "agent", "origin", "status", "created_ms", "supersedes", "superseded_by",
    "deleted_ms", "purged_ms", "access_count", "source", "subject", "said_ms", "pinned_ms", "status_ms",
    "wrong_ms", "gone_ms", "supersedes_key", "superseded_by_key", "is_outside", "is_asleep",
    "contradicts", "also",
)  # fmt: skip
SELECT = (
    "SELECT m.id, m.key, m.type, m.text, p.root, m.agent, m.origin, m.status, m.created_ms, m.supersedes,"  # noqa: S608 - fixed text
    " m.superseded_by, m.deleted_ms, m.purged_ms, m.access_count, m.source, m.subject, m.said_ms, m.pinned_ms,"
    " m.status_ms, m.wrong_ms, m.gone_ms, (SELECT key FROM memories WHERE id = m.supersedes),"
    f" (SELECT key FROM memories WHERE id = m.superseded_by), {OUTSIDE.format('m')}, {ASLEEP.format('m')},"
    f" {CONTRADICTS}, {_ALSO},"
    " (SELECT json_group_array(e.event ORDER BY (SELECT min(s.ts_ms) FROM memory_said s"
    " WHERE s.memory_id = m.id AND s.event = e.event) NULLS LAST, e.event)"
    " FROM memory_evidence e WHERE e.memory_id = m.id)"
    " FROM memories m LEFT JOIN projects p ON p.id = m.project_id"
)


def memories_by_row(db: Database, rows: Iterable[int]) -> dict[int, Memory]:
    """Memories by their row ids; ids that are not there are left out."""
    sql = f"{SELECT} WHERE m.id IN (SELECT value FROM json_each(?))"  # noqa: S608 - fixed text
    return {row[0]: memory_of(row) for row in db.rows(sql, (json.dumps(list(rows)),))}


def as_then(db: Database, found: Sequence[Memory], then_ms: int) -> Sequence[Memory]:
    """Memories as they were at a moment: nothing was said, pinned, resolved or superseded since."""
    rows = json.dumps([one.row for one in found])
    said = "SELECT memory_id, max(ts_ms) FROM memory_said WHERE memory_id IN (SELECT value FROM json_each(?))"
    last = dict(db.rows(said + " AND ts_ms < ? GROUP BY 1", (rows, then_ms)))
    since = db.rows(
        "SELECT m.memory_id, m.event FROM memory_evidence m JOIN events e ON e.key "  # noqa: S608 - fixed text
        + EVENT_OF.format("m.event")
        + " WHERE m.memory_id IN (SELECT value FROM json_each(?)) AND e.order_ms >= ?",
        (rows, then_ms),
    )
    later = {(row, event) for row, event in since}
    for one in found:
        one.said_ms = last.get(one.row)
        one.later = one.later if one.later and one.later[0] < then_ms else None
        one.evidence = [event for event in one.evidence if (one.row, event) not in later]
        one.superseded_by = one.superseded_by_id = None
        one.is_asleep = False
        if (one.pinned_ms or 0) >= then_ms:
            one.pinned_ms = None
        if (one.status_ms or 0) >= then_ms:
            one.status = OPEN
    return found


def memory_of(row: Sequence[object]) -> Memory:
    """A row of SELECT as a memory."""
    values = dict(zip(_COLUMNS, row, strict=False))
    for name in ("contradicts", "also"):
        values[name] = [] if values[name] == "[]" else json.loads(values[name])  # type: ignore[arg-type]
    others = (str(line).split(" ", 2) for line in values["contradicts"])  # type: ignore[attr-defined]
    values["contradicts"] = [(key, int(said_ms) if said_ms else None, text) for key, said_ms, text in others]
    values["origin"] = events.ORIGINS[values["origin"]]  # type: ignore[call-overload]
    return Memory(values, json.loads(str(row[-1])))
