"""Memories as an agent's tools write them: what is answered is what was done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hashing import Synonyms

from howcome.app import open_app
from howcome.mcp.session import Session
from howcome.recall.bites import bite_lines
from howcome.settings import read_settings

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
    redis, etcd = (
        kept(call(session, "remember", text=f"use {name} for the session cache")) for name in ("redis", "etcd")
    )
    postgres = kept(call(session, "update_memory", id=etcd, text="use postgres for the session cache"))
    answer = call(session, "update_memory", id=redis, text="Use Postgres for the Session Cache")
    assert answer.startswith(f"{postgres} says that already")
    assert f"{redis} stays" in answer
    assert session.app.memories.get(redis).state == "live"
    answer = call(session, "update_memory", id=redis, text="use sqlite for the session cache")
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
    ident = kept(call(session, "remember", text="the sweeper leaks its file handles"))
    assert call(session, "update_memory", id=ident, status="resolved") == f"{ident} is resolved now."
    assert ident in call(session, "search_memory", query="sweeper leaks")


def test_a_chain_is_told_in_plain_words(session: Session) -> None:
    """Which one replaced which."""
    first = kept(call(session, "remember", text="one table holds all of the jobs"))
    second = kept(call(session, "update_memory", id=first, text="one table with a lease holds the jobs"))
    assert f"replaced by [{second}]" in call(session, "expand_memory", id=first)
    assert f"\nreplaced [{first}]" in call(session, "expand_memory", id=second)


CELERY, RQ = "Celery over RQ for the task queue: RQ has no retries", "We use RQ instead of Celery, which is too heavy"


def test_what_says_too_little_is_refused(session: Session) -> None:
    """With what to write instead; nothing is kept."""
    for text in ("ok", "thanks"):
        assert "with its reason" in call(session, "remember", text=text)
    said = call(session, "remember", text="I think we should always pin gauge-core")
    assert "in other words (as_is keeps yours)" in said
    assert "\n| Always pin gauge-core\n" in said
    ident = kept(said)
    assert session.app.memories.get(ident).text == "Always pin gauge-core"
    assert "with its reason" in call(session, "update_memory", id=ident, text="done")
    as_said = call(session, "remember", text="I think we should always pin gauge-tide", as_is=True)
    assert "in other words" not in as_said
    raw = kept(as_said)
    assert session.app.memories.get(raw).text.startswith("I think")
    assert session.app.health.memories()[0]["by_state"] == {"live": 2}


def test_what_says_the_same_is_answered_with_what_is_there(session: Session) -> None:
    """By words here: its id and its words, of whatever type; the reading is noted."""
    ident = kept(call(session, "remember", text="The tide poller waits 30s between reads", type="decision"))
    answer = call(session, "remember", text="Between reads, the tide poller waits 30s.", type="failure")
    assert answer.startswith(f"Known already as {ident}")
    assert "The tide poller waits 30s between reads" in answer
    assert session.app.memories.get(ident).access_count == 1
    assert session.app.health.memories()[0]["by_state"] == {"live": 1}


def test_an_agent_supersedes_its_own_choice_and_not_a_persons(session: Session) -> None:
    """A person's is contradicted, which both say in every hit."""
    first = kept(call(session, "remember", text=CELERY))
    second = call(session, "remember", text=RQ)
    assert f"It supersedes {first}." in second
    assert first not in call(session, "search_memory", query="task queue celery")
    person, _ = session.app.memories.add("Dramatiq over Celery for tides: it is small", project=session.folder)
    answer = call(session, "remember", text="Celery over Dramatiq for tides: the team knows it")
    assert f"It contradicts {person.id}" in answer
    other = kept(answer)
    assert session.app.memories.get(person.id).state == "live"
    found = call(session, "search_memory", query="dramatiq tides")
    assert f"[contradicts {other}]" in found
    assert f"[contradicts {person.id}]" in found
    assert f"contradicts {other}" in call(session, "get_memories", ids=[person.id])
    said = session.app.search.recall(
        "what about Dramatiq for tides?", cwd=str(session.folder), session="new", recent=str
    )
    heads = [head for head, _ in bite_lines(said, 0)]
    assert any(f"(contradicts {other[:12]})" in head for head in heads)


def test_of_two_that_contradict_the_later_one_is_said_with_a_prompt(session: Session) -> None:
    """Where both answer it, and the same party said them."""
    told = [
        session.app.memories.add(f"Tide tables are read {count} times an hour for the crane", project=session.folder)[0]
        for count in (4, 9)
    ]
    assert session.app.memories.get(told[0].id).contradicts == [told[1].id]
    found = session.app.search.recall(
        "how often are tide tables read for the crane?", cwd=str(session.folder), session="new", recent=str
    )
    assert [one.memory.id for one in found if one.memory is not None] == [told[1].id]


def test_wrong_and_never_again_is_one_call(session: Session) -> None:
    """No agent keeps it again, in other words either; a person may."""
    ident = kept(call(session, "remember", text="The tide poller waits 30s between reads"))
    assert "nothing that says the same is learnt again" in call(session, "forget", id=ident, never_again=True)
    answer = call(session, "remember", text="Between reads the tide poller waits 30s")
    assert f"{ident} says the same and was called wrong" in answer
    for more in ({"agent_id": "scout"}, {"scope": "global"}, {"agent_id": "scout", "scope": "global"}):
        answer = call(session, "remember", text="Between reads the tide poller waits 30s", **more)
        assert f"{ident} says the same and was called wrong" in answer, more
    assert session.app.memories.add("Between reads the tide poller waits 30s", project=session.folder)[1]


def test_what_an_embedder_finds_the_same_is_known(tmp_path: Path) -> None:
    """Other words, the same vector; a number tells them apart."""
    settings = read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOWCOME_EMBEDDING": "off"})
    with open_app(settings, embedder=Synonyms()) as app:
        lorry, _ = app.memories.add("the lorry carries cargo to quay 9", project=str(tmp_path))
        for text, is_new in (("the truck carries load to quay 9", False), ("the truck carries load to quay 7", True)):
            memory, was_new = app.memories.add(text, project=str(tmp_path))
            assert (was_new, memory.row == lorry.row) == (is_new, not is_new)
        assert app.memories.get(lorry.id).contradicts == [memory.id]
