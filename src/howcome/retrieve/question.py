"""A question with everything that narrows it, and its answers: events and memories side by side, best first."""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import events, memories
from howcome.domain.answering import BETWEEN, asked_of_past, share_of
from howcome.domain.query import needed_words, phrases_in, plain_words
from howcome.domain.ranking import UNMERGED_WEIGHT
from howcome.domain.stored import Filter, Found
from howcome.domain.text import best_passage
from howcome.errors import UsageError
from howcome.retrieve.branches import Unmerged
from howcome.retrieve.exchanges import ROW_CHARS, WIDE_ROWS, Exchanges
from howcome.retrieve.memories import (
    DISTILLED_WORTH,
    TIER,
    before_evidence,
    is_distilled,
    not_crowding,
    put_likely_evidence_first,
    search_memories,
)
from howcome.retrieve.ranking import SHIPPED
from howcome.retrieve.reading import session_by_id
from howcome.retrieve.search import Searcher
from howcome.retrieve.sureness import is_answered, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope
    from howcome.retrieve.memories import RankedMemory
    from howcome.retrieve.outside import Outside
    from howcome.retrieve.ranking import Ranking
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store, Vectors

OVERFETCH, QUOTED_OVERFETCH = 5, 20
"""Rows asked for an answer: an exchange has several, and not everyone that holds the words of a phrase holds it."""

LIFT, LIFTING = 0.25, 10
"""What the value of a memory adds to the score of the exchange that it was learnt from, and how many memories are asked
for it. At .25 no kind of question loses, in neither project, by words or with MiniLM; at .5 and above the Go tool's
topics have the answer in the first row less often (docs/evaluation.md, "Rows")."""

JUDGED_ROWS = 10
"""The first so many rows say whether a question is answered, however few are wanted."""

MAX_CONCEPTS = 8
TYPES = (*events.SEARCHED_KINDS, events.RATIONALE, *memories.TYPES)
"""What an answer may be asked to be: a kind of event or a type of memory."""


class Question:
    """What is asked, and of what.

    Attributes:
        concepts: One text, or several that must all be in an answer's exchange (each with all its words).
        scope: Whose events and memories may answer.
        limit: At most so many answers.
        by_session: Sessions are ranked, not exchanges; memories have none.
        by_row: Every row is an answer by itself: for measuring.
        types: Only these (of TYPES).
        session: Only this session (any unique beginning of its id, see `reading.session_by_id`; memories are of none).
        agent: Only this agent's: a client (claude-code, codex, …), a subagent's id, or the owner of memories.
        subsystem: Only what is about this part of the project: a workspace package, or a folder.
        before_ms: Only what is older; `since_ms`: only what is not.
        explained: Every answer says why it is there (`Found.explanation`).
        with_near: Where nothing answers for sure, the nearest rows do (`Found.is_near`).
    """

    __slots__ = (
        "agent", "before_ms", "by_row", "by_session", "concepts", "explained", "limit", "scope", "session", "since_ms",
        "subsystem", "types", "with_near",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - each narrows by itself
        self,
        concepts: str | Sequence[str],
        scope: Scope,
        *,
        limit: int = 10,
        by_session: bool = False,
        by_row: bool = False,
        types: Sequence[str] = (),
        session: str | None = None,
        agent: str | None = None,
        subsystem: str | None = None,
        before_ms: int | None = None,
        since_ms: int | None = None,
        explained: bool = False,
        with_near: bool = False,
    ) -> None:
        """Keeps the parts.

        Raises:
            UsageError: too many concepts, or an unknown type.
        """
        named = [concepts] if isinstance(concepts, str) else list(concepts)
        self.concepts = [clean_text(concept) for concept in named]
        if len(self.concepts) > MAX_CONCEPTS:
            raise UsageError(f"at most {MAX_CONCEPTS} concepts at once, these are {len(self.concepts)}")
        unknown = [name for name in types if name not in TYPES]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is no type; choose {', '.join(TYPES)}")
        self.scope, self.limit, self.types = scope, limit, tuple(types)
        self.by_session, self.by_row = by_session, by_row
        self.session = None if session is None else clean_text(session)
        self.agent = None if agent is None else clean_text(agent)
        self.subsystem = None if subsystem is None else clean_text(subsystem)
        self.before_ms, self.since_ms = before_ms, since_ms
        self.explained, self.with_near = explained, with_near


def answer(
    store: Store,
    question: Question,
    *,
    now_ms: int,
    ranking: Ranking | None = None,
    vectors: Vectors | None = None,
    outside: Outside | None = None,
) -> list[Found]:
    """The best answers, best first; none where nothing is about the question, or the nearest if these are wanted.

    Raises:
        NotFoundError: there is no such session, or several.
    """
    ranking = ranking or SHIPPED
    searcher = Searcher(store, ranking, vectors, outside)
    wanted = _filter(store, question)
    text = "\n".join(asked_of_past(concept) or concept for concept in question.concepts)
    situation = searcher.situation(
        text, wanted, group_by_session=question.by_session, with_tools=not question.by_session
    )
    needed = [needed_words(part) for part in _several(question.concepts)]
    needed += [needed_words(part, is_phrase=True) for part in phrases_in("\n".join(question.concepts))]
    required = [group for group in map(store.index.analyze, needed) if group]
    now_ms, limit = question.before_ms or now_ms, max(question.limit, 0 if question.by_row else JUDGED_ROWS)
    exchanges, found = Exchanges(store, situation, now_ms), list[Found]()
    kept: list[RankedMemory] = []
    if wanted.sessions != () and (not question.types or wanted.kinds):
        found += _events(store, searcher, exchanges, situation, question, limit, now_ms=now_ms, required=required)
    if events.RATIONALE in question.types and wanted.sessions != ():
        from howcome.retrieve.rationales import rationale_answers

        found += rationale_answers(store, searcher, situation, limit=limit, now_ms=now_ms, required=required)
    if not question.by_session and question.session is None and wanted.memory_types != []:
        most = max(limit, LIFTING)
        kept = search_memories(store, situation, limit=most, now_ms=now_ms, required=required, vectors=vectors)
        taught = {item.memory.id: set(_taught_by(store, item)) for item in kept} if found else {}
        found = _lifted(found, kept, taught)[:limit]
        found = _memories(store, situation, limit, kept, found, taught) + found  # first where both score the same
    _mark_unmerged(store, question.scope, found)
    is_judged = not (question.by_row or question.by_session or required)  # who ranks sessions wants them ranked
    first = sorted(found, key=lambda item: -item.score)[:JUDGED_ROWS]
    if is_judged and not is_answered(store, situation, first, vectors, now_ms):
        found = nearest(found) if question.with_near else []
    found = sorted(found, key=lambda item: -item.score)[: question.limit]
    if not question.by_session and not question.by_row:
        _later_first(store, found, wanted.then_ms)
        is_narrowed = bool(question.types or question.agent or question.subsystem or required)  # not all turns count
        _say_more(exchanges, found, [item.memory for item in kept], is_narrowed=is_narrowed)
    if question.explained:
        from howcome.retrieve.explain import explain

        explain(store, situation, found, ranking.weights)
    return found


def _say_more(exchanges: Exchanges, found: Sequence[Found], kept: Sequence[Memory], *, is_narrowed: bool) -> None:
    """Lets the first rows say more, and what was settled around them, and what failed how it was mended."""
    exchanges.widen(found[:WIDE_ROWS])
    exchanges.surround([] if is_narrowed else found[:WIDE_ROWS])
    _tell_fixes(found, kept)


def _several(concepts: Sequence[str]) -> Sequence[str]:
    return concepts if len(concepts) > 1 else ()


def _events(
    store: Store,
    searcher: Searcher,
    exchanges: Exchanges,
    situation: Situation,
    question: Question,
    limit: int,
    *,
    now_ms: int,
    required: Sequence[Sequence[str]],
) -> list[Found]:
    """What was said and done that answers: one row an exchange or a session, or each row by itself."""
    more = QUOTED_OVERFETCH if exchanges.exact else 1 if question.by_session else OVERFETCH
    ranked = searcher.search(situation, limit=more * limit, now_ms=now_ms, required=required)
    if not question.by_row:
        return exchanges.answers(ranked, limit)
    told = store.log.turns(item.candidate.row for item in ranked[:limit])
    return [
        Found(item.score, item.tiers, event.excerpt, event=event, strength=item.strength)
        for item in ranked[:limit]
        if (event := told.get(item.candidate.row)) is not None
    ]


def _filter(store: Store, question: Question) -> Filter:
    types = question.types
    sessions: list[int] | None = None
    agent_id = part = None
    if question.subsystem is not None:
        from howcome.retrieve.subsystem import subsystem

        part = subsystem(store, question.scope, question.subsystem)
        sessions = sorted(part.sessions)
    if question.session is not None:
        named = session_by_id(store, question.session)[0]
        sessions = [named] if sessions is None or named in sessions else []
    if question.agent is not None and (of_client := store.sessions.clients().get(question.agent)):
        sessions = sorted(of_client if sessions is None else of_client.intersection(sessions))
    elif question.agent is not None:
        agent_id, of_agent = question.agent, set(store.sessions.of_agent(question.agent))
        sessions = sorted(of_agent if sessions is None else of_agent.intersection(sessions))
    return Filter(
        question.scope,
        before_ms=question.before_ms,
        since_ms=question.since_ms,
        sessions=sessions,
        kinds=[name for name in types if name in events.KINDS] if types else None,
        memory_types=[name for name in types if name in memories.TYPES] if types else None,
        agent=question.agent,
        agent_id=agent_id,
        subsystem=part,
    )


def _lifted(found: Sequence[Found], ranked: Sequence[RankedMemory], taught: Mapping[str, set[int]]) -> list[Found]:
    """Exchanges, best first, when each counts more for the best memory that was learnt from it."""
    rows = {row.exchange: row for row in found if row.exchange}
    for item in ranked:
        for row in filter(None, [rows.pop(exchange, None) for exchange in taught.get(item.memory.id, ())]):
            factor = 1 + LIFT * item.value
            row.score, row.adjustments = min(1.0, row.score * factor), {**row.adjustments, "memory": factor}
    return sorted(found, key=lambda row: -row.score)


def _memories(
    store: Store,
    situation: Situation,
    limit: int,
    ranked: Sequence[RankedMemory],
    events_found: Sequence[Found],
    taught: Mapping[str, set[int]],
) -> list[Found]:
    """Memories beside events, few enough to leave room for these.

    What was kept by hand stands before what it cites. What was learnt from an exchange that answers is that exchange's
    row, where that says as much of the question; else, and from another one, it counts DISTILLED_WORTH. Of what a
    memory cites that comes first whose session answers best.
    """
    phrases, terms = phrases_in(situation.asked), set(situation.terms)
    ranked = [item for item in ranked if all(phrase in plain_words(item.memory.text) for phrase in phrases)]
    apart: list[RankedMemory] = []
    weights = {term: situation.weights.windows[term] for term in situation.terms}
    for item in ranked:
        row = next((row for row in events_found if row.exchange in taught.get(item.memory.id, ())), None)
        if row is not None:
            row.memories.append(item.memory.id)
        if row is None or share_of(item.memory.text.lower(), weights) > share_of(row.passage.lower(), weights):
            apart.append(item)
    scores = {item.id: item.score for item in events_found}
    told = dict.fromkeys(item.event.session for item in events_found if item.event is not None)
    sessions = {session: rank for rank, session in enumerate(told)}
    found = []
    for item in not_crowding(apart, len(events_found), limit):
        score, factors = before_evidence(item.memory, item.score, scores), item.adjustments
        put_likely_evidence_first(store, item.memory, sessions)
        if score > item.score > 0:
            factors = {**factors, "evidence": score / item.score}
        if events_found and is_distilled(item.memory):
            score, factors = score * DISTILLED_WORTH, {**factors, "distilled": DISTILLED_WORTH}
        passage = best_passage(item.memory.text, terms, ROW_CHARS)
        found.append(
            Found(score, {TIER: item.value}, passage, memory=item.memory, strength=item.strength, adjustments=factors)
        )
    return found


def _later_first(store: Store, found: list[Found], then_ms: int | None) -> None:
    """Lets answers say what a later memory changed, and puts that memory, or the exchange it is from, before them."""
    overruled = store.reviews.overruled([item.exchange for item in found if item.exchange], then_ms)
    for item in list(found):
        if (memory := overruled.get(item.exchange)) is not None and memory.id not in item.memories:
            item.later = memories.later_said(memory.key, memory.said_ms or memory.created_ms, memory.text)
        said = item.memory.later[1] if item.memory is not None and item.memory.later else item.later
        newer = next((one for one in found if said and any(name in said for name in (one.id, *one.memories))), None)
        if newer is not None and found.index(newer) > found.index(item):
            found.remove(newer)
            found.insert(found.index(item), newer)


def _tell_fixes(found: Sequence[Found], kept: Sequence[Memory]) -> None:
    """Lets what failed begin with what is known of it, how it was mended, where no answer says so by itself."""
    apart = {item.memory.id for item in found if item.memory is not None}
    known = [one for one in kept if one.type == "failure" and one.id not in apart]
    told = {ident: one.text for one in known for ident in one.evidence}
    for item in found:
        if item.event is not None and item.event.id in told:
            item.passage = f"{told[item.event.id]}{BETWEEN}{item.passage}"


def _mark_unmerged(store: Store, scope: Scope, found: Sequence[Found]) -> None:
    """Lets answers say that they are of a branch which is not merged, and counts them less."""
    unmerged, factor = Unmerged(store, scope), 1 / (1 + UNMERGED_WEIGHT)
    for item in found:
        item.unmerged = unmerged.of(item.event, item.memory)
        if item.unmerged:
            item.score, item.adjustments = item.score * factor, {**item.adjustments, "branch": factor}


def _taught_by(store: Store, item: RankedMemory) -> Iterator[int]:
    """The exchanges (the rows of their prompts) that a distilled memory was learnt from; of others none."""
    for ident in item.memory.evidence if is_distilled(item.memory) else ():
        for event in store.log.find(ident, 1):
            yield store.log.opening(event.row) or event.row
