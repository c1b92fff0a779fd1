"""all-MiniLM-L6-v2 on onnxruntime: local, offline, 384 dimensions; some 2 ms a question on one core."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from howcome.errors import ProviderError
from howcome.providers.base import readable, unit_rows
from howcome.providers.minilm_cache import GRAPH, TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from howcome.providers.base import FloatMatrix
    from howcome.providers.minilm_cache import Model

_ERRORS_ONLY = 3
"""onnxruntime's log level: it warns on standard error about machines without a graphics card."""


class MiniLmEmbedder:
    """Embeds texts with a built model.

    Each text is run by itself: the int8 form scales its activations by the whole input, so in a batch of 16 the vectors
    of the same text differ (cosine .99, as much as int8 costs at all), and no core time is saved (2.3 s against 2.8 s
    for 160 texts, whose padding is computed, too). So equal texts have equal vectors, whenever they are embedded.
    """

    def __init__(self, model: Model, threads: int = 1) -> None:
        from tokenizers import Tokenizer

        self.name, self.dimensions, self.threads = model.name, model.dimensions, threads
        self._session = _session(model)
        self._tokenizer = Tokenizer.from_file(model.path(TOKENIZER))
        self._tokenizer.enable_truncation(model.max_tokens)
        self._tokenizer.no_padding()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One unit row a text, in their order. Of a text the first 256 tokens are read."""
        rows = np.array(list(self._vectors(texts)), np.float32)
        return unit_rows(rows.reshape(len(texts), self.dimensions), self.name)

    def _vectors(self, texts: Sequence[str]) -> Iterable[NDArray[np.float32]]:
        if self.threads == 1 or len(texts) == 1:
            return map(self._vector, texts)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(self.threads) as pool:
            return list(pool.map(self._vector, texts))

    def _vector(self, text: str) -> NDArray[np.float32]:
        ids = np.array([self._tokenizer.encode(readable(text)).ids], np.int64)
        found: NDArray[np.float32] = self._session.run(["vectors"], {"ids": ids})[0][0]
        return found


def _session(model: Model) -> Any:  # noqa: ANN401 - onnxruntime has no types of its own
    import onnxruntime
    from onnxruntime.capi import onnxruntime_pybind11_state as states

    onnxruntime.set_default_logger_severity(_ERRORS_ONLY)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    failures = (
        states.Fail, states.InvalidArgument, states.InvalidGraph, states.InvalidProtobuf, states.NoSuchFile,
        states.NotImplemented, states.RuntimeException,
    )  # fmt: skip
    try:
        return onnxruntime.InferenceSession(model.path(GRAPH), options, providers=["CPUExecutionProvider"])
    except failures as error:
        said = str(error).splitlines()[0]
        what = f"onnxruntime {onnxruntime.__version__} cannot load {model.folder}: {said}"
        raise ProviderError(f"{what}; install a newer onnxruntime") from error
