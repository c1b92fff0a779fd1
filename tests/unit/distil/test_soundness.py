"""What a finding has to be besides fit, what takes it back, and what is said twice."""

from __future__ import annotations

import json

import pytest
from tests.unit.distil.test_findings import AGENT, CALL, RESULT, USER, commit, distilled, edit, texts

from howcome.domain.candidates import Candidate
from howcome.learn.rules.repeats import said_once
from howcome.learn.rules.soundness import is_about_another, is_gap, unsound, unsound_failure


@pytest.mark.parametrize(
    "text",
    [
        "The stuck jobs are never retried because `Dispatcher` drops them.",
        "Requires a `--region`, otherwise `deploy` takes the default one.",
        "`reader.py` — The `continue` skips a broken row, so `Importer` never reports it.",
        "All bugs stem from `SessionKey` being built from the date.",
        "`Importer` now skips broken rows instead of failing with `RowError`.",
        "Root cause: the `Importer` run 3f9c1d2a had no `RowError` because it was empty.",
        "The `exhaustive` linter is flagging the switch in `Importer` because a case is missing.",
        "When `sync()` returns null, falls back to `LocalStore` (fixed on 2026-03-19).",
        "Running `ledger import` fails with `ENOENT` (fixed on 2026-03-19).",
        "`Exporter` doesn't have the same issue since it reads the file once.",
    ],
)
def test_a_fragment_a_change_and_a_story_of_one_day_are_no_finding(text: str) -> None:
    """No name at its beginning, cut off, what was done, a nit of a linter, a symptom alone."""
    assert unsound(text)


@pytest.mark.parametrize(
    "text",
    [
        "The configured `redirect_uri` has a trailing slash, so `OAuthClient` is refused.",
        "`Importer` skips broken rows because `RowError` is swallowed in `read_all()`.",
        "Cobra doesn't hand `Hidden` down to children, so hidden commands were counted.",
        "Root cause: `flush()` ran before `open()` returned, so `Journal` lost its first line (fixed on 2026-03-19).",
        "Running `ledger import` fails because `--dir` is defined on `ledger load` (fixed on 2026-03-19).",
    ],
)
def test_a_whole_sentence_about_something_named_is_one(text: str) -> None:
    """With its cause, whatever became of it."""
    assert unsound(text) == ""


def test_a_remedy_alone_is_no_failure() -> None:
    """What is so now does not say what was wrong."""
    assert unsound_failure("When `sync()` returns null, `Importer` now falls back to `LocalStore`.")
    assert not unsound_failure("`Importer` failed on an empty `LocalStore`, it now skips the run.")


def test_what_another_tool_lacks_is_not_mended_here() -> None:
    """A product's limit stays, what the own code lacks may be gone at once."""
    assert is_about_another("Goreleaser v2.1 doesn't support a `retry` field.")
    assert not is_about_another("`Importer` doesn't support a `retry` field.")
    assert is_gap("`Importer` doesn't check whether the file changed.")
    assert not is_gap("`flock` doesn't work on some network file systems.")
    assert not is_gap("`Importer` never checks the file because `Watcher` does.")


BELIEF = "The issue is that `ReceiptQueue` never acknowledges a message, so every receipt is sent twice."
MENDING = edit("/p/queue.py", "class ReceiptQueue: ...", "class ReceiptQueue: ack = True")


@pytest.mark.parametrize(
    "after",
    [
        [(AGENT, "You're right, sorry: `ReceiptQueue` does acknowledge, the broker restarts.")],
        [(AGENT, "Done."), (USER, "huh, are you sure?"), (AGENT, "No: `ReceiptQueue` was never the cause.")],
        [(AGENT, "Done."), (USER, "it still fails with a timeout"), (AGENT, "Then `ReceiptQueue` is innocent.")],
    ],
)
def test_a_diagnosis_that_is_taken_back_is_not_kept(after: list[tuple[str, str]]) -> None:
    """By the agent in the same exchange, or after a person's doubt."""
    assert any("acknowledges" in text for text in texts(distilled((USER, "look"), (AGENT, BELIEF), *MENDING)))
    found = distilled((USER, "look"), (AGENT, BELIEF), *MENDING, *after)
    assert not [text for text in texts(found) if "never acknowledges" in text], texts(found)


def test_a_diagnosis_that_goes_on_looking_is_not_kept() -> None:
    """Who still has to verify it has not found it."""
    found = distilled((USER, "look"), (AGENT, f"{BELIEF} Let me verify that:"), *MENDING, (AGENT, "Done."))
    assert texts(found) == []


def test_a_commit_that_tells_the_remedy_only_is_no_failure() -> None:
    """It says what is so from now on, not what went wrong."""
    body = "Invalid ids give a random id instead of a crash of `IdParser`."
    assert texts(distilled((USER, "commit"), *commit(f"fix: guard ids\n\n{body}"), (AGENT, "Done."))) == []


def test_what_a_commit_says_was_decided_is_a_decision() -> None:
    """With what it was decided against, and why."""
    body = "Decided to deduplicate on `(gauge, ts)` instead of a Redis set, because a set is lost on a restart."
    found = distilled((USER, "commit"), *commit(f"feat: deduplicate\n\n{body}"), (AGENT, "Done."))
    assert [(one.type, one.text) for one in found] == [("decision", body)]


def test_an_option_of_an_everyday_command_put_wrongly_is_not_told() -> None:
    """Its own help says so."""
    wrong, right = (json.dumps({"command": f"gh pr diff 7 --{flag}"}) for flag in ("stat", "name-only"))
    call, failed = (CALL, wrong, "Bash", ""), (RESULT, "Exit code 1\nunknown flag: --stat", "Bash", "")
    found = distilled((USER, "show it"), call, failed, (CALL, right, "Bash", ""), (RESULT, "a.py", "Bash", ""))
    assert texts(found) == []


def test_a_list_with_a_step_under_way_leaves_no_task() -> None:
    """Nobody brought it up to date at the end."""
    todos = [
        {"content": "Add `--csv` to the export command", "status": "completed"},
        {"content": "Add `--json` to the export command", "status": "in_progress"},
        {"content": "Add `--xml` to the export command", "status": "pending"},
    ]
    call = (CALL, json.dumps({"todos": todos}), "TodoWrite", "")
    assert texts(distilled((USER, "add flags"), call, (RESULT, "ok", "TodoWrite", ""))) == []


def test_what_is_said_twice_in_an_exchange_is_kept_once() -> None:
    """The fuller one, and a failure before a discovery."""
    short = Candidate("discovery", "`Journal` loses its first line on a restart.", ["a"], "assistant", 1)
    full = Candidate("discovery", "`Journal` loses its first line on a restart of `ledgerd`.", ["b"], "assistant", 2)
    other = Candidate("discovery", "`Importer` reads the whole file into memory at once.", ["c"], "assistant", 3)
    mended = Candidate("failure", "`Journal` lost its first line on a restart. Fix: open it.", ["d"], "assistant", 4)
    assert said_once([short, full, other]) == [full, other]
    assert said_once([short, mended]) == [mended]
