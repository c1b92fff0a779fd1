"""The memories' own small lexical index: one document a memory, replaced when the memory changes.

What is no longer live keeps an empty document, so that the highest change number in the index says how far it is. Term
weights come from the events (`SearchIndex.weigh`): memories alone are too few to tell rare words from common ones.
"""

from __future__ import annotations

import os
import time

import tantivy
from tantivy import Occur, Query

from howcome.domain import events, memories
from howcome.domain.memories import MemoryHit
from howcome.domain.term_weights import MEMORY_WEIGHT
from howcome.domain.text import with_extra_terms
from howcome.store.binding import guarded, is_lock_busy
from howcome.store.faults import require_memory
from howcome.store.index_files import META, living_segments, make_folders, sweep, take_away
from howcome.store.lexical import WORDS, analyzer, open_index, weighted
from howcome.store.lexical_filter import all_of, time_range
from howcome.store.stamp import give_up, is_stamped, write_stamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from howcome.domain.stored import Filter
    from howcome.store.stamp import MarkOf

FORMAT = 1
HEAP_BYTES = 15_000_000
"""The least that Tantivy takes."""

ROWS_A_STEP = 2000
_TYPES = {name: number for number, name in enumerate(memories.TYPES)}


class MemoryDocument:
    """What the index needs of one memory; `project_id` 0: it holds everywhere."""

    row: int
    change: int
    type: str
    text: str
    project_id: int
    agent: str
    origin: int
    created_ms: int
    is_live: int

    def __init__(self, columns: Sequence[object]) -> None:
        self.row, self.change, self.type, self.text, self.project_id = columns[:5]  # type: ignore[assignment]
        self.agent, self.origin, self.created_ms, self.is_live = columns[5:]  # type: ignore[assignment]


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    for name in ("row", "change", "project", "ts"):
        builder.add_unsigned_field(name, fast=True, indexed=True)
    for name in ("kind", "origin"):
        builder.add_unsigned_field(name, indexed=True)
    for name in ("key", "agent"):
        builder.add_text_field(name, tokenizer_name="raw", index_option="basic")
    builder.add_text_field("text", tokenizer_name=WORDS, index_option="freq")
    return builder.build()


class MemoryIndex:
    """The index of one store's memories."""

    title = "memories' index"

    def __init__(self, folder: str, mark_of: MarkOf) -> None:
        self.folder, self.mark_of = os.path.join(folder, f"memories-{FORMAT}"), mark_of
        self._is_ours: bool | None = None
        self._opened: tuple[tantivy.Index, tantivy.Schema, tantivy.Searcher] | None = None

    @property
    def writable_folder(self) -> str:
        """The folder that must be writable for the index to be: its own, or the nearest one that is there."""
        folder = self.folder
        while not os.path.isdir(folder) and folder != os.path.dirname(folder):
            folder = os.path.dirname(folder)
        return folder

    @property
    def folders(self) -> list[str]:
        """Where Tantivy's files are."""
        return [self.folder]

    @property
    def is_ours(self) -> bool:
        """Whether the files are of the rows at hand, as was found at the last refresh."""
        if self._is_ours is None:
            self._is_ours = is_stamped(self.folder, self.mark_of)
        return self._is_ours

    @property
    def is_foreign(self) -> bool:
        """Whether there are files, but none of the rows at hand."""
        return not self.is_ours and os.path.exists(os.path.join(self.folder, META))

    def give_up(self) -> None:
        """The files are not what they should be: nobody finds anything by them until they are made anew."""
        give_up(self.folder)
        self._opened, self._is_ours = None, False

    def _searcher(self) -> tuple[tantivy.Schema, tantivy.Searcher] | None:
        if self._opened is None:
            if not self.is_ours or not os.path.exists(os.path.join(self.folder, META)):
                return None
            index = self._registered(open_index(self.folder, _schema()))
            self._opened = (index, index.schema, index.searcher())
        return self._opened[1], self._opened[2]

    def _registered(self, index: tantivy.Index) -> tantivy.Index:
        index.register_tokenizer(WORDS, analyzer())
        return index

    @guarded
    def refresh(self) -> None:
        """Lets the next search see what was committed since."""
        self._is_ours = None
        if not self.is_ours:
            self._opened = None
        if self._opened is not None:
            index, schema, _ = self._opened
            try:
                index.reload()
                self._opened = (index, schema, index.searcher())
            except ValueError:  # its files were taken away (it was built anew): open it again
                self._opened = None

    @guarded
    def last_change(self) -> int:
        """The change number up to which memories are in the index."""
        opened = self._searcher()
        if opened is None:
            return 0
        found = opened[1].search(Query.all_query(), 1, count=False, order_by_field="change").hits
        return int(found[0][0]) if found else 0

    @guarded
    def size(self) -> int:
        """How many memories are in the index, one document each, live or not."""
        opened = self._searcher()
        return int(opened[1].num_docs) if opened else 0

    @guarded
    def search(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[MemoryHit]:
        """Live memories that hold the terms (and of each required group all), best first."""
        opened = self._searcher()
        if opened is None or not weights:
            return []
        schema, searcher = opened
        terms = weighted(opened, "text", weights, 1.0)
        restrictions = _restrictions(schema, wanted)
        if not terms or restrictions is None:
            return []
        parts = [*restrictions, (Occur.Must, Query.boolean_query([(Occur.Should, term) for term in terms]))]
        parts += all_of(schema, ("text",), required)
        found = searcher.search(Query.boolean_query(parts), limit, count=False).hits
        rows = searcher.fast_field_values("row", [place for _, place in found])
        return [MemoryHit(int(row or 0), float(score)) for (score, _), row in zip(found, rows, strict=True)]

    @guarded
    def catch_up(
        self, documents_after: Callable[[int, int], list[MemoryDocument]], wait_s: float, *, anew: bool = False
    ) -> bool:
        """Adds what was written since; False when another process is at it for longer than `wait_s`.

        Args:
            documents_after: The memories that were written after a change number, so many at once.
            wait_s: How long another writer is waited for.
            anew: Everything is written anew: of what is gone from the rows nothing is left in its files.

        Raises:
            IndexDamagedError: the index cannot be read or written.
        """
        writer = self._writer(wait_s)
        if writer is None:
            return False
        sweep(self.folder)
        self.refresh()
        if not self.is_ours and living_segments(self.folder):  # of other rows: gone before a new stamp is made
            writer.delete_all_documents()
            writer.commit()
        last = 0 if anew else self.last_change()
        if anew:
            writer.delete_all_documents()
        while documents := documents_after(last, ROWS_A_STEP):
            for document in documents:
                writer.delete_documents_by_term("key", str(document.row))
                writer.add_document(_document(document))
            last = documents[-1].change
        write_stamp(self.folder, last, self.mark_of)
        if anew:
            writer.commit()
            writer.garbage_collect_files()
        writer.commit()
        writer.wait_merging_threads()  # gives the lock back
        self.refresh()
        return True

    def drop(self) -> None:
        """Takes an index away that cannot be read: everything in it comes from the rows."""
        self._opened = None
        take_away(self.folder)

    def _writer(self, wait_s: float) -> tantivy.IndexWriter | None:
        require_memory()
        deadline = time.monotonic() + wait_s
        while True:
            try:
                if os.path.exists(os.path.join(self.folder, META)):
                    index = self._registered(open_index(self.folder, _schema()))
                else:
                    make_folders(os.path.dirname(self.folder), self.folder)
                    index = self._registered(tantivy.Index(_schema(), path=self.folder))
                return index.writer(HEAP_BYTES, 1)
            except PermissionError:  # the memory is kept; `howcome doctor` tells of its index
                return None
            except ValueError as error:
                if not is_lock_busy(error):
                    raise
                if time.monotonic() > deadline:
                    return None
                time.sleep(0.01)


def _document(memory: MemoryDocument) -> tantivy.Document:
    document = tantivy.Document()
    document.add_text("key", str(memory.row))
    document.add_unsigned("row", memory.row)
    document.add_unsigned("change", memory.change)
    document.add_unsigned("project", memory.project_id)
    document.add_unsigned("ts", max(0, memory.created_ms))
    document.add_unsigned("kind", _TYPES.get(memory.type, len(_TYPES)))
    document.add_unsigned("origin", memory.origin)
    document.add_text("agent", memory.agent if memory.is_live else "")
    document.add_text("text", " ".join([with_extra_terms(memory.text)] * MEMORY_WEIGHT) if memory.is_live else "")
    return document


def _restrictions(schema: tantivy.Schema, wanted: Filter) -> list[tuple[Occur, Query]] | None:
    """What a memory must be; None when none can be. Sessions and kinds of events are not asked of memories."""
    found: list[tuple[Occur, Query]] = []

    def must(query: Query) -> None:
        found.append((Occur.Must, Query.const_score_query(query, 0.0)))

    if not wanted.scope.is_everything:
        own = [wanted.scope.project_id] if wanted.scope.project_id is not None else []
        must(Query.term_set_query(schema, "project", [0, *own]))
    if wanted.is_never:
        return None
    found += time_range(schema, wanted)
    if wanted.memory_types is not None:
        must(Query.term_set_query(schema, "kind", [_TYPES[name] for name in wanted.memory_types]))
    if wanted.origins is not None:
        must(Query.term_set_query(schema, "origin", [events.ORIGINS.index(name) for name in wanted.origins]))
    if wanted.agent is not None:
        must(Query.term_query(schema, "agent", wanted.agent, "basic"))
    return found
