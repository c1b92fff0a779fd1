"""What a session tells, the sessions after it hear: the real client with howcome's hooks installed."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from tests.client import Script, call, say, where
from tests.client.transcripts import count
from tests.e2e.desk import injected
from tests.processes import failures

if TYPE_CHECKING:
    from tests.client import Run
    from tests.e2e.desk import Desk

REASON = "local time repeats an hour every autumn"
DECISION = f"We decided to store TidalClock timestamps in UTC because {REASON}."
PROMPT = "how do we keep the tide tables?"
TOLD = (PROMPT, "tables/2026.tidal", REASON)
QUESTION = "which timezone should the TidalClock export write?"


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """Connect the desk's client to howcome."""
    desk.howcome("init", "--yes")
    return desk


def decide(desk: Desk) -> Run:
    """Run a session in which a command fails and something is decided."""
    failing = call("Bash", "Let me see the tables.", command="cat tables/2026.tidal", description="Read the table")
    return desk.ask(PROMPT, [failing, say(DECISION)])


def first_request(run: Run) -> dict[str, Any]:
    """Return the body of the first request of the main conversation."""
    return run.bodies("main")[0]


def test_a_decision_reaches_a_later_session_that_asks_in_other_words(ready: Desk) -> None:
    """The first request of a new process carries the decision, placed as the client places prompt context."""
    decide(ready)
    run = ready.ask(QUESTION, [say("UTC.")])
    contexts = [context for context in injected(first_request(run)) if REASON in context[3]]
    assert len(contexts) == 1, injected(first_request(run))
    (index, role, block, _) = contexts[0]
    prompt = next(place for place in where(first_request(run), QUESTION) if place.role == "user")
    if ready.old:
        assert (index, role) == (prompt.message, "user")
        assert block < prompt.block
    else:
        assert (index, role) == (prompt.message + 1, "system")
    assert run.notices() == []


def test_status_shows_what_was_read_and_nothing_unread(ready: Desk) -> None:
    """After a session every event of it is in the store, the failed command too."""
    run = decide(ready)
    status = ready.report("status")
    account = status["bytes"]
    assert status["counts"]["events"] >= len(TOLD)
    assert status["unread"] == {"files": 0, "bytes": 0}
    assert account["read"] == sum(account[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))
    assert (status["quarantine"]["records"], status["hook_errors"]) == (0, [])
    assert {hit["session_id"] for hit in ready.found("tables/2026.tidal")} == {run.session_id}


@pytest.mark.parametrize("clue", ["a file that it opened", "a name that it mentioned"])
def test_a_prompt_without_any_noun_finds_what_the_session_is_about(ready: Desk, clue: str) -> None:
    """What to look for comes from the session's last words and calls, not from the prompt."""
    ready.ask(
        "how far back may we fill gaps?",
        [say("We decided that backfill_gauge_window stops at 36 hours because older buffers are overwritten.")],
    )
    module = ready.write("src/backfill_gauge_window.py", "LIMIT_HOURS = 36\n")
    turns = {
        "a file that it opened": [call("Read", file_path=str(module)), say("It has one limit, which we could raise.")],
        "a name that it mentioned": [say("Next would be the limit in backfill_gauge_window.")],
    }
    opened = ready.ask("where did I stop yesterday?", turns[clue])
    assert not where(first_request(opened), "older buffers are overwritten")
    run = ready.ask("ok, let's do that", [say("Raised.")], resume=opened.session_id)
    assert where(first_request(run), "older buffers are overwritten")


def test_a_new_session_begins_with_how_the_last_one_on_this_branch_ended(ready: Desk) -> None:
    """The first request holds the briefing, whatever is asked; a question about the same adds no second copy."""
    git = ("git", "-c", "user.name=mara", "-c", "user.email=mara@x.invalid", "-C", str(ready.project))
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "start"], check=True)  # an old client asks for one
    decide(ready)
    ready.client.extra["HOWCOME_BRIEFING_TOKENS"] = "600"
    run = ready.ask("write a haiku on sailing boats", [say("White sails, evening wind.")])
    assert count(first_request(run), REASON) == 1
    assert where(first_request(run), "Last on this branch:")
    assert count(first_request(ready.ask(QUESTION, [say("UTC.")])), REASON) == 1


def test_the_same_excerpt_is_injected_once_in_a_session(ready: Desk) -> None:
    """The second request replays the first copy, where the client keeps it, and never holds two."""
    decide(ready)
    first = ready.ask(QUESTION, [say("UTC.")])
    assert count(first_request(first), REASON) == 1
    second = ready.ask(QUESTION, [say("Still UTC.")], resume=first.session_id)
    copies = count(first_request(second), REASON)
    assert copies <= 1 if ready.old else copies == 1


def test_a_prompt_about_something_else_gets_nothing(ready: Desk) -> None:
    """Silence is the answer when nothing fits."""
    decide(ready)
    run = ready.ask("write a haiku on sailing boats", [say("White sails, evening wind.")])
    assert injected(first_request(run)) == []


def test_injected_text_is_never_found_by_a_search(ready: Desk) -> None:
    """After several sessions that were given excerpts, the wrapper around them is nowhere in the store."""
    decide(ready)
    runs = [ready.ask(QUESTION, [say("UTC it is.")]) for _ in range(2)]
    wrapper = wrapper_lines(first_request(runs[1]))
    assert wrapper
    for line in wrapper:
        assert not [hit for hit in ready.found(line) if line in hit["excerpt"]], line
    assert len(told_by(ready, REASON)) == 1


def wrapper_lines(body: dict[str, Any]) -> list[str]:
    """Return the lines around the excerpts of an injected block: its opening tag, its heading, its closing tag."""
    text = injected(body)[0][3]
    block = re.search(r"(<[a-z][^>]*>\n[^\n]*\n).*(\n</[a-z][^>]*>)", text, re.DOTALL)
    assert block, text
    return [line for part in block.groups() for line in part.strip().splitlines()]


def told_by(desk: Desk, text: str) -> list[dict[str, Any]]:
    """Return the hits whose excerpt holds the text word for word."""
    return [hit for hit in desk.found(text) if hit["kind"] == "event" and text in hit["excerpt"]]


def test_a_fork_adds_only_what_is_new(ready: Desk) -> None:
    """The records that a fork copies are known already: each stays one event, of the session that had it first."""
    origin = decide(ready)
    before = ready.events()
    known = [sorted(hit["id"] for hit in told_by(ready, text)) for text in TOLD]
    fork = ready.ask("go on from here", [say("Going on.")], resume=origin.session_id, args=["--fork-session"])
    assert fork.session_id != origin.session_id
    assert [sorted(hit["id"] for hit in told_by(ready, text)) for text in TOLD] == known
    assert {hit["session_id"] for hit in told_by(ready, REASON)} == {origin.session_id}
    assert ready.events() - before == 2 or ready.old
    assert ready.unread() == 0


def test_a_compaction_adds_no_second_copy(ready: Desk) -> None:
    """The summary that the client writes in the user's name is not told as a new event of the user."""
    origin = decide(ready)
    summary = Script(summary=f"<summary>{DECISION}</summary>")
    ready.ask("/compact", summary, resume=origin.session_id)
    ready.ask("and the next table?", [say("The same.")], resume=origin.session_id)
    assert len(told_by(ready, REASON)) == 1
    assert ready.unread() == 0


def test_reading_everything_again_changes_nothing(ready: Desk) -> None:
    """An import after the hooks finds every record read."""
    decide(ready)
    before = ready.events()
    ready.howcome("import")
    assert ready.events() == before


def test_sessions_from_before_the_installation_are_caught_up(desk: Desk) -> None:
    """An import reads what the client wrote while nobody listened."""
    run = decide(desk)
    desk.howcome("init", "--yes")
    desk.howcome("import")
    assert [hit["session_id"] for hit in told_by(desk, REASON)] == [run.session_id]


def test_a_subagent_is_told_under_its_parent(ready: Desk) -> None:
    """What a subagent said is found, as part of the session that started it."""
    spawn = ready.subagent("inspect moorings", "Inspect the moorings of pier nine and report.")
    report = "The bollard of pier nine is rated for 40 kilonewton."
    run = ready.ask("are the moorings fine?", Script([spawn, say("They are.")], subagent=[say(report)]))
    assert {hit["session_id"] for hit in ready.found("bollard kilonewton")} == {run.session_id}


def test_a_subagent_begins_with_what_holds(ready: Desk) -> None:
    """In its first request, as the session's own."""
    ready.client.extra |= {"HOWCOME_BRIEFING_TOKENS": "600", "HOWCOME_PROMPT_DEADLINE_MS": "4000"}
    rule = "Always moor at pier three, pier nine is silted up"
    ready.howcome("remember", "--type", "pattern", rule)
    spawn = ready.subagent("inspect moorings", "Inspect the moorings of pier nine and report.")
    run = ready.ask("are the moorings fine?", Script([spawn, say("They are.")], subagent=[say("It is fine.")]))
    for route in ("main", "subagent"):
        assert str(run.bodies(route)[0]).count(rule) == 1, route
    assert run.notices() == []
    assert failures(ready.store) == []


def test_who_resumes_is_told_what_others_did_since(ready: Desk) -> None:
    """With the next prompt; a session that nobody was busy beside is told nothing."""
    ready.client.extra |= {"HOWCOME_BRIEFING_TOKENS": "600", "HOWCOME_START_DEADLINE_MS": "9000"}
    first = ready.ask("where is the gate?", [say("The `Gate` stands at pier three, below the crane.")])
    alone = ready.ask("which one?", [say("The green one.")], resume=first.session_id)
    assert "Elsewhere since then" not in str(alone.bodies("main")[-1])
    ready.ask("where is the crane?", [say("The `Crane` was moved to pier nine this morning.")])
    again = ready.ask("and now?", [say("Still there.")], resume=first.session_id)
    assert str(again.bodies("main")[-1]).count("“where is the crane?” ended: The `Crane` was moved") == 1
    assert again.notices() == []


def test_nothing_is_running_after_the_client_has_ended(ready: Desk) -> None:
    """Five seconds later no process of this HOME is left."""
    decide(ready)
    assert ready.left_after(5) == []
