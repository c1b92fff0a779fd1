"""The distillation by a language model that the settings mean."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple

from howcome.domain.spending import DISTIL
from howcome.errors import ProviderError
from howcome.learn.batches import MOST_CHARS, TOOL_CHARS
from howcome.learn.meaning import Meaning
from howcome.learn.model_run import ModelDistillation
from howcome.providers.base import LanguageModel
from howcome.providers.llm import LIMIT_SETTING, open_model
from howcome.settings import ACTIVE, Settings
from howcome.store.base import Store

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

    Args:
        store: Where events are, and memories go.
        settings: Which language model, and what it may spend.
        now_ms: The clock.
        known_as: What a pause of the model is kept by.
        meaning: As `ModelDistillation` takes it.
    """  # noqa: D205 - one sentence

    def model() -> LanguageModel | None:
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
