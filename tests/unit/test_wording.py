"""The words that are kept: too few are refused, first person and feelings go where that is sure, all else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.errors import UsageError
from howcome.memory.wording import MIN_CHARS, worded


@pytest.mark.parametrize("text", ["ok", "thanks", "x" * 19, "ok, thanks, that looks great!", " k ", "\u6e2f" * 9])
def test_too_little_is_refused_with_advice(text: str) -> None:
    """Whatever is asked for: what to write instead is said."""
    for as_is in (False, True):
        with pytest.raises(UsageError, match="with its reason"):
            worded(text, as_is=as_is)


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("I think we should always run `make lint` first", "Always run `make lint` first"),
        ("we should not touch vendor/, it is generated", "Do not touch vendor/, it is generated"),
        ("We never commit to main without a review.", "Never commit to main without a review."),
        ("We decided in standup to use Celery instead of RQ because RQ lacks retries",
         "Use Celery instead of RQ because RQ lacks retries"),
        ("I spent 3 hours on this and it turns out the auth middleware swallows 401s. So frustrating. @jake found it.",
         "The auth middleware swallows 401s."),
        ("The importer drops the last row, which is really annoying. I found that chunks are to blame.",
         "The importer drops the last row. Chunks are to blame."),
    ],
)  # fmt: skip
def test_first_person_and_feelings_go(said: str, kept: str) -> None:
    """Unless the words are to stay."""
    assert worded(said) == kept
    assert worded(said, as_is=True) == said


@pytest.mark.parametrize(
    "text",
    [
        "I think the cache is stale after a deploy.", "We never had a problem with the old parser.",
        "Our deploys need a tag: I set it by hand.", "The queue keeps order.\nI think we should keep it.",
        "pytest -x stops: we should lint", "Deduplicate by upsert: a cache is lost at a restart.",
    ],
)  # fmt: skip
def test_what_is_not_sure_stays_as_it_is(text: str) -> None:
    """Doubts, stories, layout, and what already is plain."""
    assert worded(text) == text


@given(st.text(alphabet="abI we should think that.!, @:)\n", max_size=90))
def test_what_is_kept_is_never_too_little(text: str) -> None:
    """And putting it plainly once more changes nothing that matters: it is never refused."""
    try:
        kept = worded(text)
    except UsageError:
        return
    assert kept == text or len(kept) >= MIN_CHARS
