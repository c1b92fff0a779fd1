"""The order of memories that say about the same: by type and age, the time asked for, and whether they are open."""

from __future__ import annotations

import os
from math import prod
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write

from howcome.app import now_ms
from howcome.clients.discover import named_transcripts
from howcome.domain.memories import HAND, RULES, Memory
from howcome.domain.ranking import DAY_MS, HERE_WEIGHT, adjusted, facts_of, for_memories
from howcome.domain.stored import Scope
from howcome.mcp.session import Session
from howcome.memory.remember import Memories
from howcome.retrieve.memories import CROWDING, SPEAK_SHARE, TIER
from howcome.retrieve.question import Question

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from howcome.app import App
    from howcome.domain.stored import Found

EVERYTHING = Scope.everything()
BUILD = "After a change in styles.css run css:build, else the browser serves what was built before."


@pytest.fixture
def session(tmp_path: Path, store_folder: Path) -> Iterator[Session]:
    """A client's session over a store that is there."""
    with Session({**os.environ, "HOWCOME_HOME": str(store_folder)}, str(tmp_path)) as opened:
        yield opened


def keep(app: App, text: str, *, days: float = 0, kind: str = "context", status: str = "open") -> str:
    """Keeps a memory that is so many days old; its id."""
    then = now_ms() - round(days * DAY_MS)
    return Memories(app.store, lambda: then).add(text, type=kind, project=None, status=status)[0].id


def found(app: App, text: str) -> list[Found]:
    """What a search answers."""
    return app.search.find(Question(text, EVERYTHING, limit=9))


def ids(app: App, text: str) -> list[str]:
    """The ids of the memories that a search answers with, best first."""
    return [item.memory.id for item in found(app, text) if item.memory is not None]


def reads(session: Session, ident: str) -> int:
    """How often a memory was asked for."""
    return session.app.memories.get(ident).access_count


def call(session: Session, name: str, **arguments: object) -> str:
    """What a tool answers."""
    [content] = session.call(name, arguments)["content"]  # type: ignore[misc]
    return str(content["text"])


# -- order -------------------------------------------------------------------------------------------------------------
def test_a_decision_fades_sooner_than_a_dependency(session: Session) -> None:
    """Of two that say about the same, a month later, what holds longer comes first."""
    app = session.app
    decision = keep(app, "the gnomon needs brass plates", days=30, kind="decision")
    dependency = keep(app, "the gnomon needs brass screws", days=30, kind="dependency")
    assert ids(app, "gnomon brass") == [dependency, decision]


def test_an_old_memory_that_answers_better_stays_before_a_new_one(session: Session) -> None:
    """Age decides among about equal ones only: nothing that was kept becomes unfindable."""
    app = session.app
    old = keep(app, "the gnomon needs brass screws", days=3000, kind="decision")
    new = keep(app, "the gnomon was painted by a neighbour")
    assert ids(app, "which screws of brass does the gnomon need") == [old, new]


def test_what_is_open_comes_before_what_is_resolved(session: Session) -> None:
    """Both are found."""
    app = session.app
    resolved = keep(app, "the gnomon leaks at noon", status="resolved")
    still = keep(app, "the gnomon leaks at dusk", days=1)
    assert ids(app, "gnomon leaks") == [still, resolved]


def test_a_time_that_is_named_decides_among_memories_too(session: Session) -> None:
    """Who asks what was decided ten days ago does not want what is newest."""
    app = session.app
    new = keep(app, "the gnomon gets brass screws")
    then = keep(app, "the gnomon gets brass plates", days=10)
    assert ids(app, "what about the brass gnomon") == [new, then]
    assert ids(app, "what about the brass gnomon 10 days ago") == [then, new]


def test_of_the_memories_of_all_projects_ones_own_come_first(session: Session, tmp_path: Path) -> None:
    """What holds everywhere holds here too; asked from nowhere, no project's comes first."""
    app = session.app
    for name in ("abroad", "home"):
        app.memories.add(f"the gnomon is kept in {name}", project=str(tmp_path / name))
    app.memories.add("the gnomon is kept in general", project=None)
    here = app.projects.scope_of(str(tmp_path / "home")).project_id
    assert here is not None
    found = app.search.find(Question("gnomon is kept", Scope.everything(here), limit=9))
    places = {item.memory.text.split()[-1]: item.adjustments["here"] for item in found if item.memory}
    assert places == {"home": 1.0, "general": 1.0, "abroad": pytest.approx(1 / (1 + HERE_WEIGHT))}
    assert all(
        "here" not in item.adjustments for item in app.search.find(Question("gnomon is kept", EVERYTHING, limit=9))
    )


def test_an_explanation_names_what_changed_the_score_of_a_memory(session: Session) -> None:
    """By name, with what it was multiplied with."""
    app = session.app
    keep(app, "the gnomon leaks at noon", days=30, status="resolved")
    [hit] = found(app, "gnomon leaks")
    assert hit.adjustments == {
        "survival": pytest.approx((1 + 0.3 * 0.36788) / 1.3, abs=0.001), "open": pytest.approx(1 / 1.1),
        "level": pytest.approx(1.2),
    }  # fmt: skip
    assert hit.score == pytest.approx(hit.tiers[TIER] * prod(hit.adjustments.values()))
    assert hit.strength == pytest.approx(SPEAK_SHARE * hit.tiers[TIER])


@pytest.mark.parametrize(
    ("type_", "is_everywhere", "source", "factor"),
    [
        ("context", False, RULES, 0.8), ("decision", False, RULES, 1.0), ("context", False, HAND, 1.0),
        ("context", True, RULES, 1.2), ("pattern", True, HAND, 1.2),
    ],
)  # fmt: skip
def test_how_far_a_memory_reaches_counts(type_: str, source: str, factor: float, *, is_everywhere: bool) -> None:
    """What passes less, what holds everywhere more; who keeps something without a type has not said that it passes."""
    memory = memory_of_type(type_, None if is_everywhere else "/p", source)
    score, factors = adjusted(0.5, facts_of(memory), for_memories([]), now_ms=0)
    assert factors["level"] == pytest.approx(factor)
    assert score == pytest.approx(0.5 * factor)


def memory_of_type(type_: str, project: str | None, source: str) -> Memory:
    """A memory of now; its other columns are empty."""
    columns = dict.fromkeys(Memory.__slots__, None)
    return Memory(
        {**columns, "type": type_, "project": project, "source": source, "created_ms": 0, "status": "open",
         "access_count": 0, "supersedes_key": None, "superseded_by_key": None}
    )  # fmt: skip


# -- beside events -----------------------------------------------------------------------------------------------------
def test_a_memory_has_a_scale_of_its_own_beside_events(session: Session, tmp_path: Path) -> None:
    """One sentence that shares two words with a question stands before a talk that happens to hold all of them."""
    app, claude = session.app, Claude("talk", start=1000)
    asked = "do the tests of the browser pass after my edits of the style?"
    answered = "All of them pass; the edits of the style show up in each browser."
    path = write(tmp_path / "talk.jsonl", claude.user(asked), claude.text(answered))
    for one in named_transcripts([str(path)]):
        app.ingest.file(one)
    app.index.finish()
    ident = keep(app, BUILD, kind="pattern")
    hits = found(app, "my style edits do not show up in the browser")
    assert hits[0].memory is not None
    assert hits[0].memory.id == ident
    assert any(hit.event is not None for hit in hits)


def test_of_several_memories_each_further_one_counts_less(session: Session) -> None:
    """So that they leave room for events; their own order stays."""
    app = session.app
    for place in ("noon", "dusk", "dawn"):
        keep(app, f"the gnomon leaks at {place}")
    factors = [hit.adjustments.get("crowding", 1.0) for hit in found(app, "gnomon leaks")]
    assert factors == [1.0, pytest.approx(CROWDING), pytest.approx(CROWDING**2)]


def test_a_prompt_is_told_a_memory_of_which_it_shares_a_few_telling_words(session: Session, tmp_path: Path) -> None:
    """Of a prompt of many words a memory holds two or three that tell; one common word is not enough."""
    app = session.app
    ident = keep(app, BUILD)

    def told(prompt: str) -> list[str]:
        said = app.search.recall(prompt, cwd=str(tmp_path), session="s", recent=str)
        return [item.memory.id for item in said if item.memory is not None]

    long = "the browser shows no change although I have edited the style sheet; what is left to do before I can show"
    assert told(f"{long} it to Anna in the demo tomorrow morning?") == [ident]
    assert told("write the change into the report of the quarter for the board and the bank") == []


# -- reads -------------------------------------------------------------------------------------------------------------
def test_only_what_somebody_asks_for_by_its_id_is_a_read(session: Session, tmp_path: Path) -> None:
    """Searches, listings and what is pushed with a prompt are not: memory would feed on its own suggestions."""
    app = session.app
    ident = keep(app, "the gnomon leaks at noon")
    found(app, "gnomon leaks")
    call(session, "search_memory", query="gnomon leaks")
    call(session, "list_memories")
    said = app.search.recall("why does the gnomon leak at noon?", cwd=str(tmp_path), session="s", recent=str)
    assert [item.memory.id for item in said if item.memory is not None] == [ident]
    app.search.record_said("s", "UserPromptSubmit", said)
    assert reads(session, ident) == 0
    call(session, "get_memories", ids=[ident, ident])
    assert reads(session, ident) == 1
    call(session, "expand_memory", id=ident)
    assert reads(session, ident) == 2


def test_going_on_with_a_long_memory_is_the_same_read(session: Session) -> None:
    """Its next part is asked for by an offset."""
    ident = keep(session.app, "gnomon " * 1000)
    call(session, "get_memories", ids=[ident])
    call(session, "get_memories", ids=[ident], offset=6000)
    assert reads(session, ident) == 1


def test_being_read_does_not_raise_a_memory(session: Session) -> None:
    """What was read is not always what was right: the count is kept, and counts nothing (see `ACCESS_WEIGHT`)."""
    app = session.app
    first = keep(app, "the gnomon leaks at noon", days=0.1)
    second = keep(app, "the gnomon leaks at dusk", days=0.2)
    for _ in range(9):
        call(session, "get_memories", ids=[second])
    assert ids(app, "gnomon leaks") == [first, second]
