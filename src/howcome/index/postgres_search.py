"""The search index on a PostgreSQL server: words of events beside a log, wherever that is, as its adapter of the port.

It needs no extension: words one edit away are found by their first or last letters among the terms, exactly
(docs/decisions.md), and the score is BM25 of how often a word stands in a document (`postgres_query`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cached_property
from typing import TYPE_CHECKING, Any

from howcome.domain import bm25
from howcome.domain.bm25 import DID_BOOST
from howcome.domain.stored import EVENTS, EXCHANGES, FUZZY, HOLDING, NAMES, Filter, Hit, Scope, Weights
from howcome.domain.text import GENERIC_WORDS, is_one_edit, with_extra_terms
from howcome.errors import StoreLockedError
from howcome.index.lexical import MAX_ENDING_CHARS, MIN_STEM_CHARS, SCHEMAS
from howcome.index.postgres_query import SCHEMA, Known, Select, Statement, lexeme
from howcome.index.postgres_writer import Connection, PostgresWriter, last_of
from howcome.index.search_index import Search
from howcome.log.event_log import EventLog, ensure_marks
from howcome.log.postgres import without_nul
from howcome.log.terms import analyzer

if TYPE_CHECKING:
    import tantivy

FIELDS = {
    EVENTS: {"text": 1.0},
    NAMES: {"names": 1.0},
    FUZZY: {"text": 1.0},
    EXCHANGES: {"said": 1.0, "did": DID_BOOST},
    HOLDING: {"said": 1.0, "did": 1.0},
}
"""The vectors that each search looks at, and what a term in them counts."""

FIRST_ROWS = 1000
"""How many rows the rarest terms find at least before anything is scored: 300 lose two hits more of 100, 3,000 cost the
same (questions about two projects, docs/decisions.md)."""

_HIGHEST = "\U0010ffff"
"""Behind every word that begins with what stands before it."""


class PostgresSearchIndex:
    """Searches are answered from a server's tables; the log is the truth they are caught up from.

    Args:
        connect: Gives a connection that commits each statement by itself.
        log: The truth.
        errors: Makes the driver's errors the store's own.
    """

    def __init__(
        self,
        connect: Callable[[], Connection],
        log: EventLog,
        errors: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        self._connect, self._log, self._errors = connect, log, errors
        self._opened: Connection | None = None
        self._writer: PostgresWriter | None = None

    # -- the server ------------------------------------------------------------------------------------------------
    def server(self) -> Connection:
        """The connection; one that was lost is made anew, and what it had locked is not ours any more."""
        if self._opened is None or self._opened.closed:
            self._writer, self._opened = None, self._connect()
            settings = f"SET search_path = {SCHEMA}; SET jit = off"  # to compile takes longer than to search
            self._opened.execute(settings.encode())
        return self._opened

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        with self._errors():
            return self.server().execute(statement.encode(), [_storable(value) for value in values]).fetchall()

    @cached_property
    def _projects(self) -> dict[int, dict[str, int]]:
        """How many documents each project has, by index; nothing where the index is another log's."""
        with self._errors():
            if last_of(self.server(), self._log) is None:
                return {}
        rows = self._rows("SELECT project_id, events, exchanges FROM projects")
        return {project_id: {EVENTS: events, EXCHANGES: exchanges} for project_id, events, exchanges in rows}

    def _within(self, scope: Scope | None) -> list[int]:
        if scope is None or scope.is_everything:
            return list(self._projects)
        return [scope.project_id] if scope.project_id in self._projects else []

    def refresh(self) -> None:
        """Lets the next search see what was committed since."""
        self.__dict__.pop("_projects", None)

    # -- words -----------------------------------------------------------------------------------------------------
    @cached_property
    def _analyzer(self) -> tantivy.TextAnalyzer:
        return analyzer()

    @cached_property
    def _generic(self) -> frozenset[str]:
        return frozenset(self._analyzer.analyze(" ".join(sorted(GENERIC_WORDS))))

    def analyze(self, text: str) -> list[str]:
        """The terms of a question, each once, in order: stemmed, stop words out, identifiers also in parts."""
        return list(dict.fromkeys(self._analyzer.analyze(with_extra_terms(text))))

    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        """What each term is worth among a scope's windows and exchanges (None: all), and which were ever used there."""
        found, projects = Weights(), self._within(scope)
        for name, values in ((EVENTS, found.windows), (EXCHANGES, found.exchanges)):
            total = found.totals[name] = sum(self._projects[project][name] for project in projects)
            frequencies = self._frequencies(SCHEMAS[name][0], terms, projects)
            for term in terms:
                values[term] = bm25.weight(frequencies[term], total, is_generic=term in self._generic)
                found.known |= {term} if frequencies[term] else set()
        return found

    def _held(self, fields: Iterable[str], terms: Iterable[str], projects: list[int]) -> list[tuple[Any, ...]]:
        """(project, field, term, documents) of the terms that are known."""
        statement = (
            "SELECT project_id, field, term, documents FROM terms"
            " WHERE project_id = ANY(%s) AND field = ANY(%s) AND term = ANY(%s) AND documents > 0"
        )
        return self._rows(statement, (projects, list(fields), list(terms))) if projects else []

    def _frequencies(self, field: str, terms: Iterable[str], projects: list[int]) -> dict[str, int]:
        """How many documents hold each term."""
        found: dict[str, int] = defaultdict(int)
        for _, _, term, documents in self._held((field,), terms, projects):
            found[term] += documents
        return found

    def name_frequencies(self, names: Sequence[str], scope: Scope) -> tuple[int, dict[str, int]]:
        """How many events a scope has, and how many of them mention each name."""
        projects = self._within(scope)
        frequencies = self._frequencies("names", names, projects)
        return sum(self._projects[each][EVENTS] for each in projects), {name: frequencies[name] for name in names}

    def similar_terms(self, term: str, scope: Scope, limit: int = 8) -> list[tuple[str, int]]:
        """Known terms that begin with an unknown one, most frequent first, or else the longest that it begins with."""
        projects = self._within(scope)
        if not projects:
            return []
        found = self._rows(
            "SELECT term, sum(documents)::bigint AS count FROM terms WHERE project_id = ANY(%s)"
            " AND field = 'said' AND term >= %s AND term < %s AND documents > 0"
            " GROUP BY term ORDER BY count DESC, term LIMIT %s",
            (projects, term, term + _HIGHEST, limit),
        )
        if found:
            return [(near, count) for near, count in found]
        shortest = max(MIN_STEM_CHARS, len(term) - MAX_ENDING_CHARS)
        shorter = [term[:end] for end in range(len(term) - 1, shortest - 1, -1)]
        known = self._frequencies("said", shorter, projects)
        return [(near, known[near]) for near in shorter if known[near]][:1]

    def _one_edit_away(self, term: str, projects: list[int]) -> list[tuple[int, str]]:
        """(project, term) of the known terms that differ from one by an edit at most.

        An edit leaves the first or the last letters of a word as they are: less than half of them.
        """
        kept = (len(term) - 1) // 2
        first, last = term[:kept], term[::-1][:kept]
        near = self._rows(
            "SELECT project_id, term FROM terms WHERE project_id = ANY(%s) AND field = 'text' AND"
            ' (term >= %s AND term < %s OR reverse(term) COLLATE "C" >= %s AND reverse(term) COLLATE "C" < %s)'
            " AND length(term) BETWEEN %s AND %s AND documents > 0",
            (projects, first, first + _HIGHEST, last, last + _HIGHEST, len(term) - 1, len(term) + 1),
        )
        return [(project, known) for project, known in near if known == term or is_one_edit(term, known)]

    # -- searching -------------------------------------------------------------------------------------------------
    def search(
        self,
        what: Search,
        weights: Mapping[str, float],
        wanted: Filter,
        limit: int,
        required: Sequence[Sequence[str]] = (),
    ) -> list[Hit]:
        """The best hits of one of `domain.stored.SEARCHES`, by BM25 with the weights as idf."""
        projects = self._within(wanted.scope)
        if not weights or not projects or wanted.is_never:
            return []
        select = Select(EXCHANGES if what in (EXCHANGES, HOLDING) else EVENTS, projects, wanted, FIELDS[what])
        select.require({term for group in required for term in group})
        if what in (FUZZY, HOLDING):
            rows = self._by_presence(what, weights, projects, select, limit)
        else:
            rows = self._by_bm25(weights, projects, select, limit)
        return [Hit(*row) for row in rows]

    def _by_presence(
        self, what: Search, weights: Mapping[str, float], projects: list[int], select: Select, limit: int
    ) -> list[tuple[Any, ...]]:
        """A term that a row holds counts its weight, however often it stands there."""
        if what == FUZZY:
            spelt = {term: self._one_edit_away(term, projects) for term in weights}
            known = [
                Known("", 1, weights[term], [lexeme(*one) for one in near]) for term, near in spelt.items() if near
            ]
            return self._rows(*select.by_presence(known, known, limit)) if known else []
        documents: dict[str, int] = defaultdict(int)
        for _, _, term, count in self._held(select.fields, weights, projects):
            documents[term] += count
        known = _rarest_first(
            Known("", count, weights[term], [lexeme(each, term) for each in projects])
            for term, count in documents.items()
        )
        return self._best(known, limit, lambda taken: select.by_presence(known, taken, limit))

    def _by_bm25(
        self, weights: Mapping[str, float], projects: list[int], select: Select, limit: int
    ) -> list[tuple[Any, ...]]:
        lexemes, known = self._known(weights, projects, select.fields)
        return self._best(known, limit, lambda taken: select.by_bm25(lexemes, taken, limit))

    def _best(
        self, known: Sequence[Known], limit: int, select: Callable[[Sequence[Known]], Statement]
    ) -> list[tuple[Any, ...]]:
        """The best rows of those that the rarest terms find.

        Terms are added until what the others usually add is less than what the last of the best rows has.
        """
        rows: list[tuple[Any, ...]] | None = None
        taken, least = 0, 0.0
        while taken < len(known):
            found, rest = sum(one.documents for one in known[:taken]), sum(one.worth for one in known[taken:])
            while taken < len(known) and (found < FIRST_ROWS or (rows is not None and rest >= least)):
                found, rest, taken = found + known[taken].documents, rest - known[taken].worth, taken + 1
            rows = self._rows(*select(known[:taken]))
            least = rows[-1][-1] if len(rows) == limit else 0.0
            if rest < least:
                break
        return rows or []

    def _known(
        self, weights: Mapping[str, float], projects: list[int], fields: Mapping[str, float]
    ) -> tuple[dict[int, dict[str, float]], list[Known]]:
        """The weights of lexemes, and the terms that are known: first what adds most for the rows that it finds."""
        lexemes: dict[int, dict[str, float]] = defaultdict(dict)
        by_term: dict[tuple[str, str], Known] = {}
        for project, field, term, documents in self._held(fields, weights, projects):
            one = by_term.get((field, term), Known(field, 0, fields[field] * weights[term], []))
            by_term[field, term] = one._replace(documents=one.documents + documents)
            one.lexemes.append(lexeme(project, term))
            lexemes[project][one.lexemes[-1]] = weights[term]
        return lexemes, _rarest_first(by_term.values())

    # -- keeping up ------------------------------------------------------------------------------------------------
    def lag(self) -> int:
        """How many rows the index has not seen yet."""
        with self._errors():
            return max(0, self._log.last_position() - (last_of(self.server(), self._log) or 0))

    def catch_up(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """Adds the rows that the index does not hold yet; None when another process is at it."""
        with self._writing() as writer:
            return None if writer is None else writer.add_new_rows(texts or {}, deadline)

    def rebuild(self) -> int:
        """Builds the index anew from the rows. Returns how many rows it holds.

        Raises:
            StoreLockedError: another process is writing the index.
        """
        with self._writing() as writer:
            if writer is None:
                raise StoreLockedError("another process is writing the index; try again")
            return writer.rebuild()

    @contextmanager
    def _writing(self) -> Iterator[PostgresWriter | None]:
        """The writer with its lock, None when another process has it; one that failed takes nothing more."""
        with self._errors():
            try:
                yield self._take_index()
            except BaseException:
                self.close()
                raise
            finally:
                self.refresh()

    def release(self) -> None:
        """Gives the write lock back to other processes."""
        writer, self._writer = self._writer, None
        if writer is not None:
            with self._errors():
                writer.close()

    def close(self) -> None:
        """Gives the connection back, and with it the lock."""
        self._writer = None
        if self._opened is not None:
            self._opened.close()

    def _take_index(self) -> PostgresWriter | None:
        server = self.server()
        if self._writer is None:
            ensure_marks(self._log)
            writer = PostgresWriter(self._log, server)
            self._writer = writer if writer.open() else None
        return self._writer


def _rarest_first(known: Iterable[Known]) -> list[Known]:
    """First what adds most for the rows that it finds."""
    return sorted(known, key=lambda one: -one.worth / one.documents)


def _storable(value: object) -> object:
    """A value as the server takes it: no term with a character 0 is known."""
    if isinstance(value, list):
        return [_storable(one) for one in value]
    return without_nul(value) if isinstance(value, str) else value
