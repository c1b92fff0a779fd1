"""Sessions told again with the clock set back, and what of it was in time for prompts that readers judged."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, wrapped, write
from tests.processes import run

from howcome.app import open_app
from howcome.settings import read_settings

CWD = "/home/mara/quay"
DECIDED = "We decided to retry a `TidePoller` request five times, because the buoy reboots for a minute."
QUESTION = "What did we decide about the retry limit of the poller?"


def transcripts(folder: Path) -> list[dict[str, Any]]:
    """Two sessions, the second of which asks twice for what the first decided, and once more after a compaction."""
    talk, later = Claude("earlier", cwd=CWD), Claude("later", cwd=CWD, start=5000)
    asked = talk.user("how often does the poller retry?")
    prompts = [later.user(QUESTION), later.user(f"Again: {QUESTION}"), later.user(f"{QUESTION} Once more.")]
    write(folder / "earlier.jsonl", asked, talk.text(DECIDED))
    first, again, last = prompts
    told = [first, later.text("Five."), again, later.text("Still five."), later.compact_boundary(), last]
    for number, record in enumerate(told, 5001):
        record["timestamp"] = Claude("clock", start=number - 1).user("")["timestamp"]
    write(folder / "later.jsonl", *told, later.text("Five."))
    return [asked, *prompts]


def replayed(*options: str) -> dict[str, Any]:
    """What `replay --json` says."""
    done = run("replay", *options, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_project_is_replayed_prompt_by_prompt(tmp_path: Path, store_folder: Path) -> None:
    """By what had been said before, once a window; nothing is noted of it; a later session does not count."""
    transcripts(tmp_path / "t")
    assert run("import", str(tmp_path / "t")).returncode == 0
    for _ in range(2):
        found = replayed(CWD)
        early, late = found["sessions"]
        assert [moment["lines"] for moment in early["moments"]] == [[], []]
        begun, *prompts = late["moments"]
        assert begun["prompt"] is None
        assert any("five times" in line for line in begun["lines"])
        assert [any("five times" in line for line in one["lines"]) for one in prompts] == [False, False, True]
        assert found["totals"] == {
            "sessions": 2, "briefings": 1, "briefing_tokens": begun["tokens"], "prompts": 4, "answered": 1,
            "prompt_tokens": prompts[2]["tokens"],
        }  # fmt: skip
    with open_app(read_settings({"HOWCOME_HOME": str(store_folder)})) as app:
        assert app.store.accounts.counts()["injections"] == 0
    assert [one["session"] for one in replayed("--session", "late")["sessions"]] == ["later"]
    assert replayed(CWD, "--since", "2100-01-01")["totals"]["sessions"] == 0
    text = run("replay", CWD).stdout
    assert "(the session begins)" in text
    assert "2 sessions, of which 1 would begin with a briefing; 4 prompts, of which 1 would be answered" in text


def test_nothing_is_replayed_of_what_is_not_stored(tmp_path: Path, store_folder: Path) -> None:
    """It says what to do."""
    assert not store_folder.exists()
    transcripts(tmp_path / "t")
    assert run("import", str(tmp_path / "t")).returncode == 0
    done = run("replay", folder=tmp_path)
    assert done.returncode != 0
    assert "howcome import" in done.stderr


@pytest.mark.usefixtures("store_folder")
def test_a_briefing_is_asked_as_it_was(tmp_path: Path) -> None:
    """What was kept by hand only now does not stand in the briefing of a session that began before."""
    transcripts(tmp_path / "t")
    assert run("import", str(tmp_path / "t")).returncode == 0
    assert run("remember", "--project", CWD, "Always run the tide tests before a commit").returncode == 0
    [late] = replayed("--session", "later")["sessions"]
    assert not any("tide tests" in line for moment in late["moments"] for line in moment["lines"])


@pytest.mark.usefixtures("store_folder")
def test_what_fails_in_session_after_session_is_said_without_the_words_of_a_tool(tmp_path: Path) -> None:
    """Three sessions are enough: the commands, which were the agent's; by what had been said then."""
    wrapped(tmp_path / "t", 4, CWD)
    assert run("import", str(tmp_path / "t")).returncode == 0
    assert run("distil").returncode == 0
    begun = [one["moments"][0]["lines"] for one in replayed(CWD)["sessions"]]
    told = "`wrap pytest -q` failed in 3 sessions; run `pytest -q` directly."
    assert [any(told in line for line in lines) for lines in begun] == [False, False, False, True]
    assert "banana" not in str(begun)


def figures(folder: Path, *options: str) -> dict[str, Any]:
    """What `eval --speak` says."""
    done = run("eval", "--speak", "--json", str(folder), *options)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_what_was_in_time_is_measured(tmp_path: Path) -> None:
    """By any line of the window; what readers missed counts once, and a reader may say that it is there."""
    folder = tmp_path / "data" / "one"
    asked, *prompts = transcripts(folder / "transcripts")
    quote = {"session": "earlier", "exchange_at": asked["timestamp"], "grade": 2}
    missing = ["why requests fail at first and later do not", "why at first requests fail and later they do not", ""]
    rows = [
        {
            "session": "later", "ts": prompt["timestamp"], "prompt": prompt["message"]["content"], "kind": "question",
            "candidates": [{**quote, "quote": words}], "missing": missed,
        }
        for prompt, words, missed in zip(
            prompts, ["retry a request five times", "five times, the buoy reboots", "never heard"], missing, strict=True
        )
    ]  # fmt: skip
    (folder / "judged_prompts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    sheet = tmp_path / "sheet.jsonl"
    found = figures(tmp_path / "data", "--sheet", str(sheet))
    one = found["speak"]["one"]
    assert one["in_time_quotes_of"] == [2, 3]
    assert one["in_time_missing_of"] == [0, 1]
    assert one["in_time_tokens"] > 0
    assert one["repeats_of"][0] == 0
    assert one["repeats_of"][1] > 1
    assert found["speak_by_kind"]["question"]["spoke_of"] == [1, 3]
    assert sum(group["spoke_of"][1] for group in found["speak_by_length"].values()) == 3
    wanted = [row for row in map(json.loads, sheet.read_text().splitlines()) if "wanted" in row]
    graded = [{"id": row["id"], "grade": 2} for row in wanted if row["wanted"] in missing]
    (tmp_path / "grades.jsonl").write_text("".join(json.dumps(row) + "\n" for row in graded))
    assert figures(tmp_path / "data", "--grades", str(tmp_path / "grades.jsonl"))["speak"]["one"][
        "in_time_missing_of"
    ] == [1, 1]
