"""What a search of an index is narrowed to, as Tantivy's queries, none of which has any weight in a score."""

from __future__ import annotations

import tantivy
from tantivy import Occur, Query

from howcome.domain import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Filter


def of_kinds(schema: tantivy.Schema, wanted: Filter) -> list[tuple[Occur, Query]] | None:
    """The restriction to the wanted kinds and origins, without any weight in a score; None when none are wanted."""
    found = []
    kinds = ("kind", wanted.kinds, events.KIND_NUMBERS)
    for field, names, numbers in (kinds, ("origin", wanted.origins, events.ORIGIN_NUMBERS)):
        if names is not None:
            if not names:
                return None
            one_of = Query.term_set_query(schema, field, sorted(numbers[name] for name in names))
            found.append((Occur.Must, Query.const_score_query(one_of, 0.0)))
    return found


def within(schema: tantivy.Schema, wanted: Filter) -> list[tuple[Occur, Query]] | None:
    """When and in which sessions a hit must be, without any weight in its score; None when nothing can be there."""
    if wanted.is_never:
        return None
    found = []
    if wanted.before_ms is not None or wanted.since_ms is not None:
        low = None if wanted.since_ms is None else max(0, wanted.since_ms)
        last = None if wanted.before_ms is None else wanted.before_ms - 1
        between = Query.range_query(schema, "ts", tantivy.FieldType.Unsigned, low, last)
        found.append((Occur.Must, Query.const_score_query(between, 0.0)))
    if wanted.sessions is not None:
        one_of = Query.term_set_query(schema, "session", list(wanted.sessions))
        found.append((Occur.Must, Query.const_score_query(one_of, 0.0)))
    found += [(Occur.MustNot, Query.term_query(schema, "session", session, "basic")) for session in wanted.without]
    return found


def all_of(
    schema: tantivy.Schema, fields: Sequence[str], required: Sequence[Sequence[str]]
) -> list[tuple[Occur, Query]]:
    """The restriction to documents that hold every term of every group in one of the fields."""
    found = []
    for term in dict.fromkeys(term for group in required for term in group):
        places = [(Occur.Should, Query.term_query(schema, field, term, "freq")) for field in fields]
        found.append((Occur.Must, Query.const_score_query(Query.boolean_query(places), 0.0)))
    return found
