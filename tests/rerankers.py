"""Rerankers for tests: one by shared words, a language model that judges, and a package in fastembed's shape."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import invalidate_caches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.others import Chat, said

if TYPE_CHECKING:
    from tests.endpoint import Answer

    from howcome.providers.base import Reranker

_LINE = re.compile(r"^\[\d+\] (.*)$", re.MULTILINE)


class SharedWords:
    """The share of a question's words that stand in a passage."""

    name = "shared-words"

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[str]]] = []

    def scores(self, question: str, passages: Sequence[str]) -> list[float]:
        """One for each passage."""
        self.asked.append((question, list(passages)))
        words = set(question.lower().split())
        return [len(words & set(text.lower().split())) / len(words) for text in passages]


class Judge(Chat):
    """A model to which passages with one word answer everything, and others nothing."""

    def __init__(self, word: str, *script: Answer) -> None:
        super().__init__(*script)
        self.word = word

    def answer(self, path: str, question: dict[str, Any]) -> Answer:  # noqa: ARG002 - as the base
        """A number for each passage."""
        passages = _LINE.findall(question["messages"][1]["content"])
        return said({"scores": [float(self.word in text) for text in passages]})

    @property
    def settings(self) -> dict[str, str]:
        """The variables that name it as the reranker."""
        return {**super().settings, "HOWCOME_RERANK": "llm", "HOWCOME_RERANK_WEIGHT": "1"}


MODEL = "some/Encoder-v1"
CROSS_ENCODER = """
import os
class TextCrossEncoder:
    @classmethod
    def list_supported_models(cls):
        return [{"model": "some/Encoder-v1"}, {"model": "some/Broken"}]
    def __init__(self, model_name, cache_dir=None, threads=None, local_files_only=False):
        if not os.path.isdir(os.path.join(cache_dir, model_name)):
            if local_files_only: raise ValueError("Could not load model\\nfrom any source")
            os.makedirs(os.path.join(cache_dir, model_name))
        self.model_name = model_name
    def rerank(self, query, documents, batch_size=64):
        assert batch_size == 1
        for text in documents:
            if self.model_name == "some/Broken": raise RuntimeError("the graph is damaged")
            yield 4.0 if query.split()[-1] in text else float("nan") if "no number" in text else -800.0
"""


def write_package(folder: Path) -> None:
    """A package `fastembed` of that shape, in a folder to be put on the path."""
    place = folder / "fastembed" / "rerank"
    place.mkdir(parents=True)
    for init in (folder / "fastembed", place):
        (init / "__init__.py").touch()
    (place / "cross_encoder.py").write_text(CROSS_ENCODER)


@contextmanager
def installed(folder: Path) -> Iterator[Path]:
    """A machine that has such a package, without models, until the block ends; where the package is."""
    write_package(folder / "package")
    sys.path.insert(0, str(folder / "package"))
    _forget()
    try:
        yield folder / "package"
    finally:
        sys.path.remove(str(folder / "package"))
        _forget()


def _forget() -> None:
    """As a process that has not imported it."""
    for name in [name for name in sys.modules if name.partition(".")[0] == "fastembed"]:
        del sys.modules[name]
    invalidate_caches()


if TYPE_CHECKING:
    _: type[Reranker] = SharedWords
