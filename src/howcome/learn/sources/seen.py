"""An exchange with its neighbours, as every source looks at it; what it proposes; what tells lasting sentences."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

from howcome.domain import candidates, events, words
from howcome.domain.candidates import Candidate
from howcome.domain.events import squeeze
from howcome.domain.sentences import without_markdown
from howcome.domain.stored import StoredEvent
from howcome.domain.text import STOP_WORDS
from howcome.learn import anchors
from howcome.learn.actions import Action
from howcome.learn.base import LOOKAHEAD, Exchange
from howcome.learn.scene import Said, Scene, scene_of

MIN_LASTING_CHARS = 25
STEM_CHARS = 6
MAX_NAMES = 4
MAX_FOLDED_CHARS = 1000
"""Of a text that is put on one line so much more than fits is looked at: the rest is cut anyway."""

TAKEN_BACK_WITHIN = 2
"""Exchanges after one in which the agent may take back what it said."""

MAX_RETRACTION_CHARS, SHARED_STEMS = 700, 2
"""What begins a text that takes something back, and shares so many telling words with it, takes it back."""

RUN = 5
"""So many words in a row are hardly chance."""

MAX_PLACES = 400
"""Of a word in one text so many places are looked at."""

SHARE = 0.7
"""So much of a sentence in such runs is the sentence of whoever said it first; less is a quote within one's own."""

_SIGNS = r"\u3040-\u30ff\u3400-\u9fff"
_WORD = re.compile(rf"[{_SIGNS}]|[^\W{_SIGNS}]+")
_COUNTED = re.compile(rf"[{_SIGNS}]{{1,2}}|[^\W\d_{_SIGNS}]+")
_LATER = sys.maxsize
_QUESTION = re.compile(r"[?？]")  # noqa: RUF001 - as people write it
_TELLING = re.compile(r"[^\W_]{3,}")
_SOURCE = (
    r"(?:py|tsx?|jsx|mjs|go|rs|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|sh|sql|md|html|s?css|json|ya?ml|toml|vue"
    r"|lua|dart|exs?)"
)
_MOMENTARY = re.compile(
    r"(?:[(~]|\b(?:at|on|in|see|from|auf|ab) )(?:lines?|zeilen?) \d"  # a line's number
    r"|\b(?:lines|zeilen) \d+ ?[-\u2013] ?\d"
    rf"|\b[\w/-]*[a-z_]\.{_SOURCE}:\d"  # a place in a file
    r"|(?:\bcommit |`)(?=[a-f]*\d)(?=\d*[a-f])(?:[0-9a-f]{7,12}|[0-9a-f]{40})\b(?!\.\w)"  # a commit, an id
    r"|(?<![\w./#-])(?!\d+e\d+\b)(?=(?:[a-f]*\d){2})(?=\d*[a-f])(?:[0-9a-f]{7,12}|[0-9a-f]{40})\b(?![\w.-]*\w)"
    r"|\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b",
    re.IGNORECASE,
)
_ENDS = (".", "!", "。", "！")  # noqa: RUF001 - as above
_END = re.compile(r"(?<=[.!?。！？])\s+")  # noqa: RUF001 - full-width marks end sentences, too


class Seen:
    """An exchange of a stream.

    Attributes:
        scene: What was said and done in it.
        before: The exchange before it, None where the stream begins with it.
        is_last: Whether there is none after it.
    """

    __slots__ = ("_earlier", "_later", "_retractions", "before", "is_last", "scene")

    def __init__(self, exchange: Exchange, earlier: Sequence[Exchange], later: Sequence[Exchange]) -> None:
        self.scene, self._earlier = scene_of(exchange), earlier
        self.before = scene_of(earlier[-1]) if earlier else None
        self._later, self.is_last = later, not later
        self._retractions: list[tuple[int, set[str]]] | None = None

    def later(self, count: int) -> Iterator[Scene]:
        """The next few exchanges, as far as one may look."""
        return map(scene_of, self._later[:count])

    @property
    def words(self) -> Said | None:
        """What the user said to begin the exchange."""
        return next(iter(self.scene.user_said()), None) if self.scene.exchange.prompt is not None else None

    @property
    def replies(self) -> list[Said]:
        """What the agent said to the user in it: no messages of commits, no plans."""
        return replies_of(self.scene)

    @property
    def refused(self) -> Action | None:
        """The call that the user refused with the words of the exchange."""
        prompt = self.scene.exchange.prompt
        if prompt is None or prompt.tool is None or self.before is None:
            return None
        called = (one for one in reversed(self.before.actions) if one.has_failed and one.call.tool == prompt.tool)
        return next(called, None)

    @property
    def interrupted(self) -> Action | None:
        """The call that the agent was at when the user typed these words; None when it had ended its turn."""
        before = self.before
        if before is None or not before.actions or self.refused is not None:
            return None
        last, said = before.actions[-1], replies_of(before)
        return last if not said or said[-1].place < last.place else None

    @property
    def answered(self) -> Said | None:
        """What the agent had said last before these words."""
        return next(reversed(replies_of(self.before)), None) if self.before is not None else None

    def best(self, weighed: Iterable[tuple[float, str, Said]]) -> tuple[str, Said] | None:
        """The weightiest of some lines that the agent said, but for those that a page or a tool had said before it.

        A page can ask an agent to write something down: what the agent then repeats is as trusted as the page.
        """
        ranked = ((line, said) for _, line, said in sorted(weighed, key=lambda one: -one[0]))
        return next((one for one in ranked if not self.is_repeated(one[0], one[1].event)), None)

    def is_repeated(self, line: str, said_in: StoredEvent) -> bool:
        """Whether a page, a tool or a task said a line before anybody of the conversation did, and before an event."""
        told = _WORD.findall(line)
        if len(told) < 2:
            return False
        longest = max(told[1:], key=len)  # the first word may have another case there; the others are as they were
        told = [word.casefold() for word in told]
        for event in chain(*(one.all_events for one in self._earlier), self.scene.exchange.all_events):
            if event.id == said_in.id:
                return False
            around_it = _around(event.text or "", longest, 2 * len(line))
            if around_it and _says(" ".join(_WORD.findall(around_it.casefold())), told):
                return event.origin not in events.PUSHED_ORIGINS
        return False

    def is_changed_later(self, line: str) -> bool:
        """Whether a change that follows soon touches what a line names: how things are is then how they were."""
        names = {name.strip("`()") for name in anchors.names_in(line)} - {""}
        changes = (one for scene in self.later(LOOKAHEAD) for one in scene.actions if one.is_edit)
        return any(name in (one.call.text or "") for one in changes for name in names)

    def is_taken_back(self, line: str, said: Said) -> bool:
        """Whether the agent says soon after that it was wrong about the same things."""
        if self._retractions is None:
            later = (one for scene in self.later(TAKEN_BACK_WITHIN) for one in replies_of(scene))
            told = [*((one.place, one.text) for one in self.replies), *((_LATER, one.text) for one in later)]
            back = ((place, text) for place, text in told if words.begins(text, "retracts"))
            self._retractions = [(place, stems(text[:MAX_RETRACTION_CHARS])) for place, text in back]
        wanted = stems(line)
        return any(place > said.place and len(wanted & about) >= SHARED_STEMS for place, about in self._retractions)


def replies_of(scene: Scene) -> list[Said]:
    """What the agent said to the user in an exchange."""
    return [said for said in scene.said if not said.is_user and not said.is_published and not said.is_plan]


def lasting(said: Said) -> list[str]:
    """The sentences of a text that say something by themselves: no lists' heads, steps, guesses, questions."""
    if said.lasting is None:
        said.lasting = [sentence.text for sentence in said.sentences if _lasts(sentence.text)]
    return said.lasting


def _lasts(line: str) -> bool:
    if line.endswith((":", "?", "…")) or len(line) < MIN_LASTING_CHARS or line.count("`") % 2:
        return False
    passes = words.begins(line, "narrates", "dangles", "passes") or words.has(line, "guesses")
    return not passes and not is_of_the_moment(line)


def is_of_the_moment(line: str) -> bool:
    """Whether a text points at something that is elsewhere tomorrow: a line's number, a commit or an id by its hash.

    Of 21 memories with such a place strict readers found 1 of use weeks later, of 370 others 110.
    """
    return _MOMENTARY.search(line) is not None


def _around(text: str, word: str, reach_chars: int) -> str:
    """The parts of a text around the places of a word; "" where it has none."""
    parts: list[str] = []
    end = 0
    place = text.find(word)
    while place >= 0 and len(parts) < MAX_PLACES:
        start, end = max(end, place - reach_chars), place + reach_chars
        parts.append(text[start:end])
        place = text.find(word, end)
    return " ".join(parts)


def _says(heard: str, told: Sequence[str]) -> bool:
    """Whether most of some words stand in runs in what was heard (words joined by blanks)."""
    covered: set[int] = set()
    run = min(RUN, len(told))
    for start in range(len(told) - run + 1):
        if " ".join(told[start : start + run]) in heard:
            covered.update(range(start, start + run))
    return len(covered) >= SHARE * len(told)


def count_words(text: str) -> int:
    """How many words a text has, numbers and names' underscores left out; two signs of Chinese or Japanese are one."""
    return len(_COUNTED.findall(text))


def is_question(text: str) -> bool:
    """Whether a text asks something anywhere."""
    return _QUESTION.search(text) is not None


def is_whole(line: str) -> bool:
    """Whether a line ends as a sentence does; an item of a list without it is seldom understood outside of the list."""
    return line.endswith(_ENDS)


def stems(text: str) -> set[str]:
    """The telling words of a text, cut to what their forms share."""
    found = (word.casefold() for word in _TELLING.findall(text))
    return {word[:STEM_CHARS] for word in found if word not in STOP_WORDS}


def named(text: str) -> int:
    """How many names of a project (identifiers, files, flags) a text has, `MAX_NAMES` at most."""
    return min(MAX_NAMES, len(set(anchors.names_in(text))))


def one_line(text: str, limit_chars: int) -> str:
    """A text without markdown on one line, whole sentences of it as far as they fit."""
    text = without_markdown(" ".join(text[: 4 * limit_chars + MAX_FOLDED_CHARS].split()))
    if len(text) <= limit_chars:
        return text
    kept = ""
    for piece in _END.split(text):
        if len(kept) + len(piece) + 1 > limit_chars:
            break
        kept = f"{kept} {piece}".strip()
    if len(kept) >= limit_chars // 3:
        return kept
    return text[: limit_chars - 1].rsplit(" ", 1)[0] + "…"


def base_names(files: Iterable[str | None]) -> list[str]:
    """Files without their folders, each once."""
    return list(dict.fromkeys(file.replace("\\", "/").rpartition("/")[2] for file in files if file))


MAX_CHARS = 300
"""A memory says one thing."""

MAX_CITED = 3
_PLAIN = '"'


class Draft:
    """A memory as a source proposes it.

    Attributes:
        sources: The events whose words it is made of: they say its origin and its time.
        witnesses: Events that bear it out.
        subject: What a later word of the same kind would be about, "" where nothing tells.
        origin: Whose words they are, where that is not who said the events.
    """

    __slots__ = ("origin", "sources", "subject", "text", "type", "witnesses")

    def __init__(
        self,
        type: str,
        text: str,
        sources: Sequence[StoredEvent],
        *,
        witnesses: Sequence[StoredEvent] = (),
        subject: str = "",
        origin: str | None = None,
    ) -> None:
        self.type, self.text, self.sources, self.witnesses = type, squeeze(text, MAX_CHARS), sources, witnesses
        self.subject, self.origin = subject, origin

    def candidate_of(self, source: str) -> Candidate:
        """The candidate that a source of this name proposes with it."""
        cited = [event.id for event in (*self.sources, *self.witnesses)][:MAX_CITED]
        origin = self.origin or candidates.least_trusted(event.origin for event in self.sources)
        ts_ms = max((event.ts_ms or event.order_ms for event in self.sources), default=0)
        return Candidate(self.type, self.text, cited, origin, ts_ms, subject=self.subject, source=source)


def quoted(text: str) -> str:
    """Words as somebody's: in quotes that no code has."""
    return f"“{text.strip().replace('“', _PLAIN).replace('”', _PLAIN)}”"
