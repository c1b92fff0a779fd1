"""Facts that the agent found, what became of problems, rules in instructions, options that a person picked."""

from __future__ import annotations

import json
from hashlib import blake2b

import pytest
from tests.noting import with_following

from howcome.domain import events
from howcome.domain.candidates import Candidate
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.quick import Cues, Words
from howcome.learn.rules import RuleDistiller

DAY = "2026-03-19"
START_MS = 1_773_900_000_000
USER, AGENT, CALL, RESULT = events.USER_PROMPT, events.ASSISTANT_TEXT, events.TOOL_CALL, events.TOOL_RESULT
ORIGINS = {USER: events.ORIGIN_USER, RESULT: events.ORIGIN_TOOL}
Step = tuple[str, str] | tuple[str, str, str, str]


def distilled(*steps: Step) -> list[Candidate]:
    """What a session taught; a step is (kind, text) or (kind, text, tool, file)."""
    told = []
    for number, (kind, text, *of) in enumerate(steps):
        tool, file = of or (None, None)
        row = {
            "row": number + 1, "key": blake2b(b"%d" % number, digest_size=16).digest(),
            "kind": events.KINDS.index(kind),
            "origin": events.ORIGINS.index(ORIGINS.get(kind, events.ORIGIN_ASSISTANT)), "session": "s",
            "client": "claude-code", "project": "/p", "ts_ms": START_MS + number, "order_ms": START_MS + number,
            "tool": tool, "file": file, "branch": None, "agent_id": None, "failed": False if kind == RESULT else None,
            "exit_code": None, "text_chars": len(text), "excerpt": text[:300],
        }  # fmt: skip
        told.append(StoredEvent(row, text))
    found: list[Candidate] = []
    for exchange, following in with_following(stream_of(told)):
        found += RuleDistiller().distil(exchange, following).candidates
    return found


def edit(file: str, old: str, new: str) -> tuple[Step, Step]:
    """An edit that went well."""
    call = json.dumps({"file_path": file, "old_string": old, "new_string": new})
    return (CALL, call, "Edit", file), (RESULT, "The file has been updated.", "Edit", file)


def commit(message: str) -> tuple[Step, Step]:
    """A commit that went well."""
    return (CALL, json.dumps({"command": f"git commit -m '{message}'"}), "Bash", ""), (
        RESULT,
        "1 file changed",
        "Bash",
        "",
    )


def texts(found: list[Candidate]) -> list[str]:
    """What the memories say."""
    return [candidate.text for candidate in found]


@pytest.mark.parametrize(
    "said",
    [
        "`LedgerClient` only retries on `502`, so a dropped connection is reported to the caller at once.",
        "The `exhaustive` linter requires every enum case to be handled, even when there is a default.",
        "`Decimal.parse()` returns null for a trailing comma instead of raising `FormatError`.",
        "Interesting: `orjson` does not support `indent=4`, it only knows two spaces.",
    ],
)
def test_a_limit_that_the_agent_found_is_a_discovery(said: str) -> None:
    """What a tool, a library or the code needs, ignores or cannot do."""
    found = distilled((USER, "how does the import work?"), (AGENT, said))
    assert [candidate.type for candidate in found] == ["discovery"], texts(found)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("The pre-commit hook runs `make lint` on the whole tree, so old warnings block every commit.", "discovery"),
        ("The pre-commit hook fails because `make lint` looks at the clones in `tmp/`, too.", "discovery"),
        ("The linter requires every error of another package to be wrapped.", "discovery"),
    ],
)
def test_how_a_tool_stands_in_the_way_is_learned(said: str, kind: str) -> None:
    """Hooks, linters and checks are known by their kind: there is one of each."""
    found = distilled((USER, "commit it"), (AGENT, said), *commit("chore: update"), (AGENT, "Done."))
    assert [candidate.type for candidate in found] == [kind], texts(found)


@pytest.mark.parametrize(
    "said", ["The linter is clean now.", "The commit failed because of my last change to `a.py`, again."]
)
def test_how_a_run_of_a_tool_went_is_not(said: str) -> None:
    """What is so for the moment only."""
    assert distilled((USER, "commit it"), (AGENT, said), *commit("chore: update"), (AGENT, "Done.")) == []


@pytest.mark.parametrize(
    "said",
    [
        "Added `retry()` to `client.py` because the server answers slowly.\n\nAll tests pass.",
        "Let me check whether `LedgerClient` only retries on `502`.",
        "The script only handles the first file, so the rest is lost.",
        "Prints errors to stderr, unless the error is a `SilentError`.",
        "`test_ledger.py` only covers the first page of `LedgerClient`, so the rest is untested.",
        "Perhaps `LedgerClient` never closes its socket, so the pool runs dry.",
        "Should `LedgerClient` ignore `502`, because the proxy sends it?",
        "| `LedgerClient` | only retries on `502`, so callers see it |",
    ],
)
def test_what_tells_of_the_work_or_hangs_on_something_is_none(said: str) -> None:
    """Steps, guesses, questions, tables, and subjects that only the text around them names."""
    found = distilled((USER, "how does the import work?"), (AGENT, said))
    assert [candidate for candidate in found if candidate.type == "discovery"] == [], texts(found)


def test_a_problem_that_was_mended_says_so() -> None:
    """The cause is told before the edit that holds its name."""
    found = distilled(
        (USER, "why are receipts sent twice?"),
        (AGENT, "Root cause: `ReceiptQueue` never acknowledges a message, so the broker delivers it again."),
        *edit("/p/queue.py", "class ReceiptQueue: ...", "class ReceiptQueue: ack = True"),
        (AGENT, "Fixed."),
    )
    assert any(text.endswith(f"delivers it again (fixed on {DAY}).") for text in texts(found)), texts(found)


def test_a_problem_that_a_commit_mended_names_it() -> None:
    """The commit of the same exchange, when it names what the problem names."""
    found = distilled(
        (USER, "why are receipts sent twice?"),
        (AGENT, "Root cause: `ReceiptQueue` never acknowledges a message, so the broker delivers it again."),
        *edit("/p/queue.py", "a = 1", "a = 2"),
        *commit("fix: acknowledge messages in ReceiptQueue"),
        (AGENT, "Done."),
    )
    assert any("Fixed by the commit “acknowledge messages in ReceiptQueue”." in text for text in texts(found)), found


def test_a_problem_that_nobody_mended_stays_as_it_is() -> None:
    """Edits of something else mend nothing."""
    found = distilled(
        (USER, "why are receipts sent twice?"),
        (AGENT, "Root cause: `ReceiptQueue` never acknowledges a message, so the broker delivers it again."),
        *edit("/p/readme.py", "a = 1", "a = 2"),
        (AGENT, "I noted it."),
    )
    assert any(text.endswith("delivers it again.") for text in texts(found)), texts(found)


def test_a_problem_without_symptom_and_cause_is_none() -> None:
    """That one thing calls another says nothing of what is wrong with it."""
    found = distilled(
        (USER, "look at the queue"), (AGENT, "The problem is that `ReceiptQueue` calls `flush_all()` on each tick.")
    )
    assert not [text for text in texts(found) if text.startswith("Problem")], texts(found)


def test_a_rule_that_is_put_into_the_instructions_is_a_pattern() -> None:
    """Only the lines that the edit adds, and of those only the ones that bind."""
    new = "# Rules\n- Old: always use `uv`.\n- Always run `make fmt` before committing.\n- The API lives in `api/`.\n"
    found = distilled((USER, "note the formatter"), *edit("/p/AGENTS.md", "# Rules\n- Old: always use `uv`.\n", new))
    assert [(one.type, one.text) for one in found] == [("pattern", "Always run `make fmt` before committing.")]


def test_the_same_lines_in_another_file_are_none() -> None:
    """A readme tells users, not whoever works on it."""
    found = distilled((USER, "note it"), *edit("/p/README.md", "", "- Always run `make fmt` before committing.\n"))
    assert found == []


def test_what_a_person_does_not_want_is_a_pattern() -> None:
    """Said for good, with no "never" in it."""
    found = distilled((USER, "we don't want to prompt for a `--region` during `init`, the defaults are good enough"))
    assert [candidate.type for candidate in found] == ["pattern"], texts(found)


def test_an_option_that_is_picked_with_a_reason_is_a_decision() -> None:
    """The options stand in the report, the pick in the next prompt."""
    report = "Two ways:\n1. Keep `cron`: simple, but it has no retries.\n2. Use `Temporal`: heavy, but it retries."
    found = distilled((USER, "how do we schedule?"), (AGENT, report), (USER, "option 1, retries are not needed here"))
    assert any("keep `cron`" in text.lower() and "Temporal" in text for text in texts(found)), texts(found)
    bare = distilled((USER, "how do we schedule?"), (AGENT, report), (USER, "option 1"))
    assert not [candidate for candidate in bare if candidate.type == "decision"], texts(bare)


@pytest.mark.parametrize(
    "answer", ["hm, why not sonarlib?", "yes but not now", "no, take sonarlib", "what about the cost?"]
)
def test_a_proposal_that_is_not_agreed_to_is_no_decision(answer: str) -> None:
    """A question, a but and a no are no yes."""
    why = "I'd recommend Fathom over sonarlib, and the main reason is **offline charts**. It reads `.fth` files."
    found = distilled((USER, "we need charts"), (AGENT, why), (USER, answer))
    assert [one for one in found if one.type == "decision"] == [], texts(found)


def test_words_are_found_by_either_engine_alike() -> None:
    """With half a character RE2 declines, and `re` answers."""
    words, cues = Words(r"\b(?:never|not \w+ed)\b"), Cues("never", "at once")
    for text, is_in in (("It NEVER ends", True), ("nevermore", False), ("not used \ud800", True), ("\ud800", False)):
        assert words.found(text) is is_in
    assert cues.number in Cues.numbers_in("at once \ud800")
    assert cues.number in Cues.numbers_in("never")
    assert cues.number not in Cues.numbers_in("later")
