"""The lexical index beside the rows: two small Tantivy indexes a project, derived, rebuildable, caught up by row id.

* `events`: one document an event. A turn's words count twice, the first words of the two turns before it once (its
  window): a turn looks back, never forward, so that documents are only ever added.
* `exchanges`: one document an exchange (a prompt and all that follows until the next): what was said, each word at
  most twice, the words of the exchange before it at a third; and what was done (tool calls), searched at a
  lower weight. A session's last exchange is replaced while it grows.

They are two indexes because BM25's average length is over all documents of an index, also those without the field.

A project has a folder of its own: its documents' lengths and its words' weights are its own, and no other's row can
come out of it. A question of everything asks each with the weights of all, so that the scores are of one measure.

Tantivy fixes k1 and b, so weights inside a field are term frequencies: a word is written as often as it counts.
One line (`index_files.STAMP`) says for all how far they are, and whose rows they are of; without it they are as good as
none. A crash between the rows' commit and the index's, or between two projects', heals at the next pass.
"""

from __future__ import annotations

import os
from functools import cache, cached_property

import tantivy
from tantivy import Occur, Query

from howcome.domain import bm25, events
from howcome.domain.bm25 import DID_BOOST
from howcome.domain.stored import EVENTS, EXCHANGES, FUZZY, HOLDING, NAMES, Hit, Weights
from howcome.domain.text import GENERIC_WORDS, with_extra_terms
from howcome.index.binding import guarded
from howcome.index.index_files import META, give_up, make_folders, read_stamp, require_safe
from howcome.index.lexical_filter import all_of, of_kinds, within
from howcome.log.terms import analyzer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.stored import Filter, Scope
    from howcome.index.index_files import MarkOf
    from howcome.index.search_index import Search

FORMAT = 4
"""Part of the folder's name: another format is another folder, built anew from the rows."""

WORDS = "howcome_words"
NAME_WORDS = "howcome_names"
MIN_STEM_CHARS = 6
MAX_ENDING_CHARS = 7
"""What may be left of an unknown word, and what may be taken from its end."""

MAX_OPEN_PARTS = 1000
MAX_KEPT_PARTS = 16
"""Of five hundred projects; each has some 50 files mapped, and Linux lets a process map 65,530."""

_HIT_FIELDS = ("row", "session", "exchange", "ts")
_NUMBERS = (*_HIT_FIELDS, "kind", "origin")


def _schema_of(path: str) -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in _NUMBERS:
        builder.add_unsigned_field(name, fast=True, indexed=True)
    builder.add_text_field("key", tokenizer_name="raw", index_option="basic")  # deletes by number do nothing
    for name in SCHEMAS[os.path.basename(path)]:
        builder.add_text_field(name, tokenizer_name=NAME_WORDS if name == "names" else WORDS, index_option="freq")
    return builder.build()


SCHEMAS = {"events": ("text", "names"), "exchanges": ("said", "did")}


class Part:
    """One of the two indexes of a project, as it was when it was opened."""

    def __init__(self, path: str, index: tantivy.Index, version: tuple[int, int]) -> None:
        self.schema, self.searcher = index.schema, index.searcher()  # without the index no thread watches the folder
        self._path, self._version = path, version

    @cached_property
    def total(self) -> int:
        """Every document that Tantivy's own figures count: also the replaced ones that no merge has taken out yet."""
        return sum(self.searcher.doc_freq("kind", number) for number in range(len(events.KINDS)))

    @property
    def is_current(self) -> bool:
        """Whether nothing was committed since."""
        return version_of(self._path) == self._version

    def weighted(self, field: str, weights: Mapping[str, float], factor: float = 1.0) -> list[Query]:
        """Term queries whose idf is ours: the boost takes Tantivy's own out again (it counts only real documents)."""
        queries = []
        for term, weight in weights.items():
            frequency = self.searcher.doc_freq(field, term)
            if frequency:
                boost = factor * weight / bm25.idf(min(frequency, self.total), self.total)
                queries.append(Query.boost_query(Query.term_query(self.schema, field, term, "freq"), boost))
        return queries


_kept: dict[str, Part] = {}
"""What this process has opened, as long as it is current: a server opens the store anew for each prompt, and an index
takes .5 ms. Threads share it: what is in it is only read."""


class LexicalIndex:
    """The indexes of one store's projects, opened for reading; writers are taken only while catching up."""

    title = "search index"

    def __init__(self, folder: str, mark_of: MarkOf) -> None:
        self.folder, self.mark_of = os.path.join(folder, f"lexical-{FORMAT}"), mark_of
        self._stamp: tuple[int, int, str] | None = None
        self._is_stamp_known = False
        self._opened: dict[str, Part | None] = {}

    @cached_property
    def _analyzer(self) -> tantivy.TextAnalyzer:
        """Made when the first question, or the first row, comes."""
        return analyzer()

    def path_of(self, generation: str, project_id: int, name: str) -> str:
        """The folder of one of a project's two indexes."""
        return os.path.join(self.folder, generation, str(project_id), name)

    def open(self, path: str) -> tantivy.Index | None:
        """The index of a folder, or None when it is not there."""
        if not os.path.exists(os.path.join(path, META)):
            return None
        require_safe(path)
        index = _open_anywhere(path)
        if index.schema != _schema_of(path):
            raise ValueError("its fields are not as they were written")
        return self._ready(index)

    def make(self, path: str) -> tantivy.Index:
        """The index of a folder, which is made when it is not there."""
        found = self.open(path)
        if found is None:
            project = os.path.dirname(path)
            make_folders(os.path.dirname(self.folder), self.folder, os.path.dirname(project), project, path)
            found = self._ready(tantivy.Index(_schema_of(path), path=path))
        return found

    def _ready(self, index: tantivy.Index) -> tantivy.Index:
        index.register_tokenizer(WORDS, self._analyzer)
        names = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.lowercase())
        index.register_tokenizer(NAME_WORDS, names.build())
        return index

    def _parts(self, name: str, scope: Scope | None) -> list[Part]:
        """What a scope's words are in: an index, or every project's."""
        if self.stamp is None:
            return []
        if scope is None or scope.is_everything:
            projects = self._projects()
        else:
            projects = [] if scope.project_id is None else [scope.project_id]
        parts = (self._part(self.path_of(self.stamp[2], project_id, name)) for project_id in projects)
        return [part for part in parts if part is not None]

    def _projects(self) -> list[int]:
        """The projects that have an index."""
        try:
            names = os.listdir(os.path.join(self.folder, self.stamp[2] if self.stamp else ""))
        except FileNotFoundError:
            return []
        return sorted(int(name) for name in names if name.isdecimal())

    def _part(self, path: str) -> Part | None:
        if path not in self._opened:
            while len(self._opened) >= MAX_OPEN_PARTS:
                del self._opened[next(iter(self._opened))]
            kept = _kept.get(path)
            self._opened[path] = kept if kept is not None and kept.is_current else self._read(path)
        return self._opened[path]

    def _read(self, path: str) -> Part | None:
        version = version_of(path)
        index = self.open(path)
        if index is None or version is None:
            return None
        if len(_kept) >= MAX_KEPT_PARTS:
            _kept.clear()
        _kept[path] = found = Part(path, index, version)
        return found

    @property
    def folders(self) -> list[str]:
        """Where Tantivy's files are."""
        generation = self.stamp[2] if self.stamp else ""
        return [self.path_of(generation, project_id, name) for project_id in self._projects() for name in SCHEMAS]

    @property
    def stamp(self) -> tuple[int, int, str] | None:
        """What `read_stamp` found at the last refresh; None where nothing is there of the rows at hand."""
        if not self._is_stamp_known:
            self._stamp, self._is_stamp_known = read_stamp(self.folder, self.mark_of), True
        return self._stamp

    def give_up(self) -> None:
        """The files are not what they should be: nobody finds anything by them until they are made anew."""
        if read_stamp(self.folder, self.mark_of) == self.stamp:  # else they were
            give_up(self.folder)
        self._opened.clear()
        _kept.clear()
        self._stamp = None

    @guarded
    def refresh(self) -> None:
        """Lets the next search see what was committed since."""
        if not self._is_stamp_known:  # nobody has asked anything yet
            return
        before, self._is_stamp_known = self.stamp, False
        if self.stamp != before:
            self._opened = {path: part for path, part in self._opened.items() if part is not None and part.is_current}

    def analyze(self, text: str) -> list[str]:
        """The terms of a question, each once, in order: stemmed, stop words out, identifiers also in parts."""
        return list(dict.fromkeys(self._analyzer.analyze(with_extra_terms(text))))

    @guarded
    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        """What each term is worth among a scope's windows and exchanges (None: all), and which were ever used there."""
        found = Weights()
        for name, values in ((EVENTS, found.windows), (EXCHANGES, found.exchanges)):
            parts = self._parts(name, scope)
            total = found.totals[name] = sum(part.total for part in parts)
            for term, frequency in _frequencies(parts, SCHEMAS[name][0], terms).items():
                values[term] = bm25.weight(frequency, total, is_generic=term in _generic())
                found.known |= {term} if frequency else set()
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
        parts = self._parts(name, wanted.scope) if weights else []
        found = [hit for part in parts for hit in _hits(part, name, what, weights, wanted, limit, required)]
        return sorted(found, key=lambda hit: -hit.score)[:limit] if len(parts) > 1 else found

    @guarded
    def name_frequencies(self, names: Sequence[str], scope: Scope) -> tuple[int, dict[str, int]]:
        """How many events a scope has, and how many of them mention each name."""
        parts = self._parts("events", scope)
        return sum(part.searcher.num_docs for part in parts), _frequencies(parts, "names", names)

    @guarded
    def similar_terms(self, term: str, scope: Scope, limit: int = 8) -> list[tuple[str, int]]:
        """Known terms that begin with an unknown one, most frequent first, or else the longest that it begins with.

        The latter is what a slip in an ending leaves of a stem: `migraton` begins with `migrat`.
        """
        parts = self._parts("exchanges", scope)
        found: dict[str, int] = {}
        for part in parts:
            for near, frequency in part.searcher.terms_with_prefix("said", term, limit=limit):
                found[near] = found.get(near, 0) + frequency
        if found:
            return sorted(found.items(), key=lambda item: -item[1])[:limit]
        shortest = max(MIN_STEM_CHARS, len(term) - MAX_ENDING_CHARS)
        shorter = [term[:end] for end in range(len(term) - 1, shortest - 1, -1)]
        known = (item for item in _frequencies(parts, "said", shorter).items() if item[1])
        return list(known)[:1]


@cache
def _generic() -> frozenset[str]:
    """Terms of words that weigh little; a server asks for them with every prompt."""
    return frozenset(analyzer().analyze(" ".join(sorted(GENERIC_WORDS))))


def _frequencies(parts: Sequence[Part], field: str, terms: Sequence[str]) -> dict[str, int]:
    """How many documents hold each term."""
    return {term: sum(part.searcher.doc_freq(field, term) for part in parts) for term in terms}


def _hits(
    part: Part,
    name: str,
    what: Search,
    weights: Mapping[str, float],
    wanted: Filter,
    limit: int,
    required: Sequence[Sequence[str]],
) -> list[Hit]:
    """The best hits of one project."""
    must, queries = within(part.schema, wanted), _queries(part, what, weights)
    kinds = of_kinds(part.schema, wanted) if name == EVENTS else []
    if not queries or must is None or kinds is None:
        return []
    must += kinds + all_of(part.schema, ("text",) if name == EVENTS else ("said", "did"), required)
    any_of = Query.boolean_query([(Occur.Should, query) for query in queries])
    query = Query.boolean_query([*must, (Occur.Must, any_of)]) if must else any_of
    found = part.searcher.search(query, limit, count=False).hits
    places = [place for _, place in found]
    # An exchange stands for its prompt: its last row may be another project's.
    fields = _HIT_FIELDS if name == EVENTS else ("exchange", *_HIT_FIELDS[1:])
    columns = (part.searcher.fast_field_values(field, places) for field in fields)
    return list(map(Hit, *columns, (score for score, _ in found)))


def _queries(part: Part, what: Search, weights: Mapping[str, float]) -> list[Query]:
    if what == FUZZY:  # each word that is found scores its weight
        return [
            Query.boost_query(Query.fuzzy_term_query(part.schema, "text", term, distance=1), weight)
            for term, weight in weights.items()
        ]
    if what == HOLDING:
        return [_held(part.schema, term, weight) for term, weight in weights.items()]
    if what == EXCHANGES:
        return part.weighted("said", weights) + part.weighted("did", weights, DID_BOOST)
    return part.weighted("names" if what == NAMES else "text", weights)


def _held(schema: tantivy.Schema, term: str, weight: float) -> Query:
    """A term of an exchange, said or done: its weight, however often it stands there."""
    fields = [(Occur.Should, Query.term_query(schema, field, term, "basic")) for field in SCHEMAS[EXCHANGES]]
    return Query.const_score_query(Query.boolean_query(fields), weight)


def version_of(path: str) -> tuple[int, int] | None:
    """What changes with every commit of an index; None where there is none."""
    try:
        state = os.stat(os.path.join(path, META))
    except OSError:
        return None
    return state.st_ino, state.st_mtime_ns


def _open_anywhere(path: str) -> tantivy.Index:
    """An index that is there; one in a folder that cannot be written as it is now."""
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
