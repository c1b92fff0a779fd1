"""The distillation by a language model that the settings mean."""

from __future__ import annotations

from recollect.domain.spending import DISTIL
from recollect.ingest.distil.model_run import ModelDistillation
from recollect.providers.llm import open_model

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from recollect.ingest.distil.meaning import Meaning
    from recollect.providers.base import LanguageModel
    from recollect.settings import Settings
    from recollect.store.base import Store

ANSWER_LIMIT_S = 120.0
"""How long a model may take for one batch: nobody waits for it, and small ones on a laptop read slowly."""


def open_batches(
    store: Store, settings: Settings, now_ms: Callable[[], int], known_as: str,
    meaning: Callable[[], Meaning | None] = lambda: None,
) -> ModelDistillation:  # fmt: skip
    """What asks a model for batches; without a budget, or within an agent that recollect started, it asks nobody.

    Args:
        store: Where events are, and memories go.
        settings: Which language model, and what it may spend.
        now_ms: The clock.
        known_as: What a pause of the model is kept by.
        meaning: As `ModelDistillation` takes it.
    """

    def model() -> LanguageModel | None:
        if settings.llm_daily_calls < 1 or settings.llm_daily_tokens < 1:  # the default
            return None
        return open_model(settings, store, DISTIL, limit_s=ANSWER_LIMIT_S)

    return ModelDistillation(store, model, now_ms, known_as, meaning)
