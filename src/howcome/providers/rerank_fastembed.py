"""Cross-encoders of the package `fastembed`: a model on this machine reads the question with each passage.

A search never downloads: a model that is not here is an error, whose remedy is the command that fetches it.
"""

from __future__ import annotations

import math
import shlex
import sys
import time
from importlib import import_module

from howcome.errors import MissingError, ProviderError
from howcome.providers.http_post import in_one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


MAX_QUESTION_CHARS = 1000
"""These models read 512 tokens of question and passage together: a pasted log must leave room for the passage."""

THREADS = 2
"""For 20 passages in a row, which somebody waits for; a question's embedding takes one."""

_PACKAGE = "fastembed.rerank.cross_encoder"
_FAILURES = (OSError, ValueError, RuntimeError, LookupError)
"""A model that is not here, files that are damaged (onnxruntime raises RuntimeErrors)."""


class CrossEncoder:
    """Scores passages with a model of fastembed's, one after the other.

    Args:
        model: Its name there, such as `Xenova/ms-marco-MiniLM-L-6-v2`.
        folder: Where downloaded models are kept.
        limit_s: How long one call may take; loading the model, once, is not counted.
        clock: Seconds, monotonic.

    Raises:
        ProviderError: the package does not know the model, or cannot load it.
        MissingError: the package or the model is not here.
    """

    def __init__(self, model: str, folder: str, limit_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.name, self._limit_s, self._clock = f"fastembed:{model}", limit_s, clock
        self._engine = _engine(model, folder)

    def scores(self, question: str, passages: Sequence[str]) -> Sequence[float]:
        """How well each passage answers the question, in their order."""
        deadline = self._clock() + self._limit_s
        asked, found = _readable(question[:MAX_QUESTION_CHARS]), []
        for text in passages:
            if self._clock() > deadline:
                raise ProviderError(f"{self.name} takes more than {self._limit_s:g} s; choose a smaller model")
            found.append(_share(self._logit(asked, _readable(text))))
        return found

    def _logit(self, question: str, text: str) -> float:
        """One by one: an int8 model scales over its batch, and a passage's score must not depend on the others."""
        try:
            (logit,) = self._engine.rerank(question, [text], batch_size=1)
        except _FAILURES as error:
            raise ProviderError(f"{self.name} fails: {error}") from error
        if not math.isfinite(logit):
            raise ProviderError(f"{self.name} gives what is no number; choose another model")
        return float(logit)


def _engine(model: str, folder: str) -> Any:  # noqa: ANN401 - an optional package
    try:
        cross_encoder = import_module(_PACKAGE).TextCrossEncoder
    except ImportError as error:
        missing = (error.name or _PACKAGE).partition(".")[0]
        raise MissingError(f"a cross-encoder needs a package: {missing}", f"pip install -U {missing}") from error
    known = [str(each["model"]) for each in cross_encoder.list_supported_models()]
    if model.lower() not in (name.lower() for name in known):
        raise ProviderError(f"fastembed has no cross-encoder {model!r}; set rerank to one of {', '.join(known)}")
    try:
        return cross_encoder(model_name=model, cache_dir=folder, threads=THREADS, local_files_only=True)
    except _FAILURES as error:
        what = f"the cross-encoder {model} cannot be loaded from {folder} ({in_one_line(str(error))})"
        raise MissingError(what, _download(model, folder)) from error


def _download(model: str, folder: str) -> str:
    """The command that fetches a model, with the interpreter that has the package."""
    load = f"TextCrossEncoder({model!r}, cache_dir={folder!r})"
    return shlex.join([sys.executable, "-c", f"from {_PACKAGE} import TextCrossEncoder; {load}"])


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _share(logit: float) -> float:
    """A logit as a number from 0 to 1: the logistic function, exact also far below 0, where many passages are."""
    grown = math.exp(-abs(logit))
    return 1.0 / (1.0 + grown) if logit >= 0 else grown / (1.0 + grown)
