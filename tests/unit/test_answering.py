"""Which sentences answer a question, what a row has room for, and what is quoted."""

from __future__ import annotations

from howcome.domain.answering import best_first, filled
from howcome.domain.query import phrases_in, plain_words

WEIGHTS = {"retri": 3.0, "limit": 2.0, "upload": 2.0}


def test_the_sentence_that_answers_comes_first_and_narration_never() -> None:
    """By the weight of the question that it holds; what tells the next step is left out, and nothing comes twice."""
    told = [
        ("a", "Let me look at the retries and the limit of uploads now."),
        ("b", "The office is closed on Friday because of the storm."),
        ("c", "Uploads are retried up to the limit of three times."),
        ("d", "uploads are retried up to the limit of three times."),
    ]
    first, *others = [whose for _, whose, _ in best_first(told, WEIGHTS)]
    assert first == "c"
    assert "d" not in others


def test_a_lone_remark_is_still_said() -> None:
    """There is nothing better."""
    assert [text for _, _, text in best_first([("a", "Let me look at it now.")], WEIGHTS)] == ["Let me look at it now."]


def test_a_row_is_filled_and_never_wider() -> None:
    """The first sentence whole, further ones as far as there is room, each cut at its own width."""
    assert filled(["one two", "three"], 40, 20) == "one two … three"
    assert filled(["word " * 20], 320, 24) == "word word word word…"
    for width in range(30, 120, 7):
        assert len(filled(["a sentence of some words " * 3] * 4, width, 60)) <= width


def test_what_stands_between_double_quotes_is_a_phrase() -> None:
    """However it is written; an apostrophe quotes nothing, nor does a long paste."""
    assert phrases_in('why is the "Retry  Limit" 3?') == ["retry limit"]
    assert phrases_in("why is the “retry limit” 3?") == ["retry limit"]
    assert phrases_in("don't 'retry' it") == []
    assert phrases_in('a="b" ' * 80) == []
    assert "retry limit" in plain_words("The **retry\nlimit** is `3`")
