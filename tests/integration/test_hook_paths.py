"""A hook reads transcripts of the clients' own folders, whatever path it is given."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.processes import HOOK_FIELDS, ask, assert_silent, failures, hook, payload, run

INGESTING = ("Stop", "SubagentStop", "PreCompact", "SessionEnd", "SessionStart")


@pytest.fixture(autouse=True)
def only_the_clients_folders(monkeypatch: pytest.MonkeyPatch, store_folder: Path) -> None:
    """As it is shipped: no other folder is named."""
    assert store_folder
    monkeypatch.delenv("HOWCOME_TRANSCRIPT_FOLDERS")


def call(event: str, path: Path, **fields: object) -> None:
    """A hook that is given a path."""
    assert_silent(hook(event, payload(event, path, "s", **{**HOOK_FIELDS[event], **fields})))


def sessions() -> set[str]:
    """The sessions of which anything is stored."""
    return {row["session_id"] for row in ask("timeline", "--all-projects")["sessions"]}


@pytest.mark.parametrize("event", INGESTING)
def test_a_path_outside_is_not_read_and_doctor_says_so(event: str, tmp_path: Path, store_folder: Path) -> None:
    """Any file of the user's could be named: what it says would be kept, and said to sessions."""
    path = write(tmp_path / "notes" / "s.jsonl", *Claude("s").conversation(3))
    call(event, path)
    assert sessions() == set()
    [line] = failures(store_folder)
    assert line.endswith(f"{event} was given a file that is in no client's folder: it was not read")
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    [finding] = [one for one in findings if one["check"] == "hook errors"]
    assert "transcript_folders" in finding["remedy"]
    assert ask("import", path)["accepted"], "a person may read anything"


def test_links_do_not_lead_out(tmp_path: Path, home: Path, store_folder: Path) -> None:
    """Neither a file, nor a folder above it, nor a subagents' folder beside it."""
    outside = tmp_path / "outside"
    write(outside / "s.jsonl", *Claude("s").conversation(3))
    project = home / ".claude" / "projects" / "-p"
    project.mkdir(parents=True)
    (project / "file.jsonl").symlink_to(outside / "s.jsonl")
    (project / "folder").symlink_to(outside)
    own = write(project / "own.jsonl", *Claude("own").conversation(1))
    (project / "own").mkdir()
    (project / "own" / "subagents").symlink_to(outside)
    call("Stop", project / "file.jsonl", agent_transcript_path=str(project / "folder" / "s.jsonl"))
    call("Stop", project / ".." / ".." / ".." / "x" / ".." / own.relative_to(home), agent_transcript_path="own.jsonl")
    call("Stop", own)
    assert sessions() == {"own"}
    assert failures(store_folder)


def test_a_clients_folder_may_be_elsewhere(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own variable, behind a link of the user's, or named in the settings."""
    (tmp_path / "dotfiles").mkdir()
    (home / ".claude").symlink_to(tmp_path / "dotfiles")
    call("Stop", write(home / ".claude" / "projects" / "-p" / "a.jsonl", *Claude("a").conversation(1)))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "config"))
    call("Stop", write(tmp_path / "config" / "projects" / "-p" / "b.jsonl", *Claude("b").conversation(1)))
    monkeypatch.setenv("HOWCOME_TRANSCRIPT_FOLDERS", str(tmp_path / "mounted"))
    call("Stop", write(tmp_path / "mounted" / "c.jsonl", *Claude("c").conversation(1)))
    assert sessions() == {"a", "b", "c"}


def test_a_prompt_does_not_take_words_from_any_file(tmp_path: Path, home: Path) -> None:
    """What "do that" points at is looked for in the session's own transcript only."""
    talk = Claude("past")
    past = [talk.user("why does BerthPlanner fail?"), talk.text("BerthPlanner: tide.")]
    ask("import", write(tmp_path / "past.jsonl", *past))
    now = Claude("now")
    said = [now.user("look at BerthPlanner"), now.text("BerthPlanner again")]
    prompt = {"prompt": "ok, let's do that", "cwd": talk.cwd}
    for path, answers in (
        (write(tmp_path / "elsewhere.jsonl", *said), False),
        (write(home / ".claude" / "projects" / "-p" / "now.jsonl", *said), True),
    ):
        done = hook("UserPromptSubmit", payload("UserPromptSubmit", path, "now", **prompt))
        assert (done.returncode, done.stderr) == (0, b"")
        assert bool(done.stdout and json.loads(done.stdout)) == answers, os.fspath(path)
