"""A block between marks in a text that is its user's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain.candidates import is_held, told
from howcome.wiring.parts import BEGIN, END, TextBlock, block

PARTS = st.sampled_from(["a", "# b", "-", ">", "\n", "\r", "\r\n", " ", "ä", "<!-- x -->"])
TEXTS = st.lists(PARTS, max_size=12).map("".join)


def merged(text: str, *said: str) -> str:
    """A text with a block."""
    return TextBlock(block([told(text) for text in said])).merged(text, (), (), {})


def stripped(text: str) -> str:
    """A text without it."""
    return TextBlock().stripped(text, (), {})


@given(TEXTS)
def test_what_is_put_in_and_taken_out_leaves_every_byte(text: str) -> None:
    """Whatever ends its lines; also when the block was refreshed meanwhile."""
    once = merged(text, "Uploads are retried five times.")
    assert stripped(once) == text
    again = merged(once, "Uploads are retried six times.", "Berths are numbered from the north.")
    assert (stripped(again), again.count(BEGIN), "five times" in again) == (text, 1, False)
    assert merged(again, "Uploads are retried five times.") == once


def test_what_stands_around_it_stays() -> None:
    """Its user wrote above it and below it, and it is refreshed where it stands."""
    text = "# Rules\n" + merged("", "One thing that holds.") + "And more.\n"
    refreshed = merged(text, "Another thing that holds.")
    assert refreshed.endswith(f"- Another thing that holds.\n{END}\nAnd more.\n")
    assert refreshed.startswith(f"# Rules\n{BEGIN}\n")


def test_a_mark_that_is_quoted_or_alone_bounds_nothing() -> None:
    """What its user wrote behind such a mark stays, however often the block is refreshed."""
    for before in (
        f"Our marker is `{BEGIN}`.\nNever deploy on Fridays.\n",
        f"{BEGIN}\n- cut\nNever deploy on Fridays.\n",
    ):
        once = merged(before, "One thing that holds.")
        twice = merged(once, "Another thing that holds.")
        assert twice.startswith(before)
        assert (twice.count("- Another"), "- One" in twice, stripped(twice)) == (1, False, before)


@pytest.mark.parametrize("text", ["It ends --> here", f"It says {END}", f"It says {BEGIN}"])
def test_no_memory_ends_the_block(text: str) -> None:
    """What looks like a mark in a memory is none."""
    assert stripped(merged("a\n", text, "More that holds.")) == "a\n"


def test_the_users_own_words_are_what_stands_there() -> None:
    """And a file that says them says the memory; what is very short says nothing."""
    said = "The user: “never push to `main` by yourself”. Then: I will open a pull request."
    assert "- never push to `main` by yourself\n" in merged("", said)
    assert is_held(said, "Rules: never push to `main` by yourself. Ever.")
    assert is_held("AGENTS.md says: Tests run in the harbour.", "- Tests run in the harbour.")
    assert not is_held("Be quick.", "Be quick. Be kind.")
