"""`howcome graduate`: proposed, written on a yes, not said twice, taken out byte for byte; real commands and hooks."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
from tests.batches import START_MS, Transcript
from tests.builders import Claude, write
from tests.noting import NotingDistiller
from tests.processes import ask, run
from tests.viewing import Browser

from howcome.app import open_app
from howcome.hooks.handlers import answer
from howcome.learn.run import Distillation
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.wiring.parts import BEGIN, END

PROVEN = "Uploads to the harbour office are retried five times, then the job fails."
UNUSED = "Downloads from the harbour office are cached for a day."
ORIGINAL = b"# Rules\r\n\r\nBe kind."


@pytest.fixture
def root(tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001 - sets where
    """A project with a file of rules; one thing is kept and was asked for twice, one is kept only."""
    folder = tmp_path / "quay"
    folder.mkdir()
    (folder / "CLAUDE.md").write_bytes(ORIGINAL)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOWCOME_DISTILLER", "off")
    for text in (PROVEN, UNUSED):
        ident = ask("remember", text, "--type", "decision")["id"]
        for _ in range(2 if text == PROVEN else 0):
            ask("show", ident)
    return folder


def told(root: Path, store: Path, prompt: str, transcript: str = "") -> str:
    """What a hook of a new session says with a prompt."""
    settings = read_settings({"HOWCOME_HOME": str(store), "HOME": str(root.parent)})
    payload = {
        "hook_event_name": "UserPromptSubmit", "session_id": f"s{time.time_ns()}", "cwd": str(root), "prompt": prompt,
        "transcript_path": transcript,
    }  # fmt: skip
    return answer("UserPromptSubmit", payload, settings, time.monotonic() + 20)


def test_what_is_proven_is_proposed_and_written_on_a_yes_only(root: Path) -> None:
    """A diff, a question; then it stands there, and once more is nothing to do."""
    file = root / "CLAUDE.md"
    shown = run("graduate", data=b"n\n")
    assert (f"+- {PROVEN}" in shown.stdout, UNUSED in shown.stdout, shown.returncode) == (True, False, 1)
    assert file.read_bytes() == ORIGINAL
    assert f"+- {PROVEN}" in run("graduate", "--dry-run").stdout
    assert ask("graduate", "--yes")["outcome"] == "changed"
    assert (
        file.read_bytes()
        == ORIGINAL + f"\r\n{BEGIN}\r\n## Settled in earlier sessions\r\n\r\n- {PROVEN}\r\n{END}\r\n".encode()
    )
    assert run("graduate").stdout == "Nothing to change: the file says it as it is.\n"


def test_it_is_taken_out_byte_for_byte_by_graduate_and_by_uninstall(root: Path, store_folder: Path) -> None:
    """Also when its user wrote on; a file that was made for it is gone."""
    file = root / "CLAUDE.md"
    ask("graduate", "--yes")
    assert ask("graduate", "--remove", "--yes")["outcome"] == "restored"
    assert (file.read_bytes(), (store_folder / "installs").exists()) == (ORIGINAL, False)
    ask("graduate", "--yes")
    file.write_bytes(file.read_bytes() + b"And be quick.\r\n")
    assert run("uninstall", "--yes").returncode == 0
    assert file.read_bytes() == ORIGINAL + b"And be quick.\r\n"
    ask("graduate", "--file", "AGENTS.md", "--yes")
    assert (root / "AGENTS.md").is_file()
    ask("graduate", "--file", "AGENTS.md", "--remove", "--yes")
    assert not (root / "AGENTS.md").exists()


def test_it_is_kept_in_step(root: Path) -> None:
    """What was forgotten goes, and what the file says by itself; with nothing left the block goes, too."""
    file = root / "CLAUDE.md"
    [kept] = [one for one in ask("memories")["memories"] if one["text"] == UNUSED]
    ask("show", kept["id"])
    ask("show", kept["id"])
    assert set(ask("graduate", "--yes")["lines"]) == {PROVEN, UNUSED}
    ask("forget", kept["id"])
    assert ask("graduate", "--yes")["lines"] == [PROVEN]
    file.write_bytes(f"- **{PROVEN}**\r\n".encode() + file.read_bytes())
    assert ask("graduate", "--yes")["lines"] == []
    assert file.read_bytes() == f"- **{PROVEN}**\r\n".encode() + ORIGINAL


def test_what_the_file_says_is_not_said_by_hooks(root: Path, store_folder: Path) -> None:
    """Neither with a prompt nor as a session begins; also of a file that this one imports, and of no other agent's."""
    noise = SqliteStore(str(store_folder))
    talk = Transcript(noise, cwd=str(root))
    for number in range(20):
        talk.add(talk.prompt(f"berth{number} pier?"), talk.answer(f"bollard{number}"))
    noise.close()
    with open_app(read_settings({"HOWCOME_HOME": str(store_folder)})) as app:
        app.index.catch_up()
    asked = "uploads to the harbour office are retried, why does the job fail then?"
    assert "five times" in told(root, store_folder, asked)
    ask("graduate", "--file", "AGENTS.md", "--yes")
    assert "five times" in told(root, store_folder, asked)
    (root / "CLAUDE.md").write_text("See @AGENTS.md\n")
    assert "five times" not in told(root, store_folder, asked)
    ask("graduate", "--remove", "--yes")
    (root / "CLAUDE.md").write_text("Nothing.\n")
    (root / "t" / "memory").mkdir(parents=True)
    assert "five times" in told(root, store_folder, asked, str(root / "t" / "s.jsonl"))
    (root / "t" / "memory" / "MEMORY.md").write_text(f"- {PROVEN}\n")
    assert "five times" not in told(root, store_folder, asked, str(root / "t" / "s.jsonl"))
    ask("graduate", "--yes")
    assert "five times" not in told(root, store_folder, asked)
    settings = read_settings({"HOWCOME_HOME": str(store_folder), "HOME": str(root.parent)})
    begun = {
        "hook_event_name": "SessionStart",
        "session_id": "n",
        "cwd": str(root),
        "source": "startup",
        "transcript_path": "",
    }
    said = answer("SessionStart", begun, settings, time.monotonic() + 20)
    assert (UNUSED in said, PROVEN in said) == (True, False)


def test_a_link_to_the_file_is_that_file(root: Path) -> None:
    """Many repositories have one file under both names; without a name the one with the block is meant."""
    (root / "CLAUDE.md").unlink()
    (root / "AGENTS.md").write_bytes(ORIGINAL)
    (root / "CLAUDE.md").symlink_to("AGENTS.md")
    ask("graduate", "--yes")
    assert ask("graduate", "--yes")["outcome"] == "nothing"
    assert PROVEN.encode() in (root / "AGENTS.md").read_bytes()
    ask("graduate", "--remove", "--yes")
    assert ((root / "CLAUDE.md").is_symlink(), (root / "AGENTS.md").read_bytes()) == (True, ORIGINAL)
    (root / "CLAUDE.md").unlink()
    ask("graduate", "--yes")
    (root / "CLAUDE.md").write_bytes(b"# Another\n")
    assert ask("graduate", "--remove", "--yes")["file"] == str(root / "AGENTS.md")


def test_what_was_said_in_three_sessions_is_proven_until_it_is_contradicted(root: Path, store_folder: Path) -> None:
    """What the agent said only twice is not; nor is what another memory ever spoke against."""
    store = SqliteStore(str(store_folder))
    often, twice = (f"The {name} gauge is read every 30 seconds." for name in ("north", "south"))
    for number in range(3):
        talk = Transcript(store, f"/t/{number}.jsonl", session=f"s{number}", cwd=str(root))
        said = f"KEEP decision: {often}" + ("" if number else f"\nKEEP decision: {twice}")
        talk.add(talk.prompt("which?", ts_ms=START_MS + number), talk.answer(said, ts_ms=START_MS + number))
    distillation = Distillation(store, NotingDistiller(), lambda: START_MS)
    distillation.run()
    assert set(ask("graduate", "--dry-run")["lines"]) == {PROVEN, often}
    talk = Transcript(store, "/t/9.jsonl", session="s9", cwd=str(root))
    talk.add(talk.answer(f"KEEP decision: {often.replace('30', '60')}", ts_ms=START_MS + 9))
    distillation.run()
    assert ask("graduate", "--dry-run")["lines"] == [PROVEN]
    store.close()


def test_the_clients_own_memory_file_is_chosen_by_name(root: Path) -> None:
    """Where it keeps none for the project, nothing is written."""
    done = run("graduate", "--file", "MEMORY.md", "--yes")
    assert (done.returncode, "no memory folder" in done.stderr) == (2, True)
    assert json.loads(run("graduate", "--json", "--dry-run").stdout)["file"] == str(root / "CLAUDE.md")


def test_a_refused_one_is_proposed_no_more_until_somebody_wants_it(root: Path) -> None:
    """Also where it stands in the file already: it is taken out with the next look."""
    ident = next(one["id"] for one in ask("memories")["memories"] if one["text"] == PROVEN)
    ask("graduate", "--yes")
    assert ask("graduate", "--refuse", ident)["changed"] is True
    assert ask("graduate", "--refuse", ident)["changed"] is False
    assert ask("graduate", "--dry-run")["lines"] == []
    assert ask("graduate", "--yes")["outcome"] == "restored"
    assert (root / "CLAUDE.md").read_bytes() == ORIGINAL
    assert ask("graduate", "--propose", ident)["changed"] is True
    assert ask("graduate", "--dry-run")["lines"] == [PROVEN]
    assert run("graduate", "--refuse", ident, "--propose", ident).returncode == 2
    assert run("graduate", "--refuse", "mem-ffff").returncode == 1


def test_the_viewer_writes_refuses_and_takes_back(root: Path) -> None:
    """What it shows is what it writes; what has changed since is looked at again."""
    file, browser = root / "CLAUDE.md", Browser()
    page = browser.page("review")
    assert f"+- {PROVEN}" in browser.shows("review")
    form = dict(
        zip(("project", "lines"), re.findall(r'name="(?:project|lines)" value="([^"]+)"', page)[-2:], strict=True)
    )
    assert set(form) == {"project", "lines"}
    file.write_bytes(ORIGINAL + b"\r\nMore.")
    assert "look at the proposal again" in browser.do("graduate", 400, **form)
    file.write_bytes(ORIGINAL)
    done = browser.do("graduate", **form)
    assert PROVEN.encode() in file.read_bytes()
    assert f"+- {PROVEN}" not in browser.shows("review")
    browser.do("undo", change=re.findall(r'name="change" value="(\d+)"', done)[0])
    assert file.read_bytes() == ORIGINAL
    ident = next(one["id"] for one in ask("memories")["memories"] if one["text"] == PROVEN)
    done = browser.do("refuse", id=ident)
    assert f"+- {PROVEN}" not in browser.shows("review")
    browser.do("undo", change=re.findall(r'name="change" value="(\d+)"', done)[0])
    assert f"+- {PROVEN}" in browser.shows("review")
    assert "look at the proposal again" in browser.do("graduate", 400, project="77", lines="x")


def test_what_was_learnt_is_not_proven_by_a_look(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads twice what is still to do has not settled it."""
    assert not store_folder.exists()
    (tmp_path / "quay").mkdir()
    monkeypatch.chdir(tmp_path / "quay")
    talk = Claude("past", str(tmp_path / "quay"))
    asked = talk.user("do the tide tables next time, and the test of the office too, because it's still missing")
    said = [talk.user("look at the quay"), talk.text("It has no test yet."), asked, talk.text("Noted.")]
    write(tmp_path / "t" / "past.jsonl", *said)
    assert run("import", str(tmp_path / "t")).returncode == 0
    assert run("distil").returncode == 0
    (learnt,) = ask("memories")["memories"]
    for _ in range(2):
        ask("show", learnt["id"])
    assert "tide tables" not in run("graduate", "--dry-run").stdout
