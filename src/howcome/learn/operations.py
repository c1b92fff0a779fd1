"""What a model's operations on memories are worth: what bears them out, whose words they are, what they change.

An operation has to quote a message that it follows from, word for word; one without such a quote is not done. A model
repeats what it reads. So what it says is as trusted as the least trusted message that it cites, or that it has a word
from which nobody in the conversation said (one is enough: a key, a host), or most of its words; and it takes away what
somebody trusted said only for messages that are trusted as much, and that speak of it. All else is to be looked at.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from howcome.clients.decode import clean_text
from howcome.domain import events, memories
from howcome.domain.candidates import REPEATED, SECRET, TOO_LONG, Candidate, least_trusted
from howcome.domain.distil_batches import ADD, DELETE, NOOP, UPDATE, MemoryChange
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory, NewMemory
from howcome.domain.reconciliation import Known, StoredCandidate
from howcome.domain.stored import StoredEvent
from howcome.domain.text import STOP_WORDS, cjk_parts, coined_names
from howcome.errors import ProviderError
from howcome.learn.llm import MOST_CITED, NOTE_CHARS, OWN_WORDS, Shown, question
from howcome.learn.reconcile import Near, reconcile
from howcome.learn.run import REDACTED, admit, memory_digest, memory_key
from howcome.redact.redactor import Redactor

REASON_CHARS = 300
OLDER = "older"
"""Counted with what is rejected: a memory that was said since then is not changed by what was said before."""

TELLING_WORDS = 2
"""So many words of a memory, or one name of it, are said of it and not by chance."""

NO_QUOTE, NO_TEXT, UNKNOWN = "no_quote", "no_text", "unknown_memory"
"""Why an operation is not done: no message holds what it quotes, it says nothing, it names what was not shown."""

MIN_QUOTE_CHARS = 4
"""A shorter quote stands anywhere."""

SUPPORTED_SHARE, ECHOED_SHARE = 0.5, 0.3
"""A text is from anything that was shown when fewer of its words were said by anybody trusted; and from what holds so
many of them, and more than what it cites does (of 255 notes by readers 6 and 1: docs/evaluation.md)."""

_WORD = re.compile(r"[\w./#-]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)")


class SenselessError(ProviderError):
    """The answer has the shape that was asked for, and nothing of it means anything."""


@dataclass(slots=True, eq=False)
class Proposal:
    """One operation that makes sense.

    `target` is the memory that it is about (UPDATE, DELETE), `cited` the messages that it follows from, `origin` whose
    words it is.
    """

    op: str
    type: str
    text: str
    target: Memory | None
    cited: Sequence[StoredEvent]
    reason: str
    origin: str = events.ORIGIN_EXTERNAL

    @property
    def ts_ms(self) -> int:
        """When the last of it was said."""
        return self.said[-1][0]

    @property
    def said(self) -> list[tuple[int, str]]:
        """When, and in which message: the first that is cited (the user's, if any) and the last."""
        told = [(event.ts_ms or event.order_ms, event.id) for event in self.cited]
        return [told[0], max(told)]


def proposals_in(answer: Mapping[str, object], shown: Shown, rejected: Counter[str]) -> list[Proposal]:
    """The operations of an answer that has the shape of `llm.SCHEMA`, but for those that change nothing.

    Raises:
        SenselessError: none of them makes sense.
    """
    wanted = [one for one in answer["operations"] if one["op"] != NOOP]  # type: ignore[attr-defined]
    found: list[Proposal] = []
    for one in wanted:
        proposal = _proposal(one, shown)
        if isinstance(proposal, Proposal):
            found.append(proposal)
        else:
            rejected[proposal] += 1
    if wanted and not found:
        raise SenselessError(f"no operation of its answer makes sense: {', '.join(sorted(rejected))}")
    return found


def _proposal(one: Mapping[str, object], shown: Shown) -> Proposal | str:
    """An operation that makes sense, or why it makes none."""
    op, text = str(one["op"]), " ".join(clean_text(str(one["text"])).split())
    ends = [match.end() for match in _SENTENCE_END.finditer(text[: NOTE_CHARS + 1])]
    if ends and len(text) > NOTE_CHARS:  # as many sentences as a memory may have, or all where the first is too long
        text = text[: ends[-1]]
    cited = _cited(one["evidence"], shown)  # type: ignore[arg-type]
    if not cited:
        return NO_QUOTE
    if op != DELETE and not text:
        return NO_TEXT
    target = shown.memories.get(str(one["memory"]).strip("[] ")) if op in (UPDATE, DELETE) else None
    if op in (UPDATE, DELETE) and target is None:
        return UNKNOWN
    reason = squeeze(clean_text(str(one["reason"])), REASON_CHARS)
    return Proposal(op, str(one["type"]), text, target, cited, reason)


def _cited(evidence: Sequence[Mapping[str, object]], shown: Shown) -> list[StoredEvent]:
    """The messages that hold what is quoted of them, the user's first."""
    found: dict[int, StoredEvent] = {}
    for one in evidence:
        number, quote = int(str(one["message"])), clean_text(str(one["quote"])).strip()
        if len(quote) >= MIN_QUOTE_CHARS and 1 <= number <= len(shown.messages) and shown.holds(number, quote):
            found[number] = shown.messages[number - 1]
    return sorted(found.values(), key=lambda event: event.origin != events.ORIGIN_USER)[:MOST_CITED]


class Trust:
    """Whose words proposals are, given all that a model was shown."""

    def __init__(self, shown: Shown) -> None:
        self._texts = {event.row: text for event, text in zip(shown.messages, shown.texts, strict=True)}
        said = [(event.origin, self._texts[event.row]) for event in shown.messages]
        said += [(memory.origin, memory.text) for memory in shown.memories.values()]
        trusted = [text for origin, text in said if origin in events.PUSHED_ORIGINS]
        self._trusted = _words(" ".join([*trusted, question(), OWN_WORDS]))
        self._others = [(origin, _words(text)) for origin, text in said if origin not in events.PUSHED_ORIGINS]

    def origin_of(self, proposal: Proposal) -> str:
        """The least trusted of what a proposal is from."""
        origins = [event.origin for event in proposal.cited]
        sources = [self._texts[event.row] for event in proposal.cited]
        if proposal.target is not None and proposal.op == UPDATE:
            origins.append(proposal.target.origin)
            sources.append(proposal.target.text)
        words, cited = _words(proposal.text), _words(" ".join(sources))
        is_supported = len(words & self._trusted) >= SUPPORTED_SHARE * len(words)
        for origin, theirs in self._others:
            is_echo = len(words & theirs) > max(len(words & cited), ECHOED_SHARE * len(words))
            if is_echo or not is_supported or words & theirs - self._trusted:
                origins.append(origin)
        return least_trusted(origins)

    def is_doubtful(self, proposal: Proposal) -> bool:
        """Whether somebody has to look at a proposal before the memory that it is about is taken away."""
        if proposal.target is None:
            return False
        if proposal.target.origin in events.PUSHED_ORIGINS and proposal.origin not in events.PUSHED_ORIGINS:
            return True
        trusted = (self._texts[event.row] for event in proposal.cited if event.origin in events.PUSHED_ORIGINS)
        shared = _words(proposal.target.text) & _words(" ".join(trusted))
        return proposal.op == DELETE and not _is_telling(proposal.target.text, shared)


def _words(text: str) -> set[str]:
    found = (token.strip("./-") for token in _WORD.findall(text.casefold()))
    return {part for token in found if token and token not in STOP_WORDS for part in cjk_parts(token)}


def _is_telling(text: str, words: set[str]) -> bool:
    """Whether some words of a text are more than chance: several, or a name or a number that nobody says by chance."""
    if len(words) >= TELLING_WORDS:
        return True
    names = set(coined_names(text))
    return any(word in names or any(character.isdigit() for character in word) for word in words)


class Weighing:
    """Weighs proposals against what is known, as candidates of the sources are weighed.

    `kept` are every memory of the project and those that hold everywhere, whatever became of them, but purged ones.
    """

    def __init__(self, key: bytes, redactor: Redactor, project_id: int, root: str, kept: Sequence[Memory]) -> None:
        self._key, self._redactor, self._project_id, self._root = key, redactor, project_id, root
        self._kept = [memory for memory in kept if memory.superseded_by is None]
        self._superseded = {memory.key for memory in kept if memory.superseded_by is not None}
        self.rejected = Counter[str]()

    def changes(
        self, proposals: Iterable[Proposal], shown: Shown, near: Callable[[Known], Near | None]
    ) -> list[MemoryChange]:
        """What is to be done, in the proposals' order; what is rejected is counted by reason."""
        trust, told = Trust(shown), "\n".join(shown.texts)
        found: list[MemoryChange] = []
        for proposal in proposals:
            proposal.origin = trust.origin_of(proposal)
            said, clean = proposal.reason, self._redactor.redact(proposal.reason)
            hides = REDACTED in said.casefold() or clean != said or self._redactor.reveals(said, told)
            proposal.reason = "" if hides else said
            if reason := self._problem(proposal, told):
                self.rejected[reason] += 1
            else:
                found.append(self._change(proposal, is_doubtful=trust.is_doubtful(proposal)))
        repeated = self._compare(found, near)
        return [change for change in found if change not in repeated]

    def _problem(self, proposal: Proposal, told: str) -> str:
        target = proposal.target
        if target is not None and (target.said_ms or target.created_ms) > proposal.ts_ms:
            return OLDER
        if proposal.op == DELETE:
            return ""
        if self._redactor.reveals(proposal.text, told):
            return SECRET
        if len(proposal.text) > NOTE_CHARS:
            return TOO_LONG
        ids = [event.id for event in proposal.cited]
        return admit(Candidate(proposal.type, proposal.text, ids, proposal.origin, proposal.ts_ms), self._redactor)

    def _change(self, proposal: Proposal, *, is_doubtful: bool) -> MemoryChange:
        target, row = proposal.target, proposal.target.row if proposal.target else None
        if proposal.op == DELETE:
            return MemoryChange(proposal.op, target=row, reason=proposal.reason, is_doubtful=is_doubtful)
        key = memory_key(self._key, self._root, proposal.type, proposal.text)
        if key in self._superseded:  # it holds again: the old one stays where it is in its chain
            key = memory_key(self._key, self._root, proposal.type, f"{proposal.text}\0{proposal.ts_ms}")
        new = NewMemory(
            key=key, digest=memory_digest(self._key, proposal.type, proposal.text), type=proposal.type,
            text=proposal.text, project=self._root, agent=None, origin=proposal.origin, status=memories.OPEN,
            created_ms=proposal.ts_ms, evidence=[event.id for event in proposal.cited], source=memories.LLM,
            subject="" if target is None else target.subject, said=proposal.said,
        )  # fmt: skip
        return MemoryChange(proposal.op, new=new, target=row, reason=proposal.reason, is_doubtful=is_doubtful)

    def _compare(self, changes: Sequence[MemoryChange], near: Callable[[Known], Near | None]) -> list[MemoryChange]:
        """Points what says the same as a memory to it, notes what may contradict one; what repeats another change."""
        rows = {memory.key: memory.row for memory in self._kept}
        ours = [(change, change.new) for change in changes if change.new is not None]
        known = Known(self._project_id, [_candidate(new) for _, new in ours if new.key not in rows], kept=self._kept)
        plan = reconcile(known, near(known) if known.candidates else None)
        heads = {part: wanted.key for wanted in plan.wanted for part in wanted.parts}
        repeated = []
        for change, new in ours:
            same = new.key if new.key in rows else plan.same.get(new.key)
            change.same = None if same is None else rows.get(same)
            if change.op == UPDATE and change.same == change.target and new.key not in rows:
                change.same = None  # other words for what it is about are what is wanted
            if change.op == ADD and same is None and heads.get(new.key) != new.key:
                self.rejected[REPEATED] += 1
                repeated.append(change)
            reviews = ((older, reason) for (older, newer), reason in plan.reviews.items() if newer == new.key)
            change.differs = [(rows[older], reason) for older, reason in reviews if older in rows]
        return repeated


def _candidate(new: NewMemory) -> StoredCandidate:
    return StoredCandidate(new.key, new.type, new.text, origin=new.origin, ts_ms=new.created_ms, evidence=new.evidence)
