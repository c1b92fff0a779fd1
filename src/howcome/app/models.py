"""`app.models`: what embeds and tells near from far; opened when it is asked for."""

from __future__ import annotations

from contextlib import suppress

from howcome.app.clock import now_ms
from howcome.errors import ProviderError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.learn.meaning import Meaning
    from howcome.providers.base import Embedder
    from howcome.retrieve.vectors import EmbeddedTurns
    from howcome.settings import Settings
    from howcome.store.base import Store

    Opener = Callable[..., Embedder | None]


class Models:
    """The embedder of the settings; None where there is none."""

    def __init__(
        self, store: Store, settings: Settings, embedder: Embedder | None = None, opener: Opener | None = None
    ) -> None:
        self._store, self._settings = store, settings
        self.embedder, self._opener = embedder, opener
        self._has_looked = False
        self._vectors: EmbeddedTurns | None = None

    def refresh(self) -> None:
        """Lets the next search see vectors that other processes have written, and a model that has come."""
        self._has_looked = self._vectors is not None
        if self._vectors is not None:
            self._vectors.refresh()

    @property
    def vectors(self) -> EmbeddedTurns | None:
        """Turns by meaning; None where no embedder is ready (then everything works by words).

        Raises:
            ProviderError: the settings name an embedder that cannot be had.
        """
        if not self._has_looked:
            self._has_looked = True
            self.open_vectors(build=False)
        return self._vectors

    @property
    def is_of_use(self) -> bool:
        """Whether a search may find something by meaning: where no vector is, a model takes 0.2 s for nothing."""
        if self.embedder is not None or self._settings.embedding != "auto":
            return True
        return self._store.turn_vectors.has_any() or self._store.memory_vectors.has_any()

    def open_vectors(self, *, build: bool, threads: int = 1) -> EmbeddedTurns | None:
        """As `vectors`; only who embeds may build the model first, which takes seconds."""
        if self._vectors is None:
            from howcome.providers.embed import open_embedder

            if self.embedder is None:
                self.embedder = (self._opener or open_embedder)(self._settings, threads=threads, build=build)
            if self.embedder is not None:
                from howcome.retrieve.vectors import EmbeddedTurns

                rows = self._store.turn_vectors.open(self.name_of(self.embedder), self.embedder.dimensions)
                as_question = self._prepared(self._prefixes[0])
                self._vectors = EmbeddedTurns(self.embedder, rows, as_question, self._store.memory_search)
        return self._vectors

    def name_of(self, embedder: Embedder) -> str:
        """Whose vectors an embedder's are, as the store says."""
        return self.redact(embedder.name)

    def redact(self, text: str) -> str:
        """A text as others may see it: what leaves this machine holds no secrets, as what is stored."""
        return self._store.gate.text(text) if self._store.gate is not None else text

    def _prepared(self, prefix: str) -> Callable[[str], str]:
        """What makes of a text what the embedder is given."""
        redact = self.redact if self._settings.embedding == "http" else str
        return lambda text: prefix + redact(text)

    @property
    def passage_prefix(self) -> str:
        """What the embedder is given before each text that is stored."""
        return self._prefixes[1]

    @property
    def _prefixes(self) -> tuple[str, str]:
        from howcome.providers.embed import prefixes

        return prefixes(self._settings)

    def meaning(self) -> Meaning | None:
        """What tells which memories are near; None where no embedder is ready."""
        from howcome.learn.meaning import Meaning

        with suppress(ProviderError):  # memories are told apart by their words then
            if self.vectors is not None and self.embedder is not None:
                return Meaning(self._store, self.embedder, now_ms, self._prepared(self.passage_prefix))
        return None

    def pause_of(self, known_as: str) -> tuple[int, str] | None:
        """Until when (UTC ms) what failed is left alone, and why; None when it is not."""
        return self._store.model_answers.pause_of(known_as, now_ms())
