"""What sessions, resumed sessions and subagents are told as they begin, whatever they are about."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import START, Record, Shell, wrapped, write
from tests.processes import answer_of, hook, payload, run

from howcome.app import open_app
from howcome.clients.discover import named_transcripts
from howcome.settings import read_settings

CWD = "/home/mara/quay"


def begun(folder: Path, session: str = "new", event: str = "SessionStart", **fields: Any) -> str:
    """What the hook says as something begins; '' for nothing."""
    given = {"source": "startup", "agent_id": "a1", "agent_type": "Explore", "cwd": CWD, **fields}
    said = answer_of(event, hook(event, payload(event, folder / "new.jsonl", session, **given)))
    return str(said["additionalContext"]) if said else ""


def imported(folder: Path, *sessions: list[Record]) -> None:
    """Sessions that are in the store with what they ran; whose last hook ran."""
    for records in sessions:
        path = write(folder / f"{records[0]['sessionId']}.jsonl", *records)
        assert answer_of("Stop", hook("Stop", payload("Stop", path, records[0]["sessionId"]))) is None


@pytest.fixture
def checked(tmp_path: Path, store_folder: Path) -> Path:
    """Four sessions that looked at the status, and ran a check that failed in two of them."""
    assert not store_folder.exists()
    for at in range(4):
        talk = Shell(f"past-{at}", cwd=CWD, start=100 * at)
        failing = talk.ran("tide check --strict", "Exit code 1\nerror: gauge 3 is dry") if at < 2 else []
        again = [*talk.edited(f"{CWD}/gauge.py"), *talk.ran("tide check --strict"), *talk.ran("tide status")]
        imported(tmp_path, [talk.user(f"mend gauge {at}"), *failing, *again, talk.text("Done.")])
    return tmp_path


def test_a_session_is_told_what_others_check_their_work_with(checked: Path) -> None:
    """The command that finds something, as it was typed; not the one that only looks, nor in another project."""
    said = begun(checked)
    assert "Checks that sessions run here:" in said
    assert "`tide check --strict`" in said
    assert "tide status" not in said
    assert said == begun(checked, "another")
    assert "tide check" not in begun(checked, "third", cwd="/home/mara/other")


def test_what_few_sessions_ran_or_nothing_failed_is_no_check(tmp_path: Path, store_folder: Path) -> None:
    """Two sessions are no custom."""
    assert not store_folder.exists()
    for at in range(2):
        talk = Shell(f"past-{at}", cwd=CWD, start=100 * at)
        failing = talk.ran("tide check", "Exit code 1\nerror: gauge 3 is dry")
        imported(tmp_path, [talk.user("mend it"), *failing, *talk.ran("tide check"), talk.text("Done.")])
    assert begun(tmp_path) == ""


def test_a_subagent_is_told_what_holds_whatever_it_does(checked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the session was, for its window is new; not what the branch was about; the client's own helpers nothing."""
    assert run("remember", "--project", CWD, "Always wake the buoy before a check").returncode == 0
    for session in ("new", "new"):
        said = begun(checked, session, "SubagentStart")
        assert "Always wake the buoy" in said
        assert "tide check --strict" in said
        assert "mend gauge" not in said
    assert begun(checked, "new", "SubagentStart", agent_type="") == ""
    assert "wake the buoy" in begun(checked)
    monkeypatch.setenv("HOWCOME_BRIEFING_TOKENS", "0")
    assert begun(checked, "new", "SubagentStart") == ""


def test_who_resumes_is_told_what_happened_elsewhere_since(tmp_path: Path, store_folder: Path) -> None:
    """Which files others changed and how they ended, once; nothing of what was before, of itself, or of others."""
    assert not store_folder.exists()
    ended = "The poller is `TidePoller` now."
    own, before = Shell("own", cwd=CWD, start=1000), Shell("before", cwd=CWD, start=10)
    after, other = Shell("after", cwd=CWD, start=2000), Shell("other", cwd="/home/mara/other", start=2000)
    imported(
        tmp_path,
        [before.user("paint the quay"), before.text("The `Quay` is painted blue.")],
        [own.user("mend the gauge"), own.text("The `Gauge` reads depth again.")],
    )
    assert begun(tmp_path, "own", source="resume") == ""
    imported(
        tmp_path,
        [after.user("rename the poller"), *after.edited(f"{CWD}/src/poller.py"), after.text(ended)],
        [other.user("sell the dock"), other.text("The `Dock` is sold.")],
    )
    said = begun(tmp_path, "own", source="resume")
    assert "Elsewhere since then:" in said
    assert "“rename the poller” changed src/poller.py; ended: The poller is `TidePoller` now." in said
    assert not [word for word in ("painted", "depth", "Dock") if word in said]
    assert begun(tmp_path, "own", source="resume") == ""


def test_who_is_at_work_on_the_branch_is_named_with_what_was_changed(tmp_path: Path, store_folder: Path) -> None:
    """A moment ago, on this branch, and something was changed; not as what ended there, too."""
    assert not store_folder.exists()
    busy = Shell("busy", cwd=CWD, gitBranch="tides")
    plan = "Carry this out:\n\n# Rename the poller\n\nIt is no poller."
    said = [busy.user(plan), *busy.edited(f"{CWD}/src/poller.py"), busy.text("The gauge is next now.")]
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)})) as app:
        write(tmp_path / "t" / "busy.jsonl", *said)
        for found in named_transcripts([str(tmp_path / "t")]):
            app.ingest.file(found)
        last_ms = app.events.last_ms()

        def told(after_ms: int, branch: str = "tides") -> str:
            lines = app.search.briefing(CWD, last_ms + after_ms).lines(branch, 600)
            return "\n".join(text for text, _ in lines)

        at_once = told(30_000)
        assert "At work here a moment ago:" in at_once
        assert "“Rename the poller” changed src/poller.py; said last: The gauge is next now." in at_once
        assert "Last on this branch" not in at_once
        assert "ended: The gauge is next now." in told(300_000)
        assert "At work here" not in told(300_000) + told(30_000, "dock")


def test_a_note_is_no_open_end(checked: Path) -> None:
    """What somebody keeps by hand without saying its type is a fact as likely as something to do."""
    assert run("remember", "--project", CWD, "The quay has the same tide table as the harbour office").returncode == 0
    said = begun(checked)
    assert "Noted:" in said
    assert "same tide table" in said
    assert "Open:" not in said


@pytest.mark.parametrize("event", ["SessionStart", "SubagentStart"])
def test_a_new_project_is_told_what_holds_everywhere(checked: Path, event: str) -> None:
    """Nothing is stored of it; what was kept for another project stays there."""
    run("remember", "--global", "Always answer in British English.")
    run("remember", "--project", CWD, "Always call the gauges by their numbers.")
    said = begun(checked, event=event, cwd=str(checked))
    assert "British English" in said
    assert "gauge" not in said


@pytest.mark.parametrize("sessions", [1, 2])
def test_a_failure_is_told_once_two_sessions_met_it(tmp_path: Path, store_folder: Path, sessions: int) -> None:
    """What happened once may have been of that day."""
    assert not store_folder.exists()
    wrapped(tmp_path / "t", sessions, CWD, start=int(time.time() - START.timestamp()) - 1000)
    assert run("import", str(tmp_path / "t")).returncode == 0
    assert run("distil").returncode == 0
    assert ("`wrap pytest -q` failed in 2 sessions; run `pytest -q` directly." in begun(tmp_path)) is (sessions == 2)
