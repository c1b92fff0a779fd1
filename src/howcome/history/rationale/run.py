"""Writing rationales of what is new, a piece at a time: by rules, then by a model where there is one.

The rules look through sessions with events after their cursor, and write (or write anew) what their exchanges are of;
a session's cursor moves with the last of them. A model is then asked for rationales that only the rules wrote, the
newest first, once for each exchange: whatever it refuses or fails at, the rules' words stand until it says better.
An exchange that has grown since is written anew by the rules, and the model may be asked again.

Everything follows from the events: the same transcripts give the same rationales, and a second run adds nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

from howcome.domain import events
from howcome.domain.rationales import KEY_BYTES, NewRationale, Rationale, Unasked, UnreadSession
from howcome.domain.spending import RATIONALE
from howcome.domain.stored import Scope
from howcome.history.rationale.model import Asking
from howcome.history.rationale.rules import AUTHOR, LOOKBACK, by_rules, may_have
from howcome.learn.base import Exchange, Pace, stream_of
from howcome.providers.llm import LIMIT_SETTING, open_model
from howcome.redact.redactor import Redactor
from howcome.settings import Settings
from howcome.store.base import Store

Rest = Callable[[], bool]

EXCHANGES_A_PIECE = 20
"""So many exchanges are read and written at a time: their texts are in memory meanwhile."""

QUIET_MS = 10 * 60_000
"""A model is asked for a session's last exchange when nothing has come to it for so long: it may still grow."""


@dataclass(slots=True, eq=False)
class RationaleReport:
    """What a run did.

    Attributes:
        sessions: How many were looked through. `added`: exchanges that have a rationale now and had none.
        replaced: Those whose rationale says something else now.
        asked: How many a model was asked for; `by_model`: how many it wrote.
        problem: Why it was not asked for the rest, '' when it was.
        is_whole: Whether nothing is left to do for the rules.
    """

    sessions: int = 0
    added: int = 0
    replaced: int = 0
    asked: int = 0
    by_model: int = 0
    problem: str = ""
    is_whole: bool = True
    seconds: float = 0.0


class Rationales:
    """Writes rationales of what is stored."""

    def __init__(
        self, store: Store, now_ms: Callable[[], int], asking: Callable[[], Asking | None] = lambda: None
    ) -> None:
        self._store, self._now_ms, self._open_asking = store, now_ms, asking
        self._key = bytes(store.meta("key"))  # type: ignore[call-overload]
        self._redactor = Redactor(self._key)

    def due(self, scope: Scope | None = None, since_ms: int | None = None) -> list[UnreadSession]:
        """Sessions that the rules have not looked through."""
        return self._store.rationales.unread_sessions(AUTHOR, scope or Scope.everything(), since_ms)

    def run(
        self,
        scope: Scope | None = None,
        since_ms: int | None = None,
        *,
        rest: Rest = lambda: True,
        most_asked: int | None = None,
        on_session: Callable[[int], None] = lambda _number: None,
    ) -> RationaleReport:
        """Writes what is missing, as `learn.run` distils it.

        `most_asked` is how many a model may be asked for in this run (None: as many as its budget allows).
        """
        report, pace, last_row = RationaleReport(), Pace(rest), self._store.log.last_position()
        scope = scope or Scope.everything()
        for number, due in enumerate(self.due(scope, since_ms), 1):
            report.is_whole = self._session(due, report, pace)
            on_session(number)
            report.is_whole = report.is_whole and pace.goes_on()
            if not report.is_whole:
                break
        else:
            if scope.is_everything and since_ms is None:
                self._store.rationales.mark(AUTHOR, last_row)
            self._ask(scope, since_ms, report, pace, most_asked)
        report.seconds = pace.seconds
        return report

    def said_now(self, session: int, prompt: int) -> str:
        """What the rules say of an exchange (rows of its session and its prompt), written or not; '': nothing."""
        stream = self._stream(session)
        for place in (place for place, one in enumerate(stream) if one.first.row == prompt):
            said = self._by_rules(self._whole(stream, [place]), place)
            return said.text if said is not None else ""
        return ""

    # -- by rules --------------------------------------------------------------------------------------------------
    def _session(self, due: UnreadSession, report: RationaleReport, pace: Pace) -> bool:
        """One session's new exchanges, some at a time; False when it had to end before the last of them."""
        stream = self._stream(due.row)
        new = [any(row > due.after_row for row in exchange.rows) for exchange in stream]
        wanted = [place for place in range(len(stream)) if any(new[max(0, place - LOOKBACK) : place + 1])]
        for begin in range(0, max(1, len(wanted)), EXCHANGES_A_PIECE):
            is_last = begin + EXCHANGES_A_PIECE >= len(wanted)
            piece = wanted[begin : begin + EXCHANGES_A_PIECE]
            likely = [place for place in piece if may_have(stream[place])]
            whole = self._whole(stream, likely)
            said = {place: self._by_rules(whole, place) for place in likely}
            written = [self._placed(stream[place], said.get(place)) for place in piece]
            added, replaced = self._store.rationales.record(due, AUTHOR, written, is_whole=is_last)
            report.added += added
            report.replaced += replaced
            if not is_last and not pace.goes_on():
                return False
        report.sessions += 1
        return True

    def _stream(self, session: int) -> list[Exchange]:
        """The main agent's exchanges that begin with a prompt of this session, each with what is of its project."""
        told = [event for event in self._store.log.session(session) if event.row > 0 and event.agent_id is None]
        found: list[Exchange] = []
        for exchange in stream_of(told):
            prompt = exchange.prompt
            if prompt is not None and self._store.sessions.of_event(prompt.row) == session:
                own = [event for event in exchange.events if event.project == prompt.project]
                found.append(Exchange(prompt, own))
        return found

    def _whole(self, stream: Sequence[Exchange], wanted: Sequence[int]) -> dict[int, Exchange]:
        """The exchanges at these places and those before them, with all texts but those of results."""
        exchanges: dict[int, Exchange] = {}
        for place in wanted:
            exchanges |= {near: stream[near] for near in range(max(0, place - LOOKBACK), place + 1)}
        said_or_called = (*events.TURN_KINDS, events.TOOL_CALL)
        rows = [event.row for one in exchanges.values() for event in one.all_events if event.kind in said_or_called]
        found = self._store.log.events(rows, with_text=True)
        told = {place: [found.get(event.row, event) for event in one.all_events] for place, one in exchanges.items()}
        return {place: Exchange(prompt, events) for place, (prompt, *events) in told.items()}

    def _by_rules(self, whole: dict[int, Exchange], place: int) -> Rationale | None:
        return self._checked(by_rules(whole[place], [whole[near] for near in range(max(0, place - LOOKBACK), place)]))

    def _placed(self, exchange: Exchange, rationale: Rationale | None) -> NewRationale:
        prompt, last = exchange.first, max(exchange.all_events, key=lambda event: (event.order_ms, event.row))
        return NewRationale(
            rationale_key(self._key, prompt.key), prompt.row, max(exchange.rows),
            ts_ms=last.ts_ms, order_ms=last.order_ms, rationale=rationale,
        )  # fmt: skip

    def _checked(self, rationale: Rationale | None) -> Rationale | None:
        """A rationale that holds no secret: what it quotes is redacted already, its pieces are looked at together."""
        if rationale is not None:
            rationale.text = self._redactor.redact(rationale.text)
        return rationale

    # -- by a model ------------------------------------------------------------------------------------------------
    def _ask(self, scope: Scope, since_ms: int | None, report: RationaleReport, pace: Pace, most: int | None) -> None:
        asking = self._open_asking() if most != 0 else None
        if asking is None:
            return
        left = -1 if most is None else most
        streams: dict[int, list[Exchange]] = {}
        for unasked in self._store.rationales.to_ask(asking.name, scope, since_ms, -1):
            if not left or not pace.goes_on():
                return
            if unasked.session not in streams:
                streams = {unasked.session: self._stream(unasked.session)}
            exchange = self._settled(streams[unasked.session], unasked)
            if exchange is None:
                continue
            said = asking.rationale(exchange)
            if asking.problem:
                report.problem = asking.problem
                return
            rationale = self._checked(said)
            left, report.asked = left - 1, report.asked + 1
            report.by_model += self._store.rationales.replace(unasked, asking.name, rationale) and rationale is not None

    def _settled(self, stream: Sequence[Exchange], unasked: Unasked) -> Exchange | None:
        """The exchange with whole texts; None when it has grown, or may still do so."""
        place = next((place for place, one in enumerate(stream) if one.first.row == unasked.prompt_row), None)
        if place is None or max(stream[place].rows) != unasked.last_row:
            return None
        if place == len(stream) - 1 and self._now_ms() - stream[place].ts_ms < QUIET_MS:
            return None
        return self._whole(stream, [place])[place]


def rationale_key(key: bytes, prompt: bytes) -> bytes:
    """What the rationale of an exchange is known by: a keyed hash of what its prompt is known by."""
    return blake2b(prompt, digest_size=KEY_BYTES, key=key, person=b"rationale").digest()


def open_rationales(store: Store, settings: Settings, now_ms: Callable[[], int], known_as: str) -> Rationales:
    """What writes rationales; without a budget no model is asked."""

    def asking() -> Asking | None:
        if settings.distiller != "llm" or settings.llm_daily_calls < 1 or settings.llm_daily_tokens < 1:
            return None  # a model that is there for searches writes nothing; no budget is the default
        limit_s = settings.llm_deadline_s
        model = open_model(settings, store.spending, RATIONALE, limit_s=limit_s, limit_setting=LIMIT_SETTING)
        if model is None:
            return None
        redactor = Redactor(bytes(store.meta("key")))  # type: ignore[call-overload]
        return Asking(model, store, redactor.redact, now_ms, known_as)

    return Rationales(store, now_ms, asking)
