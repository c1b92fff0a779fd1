"""`howcome why` explains what a prompt was told, and what held the rest back; several words are still searched for."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import START, Claude, wrapped, write
from tests.integration.test_bites import CWD, begun, decided, said
from tests.processes import run

__all__ = ["decided"]
QUESTION = "What did we decide about the retry limit of the poller?"
SESSION = "7f3a-new"
HERE = ("--project", CWD)


def whys(*words: str) -> list[dict[str, Any]]:
    """What `howcome why` says to programs."""
    done = run("why", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["verdicts"]
    return found


@pytest.fixture
def told(decided: Path) -> Path:
    """A session that asked twice, and whose transcript was read then."""
    begun(decided, SESSION)
    assert "five times" in said(decided, QUESTION, SESSION)
    said(decided, QUESTION, SESSION)
    talk = Claude(SESSION, cwd=CWD)
    path = write(decided.parent / "new.jsonl", talk.user(QUESTION), talk.text("Five."))
    assert run("import", str(path)).returncode == 0
    return path


def test_the_last_prompts_of_the_project_are_explained(told: Path) -> None:
    """The newest first: what was said, and which rule held each back."""
    assert told.exists()
    again, first, briefing = whys(*HERE)
    assert [again["hook"], briefing["hook"], briefing["prompt"]] == ["UserPromptSubmit", "SessionStart", None]
    assert first["considered"][0]["rule"] == ""
    assert first["considered"][0]["id"].startswith("ev-")
    assert first["prompt"] == QUESTION
    assert "already-told" in {one["rule"] for one in again["considered"]}
    assert whys("last", *HERE) == [again]
    assert whys("-n", "2", *HERE) == [again, first]
    assert len(whys("--all-projects")) == 3
    text = run("why", *HERE).stdout
    assert "already-told: it is told already: by a line beside it, in this session" in text
    assert "said: “" not in text
    assert QUESTION in text


def test_a_prompt_and_a_session_are_named_by_their_ids(told: Path) -> None:
    """Also a session that is not read yet; what is no prompt is not found."""
    assert told.exists()
    first, *_ = [one for one in whys(*HERE) if one["lines"] and one["prompt"]]
    assert whys(first["prompt_id"])[0]["prompt_id"] == first["prompt_id"]
    assert whys("7f3a-n") == whys(*HERE)
    said(told, QUESTION, "7f3a-unread")
    assert [one["session_id"] for one in whys("7f3a-unread")] == ["7f3a-unread"]
    assert run("why", "ev-0000").returncode == 1
    assert run("why", "0000").returncode == 1
    held = first["considered"][0]["id"]
    assert "nothing is kept of" in run("why", held).stderr


def told_words(verdict: dict[str, Any]) -> list[str]:
    """The lines that a verdict says were told."""
    found = [one for one in verdict["considered"] if not one["rule"]]
    assert all(one["why"].startswith("said") for one in found)
    return [words for one in found for words in one["summary"].split("; also: ")]


def test_the_words_are_those_that_were_told_with_a_prompt(decided: Path) -> None:
    """The sentences of an exchange that were chosen for it, although no word of either is kept."""
    talk = Claude("sluice", cwd=CWD)
    answer = (
        "The harbour master had the old pier painted in spring, as `pier.py` says of the northern basin.\n"
        "\nAt the sluice a `TideGate` request is sent seven times, because the turbine stalls below three knots.\n"
    )
    path = write(decided.parent / "sluice.jsonl", talk.user("let's talk about the sluice"), talk.text(answer))
    assert run("import", str(path)).returncode == 0
    for question in (QUESTION, "What did we decide about the `TideGate` requests of the sluice turbine?"):
        session = f"{SESSION}-{len(question)}"
        block = said(decided, question, session)
        path = write(decided.parent / f"{session}.jsonl", Claude(session, cwd=CWD).user(question))
        assert run("import", str(path)).returncode == 0
        [verdict] = whys("last", *HERE)
        assert len(lines := told_words(verdict)) == verdict["lines"] == block.count("\n[")
        assert all(words in block for words in lines)


def test_the_words_are_those_that_a_session_began_with(tmp_path: Path, decided: Path) -> None:
    """Of a command that failed nothing that the tool said."""
    wrapped(tmp_path / "u", 3, CWD, start=int(time.time() - START.timestamp()) - 1000)
    assert run("import", str(tmp_path / "u")).returncode == 0
    assert run("distil").returncode == 0
    block = begun(decided, SESSION)
    [verdict] = whys("last", *HERE)
    assert "`wrap pytest -q` failed in 3 sessions; run `pytest -q` directly." in told_words(verdict)
    assert "run `pytest -q` directly." in block
    assert "banana" not in run("why", *HERE).stdout


def test_a_prompt_is_named_by_its_words(told: Path) -> None:
    """In quotes or not, whatever its case: the last verdict on it; words that nobody asked are searched for."""
    assert told.exists()
    [last] = whys("last", *HERE)
    for words in ((QUESTION,), (QUESTION.upper(),), QUESTION.split()):
        assert whys(*words, *HERE) == [last]
    assert "results" in json.loads(run("why", QUESTION.replace("retry", "second"), *HERE, "--json").stdout)
    assert "results" in json.loads(run("why", *QUESTION.split(), *HERE, "--since", "7d", "--json").stdout)


def test_without_a_prompt_the_last_session_that_began_is_told_of(decided: Path) -> None:
    """Not the first one, and no more than asked for."""
    for session in ("8e4b-first", "9c5d-last"):
        begun(decided, session)
    [last] = whys("last", *HERE)
    assert last["session_id"] == "9c5d-last"
    assert whys("-n", "1", *HERE) == [last]


def test_sessions_that_began_count_as_no_prompts(told: Path) -> None:
    """Each prompt is told of, with the sessions that began in between."""
    begun(told.parent, "8e4b-later")
    begun(told.parent, "9c5d-last")
    assert [one["hook"] for one in whys("-n", "1", *HERE)] == ["SessionStart", "SessionStart", "UserPromptSubmit"]
    assert [one["hook"] for one in whys("last", *HERE)] == ["UserPromptSubmit"]


def test_one_reason_is_given_for_a_memory_that_is_not_told(decided: Path) -> None:
    """Its own, and of what share it is that is measured."""
    assert decided.parent.exists()
    kept = run("remember", "The retry limit of the poller was decided: five times.", *HERE, "--json")
    name = json.loads(kept.stdout)["id"]
    said(decided, QUESTION)
    [verdict] = whys("last", *HERE)
    [why] = [one["why"] for one in verdict["considered"] if one["id"] == name]
    assert "of the prompt's words, by their weight)" in why
    assert run("update", name, "--status", "resolved").returncode == 0
    tried = run("try", QUESTION, *HERE)
    assert "not-pushed (it is resolved" in tried.stdout
    assert "from outside" not in tried.stdout


def test_several_words_are_searched_for(told: Path) -> None:
    """And one that is no id."""
    assert told.exists()
    for words in (("why", "did", "we", "retry"), ("why", "poller")):
        asked = json.loads(run(*words, *HERE, "--json").stdout)["results"]
        searched = json.loads(run("search", *words, *HERE, "--json").stdout)["results"]
        assert asked
        assert [one["id"] for one in asked] == [one["id"] for one in searched]


@pytest.mark.usefixtures("store_folder")
def test_nothing_to_explain_is_said() -> None:
    """An empty list, and what to do."""
    assert whys() == []
    assert "howcome init" in run("why").stdout
