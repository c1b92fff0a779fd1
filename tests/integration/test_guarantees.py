"""Guarantees that hold across rooms: whose words are told where, what heals by itself, what is kept out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write
from tests.integration.test_worker import events_in
from tests.processes import ask, payload, run

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.errors import SettingsError
from howcome.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else


def opened(**environment: str) -> App:
    """The façade over the store of this test."""
    return open_app(read_settings({**os.environ, **environment}))


def read(app: App, *paths: Path) -> None:
    """Reads transcripts and makes them searchable."""
    for found in named_transcripts([str(path) for path in paths]):
        app.ingest.file(found)
    app.index.catch_up()
    app.store.index.release()


def told(app: App, prompt: str, cwd: Path) -> str:
    """Everything that a new session in a folder is told about a prompt."""
    found = app.search.recall(prompt, cwd=str(cwd), session="new", recent=lambda: "")
    return "\n".join(text for reminder in found for _, text in reminder.passages)


def git(folder: Path, *arguments: str) -> None:
    """Runs git in a folder, with a name and an address of nobody."""
    identity = ("-c", "user.name=mara", "-c", "user.email=mara@harbour.invalid")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.mark.usefixtures("store_folder")
def test_a_folder_that_became_another_repositorys_worktree_is_told_that_ones_past(tmp_path: Path) -> None:
    """What was seen in a folder once does not decide: git does, from the first prompt on."""
    for name in ("quay", "dike"):
        (tmp_path / name).mkdir()
        git(tmp_path / name, "init", "-q")
        git(tmp_path / name, "commit", "-q", "--allow-empty", "-m", "start")
    slot = tmp_path / "slot"
    git(tmp_path / "quay", "worktree", "add", "-q", "--detach", str(slot))
    quay, dike = Claude("s-quay", str(slot)), Claude("s-dike", str(tmp_path / "dike"))
    with opened() as app:
        read(app, write(tmp_path / "a.jsonl", quay.user("where is CraneLedger?"), quay.text("CraneLedger is quay's.")))
        read(app, write(tmp_path / "b.jsonl", dike.user("where is CraneLedger?"), dike.text("CraneLedger is dike's.")))
        assert "quay's" in told(app, "what about CraneLedger?", slot)
        git(tmp_path / "quay", "worktree", "remove", "--force", str(slot))
        git(tmp_path / "dike", "worktree", "add", "-q", "--detach", str(slot))
        after = told(app, "what about CraneLedger?", slot)
    assert "dike's" in after
    assert "quay's" not in after


@pytest.mark.parametrize("damage", ["meta", "segment"])
@pytest.mark.usefixtures("past")
def test_a_damaged_index_is_built_anew_by_the_search_that_meets_it(store_folder: Path, damage: str) -> None:
    """Rows are the truth: nobody has to know that there was an index; the damaged one is kept aside."""
    index = next(store_folder.glob("index/lexical-*/*/*/events"))
    if damage == "meta":
        (index / "meta.json").write_text("{broken")
    else:
        next(index.glob("*.idx")).unlink()
    found = run("search", "--all-projects", "berth")
    assert found.returncode == 0
    assert "berth" in found.stdout
    assert found.stderr == ""
    assert ask("search", "--all-projects", "berth")["results"]


@pytest.mark.usefixtures("store_folder")
def test_a_file_read_for_the_wrong_agent_can_be_read_again(tmp_path: Path) -> None:
    """A cursor belongs to a client's reader: another reader starts from the beginning."""
    claude = Claude()
    path = write(tmp_path / "a.jsonl", claude.user("where is the crane?"), claude.text("On the quay."))
    refused = run("import", "--agent", "codex", str(path))
    assert (refused.returncode, "nothing could be read" in refused.stderr) == (1, True)
    assert ask("import", "--agent", "claude-code", str(path))["accepted"] == 2


def test_what_an_interrupted_import_read_can_be_found(tmp_path: Path, store_folder: Path) -> None:
    """Ctrl-C keeps rows and index together."""
    claude = Claude()
    path = write(tmp_path / "a.jsonl", *(record for n in range(4000) for record in claude.exchange(f"berth {n}")))
    process = subprocess.Popen(
        [sys.executable, "-m", "howcome", "import", str(path)], stderr=subprocess.PIPE, stdout=subprocess.PIPE
    )
    while process.poll() is None and not events_in(store_folder):
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert b"What was read is kept. The same command reads the rest" in said
    found = ask("status")
    assert found["counts"]["events"]
    assert found["index_lag_rows"] == 0
    assert ask("import", str(path))["duplicate"] == 0


@pytest.mark.usefixtures("store_folder")
def test_private_words_are_dropped_from_tool_inputs_too(tmp_path: Path) -> None:
    """An agent copies a prompt into a subagent's task; what was private stays private."""
    claude = Claude()
    call = claude.call("Task", "toolu_1", prompt="note <private>codename bluebird</private> end")
    with opened() as app:
        read(app, write(tmp_path / "a.jsonl", claude.user("go"), call))
        texts = [event.text for row, _, _ in app.store.sessions.find("") or app.store.sessions.find(claude.session)
                 for event in app.store.log.session(row, with_text=True)]  # fmt: skip
    assert any("note [private] end" in (text or "") for text in texts)
    assert not any("bluebird" in (text or "") for text in texts)


@pytest.mark.usefixtures("store_folder")
def test_a_record_without_a_folder_is_where_the_one_before_it_was(tmp_path: Path) -> None:
    """So an excluded folder's session is excluded whole."""
    secret = tmp_path / "secret"
    secret.mkdir()
    claude = Claude(cwd=str(secret))
    last = claude.text("and this")
    del last["cwd"]
    with opened(HOWCOME_EXCLUDE=str(secret)) as app:
        read(app, write(tmp_path / "a.jsonl", claude.user("hidden"), last))
        assert app.store.accounts.counts()["events"] == 0


@pytest.mark.parametrize("folder", ["secret", "./secret", "../secret"])
def test_an_exclusion_must_be_absolute(folder: str) -> None:
    """A hook has no working directory that a relative one could mean."""
    with pytest.raises(SettingsError, match="absolute"):
        read_settings({"HOWCOME_HOME": "/nonexistent", "HOWCOME_EXCLUDE": folder})


@pytest.mark.usefixtures("store_folder")
def test_a_prompt_that_begins_with_a_path_is_no_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`/home/…/planner.py: why …?` is a question; `/review why …?` is a command."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    claude = Claude()
    path = write(tmp_path / "a.jsonl", claude.user("how many slots?"), claude.text("BerthPlanner keeps three slots."))
    assert run("import", str(path)).returncode == 0
    answers = {}
    for start in ("/home/mara/harbour/planner.py:", "/review"):
        body = payload("UserPromptSubmit", path, "new", prompt=f"{start} why does BerthPlanner?", cwd=claude.cwd)
        done = subprocess.run(
            [sys.executable, "-m", "howcome", "hook", "UserPromptSubmit"], input=body, capture_output=True, check=True
        )
        answers[start] = done.stdout
    assert b"three slots" in answers["/home/mara/harbour/planner.py:"]
    assert answers["/review"] == b""


def test_a_hook_that_reached_its_deadline_says_so(past: Path, store_folder: Path) -> None:
    """Failing open is never failing silently: status shows it."""
    environment = {**os.environ, "HOWCOME_PROMPT_DEADLINE_MS": "100"}
    process = subprocess.Popen(
        [sys.executable, "-m", "howcome", "hook", "UserPromptSubmit"], stdin=subprocess.PIPE, env=environment
    )
    assert process.wait(timeout=60) == 0
    assert process.stdin is not None
    process.stdin.close()
    assert past.exists()
    assert "reached its deadline" in (store_folder / "hook-errors.log").read_text()
    assert ask("status")["hook_errors"]


@pytest.mark.usefixtures("past")
def test_everything_in_the_store_is_nobody_elses(store_folder: Path) -> None:
    """Also in a folder that somebody made before, with any umask."""
    store_folder.chmod(0o755)
    assert run("status").returncode == 0
    assert store_folder.stat().st_mode & 0o077 == 0
    for path in store_folder.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
