"""An embedder for tests that needs no model: words, hashed into dimensions."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from howcome.providers.base import FloatMatrix

SAME = {"thread": "race", "safety": "condition", "safe": "condition", "lorry": "truck", "cargo": "load"}


class HashingEmbedder:
    """An implementation of the port: texts that share words are near, whatever process asks."""

    def __init__(self, dimensions: int = 384, name: str = "hashing-1") -> None:
        self.name, self.dimensions = name, dimensions

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Each word adds 1 or -1 in four places of its own; a text without words points to the first dimension."""
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                for seed in range(4):
                    code = zlib.crc32(f"{seed}:{word}".encode("utf-8", "replace"))
                    row[code % self.dimensions] += 1 - 2 * (code >> 31)
            if not row.any():
                row[0] = 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class Synonyms(HashingEmbedder):
    """Words that mean the same are one word."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors of the texts with each word in its first form."""
        return super().embed([" ".join(SAME.get(word, word) for word in text.lower().split()) for text in texts])
