"""`app.learn`: what turns sessions into memories and rationales."""

from __future__ import annotations

from functools import cached_property

from howcome.app.clock import now_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.app.models import Models
    from howcome.domain.memories import Memory
    from howcome.domain.stored import Scope, StoredEvent
    from howcome.history.rationale.run import Rationales
    from howcome.learn.consolidate import Consolidation
    from howcome.learn.in_step import InStep, Seen
    from howcome.learn.model_run import Estimate, ModelDistillation
    from howcome.learn.run import Distillation
    from howcome.log.distil_batches import DistilBatches
    from howcome.settings import Settings
    from howcome.store.base import Store


class Learning:
    """Distillation by sources, and by a language model where one may be asked."""

    def __init__(self, store: Store, settings: Settings, models: Models) -> None:
        self._store, self._settings, self._models = store, settings, models

    @cached_property
    def distillation(self) -> Distillation | None:
        """What turns sessions into memories; None when the settings have none."""
        if self._settings.distiller == "off":
            return None
        from howcome.learn.run import Distillation
        from howcome.learn.sources import SourceDistiller
        from howcome.providers.embed import model_name

        sources, model = SourceDistiller(self._settings.sources_off), model_name(self._settings)
        return Distillation(self._store, sources, now_ms, self._models.meaning, model)

    def in_step(self, seen: Seen | None = None) -> InStep:
        """What keeps memories of files in step with them; `seen` is what a worker saw the last time."""
        from howcome.ingest.exclusion import Places
        from howcome.learn.in_step import InStep

        places, off = Places(self._settings.exclude), self._settings.sources_off
        return InStep(self._store, now_ms, off, places.is_excluded, seen)

    @property
    def consolidation(self) -> Consolidation:
        """What merges memories and lets some sleep."""
        from howcome.learn.consolidate import Consolidation

        return Consolidation(self._store, now_ms)

    def proven(self, scope: Scope, file_texts: Sequence[str]) -> list[Memory]:
        """What may stand in a memory file; see `learn.graduate`."""
        from howcome.learn.graduate import proven

        return proven(self._store, scope, file_texts)

    def manifest(self, session: str, limit_tokens: int) -> list[str]:
        """What the window of a session (the client's id) holds that a summary loses; see `learn.manifest`."""
        from howcome.learn.manifest import manifest

        rows = self._store.sessions.named(session)
        told = [event for row in rows for event in self._store.log.session(row, with_text=True)]
        return manifest(told, limit_tokens)

    def batches(self) -> ModelDistillation:
        """What asks a language model for memories, a batch at a time; see `learn.model_run.open_batches`."""
        from howcome.learn.model_run import open_batches

        return open_batches(self._store, self._settings, now_ms, self._known_as(), self._models.meaning)

    def estimated(self) -> Estimate:
        """What asking a model for the whole history takes."""
        from howcome.learn.model_run import estimated

        return estimated(self._store)

    def rationales(self) -> Rationales:
        """What writes rationales; see `history.rationale.run.open_rationales`."""
        from howcome.history.rationale.run import open_rationales

        return open_rationales(self._store, self._settings, now_ms, self._known_as())

    def _known_as(self) -> str:
        from howcome.retrieve.outside import model_known_as

        return model_known_as(self._settings)

    @property
    def queue(self) -> DistilBatches:
        """Batches for the model: what became of them, and what it did to memories."""
        return self._store.distil_batches

    def newest_rationales(
        self, scope: Scope, since_ms: int | None, limit: int
    ) -> tuple[list[StoredEvent], dict[int, str]]:
        """The newest rationales, and the ids of the prompts that they explain, by the prompts' rows."""
        shown = self._store.rationales.newest(scope, since_ms, limit)
        prompts = self._store.log.events([-event.row for event in shown])
        return shown, {row: event.id for row, event in prompts.items()}

    def rationale_counts(self, scope: Scope, since_ms: int | None = None) -> dict[str, int]:
        """How many rationales there are, by author."""
        return self._store.rationales.counts(scope, since_ms)
