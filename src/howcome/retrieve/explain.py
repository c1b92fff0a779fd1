"""Why an answer is there: what each tier gave it, what changed its score afterwards, and which words met. Read-only.

Found out afterwards, from what is stored, for the few answers that are shown: a search itself pays nothing for it.
"""

from __future__ import annotations

import re

from howcome.domain import events
from howcome.domain.explanation import BEFORE, EXCHANGE, HERE, Explanation, TermMatch
from howcome.domain.text import is_one_edit
from howcome.retrieve import reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.stored import Found, StoredEvent
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store

WINDOW_TURNS = 2
MAX_TEXT_CHARS = 8000
MAX_EXCHANGE_EVENTS = 200
MAX_SIMILAR = 4
MIN_WIDENED_CHARS = 5
_WORD = re.compile(r"\w+(?:['./-]\w+)*")


def explain(store: Store, situation: Situation, found: Iterable[Found], weights: Mapping[str, float]) -> None:
    """Gives every answer its explanation."""
    words = _words_of_terms(store, situation.text)
    similar = {
        term: [near for near, _ in store.index.similar_terms(term, situation.wanted.scope, MAX_SIMILAR)]
        for term in situation.terms
        if term not in situation.weights.known and len(term) >= MIN_WIDENED_CHARS
    }
    ordered = sorted(situation.terms, key=lambda term: -situation.weights.windows[term])
    for item in found:
        places = _terms_by_place(store, item)
        matches = []
        for term in ordered:
            standing = [place for place, terms in places.items() if term in terms]
            widened = _widened(term, similar[term], places) if term in similar and not standing else []
            weight = situation.weights.windows[term]
            matches.append(TermMatch(term, words.get(term, term), weight, tuple(standing), widened))
        tiers = {name: (score, weights.get(name, 1.0)) for name, score in item.tiers.items()}
        item.explanation = Explanation(item.score, tiers, item.adjustments, item.strength, matches)


def _words_of_terms(store: Store, text: str) -> dict[str, str]:
    """The question's own words by the terms they become."""
    words: dict[str, str] = {}
    for word in _WORD.findall(text):
        for term in store.index.analyze(word):
            words.setdefault(term, word)
    return words


def _terms_by_place(store: Store, item: Found) -> dict[str, set[str]]:
    """The terms that stand in an answer, around it, and in what came of it."""
    if item.event is None:
        return {HERE: set(store.index.analyze(item.memory.text))} if item.memory is not None else {}
    told, place = reading.session_of(store, item.event)
    turns = [event for event in told[:place] if event.kind in events.TURN_KINDS][-WINDOW_TURNS:]
    exchange = reading.exchange_around(told, place)[:MAX_EXCHANGE_EVENTS]
    return {
        HERE: _terms(store, [item.event]),
        BEFORE: _terms(store, turns),
        EXCHANGE: _terms(store, [event for event in exchange if event.row != item.event.row]),
    }


def _terms(store: Store, told: Sequence[StoredEvent]) -> set[str]:
    whole = reading.with_texts(store, told) if told else []
    texts = [(event.text or event.excerpt)[:MAX_TEXT_CHARS] for event in whole]
    files = [event.file for event in whole if event.file]
    return set(store.index.analyze("\n".join(texts + files)))


def _widened(term: str, similar: Sequence[str], places: Mapping[str, set[str]]) -> list[str]:
    """What an unknown term was widened to of what stands there: words that begin alike, or are one slip away."""
    standing = set().union(*places.values())
    return [near for near in similar if near in standing] or sorted(
        other for other in standing if is_one_edit(term, other)
    )[:MAX_SIMILAR]
