"""What is let in: no secrets, nothing that hides one, neither scrap nor document."""

from __future__ import annotations

import pytest

from howcome.domain.candidates import MAX_TEXT_CHARS, REASONS, Candidate
from howcome.learn.run import admit
from howcome.redact.redactor import Redactor

TOKEN = "ghp_" + "a1B2" * 9


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("The tide poller waits 30s between reads.", ""),
        (f"The deploy token is {TOKEN}.", "secret"),
        ("The deploy token is [redacted:github-token:0a1b2c3d].", "secret"),
        ("The deploy token is [Redacted].", "secret"),
        ("The berth is kept by [private] since May.", "secret"),
        ("Use the crane.", "too_short"),
        ("x " * MAX_TEXT_CHARS, "too_long"),
        ("x" * MAX_TEXT_CHARS, ""),
    ],
)
def test_only_what_may_be_kept_is(text: str, reason: str) -> None:
    """Whoever distilled it; the reason is one of those that are counted."""
    assert admit(Candidate("decision", text, ["ev-1"], "assistant", 1), Redactor(b"k" * 32)) == reason
    assert reason in ("", *REASONS)


def test_a_subject_holds_no_secret_either() -> None:
    """It is kept, too."""
    candidate = Candidate("decision", "The tide poller waits 30s.", ["ev-1"], "user", 1, subject=TOKEN)
    assert admit(candidate, Redactor(b"k" * 32)) == "secret"
