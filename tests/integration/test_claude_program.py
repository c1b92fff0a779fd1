"""The `claude` program as a language model: held apart, ended in time, and never asked by what it starts itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.claude_program import ClaudeProgram
from tests.others import REVIEW
from tests.processes import COMMAND, HOOK, HOOK_FIELDS, LIMIT_S, ask, payload

from howcome.domain.spending import CLASSIFY, Caps, Receipt
from howcome.errors import ProviderError
from howcome.providers.llm_program import ARGUMENTS, ClaudeLanguageModel
from howcome.providers.spending import MeteredModel
from howcome.settings import ACTIVE
from howcome.store.sqlite import SqliteStore

SCHEMA: dict[str, Any] = {"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"]}
QUESTION = "readings and the table"


@pytest.fixture
def program(tmp_path: Path) -> ClaudeProgram:
    """One that answers."""
    return ClaudeProgram(tmp_path / "bin")


def metered(store: SqliteStore, program: ClaudeProgram, timeout_s: float = 60.0, model: str = "") -> MeteredModel:
    """The model that it is, with a budget that nobody exhausts here."""
    adapter = ClaudeLanguageModel(str(program.path), model, store.folder)
    return MeteredModel(adapter, store.spending, CLASSIFY, Caps(100, 1_000_000), timeout_s)


def receipts(store: SqliteStore) -> list[Receipt]:
    """All, in the order of their calls."""
    return store.spending.receipts(0)[::-1]


def wait_until_gone(pid: int) -> None:
    """Until a process has ended; whoever inherits it may take a while to notice."""
    limit = time.monotonic() + LIMIT_S
    while time.monotonic() < limit:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state in "ZX":
            return
        time.sleep(0.02)
    pytest.fail(f"{pid} still runs")


def test_it_is_held_apart_from_its_users_sessions(
    store: SqliteStore, program: ClaudeProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No settings, hooks, tools, servers, commands, transcripts; the prompt on standard input, nothing left behind."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "the-session-around-it")
    monkeypatch.setenv("CLAUDE_CODE_OAUTH_TOKEN", "what-it-logs-in-with")
    before = set(os.listdir(store.folder))
    assert metered(store, program, model="small").complete("classify \ud800 this", SCHEMA) == REVIEW
    (asked,) = program.asked
    assert tuple(asked["words"][: len(ARGUMENTS)]) == ARGUMENTS
    assert asked["words"][len(ARGUMENTS) :][:3] == ["--model", "small", "--system-prompt"]
    assert json.dumps(SCHEMA) in asked["words"][-1]
    assert asked["prompt"] == "classify ? this"
    assert not any("classify" in word for word in asked["words"])  # what processes are started with, others can read
    assert (asked["files"], asked["session"]) == ([], asked["pid"])
    assert os.path.dirname(asked["cwd"]) == os.path.realpath(store.folder)
    assert set(os.listdir(store.folder)) == before
    environment = asked["environment"]
    assert (environment[ACTIVE], environment["CLAUDE_CODE_SKIP_PROMPT_HISTORY"]) == ("1", "1")
    assert "CLAUDECODE" not in environment
    assert "CLAUDE_CODE_SESSION_ID" not in environment
    assert environment["CLAUDE_CODE_OAUTH_TOKEN"] == "what-it-logs-in-with"


def test_its_own_reckoning_is_the_receipt(store: SqliteStore, program: ClaudeProgram) -> None:
    """Tokens read from a cache were read, too; the cost is what it says."""
    metered(store, program).complete("which?", SCHEMA)
    (receipt,) = receipts(store)
    assert (receipt.usage.tokens_in, receipt.usage.tokens_out, receipt.usage.cost_usd) == (42, 9, 0.0125)
    assert (receipt.call.provider, receipt.call.model, receipt.outcome) == ("claude", "default", "ok")
    assert receipt.call.tokens == 51


def test_a_wrong_shape_is_asked_for_once_more(store: SqliteStore, program: ClaudeProgram) -> None:
    """In one prompt, with what it had said and what was wrong with that."""
    program.will({"answer": {"result": "red, I think"}})
    assert metered(store, program).complete("which?", SCHEMA) == REVIEW
    program.will({"answer": {"result": "red"}}, {"answer": {"result": '{"color": 1}'}})
    with pytest.raises(ProviderError, match="another shape"):
        metered(store, program).complete("which?", SCHEMA)
    assert len(program.asked) == 4
    assert program.asked[1]["prompt"].startswith("which?\n\nYou have answered:\nred, I think\n\nAnd then")
    assert [each.outcome for each in receipts(store)] == ["bad answer", "ok", "bad answer", "bad answer"]


FAILING: dict[str, tuple[dict[str, Any], str, str]] = {
    "not logged in": (
        {"answer": {"is_error": True, "result": "Invalid key\n· Please run /login"}, "code": 1},
        "fails: Invalid key · Please run /login", "refused",
    ),
    "too many turns": ({"answer": {"subtype": "error_max_turns", "is_error": True, "result": None}}, "max", "refused"),
    "a refusal": ({"answer": {"stop_reason": "refusal", "result": "no"}}, "declines to answer", "refused"),
    "an unknown option": ({"stdout": "", "stderr": "unknown option '--tools'", "code": 1}, "--tools", "refused"),
    "a crash": ({"stdout": "", "code": 70}, "ends with 70: it says nothing", "refused"),
    "no JSON": ({"stdout": "Hello! How can I help?"}, "does not answer as a language model", "bad answer"),
    "a list": ({"stdout": "[1]"}, "does not answer as a language model", "bad answer"),
    "no result": ({"answer": {"result": 7}}, "does not answer as `claude -p` does", "bad answer"),
}  # fmt: skip


@pytest.mark.parametrize(("todo", "message", "outcome"), FAILING.values(), ids=FAILING.keys())
def test_a_failure_is_said_and_not_asked_for_again(
    store: SqliteStore, program: ClaudeProgram, todo: dict[str, Any], message: str, outcome: str
) -> None:
    """One process, one receipt, one line."""
    program.will(todo)
    with pytest.raises(ProviderError, match=message) as raised:
        metered(store, program).complete("which?", SCHEMA)
    assert str(raised.value).isprintable()
    assert len(program.asked) == 1
    assert [each.outcome for each in receipts(store)] == [outcome]


def test_one_that_takes_too_long_is_ended_with_all_that_it_started(store: SqliteStore, program: ClaudeProgram) -> None:
    """What it reserved stays spent: nobody knows what it used."""
    program.will({"leaves": True, "hangs": True})
    model = metered(store, program, timeout_s=5.0)
    with pytest.raises(ProviderError, match="does not answer in time"):
        model.complete("which?", SCHEMA)
    (receipt,) = receipts(store)
    assert receipt.outcome == "timeout"
    assert receipt.call.tokens > 1000
    for asked in program.asked:
        wait_until_gone(asked["pid"])
    if (program.folder / "left").exists():  # on a machine that is too busy it was ended before it came so far
        wait_until_gone(int((program.folder / "left").read_text()))


def test_what_it_leaves_behind_is_ended_when_it_ends(store: SqliteStore, program: ClaudeProgram) -> None:
    """Nothing outlives a call."""
    program.will({"leaves": True})
    assert metered(store, program).complete("which?", SCHEMA) == REVIEW
    wait_until_gone(int((program.folder / "left").read_text()))


def test_one_that_cannot_be_run_is_said(store: SqliteStore, program: ClaudeProgram) -> None:
    """A file that is no program, though it may be executed."""
    model = metered(store, program)
    program.path.write_bytes(b"\x7fELF but no more than that")
    with pytest.raises(ProviderError, match="cannot be run"):
        model.complete("which?", SCHEMA)


def test_hooks_and_servers_that_it_starts_record_nothing_and_ask_nobody(
    tmp_path: Path, store_folder: Path, program: ClaudeProgram, home: Path
) -> None:
    """One that runs our own hooks, server and search all the same: one process, and the store is as it was."""
    root = tmp_path / "quay"
    root.mkdir()
    talk = Claude("earlier", cwd=str(root))
    ask("import", write(tmp_path / "past.jsonl", talk.user("queue or table for readings?"), talk.text("A table.")))
    waiting = home / ".claude" / "projects" / "-quay" / "now.jsonl"
    write(waiting, Claude("now", cwd=str(root)).user("is this recorded?"))
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "search_memory", "arguments": {"query": "what was said of readings in the queue?"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
            "name": "hook", "arguments": {"hook_event_name": "Stop", "transcript_path": str(waiting),
                                          "session_id": "now", "cwd": str(root)}}},
    ]  # fmt: skip
    program.will({"runs": [
        *(([*HOOK, event], payload(event, waiting, "now", cwd=str(root), prompt="queue or table?").decode())
          for event in HOOK_FIELDS),
        ([*COMMAND, "hook", "Stop"], payload("Stop", waiting, "now", cwd=str(root)).decode()),
        ([*COMMAND, "mcp"], "\n".join(map(json.dumps, calls)) + "\n"),
        ([*COMMAND, "search", "which readings does the table hold?"], ""),
        ([*COMMAND, "observe"], '{"agent": "x", "session_id": "s", "text": "is this recorded?"}'),
    ]})  # fmt: skip
    before = counts(store_folder)
    done = subprocess.run(
        [*COMMAND, "search", "--json", QUESTION], cwd=root, capture_output=True, text=True, check=True, timeout=110,
        env={**os.environ, **program.settings, "HOWCOME_CLASSIFIER_WEIGHT": "0.5"},
    )  # fmt: skip
    assert json.loads(done.stdout)["results"]
    assert len(program.asked) == 1
    assert counts(store_folder) == before
    with SqliteStoreAt(store_folder) as store:
        assert [each.outcome for each in receipts(store)] == ["ok"]


class SqliteStoreAt:
    """A store that is closed again."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(str(folder))

    def __enter__(self) -> SqliteStore:
        return self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()


def counts(folder: Path) -> dict[str, int]:
    """What the store holds, and what waits for it."""
    with SqliteStoreAt(folder) as store:
        spool = folder / "spool"
        waiting = len(list(spool.iterdir())) if spool.is_dir() else 0
        return {**store.accounts.counts(), "waiting": waiting, "said": len(store.injections.events_known("now"))}


def test_a_process_that_is_killed_has_spent_what_it_reserved(
    tmp_path: Path, store_folder: Path, program: ClaudeProgram
) -> None:
    """Its call stays in the ledger, and counts; the next process goes on from there."""
    root = tmp_path / "quay"
    root.mkdir()
    talk = Claude("earlier", cwd=str(root))
    ask("import", write(tmp_path / "past.jsonl", talk.user("queue or table for readings?"), talk.text("A table.")))
    program.will({"hangs": True})
    environment = {
        **os.environ, **program.settings, "HOWCOME_CLASSIFIER_WEIGHT": "0.5", "HOWCOME_LLM_DAILY_CALLS": "1",
    }  # fmt: skip
    words = [*COMMAND, "search", "--json", QUESTION]
    search = subprocess.Popen(words, cwd=root, env=environment, stdout=subprocess.DEVNULL)
    limit = time.monotonic() + LIMIT_S
    while not program.asked and time.monotonic() < limit:
        time.sleep(0.02)
    search.send_signal(signal.SIGKILL)
    search.wait()
    (asked,) = program.asked
    os.killpg(asked["pid"], signal.SIGKILL)  # it outlives who asked it, until its own end
    subprocess.run(words, cwd=root, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=LIMIT_S)
    assert len(program.asked) == 1
    with SqliteStoreAt(store_folder) as store:
        assert [each.outcome for each in receipts(store)] == ["unsettled", "over budget"]
        calls, tokens = store.spending.spent_on(time.time_ns() // 1_000_000)
    assert calls == 1
    assert tokens > 1000
