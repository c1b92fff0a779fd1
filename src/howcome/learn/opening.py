"""The distillation by a language model that the settings mean."""

from __future__ import annotations

import os

from howcome.domain.spending import DISTIL
from howcome.errors import ProviderError
from howcome.learn.model_run import ModelDistillation
from howcome.providers.llm import LIMIT_SETTING, open_model
from howcome.settings import ACTIVE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.learn.meaning import Meaning
    from howcome.providers.base import LanguageModel
    from howcome.settings import Settings
    from howcome.store.base import Store


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


def not_allowed(settings: Settings) -> str:
    """Why no model may be asked for batches, and which setting changes it; '' when one may."""
    if settings.llm == "off":
        return "distiller is llm, and llm is off: set llm and llm_model, llm_daily_calls and llm_daily_tokens"
    if os.environ.get(ACTIVE):
        return f"an agent that howcome started asks no model ({ACTIVE} is set)"
    caps = ("llm_daily_calls", settings.llm_daily_calls), ("llm_daily_tokens", settings.llm_daily_tokens)
    zero = " and ".join(name for name, most in caps if most < 1)  # the default
    return f"the language model may spend nothing: set {zero} above 0" if zero else ""
