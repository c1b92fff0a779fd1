"""Memories of files: what the client wrote down itself, and instruction files, kept in step with what they say."""

from __future__ import annotations

import json
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.builders import CWD, Claude, write
from tests.noting import NotingDistiller
from tests.processes import ask, hook, payload, run

from howcome.app import now_ms, open_app
from howcome.domain.reconciliation import Steps
from howcome.learn.run import Distillation
from howcome.present.patience import Patience
from howcome.settings import read_settings
from howcome.worker.passes import CatchUp

CRANE = "The crane is a mock in tests. Never start the real one."
BERTH = "The berth is closed at night because of the tide."
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
RULE = "Use `tide_clock()` and never the system clock of the quay."


@pytest.fixture
def project(home: Path, store_folder: Path) -> Path:
    """The folder of one project's transcripts, one of which the store knows."""
    assert not store_folder.exists()
    return known(home / ".claude" / "projects" / "-home-mara-harbour")


def known(folder: Path, cwd: str = CWD) -> Path:
    """A folder of transcripts that the store knows, with an empty folder for memories."""
    ask("import", write(folder / f"{folder.name[-8:]}.jsonl", *Claude(folder.name[-8:], cwd).conversation(1)))
    (folder / "memory").mkdir()
    (folder / "memory" / "MEMORY.md").write_text("- [Crane](crane.md): a mock\n")
    return folder


def say(folder: Path, text: str, name: str = "crane.md", *, kind: str = "feedback") -> Path:
    """The client writes a fact down."""
    path = folder / "memory" / name
    path.write_text(f"---\nname: x\ntype: {kind}\n---\n{text}\n")
    return path


def distil() -> dict[str, Any]:
    """What a run did with files: nothing where it says nothing."""
    found: dict[str, Any] = ask("distil").get("in_step", {})
    return found


def memories(*options: str) -> list[dict[str, Any]]:
    """Those from the client's files, the oldest first."""
    rows: list[dict[str, Any]] = ask("memories", "--all-projects", "--source", "client", *options)["memories"]
    return sorted(rows, key=lambda row: (row["state"] == "live", row["text"]))


def texts(*options: str) -> list[str]:
    """What they say."""
    return [row["text"] for row in memories(*options)]


def everything(store_folder: Path) -> list[Any]:
    """All rows of memories, byte for byte."""
    with closing(sqlite3.connect(store_folder / "howcome.db")) as connection:
        return connection.execute("SELECT * FROM memories ORDER BY id").fetchall()


def test_each_file_is_one_memory(project: Path, store_folder: Path) -> None:
    """By its type, in the project of the sessions beside it; again changes not a byte; no hook reads any."""
    say(project, CRANE)
    say(project, BERTH, "berth.md", kind="project")
    say(project, BERTH, "again.md", kind="project")
    say(project, f"  {BERTH.upper()}", "louder.md", kind="feedback")
    transcript = project / f"{project.name[-8:]}.jsonl"
    hook("Stop", payload("Stop", transcript, "harbour"))
    assert memories() == []
    assert distil() == {"added": 2, "forgotten": 0, "restored": 0}
    berth, crane = memories()
    assert (crane["text"], crane["type"], crane["origin"], crane["project"]) == (CRANE, "pattern", "assistant", CWD)
    assert (berth["text"], berth["type"], berth["evidence"]) == (BERTH, "context", [])
    assert crane["subject"] == str(project / "memory" / "crane.md")
    before = everything(store_folder)
    assert distil() == {}
    assert everything(store_folder) == before


def test_it_is_shown_where_it_comes_from(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the list, by `--why`, in what a prompt is told; `learnt` does not know it."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    path = say(project, CRANE)
    done = run("distil")
    assert "files that changed: 1 added" in done.stdout
    [memory] = memories()
    assert "  from the agent's file crane.md  " in run("memories", "--all-projects").stdout
    why = run("memories", "--why", memory["id"]).stdout
    assert f"borne out by the file {path}" in why
    assert "client, assistant" in why
    prompt = payload("UserPromptSubmit", project / "x.jsonl", "other", prompt="is the crane a mock in tests?")
    answer = hook("UserPromptSubmit", prompt).stdout.decode()
    assert "Never start the real one." in answer
    assert "pattern, from the agent's file crane.md" in answer
    assert memory["id"] not in run("learnt", "--all-projects").stdout


def test_a_changed_file_supersedes(project: Path) -> None:
    """The chain stays, also there and back again."""
    say(project, CRANE)
    distil()
    for number, text in enumerate((BERTH, CRANE, BERTH)):
        say(project, text)
        assert distil() == {"added": 1, "forgotten": 0, "restored": 0}
        assert texts() == [text]
        assert distil() == {}
        assert len(ask("memories", "--why", memories()[0]["id"])["chain"]) == number + 2
    say(project, BERTH, kind="project")  # the same words are the same memory, whatever they are called
    assert distil() == {}


def test_a_file_that_is_gone_forgets_and_one_that_is_back_restores(project: Path, store_folder: Path) -> None:
    """Softly; the folder itself has to be there."""
    path = say(project, CRANE)
    distil()
    [memory] = memories()
    path.unlink()
    (project / "memory").rename(project / "elsewhere")
    assert distil() == {}
    (project / "elsewhere").rename(project / "memory")
    (project / "memory").chmod(0)
    if os.geteuid():
        assert distil() == {}
    (project / "memory").chmod(0o700)
    assert distil() == {"added": 0, "forgotten": 1, "restored": 0}
    assert texts() == []
    [gone] = memories("--forgotten")
    assert (gone["id"], gone["state"], gone["is_wrong"]) == (memory["id"], "forgotten", False)
    before = everything(store_folder)
    assert distil() == {}
    assert everything(store_folder) == before
    say(project, CRANE, "renamed.md")
    assert distil() == {"added": 0, "forgotten": 0, "restored": 1}
    assert [row["id"] for row in memories()] == [memory["id"]]


@pytest.mark.parametrize("how", [("forget",), ("forget", "--wrong"), ("purge", "--yes")], ids=" ".join)
def test_what_a_person_forgot_stays_forgotten(project: Path, how: tuple[str, ...]) -> None:
    """As long as the file says the same, also when it was gone in between; another text is another memory."""
    path = say(project, CRANE)
    distil()
    assert run(*how, memories()[0]["id"]).returncode == 0
    assert distil() == {}
    path.unlink()
    assert distil() == {}
    say(project, CRANE, kind="user")
    assert distil() == {}
    assert texts() == []
    say(project, BERTH)
    assert distil()["added"] == 1
    assert texts() == [BERTH]


def test_what_a_person_did_stays(project: Path) -> None:
    """One that was brought back, pinned, or said in other words is not taken away, nor said again."""
    restored, pinned, changed = (say(project, f"{BERTH} {name}.", f"{name}.md") for name in ("Gull", "Tern", "Auk"))
    distil()
    ids = {row["text"].split()[-1]: row["id"] for row in memories()}
    restored.unlink()
    distil()
    assert run("restore", ids["Gull."]).returncode == 0
    assert run("memories", "--pin", ids["Tern."]).returncode == 0
    assert run("update", ids["Auk."], "The auk nests at the berth in June.").returncode == 0
    assert distil() == {}
    pinned.unlink()
    assert distil() == {}
    assert {row["id"] for row in memories()} == {ids["Gull."], ids["Tern."]}
    changed.unlink()
    assert distil() == {}
    assert len(ask("memories", "--all-projects")["memories"]) == 3
    say(project, f"{BERTH} Gull.", "gull.md")  # said again: from now on it goes with its file
    assert distil()["restored"] == 1
    (project / "memory" / "gull.md").unlink()
    assert distil()["forgotten"] == 1


def test_what_is_kept_already_is_not_said_twice(project: Path) -> None:
    """By hand, or as the same fact in another folder of the project; the other folder keeps it alive."""
    assert run("remember", "--global", BERTH).returncode == 0
    say(project, BERTH)
    assert distil() == {}
    worktree = known(project.parent / "-home-mara-harbour--worktrees-tide", f"{CWD}/.worktrees/tide")
    say(project, CRANE)
    say(worktree, CRANE)
    assert distil()["added"] == 1
    [memory] = memories()
    assert memory["project"] == CWD
    (project / "memory" / "crane.md").unlink()
    assert distil() == {}
    say(worktree, f"{CRANE} Ask first.")  # which goes on where the other one was
    assert distil()["added"] == 1
    assert len(ask("memories", "--why", memories()[0]["id"])["chain"]) == 2


def test_what_nobody_has_accepted_stands_for_nothing(project: Path, tmp_path: Path) -> None:
    """A memory that came from outside and says the same keeps no file from being heard."""
    line = {"key": "0" * 32, "type": "pattern", "text": CRANE, "project": CWD, "origin": "user", "status": "open"}
    lines = ({"howcome": "memories", "version": 1}, {**line, "created_ms": 1})
    (tmp_path / "outside.jsonl").write_text("".join(json.dumps(one) + "\n" for one in lines))
    assert run("import-memories", tmp_path / "outside.jsonl").returncode == 0
    say(project, CRANE)
    assert distil()["added"] == 1
    assert texts() == [CRANE]


def test_a_secret_in_a_file_is_not_kept(project: Path, store_folder: Path) -> None:
    """Neither of its text nor of its name, nor what is private; and it is one memory all the same."""
    say(project, f"{CRANE} Its key is {SECRET}. <private>Mara is at home.</private>", f"{SECRET}.md")
    assert distil()["added"] == 1
    [memory] = memories()
    assert memory["text"].startswith(f"{CRANE} Its key is [redacted:")
    assert not [path for path in store_folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert "Mara" not in json.dumps(memory)
    assert distil() == {}


def test_what_is_no_plain_file_is_left_alone(project: Path, tmp_path: Path) -> None:
    """Links, large files, folders, the index: nothing is read, and nothing that was said before is forgotten."""
    path = say(project, CRANE)
    distil()
    (tmp_path / "other.md").write_text(BERTH)
    (project / "memory" / "link.md").symlink_to(tmp_path / "other.md")
    (project / "memory" / "folder.md").mkdir()
    path.write_text(BERTH * 2000)
    assert distil() == {}
    path.unlink()
    path.symlink_to(tmp_path / "other.md")
    assert distil() == {}
    assert texts() == [CRANE]


def test_of_many_files_the_first_are_read(project: Path) -> None:
    """The others are there, but say nothing."""
    for number in range(205):
        say(project, f"{BERTH} Pier {number}.", f"pier-{number:03}.md")
    assert distil()["added"] == 200
    say(project, CRANE, "a.md")
    assert distil() == {"added": 1, "forgotten": 0, "restored": 0}


def test_it_can_be_turned_off(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the setting of all sources; also with all distilling, and for folders that nobody wants remembered."""
    say(project, CRANE)
    with monkeypatch.context() as patch:
        patch.setenv("HOWCOME_SOURCES_OFF", "client_memories")
        assert distil() == {}
    with monkeypatch.context() as patch:
        patch.setenv("HOWCOME_EXCLUDE", CWD)
        assert distil() == {}
    with monkeypatch.context() as patch:
        patch.setenv("HOWCOME_DISTILLER", "off")
        assert run("distil").returncode == 2
    assert ask("distil", "--project", CWD)["in_step"]["added"] == 1


def test_an_export_brings_it_elsewhere(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its source and what became of its file; the other store goes on with it."""
    path = say(project, CRANE)
    say(project, BERTH, "berth.md")
    distil()
    path.unlink()
    distil()
    exported = tmp_path / "export.jsonl"
    assert run("export", exported, "--all-projects").returncode == 0
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "other"))
    ask("import", project)
    assert run("import-memories", exported, "--mine").returncode == 0
    assert texts() == [BERTH]
    say(project, CRANE)
    assert distil() == {"added": 0, "forgotten": 0, "restored": 1}


def test_the_worker_looks_only_at_what_changed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps in step as `distil` does; files as they were are not opened again."""
    path = say(project, CRANE)
    opened: list[str] = []
    reading = os.open

    def noting(name: Any, *arguments: Any, **options: Any) -> int:
        opened.append(str(name))
        return reading(name, *arguments, **options)

    monkeypatch.setattr(os, "open", noting)
    catch_up = CatchUp(read_settings(os.environ), Patience())
    assert catch_up.scan()
    assert texts() == [CRANE]
    assert opened.count(str(path)) == 1
    assert catch_up.scan()
    assert opened.count(str(path)) == 1
    say(project, BERTH)
    assert catch_up.scan()
    assert opened.count(str(path)) == 2
    assert texts() == [BERTH]


def test_two_at_once_do_it_once(project: Path) -> None:
    """Who read before somebody else wrote writes nothing."""
    say(project, CRANE)
    with ThreadPoolExecutor(3) as pool:
        done = list(pool.map(lambda _number: run("distil", fresh=True).returncode, range(3)))
    assert done == [0, 0, 0]
    assert texts() == [CRANE]
    with open_app(read_settings(os.environ)) as app:
        stamp, steps = app.store.in_step.stamp(), Steps()
        steps.gone = list(range(9))
        run("memories", "--pin", memories()[0]["id"])
        assert not app.store.in_step.apply(stamp, steps, 1)
    assert texts() == [CRANE]


def test_what_sessions_say_too_is_theirs_when_the_file_is_gone(project: Path) -> None:
    """One memory as long as there is a file; without it the sessions' own, as if there had been none."""
    path = say(project, CRANE)
    distil()
    with open_app(read_settings(os.environ)) as app:
        claude = Claude("said", start=50)
        ask("import", write(project / "said.jsonl", claude.user("note"), claude.text(f"KEEP pattern: {CRANE}")))
        noting = Distillation(app.store, NotingDistiller(), now_ms)
        noting.run()
        assert [row["source"] for row in ask("memories", "--all-projects")["memories"]] == ["client"]
        path.unlink()
        assert app.learn.in_step().run().counts() == {"added": 0, "forgotten": 1, "restored": 0}
        noting.run()
        assert [row["source"] for row in ask("memories", "--all-projects")["memories"]] == ["rules"]


def rule_in(tmp_path: Path, text: str) -> Path:
    """An instruction file on disk, and a session in which its rule was added."""
    file = tmp_path / "harbour" / "CLAUDE.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    claude = Claude("rules", str(file.parent))
    path = write(
        tmp_path / "rules.jsonl",
        claude.user("write it down"),
        claude.call("Edit", "c1", file_path=str(file), old_string="# Rules", new_string=f"# Rules\n- {RULE}"),
        claude.result("c1", "ok"),
        claude.text("Done."),
    )
    ask("import", path)
    return file


def rules(*options: str) -> list[str]:
    """What is known of instruction files."""
    return [row["state"] for row in ask("memories", "--all-projects", "--source", "rules", *options)["memories"]]


def test_a_line_that_an_instruction_file_no_longer_says_is_forgotten(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Softly, and only where there is a file; it comes back with its line, but not after a person forgot it."""
    file = rule_in(tmp_path, "# Rules\n* **Use** `tide_clock()` and never\n  the system clock of the quay.\n")
    assert distil() == {}
    assert rules() == ["live"]
    file.rename(tmp_path / "away")
    assert distil() == {}
    (tmp_path / "away").rename(file)
    file.write_text("# Rules\n- Use the system clock.\n")
    with monkeypatch.context() as patch:
        patch.setenv("HOWCOME_SOURCES_OFF", "client_memories")
        assert distil() == {"added": 0, "forgotten": 1, "restored": 0}
    assert rules() == []
    before = everything(store_folder)
    assert distil() == {}
    assert everything(store_folder) == before
    file.write_text(f"# Rules\n{RULE}\n")
    assert distil() == {"added": 0, "forgotten": 0, "restored": 1}
    assert rules() == ["live"]
    [row] = ask("memories", "--all-projects", "--source", "rules")["memories"]
    run("forget", row["id"])
    file.write_text("")
    assert distil() == {}
    file.write_text(RULE)
    assert distil() == {}
    assert rules("--forgotten") == ["forgotten"]


def test_a_line_that_somebody_else_says_too_does_not_go_with_the_file(tmp_path: Path, store_folder: Path) -> None:
    """What another source found as well comes back, whatever the file says, and stays."""
    rule_in(tmp_path, "# Other rules\n")
    assert distil()["forgotten"] == 1
    columns = "project_id, key, memory_key, type, text, subject, origin, ts_ms, evidence"
    with closing(sqlite3.connect(store_folder / "howcome.db")) as connection, connection:
        connection.execute(
            f"INSERT INTO candidates (session_id, exchange, {columns}, source)"  # noqa: S608 - fixed names
            f" SELECT session_id, exchange + 1000, {columns}, 'directions' FROM candidates"
        )
    assert distil()["restored"] == 1
    assert distil() == {}
    assert rules() == ["live"]


def test_a_line_that_a_person_brought_back_stays(tmp_path: Path, store_folder: Path) -> None:
    """Whatever the file says."""
    assert not store_folder.exists()
    file = rule_in(tmp_path, "# Other rules\n")
    assert distil()["forgotten"] == 1
    [row] = ask("memories", "--all-projects", "--source", "rules", "--forgotten")["memories"]
    run("restore", row["id"])
    assert distil() == {}
    file.write_text("# None\n")
    assert distil() == {}
    assert rules() == ["live"]
