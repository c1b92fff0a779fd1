"""Documents are written for strangers: their sentences are short."""

from __future__ import annotations

import pytest
from tests.prose import Length, lengths, sentences


@pytest.mark.parametrize("document", lengths(), ids=lambda document: document.name)
def test_a_document_keeps_to_short_sentences(document: Length) -> None:
    """16 words on average, 30 in 95 of 100 (docs/style.md); `python -m tests.prose --long` names the longest."""
    assert document.sentences
    assert document.is_short, (document.mean_words, document.most_words, document.sentences[:3])


def test_a_long_document_would_fail() -> None:
    """By its mean, or by the longest twentieth."""
    assert not Length("x", [(17, "")] * 9).is_short
    assert not Length("x", [(31, "")] * 2 + [(4, "")] * 18).is_short
    assert sentences("Some `code` here. One more sentence.\n\n```\nnot this one\n```\n| nor | this | one |") == [
        "Some code here.", "One more sentence.",
    ]  # fmt: skip


def test_the_readme_is_short() -> None:
    """A stranger reads it to its end."""
    from tests.prose import ROOT

    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 150
