"""Distilling by a language model, beside the sources: batches are closed, then a model is asked for each.

The newest session comes first, and of a session its first batch: the next one is shown what was learnt from it. The
sources distil everything, whatever becomes of a model; it is shown what they made of a session, and says what else is
worth knowing, what is better said otherwise, and what is not worth keeping. A batch waits until a model was asked with
success: over its budget, paused or killed it goes on waiting. What a model fails at is put aside, and waits until
somebody asks for it again.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from howcome.clients.spool import locked
from howcome.domain import events
from howcome.domain.distil_batches import MAX_FAILURES, PENDING, Batch, MemoryChange
from howcome.domain.events import squeeze
from howcome.domain.memories import MemoryFilter
from howcome.domain.spending import DISTIL
from howcome.domain.stored import Scope
from howcome.errors import OverBudgetError, ProviderError, StoreLockedError, WrongShapeError
from howcome.learn.batches import MOST_CHARS, TOOL_CHARS, close_batches
from howcome.learn.llm import SCHEMA, Shown, remembered
from howcome.learn.meaning import Meaning
from howcome.learn.operations import REASON_CHARS, SenselessError, Weighing, proposals_in
from howcome.providers.http_post import RefusedError, TryLaterError
from howcome.providers.llm import LIMIT_SETTING, open_model
from howcome.providers.llm_adapter import DeclinedError, NotYetError
from howcome.providers.spending import MeteredModel
from howcome.redact.redactor import Redactor
from howcome.settings import ACTIVE, Settings
from howcome.store.base import Store

Rest = Callable[[], bool]

LOCK_NAME = "distil.lock"
"""Whoever asks a model holds it: two that distil do not pay for the same batch. The kernel gives it back at death."""

MOST_FAILURES = 3
"""After so many failures in a row the model is left alone: it is not these batches that it fails at."""

MAX_MEMORIES = 1_000_000
STOPPED = "stopped: `howcome spending --go` allows the language model to be asked again"
EMBEDDED_CHARS = 1000
_ABOUT_THE_QUESTION = (400, 413, 415, 422)
"""Statuses that mean the question itself; others mean the key, the address, or the moment."""


@dataclass(slots=True, eq=False)
class ModelReport:
    """What a run did.

    Attributes:
        asked: Batches that a model was asked for; `done`: those whose answer was used; `dead`: those put aside.
        added, updated, forgotten: Memories. `duplicates`: answers that say what is known.
        contradictions: Pairs on the review list. `rejected`: operations that were not done, by reason.
        waiting: Batches that still wait; `problem`: why, '' when they only wait for the next run.
        pause_s: How long the model is left alone because of it.
        is_whole: Whether it came to its end.
    """

    asked: int = 0
    done: int = 0
    dead: int = 0
    waiting: int = 0
    added: int = 0
    updated: int = 0
    forgotten: int = 0
    duplicates: int = 0
    contradictions: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    problem: str = ""
    pause_s: int = 0
    is_whole: bool = True


class ModelDistillation:
    """Distils batches by a model.

    `model` opens it when it is needed (None from it: there is none); a pause of it is kept by `known_as`. `meaning`
    gives what tells what is near by meaning; None from it: by words only.
    """

    def __init__(
        self,
        store: Store,
        model: Callable[[], MeteredModel | None],
        now_ms: Callable[[], int],
        known_as: str,
        meaning: Callable[[], Meaning | None] = lambda: None,
    ) -> None:
        self._store, self._open_model, self._now_ms, self._known_as = store, model, now_ms, known_as
        self._meaning = meaning
        self._key = bytes(store.meta("key"))  # type: ignore[call-overload]
        self._redactor = Redactor(self._key)
        self._failures, self._later = 0, ""

    def run(
        self,
        scope: Scope | None = None,
        since_ms: int | None = None,
        *,
        rest: Rest = lambda: True,
        most_asked: int | None = None,
        wait_s: float = 0.0,
        on_batch: Callable[[int, int], None] = lambda *_: None,
    ) -> ModelReport:
        """Closes batches and asks the model for those that wait, in a scope and so on as `learn.run` distils.

        `most_asked` is how many batches it may be asked for (None: as many as its budget allows), `wait_s` how long to
        wait while another process asks; `on_batch` is told after each how many are done, and of how many.
        """
        report, scope = ModelReport(), scope or Scope.everything()
        try:
            model = self._open_model()
        except ProviderError as error:  # a setting is wrong, or allows nothing, which `doctor` says, too
            report.problem, report.waiting = str(error), self._store.distil_batches.counts()[PENDING]
            return report
        if model is None:
            return report
        report.is_whole = self._close(scope, since_ms, rest)
        tried: dict[int, int] = {}
        while report.is_whole and (most_asked is None or report.asked < most_asked):
            with self._asking(wait_s) as is_ours:
                if not is_ours:
                    report.problem = "another process is asking the model"
                    break
                report.problem, report.pause_s = self._pause()
                pending = self._store.distil_batches.pending(scope, since_ms)
                left = {tried[one.row] for one in pending if one.row in tried}
                waiting = [one for one in pending if one.session not in left]  # what follows waits for what is before
                if report.problem or not waiting:
                    break
                tried[waiting[0].row] = waiting[0].session
                self._ask(model, waiting[0], report, rest)
            on_batch(len(tried), len(tried) + len(waiting) - 1)
            if report.problem:
                break
            report.is_whole = rest()
        if self._later and not report.problem:
            self._leave_alone(self._later, 0.0, report)
        report.waiting = self._store.distil_batches.counts()[PENDING]
        return report

    def retry(self) -> int:
        """Lets dead batches be asked for again, and the model at once, if it was left alone; how many."""
        now_ms = self._now_ms()
        self._store.model_answers.pause(self._known_as, now_ms, now_ms, "")  # one that ends now is none
        return self._store.distil_batches.retry_dead()

    def _close(self, scope: Scope, since_ms: int | None, rest: Rest) -> bool:
        """Closes batches; False when it had to end before the last session."""
        last_row = self._store.log.last_position()
        for session in self._store.distil_batches.open_sessions(scope, since_ms):
            close_batches(self._store, session, self._now_ms())
            if not rest():
                return False
        if scope.is_everything and since_ms is None:
            self._store.distil_batches.mark(last_row)
        return True

    @contextmanager
    def _asking(self, wait_s: float) -> Iterator[bool]:
        """Whether nobody else asks a model for batches now; nobody else does until the block ends."""
        with ExitStack() as held:
            is_ours = False
            with suppress(StoreLockedError):
                held.enter_context(locked(os.path.join(os.path.dirname(self._store.path), LOCK_NAME), wait_s))
                is_ours = True
            yield is_ours

    # -- one batch -------------------------------------------------------------------------------------------------
    def _ask(self, model: MeteredModel, batch: Batch, report: ModelReport, rest: Rest) -> None:
        main_events = self._store.distil_batches.main_events
        told = main_events(batch.session, batch.first_row - 1, batch.last_row, with_text=True)
        wanted = MemoryFilter(with_forgotten=True, with_superseded=True)
        every = self._store.memories.select(Scope.project(batch.project_id), wanted, MAX_MEMORIES, oldest_first=True)
        known = [memory for memory in every if not memory.is_outside]
        before = main_events(batch.session, 0, batch.first_row - 1)
        meaning, said = self._meaning(), [event.text or "" for event in told if event.kind in events.TURN_KINDS]
        live = {memory.key: memory.text for memory in known if memory.is_live}
        near = meaning.nearest([text[:EMBEDDED_CHARS] for text in said], live, rest) if meaning else []
        shown = Shown(told, remembered(told, before, known, near), before)
        if not rest():
            report.is_whole = False
            return
        report.asked += 1
        root = dict(self._store.projects.roots())[batch.project_id]
        weighing = Weighing(self._key, self._redactor, batch.project_id, root, known)
        try:
            answer = model.complete(self._redactor.redact(shown.prompt()), SCHEMA)
            proposals = proposals_in(answer, shown, weighing.rejected)
        except ProviderError as error:
            self._failed(batch, error, report)
            return
        self._failures = 0
        changes = weighing.changes(proposals, shown, lambda new: meaning.near(new, rest) if meaning else None)
        self._finish(batch, model.name, changes, weighing.rejected, report)

    def _finish(
        self, batch: Batch, name: str, changes: list[MemoryChange], rejected: Counter[str], report: ModelReport
    ) -> None:
        applied = self._store.distil_batches.finish(batch, name, changes, self._now_ms())
        if applied is None:  # another process was faster
            return
        report.done += 1
        for counted in ("added", "updated", "forgotten", "duplicates", "contradictions"):
            setattr(report, counted, getattr(report, counted) + getattr(applied, counted))
        report.rejected.update(rejected, **({"gone": applied.gone} if applied.gone else {}))

    # -- failures --------------------------------------------------------------------------------------------------
    def _failed(self, batch: Batch, error: ProviderError, report: ModelReport) -> None:
        """What is the batch's fault is counted as such; a model that is down, or refuses everything, is left alone."""
        problem = squeeze(self._redactor.redact(str(error)), REASON_CHARS)
        if isinstance(error, OverBudgetError):
            report.asked -= 1
            report.problem = problem
            return
        if isinstance(error, NotYetError):
            self._later = problem
            return
        is_dead = isinstance(error, WrongShapeError | SenselessError)
        if is_dead or _is_about(error):
            is_dead = is_dead or batch.failures + 1 >= MAX_FAILURES
            self._store.distil_batches.fail(batch, problem, is_dead=is_dead)
            report.dead += is_dead
            self._failures += 1
            if self._failures < MOST_FAILURES:
                return
        self._leave_alone(problem, getattr(error, "wait_s", 0.0), report)

    def _leave_alone(self, problem: str, wait_s: float, report: ModelReport) -> None:
        pause_ms = self._store.model_answers.leave_alone(self._known_as, self._now_ms(), wait_s, problem)
        report.problem, report.pause_s = problem, pause_ms // 1000

    def _pause(self) -> tuple[str, int]:
        """Why the model is left alone now, and for how many seconds (0 until somebody allows it again); ('', 0) when it
        is not. A stop comes before failures, which it outlasts.
        """  # noqa: D205 - one sentence
        if self._store.spending.stopped_ms() is not None:
            return STOPPED, 0
        now_ms = self._now_ms()
        pause = self._store.model_answers.left_alone(self._known_as, now_ms)
        return (pause[1], (pause[0] - now_ms + 999) // 1000) if pause is not None else ("", 0)


def _is_about(error: ProviderError) -> bool:
    """Whether a failure may be about the question: declined, too long, or no answer in time."""
    if isinstance(error, DeclinedError):
        return error.is_about_question
    if isinstance(error, RefusedError):
        return error.status in _ABOUT_THE_QUESTION
    cause = getattr(error.__cause__, "reason", error.__cause__)
    return isinstance(error, TryLaterError) and isinstance(cause, TimeoutError)


CHARS_A_TOKEN, CHARS_AN_EVENT = 4, 20
TOKENS_A_CALL, ANSWER_TOKENS = 2200, 1500
"""Of the question, the form of the answer and memories; and of an answer with some eight notes."""


def open_batches(
    store: Store,
    settings: Settings,
    now_ms: Callable[[], int],
    known_as: str,
    meaning: Callable[[], Meaning | None] = lambda: None,
) -> ModelDistillation:
    """What asks a model for batches; without a budget, or within an agent that howcome started, it asks nobody, and
    reports why.
    """  # noqa: D205 - one sentence

    def model() -> MeteredModel | None:
        why = not_allowed(settings)
        if why:
            raise ProviderError(why)
        limit_s = settings.llm_deadline_s
        return open_model(settings, store.spending, DISTIL, limit_s=limit_s, limit_setting=LIMIT_SETTING)

    return ModelDistillation(store, model, now_ms, known_as, meaning)


class Estimate(NamedTuple):
    """What asking a model for a whole history takes."""

    sessions: int
    calls: int
    tokens_in: int
    tokens_out: int


def estimated(store: Store) -> Estimate:
    """What asking a model for everything that is stored takes; of 28 sessions it is right to a twentieth."""
    sizes = store.distil_batches.session_sizes()
    calls = sum(1 + (said_chars + others * TOOL_CHARS) // MOST_CHARS for said_chars, others in sizes)
    read_chars = sum(said_chars + others * CHARS_AN_EVENT for said_chars, others in sizes)
    tokens_in = read_chars // CHARS_A_TOKEN + calls * TOKENS_A_CALL
    return Estimate(len(sizes), calls, tokens_in, calls * ANSWER_TOKENS)


def not_allowed(settings: Settings) -> str:
    """Why no model may be asked for batches, and which setting changes it; '' when one may."""
    if settings.llm == "off":
        return "distiller is llm, and llm is off: set llm and llm_model, llm_daily_calls and llm_daily_tokens"
    if os.environ.get(ACTIVE):
        return f"an agent that howcome started asks no model ({ACTIVE} is set)"
    caps = ("llm_daily_calls", settings.llm_daily_calls), ("llm_daily_tokens", settings.llm_daily_tokens)
    zero = " and ".join(name for name, most in caps if most < 1)  # the default
    return f"the language model may spend nothing: set {zero} above 0" if zero else ""
