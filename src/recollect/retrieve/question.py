"""A question with everything that narrows it, and its answers: events and memories side by side, best first."""

from __future__ import annotations

from recollect.capture.decode import clean_text
from recollect.domain import events, memories
from recollect.domain.stored import Filter, Found
from recollect.domain.text import best_passage
from recollect.errors import UsageError
from recollect.retrieve.memories import TIER, search_memories
from recollect.retrieve.search import Searcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.domain.stored import Scope
    from recollect.retrieve.memories import RankedMemory
    from recollect.retrieve.situation import Ranked, Situation
    from recollect.store.base import Store

PASSAGE_CHARS = 600
MAX_CONCEPTS = 8
TYPES = (*events.SEARCHED_KINDS, *memories.TYPES)
"""What an answer may be asked to be: a kind of event or a type of memory."""


class Question:
    """What is asked, and of what.

    Attributes:
        concepts: One text, or several that must all be in an answer's exchange (each with all its words).
        scope: Whose events and memories may answer.
        limit: At most so many answers.
        by_session: Sessions are ranked, not passages; memories have none.
        types: Only these (of TYPES).
        session: Only this session (any unique beginning of its id; its memories are of no session).
        agent: Only this agent's: a client (claude-code, codex, …) or the owner of memories.
        before_ms: Only what is older; `since_ms`: only what is not.
    """

    __slots__ = ("agent", "before_ms", "by_session", "concepts", "limit", "scope", "session", "since_ms", "types")

    def __init__(  # noqa: PLR0913 - each narrows by itself
        self, concepts: str | Sequence[str], scope: Scope, *, limit: int = 10, by_session: bool = False,
        types: Sequence[str] = (), session: str | None = None, agent: str | None = None,
        before_ms: int | None = None, since_ms: int | None = None,
    ) -> None:  # fmt: skip
        """Keeps the parts.

        Raises:
            UsageError: no words, too many concepts, or an unknown type.
        """
        named = [concepts] if isinstance(concepts, str) else list(concepts)
        self.concepts = [clean_text(concept) for concept in named]
        if len(self.concepts) > MAX_CONCEPTS:
            raise UsageError(f"at most {MAX_CONCEPTS} concepts at once, these are {len(self.concepts)}")
        unknown = [name for name in types if name not in TYPES]
        if unknown:
            raise UsageError(f"{unknown[0]!r} is no type; choose {', '.join(TYPES)}")
        self.scope, self.limit, self.by_session, self.types = scope, limit, by_session, tuple(types)
        self.session, self.agent, self.before_ms, self.since_ms = session, agent, before_ms, since_ms


def answer(store: Store, question: Question, *, now_ms: int) -> list[Found]:
    """The best answers, best first."""
    searcher = Searcher(store)
    wanted = _filter(store, question)
    asks_events = wanted.sessions != () and (not question.types or bool(wanted.kinds))
    asks_memories = not question.by_session and question.session is None and wanted.memory_types != []
    text = "\n".join(question.concepts)
    situation = searcher.situation(
        text, wanted, group_by_session=question.by_session, with_tools=not question.by_session
    )
    required = [store.analyze(concept) for concept in question.concepts] if len(question.concepts) > 1 else []
    required = [group for group in required if group]
    now_ms = question.before_ms or now_ms
    found: list[Found] = []
    if asks_events:
        ranked = searcher.search(situation, limit=question.limit, now_ms=now_ms, required=required)
        found += _events(store, ranked, text)
    if asks_memories:
        found += _memories(store, situation, question.limit, now_ms, required)
    return sorted(found, key=lambda item: -item.score)[: question.limit]


def _filter(store: Store, question: Question) -> Filter:
    types = question.types
    sessions: list[int] | None = None
    if question.session is not None:
        sessions = [row for row, _, _ in store.find_sessions(question.session)]
    if question.agent is not None and question.agent in store.clients():
        of_client = set(store.sessions_of_client(question.agent))
        sessions = sorted(of_client if sessions is None else of_client.intersection(sessions))
    elif question.agent is not None:
        sessions = []
    return Filter(
        question.scope, before_ms=question.before_ms, since_ms=question.since_ms, sessions=sessions,
        kinds=[name for name in types if name in events.KINDS] if types else None,
        memory_types=[name for name in types if name in memories.TYPES] if types else None, agent=question.agent,
    )  # fmt: skip


def _events(store: Store, ranked: list[Ranked], text: str) -> list[Found]:
    rows = store.events_by_row([item.candidate.row for item in ranked], with_text=True)
    words = set(store.analyze(text))
    found = []
    for item in ranked:
        event = rows.get(item.candidate.row)
        if event is not None:
            passage = event.excerpt
            if event.kind in events.TURN_KINDS:
                passage = best_passage(event.text or event.excerpt, words, PASSAGE_CHARS)
            found.append(Found(item.score, item.tiers, passage, event=event))
    return found


def _memories(
    store: Store, situation: Situation, limit: int, now_ms: int, required: Sequence[Sequence[str]]
) -> list[Found]:
    def shown(item: RankedMemory) -> str:
        return best_passage(item.memory.text, set(situation.terms), PASSAGE_CHARS)

    ranked = search_memories(store, situation, limit=limit, now_ms=now_ms, required=required)
    return [Found(item.score, {TIER: item.strength}, shown(item), memory=item.memory) for item in ranked]
