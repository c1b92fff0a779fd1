"""What was injected, its tokens, and how often it was used afterwards."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import START, Claude, write
from tests.integration.test_bites import CWD, begun, decided, said
from tests.processes import hook, payload, run

from howcome.domain.text import tokens

__all__ = ["decided"]
QUESTION = "What did we decide about the retry limit of the poller?"
SESSION = "7f3a-new"


def ways(*words: str) -> dict[str, dict[str, Any]]:
    """What `howcome receipt` says to programs, by the way."""
    done = run("receipt", *words, "--json")
    assert done.returncode == 0, done.stderr
    return {row["way"]: row for row in json.loads(done.stdout)["receipt"]}


def go_on(folder: Path, *after: str, calls: tuple[str, ...] = ()) -> None:
    """The session's transcript: the question, and what the agent said and called then."""
    talk = Claude(SESSION, cwd=CWD, start=int(time.time() - START.timestamp()))
    steps = [talk.call("mcp__howcome__expand_memory", f"toolu_{at}", id=one) for at, one in enumerate(calls)]
    steps += [talk.result(f"toolu_{at}", f"(~{300 + at} tokens)\nx") for at in range(len(calls))]
    path = write(folder / "new.jsonl", talk.user(QUESTION), *steps, *(talk.text(one) for one in after))
    assert run("import", str(path)).returncode == 0


@pytest.mark.parametrize(
    ("after", "reused"), [("I change `TidePoller` now.", 1), ("I change the poller now.", 0)], ids=["name", "none"]
)
def test_what_was_said_is_counted_and_whether_a_name_of_it_was_used(after: str, reused: int, decided: Path) -> None:
    """By the way it came, with its tokens."""
    briefing, told = begun(decided, SESSION), said(decided, QUESTION, SESSION)
    assert "`TidePoller`" in told
    go_on(decided.parent, after)
    found = ways("--project", CWD)
    assert found["briefing"]["tokens"] == tokens(briefing)
    assert found["prompts"]["tokens"] == tokens(told)
    assert found["prompts"]["lines"] == told.count("\n[")
    assert (found["prompts"]["times"], found["prompts"]["reused"], found["prompts"]["opened"]) == (1, reused, 0)
    assert found == ways("--session", "7f3a") == ways("--all-projects", "--since", "1h")
    assert ways("--project", str(decided.parent)) == {}
    text = run("receipt", "--project", CWD).stdout
    assert f"in all      {tokens(briefing) + tokens(told)} tokens" in text


def test_what_the_agent_opened_was_used(decided: Path) -> None:
    """By the id as the block has it; our tools say what they cost."""
    told = said(decided, QUESTION, SESSION)
    go_on(decided.parent, "Done.", calls=(told.partition("\n[")[2].partition("]")[0],))
    found = ways("--project", CWD)
    assert (found["prompts"]["opened"], found["prompts"]["used"]) == (1, 1)
    assert (found["tools"]["times"], found["tools"]["tokens"]) == (1, 300)


def test_a_turn_that_was_told_something_ends_with_a_line_if_that_is_wanted(
    decided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the person only: as context it would make the model go on."""

    def ended() -> str:
        return hook("Stop", payload("Stop", decided, SESSION)).stdout.decode()

    told = said(decided, QUESTION, SESSION)
    assert ended() == ""
    monkeypatch.setenv("HOWCOME_RECEIPT_LINE", "yes")
    [(name, line)] = json.loads(ended()).items()
    assert name == "systemMessage"
    assert line.startswith(f"howcome: {told.count(chr(10) + '[')} line")
    assert f"({tokens(told)} tokens)" in line
    said(decided, "zwieback", SESSION)
    assert ended() == ""


def test_a_turn_whose_prompt_was_not_looked_at_ends_without_a_line(
    decided: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The line of the prompt before is not said again ("ok" is too short to be asked for)."""
    monkeypatch.setenv("HOWCOME_RECEIPT_LINE", "yes")
    assert said(decided, QUESTION, SESSION)
    talk = Claude(SESSION, cwd=CWD, start=int(time.time() - START.timestamp()) + 60)
    path = write(decided.parent / "new.jsonl", talk.user("ok"), talk.text("Done."))
    assert hook("Stop", payload("Stop", path, SESSION)).stdout == b""


@pytest.mark.usefixtures("store_folder")
def test_nothing_was_injected() -> None:
    """Where there is no store, too."""
    assert ways() == {}
    assert "Nothing was injected" in run("receipt").stdout
    assert run("receipt", "--session", "7f3a").returncode == 1
    assert run("receipt", "--today", "--since", "7d").returncode == 2
