"""How words become terms, in every index; a memory's are asked for by the database, whose triggers write them.

Questions have the same ones. Where they become others (another stemmer, say), a migration writes all anew.
"""

from __future__ import annotations

import json

import apsw

from howcome.domain.candidates import without_frame
from howcome.domain.text import STOP_WORDS, with_extra_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    import tantivy

NAME = "memory_terms"
ALL = ""
"""Stands for all terms of a memory; no term of a text is empty."""


def analyzer() -> tantivy.TextAnalyzer:
    """How words become terms, in every index: lower case, no stop words, stemmed."""
    import tantivy  # dear, and most connections write no memory

    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
    for step in (
        tantivy.Filter.remove_long(60),
        tantivy.Filter.lowercase(),
        tantivy.Filter.custom_stopword(sorted(STOP_WORDS)),
        tantivy.Filter.stemmer("english"),
    ):
        builder = builder.filter(step)
    return builder.build()


class MemoryTerms:
    """The function of one connection; what splits texts is made when the first memory is written."""

    def __init__(self) -> None:
        self._analyzer: tantivy.TextAnalyzer | None = None

    def __call__(self, text: bytes) -> str:
        """{term: [how often it is in the text, how many terms that has]} as JSON; {} for a text without any."""
        if self._analyzer is None:
            self._analyzer = analyzer()
        said = without_frame(text.decode("utf-8", "replace"))
        terms = self._analyzer.analyze(with_extra_terms(said))
        counts: dict[str, int] = {ALL: len(terms)} if terms else {}
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
        return json.dumps({term: [count, len(terms)] for term, count in counts.items()}, ensure_ascii=False)


def offer_terms(connection: apsw.Connection) -> None:
    """Lets a connection write memories. The function reads and changes nothing, whatever schema names it."""
    terms = MemoryTerms()
    connection.create_scalar_function(NAME, terms, 1, deterministic=True, flags=apsw.SQLITE_INNOCUOUS)  # type: ignore[arg-type]
