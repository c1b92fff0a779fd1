"""Models of the package `fastembed` (bge-small and others), which it downloads when they are first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from howcome.errors import ProviderError
from howcome.providers.base import DEFAULT_MODEL, FloatMatrix, readable, unit_rows

_FAILURES = (OSError, ValueError, RuntimeError, LookupError)
"""Unknown model, no network, a download that breaks off (requests and huggingface_hub raise OSErrors)."""


class FastembedEmbedder:
    """Embeds texts with a model of fastembed's.

    Raises:
        ProviderError: the package is missing, does not know the model, or cannot download it.
    """

    def __init__(self, name: str, model: str, folder: str, threads: int) -> None:
        self.name, self.model = name, model or DEFAULT_MODEL
        self._engine = _engine(self.model, folder, threads)
        self.dimensions = self._run(["howcome"]).shape[1]

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit row a text, in their order."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        rows = self._run([readable(text) for text in texts])
        if rows.shape != (len(texts), self.dimensions):
            raise ProviderError(f"fastembed gave {rows.shape} numbers for {len(texts)} texts; update fastembed")
        return unit_rows(rows, self.name)

    def _run(self, texts: list[str]) -> FloatMatrix:
        try:
            # one by one: most of its models are int8, and a text's vector must not depend on its batch
            return np.array(list(self._engine.embed(texts, batch_size=1)), np.float32)
        except _FAILURES as error:
            raise ProviderError(f"fastembed cannot run {self.model}: {error}") from error


def _engine(model: str, folder: str, threads: int) -> Any:  # noqa: ANN401 - an optional package
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        raise ProviderError(f'embedding = "fastembed" needs a package: pip install {error.name}') from error
    try:
        return TextEmbedding(model_name=model, cache_dir=folder, threads=threads)
    except _FAILURES as error:
        what = f"fastembed has no model {model}, or cannot download it ({error})"
        raise ProviderError(f'{what}; set embedding_model, or embedding = "auto"') from error
