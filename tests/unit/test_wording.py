"""The words that are kept: too few are refused, first person and feelings go where that is sure, all else stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.errors import UsageError
from howcome.memory.wording import worded


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
        ("We decided in standup to use Celery instead of RQ because RQ lacks retries",
         "Use Celery instead of RQ because RQ lacks retries"),
        ("I spent 3 hours on this and it turns out the auth middleware swallows 401s. So frustrating. @jake found it.",
         "The auth middleware swallows 401s."),
        ("We should wait, which was great, for the release of tide", "Wait for the release of tide"),
        ("Basically, we should wait: CI is slow on Mondays", "Wait: CI is slow on Mondays"),
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
        "We never commit to main without a review.",
        "We always crash on startup when the port is taken", "We should not have merged the tide branch that early",
        "We should already have the token by then", "We should never have kept the old parser",
        "We should see less load after that", "I think it must be the cache of the proxy",
        "I think we should have the token by then", "I hardly think we should touch the parser",
        "We never found that the gauge was slow", "We decided in the end not to use Celery for that",
        "So far only Postgres is supported here", "Well formed JSON is what it answers",
        "OK responses are cached for a minute", "OK: the state after a run that ended well",
        "Please is a keyword of the DSL", "Hey Jude is the name of the deploy host",
        "One must be restarted after each deploy", "You must be an admin to see the page",
        "You should run make lint before that?", "Take the theme which is cool, not the warm one",
        "pytest -x stops: we should lint", "Deduplicate by upsert: a cache is lost at a restart.",
    ],
)  # fmt: skip
def test_what_is_not_sure_stays_as_it_is(text: str) -> None:
    """Doubts, stories, layout, and what already is plain."""
    assert worded(text) == text


def test_what_would_say_too_little_is_refused() -> None:
    """Of these words nothing but a chore would be left."""
    with pytest.raises(UsageError, match="too little"):
        worded("We should do it again and again, please")


SPOKEN = (
    "I we you should must not never always think that decided to do it again please, great! so, ok. @:) gauge tides"
)


@given(st.lists(st.sampled_from(SPOKEN.split()), max_size=14).map(" ".join))
def test_what_is_kept_is_never_too_little(text: str) -> None:
    """What it gives it would take: putting it plainly once more refuses nothing."""
    try:
        kept = worded(text)
    except UsageError:
        return
    worded(kept)
