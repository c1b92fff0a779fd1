"""The lexical index beside the rows: two small Tantivy indexes, derived, rebuildable, caught up by row id.

* `events`: one document an event. A turn's words count twice, the first words of the two turns before it once (its
  window): a turn looks back, never forward, so that documents are only ever added.
* `exchanges`: one document an exchange (a prompt and all that follows until the next): what was said, each word at
  most twice, the words of the exchange before it at a third; and what was done (tool calls), searched at a
  lower weight. A session's last exchange is replaced while it grows.

They are two indexes because BM25's average length is over all documents of an index, also those without the field.

Tantivy fixes k1 and b, so weights inside a field are term frequencies: a word is written as often as it counts.
Each index knows the last row that it holds; a crash between the rows' commit and the index's heals at the next pass.
One whose stamp is not of the rows at hand (`stamp`) is as good as none.
"""

from __future__ import annotations

import os
from functools import cached_property

import tantivy
from tantivy import Occur, Query

from howcome.domain import bm25, events
from howcome.domain.stored import EVENTS, EXCHANGES, FUZZY, HOLDING, NAMES, Hit, Weights
from howcome.domain.term_weights import DID_BOOST
from howcome.domain.text import GENERIC_WORDS, with_extra_terms
from howcome.index.binding import guarded
from howcome.index.index_files import give_up, is_stamped, make_folders, require_safe
from howcome.index.lexical_counts import ScopeCounts
from howcome.index.lexical_filter import all_of, of_kinds, within
from howcome.log.terms import analyzer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.stored import Filter, Scope
    from howcome.index.index_files import MarkOf
    from howcome.index.search_index import Search

FORMAT = 2
"""Part of the folder's name: another format is another folder, built anew from the rows."""

WORDS = "howcome_words"
NAME_WORDS = "howcome_names"
MIN_STEM_CHARS = 6
MAX_ENDING_CHARS = 7
"""What may be left of an unknown word, and what may be taken from its end."""

_HIT_FIELDS = ("row", "session", "exchange", "ts")
_NUMBERS = (*_HIT_FIELDS, "project", "kind", "origin")


def _names_analyzer() -> tantivy.TextAnalyzer:
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return builder.filter(tantivy.Filter.lowercase()).build()


def _schema(*texts: str) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in _NUMBERS:
        builder.add_unsigned_field(name, fast=True, indexed=True)
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")  # deletes by number do nothing
    for name in texts:
        builder.add_text_field(name, tokenizer_name=NAME_WORDS if name == "names" else WORDS, index_option="freq")
    return builder.build()


SCHEMAS = {"events": ("text", "names"), "exchanges": ("said", "did")}


class LexicalIndex:
    """Both indexes of one store, opened for reading; a writer is taken only while catching up."""

    title = "search index"

    def __init__(self, folder: str, mark_of: MarkOf) -> None:
        self.folder, self.mark_of = os.path.join(folder, f"lexical-{FORMAT}"), mark_of
        self._is_ours: bool | None = None
        self._generic: frozenset[str] | None = None
        self._opened: dict[str, tuple[tantivy.Index, tantivy.Schema, tantivy.Searcher]] = {}
        self._totals: dict[str, int] = {}
        self._scopes: dict[str, ScopeCounts] = {}

    @cached_property
    def _analyzer(self) -> tantivy.TextAnalyzer:
        """Made when the first question, or the first row, comes."""
        return analyzer()

    def path_of(self, name: str) -> str:
        """The folder of one of the two indexes."""
        return os.path.join(self.folder, name)

    def open(self, name: str, *, create: bool = False) -> tantivy.Index | None:
        """One of the two indexes, or None when it is not there (and not to be made)."""
        path = self.path_of(name)
        if os.path.exists(os.path.join(path, "meta.json")):
            index = open_index(path, _schema(*SCHEMAS[name]))
        elif create:
            make_folders(os.path.dirname(self.folder), self.folder, path)
            index = tantivy.Index(_schema(*SCHEMAS[name]), path=path)
        else:
            return None
        index.register_tokenizer(WORDS, self._analyzer)
        index.register_tokenizer(NAME_WORDS, _names_analyzer())
        return index

    def _searcher(self, name: str) -> tuple[tantivy.Schema, tantivy.Searcher] | None:
        if name not in self._opened:
            index = self.open(name) if self.is_ours else None
            if index is None:
                return None
            self._opened[name] = (index, index.schema, index.searcher())
        _, schema, searcher = self._opened[name]
        return schema, searcher

    def _total(self, name: str) -> int:
        opened = self._searcher(name)
        if opened is None:
            return 0
        if name not in self._totals:
            self._totals[name] = _total(opened[1])
        return self._totals[name]

    @property
    def folders(self) -> list[str]:
        """Where Tantivy's files are."""
        return [self.path_of(name) for name in SCHEMAS]

    @property
    def is_ours(self) -> bool:
        """Whether the files are of the rows at hand, as was found at the last refresh."""
        if self._is_ours is None:
            self._is_ours = is_stamped(self.folder, self.mark_of)
        return self._is_ours

    def give_up(self) -> None:
        """The files are not what they should be: nobody finds anything by them until they are made anew."""
        give_up(self.folder)
        self._forget()

    def _forget(self) -> None:
        """What is opened is of files that nobody should ask any more."""
        self._opened.clear()
        self._is_ours = False

    @guarded
    def refresh(self) -> None:
        """Lets the next search see what was committed since."""
        if self._is_ours is None:  # nobody has asked anything yet
            return
        self._totals.clear()
        self._scopes.clear()
        self._is_ours = None
        if not self.is_ours:
            self._opened.clear()
        for name, (index, schema, _) in list(self._opened.items()):
            try:
                index.reload()
                self._opened[name] = (index, schema, index.searcher())
            except ValueError:  # it was built anew elsewhere: open it again
                del self._opened[name]

    def analyze(self, text: str) -> list[str]:
        """The terms of a question, each once, in order: stemmed, stop words out, identifiers also in parts."""
        return list(dict.fromkeys(self._analyzer.analyze(with_extra_terms(text))))

    @guarded
    def last_row(self) -> int:
        """The last row that either index has seen, as it is on disk now; 0 when there is none, or none of these."""
        if not is_stamped(self.folder, self.mark_of):
            return 0
        opened = (self.open(name) for name in SCHEMAS)
        return max((last_row(found) for found in opened if found is not None), default=0)

    @guarded
    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        """What each term is worth among a scope's windows and exchanges (None: all), and which were ever used there."""
        if self._generic is None:
            self._generic = frozenset(self._analyzer.analyze(" ".join(sorted(GENERIC_WORDS))))
        found = Weights()
        for name, field, values in (("events", "text", found.windows), ("exchanges", "said", found.exchanges)):
            opened = self._searcher(name)
            if opened is None:
                values |= {term: bm25.weight(0, 0, is_generic=term in self._generic) for term in terms}
                found.totals[name] = 0
                continue
            counts = self._scopes.get(name)
            if counts is None or not counts.is_of(scope):
                counts = self._scopes[name] = ScopeCounts(*opened, field, self._total(name), scope)
            for term in terms:
                if counts.holding(term):
                    found.known.add(term)
                values[term] = bm25.weight(counts.frequency(term), counts.total, is_generic=term in self._generic)
            found.totals[name] = counts.total
        return found

    @guarded
    def search(
        self,
        what: Search,
        weights: Mapping[str, float],
        wanted: Filter,
        limit: int,
        required: Sequence[Sequence[str]] = (),
    ) -> list[Hit]:
        """The best hits of one of `domain.stored.SEARCHES`, by BM25 with the weights as idf."""
        name = EXCHANGES if what in (EXCHANGES, HOLDING) else EVENTS
        opened = self._searcher(name)
        if opened is None or not weights:
            return []
        schema, searcher = opened
        must, queries = within(schema, wanted), self._queries(what, opened, weights)
        kinds = of_kinds(schema, wanted) if name == EVENTS else []
        if not queries or must is None or kinds is None:
            return []
        must += kinds + all_of(schema, ("text",) if name == EVENTS else ("said", "did"), required)
        any_of = Query.boolean_query([(Occur.Should, query) for query in queries])
        query = Query.boolean_query([*must, (Occur.Must, any_of)]) if must else any_of
        found = searcher.search(query, limit, count=False).hits
        places = [place for _, place in found]
        # An exchange stands for its prompt: its last row may be another project's.
        fields = _HIT_FIELDS if name == EVENTS else ("exchange", *_HIT_FIELDS[1:])
        columns = (searcher.fast_field_values(field, places) for field in fields)
        return list(map(Hit, *columns, (score for score, _ in found)))

    def _queries(
        self, what: Search, opened: tuple[tantivy.Schema, tantivy.Searcher], weights: Mapping[str, float]
    ) -> list[Query]:
        if what == FUZZY:  # each word that is found scores its weight
            return [
                Query.boost_query(Query.fuzzy_term_query(opened[0], "text", term, distance=1), weight)
                for term, weight in weights.items()
            ]
        if what == HOLDING:
            return [_held(opened[0], term, weight) for term, weight in weights.items()]
        if what == EXCHANGES:
            total = self._total(EXCHANGES)
            said = weighted(opened, "said", weights, 1.0, total)
            return said + weighted(opened, "did", weights, DID_BOOST, total)
        return weighted(opened, "names" if what == NAMES else "text", weights, 1.0, self._total(EVENTS))

    @guarded
    def name_frequencies(self, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many events there are, and how many of them mention each name."""
        opened = self._searcher("events")
        if opened is None:
            return 0, dict.fromkeys(names, 0)
        searcher = opened[1]
        return searcher.num_docs, {name: searcher.doc_freq("names", name) for name in names}

    @guarded
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


def last_row(index: tantivy.Index) -> int:
    """The highest row of an index; 0 when it is empty."""
    found = index.searcher().search(Query.all_query(), 1, count=False, order_by_field="row").hits
    return int(found[0][0]) if found else 0


def _total(searcher: tantivy.Searcher) -> int:
    """Every document that Tantivy's own figures count: also the replaced ones that no merge has taken out yet."""
    return sum(searcher.doc_freq("kind", number) for number in range(len(events.KINDS)))


def weighted(
    opened: tuple[tantivy.Schema, tantivy.Searcher],
    field: str,
    weights: Mapping[str, float],
    factor: float,
    total: int,
) -> list[Query]:
    """Term queries whose idf is ours: the boost takes Tantivy's own out again (it counts only real documents)."""
    schema, searcher = opened
    queries = []
    for term, weight in weights.items():
        frequency = searcher.doc_freq(field, term)
        if frequency:
            boost = factor * weight / bm25.idf(min(frequency, total), total)
            queries.append(Query.boost_query(Query.term_query(schema, field, term, "freq"), boost))
    return queries


def _held(schema: tantivy.Schema, term: str, weight: float) -> Query:
    """A term of an exchange, said or done: its weight, however often it stands there."""
    fields = [(Occur.Should, Query.term_query(schema, field, term, "basic")) for field in SCHEMAS[EXCHANGES]]
    return Query.const_score_query(Query.boolean_query(fields), weight)


def open_index(path: str, schema: tantivy.Schema) -> tantivy.Index:
    """An index that is there; one in a folder that cannot be written as it is now."""
    require_safe(path)
    index = _open_anywhere(path)
    if index.schema != schema:
        raise ValueError("its fields are not as they were written")
    return index


def _open_anywhere(path: str) -> tantivy.Index:
    try:
        return tantivy.Index.open(path)
    except ValueError:
        if os.access(path, os.W_OK):
            raise
    import shutil
    import tempfile

    shadow = tempfile.mkdtemp(prefix="howcome-")  # Tantivy wants a lock file beside what it reads
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
