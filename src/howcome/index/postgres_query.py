"""A search of the index on a PostgreSQL server as SQL: the rows that some terms find, and BM25 of those.

A row's score is made of all terms, and of how often they stand in it: its vectors have that as their positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from howcome.domain import bm25, events
from howcome.domain.stored import EVENTS, EXCHANGES, Filter

SCHEMA = "howcome_search_1"
"""Another format is another schema, built anew from the rows."""

TEXTS = {EVENTS: ("text",), EXCHANGES: ("said", "did")}
"""The vectors of each index that hold all its words."""

_SHARE = bm25.LENGTH_SHARE
_SCORE = (
    "coalesce((SELECT sum(asked.weights[array_position(asked.lexemes, held.lexeme)]"  # noqa: S608 - fixed names
    f" * {bm25.SATURATION} * held.positions[1] / (held.positions[1] + {bm25.SATURATION - 1}::float8"
    f" * ({1 - _SHARE} + {_SHARE}::float8 * row.{{field}}_length * project.{{name}} / project.{{field}})))"
    " FROM unnest(ts_filter(setweight(row.{field}, 'A', asked.lexemes), '{{a}}')) held), 0)"
)
"""BM25 of one field: what is not asked for is taken out of the vector, and the rest weighed."""

_HELD = (
    "SELECT DISTINCT pair.number FROM unnest(asked.lexemes, asked.numbers) pair (lexeme, number)"
    " JOIN unnest(ts_filter(setweight(row.{field}, 'A', asked.lexemes), '{{a}}')) held ON held.lexeme = pair.lexeme"
)
"""The numbers of the terms that one field holds, each once however it is spelled there: its vector is read once."""

MAX_COUNT = 16_383
"""The highest position that a vector may have."""


def lexeme(project_id: int, term: str) -> str:
    """A term as it stands in a project's vectors."""
    return f"{project_id}:{term}"


def project_of(name: str) -> int:
    """The project whose lexeme it is."""
    return int(name.partition(":")[0])


def vector(project_id: int, counts: Mapping[str, int]) -> str:
    """A document's terms as a vector: the position of each is how often it counts."""
    return " ".join(f"{_quoted(lexeme(project_id, term))}:{min(count, MAX_COUNT)}" for term, count in counts.items())


def _quoted(name: str) -> str:
    if "'" in name or "\\" in name:
        name = name.replace("\\", "\\\\").replace("'", "''")
    return f"'{name}'"


def any_of(lexemes: Iterable[str]) -> str:
    """The text query that one of some lexemes answers."""
    return " | ".join(map(_quoted, lexemes))


Statement: TypeAlias = tuple[str, list[object]]
Weights: TypeAlias = Mapping[int, Mapping[str, float]]
"""What lexemes are worth, by project."""


class Known(NamedTuple):
    """A term that a field ("": any) of some documents holds, and what it adds to the score of one of average length.

    Its lexemes are those of each project, or of other spellings.
    """

    field: str
    documents: int
    worth: float
    lexemes: list[str]


def conditions(wanted: Filter, *, of_events: bool) -> list[tuple[str, object]]:
    """What a filter asks of a row beside its scope: each condition with the value that it is bound to."""
    found: tuple[tuple[str, object], ...] = (
        ("ts_ms < %s", wanted.before_ms),
        ("ts_ms >= %s", wanted.since_ms),
        ("session_id = ANY(%s)", None if wanted.sessions is None else list(wanted.sessions)),
        ("session_id <> ALL(%s)", list(wanted.without) or None),
        ("kind = ANY(%s)", _numbers(wanted.kinds, events.KIND_NUMBERS) if of_events else None),
        ("origin = ANY(%s)", _numbers(wanted.origins, events.ORIGIN_NUMBERS) if of_events else None),
    )
    return [(condition, value) for condition, value in found if value is not None]


class Select:
    """A SELECT of hits, put together: its conditions, and the values that they are bound to.

    Args:
        name: The index's table.
        projects: The only ones whose rows may be found.
        wanted: What else is asked of a row.
        fields: The columns of vectors that may hold a term, each with what a term in it counts.
    """

    def __init__(self, name: str, projects: Sequence[int], wanted: Filter, fields: Mapping[str, float]) -> None:
        self.fields, self._name, self._projects = fields, name, projects
        self._where: list[str] = ["row.project_id = ANY(%s)"]
        self._values: list[object] = [list(projects)]
        for condition, value in conditions(wanted, of_events=name == EVENTS):
            self._where.append(condition)
            self._values.append(value)

    def require(self, terms: Iterable[str]) -> None:
        """Every term must be in one of the texts of the index."""
        for term in terms:
            query = any_of(lexeme(project, term) for project in self._projects)
            condition, values = _matches(dict.fromkeys(TEXTS[self._name], query))
            self._where.append(condition)
            self._values += values

    def by_bm25(self, weights: Weights, terms: Iterable[Known], limit: int) -> Statement:
        """The best rows of those that hold one of some terms, by the weights of all lexemes of their project."""
        rows = ", ".join("(%s::bigint, %s::text[], %s::float8[])" for _ in weights)
        asked = f" JOIN (VALUES {rows}) asked (project_id, lexemes, weights) USING (project_id)"
        values = [value for project, of in weights.items() for value in (project, list(of), list(of.values()))]
        scores = (f"{factor} * " + _SCORE.format(field=field, name=self._name) for field, factor in self.fields.items())
        queries: dict[str, list[str]] = {}
        for one in terms:
            queries.setdefault(one.field, []).extend(one.lexemes)
        found = _matches({field: any_of(names) for field, names in queries.items()})
        return self._statement(" + ".join(scores), asked, values, found, limit)

    def by_presence(self, terms: Sequence[Known], wanted: Iterable[Known], limit: int) -> Statement:
        """The best rows of those that hold some wanted terms, by the worth of all terms, in whichever field."""
        held = " UNION ".join(_HELD.format(field=field) for field in self.fields)
        score = f"coalesce((SELECT sum(asked.worth[number]) FROM ({held}) held (number)), 0)"  # noqa: S608 - fixed names
        projects: dict[int, list[tuple[str, int]]] = defaultdict(list)
        for number, one in enumerate(terms, 1):
            for name in one.lexemes:
                projects[project_of(name)].append((name, number))
        rows = ", ".join("(%s::bigint, %s::text[], %s::int[], %s::float8[])" for _ in projects)
        asked = f" JOIN (VALUES {rows}) asked (project_id, lexemes, numbers, worth) USING (project_id)"
        worth = [one.worth for one in terms]
        values: list[object] = []
        for project, of in projects.items():
            values += [project, [name for name, _ in of], [number for _, number in of], worth]
        found = _matches(dict.fromkeys(self.fields, any_of(name for one in wanted for name in one.lexemes)))
        return self._statement(score, asked, values, found, limit)

    def _statement(
        self, score: str, joined: str, values: list[Any], found: tuple[str, list[str]], limit: int
    ) -> Statement:
        """`values` are those of the score, or of what is joined."""
        statement = (
            f"SELECT row.row, row.session_id, row.exchange, row.ts_ms, {score} AS score"  # noqa: S608 - fixed names
            f" FROM {self._name} row JOIN projects project USING (project_id){joined}"
            f" WHERE {' AND '.join([*self._where, found[0]])} ORDER BY score DESC, row.row LIMIT %s"
        )
        return statement, [*values, *self._values, *found[1], limit]


def _matches(queries: Mapping[str, str]) -> tuple[str, list[str]]:
    """The condition that one of some queries, by field, is answered."""
    return "(" + " OR ".join(f"row.{field} @@ %s::tsquery" for field in queries) + ")", list(queries.values())


def _numbers(names: Sequence[str] | None, numbers: Mapping[str, int]) -> list[int] | None:
    return None if names is None else sorted(numbers[name] for name in names)
