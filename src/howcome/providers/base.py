"""The ports of embedders (texts in, unit vectors out) and of language models (a prompt in, an object out).

And what every embedder does with texts and vectors. The warm process and commands import it, no hook does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from howcome.errors import ProviderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from howcome.settings import Settings

FloatMatrix: TypeAlias = "NDArray[np.float32]"
FloatVector: TypeAlias = "NDArray[np.float32]"

MAX_TEXT_CHARS = 4000
"""Of a longer text the beginning is read: a search text has 2,000 characters, a local model reads some 1,000 of them,
and endpoints refuse texts that are too long for their model (8,191 tokens; a CJK character may take two)."""

MAX_NAME_CHARS = 80


class Embedder(Protocol):
    """Turns texts into unit vectors. Safe to be asked by several threads.

    An endpoint elsewhere is sent the texts as they are: who asks redacts secrets first.
    """

    @property
    def name(self) -> str:
        """Model and version; safe as a folder's name. Vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has.

        Raises:
            ProviderError: an endpoint has to be asked for it, and does not answer.
        """
        ...

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One row a text, in their order: float32, C-contiguous, of length 1; an empty text has a vector, too.

        Raises:
            ProviderError: there are no vectors to be had; the message names the next step.
        """
        ...


class Load(Protocol):
    """Opens an embedder, as `providers.embed.open_embedder` does."""

    def __call__(self, settings: Settings, *, threads: int, build: bool, limit_s: float = ...) -> Embedder | None:
        """The embedder of the settings."""
        ...


class LanguageModel(Protocol):
    """Answers a prompt with one JSON object of a given shape. Safe to be asked by several threads.

    An endpoint elsewhere is sent the prompt as it is: who asks redacts secrets first. Who asks also knows what a wrong
    answer means: the object has the shape, nothing says that it is true.
    """

    @property
    def name(self) -> str:
        """Provider and model: what its answers are kept by."""
        ...

    @property
    def timeout_s(self) -> float:
        """How long one call may take, all attempts included."""
        ...

    def complete(self, prompt: str, schema: Mapping[str, object]) -> dict[str, object]:
        """The answer to a prompt.

        Args:
            prompt: What is asked, whole.
            schema: A JSON schema of an object, in the words that `providers.schema` knows.

        Raises:
            ProviderError: it does not answer in time, refuses, or twice says something of another shape.
        """
        ...


def readable(text: str) -> str:
    """A text as models can read it: its beginning, in valid Unicode."""
    return text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()


def unit_rows(values: ArrayLike, whose: str) -> FloatMatrix:
    """Rows made to length 1."""
    import numpy as np  # the ports are for those, too, who have no numpy

    rows = np.asarray(values, dtype=np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ProviderError(f"{whose} gave a vector without a direction; choose another model (`howcome doctor`)")
    return np.ascontiguousarray(rows / lengths, dtype=np.float32)


def safe_name(provider: str, model: str) -> str:
    """`<provider>-<model>` as a folder's name: what had to be changed is told apart by a hash."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", model.lower())[:MAX_NAME_CHARS]
    tail = "" if plain == model else f"-{hashlib.sha256(model.encode('utf-8', 'replace')).hexdigest()[:8]}"
    return f"{provider}-{plain}{tail}"
