"""A memory of several repositories: kept, shown, searched and pushed in each of them, and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.batches import START_MS, Transcript
from tests.builders import Claude, write
from tests.noting import NotingDistiller
from tests.processes import answer_of, ask, hook, payload, run
from tests.unit.test_identity import make

from howcome.app import App, open_app
from howcome.domain.distil_batches import is_free
from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.learn.run import Distillation
from howcome.mcp.session import Session
from howcome.memory.remember import Memories
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

TEXT = "Giraffe fodder is ordered from the zebra farm"
PROMPT = "where is the giraffe fodder ordered, at the zebra farm?"
NAMES = ("quay", "dike", "lock")


@pytest.fixture
def folders(tmp_path: Path, store_folder: Path) -> dict[str, Path]:
    """Three repositories, each with a session that is stored."""
    assert store_folder
    made = {}
    for name in NAMES:
        made[name] = tmp_path / name
        (made[name] / ".git").mkdir(parents=True)
        (made[name] / "src").mkdir()
        talk = write(tmp_path / "talks" / f"{name}.jsonl", *Claude(name, str(made[name])).conversation(2, "berth"))
        ask("import", talk)
    return made


@pytest.fixture
def session(folders: dict[str, Path]) -> Iterator[Session]:
    """An agent at work in the first of them."""
    with Session(dict(os.environ), str(folders["quay"])) as opened:
        yield opened


@pytest.fixture
def app(folders: dict[str, Path]) -> Iterator[App]:
    """The façade over their store."""
    assert folders
    with open_app(read_settings(os.environ)) as opened:
        yield opened


def said(session: Session, tool: str, **arguments: object) -> tuple[str, bool]:
    """What a tool answers, and whether it is an error."""
    answer: Any = session.call(tool, arguments)
    return str(answer["content"][0]["text"]), bool(answer.get("isError"))


def keep(folders: dict[str, Path], *words: str | Path, text: str = TEXT) -> dict[str, Any]:
    """Keeps it at the quay."""
    return ask("remember", "--project", folders["quay"], *words, text)


def seen(folders: dict[str, Path], text: str = TEXT) -> list[str]:
    """The repositories in which it is listed, searched and said with a prompt: the same by every way."""
    found: dict[str, list[str]] = {"listed": [], "searched": [], "pushed": []}
    for name, folder in folders.items():
        at = ("--project", folder)
        found["listed"] += [name] if text in json.dumps(ask("memories", *at)) else []
        found["searched"] += [name] if text in json.dumps(ask("search", *at, "giraffe zebra")) else []
        data = payload("UserPromptSubmit", folder / "t.jsonl", os.urandom(4).hex(), cwd=str(folder), prompt=PROMPT)
        found["pushed"] += (
            [name] if text in json.dumps(answer_of("UserPromptSubmit", hook("UserPromptSubmit", data))) else []
        )
    assert found["listed"] == found["searched"] == found["pushed"], found
    return found["listed"]


# -- the command line --------------------------------------------------------------------------------------------------
def test_it_is_in_each_of_its_repositories_and_in_no_other(folders: dict[str, Path]) -> None:
    """Listed, searched, and said with a prompt in the second one as in the first."""
    memory = keep(folders, "--also", folders["dike"] / "src")
    assert (memory["project"], memory["also"]) == (str(folders["quay"]), [str(folders["dike"])])
    assert seen(folders) == ["quay", "dike"]
    assert " quay, dike  " in run("memories", "--project", folders["dike"]).stdout
    for words in (("show", memory["id"]), ("memories", "--why", memory["id"])):
        assert str(folders["dike"]) in run(*words).stdout, words
        assert ask(*words)["also"] == [str(folders["dike"])]


def test_several_at_once_and_said_so(folders: dict[str, Path]) -> None:
    """Whoever keeps it reads where it holds."""
    done = run("remember", "--project", folders["quay"], "--also", folders["dike"], "--also", folders["lock"], TEXT)
    assert f"in {folders['quay']}, {folders['dike']}, {folders['lock']}" in done.stderr
    assert seen(folders) == ["quay", "dike", "lock"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--also", "nowhere/at-all"), "or a folder that is there"),
        (("--also", "quay/src"), "its own project"),
        (("--global", "--also", "dike"), "--global"),
    ],
)
def test_what_is_no_other_repository_is_refused(folders: dict[str, Path], words: tuple[str, ...], says: str) -> None:
    """Nothing is kept."""
    above = folders["quay"].parent
    given = [str(above / word) if "/" in word or word in NAMES else word for word in words]
    where = () if "--global" in words else ("--project", folders["quay"])
    done = run("remember", *where, *given, TEXT)
    assert done.returncode != 0
    assert says in done.stderr
    assert ask("memories", "--all-projects")["memories"] == []


def test_the_first_memory_of_all_makes_no_store_for_a_folder_that_is_not_there(
    tmp_path: Path, store_folder: Path
) -> None:
    """It could not be kept; where the folder is there, it is."""
    done = run("remember", "--project", tmp_path, "--also", tmp_path / "gone", TEXT)
    assert done.returncode != 0
    assert not store_folder.exists() or not any(store_folder.iterdir())
    (tmp_path / "gone" / ".git").mkdir(parents=True)
    assert ask("remember", "--project", tmp_path, "--also", tmp_path / "gone", TEXT)["also"] == [str(tmp_path / "gone")]


def test_one_is_added_and_taken_out_without_a_new_text(folders: dict[str, Path]) -> None:
    """It stays the same memory; its home stays, and what to do instead is said."""
    ident = keep(folders)["id"]
    added = run("update", ident, "--also", folders["dike"])
    assert added.stdout == f"{ident} holds in {folders['quay']}, {folders['dike']}\n"
    assert seen(folders) == ["quay", "dike"]
    answer = ask("update", ident, "--also", folders["lock"], "--not-in", folders["dike"], "--status", "open")
    assert (answer["id"], answer["also"], answer["superseded"]) == (ident, [str(folders["lock"])], None)
    assert seen(folders) == ["quay", "lock"]
    refused = run("update", ident, "--not-in", folders["quay"])
    assert refused.returncode != 0
    assert "howcome remember --project" in refused.stderr
    assert f"howcome forget {ident}" in refused.stderr
    shutil.rmtree(folders["lock"])  # a folder that is gone can be taken out by its path
    assert ask("update", ident, "--not-in", folders["lock"])["also"] == []


def test_a_new_text_keeps_them(folders: dict[str, Path]) -> None:
    """What supersedes it holds where it did."""
    ident = keep(folders, "--also", folders["dike"])["id"]
    newer = "Giraffe fodder comes from the zebra farm by ship"
    assert ask("update", ident, newer)["also"] == [str(folders["dike"])]
    assert seen(folders) == []
    assert seen(folders, newer) == ["quay", "dike"]


def test_what_is_erased_or_forgotten_is_in_none(folders: dict[str, Path]) -> None:
    """Restored it is in all again; purged its rows are gone."""
    ident = keep(folders, "--also", folders["dike"])["id"]
    run("forget", ident)
    assert seen(folders) == []
    run("restore", ident)
    assert seen(folders) == ["quay", "dike"]
    assert run("purge", "--yes", ident).returncode == 0
    assert seen(folders) == []


# -- what says the same, and what says otherwise -----------------------------------------------------------------------
def test_what_says_the_same_there_is_known(folders: dict[str, Path]) -> None:
    """In the other repository it is not kept twice; kept for a third one, the same memory holds there, too."""
    ident = keep(folders, "--also", folders["dike"])["id"]
    again = ask("remember", "--project", folders["dike"], "--also", folders["lock"], TEXT.upper())
    assert (again["id"], again["is_new"]) == (ident, False)
    assert again["also"] == [str(folders["dike"]), str(folders["lock"])]


def test_what_only_the_other_one_has_is_known_too(folders: dict[str, Path]) -> None:
    """One memory of both, not one beside the other."""
    ident = ask("remember", "--project", folders["dike"], TEXT)["id"]
    again = keep(folders, "--also", folders["dike"])
    assert (again["id"], again["is_new"], again["also"]) == (ident, False, [str(folders["quay"])])
    assert seen(folders) == ["quay", "dike"]


def test_an_update_to_the_words_of_another_leaves_both_where_they_are(folders: dict[str, Path]) -> None:
    """What says it already does not begin to hold where it was never said to."""
    wide = keep(folders, "--also", folders["dike"], text="The crane runs on diesel fuel")["id"]
    other = keep(folders)["id"]
    assert ask("update", wide, TEXT)["id"] == other
    assert ask("show", other)["also"] == []
    assert ask("show", wide)["state"] == "live"


def test_a_choice_in_one_repository_does_not_take_it_away_from_the_others(folders: dict[str, Path]) -> None:
    """What says otherwise in one of them waits for a person; it would be gone from the others unseen."""
    ident = keep(folders, "--also", folders["dike"], "--type", "decision", text="We use Celery over RQ for the queue")[
        "id"
    ]
    other = ask("remember", "--project", folders["dike"], "--type", "decision", "We use RQ over Celery for the queue")
    assert (other["supersedes"], other["contradicts"]) == (None, [ident])
    assert ask("show", ident)["state"] == "live"


def test_no_model_takes_it_away(app: App, folders: dict[str, Path]) -> None:
    """Somebody did something to it: it is theirs."""
    app.memories.add(TEXT, project=str(folders["quay"]))
    app.store.connection.execute("UPDATE memories SET source = 'llm'")  # type: ignore[attr-defined]
    [memory] = app.memories.listed(Scope.everything(), MemoryFilter())
    assert is_free(memory)
    assert not is_free(app.memories.update(memory.id, also=[str(folders["dike"])], is_person=True))


def test_it_is_no_stranger_in_any_of_them(app: App, folders: dict[str, Path]) -> None:
    """Asked of every project, it counts in the second one as in the first, and more than in a third."""
    app.memories.add(TEXT, project=str(folders["quay"]), also=[str(folders["dike"])])

    def score(name: str) -> float:
        scope = Scope.everything(app.projects.scope_of(str(folders[name])).project_id)
        [hit] = [one for one in app.search.find(Question("giraffe zebra", scope)) if one.memory]
        return round(hit.score, 6)

    assert score("quay") == score("dike") > score("lock")


def test_what_a_session_taught_and_is_shared_stays_what_it_is(store_folder: Path) -> None:
    """Whatever is distilled in either repository; said there, too, it is one memory, and taken out there are two."""
    store = SqliteStore(str(store_folder))
    people, clock = Memories(store, lambda: START_MS + 10**6), lambda: START_MS

    def told(folder: str, *texts: str, version: int = 1) -> list[str]:
        talk = Transcript(store, f"/t/{folder}-{version}.jsonl", session=f"{folder}-{version}", cwd=f"/home/{folder}")
        talk.say(*texts)
        Distillation(store, NotingDistiller(), clock).run()
        scope = Scope.project(store.projects.of_root(f"/home/{folder}"))
        return sorted(memory.id for memory in store.memories.select(scope, MemoryFilter(), 9))

    pinned = "KEEP decision: gauge times are kept in UTC by every service"
    [ident] = told("quay", "why?", pinned)
    assert told("dike", "and here?", "KEEP decision: cranes are painted yellow") != [ident]
    people.update(ident, also=["/home/dike"])
    assert len(told("dike", "why?", pinned, version=2)) == 2
    assert told("quay", "what else?", "nothing", version=2) == [ident]
    assert people.get(ident).also == ["/home/dike"]
    people.update(ident, not_in=["/home/dike"])
    there = told("dike", "what else?", "nothing", version=3)
    assert len(there) == 2
    assert ident not in there
    assert told("quay", "what else?", "nothing", version=3) == [ident]
    store.close()


# -- an agent's tools --------------------------------------------------------------------------------------------------
def test_an_agent_keeps_it_for_several(session: Session, folders: dict[str, Path]) -> None:
    """`also` takes folders; the answer and the other tools say where it holds."""
    answer, is_error = said(session, "remember", text=TEXT, also=[str(folders["dike"] / "src")])
    assert not is_error
    assert "in quay, dike)" in answer
    assert seen(folders) == ["quay", "dike"]
    ident = next(word for word in answer.split() if word.startswith("mem-"))
    assert str(folders["dike"]) in said(session, "get_memories", ids=[ident])[0]
    answer, is_error = said(session, "update_memory", id=ident, also=["../lock"])
    assert (answer, is_error) == (f"{ident} is open now, in quay, dike, lock.", False)
    assert seen(folders) == ["quay", "dike", "lock"]


def test_an_agent_is_told_what_is_wrong(session: Session, folders: dict[str, Path]) -> None:
    """No such folder, its own project, every project, another's memory."""
    for arguments in ({"also": ["../nowhere"]}, {"also": ["src"]}, {"also": ["../dike"], "scope": "global"}):
        assert said(session, "remember", text=TEXT, **arguments)[1], arguments
    assert ask("memories", "--all-projects")["memories"] == []
    owned = keep(folders, "--agent", "ann")["id"]
    answer, is_error = said(session, "update_memory", id=owned, also=["../dike"], agent_id="bob")
    assert is_error
    assert "belongs to ann" in answer


# -- moving ------------------------------------------------------------------------------------------------------------
def test_an_export_keeps_them_on_another_machine(
    folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also from the second repository's export; folders that are not there are kept as they are written."""
    ident = keep(folders, "--also", folders["dike"])["id"]
    run("export", "--project", folders["dike"], tmp_path / "moved.jsonl")
    for folder in folders.values():
        shutil.rmtree(folder)
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "elsewhere"))
    assert ask("import-memories", "--mine", tmp_path / "moved.jsonl")["added"] == 1
    memory = ask("show", ident)
    assert (memory["project"], memory["also"]) == (str(folders["quay"]), [str(folders["dike"])])
    found = [text["text"] for text in ask("memories", "--project", folders["dike"])["memories"]]
    assert found == [TEXT]


def test_an_agent_does_not_spread_what_came_from_outside(
    session: Session, folders: dict[str, Path], tmp_path: Path
) -> None:
    """A person accepts it first."""
    line = {
        "key": "ab" * 16, "type": "context", "text": TEXT, "project": str(folders["quay"]), "agent": None,
        "origin": "user", "status": "open", "created_ms": 1_790_000_000_000, "also": [str(folders["lock"])],
    }  # fmt: skip
    (tmp_path / "f.jsonl").write_text(f'{{"howcome": "memories", "version": 1}}\n{json.dumps(line)}\n')
    assert ask("import-memories", tmp_path / "f.jsonl")["outside"] == 1
    [memory] = ask("memories", "--all-projects")["memories"]
    assert memory["also"] == [str(folders["lock"])]
    answer, is_error = said(session, "update_memory", id=memory["id"], also=["../dike"])
    assert is_error
    assert "from outside" in answer


def test_a_repository_that_moved_or_was_joined_still_has_it(tmp_path: Path, store_folder: Path) -> None:
    """A moved folder is the same project; a joined one is a part of the other."""
    assert store_folder
    one, two, three = (make(tmp_path / name, f"git@example.invalid:{name}.git") for name in ("one", "two", "three"))
    for folder in (one, two, three):
        ask(
            "import",
            write(tmp_path / f"{folder.name}.jsonl", *Claude(folder.name, str(folder)).conversation(1, "berth")),
        )
    memory = ask("remember", "--project", one, "--also", two, TEXT)
    shutil.move(two, tmp_path / "moved")
    ask("import", write(tmp_path / "m.jsonl", *Claude("m", str(tmp_path / "moved")).conversation(1, "crane")))
    assert TEXT in json.dumps(ask("search", "--project", tmp_path / "moved", "giraffe"))
    ask("projects", "join", three, tmp_path / "moved", "--yes")
    assert ask("show", memory["id"])["also"] == [str(three)]
    assert TEXT in json.dumps(ask("search", "--project", three, "giraffe"))
