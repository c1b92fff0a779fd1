"""How telling a word is in one project: of how many of its documents, not of how many of all."""

from __future__ import annotations

from tantivy import Occur, Query

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import tantivy

    from howcome.domain.stored import Scope

PRIOR_DOCUMENTS = 200
"""A project is counted as if it also held so many documents that are like the whole store: while it is young, most of
its words are said there for the first time. (0, 100 and 1,000 rank alike in a store of six projects.)"""

COUNTED_DOCUMENTS = 5_000
"""Counting costs some 10 ns a document of the rarer one, of the word and of the project. Where both are more, the word
is taken to be as frequent there as everywhere: so large a project is most of what "everywhere" is."""


class ScopeCounts:
    """Document frequencies of terms in one field, within a scope; counted once each.

    A word that half of one project's documents hold may be rare in the store, and the other way round: with frequencies
    of the whole store a Go project's nDCG@10 is 2.4 points lower in a store of six projects than in one of its own,
    with these 1.8, a TypeScript project's 2.4 and 1.4, LoCoMo's turns 1.5 and 0 (docs/evaluation.md).
    """

    def __init__(
        self, schema: tantivy.Schema, searcher: tantivy.Searcher, field: str, documents: int, scope: Scope | None
    ) -> None:
        """Counts the scope's documents."""
        self._schema, self._searcher, self._field, self._documents = schema, searcher, field, documents
        self._project_id = None if scope is None or scope.is_everything else scope.project_id or 0
        self._counts: dict[str, int] = {}
        self.total = documents
        if self._project_id is not None:
            self.total = min(documents, searcher.doc_freq("project", self._project_id))

    def is_of(self, scope: Scope | None) -> bool:
        """Whether these are a scope's counts."""
        asked = None if scope is None or scope.is_everything else scope.project_id or 0
        return asked == self._project_id

    def holding(self, term: str) -> int:
        """How many documents of the scope hold a term."""
        found = self._counts.get(term)
        if found is None:
            found = self._counts[term] = self._count(term)
        return found

    def frequency(self, term: str) -> float:
        """The same with the store's say in it, for a scope of `total` documents."""
        if self.total in {0, self._documents}:
            return self.holding(term)
        imagined = PRIOR_DOCUMENTS * self._searcher.doc_freq(self._field, term) / self._documents
        return (self.holding(term) + imagined) * self.total / (self.total + PRIOR_DOCUMENTS)

    def _count(self, term: str) -> int:
        everywhere = self._searcher.doc_freq(self._field, term)
        if not everywhere or self.total in {0, self._documents}:
            return everywhere if self.total else 0
        if min(everywhere, self.total) > COUNTED_DOCUMENTS:
            return everywhere * self.total // self._documents
        both = [
            Query.const_score_query(Query.term_query(self._schema, field, value, "basic"), 0.0)
            for field, value in (("project", self._project_id), (self._field, term))
        ]
        query = Query.boolean_query([(Occur.Must, each) for each in both])
        found: Any = self._searcher.search(query, 1, count=True)  # its stubs do not know `count`
        return int(found.count)
