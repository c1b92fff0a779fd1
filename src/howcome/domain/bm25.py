"""The arithmetic of BM25, with one change: a few hundred imagined documents keep it sane while a store is small.

With ten documents every word is "rare", and a question about anything finds something. So each word is weighed as if
the store also held VIRTUAL_DOCUMENTS others, in which generic words (fix, test, commit …) are common, others not.
Large stores do not notice; in a store of three sessions it takes the share of unrelated prompts that get an answer
from 1 in 5 to none, at the same share of answered questions (docs/evaluation.md).

The weights of words in documents, and of fields in queries, are part of the ranking, whatever index holds them.
"""

from __future__ import annotations

from math import log

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SATURATION = 2.2
"""k1 + 1: what a term scores at most, in its weight (k1 = 1.2 is fixed in Tantivy)."""

LENGTH_SHARE = 0.75
"""b: how much of a document's length counts (fixed in Tantivy, too)."""

VIRTUAL_DOCUMENTS = 300
GENERIC_SHARE = 0.1
SMOOTHING_TERMS = 4
"""A question is scored as if it had this many more, unknown, terms: two words can never be certain."""

OWN_WEIGHT = 2
"""A turn's own words count twice, the words before it once."""

TURNS_BEFORE = 2
NEAR_CHARS = 400
"""How much of each turn before it stands in a turn's document."""

EVENT_CHARS = 2000
"""How much of a call or a result is searched."""

SAID_WEIGHT = 3
SAID_CLIP = 2
"""A word of an exchange counts at most twice, at weight 3; a word of the exchange before it counts 1."""

DID_BOOST = 0.3
"""What was done counts .3 of what was said: without it nDCG@10 falls by 1.8 points (docs/evaluation.md)."""

MEMORY_WEIGHT = 3
"""A memory's words count three times: it is short, and as dense as what an exchange is about."""


def idf(frequency: float, total: float) -> float:
    """How telling a term is that `frequency` of `total` documents hold (Lucene's form: never negative)."""
    return log(1 + (total - frequency + 0.5) / (frequency + 0.5))


def weight(frequency: float, total: int, *, is_generic: bool) -> float:
    """A term's weight among the real and the imagined documents."""
    imagined = VIRTUAL_DOCUMENTS * GENERIC_SHARE if is_generic else 0.5
    return idf(min(frequency, total) + imagined, total + VIRTUAL_DOCUMENTS)


def full_score(weights: Iterable[float], total: int) -> float:
    """What a document would score that holds every term often, and some more that the question did not name."""
    return SATURATION * (sum(weights) + SMOOTHING_TERMS * weight(0, total, is_generic=False))
