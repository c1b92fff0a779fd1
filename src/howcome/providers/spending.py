"""The one way to ask a language model: each call is reserved in the ledger before it is made, and settled after."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from socket import gaierror
from typing import Protocol
from urllib.error import URLError

from howcome.domain.personal_data import without_personal_data
from howcome.domain.spending import BAD_ANSWER, FAILED, OK, REFUSED, TIMEOUT, Call, Caps, Usage, estimated_tokens
from howcome.errors import OverBudgetError, ProviderError, StoreError, WrongShapeError
from howcome.providers.http_post import RefusedError, TryLaterError
from howcome.providers.llm_adapter import CutShortError, DeclinedError, FormRefusedError, ModelAdapter, Turn, answer_in

ATTEMPTS = 2
"""A model that twice answers in another shape than it was asked for will do so again."""

_NOTHING = Usage(0, 0)


class Ledger(Protocol):
    """Where calls are reserved and settled; the store is one. See `log.spending.Spending` for the contract."""

    def reserve(self, call: Call, caps: Caps, now_ms: int) -> tuple[int, str]:
        """The row of a call that may be made, or 0 and why it may not."""
        ...

    def settle(self, row: int, outcome: str, usage: Usage, charged: int, duration_ms: int) -> None:
        """What became of it."""
        ...


class MeteredModel:
    """A language model that spends what the ledger allows, and nothing else. Safe to be asked by several threads.

    It answers a prompt with one JSON object of a given shape; nothing says that it is true. An endpoint elsewhere is
    sent the prompt as it is: who asks redacts secrets first.

    Every attempt is a call of its own. A process that is killed between reservation and settlement has spent what it
    reserved.

    Args:
        adapter: How the model is asked.
        ledger: Where each call is written down.
        purpose: One of the four of `domain.spending`.
        caps: What may be spent a day.
        timeout_s: How long `complete` may take, all attempts included.
        limit_setting: The setting that says how long, for messages.
    """

    def __init__(
        self, adapter: ModelAdapter, ledger: Ledger, purpose: str, caps: Caps, timeout_s: float, limit_setting: str = ""
    ) -> None:
        self._adapter, self._ledger, self._purpose, self._caps = adapter, ledger, purpose, caps
        self.name, self.timeout_s, self._limit_setting = adapter.name, timeout_s, limit_setting

    def complete(self, prompt: str, schema: Mapping[str, object]) -> dict[str, object]:
        """The answer to a prompt, in the shape of the schema; asked a second time when it has another.

        Raises:
            OverBudgetError: it may not be asked; nobody was.
            ProviderError: it does not answer in time, refuses, or twice says something of another shape.
        """
        deadline, problem = time.monotonic() + self.timeout_s, ""
        turns = [Turn("user", without_personal_data(prompt.encode("utf-8", "replace").decode()))]
        for _ in range(ATTEMPTS):
            try:
                said, value, problem = self._attempt(turns, schema, deadline)
            except FormRefusedError:
                said, value, problem = self._attempt(turns, schema, deadline)
            if value is not None:
                return value
            again = f"That was not it: {problem}. Answer again, with the JSON object only."
            turns += [Turn("assistant", said or "(nothing)"), Turn("user", again)]
            if time.monotonic() >= deadline:
                break
        what = f"{self._adapter.shown} answers in another shape than it was asked for"
        raise WrongShapeError(f"{what}: {problem}; try another model")

    def _attempt(
        self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float
    ) -> tuple[str, dict[str, object] | None, str]:
        """One call, reserved and settled: what was said, the object in it if it has the shape, else what is wrong."""
        reserved = estimated_tokens((turn.text for turn in turns), schema, self._adapter.overhead_tokens)
        row, started = self._reserve(reserved), time.monotonic()

        def settle(outcome: str, usage: Usage) -> None:
            with suppress(StoreError):  # then it stays spent as reserved
                duration_ms = round((time.monotonic() - started) * 1000)
                self._ledger.settle(row, outcome, usage, usage.charged(reserved), duration_ms)

        try:
            reply = self._adapter.ask(turns, schema, deadline)
        except ProviderError as error:
            outcome = _outcome(error, deadline)
            settle(outcome, _used(error))
            if outcome == TIMEOUT and self._limit_setting:
                raise TryLaterError(f"{error}; raise {self._limit_setting}, or ask a faster model") from error.__cause__
            raise
        value, problem = answer_in(reply.said, schema)
        settle(BAD_ANSWER if value is None else OK, reply.usage)
        return reply.said, value, problem

    def _reserve(self, tokens: int) -> int:
        """The row of the call that is about to be made."""
        if self._caps.calls < 1 or self._caps.tokens < 1:  # the default: nothing is written for it
            raise OverBudgetError(f"{self.name} may spend nothing: set llm_daily_calls and llm_daily_tokens above 0")
        call = Call(self._purpose, self._adapter.provider, self._adapter.model, tokens)
        try:
            row, problem = self._ledger.reserve(call, self._caps, time.time_ns() // 1_000_000)
        except StoreError as error:
            raise OverBudgetError(f"{self.name} is not asked without a receipt: {error}") from error
        if not row:
            raise OverBudgetError(f"{self.name} is not asked: {problem}")
        return row


def _outcome(error: ProviderError, deadline: float) -> str:
    """What became of a call that failed."""
    if isinstance(error, CutShortError):
        return BAD_ANSWER
    if isinstance(error, RefusedError):
        return REFUSED
    cause = getattr(error.__cause__, "reason", error.__cause__)
    if isinstance(error, TryLaterError):
        return TIMEOUT if isinstance(cause, TimeoutError) or time.monotonic() >= deadline else FAILED
    return BAD_ANSWER


def _used(error: ProviderError) -> Usage:
    """What a call used that failed: a refusal by status, or a call that reached nobody, costs nothing; else the worst.

    Nothing can have been sent where there is no such name, or the connection was refused. Only as `URLError`, which is
    raised up to the end of sending: an answer that is waited for may end as refused, too.
    """
    if isinstance(error, DeclinedError):
        return error.usage
    cause = error.__cause__
    if isinstance(cause, URLError) and isinstance(cause.reason, ConnectionRefusedError | gaierror):
        return _NOTHING
    return _NOTHING if isinstance(error, RefusedError) and error.status else Usage()
