"""What was decided and later taken back is not said as if it held: prompt, briefing and search say what does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.builders import CWD, Record, Shell, write
from tests.processes import HOOK_FIELDS, answer_of, hook, payload, run

from howcome.cli.distilling import first_memories

if TYPE_CHECKING:
    from pathlib import Path

DAY = 86_400
DECIDED = "Always use Redis for the job queue of the tide poller, because it is deployed already."
ASKED = {
    "question": "Which store do we use for the job queue of the tide poller?",
    "options": [
        {"label": "Postgres", "description": "One server less to watch"},
        {"label": "Redis", "description": "As it is"},
    ],
}  # fmt: skip
REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x). To tell you how to"
    " proceed, the user said:\nno, use Postgres instead of Redis for the job queue of the tide poller"
)


def decision() -> list[Record]:
    """The user decides, the agent does and commits it."""
    talk = Shell("decided", CWD)
    return [
        talk.user("let's look at the tide poller"), talk.text("It has no queue yet."), talk.user(DECIDED),
        *talk.edited("queue.py"), *talk.ran("git commit -m 'Use Redis for the job queue of the tide poller'"),
        talk.text("The job queue of the tide poller in `queue.py` uses Redis now."),
    ]  # fmt: skip


def by_words(talk: Shell) -> list[Record]:
    """The user's words."""
    return [
        talk.user("let's switch the job queue of the tide poller from Redis to Postgres"), *talk.edited("queue.py"),
        talk.text("The job queue of the tide poller in `queue.py` is a table in Postgres now."),
    ]  # fmt: skip


def by_choice(talk: Shell) -> list[Record]:
    """An answer to a question."""
    answer = f'Your questions have been answered: "{ASKED["question"]}"="Postgres". You can now continue.'
    return [
        talk.user("the queue lost jobs last night"), talk.call("AskUserQuestion", "q1", questions=[ASKED]),
        talk.user([talk_result("q1", answer)]), *talk.edited("queue.py"), talk.text("Moved to Postgres."),
    ]  # fmt: skip


def by_refusal(talk: Shell) -> list[Record]:
    """A refused plan."""
    plan = "# Keep jobs of the tide poller over restarts\n\nWrite the queue to disk."
    return [
        talk.user("the queue loses jobs when it restarts"), talk.call("ExitPlanMode", "p1", plan=plan),
        talk.user([talk_result("p1", REFUSED, is_error=True)], toolDenialKind="user-rejected"),
        *talk.edited("queue.py"),
        talk.text("The job queue of the tide poller in `queue.py` is a table in Postgres now."),
    ]  # fmt: skip


def by_revert(talk: Shell) -> list[Record]:
    """A commit that reverts the first one."""
    message = 'Revert "Use Redis for the job queue of the tide poller"'
    return [
        talk.user("the queue lost jobs, take that out"),
        *talk.ran(f"git commit -m '{message}'"),
        talk.text("Done."),
    ]


def talk_result(call_id: str, content: str, **fields: object) -> dict[str, object]:
    """A result as a block."""
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def told(folder: Path, event: str, **fields: str) -> str:
    """What a new session is told."""
    whole = {**HOOK_FIELDS[event], "cwd": CWD, **fields}
    answer = answer_of(event, hook(event, payload(event, folder / "new.jsonl", "new", **whole)))
    return "" if answer is None else str(answer["additionalContext"])


@pytest.mark.parametrize("taken_back", [by_words, by_choice, by_refusal, by_revert])
def test_what_was_taken_back_is_said_with_what_took_it_back(tmp_path: Path, store_folder: Path, taken_back) -> None:  # noqa: ANN001, ARG001
    """With a prompt, as a session begins, in a search, and among the memories."""
    write(tmp_path / "decided.jsonl", *decision())
    write(tmp_path / "later.jsonl", *taken_back(Shell("later", CWD, start=9 * DAY)))
    assert run("import", str(tmp_path)).returncode == 0
    assert run("distil").returncode == 0
    holds = "Reverted the commit" if taken_back is by_revert else "Postgres"
    said = told(tmp_path, "UserPromptSubmit", prompt="What did we decide about the job queue of the tide poller?")
    assert holds in said
    assert "2026-03-11" in said
    for one in json.loads(run("memories", "--project", CWD, "--json").stdout)["memories"]:
        assert DECIDED not in one["text"] or holds in one["later"]
    begun = told(tmp_path, "SessionStart", source="startup")
    assert "Redis" not in begun or holds in begun
    found = json.loads(run("search", "job queue of the tide poller", "--project", CWD, "--json").stdout)["results"]
    old = next(place for place, row in enumerate(found) if DECIDED in row["excerpt"])
    assert holds in found[old]["later"]
    assert holds in json.dumps(found[: old + 1])


@pytest.mark.usefixtures("store_folder")
def test_init_counts_what_is_listed_then(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What was taken back in the same history is no memory more."""
    write(tmp_path / "decided.jsonl", *decision())
    write(tmp_path / "later.jsonl", *by_words(Shell("later", CWD, start=9 * DAY)))
    assert run("import", str(tmp_path)).returncode == 0
    counted = first_memories(quiet=False)["memories"]
    listed = json.loads(run("memories", "--project", CWD, "--json").stdout)["memories"]
    every = json.loads(run("memories", "--project", CWD, "--superseded", "--json").stdout)["memories"]
    assert counted == len(listed) == len(every) - 1
    assert f"{counted} memor" in capsys.readouterr().out


@pytest.mark.usefixtures("store_folder")
@pytest.mark.parametrize("inject", ["bites", "context"])
def test_what_was_called_wrong_is_not_told_unasked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inject: str
) -> None:
    """Not by the exchange that taught it, nor as a line beside another's; a search finds it, and `why` has the rule."""
    monkeypatch.setenv("HOWCOME_INJECT", inject)
    asked = "What did we decide about the job queue of the tide poller?"
    page = Shell("decided", CWD, start=600)
    write(
        tmp_path / "decided.jsonl", *decision(), page.user("now the gauge page of the tide poller: show the queue"),
        *page.edited("page.py"),
        page.text("The gauge page in `page.py` shows how long the job queue of the tide poller is, as you decided."),
    )  # fmt: skip
    last = Shell("last", CWD, start=2000)
    write(
        tmp_path / "last.jsonl", last.user("and the poller?"), last.text("It runs."), last.user(DECIDED),
        *last.edited("queue.py"), last.text("The job queue of the tide poller in `queue.py` uses Redis now."),
    )  # fmt: skip
    assert run("import", str(tmp_path)).returncode == 0
    assert run("distil").returncode == 0
    assert "Redis for the job queue" in told(tmp_path, "UserPromptSubmit", prompt=asked)
    listed = json.loads(run("memories", "--project", CWD, "--json").stdout)["memories"]
    [memory] = [one["id"] for one in listed if "Redis" in one["text"]]
    assert run("forget", memory).returncode == 0
    assert DECIDED in told(tmp_path, "UserPromptSubmit", prompt=asked, session_id="forgotten")
    assert "Redis" in told(tmp_path, "SessionStart", source="startup")
    assert run("forget", "--wrong", memory).returncode == 0
    said = told(tmp_path, "UserPromptSubmit", prompt=asked, session_id="wrong")
    assert "Redis" not in said
    assert "page.py" in said
    for source in ("startup", "resume"):
        assert "Redis" not in told(tmp_path, "SessionStart", source=source, session_id=source)
    assert DECIDED in run("search", "job queue of the tide poller", "--project", CWD, "--json").stdout
    assert "somebody called wrong" in run("why", "--project", CWD).stdout
