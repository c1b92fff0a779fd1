"""What was settled in an exchange and those around it: long sentences from the middle of what was said.

A question shares its words with where something came up. The answer often stands an exchange or two further on.
"""

from __future__ import annotations

import re
from itertools import pairwise
from math import log1p

from howcome.domain import words
from howcome.domain.answering import QUESTION_MARKS, passing, share_of
from howcome.domain.events import PUSHED_ORIGINS, USER_PROMPT
from howcome.domain.text import coined_names
from howcome.retrieve.situation import Candidate, Ranked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from howcome.domain.sentences import Sentence
    from howcome.domain.stored import Filter, StoredEvent
    from howcome.store.base import Store

_CLAUSE = re.compile(r"[,.;:!?\n]|\s[-\u2013\u2014]\s")
ANSWERS = 2
"""Of an exchange what was asked and the last things that the agent said are looked through."""

MIN_SHARE = 0.06
"""A sentence that has less of the weight of the prompt's terms is about something else. With twice as much one of four
helping blocks is lost."""

MIN_CHARS = 20
FINAL = 0.15
"""What a sentence gains that is of the agent's last words; `domain/answering` has what others lose. Of 52 exchanges
that readers found helpful the line holds the words that helped in 16, and in 17 with a weight for
names, which is within chance (`benchmarks/gate.py`)."""

MAX_TYPED_CHARS, MAX_READ_CHARS = 1500, 4000
"""What is longer was not typed: a plan or a paste, whose items say nothing by themselves. Of a turn so much is looked
at to tell what it is about."""

AROUND, SHARED_TERMS = 3, 2
"""So many exchanges before and after the one that was found are looked through, too, if they have words of the
question, or so many words of that exchange."""

LONG, FULL_CHARS, FULL_TURN, FULL_TURN_CHARS = 2.5, 140, 3.0, 1500
FIRST, LATE, LAST = 0.5, 0.7, 0.7
"""What a sentence of FULL_CHARS gains, and one of a turn of FULL_TURN_CHARS, by the logarithm; none of a paste does.
What it loses that begins its turn, that stands further on in it, and that is of the last words of its exchange. What
it shares with the question counts from 0 to 1. No weight knows a word of any language. They are from eleven projects
of questions and two real ones, each tried on the one left out; docs/evaluation.md has the figures ("Which sentence").
"""

LEAST_CHARS = 60
"""A line that is shorter, and has neither a name nor a reason, is left out: it never answered."""


SHORT_CHARS, LINE_CHARS = 70, 160
"""A sentence that is no longer stands with the one next to it: "Two motors, always." before its reason."""


class Settled:
    """A sentence of a turn, which is of an exchange; `turns` are those of the exchange that are looked through.

    `before` and `after` are the short sentences next to it in its paragraph, "" where none is.
    """

    __slots__ = ("after", "before", "item", "text", "turn", "turns")

    def __init__(
        self, item: Ranked, turns: list[StoredEvent], turn: StoredEvent, text: str, beside: tuple[str, str] = ("", "")
    ) -> None:
        self.item, self.turns, self.turn, self.text = item, turns, turn, text
        self.before, self.after = beside

    def line(self, is_told: Callable[[str], bool]) -> str:
        """The sentence with the short ones next to it that were not told yet, as far as LINE_CHARS allow."""
        line = self.text
        if self.before and len(self.before) + len(line) < LINE_CHARS and not is_told(self.before):
            line = f"{self.before} {line}"
        if self.after and len(self.after) + len(line) < LINE_CHARS and not is_told(self.after):
            line = f"{line} {self.after}"
        return line


class Surroundings:
    """Looks for what was settled around exchanges, for a question with such weights of its terms.

    Exchanges that are `wrong` (rows of their prompts, see `MemorySearch.refuted`), or that the user took back later,
    settle nothing.
    """

    def __init__(self, store: Store, weights: Mapping[str, float], wanted: Filter, wrong: Iterable[int] = ()) -> None:
        self._store, self._weights, self._wanted, self._wrong = store, weights, wanted, wrong

    def of(self, item: Ranked, known: AbstractSet[int] = frozenset()) -> Iterator[Settled]:
        """The sentences of an exchange and those around it, those first that settle most.

        None of turns (rows) that are `known`, no questions and heads of lists, and no short ones that name nothing.
        """
        rows, refused = self._around(item.candidate.exchange)
        gone = {*self._store.reviews.overruled(rows, self._wanted.then_ms), *self._wrong}
        places = [item, *(place(row, row) for row in rows if row not in gone)]
        for one in self._ordered(places, known, refused):
            beside = len(one.before) + len(one.after)
            if len(one.text) + beside >= LEAST_CHARS or is_telling(f"{one.before} {one.text} {one.after}"):
                yield one

    def turns(self, item: Ranked) -> list[StoredEvent]:
        """The prompt of an exchange, what was found in it, and the agent's last words, of one project."""
        rows = {item.candidate.row, item.candidate.exchange}
        found = self._store.log.turns(rows)
        event = found.get(item.candidate.row)
        if event is None:
            return []
        found |= {turn.row: turn for turn in self._store.log.answers(item.candidate.exchange, ANSWERS)}
        kept = [turn for turn in found.values() if turn.origin in PUSHED_ORIGINS and turn.project == event.project]
        kept = [turn for turn in kept if not turn.excerpt.startswith("/")]  # typed to the client
        return sorted(kept, key=lambda turn: (turn.order_ms, turn.row))

    def _around(self, exchange: int) -> tuple[list[int], set[int]]:
        """The prompts (rows) around an exchange's; of all these those after which the user refused."""
        near = self._store.sessions.prompts_around(exchange, AROUND + 1)
        prompts = list(self._store.log.events([exchange, *near]).values())
        prompts = [prompt for prompt in prompts if prompt.row == exchange or self._is_in_time(prompt)]
        order = sorted(prompts, key=lambda prompt: (prompt.order_ms, prompt.row))
        refused = {prompt.row for prompt, after in pairwise(order) if _refuses(after.excerpt)}
        rows = [prompt.row for prompt in order]
        found = rows.index(exchange)
        return [row for row in rows[max(0, found - AROUND) : found + AROUND + 1] if row != exchange], refused

    def _ordered(self, places: Sequence[Ranked], known: AbstractSet[int], refused: AbstractSet[int]) -> list[Settled]:
        """The sentences of some exchanges of one project; the first of the exchanges is the one that was found.

        What the agent said before the user refused is left out.
        """
        found: list[tuple[float, Settled]] = []
        here: list[StoredEvent] = []
        for at in places:
            is_here = at is places[0]
            turns = [turn for turn in self.turns(at) if self._is_in_time(turn) and (is_here or not _is_paste(turn))]
            here = turns if is_here else here
            if any(turn.project != here[0].project or turn.row in known for turn in turns if here):
                continue
            if not self._fits(turns, here):
                continue
            told = [turn for turn in turns if turn.kind == USER_PROMPT or at.candidate.exchange not in refused]
            for turn in told:
                last = LAST * (turn is turns[-1])
                for text, beside, part in _placed(turn):
                    found.append((self._worth(turn, text, part) - last, Settled(at, turns, turn, text, beside)))
        return [one for _, one in sorted(found, key=lambda pair: -pair[0])]

    def _worth(self, turn: StoredEvent, text: str, part: float) -> float:
        """How much a sentence settles that begins after such a part of its turn."""
        worth = share_of(text.lower(), self._weights) - FIRST * (not part) - LATE * part
        if _is_paste(turn):
            return worth
        of_turn = log1p(min(turn.text_chars, FULL_TURN_CHARS)) / log1p(FULL_TURN_CHARS)
        return worth + LONG * min(len(text), FULL_CHARS) / FULL_CHARS + FULL_TURN * of_turn

    def _fits(self, turns: Sequence[StoredEvent], here: Sequence[StoredEvent]) -> bool:
        """Whether turns are about the question, or about what was said where it was found."""
        said = " ".join(_read(turn) for turn in turns).lower()
        if share_of(said, self._weights) >= MIN_SHARE:
            return True
        return len(self._terms(turns) & self._terms(here)) >= SHARED_TERMS

    def _terms(self, turns: Sequence[StoredEvent]) -> frozenset[str]:
        """The words of some turns, but for those that say nothing of a subject in their language."""
        return frozenset(self._store.index.analyze(words.telling(" ".join(map(_read, turns)))))

    def _is_in_time(self, turn: StoredEvent) -> bool:
        before_ms, since_ms = self._wanted.before_ms, self._wanted.since_ms
        return (before_ms is None or turn.order_ms < before_ms) and turn.order_ms >= (since_ms or 0)


def by_weight(
    turns: Iterable[StoredEvent], weights: Mapping[str, float], *, with_documents: bool = False
) -> list[tuple[StoredEvent, str]]:
    """The sentences of some turns, those first that say most about the terms of a prompt, with who said them.

    What was handed over (a plan, a paste) is left out, but for who asks about the past: its reasons may stand there.
    """
    turns = [turn for turn in turns if with_documents or not _is_paste(turn)]
    told = []
    for turn in turns:
        final = FINAL * (turn is turns[-1] and turn.kind != USER_PROMPT)
        for text in _said_in(turn):
            said = text.lower()
            if len(text) >= MIN_CHARS:
                told.append((share_of(said, weights) + final - passing(said), turn, text))
    return [(turn, text) for _, turn, text in sorted(told, key=lambda one: -one[0])]


def is_telling(text: str) -> bool:
    """Whether a text names a thing (code, or a name that no language has) or gives a reason.

    Of 25 lines without a name readers found none helpful with a prompt, and half noise; of 78 others 8 and a third.
    """
    return "`" in text or any(coined_names(text)) or words.rest_of(text, "reasons") != " ".join(text.split())


def place(row: int, exchange: int) -> Ranked:
    """A row of an exchange (its prompt's row), of which nothing else is known."""
    return Ranked(Candidate(row, 0, exchange, 0, 0.0), 0.0, {}, 0.0)


def _sentences(turn: StoredEvent) -> list[Sentence]:
    from howcome.domain.sentences import sentences  # its patterns cost a prompt that is told nothing 4 ms

    return list(sentences(turn.text or turn.excerpt, is_typed=turn.kind == USER_PROMPT))


def _said_in(turn: StoredEvent) -> list[str]:
    """The sentences of a turn, each with its label."""
    return [one.labelled for one in _sentences(turn)]


def _placed(turn: StoredEvent) -> list[tuple[str, tuple[str, str], float]]:
    """The sentences of a turn, each with the short ones next to it, and the part of them that stands before it.

    Questions, heads of lists and scraps are left out.
    """
    told = _sentences(turn)
    kept = []
    for place, one in enumerate(told):
        text = one.labelled
        if len(text) >= MIN_CHARS and not _leads_on(text):
            beside = _beside(told[:place][-1:], one), _beside(told[place + 1 :][:1], one)
            kept.append((text, beside, place / len(told)))
    return kept


def _beside(others: Sequence[Sentence], one: Sentence) -> str:
    """The sentence before or after another, where it is short and in the same paragraph; ""."""
    for other in others:
        text, is_next = other.labelled, other.block == one.block and other.kind == one.kind == "text"
        if is_next and len(text) <= SHORT_CHARS and not _leads_on(text):
            return text
    return ""


def _leads_on(text: str) -> bool:
    """Whether a sentence asks, or heads a list."""
    return text.endswith(":") or any(map(text.__contains__, QUESTION_MARKS))


def _read(turn: StoredEvent) -> str:
    return (turn.text or turn.excerpt)[:MAX_READ_CHARS]


def _is_paste(turn: StoredEvent) -> bool:
    return turn.kind == USER_PROMPT and turn.text_chars > MAX_TYPED_CHARS


def _refuses(prompt: str) -> bool:
    """Whether a prompt's first clause is a "no" and nothing else: "no, …", "forget it", but not "no tests for this"."""
    clause = _CLAUSE.split(prompt, maxsplit=1)[0]
    rest = words.rest_of(clause, "rejects", "undoes")
    return (_rejects(f"{clause}.") and not any(map(str.isalnum, rest))) or words.opens(prompt, "undoes")


def _rejects(prompt: str) -> bool:
    """Whether a prompt begins with a "no" that is none to "no problem, go on"."""
    return words.opens(prompt, "rejects") and not words.opens(prompt, "concedes")
