"""What is looked at quickly first gives what looking at everything would give."""

from __future__ import annotations

import random
import re

import pytest

from howcome.learn import anchors, rewriting

LETTERS = "ab zA Z9_./-@`()\n,;:!?#v0ef~é"
ALL_NAMES = re.compile(anchors._STRONG)
SPOKEN = (
    "The build passes, thank god", "It works :)", "It works lol", "It hangs, which was annoying", "PLEASE keep `a.py`!",
    "Actually, it simply returns nil", "It fails at line 12 in `x.go:33`", "LINES 3-9 are right", "It hangs ugh, no",
)  # fmt: skip


def invented(seed: int) -> str:
    """A short text of what names are made of."""
    source = random.Random(seed)
    return "".join(source.choice(LETTERS) for _ in range(source.randrange(1, 40)))


def test_taking_plain_words_in_one_step_finds_the_names_that_trying_every_place_finds() -> None:
    """Runs of plain words are passed over in one step, wherever names stand between them."""
    for text in map(invented, range(5000)):
        first = ALL_NAMES.search(text)
        found = anchors.STRONG.search(text)
        assert anchors.STRONG.findall(text) == ALL_NAMES.findall(text), text
        assert (found and found.span()) == (first and first.span()), text


def test_a_name_is_looked_for_only_in_the_part_that_was_asked_for() -> None:
    """As with a pattern, the part ends as if the text did."""
    assert anchors.STRONG.search("plain words and then a_name", 0, 20) is None
    assert anchors.STRONG.search("a_name and then b_name", 6) is not None


@pytest.mark.parametrize("text", SPOKEN)
def test_texts_that_are_passed_over_hold_nothing_to_take_out(text: str) -> None:
    """Each quick look finds all that the slow one would."""
    for part in (text, *text.split(), text.casefold(), text.upper()):
        if part.isascii() and not rewriting._MAY_FEEL.found(part):
            assert not rewriting._FEELING.search(part)
        if part.isascii() and not rewriting._HAS_ADVERB.found(part):
            assert not rewriting._ADVERBS.search(part)
        if not rewriting._LINE_NUMBER.search(part):
            assert not rewriting._LINE_REFERENCE.search(part)
