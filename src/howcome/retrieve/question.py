"""A question with everything that narrows it, and its answers: events and memories side by side, best first."""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import events, memories
from howcome.domain.stored import Filter, Found
from howcome.domain.text import best_passage
from howcome.errors import UsageError
from howcome.retrieve.memories import (
    TIER,
    before_evidence,
    not_crowding,
    put_likely_evidence_first,
    search_memories,
)
from howcome.retrieve.ranking import SHIPPED
from howcome.retrieve.rationales import rationale_answers
from howcome.retrieve.reading import session_by_id
from howcome.retrieve.search import Searcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Scope, StoredEvent
    from howcome.retrieve.memories import RankedMemory
    from howcome.retrieve.outside import Outside
    from howcome.retrieve.ranking import Ranking
    from howcome.retrieve.rerank import Reranking
    from howcome.retrieve.situation import Candidate, Ranked, Situation
    from howcome.store.base import Store, Vectors

PASSAGE_CHARS = 600
PROMPT_CHARS = 200
OVERFETCH = 3
"""Rows asked for an answer: those that only stand beside the words of another one are left out."""

MAX_CONCEPTS = 8
TYPES = (*events.SEARCHED_KINDS, events.RATIONALE, *memories.TYPES)
"""What an answer may be asked to be: a kind of event or a type of memory."""


class Question:
    """What is asked, and of what.

    Attributes:
        concepts: One text, or several that must all be in an answer's exchange (each with all its words).
        scope: Whose events and memories may answer.
        limit: At most so many answers.
        by_session: Sessions are ranked, not passages; memories have none.
        types: Only these (of TYPES).
        session: Only this session (any unique beginning of its id, see `reading.session_by_id`; memories are of none).
        agent: Only this agent's: a client (claude-code, codex, …), a subagent's id, or the owner of memories.
        subsystem: Only what is about this part of the project: a workspace package, or a folder.
        before_ms: Only what is older; `since_ms`: only what is not.
        explained: Every answer says why it is there (`Found.explanation`).
    """

    __slots__ = (
        "agent", "before_ms", "by_session", "concepts", "explained", "limit", "scope", "session", "since_ms",
        "subsystem", "types",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - each narrows by itself
        self,
        concepts: str | Sequence[str],
        scope: Scope,
        *,
        limit: int = 10,
        by_session: bool = False,
        types: Sequence[str] = (),
        session: str | None = None,
        agent: str | None = None,
        subsystem: str | None = None,
        before_ms: int | None = None,
        since_ms: int | None = None,
        explained: bool = False,
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
        self.scope, self.limit, self.by_session, self.types = scope, limit, by_session, tuple(types)
        self.session = None if session is None else clean_text(session)
        self.agent = None if agent is None else clean_text(agent)
        self.subsystem = None if subsystem is None else clean_text(subsystem)
        self.before_ms, self.since_ms, self.explained = before_ms, since_ms, explained


def answer(
    store: Store,
    question: Question,
    *,
    now_ms: int,
    ranking: Ranking | None = None,
    vectors: Vectors | None = None,
    outside: Outside | None = None,
    reranking: Reranking | None = None,
) -> list[Found]:
    """The best answers, best first.

    Raises:
        NotFoundError: there is no such session, or several.
    """
    ranking = ranking or SHIPPED
    searcher = Searcher(store, ranking, vectors, outside)
    wanted = _filter(store, question)
    asks_events = wanted.sessions != () and (not question.types or bool(wanted.kinds))
    asks_memories = not question.by_session and question.session is None and wanted.memory_types != []
    text = "\n".join(question.concepts)
    situation = searcher.situation(
        text, wanted, group_by_session=question.by_session, with_tools=not question.by_session
    )
    required = [store.index.analyze(concept) for concept in question.concepts] if len(question.concepts) > 1 else []
    required = [group for group in required if group]
    now_ms = question.before_ms or now_ms
    limit = question.limit if reranking is None else reranking.breadth(question.limit)
    found: list[Found] = []
    if asks_events:
        more = 1 if question.by_session else OVERFETCH
        ranked = searcher.search(situation, limit=more * limit, now_ms=now_ms, required=required)
        found += _Events(store, situation.terms, ranked, limit).answers(by_session=question.by_session)
    if events.RATIONALE in question.types and wanted.sessions != ():
        found += rationale_answers(store, searcher, situation, limit=limit, now_ms=now_ms, required=required)
    if asks_memories:
        kept = search_memories(store, situation, limit=limit, now_ms=now_ms, required=required, vectors=vectors)
        found = _memories(store, situation, limit, kept, found) + found  # first where both score the same
    found = sorted(found, key=lambda item: -item.score)[:limit]
    if reranking is not None:
        found = reranking.reordered(text, found)[: question.limit]
    if question.explained:
        from howcome.retrieve.explain import explain

        explain(store, situation, found, reranking.weights(ranking.weights) if reranking else ranking.weights)
    return found


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
    if question.agent is not None and question.agent in store.sessions.clients():
        of_client = set(store.sessions.of_client(question.agent))
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


class _Events:
    """Ranked rows as answers, each with the passage that shows why.

    A row may be found by what stands before it in its window, or by its exchange. Of an exchange such rows come once,
    and show the prompt that opened it; rows that hold the words themselves all come.
    """

    def __init__(self, store: Store, terms: Sequence[str], ranked: Sequence[Ranked], limit: int) -> None:
        self._store, self._terms, self._ranked, self._limit = store, set(terms), ranked, limit
        self._known: dict[int, StoredEvent] = {}

    def answers(self, *, by_session: bool) -> list[Found]:
        """The rows that are told apart by something, best first, at most the limit."""
        found: list[Found] = []
        seen: set[int] = set()
        for place, item in enumerate(self._ranked):
            if len(found) == self._limit:
                break
            if place % self._limit == 0:
                self._read([other.candidate for other in self._ranked[place : place + self._limit]])
            event, exchange = self._known.get(item.candidate.row), item.candidate.exchange
            if event is None:
                continue
            passage = self._passage(event)
            if not self._holds(passage):
                if exchange in seen and not by_session:
                    continue
                passage = self._after_prompt(event, exchange, passage)
            seen.add(exchange)
            found.append(
                Found(
                    item.score, item.tiers, passage, event=event, strength=item.strength, adjustments=item.adjustments
                )
            )
        return found

    def _read(self, candidates: Sequence[Candidate]) -> None:
        """Rows and the prompts that opened their exchanges; whole texts only of turns: a tool's result may be long."""
        wanted = {row for candidate in candidates for row in (candidate.row, candidate.exchange)} - set(self._known)
        self._known |= self._store.log.turns(wanted)

    def _passage(self, event: StoredEvent) -> str:
        if event.kind not in events.TURN_KINDS:
            return event.excerpt
        return best_passage(event.text or event.excerpt, self._terms, PASSAGE_CHARS)

    def _holds(self, passage: str) -> bool:
        words = passage.casefold()
        return any(term in words for term in self._terms)

    def _after_prompt(self, event: StoredEvent, exchange: int, passage: str) -> str:
        opening = self._known.get(exchange)
        if opening is None or opening.row == event.row or opening.project != event.project:
            return passage
        prompt = best_passage(opening.text or opening.excerpt, self._terms, PROMPT_CHARS)
        return f"{prompt} → {passage}"[:PASSAGE_CHARS]


def _memories(
    store: Store, situation: Situation, limit: int, ranked: Sequence[RankedMemory], events_found: Sequence[Found]
) -> list[Found]:
    """Memories beside events: before those that they cite, and few enough to leave room for the others.

    Of what one cites that comes first whose session answers the question best.
    """

    def shown(item: RankedMemory) -> str:
        return best_passage(item.memory.text, set(situation.terms), PASSAGE_CHARS)

    scores = {item.id: item.score for item in events_found}
    told = dict.fromkeys(item.event.session for item in events_found if item.event is not None)
    sessions = {session: rank for rank, session in enumerate(told)}
    found = []
    for item in not_crowding(ranked, len(events_found), limit):
        score, factors = before_evidence(item.memory, item.score, scores), item.adjustments
        put_likely_evidence_first(store, item.memory, sessions)
        if score > item.score > 0:
            factors = {**factors, "evidence": score / item.score}
        found.append(
            Found(
                score,
                {TIER: item.value},
                shown(item),
                memory=item.memory,
                strength=item.strength,
                adjustments=factors,
            )
        )
    return found
