"""The writer of rationales that the settings mean: by rules, and by the language model where one may be asked."""

from __future__ import annotations

from collections.abc import Callable

from howcome.domain.spending import RATIONALE
from howcome.learn.rationale.model import Asking
from howcome.learn.rationale.run import Rationales
from howcome.providers.llm import LIMIT_SETTING, open_model
from howcome.redact.redactor import Redactor
from howcome.settings import Settings
from howcome.store.base import Store


def open_rationales(store: Store, settings: Settings, now_ms: Callable[[], int], known_as: str) -> Rationales:
    """What writes rationales.

    Args:
        store: Where events are, and rationales go.
        settings: Which language model, and what it may spend; without a budget it is not asked.
        now_ms: The clock.
        known_as: What a pause of the model is kept by.
    """

    def asking() -> Asking | None:
        if settings.distiller != "llm":  # a model that is there for searches writes nothing
            return None
        if settings.llm_daily_calls < 1 or settings.llm_daily_tokens < 1:  # the default
            return None
        limit_s = settings.llm_deadline_s
        model = open_model(settings, store.spending, RATIONALE, limit_s=limit_s, limit_setting=LIMIT_SETTING)
        if model is None:
            return None
        from howcome.learn.rationale.model import Asking

        key = store.meta("key")
        redactor = Redactor(key if isinstance(key, bytes) else b"")
        return Asking(model, store, redactor.redact, now_ms, known_as)

    return Rationales(store, now_ms, asking)
