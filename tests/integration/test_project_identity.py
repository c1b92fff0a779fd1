"""Who is who: a repository that moved or was cloned again is one project; in doubt `doctor` asks, a command decides."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, assert_indexed
from tests.processes import answer_of, ask, hook, payload, run
from tests.unit.test_identity import URL, make
from tests.unit.test_projects import git

from howcome.store.sqlite import SqliteStore


def talk(tmp_path: Path, name: str, cwd: Path, subject: str) -> Path:
    """A transcript of a session in a folder."""
    return write(tmp_path / "talks" / f"{name}.jsonl", *Claude(name, str(cwd)).conversation(2, subject))


def projects() -> list[str]:
    """The roots of all projects."""
    return [row["project"] for row in ask("projects")["projects"]]


def found(folder: Path, words: str) -> int:
    """How many answers a search gives in a folder's project."""
    return len(ask("search", "--project", folder, words)["results"])


def asked() -> list[dict[str, Any]]:
    """What doctor asks about projects."""
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    return [one for one in findings if one["check"] == "projects" and one["level"] != "ok"]


@pytest.mark.usefixtures("store_folder")
def test_a_repository_that_moved_is_the_same_project(tmp_path: Path) -> None:
    """Silently; what was said in the old place is found in the new one."""
    old, new = make(tmp_path / "old"), tmp_path / "new" / "place"
    ask("import", talk(tmp_path, "s1", old, "berth"))
    new.parent.mkdir()
    shutil.move(old, new)
    ask("import", talk(tmp_path, "s2", new, "crane"))
    assert projects() == [str(old)]
    assert found(new, "berth1") > 0
    assert found(new, "crane1") > 0
    assert asked() == []


@pytest.mark.usefixtures("store_folder")
def test_a_second_clone_is_the_same_project_from_its_first_session_on(tmp_path: Path) -> None:
    """The hook of a session's beginning sees it, so that the first prompt is answered from the first clone's past."""
    one = make(tmp_path / "one")
    ask("import", talk(tmp_path, "s1", one, "berth"))
    git(tmp_path, "clone", "-q", str(one), "two")
    two = tmp_path / "two"
    git(two, "remote", "set-url", "origin", f"git@{URL.replace('/', ':', 1)}.git")
    path = talk(tmp_path, "s2", two, "crane")
    hook("SessionStart", payload("SessionStart", path, "s2", cwd=str(two), source="startup"))
    assert projects() == [str(one)]
    question = payload("UserPromptSubmit", path, "s3", cwd=str(two), prompt="why does berth1 fail?")
    done = hook("UserPromptSubmit", question)
    assert answer_of("UserPromptSubmit", done) is not None
    hook("Stop", payload("Stop", path, "s2", cwd=str(two)))
    assert projects() == [str(one)]


@pytest.mark.usefixtures("store_folder")
def test_a_fork_is_asked_about_and_kept_apart(tmp_path: Path) -> None:
    """The same first commit with another remote: two projects, until somebody says otherwise; it is asked once."""
    one = make(tmp_path / "one")
    git(tmp_path, "clone", "-q", str(one), "fork")
    git(tmp_path / "fork", "remote", "set-url", "origin", "https://example.invalid/other/fork.git")
    ask("import", talk(tmp_path, "s1", one, "berth"), talk(tmp_path, "s2", tmp_path / "fork", "crane"))
    assert len(projects()) == 2
    [finding] = asked()
    assert "howcome projects join" in finding["remedy"]
    assert ask("status")["projects_in_doubt"] == 1
    ask("projects", "apart", one, tmp_path / "fork")
    assert asked() == []
    assert len(projects()) == 2


def test_two_projects_are_joined(tmp_path: Path, store_folder: Path) -> None:
    """All of the one is found in the other, memories too; later sessions in either folder belong to it."""
    one, two = make(tmp_path / "one", ""), tmp_path / "two"
    shutil.copytree(one, two)
    ask("import", talk(tmp_path, "s1", one, "berth"), talk(tmp_path, "s2", two, "crane"))
    ask("remember", "--project", two, "The crane needs two operators.")
    assert len(asked()) == 1
    assert (found(one, "crane1"), found(two, "berth1")) == (0, 0)
    ask("projects", "join", one, two, "--yes")
    assert projects() == [str(one)]
    assert asked() == []
    for folder in (one, two):
        assert found(folder, "crane1") > 0
        assert found(folder, "berth1") > 0
        assert "two operators" in json.dumps(ask("search", "--project", folder, "crane operators"))
    ask("import", talk(tmp_path, "s3", two, "winch"))
    assert projects() == [str(one)]
    ask("distil")
    store = SqliteStore(str(store_folder))
    assert_accounted(store)
    assert_indexed(store)
    store.close()


def test_no_credentials_are_kept(tmp_path: Path, store_folder: Path) -> None:
    """A remote may hold a password; the store holds host and path."""
    ask("import", talk(tmp_path, "s1", make(tmp_path / "one"), "berth"))
    with sqlite3.connect(f"file:{store_folder}/howcome.db?mode=ro", uri=True) as connection:
        rows = connection.execute("SELECT remote FROM repositories").fetchall()
    assert rows == [(URL,)]
    assert b"hunter2" not in b"".join(path.read_bytes() for path in store_folder.rglob("*") if path.is_file())


@pytest.mark.usefixtures("store_folder")
def test_what_cannot_be_joined_says_why(tmp_path: Path) -> None:
    """One name, the same twice, or a folder of which nothing is stored."""
    one = make(tmp_path / "one")
    ask("import", talk(tmp_path, "s1", one, "berth"))
    assert run("projects", "join", one).returncode == 2
    assert "both are" in run("projects", "join", one, one, "--yes").stderr
    (tmp_path / "two").mkdir()
    assert "nothing is stored" in run("projects", "join", tmp_path, tmp_path / "two", "--yes").stderr
    assert run("projects", "join", one, tmp_path / "gone", "--yes").returncode == 2


@pytest.mark.usefixtures("store_folder")
def test_a_folder_of_which_nothing_is_stored_joins_a_project(tmp_path: Path) -> None:
    """A second machine has what the first one learnt under another path, before anything was said here."""
    one, here = tmp_path / "one", tmp_path / "here"
    for folder in (one, here):
        folder.mkdir()
    ask("import", talk(tmp_path, "s1", one, "berth"))
    done = run("projects", "join", one, here, "--yes")
    assert done.stdout == f"{here} is a part of {one} now\n"
    assert found(here, "berth1") > 0
    ask("import", talk(tmp_path, "s2", here, "crane"))
    assert projects() == [str(one)]
    assert found(one, "crane1") > 0


@pytest.mark.usefixtures("store_folder")
def test_a_repository_without_a_remote_that_moved_is_asked_about(tmp_path: Path) -> None:
    """Its old folder is gone and its first commit is the same: whoever finds nothing there is told what joins them."""
    old, new = make(tmp_path / "old place", "", "of this repository alone"), tmp_path / "new"
    ask("import", talk(tmp_path, "s1", old, "berth"))
    make(tmp_path / "else", "", "of another")
    shutil.copytree(old, new)
    searched = ("search", "why does berth1 fail")
    assert "join" not in run(*searched, folder=new).stdout  # a copy, until the first one is gone
    shutil.rmtree(old)
    assert "join" not in run(*searched, folder=tmp_path / "else").stdout
    words = ("howcome", "projects", "join", str(old), str(new))
    assert f"it may be {old}, moved: `{shlex.join(words)}`" in run(*searched, folder=new).stdout
    found_by_doctor = json.loads(run("doctor", "--json", folder=new).stdout)["findings"]
    [finding] = [one for one in found_by_doctor if one["check"] == "projects"]
    assert finding["remedy"].startswith(shlex.join(words))
    assert projects() == [str(old)]
    assert "join" not in run(*searched, folder=new, environment=os.environ | {"HOWCOME_EXCLUDE": str(new)}).stdout
    ask("projects", "apart", new, old)
    assert "join" not in run(*searched, folder=new).stdout
    ask(*words[1:], "--yes")
    assert found(new, "berth1") > 0


@pytest.mark.usefixtures("store_folder")
def test_what_may_be_several_projects_is_asked_about_each(tmp_path: Path) -> None:
    """Two copies that are gone begin with the same commit: neither is the likelier one."""
    one, two, new = make(tmp_path / "one", ""), tmp_path / "two", tmp_path / "new"
    for copy in (two, new):
        shutil.copytree(one, copy)
    ask("import", talk(tmp_path, "s1", one, "berth"), talk(tmp_path, "s2", two, "crane"))
    for gone in (one, two):
        shutil.rmtree(gone)
    said = run("search", "why does berth1 fail", folder=new).stdout
    assert "it may be one of 2 projects whose folders are gone: `howcome doctor` names them" in said
    found_by_doctor = json.loads(run("doctor", "--json", folder=new).stdout)["findings"]
    remedies = [one["remedy"] for one in found_by_doctor if one["check"] == "projects"]
    for old in (one, two):
        words = ("howcome", "projects", "join", str(old), str(new))
        assert any(remedy.startswith(shlex.join(words)) for remedy in remedies)


@pytest.mark.usefixtures("store_folder")
@pytest.mark.parametrize("case", ["gone", "copied", "another", "no repository"])
def test_the_first_name_becomes_the_part_only_where_both_are_one(case: str, tmp_path: Path) -> None:
    """Else whoever wants a folder above to be the project would get the contrary, for good."""
    one, here = make(tmp_path / "one", "", "of this one"), tmp_path / "here"
    ask("import", talk(tmp_path, "s1", one, "berth"))
    if case == "another":
        make(here, "", "of another")
    elif case == "copied":
        shutil.copytree(one, here)
    else:
        here.mkdir()
    if case == "gone":
        shutil.rmtree(one)
    done = run("projects", "join", here, one, "--yes")
    if case in ("gone", "copied"):
        assert done.stdout == f"{here} is a part of {one} now\n"
    else:
        assert done.returncode == 2
        assert f"nothing is stored of {here}" in done.stderr
    assert projects() == [str(one)]
    assert bool(found(here, "berth1")) == (case in ("gone", "copied"))
