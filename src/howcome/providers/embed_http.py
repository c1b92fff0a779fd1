"""Any endpoint that embeds over HTTP: OpenAI's form (`/v1/embeddings`) or Ollama's (`/api/embed`)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from howcome.domain.personal_data import without_personal_data
from howcome.errors import ProviderError
from howcome.providers.base import readable, safe_name, unit_rows
from howcome.providers.http_post import Endpoint, RefusedError, TryLaterError, completed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from howcome.providers.base import FloatMatrix

BATCH_TEXTS = 64
"""A request of some 100 kB; the answer at 1,024 dimensions is 1.5 MB of JSON."""

FIRST_PAUSE_S, LONGEST_PAUSE_S, ATTEMPTS, ATTEMPTS_ABSENT = 0.5, 20.0, 5, 2
"""Where nobody listens a second attempt is enough: a search is answered by words, and somebody waits for it."""

BLANK = "."
"""Stands for an empty text, which endpoints refuse."""

_INCOMPLETE = (
    "the embedder `http` needs the endpoint's whole address in embedding_url, such as"
    " http://localhost:11434/api/embed or https://api.example.com/v1/embeddings"
)


class HttpEmbedder:
    """Embeds texts by asking an endpoint.

    A busy or failing one (429, 5xx, a lost connection) is asked five times at most, with growing pauses or those that
    it asks for, within the time limit; one that is not there twice. A redirect is never followed: texts and key go
    where the settings say, or nowhere.

    Args:
        url: The endpoint; a path that ends in `/api/embed` is Ollama's, one in `/v1` is completed.
        model: The model's name there.
        key: Sent as a bearer token when not empty; shown nowhere.
        limit_s: A call of `embed` ends by then for each batch, all attempts included.
    """

    def __init__(self, url: str, model: str, key: str = "", limit_s: float = 60.0) -> None:
        if not model:
            raise ProviderError('embedding = "http" needs a model: set embedding_model to its name at the endpoint')
        self.name, self.model, self.limit_s = safe_name("http", model), model, limit_s
        self._endpoint = Endpoint(completed(url, _INCOMPLETE, "/embeddings", "/api/embed"), key)
        self._dimensions = 0

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has; asked of the endpoint once."""
        if not self._dimensions:
            self.embed(["howcome"])
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit row a text, in their order."""
        if not texts:
            return np.empty((0, self.dimensions), np.float32)
        batches = (texts[at : at + BATCH_TEXTS] for at in range(0, len(texts), BATCH_TEXTS))
        rows = ([without_personal_data(readable(text)).strip() or BLANK for text in batch] for batch in batches)
        return np.concatenate([self._embed(batch) for batch in rows])

    def _embed(self, texts: list[str]) -> FloatMatrix:
        rows = self._rows(self._ask({"model": self.model, "input": texts}), len(texts))
        if self._dimensions not in (0, rows.shape[1]):
            what = f"{self._endpoint.shown} gave {rows.shape[1]} dimensions, before it were {self._dimensions}"
            raise ProviderError(f"{what}; does another model answer as {self.model!r}?")
        vectors = unit_rows(rows, self._endpoint.shown)
        self._dimensions = rows.shape[1]
        return vectors

    def _ask(self, question: Mapping[str, object]) -> object:
        deadline, pause_s, absent = time.monotonic() + self.limit_s, FIRST_PAUSE_S, 0
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return json.loads(self._endpoint.ask(question, deadline))
            except ValueError as error:  # no JSON, no UTF-8
                raise ProviderError(f"{self._endpoint.shown} does not answer in JSON; check embedding_url") from error
            except RecursionError as error:
                raise ProviderError(f"{self._endpoint.shown} answers something else; check embedding_url") from error
            except RefusedError as refusal:
                raise ProviderError(str(refusal)) from refusal
            except TryLaterError as failure:
                pause_s = min(max(pause_s, failure.wait_s), LONGEST_PAUSE_S)
                absent = absent + 1 if failure.is_absent else 0
                if attempt == ATTEMPTS or absent == ATTEMPTS_ABSENT or time.monotonic() + pause_s >= deadline:
                    raise ProviderError(f"{failure}; tried {attempt} times: is it running?") from failure
                time.sleep(pause_s)
                pause_s *= 2
        raise AssertionError("the last attempt returns or raises")

    def _rows(self, answer: object, count: int) -> NDArray[np.float64]:
        try:
            rows = _matrix(_vectors_of(answer))
        except (LookupError, TypeError, ValueError, OverflowError) as error:  # not this form; rows of several lengths
            what = f"{self._endpoint.shown} does not answer as an embedder"
            raise ProviderError(f"{what}; check embedding_url") from error
        if len(rows) != count:
            what = f"{self._endpoint.shown} gave {len(rows)} vectors for {count} texts"
            raise ProviderError(f"{what}; choose another model in embedding_model")
        return rows


def _matrix(vectors: list[list[float]]) -> NDArray[np.float64]:
    """Vectors as rows; none give no row. ValueError or TypeError: they differ in length, are empty or no numbers."""
    rows = np.array(vectors, np.float64)
    if vectors and (rows.ndim != 2 or not rows.shape[1]):
        raise ValueError("no vectors of numbers")
    return rows


def _vectors_of(answer: Any) -> list[list[float]]:  # noqa: ANN401 - what an endpoint says
    """The vectors in the order of the texts; OpenAI's form numbers them."""
    if "embeddings" in answer:
        return list(answer["embeddings"])
    found = list(answer["data"])
    if all("index" in item for item in found):
        found.sort(key=lambda item: item["index"])
        if [item["index"] for item in found] != list(range(len(found))):
            raise ValueError("not numbered from 0 up")
    return [item["embedding"] for item in found]
