"""What every store promises about a memory of several projects: each of them has it as its home has, and no other."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.contract.test_store_memories import DIKE, EVERYTHING, QUAY, Clock, found, listed, scope_of

from howcome.domain.memories import RULES, MemoryFilter, NewMemory
from howcome.domain.stored import Filter, Scope
from howcome.errors import UsageError
from howcome.memory.backup import back_up_memories, newest_backup
from howcome.memory.remember import Memories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from howcome.domain.memories import Memory
    from howcome.store.base import Store

LOCK, PIER = "/home/mara/lock", "/home/mara/pier"
TEXT = "Gauge times are UTC in all our services"


@pytest.fixture
def kept(store: Store) -> Memories:
    """Memories by hand over an empty store."""
    return Memories(store, Clock())


def shared(kept: Memories, *also: str, text: str = TEXT) -> Memory:
    """A memory of the quay that holds elsewhere, too."""
    return kept.add(text, project=QUAY, also=also or (DIKE,))[0]


def holding(store: Store, kept: Memories, roots: Iterable[str] = (QUAY, DIKE, LOCK, PIER)) -> list[str]:
    """The projects that have any memory, by every way to look; all ways must agree."""
    places = []
    for root in roots:
        scope = scope_of(store, root)
        ways = {
            "listed": listed(kept, scope),
            "searched": found(store, "gauge times", scope),
            "own": [one.text for one in store.memories.select(scope, MemoryFilter(is_own_only=True), 9)]
            if scope.project_id
            else [],
            "fading": [one.text for one in store.reviews.fading(scope, 9)],
            "exported": [
                str(one["text"]) for one in kept.export(scope) if "text" in one and kept.get(str(one["key"])).is_live
            ],
        }
        assert len({tuple(texts) for texts in ways.values()}) == 1, (root, ways)
        places += [root] if ways["listed"] else []
    return places


def distilled() -> NewMemory:
    """What a session of the quay taught."""
    return NewMemory(
        key=os.urandom(16), digest=b"d" * 16, type="decision", text=TEXT, project=QUAY, agent=None, origin="user",
        status="open", created_ms=1, source=RULES,
    )  # fmt: skip


def test_it_is_found_in_each_of_its_projects_and_nowhere_else(store: Store, kept: Memories) -> None:
    """Also in none that nobody has met; the first project stays its home."""
    kept.add("an anchor", project=LOCK)
    kept.forget(kept.listed(EVERYTHING, MemoryFilter())[0].id)
    memory = shared(kept, DIKE, PIER)
    assert (memory.project, memory.also) == (QUAY, [DIKE, PIER])
    assert holding(store, kept) == [QUAY, DIKE, PIER]
    assert found(store, "gauge", Scope.project(None)) == listed(kept, Scope.project(None)) == []
    assert found(store, "gauge") == listed(kept) == [TEXT]
    assert listed(kept, is_global_only=True) == []


def test_vectors_keep_to_the_same_projects(store: Store, kept: Memories) -> None:
    """What is found by its meaning is found where it holds."""
    kept.add("an anchor", project=LOCK)
    memory = shared(kept)
    store.memory_vectors.keep("model", {memory.key: b"\0\0"})
    near = {
        root: [row for row, _ in store.memory_search.vectors("model", Filter(scope_of(store, root)))]
        for root in (QUAY, DIKE, LOCK, PIER)
    }
    assert near == {QUAY: [memory.row], DIKE: [memory.row], LOCK: [], PIER: []}


def test_a_project_is_added_and_taken_out_again(store: Store, kept: Memories) -> None:
    """In place: it is the same memory, and whoever has read it finds out."""
    memory, _ = kept.add(TEXT, project=QUAY)
    before = store.database.execute("SELECT change FROM memories").fetchone()  # type: ignore[attr-defined]
    changed = kept.update(memory.id, also=[DIKE, DIKE], is_person=True)
    assert store.database.execute("SELECT change FROM memories").fetchone() > before  # type: ignore[attr-defined]
    assert (changed.key, changed.also) == (memory.key, [DIKE])
    assert kept.update(memory.id, also=[LOCK], not_in=[DIKE]).also == [LOCK]
    assert holding(store, kept) == [QUAY, LOCK]
    assert kept.update(memory.id, not_in=[LOCK]).also == []
    assert holding(store, kept) == [QUAY]


def test_what_makes_no_sense_is_refused(kept: Memories) -> None:
    """Its own project again, any beside everywhere, its home taken out, one taken out that it is not in."""
    for project, also, says in ((QUAY, [QUAY], "its own project"), (None, [DIKE], "in every project")):
        with pytest.raises(UsageError, match=says):
            kept.add(TEXT, project=project, also=also)
    memory, wide = shared(kept), kept.add("gauge of everywhere", project=None)[0]
    for options, says in (
        ({"also": [QUAY]}, "its own project"),
        ({"not_in": [QUAY]}, f"its own project.*howcome remember --project.*howcome forget {memory.id}"),
        ({"not_in": [LOCK]}, "is not in /home/mara/lock"),
        ({"also": [LOCK], "not_in": [LOCK]}, "is not in /home/mara/lock"),
    ):
        with pytest.raises(UsageError, match=says):
            kept.update(memory.id, **options)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="in every project"):
        kept.update(wide.id, also=[DIKE])
    assert kept.get(memory.id).also == [DIKE]
    assert len(listed(kept)) == 2


def test_a_new_text_holds_where_the_old_one_did(store: Store, kept: Memories) -> None:
    """And where it is said to hold from now on; the old one is found in none of them."""
    memory = shared(kept)
    newer = kept.update(memory.id, text="Gauge times are local", is_person=True)
    assert (newer.supersedes, newer.also) == (memory.row, [DIKE])
    assert holding(store, kept) == [QUAY, DIKE]
    last = kept.update(newer.id, text="Gauge times are UTC again", also=[LOCK], not_in=[DIKE])
    assert last.also == [LOCK]
    assert holding(store, kept) == [QUAY, LOCK]


def test_the_same_words_in_another_of_its_projects_are_known(kept: Memories) -> None:
    """At home, and where it also holds; said with another project, it holds there from then on."""
    memory = shared(kept)
    for project, also in ((QUAY, ()), (DIKE, ()), (QUAY, (LOCK,)), (DIKE, (PIER, QUAY))):
        again, is_new = kept.add(TEXT.upper(), project=project, also=also)
        assert (again.key, is_new, again.project) == (memory.key, False, QUAY)
    assert again.also == [DIKE, LOCK, PIER]
    assert kept.add(TEXT, project="/home/mara/crane")[1]


def test_what_is_live_in_one_of_its_projects_is_not_restored_beside_it(kept: Memories) -> None:
    """One that says the same is there already."""
    there, _ = kept.add(TEXT, project=DIKE)
    kept.forget(there.id)
    memory = shared(kept)
    with pytest.raises(UsageError, match=f"{memory.id} says the same"):
        kept.restore(there.id)


def test_pairs_are_reviewed_in_each_project(store: Store, kept: Memories) -> None:
    """A contradiction is shown wherever one of both holds."""
    one, other = shared(kept), shared(kept, LOCK, text="Gauge times are local")
    store.reviews.relate([], [(one.row, other.row, "number")], 1)
    waiting = {root: len(store.reviews.waiting(scope_of(store, root), 9)) for root in (QUAY, DIKE, LOCK, PIER)}
    assert waiting == {QUAY: 1, DIKE: 1, LOCK: 1, PIER: 0}


def test_what_is_erased_is_in_no_other_project(store: Store, kept: Memories) -> None:
    """Only the stone is left, at home."""
    memory = shared(kept)
    kept.purge(memory.id)
    assert holding(store, kept) == []
    assert kept.get(memory.id).also == []
    stones = [line for line in kept.export(scope_of(store, DIKE)) if "key" in line]
    assert stones == []


def test_a_project_that_is_joined_carries_it_over(store: Store, kept: Memories) -> None:
    """Its home, one of the others, or both at once; nothing points to what is gone."""
    memory = shared(kept, DIKE, LOCK)
    row = {root: store.projects.of_root(root) or 0 for root in (QUAY, DIKE, LOCK)}
    kept.add("an anchor of the pier", project=PIER)
    store.projects.join(store.projects.of_root(PIER) or 0, row[DIKE], 1)
    assert kept.get(memory.id).also == [LOCK, PIER]
    store.projects.join(store.projects.of_root(PIER) or 0, row[LOCK], 1)
    assert kept.get(memory.id).also == [PIER]
    assert TEXT in listed(kept, Scope.project(store.projects.of_root(DIKE)))  # by its former root
    store.projects.join(store.projects.of_root(PIER) or 0, row[QUAY], 1)
    assert (kept.get(memory.id).project, kept.get(memory.id).also) == (PIER, [])
    left = store.database.execute("SELECT count(*) FROM memory_projects").fetchone()  # type: ignore[attr-defined]
    assert left == (0,)


def test_an_import_keeps_them_as_roots(open_store: Callable[[], Store], kept: Memories) -> None:
    """A folder that is not here stays a root, as the home does; another root of a project is that project."""
    memory = shared(kept, DIKE, LOCK)
    lines = list(enumerate(kept.export(EVERYTHING), 1))
    kept.purge(memory.id)
    assert lines[1][1]["also"] == [DIKE, LOCK]  # type: ignore[index]
    lines[1] = (2, {**lines[1][1], "key": "ab" * 16})  # type: ignore[dict-item]
    store = open_store()
    other = Memories(store, Clock())
    other.add("an anchor of the pier", project=PIER)
    store.projects.alias("/home/mara/old-pier", store.projects.of_root(PIER) or 0, 1)
    lines[1][1]["also"].append("/home/mara/old-pier")  # type: ignore[index, attr-defined]
    report = other.import_values(lines, is_mine=True)
    assert (report.added, report.problems) == (1, [])
    assert other.get("ab" * 16).also == [DIKE, LOCK, PIER]
    assert "/home/mara/old-pier" not in dict(store.projects.roots()).values()


@pytest.mark.parametrize("also", ["/home/mara/dike", [3], ["dike"], [f"/p{number}" for number in range(1000)]])
def test_a_line_with_something_else_there_is_refused(kept: Memories, also: object) -> None:
    """It is named, and nothing of it is kept."""
    shared(kept)
    [head, line] = kept.export(EVERYTHING)
    report = kept.import_values([(1, head), (2, {**line, "key": "ab" * 16, "text": "another", "also": also})])
    assert [number for number, _ in report.problems] == [2]
    assert listed(kept) == [TEXT]


def test_what_was_distilled_and_is_shared_is_touched(store: Store, kept: Memories) -> None:
    """Somebody did something to it: no distiller of any of its projects takes it away."""
    new = distilled()
    memory, _ = store.memories.add(new)
    project = store.projects.of_root(QUAY) or 0
    assert store.candidates.known_of(project).touched == set()
    kept.update(memory.id, also=[DIKE])
    assert store.candidates.known_of(project).touched == {memory.key}
    assert [one.key for one in store.candidates.sample(scope_of(store, DIKE), RULES)] == [memory.key]
    there = store.candidates.known_of(store.projects.of_root(DIKE) or 0)
    assert [one.key for one in there.kept] == [memory.key]


def test_a_shared_memory_of_a_distiller_is_backed_up(store: Store, kept: Memories, tmp_path: Path) -> None:
    """Reading transcripts again would give it, but not where else it holds."""
    new = distilled()
    memory, _ = store.memories.add(new)
    assert back_up_memories(store, str(tmp_path / "one"), 1)
    kept.update(memory.id, also=[DIKE])
    assert back_up_memories(store, str(tmp_path / "two"), 1)
    lines = [Path(newest_backup(str(tmp_path / name)) or "").read_text() for name in ("one", "two")]
    assert [memory.key.hex() in text for text in lines] == [False, True]


def test_what_sessions_said_there_is_weighed_again(store: Store, kept: Memories) -> None:
    """In a project that it comes to, and in one that it leaves."""
    memory, _ = kept.add(TEXT, project=QUAY)
    for options in ({"also": [DIKE]}, {"not_in": [DIKE]}):
        store.database.execute("DELETE FROM unreconciled")  # type: ignore[attr-defined]
        kept.update(memory.id, **options)  # type: ignore[arg-type]
        assert store.candidates.unreconciled() == [store.projects.of_root(DIKE)]


def test_other_projects_of_what_holds_everywhere_are_nobodys(store: Store, kept: Memories) -> None:
    """A file that says so makes no project."""
    head, *_ = kept.export(EVERYTHING)
    line = {
        "key": "ab" * 16, "type": "context", "text": TEXT, "project": None, "agent": None, "origin": "user",
        "status": "open", "created_ms": 1, "also": [DIKE],
    }  # fmt: skip
    assert kept.import_values([(1, head), (2, line)], is_mine=True).added == 1
    assert (store.projects.roots(), kept.get("ab" * 16).also) == ([], [])


def test_roots_that_become_one_by_redacting_again_are_one(store: Store, kept: Memories) -> None:
    """A project whose root is rewritten into another's hands its memories over."""
    memory = shared(kept, DIKE, LOCK)
    [(lock,)] = store.database.execute("SELECT id FROM projects WHERE root = ?", (LOCK,))  # type: ignore[attr-defined]
    [(quay,)] = store.database.execute("SELECT id FROM projects WHERE root = ?", (QUAY,))  # type: ignore[attr-defined]
    sql = "UPDATE OR REPLACE memory_projects SET project_id = ? WHERE project_id = ?"  # as store.rewriting does
    store.database.execute(sql, (quay, lock))  # type: ignore[attr-defined]
    assert kept.get(memory.id).also == [DIKE]
