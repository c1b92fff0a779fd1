"""The port of embedders (texts in, unit vectors out), and what every embedder does with texts and vectors.

The warm process and commands import it, no hook does.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

from howcome.errors import ProviderError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

FloatMatrix: TypeAlias = "NDArray[np.float32]"
FloatVector: TypeAlias = "NDArray[np.float32]"

MAX_TEXT_CHARS = 4000
"""Of a longer text the beginning is read: a search text has 2,000 characters, a local model reads some 1,000 of them,
and endpoints refuse texts that are too long for their model (8,191 tokens; a CJK character may take two)."""

MAX_NAME_CHARS = 80

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
"""Of fastembed's, where the settings name none."""


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


Load: TypeAlias = "Callable[..., Embedder | None]"
"""Opens an embedder, as `providers.embed.open_embedder` does."""


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
