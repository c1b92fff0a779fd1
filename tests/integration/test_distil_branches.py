"""Every way in which asking a model to distil can go, each a real process: an endpoint, and the `claude` program."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import Claude, write
from tests.claude_program import ClaudeProgram
from tests.endpoint import running
from tests.integration.test_model_distilling import CHOICE, WAIT, answer, operation
from tests.others import Chat, said
from tests.processes import COMMAND, HOOK, HOOK_FIELDS, LIMIT_S, ask, payload, python, run

from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EVERYTHING = Scope.everything()
NOTED = answer(operation("ADD", WAIT, evidence=[{"message": 2, "quote": CHOICE[:40]}]))
SENSELESS = answer(operation("ADD", WAIT, evidence=[{"message": 99, "quote": CHOICE[:40]}]))
IMPATIENT = """
import json, os
from howcome.app import now_ms, open_app
from howcome.learn.model_run import ModelDistillation
from howcome.providers.llm import open_model
from howcome.settings import read_settings
with open_app(read_settings(os.environ)) as app:
    model = lambda: open_model(app.settings, app.store.spending, "distil", limit_s=1.0)
    report = ModelDistillation(app.store, model, now_ms, "it").run()
print(json.dumps([report.asked, report.done, report.dead, report.waiting]))
"""
"""`howcome distil` waits two minutes for an answer; this waits a second."""

BRANCHES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]], tuple[int, int, int, int], list[str]]] = {
    "a good answer": ([], [], (1, 1, 0, 0), ["ok"]),
    "no JSON, then a good answer": (
        [{"value": said("Sure! Here it is.")}], [{"answer": {"result": "Sure! Here it is."}}],
        (1, 1, 0, 0), ["bad answer", "ok"],
    ),
    "no JSON at all": (
        [{"value": said("{")}] * 2, [{"answer": {"result": "{"}}] * 2, (1, 0, 1, 0), ["bad answer"] * 2,
    ),
    "another shape": (
        [{"value": said({"operations": "none"})}] * 2, [{"answer": {"result": '{"operations": "none"}'}}] * 2,
        (1, 0, 1, 0), ["bad answer"] * 2,
    ),
    "a message that was not shown": (
        [{"value": said(SENSELESS)}], [{"answer": {"result": json.dumps(SENSELESS)}}], (1, 0, 1, 0), ["ok"],
    ),
    "a refusal": (
        [{"value": said(None, refusal="no")}], [{"answer": {"stop_reason": "refusal", "result": "no"}}],
        (1, 0, 0, 1), ["refused"],
    ),
    "a key that is not taken": (
        [{"status": 401}], [{"answer": {"is_error": True, "result": "Please run /login"}, "code": 1}],
        (1, 0, 0, 1), ["refused"],
    ),
    "a crash": ([{"close": True}], [{"stdout": "", "code": 70}], (1, 0, 0, 1), ["*"]),
}  # fmt: skip
"""What happens → the endpoint's script, the program's, batches asked, done, dead and waiting, and the receipts."""


@pytest.fixture
def session(tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a store with one session that ended long ago, which a model is to distil."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "llm")
    claude = Claude("one")
    ask("import", write(tmp_path / "one.jsonl", claude.user("which queue?"), claude.text(CHOICE)))
    return store_folder


@contextmanager
def model(kind: str, folder: Path, http: list[dict[str, Any]], program: list[dict[str, Any]]) -> Iterator[Any]:
    """A model of a kind that does what its script says, and then adds a memory."""
    if kind == "http":
        with running(Chat(*http, usual=NOTED)) as chat:
            yield chat
        return
    claude = ClaudeProgram(folder / "bin", usual=NOTED)
    claude.will(*program)
    yield claude


def use(patch: pytest.MonkeyPatch, settings: dict[str, str]) -> None:
    """Settings of this process and those that it starts."""
    for name, value in settings.items():
        patch.setenv(name, value)


def counted(report: dict[str, Any]) -> tuple[int, ...]:
    """What became of batches."""
    return tuple(report["model"][name] for name in ("asked", "done", "dead", "waiting"))


def outcomes(folder: Path) -> list[str]:
    """What became of calls, in their order."""
    with SqliteStoreAt(folder) as store:
        return [receipt.outcome for receipt in store.spending.receipts(0)[::-1]]


def kept(folder: Path) -> dict[str, str]:
    """The live memories' texts, with what made them."""
    with SqliteStoreAt(folder) as store:
        return {one.text: one.source for one in store.memories.select(EVERYTHING, MemoryFilter(), 99)}


class SqliteStoreAt:
    """A store that is closed again."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(str(folder))

    def __enter__(self) -> SqliteStore:
        return self.store

    def __exit__(self, *_: object) -> None:
        self.store.close()


@pytest.mark.parametrize("kind", ["http", "claude"])
@pytest.mark.parametrize("branch", BRANCHES)
def test_each_way_ends_as_it_should(
    branch: str, kind: str, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a receipt for each call, exit 0, the rules' memories there, and the model's only where it said them well."""
    http, program, batches, receipts = BRANCHES[branch]
    with model(kind, tmp_path, http, program) as asked:
        use(monkeypatch, asked.settings)
        report = ask("distil")
        assert counted(report) == batches
        assert bool(report["model"]["problem"]) is (batches[3] == 1 and branch != "a refusal")
        assert len(asked.asked) == len(receipts)
    found = outcomes(session)
    assert receipts in (found, ["*"])
    assert len(found) == len(receipts)
    sources = kept(session)
    assert "rules" in sources.values()
    assert (sources.get(WAIT) == "llm") is bool(batches[1])


@pytest.mark.parametrize("kind", ["http", "claude"])
def test_what_is_never_answered_ends_in_time(
    kind: str, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twice, then the batch is put aside; what was reserved stays spent."""
    with model(kind, tmp_path, [{"hang_s": 600}] * 2, [{"hangs": True}] * 2) as asked:
        use(monkeypatch, asked.settings)
        ask("distil", "--since", "1h")  # the rules only: nothing was said since
        done = [
            subprocess.run(python(IMPATIENT), capture_output=True, text=True, check=False, timeout=LIMIT_S)
            for _ in range(3)
        ]
        assert [one.stderr for one in done] == [""] * 3
    assert [json.loads(one.stdout) for one in done] == [[1, 0, 0, 1], [1, 0, 1, 0], [0, 0, 0, 0]]
    assert outcomes(session) == ["timeout"] * 2
    with SqliteStoreAt(session) as store:
        assert all(receipt.call.tokens > 1000 for receipt in store.spending.receipts(0))


@pytest.mark.parametrize("kind", ["http", "claude"])
@pytest.mark.parametrize("cap", ["HOWCOME_LLM_DAILY_CALLS", "HOWCOME_LLM_DAILY_TOKENS"])
def test_over_the_budget_nobody_is_asked(
    kind: str, cap: str, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch waits, and is done as soon as there is a budget again."""
    with model(kind, tmp_path, [], []) as asked:
        use(monkeypatch, asked.settings)
        with monkeypatch.context() as patch:
            patch.setenv(cap, "0" if cap.endswith("CALLS") else "20")
            assert counted(ask("distil"))[:3] == (0, 0, 0)
            assert asked.asked == []
            assert kept(session).keys() & {WAIT} == set()
        assert counted(ask("distil")) == (1, 1, 0, 0)
        assert len(asked.asked) == 1


@pytest.mark.parametrize("kind", ["http", "claude"])
def test_who_only_names_a_model_spends_nothing(
    kind: str, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By default nothing may be spent: both caps are 0 as shipped, and either of them is enough."""
    shipped = read_settings({"HOME": os.environ["HOME"]})
    assert (shipped.llm, shipped.distiller) == ("off", "rules")
    assert (shipped.llm_daily_calls, shipped.llm_daily_tokens) == (0, 0)
    with model(kind, tmp_path, [], []) as asked:
        named = {name: value for name, value in asked.settings.items() if "DAILY" not in name}
        use(monkeypatch, named)
        for given in ({}, {"HOWCOME_LLM_DAILY_CALLS": "9"}, {"HOWCOME_LLM_DAILY_TOKENS": "999999"}):
            with monkeypatch.context() as patch:
                use(patch, given)
                assert counted(ask("distil"))[:3] == (0, 0, 0)
                assert run("rationale").returncode == 0
        assert asked.asked == []
    assert outcomes(session) == []


@pytest.mark.parametrize("kind", ["http", "claude"])
def test_each_switch_ends_it(kind: str, session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable, and the store's for everybody."""
    with model(kind, tmp_path, [], []) as asked:
        use(monkeypatch, asked.settings)
        with monkeypatch.context() as patch:
            patch.setenv("HOWCOME_LLM", "off")
            assert counted(ask("distil"))[:3] == (0, 0, 0)
        ask("spending", "--stop")
        assert counted(ask("distil"))[:3] == (0, 0, 0)
        assert (asked.asked, outcomes(session)) == ([], [])
        ask("spending", "--go")
        assert counted(ask("distil")) == (1, 1, 0, 0)


def test_a_model_that_runs_all_of_ours_is_asked_once(
    session: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    """No nested session: hooks, server and commands within it ask nobody, record nothing and distil nothing."""
    waiting = home / ".claude" / "projects" / "-quay" / "now.jsonl"
    write(waiting, Claude("now").user("is this recorded?"))
    words = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "hook", "arguments": {"hook_event_name": "Stop", "transcript_path": str(waiting),
                                          "session_id": "now", "cwd": "/home/mara/harbour"}}},
    ]  # fmt: skip
    hooks = [([*HOOK, event], payload(event, waiting, "now", prompt="which queue?").decode()) for event in HOOK_FIELDS]
    with model("claude", tmp_path, [], [{"runs": [
        *hooks, ([*COMMAND, "mcp"], "\n".join(map(json.dumps, words)) + "\n"),
        ([*COMMAND, "distil"], ""), ([*COMMAND, "distil", "--retry"], ""), ([*COMMAND, "rationale"], ""),
    ]}]) as program:  # fmt: skip
        use(monkeypatch, {**program.settings, "HOWCOME_RATIONALE": "llm"})
        before = ask("status")["counts"]["events"]
        assert counted(ask("distil")) == (1, 1, 0, 0)
        assert len(program.asked) == 1
        assert program.asked[0]["environment"]["HOWCOME_ACTIVE"] == "1"
        assert ask("status")["counts"]["events"] == before
    assert outcomes(session) == ["ok"]
    assert run("timeline", "now").returncode != 0


def test_the_cap_is_exact_when_eight_distil_at_once(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time asks, each batch once, and not one call more than the cap: also when all start again."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "llm")
    paths = []
    for number in range(12):
        claude = Claude(f"s{number}", start=5000 * number)
        words = (claude.user(f"which queue for berth{number}?"), claude.text(CHOICE.replace("berth", f"berth{number}")))
        paths.append(write(tmp_path / f"s{number}.jsonl", *words))
    ask("import", *paths)
    with running(Chat(*[{"value": said("no JSON")}] * 2, usual=answer())) as chat:
        use(monkeypatch, {**chat.settings, "HOWCOME_LLM_DAILY_CALLS": "7"})
        for _ in range(2):
            words_ = [*COMMAND, "distil", "--json"]
            started = [subprocess.Popen(words_, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(8)]
            said_ = [one.communicate(timeout=100) for one in started]
            assert [(one.returncode, errors) for one, (_, errors) in zip(started, said_, strict=True)] == [(0, b"")] * 8
        assert len(chat.asked) == 7
    found = [outcome for outcome in outcomes(store_folder) if outcome != "over budget"]
    assert sorted(found) == ["bad answer", "bad answer", *["ok"] * 5]
