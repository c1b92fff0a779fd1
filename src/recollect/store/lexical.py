"""The lexical index beside the rows: two small Tantivy indexes, derived, rebuildable, caught up by row id.

* `events`: one document an event. A turn's words count twice, the first words of the two turns before it once (its
  window): a turn looks back, never forward, so that documents are only ever added.
* `exchanges`: one document an exchange (a prompt and all that follows until the next): what was said, each word at
  most twice, the words of the exchange before it at a third; and what was done (tool calls), searched at a
  lower weight. A session's last exchange is replaced while it grows.

They are two indexes because BM25's average length is over all documents of an index, also those without the field.

Tantivy fixes k1 and b, so weights inside a field are term frequencies: a word is written as often as it counts.
Each index knows the last row that it holds; a crash between the rows' commit and the index's heals at the next pass.
"""

from __future__ import annotations

import os

import tantivy
from tantivy import Occur, Query

from recollect.domain import bm25, events
from recollect.domain.stored import Hit, Weights
from recollect.domain.text import GENERIC_WORDS, STOP_WORDS, with_extra_terms
from recollect.errors import IndexDamagedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from recollect.domain.stored import Filter

FORMAT = 1
"""Part of the folder's name: another format is another folder, built anew from the rows."""

WORDS = "recollect_words"
NAMES = "recollect_names"
MIN_STEM_CHARS = 6
MAX_ENDING_CHARS = 7
"""What may be left of an unknown word, and what may be taken from its end."""

DID_BOOST = 0.3
"""What was done counts .3 of what was said: without it nDCG@10 falls by 1.8 points (docs/evaluation.md)."""

_KINDS = {kind: number for number, kind in enumerate(events.KINDS)}
_ORIGINS = {origin: number for number, origin in enumerate(events.ORIGINS)}
_HIT_FIELDS = ("row", "session", "exchange", "ts")
_NUMBERS = (*_HIT_FIELDS, "project")


def analyzer() -> tantivy.TextAnalyzer:
    """How words become terms, in every index: lower case, no stop words, stemmed."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(60),
        tantivy.Filter.lowercase(),
        tantivy.Filter.custom_stopword(sorted(STOP_WORDS)),
        tantivy.Filter.stemmer("english"),
    ):
        builder = builder.filter(step)
    return builder.build()


def _names_analyzer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.lowercase()).build()


def _schema(*texts: str) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in _NUMBERS:
        builder.add_unsigned_field(name, fast=True, indexed=True)
    for name in ("kind", "origin"):
        builder.add_unsigned_field(name, indexed=True)
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")  # deletes by number do nothing
    for name in texts:
        builder.add_text_field(name, tokenizer_name=NAMES if name == "names" else WORDS, index_option="freq")
    return builder.build()


SCHEMAS = {"events": ("text", "names"), "exchanges": ("said", "did")}


class LexicalIndex:
    """Both indexes of one store, opened for reading; a writer is taken only while catching up."""

    def __init__(self, folder: str) -> None:
        self.folder = os.path.join(folder, f"lexical-{FORMAT}")
        self._analyzer = analyzer()
        self._generic: frozenset[str] | None = None
        self._opened: dict[str, tuple[tantivy.Index, tantivy.Schema, tantivy.Searcher]] = {}

    def open(self, name: str, *, create: bool = False) -> tantivy.Index | None:
        """One of the two indexes, or None when it is not there (and not to be made)."""
        path = os.path.join(self.folder, name)
        if os.path.exists(os.path.join(path, "meta.json")):
            try:
                index = open_index(path)
            except ValueError as error:
                raise damaged(error) from error
        elif create:
            for folder in (os.path.dirname(self.folder), self.folder, path):  # a mode is the last folder's only
                os.makedirs(folder, mode=0o700, exist_ok=True)
            index = tantivy.Index(_schema(*SCHEMAS[name]), path=path)
        else:
            return None
        index.register_tokenizer(WORDS, self._analyzer)
        index.register_tokenizer(NAMES, _names_analyzer())
        return index

    def _searcher(self, name: str) -> tuple[tantivy.Schema, tantivy.Searcher] | None:
        if name not in self._opened:
            index = self.open(name)
            if index is None:
                return None
            try:
                self._opened[name] = (index, index.schema, index.searcher())
            except ValueError as error:
                raise damaged(error) from error
        _, schema, searcher = self._opened[name]
        return schema, searcher

    def refresh(self) -> None:
        """Lets the next search see what was committed since."""
        for name, (index, schema, _) in list(self._opened.items()):
            try:
                index.reload()
                self._opened[name] = (index, schema, index.searcher())
            except ValueError:  # it was built anew elsewhere: open it again
                del self._opened[name]

    def analyze(self, text: str) -> list[str]:
        """The terms of a question, each once, in order: stemmed, stop words out, identifiers also in parts."""
        return list(dict.fromkeys(self._analyzer.analyze(with_extra_terms(text))))

    def weigh(self, terms: Sequence[str]) -> Weights:
        """What each term is worth among the windows and among the exchanges, and which of them nobody ever used."""
        if self._generic is None:
            self._generic = frozenset(self._analyzer.analyze(" ".join(sorted(GENERIC_WORDS))))
        found = Weights()
        for name, field, values in (("events", "text", found.windows), ("exchanges", "said", found.exchanges)):
            opened = self._searcher(name)
            total = _total(opened[1]) if opened else 0
            for term in terms:
                frequency = opened[1].doc_freq(field, term) if opened else 0
                values[term] = bm25.weight(frequency, total, is_generic=term in self._generic)
                if frequency:
                    found.known.add(term)
            found.totals[name] = total
        return found

    def search_events(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Hit]:
        """Events whose window holds the terms (and every required one), best first: BM25 with the weights as idf."""
        opened = self._searcher("events")
        if opened is None or not weights:
            return []
        return self._hits("events", weighted(opened, "text", weights, 1.0), wanted, limit, required)

    def search_exchanges(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Hit]:
        """Exchanges that hold the terms in what was said or (at DID_BOOST) done, best first."""
        opened = self._searcher("exchanges")
        if opened is None or not weights:
            return []
        said = weighted(opened, "said", weights, 1.0)
        return self._hits("exchanges", said + weighted(opened, "did", weights, DID_BOOST), wanted, limit, required)

    def search_names(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events that mention the names (lower case), best first: BM25 with the given weights as idf."""
        opened = self._searcher("events")
        if opened is None or not weights:
            return []
        return self._hits("events", weighted(opened, "names", weights, 1.0), wanted, limit)

    def name_frequencies(self, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many events there are, and how many of them mention each name."""
        opened = self._searcher("events")
        if opened is None:
            return 0, dict.fromkeys(names, 0)
        searcher = opened[1]
        return searcher.num_docs, {name: searcher.doc_freq("names", name) for name in names}

    def similar_terms(self, term: str, limit: int = 8) -> list[tuple[str, int]]:
        """Known terms that begin with an unknown one, most frequent first, or else the longest that it begins with.

        The latter is what a slip in an ending leaves of a stem: `migraton` begins with `migrat`.
        """
        opened = self._searcher("exchanges")
        if opened is None:
            return []
        found: list[tuple[str, int]] = opened[1].terms_with_prefix("said", term, limit=limit)
        shortest = max(MIN_STEM_CHARS, len(term) - MAX_ENDING_CHARS)
        for end in range(len(term) - 1, shortest - 1, -1) if not found else ():
            frequency = opened[1].doc_freq("said", term[:end])
            if frequency:
                return [(term[:end], frequency)]
        return found

    def search_fuzzy(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events with a word one edit (or swap) away from each term; each one found scores its weight."""
        opened = self._searcher("events")
        if opened is None or not weights:
            return []
        queries = [
            Query.boost_query(Query.fuzzy_term_query(opened[0], "text", term, distance=1), weight)
            for term, weight in weights.items()
        ]
        return self._hits("events", queries, wanted, limit)

    def _hits(
        self, name: str, queries: list[Query], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Hit]:
        opened = self._searcher(name)
        if opened is None or not queries:
            return []
        schema, searcher = opened
        restrictions = _restrictions(schema, wanted, is_event=name == "events")
        if restrictions is None:
            return []
        any_of = Query.boolean_query([(Occur.Should, query) for query in queries])
        restrictions += all_of(schema, ("text",) if name == "events" else ("said", "did"), required)
        query = Query.boolean_query([*restrictions, (Occur.Must, any_of)])
        try:
            found = searcher.search(query, limit, count=False).hits
        except ValueError as error:
            raise damaged(error) from error
        places = [place for _, place in found]
        # An exchange stands for its prompt: its last row may be another project's.
        fields = _HIT_FIELDS if name == "events" else ("exchange", *_HIT_FIELDS[1:])
        rows, sessions, exchanges, times = (searcher.fast_field_values(field, places) for field in fields)
        return [
            Hit(int(row or 0), int(session or 0), int(exchange or 0), int(ts_ms or 0), score)
            for (score, _), row, session, exchange, ts_ms in zip(found, rows, sessions, exchanges, times, strict=True)
        ]


def damaged(error: ValueError) -> IndexDamagedError:
    """Tantivy's complaint about its files, with what to do."""
    return IndexDamagedError(f"the search index is damaged ({error}); `recollect import` builds it anew from the rows")


def _total(searcher: tantivy.Searcher) -> int:
    """Every document that Tantivy's own figures count: also the replaced ones that no merge has taken out yet."""
    return sum(searcher.doc_freq("kind", number) for number in _KINDS.values())


def weighted(
    opened: tuple[tantivy.Schema, tantivy.Searcher], field: str, weights: Mapping[str, float], factor: float
) -> list[Query]:
    """Term queries whose idf is ours: the boost takes Tantivy's own out again (it counts only real documents)."""
    schema, searcher = opened
    total = _total(searcher)
    queries = []
    for term, weight in weights.items():
        frequency = searcher.doc_freq(field, term)
        if frequency:
            boost = factor * weight / bm25.idf(min(frequency, total), total)
            queries.append(Query.boost_query(Query.term_query(schema, field, term, "freq"), boost))
    return queries


def open_index(path: str) -> tantivy.Index:
    """An index that is there; one in a folder that cannot be written as it is now."""
    try:
        return tantivy.Index.open(path)
    except ValueError:
        if os.access(path, os.W_OK):
            raise
    import shutil
    import tempfile

    shadow = tempfile.mkdtemp(prefix="recollect-")  # Tantivy wants a lock file beside what it reads
    try:
        for name in os.listdir(path):
            if not name.endswith(".lock"):
                os.symlink(os.path.join(path, name), os.path.join(shadow, name))
        index = tantivy.Index.open(shadow)
        index.config_reader("manual", 1)  # no thread that watches the folder
        return index
    finally:  # the files are mapped: their names are not needed any more
        for _ in range(100):  # the watcher of before may just be taking the lock once more
            shutil.rmtree(shadow, ignore_errors=True)
            if not os.path.exists(shadow):
                break


def _restrictions(schema: tantivy.Schema, wanted: Filter, *, is_event: bool) -> list[tuple[Occur, Query]] | None:
    """What a hit must be, without any weight in its score; None when nothing can be."""
    found: list[tuple[Occur, Query]] = []

    def must(query: Query) -> None:
        found.append((Occur.Must, Query.const_score_query(query, 0.0)))

    if not wanted.scope.is_everything:
        if wanted.scope.project_id is None:
            return None
        must(Query.term_query(schema, "project", wanted.scope.project_id, "basic"))
    if wanted.is_never:
        return None
    found += time_range(schema, wanted)
    if wanted.sessions is not None:
        must(Query.term_set_query(schema, "session", list(wanted.sessions)))
    if is_event:
        for field, names, numbers in (("kind", wanted.kinds, _KINDS), ("origin", wanted.origins, _ORIGINS)):
            if names is not None:
                if not names:
                    return None
                must(Query.term_set_query(schema, field, [numbers[name] for name in names]))
    found += [(Occur.MustNot, Query.term_query(schema, "session", session, "basic")) for session in wanted.without]
    return found


def time_range(schema: tantivy.Schema, wanted: Filter) -> list[tuple[Occur, Query]]:
    """The restriction to the wanted time, if there is one, without any weight in the score."""
    if wanted.before_ms is None and wanted.since_ms is None:
        return []
    low = None if wanted.since_ms is None else max(0, wanted.since_ms)
    last = None if wanted.before_ms is None else wanted.before_ms - 1
    between = Query.range_query(schema, "ts", tantivy.FieldType.Unsigned, low, last)
    return [(Occur.Must, Query.const_score_query(between, 0.0))]


def all_of(
    schema: tantivy.Schema, fields: Sequence[str], required: Sequence[Sequence[str]]
) -> list[tuple[Occur, Query]]:
    """The restriction to documents that hold every term of every group in one of the fields."""
    found = []
    for term in dict.fromkeys(term for group in required for term in group):
        places = [(Occur.Should, Query.term_query(schema, field, term, "freq")) for field in fields]
        found.append((Occur.Must, Query.const_score_query(Query.boolean_query(places), 0.0)))
    return found
