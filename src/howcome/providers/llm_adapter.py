"""What every language model's adapter is: one call, its words and what it used. Who asks goes through `MeteredModel`.

An adapter has no `complete`, so that nobody can ask one past the ledger.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from howcome.domain.spending import Usage, as_count
from howcome.errors import ProviderError
from howcome.providers.http_post import RefusedError

MAX_ANSWER_CHARS = 1 << 20
MOST_ANSWER_TOKENS = 8192
"""What an answer may have unless the settings say otherwise: 24 notes with their quotes have some 5,000."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)

INSTRUCTION = (
    "Answer with one JSON object and nothing else: no explanation, no code fence. It has to satisfy this JSON schema:\n"
)


class Turn(NamedTuple):
    """One side's words in a conversation: the prompt, then perhaps an answer and what was wrong with it."""

    role: str
    text: str


def as_one(turns: Sequence[Turn]) -> str:
    """A conversation as one prompt: programs take nothing else."""
    first, *rest = turns
    told = {"assistant": "You have answered:", "user": "And then you were told:"}
    return "\n\n".join([first.text, *(f"{told[turn.role]}\n{turn.text}" for turn in rest)])


class Reply(NamedTuple):
    """What a model said, and what that used."""

    said: str
    usage: Usage


READ_TOKENS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
"""What Anthropic's answers call what was read: from a cache, too."""


def usage_of(said: object, read: Sequence[str], written: str, cost_usd: float | None = None) -> Usage:
    """What an answer says that it used: tokens that were read, by their names (one at least), and that were written."""
    if not isinstance(said, dict):
        return Usage(cost_usd=cost_usd)
    counts = [as_count(said.get(name)) for name in read]
    tokens_in = sum(count or 0 for count in counts) if counts[0] is not None else None
    return Usage(tokens_in, as_count(said.get(written)), cost_usd)


class ModelAdapter(ABC):
    """One provider's way to ask one model. Safe to be asked by several threads.

    `name` is provider and model; `shown` where it is, as messages show it: without a key.
    """

    provider = ""
    overhead_tokens = 0
    """What the provider adds to our words, at most or nearly so: reserved with each call."""

    def __init__(self, model: str, shown: str) -> None:
        self.model, self.shown, self.name = model, shown, f"{self.provider}:{model}"

    @abstractmethod
    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: nothing is asked twice.

        Args:
            turns: The conversation; the first is the prompt, the last is the user's.
            schema: What the answer's shape has to be; asked for, and checked by the caller.
            deadline: `time.monotonic()` by which it has ended.

        Raises:
            FormRefusedError: it may answer when it is asked again at once.
            RefusedError: it says no; DeclinedError when the model itself does, having read the prompt.
            TryLaterError: it is busy, fails, or does not answer in time.
            ProviderError: what it says is no answer at all.
        """
        ...


class FormRefusedError(RefusedError):
    """It was the form of the question that was refused, perhaps: the next call is asked in a plainer one."""


class DeclinedError(RefusedError):
    """The model will not answer this; `usage` is what reading it cost.

    `is_about_question`: another question may be answered; not where nobody is logged in, or a subscription is used up.
    """

    def __init__(self, message: str, usage: Usage, *, is_about_question: bool = True) -> None:
        super().__init__(message)
        self.usage, self.is_about_question = usage, is_about_question


class NotYetError(DeclinedError):
    """Whoever answers does so later; nothing was used. Other questions may be asked meanwhile."""

    def __init__(self, message: str) -> None:
        super().__init__(message, Usage(0, 0), is_about_question=False)


class CutShortError(DeclinedError):
    """The answer reached a limit before it was whole; asked again it would do so again."""

    def __init__(self, model: str, most_tokens: int, usage: Usage, *, is_early: bool = False) -> None:
        what = f"{model} reached the {most_tokens} tokens of llm_answer_tokens in mid-answer: raise it"
        if is_early:
            ended = f"{model} ended in mid-answer after {usage.tokens_out} tokens, before the {most_tokens}"
            what = f"{ended} of llm_answer_tokens: it needs a larger context"
        super().__init__(what, usage)


def require_whole(
    reply: Reply, schema: Mapping[str, object], model: str, most_tokens: int, *, is_early: bool = False
) -> None:
    """Refuses an answer that was cut at a limit and is no whole object."""
    if answer_in(reply.said, schema)[0] is None:
        raise CutShortError(model, most_tokens, reply.usage, is_early=is_early)


def answer_in(said: str, schema: Mapping[str, object]) -> tuple[dict[str, object] | None, str]:
    """The object in what a model says, and what is wrong with it: its thoughts and a fence around it are not."""
    plain = _THOUGHT.sub("", said[:MAX_ANSWER_CHARS])
    start, end = plain.find("{"), plain.rfind("}")
    try:
        value: Any = json.loads(plain[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None, "that is no JSON"
    if not isinstance(value, dict):
        return None, "that is no JSON object"
    from howcome.providers.schema import problem_with  # who asks no model does without msgspec

    problem = problem_with(value, schema)
    return (None, problem) if problem else (value, "")


def object_in(data: bytes, whose: str, setting: str) -> dict[str, Any]:
    """The JSON object that an answer is."""
    with suppress(ValueError, RecursionError):
        if isinstance(value := json.loads(data), dict):
            return value
    raise not_a_model(whose, setting)


def not_a_model(whose: str, setting: str) -> ProviderError:
    """What is said of an answer that no language model gives."""
    return ProviderError(f"{whose} does not answer as a language model; check {setting}")
