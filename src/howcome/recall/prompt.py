"""What earlier sessions say about a prompt: nothing below the threshold, nothing twice, nothing of the session itself.

Only what a person or the agent said is ever pushed, and memories that were kept on purpose.
"""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import events, verdicts
from howcome.domain.answering import asked_of_past, is_chore
from howcome.domain.memories import HAND, OPEN
from howcome.domain.stored import Filter, Reminder
from howcome.domain.verdicts import Verdict, row_of
from howcome.errors import ProviderError, StoreError
from howcome.recall.bites import Bites, fitting, in_order, of_memory, with_later
from howcome.recall.gate import (
    ASKED_MEMORY,
    ASKED_SHARE,
    HAND_SHARE,
    MEMORIES_BESIDE,
    POINTING_TERMS,
    SURE_MEMORY,
    chances,
    first_of_exchanges,
    rule_of,
    worth_saying,
)
from howcome.recall.pasted import mended
from howcome.recall.rules import Before, is_new_question
from howcome.retrieve.branches import Unmerged
from howcome.retrieve.memories import latest, search_memories
from howcome.retrieve.ranking import MEANING
from howcome.retrieve.search import MAX_QUESTION_CHARS, RECALL_BREADTH, Searcher
from howcome.retrieve.settled import is_telling
from howcome.settings import BITES, CONTEXT, OFF

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope
    from howcome.retrieve.memories import RankedMemory
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.settings import Settings
    from howcome.store.base import Store, Vectors

RECALL_SHARE = 0.6
"""What is much weaker than the best reminder of a prompt only dilutes it."""

MAX_MEMORIES = 20
ASKED_OF = 24
"""Of the best exchanges so many are compared by what was asked."""

WITH_NEAR = 400
"""Rows looked at when turns by meaning are among them: they must not push out what the words are sure of."""


class Asking:
    """A prompt, its session (the client's id), what was last said there, and whether the agent reads a text itself."""

    __slots__ = ("is_held", "prompt", "recent", "session")

    def __init__(
        self, prompt: str, session: str, recent: Callable[[], str], is_held: Callable[[str], bool] = lambda _: False
    ) -> None:
        self.prompt, self.session, self.recent, self.is_held = prompt, session, recent, is_held


def recall(
    store: Store, settings: Settings, asking: Asking, *, wanted: Filter, now_ms: int, vectors: Vectors | None = None
) -> Verdict:
    """The reminders worth giving with a prompt, best first, with what was looked at and which rule held the rest back.

    Words decide whether a row is worth it; `vectors` only help to order what is. Without them, or when they fail, it
    is what the words alone say. A question about the past is asked by what it is about.
    """
    session = asking.session
    verdict = Verdict(wanted.scope.project_id, fingerprint(store, asking.prompt))
    if settings.inject == OFF:
        return verdict.held(verdicts.OFF)
    prompt = clean_text(asking.prompt[:MAX_QUESTION_CHARS])  # what is asked; a pasted log may hold megabytes
    asked = asked_of_past(prompt)
    situation = Searcher(store).situation(asked or prompt, wanted, breadth=RECALL_BREADTH, recent=asking.recent)
    is_plain = asked is None and settings.inject == BITES
    if is_plain and len(situation.terms) > POINTING_TERMS and is_chore(prompt):
        return verdict.held(verdicts.CHORE)
    if asked is not None:  # words that nobody here ever said are the question's own: they tell of no answer
        situation.terms = [term for term in situation.terms if term in situation.weights.known] or situation.terms
    if asked == "" and settings.inject == BITES:
        ends = Unmerged(store, wanted.scope, wanted.then_ms).mark(_open_ends(store, wanted, asking, now_ms))
        verdict.said = fitting(ends[: settings.recall_limit], now_ms)
        return verdict
    ranked = _ranked(store, situation, vectors, now_ms) if wanted.scope.project_id is not None else []
    wrong = store.memory_search.refuted(wanted.then_ms) if ranked else set()
    ranked = _unrefuted(ranked, wrong, verdict)
    if is_plain and is_new_question(store, situation, prompt, session, ranked):
        asked = prompt
    kept = _memories(store, situation, vectors, now_ms)
    threshold = settings.recall_threshold * (1.0 if asked is None else ASKED_SHARE)
    for item in kept:
        verdict.weigh(-item.memory.row, item.strength, verdicts.WEAK if _is_weak(item, threshold) else verdicts.OWN)
    kept = [item for item in kept if asked is not None or not item.memory.is_asleep]
    kept = latest([one for one in kept if not _is_weak(one, threshold) and _is_pushed(store, one.memory, session)])
    found = _Found(ranked, kept, situation, store.injections.events_known(session))
    found.wrong = wrong
    found.unmerged = Unmerged(store, wanted.scope, wanted.then_ms)
    found.cited = {item.memory.row: _cited(store, item.memory) for item in kept} if found.known or ranked else {}
    found.told = store.injections.memories_known(session)
    _leave_out_told(found, kept, verdict)
    _leave_out_held(found, verdict, asking.is_held)
    if settings.inject == CONTEXT:
        verdict.said = _in_context(store, settings, found, session)
        return verdict
    before = Before(store, settings, prompt, session, wanted, is_asked=asked is not None)
    verdict.said = _in_bites(store, settings, found, verdict, now_ms, before)
    return verdict


def fingerprint(store: Store, prompt: str) -> bytes:
    """What tells a prompt from others without a word of it: a keyed hash of its words."""
    from _blake2 import blake2b  # `hashlib` costs a hook 5 ms

    said = " ".join(prompt[:MAX_QUESTION_CHARS].split()).casefold()
    key = bytes(store.meta("key"))[:64]  # type: ignore[call-overload]
    return blake2b(said.encode("utf-8", "replace"), key=key, digest_size=8).digest()


def pushed(store: Store, scope: Scope, session: str, before_ms: int | None = None) -> Filter:
    """What may be said to a session: of a scope, by people and agents, in other sessions, before a moment."""
    without = store.sessions.named(session)
    return Filter(scope, before_ms=before_ms, without=without, origins=events.PUSHED_ORIGINS, is_then=True)


class _Found:
    """What was found for a prompt, and what its session has been told.

    Attributes:
        ranked: Rows, best first; `kept`: memories that may be said.
        known: Events that the session knows; `told`: memories.
        cited: By memory, the events that it is from.
        unmerged: Tells what was said on branches that are not merged.
        wrong: Exchanges (rows of their prompts) whose memory somebody called wrong.
    """

    __slots__ = ("cited", "kept", "known", "ranked", "situation", "told", "unmerged", "wrong")
    unmerged: Unmerged

    def __init__(
        self, ranked: Sequence[Ranked], kept: list[RankedMemory], situation: Situation, known: set[int]
    ) -> None:
        self.ranked, self.kept, self.situation, self.known = ranked, kept, situation, known
        self.cited: dict[int, set[int]] = {}
        self.told: set[int] = set()
        self.wrong: set[int] = set()

    def answered(self, told: Iterable[int]) -> set[int]:
        """The events that some memories, and those that the session was told, are from."""
        return {row for memory in (*told, *self.told) for row in self.cited.get(memory, ())}


def _in_context(store: Store, settings: Settings, found: _Found, session: str) -> list[Reminder]:
    """Exchanges and memories in full."""
    from howcome.recall.blocks import Blocks
    from howcome.recall.standing import GONE, standing

    good = [item for item in found.ranked if item.strength >= settings.recall_threshold][:RECALL_BREADTH]
    if not good and not found.kept:
        return []
    strongest = max([item.strength for item in good] + [item.strength for item in found.kept])
    blocks = Blocks(store, settings, set(store.index.analyze(found.situation.text)))
    said = blocks.events([item for item in good if item.strength >= RECALL_SHARE * strongest], found.known)
    kept = [item for item in found.kept if item.strength >= RECALL_SHARE * strongest]
    kept = [item for item in kept if standing(store, item.memory) != GONE]
    scores = {item.event.id: score for score, item in said if item.event is not None}
    told = blocks.memories(kept, session, scores)
    answered = found.answered(item.memory.row for _, item in told if item.memory is not None)
    rest = [pair for pair in said if answered.isdisjoint(pair[1].rows)]
    both = told + rest  # what a memory says, or has said, is not said again by the exchange that it is from
    both.sort(key=lambda pair: -pair[0])
    return found.unmerged.mark([reminder for _, reminder in both])[: settings.recall_limit]


def _in_bites(
    store: Store, settings: Settings, found: _Found, verdict: Verdict, now_ms: int, before: Before
) -> list[Reminder]:
    """A sentence each, or nothing: memories that are sure, then exchanges that are likely to help, the newest first."""
    is_asked, terms = before.is_asked, len(found.situation.terms)
    threshold = settings.recall_threshold * (ASKED_SHARE if is_asked else 1.0)
    ranked = _asked_once(store, found.ranked, found.unmerged)
    _weigh(verdict, ranked, terms, now_ms, is_asked=is_asked)
    weighed = found.unmerged.last(worth_saying(ranked, terms, threshold, now_ms, is_asked=is_asked))
    kept, gone = _fit(store, found, verdict, is_asked=is_asked, is_beside=bool(weighed))
    said = [one for one in mended(store, before, found.told) if not before.holds(one, verdict.asked, now_ms)]
    said = said[: settings.recall_limit]
    kept = _first(kept, settings.recall_limit - len(said), verdict)
    rule = before.holds_prompt() if weighed or kept else ""
    if rule:
        for row in (*map(row_of, kept), *(item.candidate.row for _, item in weighed)):
            verdict.hold(row, rule)
        return verdict.held(rule).said
    for reminder in kept:
        if rule := before.holds(reminder, verdict.asked, now_ms):
            verdict.hold(row_of(reminder), rule)
        else:
            verdict.gave(row_of(reminder), reminder)
            said.append(reminder)
    answered = found.answered(gone) | found.known
    told = [item.passages[0][1] for item in said]
    bites = Bites(store, found.situation, told, is_asked=is_asked, wrong=found.wrong)
    items = [item for _, item in weighed]
    exchanges = [item.candidate.exchange for item in items]
    overruled = store.reviews.overruled(exchanges, found.situation.wanted.then_ms)
    for chance, item in weighed:
        bite = verdicts.LIMIT if len(said) >= settings.recall_limit else bites.of(item, answered, chance)
        if not isinstance(bite, str) and item.candidate.exchange in overruled:
            bite = _instead(store, found, said, overruled[item.candidate.exchange], chance, before.session)
        if not isinstance(bite, str):
            bite = before.holds(bite, verdict.asked, now_ms, item.candidate.session_id) or bite
        if isinstance(bite, str):
            verdict.hold(item.candidate.row, bite)
            continue
        verdict.gave(item.candidate.row, bite)
        both = [bite, *bites.more(item, bite, settings.recall_limit - len(said) - 1, answered, items)]
        said += both
        answered.update(row for one in both for row in (_cited(store, one.memory) if one.memory else one.rows))
    return fitting(in_order(found.unmerged.mark(said)), now_ms)


def _weigh(verdict: Verdict, ranked: Sequence[Ranked], terms: int, now_ms: int, *, is_asked: bool) -> None:
    """Notes the chance of each exchange, and what holds it back unless it is said."""
    looked_at = first_of_exchanges(ranked)
    found = chances(looked_at, now_ms)
    held_by = rule_of(found, terms, is_asked=is_asked)
    for item, chance in zip(looked_at, found, strict=True):
        verdict.weigh(item.candidate.row, chance, held_by)


def _fit(
    store: Store, found: _Found, verdict: Verdict, *, is_asked: bool, is_beside: bool
) -> tuple[list[Reminder], set[int]]:
    """The memories that may be said, best first, and the rows of those whose files are gone."""
    fit = [item for item in found.kept if item.memory.row not in found.told and _is_fit(item, is_asked, is_beside)]
    if not fit:
        return [], set()
    from howcome.recall.standing import GONE, standing

    gone = {item.memory.row for item in fit if standing(store, item.memory) == GONE}
    for row in gone:
        verdict.hold(-row, verdicts.GONE)
    kept = found.unmerged.mark([_bite(item.memory, item.strength) for item in fit if item.memory.row not in gone])
    if is_beside:  # the rest of the lines is for what was said
        sure = [one for one in kept[MEMORIES_BESIDE:] if is_asked and _is_sure(one)]
        kept = _first(
            [*kept[:MEMORIES_BESIDE], *sure, *kept[MEMORIES_BESIDE:]],
            MEMORIES_BESIDE + len(sure),
            verdict,
            verdicts.ONE_MEMORY,
        )
    return kept, gone


def _first(kept: list[Reminder], limit: int, verdict: Verdict, rule: str = verdicts.LIMIT) -> list[Reminder]:
    """So many of some reminders; the rest is held back for them."""
    for row in {row_of(one) for one in kept[limit:]} - {row_of(one) for one in kept[:limit]}:
        verdict.hold(row, rule)
    return kept[:limit]


def _instead(
    store: Store, found: _Found, said: Sequence[Reminder], newer: Memory, chance: float, session: str
) -> Reminder | str:
    """What took the place of what an exchange taught; else the rule that holds it back: it was said, or may not be."""
    from howcome.recall.standing import GONE, standing

    is_known = newer.row in found.told or any(one.memory and newer.row in one.rows for one in said)
    if is_known or not _is_pushed(store, newer, session):
        return verdicts.TOLD
    return verdicts.GONE if standing(store, newer) == GONE else _bite(newer, chance)


def _bite(memory: Memory, score: float) -> Reminder:
    return Reminder(None, score, [(memory.type, with_later(memory, of_memory(memory.text)))], [memory.row], memory)


def _asked_once(store: Store, ranked: Sequence[Ranked], unmerged: Unmerged) -> list[Ranked]:
    """Rows without those of exchanges that ask what a better one asks: what is asked often leaves room for others.

    One on a branch that is not merged is the worse one.
    """
    openings = dict.fromkeys(item.candidate.exchange for item in ranked)
    events_asked = store.log.events(list(openings)[:ASKED_OF])
    asked = {row: _letters(event.excerpt) for row, event in events_asked.items()}
    first: dict[str, int] = {}
    for row in sorted(openings, key=lambda row: bool(unmerged.of(events_asked.get(row)))):
        first.setdefault(asked.get(row) or f"{row}", row)
    kept = set(first.values())
    return [item for item in ranked if item.candidate.exchange in kept]


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.casefold()))


def _is_weak(item: RankedMemory, threshold: float) -> bool:
    return item.strength < threshold * (HAND_SHARE if item.memory.source == HAND else 1.0)


def _is_fit(item: RankedMemory, is_asked: bool, is_beside: bool) -> bool:
    """Whether a memory may be said for a question about the past, or beside exchanges."""
    bite = _bite(item.memory, item.strength)
    if is_asked:
        return not is_beside or _is_sure(bite, ASKED_MEMORY)
    is_telling_enough = item.memory.source == HAND or is_telling(item.memory.text)
    return (is_beside and is_telling_enough) or _is_sure(bite)


def _is_sure(bite: Reminder, least: float = SURE_MEMORY) -> bool:
    """Whether a memory is said whatever else there is: what somebody keeps by hand needs no more than the threshold."""
    return bite.memory is not None and (bite.memory.source == HAND or bite.score >= least)


def _leave_out_told(found: _Found, kept: Sequence[RankedMemory], verdict: Verdict) -> None:
    """Notes what the session has been told; a memory that is much weaker than that for this prompt is not said either.

    Without it, who asks again would be told what stood behind the answer.
    """
    new = [item for item in kept if found.known.isdisjoint(found.cited.get(item.memory.row, ()))]
    told = [item for item in kept if item not in new or item.memory.row in found.told]
    least = RECALL_SHARE * max((item.strength for item in told), default=0.0)
    for item in kept:
        rule = verdicts.TOLD if item in told else verdicts.BEST if item.strength < least else verdicts.UNSURE
        verdict.hold(-item.memory.row, rule)
    found.kept = [item for item in new if item in told or item.strength >= least]


def _leave_out_held(found: _Found, verdict: Verdict, is_held: Callable[[str], bool]) -> None:
    """Takes no account of memories that the agent reads by itself: they take nothing else's place."""
    held = [item for item in found.kept if item.memory.row not in found.told and is_held(item.memory.text)]
    found.kept = [item for item in found.kept if item not in held]
    for item in held:
        verdict.hold(-item.memory.row, verdicts.HELD)


def _open_ends(store: Store, wanted: Filter, asking: Asking, now_ms: int) -> list[Reminder]:
    """What is open and how the last session ended, for who asks for nothing else."""
    from howcome.recall.briefing import Briefing

    known = store.injections.events_known(asking.session)
    told = store.injections.memories_known(asking.session)
    found = Briefing(store, wanted.scope, now_ms, wanted.before_ms).open_ends()
    found = [one for one in found if one.memory is None or not asking.is_held(one.memory.text)]
    return [one for one in found if not (told if one.memory is not None else known).intersection(one.rows)]


def _cited(store: Store, memory: Memory) -> set[int]:
    """The rows of the events that a memory of sessions is from."""
    evidence = () if memory.source == HAND else memory.evidence
    return {event.row for ident in evidence for event in store.log.find(ident, limit=1)}


def _is_pushed(store: Store, memory: Memory, session: str) -> bool:
    """Only what somebody or the agent said (the index may know it by an older origin), and in another session.

    What was distilled from this session alone stands in its window as it was said.
    """
    if memory.status != OPEN or memory.origin not in events.PUSHED_ORIGINS:
        return False
    told = store.sessions.of_memory(memory.row)
    return memory.source == HAND or {told[event] for event in memory.evidence if event in told} != {session}


def _ranked(store: Store, situation: Situation, vectors: Vectors | None, now_ms: int) -> list[Ranked]:
    """The rows for a prompt, best first; by words alone when the embedder or its index fails."""
    if vectors is not None:
        try:
            ranked = Searcher(store, vectors=vectors).search(situation, limit=WITH_NEAR, now_ms=now_ms)
            return [item for item in ranked if item.tiers.keys() != {MEANING}]
        except (ProviderError, StoreError):  # a store that fails fails again, and says so
            pass
    return Searcher(store).search(situation, limit=RECALL_BREADTH, now_ms=now_ms)


def _unrefuted(ranked: list[Ranked], wrong: set[int], verdict: Verdict) -> list[Ranked]:
    """Rows without those of exchanges whose memory somebody called wrong."""
    for item in ranked:
        if item.candidate.exchange in wrong:
            verdict.weigh(item.candidate.row, item.strength, verdicts.WRONG)
    return [item for item in ranked if item.candidate.exchange not in wrong]


def _memories(store: Store, situation: Situation, vectors: Vectors | None, now_ms: int) -> list[RankedMemory]:
    """Memories for a prompt, best first; by words alone when the embedder fails."""
    if vectors is not None:
        try:
            return search_memories(store, situation, limit=MAX_MEMORIES, now_ms=now_ms, vectors=vectors)
        except ProviderError:
            pass
    return search_memories(store, situation, limit=MAX_MEMORIES, now_ms=now_ms)
