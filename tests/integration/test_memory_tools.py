"""Memories as an agent's tools write them: what is answered is what was done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from howcome.mcp.session import Session

AWS_SECRET = "AKIA" + "Z7QJ4TRNBX2MW5KD"


@pytest.fixture
def session(tmp_path: Path, store_folder: Path) -> Iterator[Session]:
    """A client's session in a folder of its own, over a store that is there."""
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    with Session({**os.environ, "HOWCOME_HOME": str(store_folder)}, str(tmp_path / "harbour")) as opened:
        yield opened


def call(session: Session, name: str, **arguments: object) -> str:
    """What a tool answers."""
    [content] = session.call(name, arguments)["content"]  # type: ignore[misc]
    return str(content["text"])


def kept(answer: str) -> str:
    """The id of what was kept."""
    return next(word for word in answer.replace("(", " ").split() if word.startswith("mem-"))


def test_nothing_is_said_to_be_superseded_that_was_not(session: Session) -> None:
    """The words are another memory's already, which superseded something else: both stay as they are."""
    redis, etcd = (kept(call(session, "remember", text=f"use {name}")) for name in ("redis", "etcd"))
    postgres = kept(call(session, "update_memory", id=etcd, text="use postgres"))
    answer = call(session, "update_memory", id=redis, text="Use Postgres")
    assert answer.startswith(f"{postgres} says that already")
    assert f"{redis} stays" in answer
    assert session.app.memories.get(redis).state == "live"
    answer = call(session, "update_memory", id=redis, text="use sqlite")
    assert answer.endswith(f"supersedes {redis}, which stays in its chain (context, open).")
    assert session.app.memories.get(redis).state == "superseded"


def test_what_was_taken_out_is_said(session: Session) -> None:
    """An agent that thinks a key is kept would look for it later."""
    answer = call(session, "remember", text=f"The key is {AWS_SECRET}")
    assert answer.endswith("Taken out of it: 1 secret (aws-access-key-id).")
    changed = call(session, "update_memory", id=kept(answer), text=f"The keys are {AWS_SECRET} and {AWS_SECRET[:-1]}E")
    assert changed.endswith("Taken out of it: 2 secrets (aws-access-key-id).")


def test_a_status_is_set_and_said(session: Session) -> None:
    """The memory stays the one that it is, and is found."""
    ident = kept(call(session, "remember", text="the sweeper leaks"))
    assert call(session, "update_memory", id=ident, status="resolved") == f"{ident} is resolved now."
    assert ident in call(session, "search_memory", query="sweeper leaks")


def test_a_chain_is_told_in_plain_words(session: Session) -> None:
    """Which one replaced which."""
    first = kept(call(session, "remember", text="one table"))
    second = kept(call(session, "update_memory", id=first, text="one table with a lease"))
    assert f"replaced by [{second}]" in call(session, "expand_memory", id=first)
    assert f"\nreplaced [{first}]" in call(session, "expand_memory", id=second)
