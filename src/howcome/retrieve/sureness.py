"""Whether anything answers a question at all: a question that nothing answers finds nothing."""

from __future__ import annotations

from howcome.domain.answering import TELLING_TERMS
from howcome.domain.candidates import without_frame
from howcome.domain.query import spans_in
from howcome.domain.text import is_one_edit
from howcome.retrieve.situation import MAX_EMBEDDED_CHARS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.stored import Found
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store, Vectors

LEAST_SHARE, LEAST_TIMED_SHARE = 0.45, 0.3
"""How much of the weight of a question's telling terms one exchange, or one memory, has to hold. Of 80 questions that
have an answer 77 reach .45, of 80 that have none 6; one that names a time says less by its words (docs/evaluation.md,
"Rows")."""

LEAST_MEANING = 0.45
"""Or how far the nearest turn's cosine has to stand above what this question's cosines are as a rule (MiniLM: 72 of the
80, and 1 of the others)."""

LEAST_STRENGTH = 0.12
"""Or how strong one row has to be, on the scale that prompts go by (`recall.rules`). By this 1 in 8 more questions of
`samples/asked` passes, and 1 in 47 of another project's (docs/evaluation.md, "Sure and near")."""

NEAR_STRENGTH, NEAR_ROWS = 0.08, 3
"""From here on a row may be shown as near: so are four in five of the right rows that are not sure, and a third of the
questions of other projects have one."""

FEW_TERMS, MIN_SLIP_CHARS = 2, 5
"""In so short a question a word that nobody wrote counts as the one that it may be a slip of. One small word more, of
less than SMALL_SHARE of the heaviest's weight, makes it no longer: "reids vs kafka"."""

SMALL_SHARE = 0.5


def telling_terms(situation: Situation) -> dict[str, float]:
    """The heaviest terms of a question, with their weights."""
    weights = ((term, situation.weights.windows[term]) for term in situation.terms)
    return dict(sorted(weights, key=lambda one: -one[1])[:TELLING_TERMS])


def held_by_one(store: Store, situation: Situation, telling: Mapping[str, float]) -> float:
    """The most of the weight of some terms that one exchange holds."""
    held = store.index.search("holding", telling, situation.wanted, 1)
    return held[0].score if held else 0.0


def is_answered(
    store: Store, situation: Situation, found: Sequence[Found], vectors: Vectors | None, now_ms: int
) -> bool:
    """Whether what was found is about the question, by its words or, where there are vectors, by what it means.

    What is written without blanks is asked by pairs of letters, most of which stand in no answer: it is not judged.
    """
    telling = telling_terms(situation)
    if 2 * sum(map(str.isascii, telling)) < len(telling):
        return True
    is_timed = bool(spans_in(situation.text, now_ms, is_asked=True))
    least = (LEAST_TIMED_SHARE if is_timed else LEAST_SHARE) * sum(telling.values())
    counted = list(telling.values())  # the heaviest first
    if len(counted) == FEW_TERMS + 1 and counted[-1] < SMALL_SHARE * counted[0]:
        counted.pop()
    is_short = len(counted) <= FEW_TERMS
    if is_short:  # one word of two is what a person remembers
        least = min([least, *counted])
    if any(item.strength >= LEAST_STRENGTH for item in found) or held_by_one(store, situation, telling) >= least:
        return True
    unknown = [term for term in telling if term not in situation.weights.known and len(term) >= MIN_SLIP_CHARS]
    unknown = unknown if is_short else []
    if any(_held(store.index.analyze(_text(item)), telling, unknown) >= least for item in found):
        return True
    asked = situation.asked[:MAX_EMBEDDED_CHARS]
    return vectors is not None and vectors.nearest(asked, situation.wanted) >= LEAST_MEANING


def nearest(found: Sequence[Found]) -> list[Found]:
    """Of what answers nothing for sure the best rows, marked, if they are near at all."""
    near = [item for item in found if item.strength >= NEAR_STRENGTH]
    for item in near:
        item.is_near = True
    return sorted(near, key=lambda item: -item.score)[:NEAR_ROWS]


def _text(item: Found) -> str:
    """What an answer says: a memory, what a tool printed, a turn. No exchange may hold it."""
    if item.memory is not None:
        return without_frame(item.memory.text)
    return f"{item.passage}\n{item.event.excerpt}" if item.event is not None else item.passage


def _held(terms: Iterable[str], telling: Mapping[str, float], unknown: Iterable[str]) -> float:
    """The weight of the question's terms that a text has, and of those that were slips, or beginnings, of its words."""
    said = set(terms)
    slips = (term for term in unknown if any(_is_meant(term, other) for other in said if other[:1] == term[:1]))
    return sum(telling[term] for term in {*(said & telling.keys()), *slips})


def _is_meant(term: str, other: str) -> bool:
    return other.startswith(term) or term[: max(MIN_SLIP_CHARS, len(other))] == other or is_one_edit(term, other)
