"""What somebody wrote, as sentences."""

from __future__ import annotations

import pytest

from howcome.domain.sentences import sentences, split, without_markdown


def texts(text: str, **options: bool) -> list[str]:
    """The texts of all sentences."""
    return [sentence.text for sentence in sentences(text, **options)]


def test_code_tables_quotes_and_logs_are_no_sentences() -> None:
    """Only prose is read: what was pasted says nothing in its own name."""
    text = (
        "The tide table is right.\n```go\nx := 1. Then more.\n```\n| a | b |\n|---|---|\n> somebody said so\n\n"
        "2026-03-01T10:00:00 INFO started the pump. It runs.\n    indented = code\n\nBut the gauge is not."
    )
    assert texts(text) == ["The tide table is right.", "But the gauge is not."]


def test_a_sentence_knows_its_heading_and_its_label() -> None:
    """A label stands before its colon or dash, a heading above its paragraph."""
    found = sentences("## Root cause\n\n**Pump:** it stops. It starts.\n\n- **Gauge** — reads `0`\n")
    assert [(one.heading, one.label, one.text, one.kind) for one in found] == [
        ("Root cause", "Pump", "it stops.", "text"),
        ("Root cause", "Pump", "It starts.", "text"),
        ("Root cause", "Gauge", "reads `0`", "item"),
    ]


def test_a_line_that_ends_in_a_colon_heads_the_list_below() -> None:
    """Such a line is what its items are about."""
    found = sentences("Not done yet:\n- the bulk route\n- its docs\n")
    assert [(one.heading, one.text) for one in found] == [
        ("Not done yet", "the bulk route"),
        ("Not done yet", "its docs"),
    ]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("It reads v1.2 of tide.py. Then it stops.", ["It reads v1.2 of tide.py.", "Then it stops."]),
        ("Some do, e.g. Redis. Others do not.", ["Some do, e.g. Redis.", "Others do not."]),
        ("Call `a. B` first. Then go.", ["Call `a. B` first.", "Then go."]),
        ("Is it red? Yes!", ["Is it red?", "Yes!"]),
    ],
)
def test_a_dot_within_a_name_ends_no_sentence(line: str, parts: list[str]) -> None:
    """Versions, files, abbreviations and code keep their dots."""
    assert split(line) == parts


def test_who_types_may_begin_sentences_with_small_letters() -> None:
    """Agents write capitals, people in a hurry do not."""
    text = "we use the pump. it is loud"
    assert texts(text) == ["we use the pump. it is loud"]
    assert texts(text, is_typed=True) == ["we use the pump.", "it is loud"]


def test_markdown_goes_but_code_keeps_its_backticks() -> None:
    """Names in backticks stay recognisable; emphasis, links, pictures and tags go."""
    line = "**Fixed** the [gauge](http://tide.example/g) in `a_b*c*` \U0001f389 for *all* <b>boats</b>"
    assert without_markdown(line) == "Fixed the gauge in `a_b*c*` for all boats"


def test_what_the_client_puts_below_a_plan_is_no_sentence() -> None:
    """Nobody said it."""
    hint = "If you need specific details from before exiting plan mode (like code), read the transcript at: /a"
    assert [one.text for one in sentences(f"The poller keeps one gauge.\n\n{hint}")] == ["The poller keeps one gauge."]
