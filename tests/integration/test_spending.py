"""The budget as people and processes meet it: real endpoints, caps, the switch, the command; no secrets in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.endpoint import running
from tests.others import REVIEW, Chat, Messages, said
from tests.processes import ask, run

from howcome.domain.spending import CLASSIFY
from howcome.errors import OverBudgetError, ProviderError
from howcome.mcp.session import Session
from howcome.providers.llm import open_model
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

SCHEMA = {"type": "object", "properties": {"intent": {"type": "string"}}, "required": ["intent"]}
KEY = "sk-planted-key-0123456789"
WEIGHT = {"HOWCOME_CLASSIFIER_WEIGHT": "0.5"}
ASKER = """
import os, sys
from howcome.errors import ProviderError
from howcome.errors import OverBudgetError
from howcome.providers.llm import open_model
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
settings = read_settings(os.environ)
store = SqliteStore(settings.home)
model = open_model(settings, store.spending, sys.argv[1], limit_s=60)
done = over = failed = 0
for number in range(int(sys.argv[2])):
    try:
        model.complete(f"question {number}", {"type": "object", "properties": {"intent": {"type": "string"}}})
        done += 1
    except OverBudgetError:
        over += 1
    except ProviderError:
        failed += 1
print(done, over, failed)
"""


@pytest.fixture
def chat() -> Iterator[Chat]:
    """A model that answers."""
    with running(Chat()) as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """A project of which an earlier session talked."""
    root = tmp_path / "quay"
    root.mkdir()
    talk = Claude("earlier", cwd=str(root))
    first = (talk.user("queue or table for readings?"), talk.text("A table."))
    ask("import", write(tmp_path / "past.jsonl", *first, talk.user("which table has readings?"), talk.text("Berths.")))
    return root


def search(folder: Path, words: str, **variables: str) -> dict[str, Any]:
    """What the command answers with."""
    done = run("search", "--json", words, folder=folder, environment={**os.environ, **variables})
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def askers(purpose: str, processes: int, calls: int, **variables: str) -> list[list[int]]:
    """What that many processes got, each of so many calls: done, over the budget, failed."""
    words = [sys.executable, "-c", ASKER, purpose, str(calls)]
    environment = {**os.environ, **variables}
    started = [subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    return [[int(count) for count in each.communicate(timeout=100)[0].split()] for each in started]


def test_the_cap_is_exact_to_the_call_under_eight_processes(store: SqliteStore, chat: Chat) -> None:
    """The endpoint counts: as many requests as the cap says, answers of a wrong shape and failures among them."""
    chat.script += [{"value": said("no JSON")}] * 5 + [{"status": 500}] * 3
    got = askers("distil", 8, 12, **{**chat.settings, "HOWCOME_LLM_DAILY_CALLS": "40"})
    assert len(chat.asked) == 40
    assert sum(over for _, over, _ in got) > 0
    receipts = store.spending.receipts(0)
    outcomes = [each.outcome for each in receipts if each.outcome != "over budget"]
    assert len(outcomes) == 40
    assert (outcomes.count("bad answer"), outcomes.count("failed")) == (5, 3)
    assert sum(done for done, _, _ in got) == outcomes.count("ok") == 32


def test_tokens_are_capped_too(store: SqliteStore) -> None:
    """What an answer used is charged, so that more calls are possible than were reserved at once."""
    answer = {**said(REVIEW), "usage": {"prompt_tokens": 90, "completion_tokens": 10, "cost": 0.002}}
    with running(Chat(*[{"value": answer}] * 50)) as server:
        [[done, over, _]] = askers("distil", 1, 50, **{**server.settings, "HOWCOME_LLM_DAILY_TOKENS": "3000"})
    assert len(server.asked) == done
    assert over == 50 - done
    assert 15 < done < 25  # some 1,100 tokens have to be left for each call
    (charged,) = {each.call.tokens for each in store.spending.receipts(0) if each.outcome == "ok"}
    assert charged == 100


@pytest.mark.parametrize("where", ["http://127.0.0.1:{port}/v1", "http://nobody.invalid/v1"])
def test_where_nobody_listens_no_tokens_are_spent(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:  # fmt: skip
    """The connection was refused, or the name is none: nothing was sent; the call counts."""
    with running(Chat()) as server:
        settings, port = server.settings, server.server_port
    monkeypatch.setenv("no_proxy", "*")
    assert _failing(store, {**settings, "HOWCOME_LLM_URL": where.format(port=port)}) == (1, 0)


@pytest.mark.parametrize("failure", [{"close": True}, {"hang_s": 600}, {"status": 503}])
def test_what_may_have_been_read_is_charged(store: SqliteStore, failure: dict[str, Any]) -> None:
    """A connection that broke, or an answer that did not come in time."""
    with running(Chat(failure)) as server:
        calls, tokens = _failing(store, server.settings)
    assert (calls, tokens > 1000) == (1, True)


def _failing(store: SqliteStore, settings: dict[str, str]) -> tuple[int, int]:
    """Calls and tokens that are spent by one question that fails."""
    model = open_model(read_settings({**os.environ, **settings}), store.spending, CLASSIFY, limit_s=0.5)
    assert model is not None
    with pytest.raises(ProviderError):
        model.complete("which?", SCHEMA)
    return store.spending.spent_on(time.time_ns() // 1_000_000)


def test_by_default_a_model_that_is_configured_spends_nothing(project: Path, chat: Chat, store: SqliteStore) -> None:
    """A search goes on as without it, and writes nothing."""
    for caps in ({"HOWCOME_LLM_DAILY_CALLS": "0"}, {"HOWCOME_LLM_DAILY_TOKENS": "0"}):
        assert search(project, "readings and the table", **{**chat.settings, **WEIGHT, **caps})["results"]
    assert chat.asked == []
    assert store.spending.receipts(0) == []


def test_a_search_over_the_budget_is_one_without_the_model(project: Path, chat: Chat) -> None:
    """It is not left alone for it: as soon as the budget allows it, it is asked."""
    one = {**chat.settings, **WEIGHT, "HOWCOME_LLM_DAILY_CALLS": "1"}
    for words in ("readings and the table", "readings or the queue", "readings, then the table"):
        assert search(project, words, **one)["results"]
    assert len(chat.asked) == 1
    two = {**one, "HOWCOME_LLM_DAILY_CALLS": "2"}
    search(project, "the table and readings", **two)
    assert len(chat.asked) == 2


def test_each_switch_stops_at_once(project: Path, chat: Chat) -> None:
    """The variable for who starts with it, the store's for everybody, also for processes that run."""
    on = {**chat.settings, **WEIGHT}
    search(project, "readings and the table", **{**on, "HOWCOME_LLM": "off"})
    settings = read_settings({**os.environ, **chat.settings})
    store = SqliteStore(settings.home)
    model = open_model(settings, store.spending, CLASSIFY)
    assert model is not None
    model.complete("before", SCHEMA)
    stopped = ask("spending", "--stop")
    assert stopped["stopped_at"]
    with pytest.raises(OverBudgetError, match="spending is stopped"):
        model.complete("after", SCHEMA)
    search(project, "readings and the table", **on)
    assert len(chat.asked) == 1
    assert ask("spending", "--go")["stopped_at"] is None
    model.complete("again", SCHEMA)
    assert len(chat.asked) == 2
    store.close()


def test_the_command_shows_what_is_left_and_every_receipt(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By day, purpose and model; the same for people."""
    answer = {**said(REVIEW), "usage": {"prompt_tokens": 90, "completion_tokens": 10, "cost": 0.002}}
    with running(Chat({"value": answer}, {"status": 401})) as server:
        caps = {"HOWCOME_LLM_DAILY_CALLS": "2", "HOWCOME_LLM_DAILY_TOKENS": "9000", **WEIGHT}
        for name, value in {**server.settings, **caps}.items():
            monkeypatch.setenv(name, value)
        for words in ("readings and the table", "readings or the queue"):
            search(project, words)
    with SqliteStore(str(read_settings(os.environ).home)).connection as connection:
        connection.execute("UPDATE pauses SET until_ms = 0")
    search(project, "readings, then the table")
    report = ask("spending", "--since", "1d")
    assert report["today"] == {
        "calls": {"spent": 2, "cap": 2, "left": 0}, "tokens": {"spent": 100, "cap": 9000, "left": 8900},
    }  # fmt: skip
    [day] = report["days"]
    assert (day["purpose"], day["provider"], day["model"], day["calls"]) == ("classify", "http", "small", 2)
    assert (day["tokens"], day["tokens_in"], day["tokens_out"], day["cost_usd"]) == (100, 90, 10, 0.002)
    assert day["outcomes"] == {"ok": 1, "refused": 1, "over budget": 1}
    assert [each["outcome"] for each in report["receipts"]] == ["over budget", "refused", "ok"]
    assert len(ask("spending", "--limit", "1")["receipts"]) == 1
    done = run("spending")
    assert (done.returncode, done.stderr) == (0, "")
    assert "calls today: 2 spent, 0 of 2 left" in done.stdout
    assert "100 tokens (90 in, 10 out), $0.0020" in done.stdout
    assert run("spending", "--stop", "--go").returncode == 2


def test_without_a_store_there_is_nothing_to_show(store_folder: Path) -> None:
    """And looking makes none."""
    report = ask("spending")
    assert (report["llm"], report["days"], report["receipts"]) == ("off", [], [])
    assert not store_folder.exists()


def test_the_ledger_holds_no_prompt_no_answer_and_no_key(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor what a provider says when it fails."""
    monkeypatch.setenv("MY_KEY", KEY)
    words = "a sentence that nobody else would ever say"
    refusal = {"status": 401, "body": f"{KEY} {words}".encode()}
    for server in (Chat(refusal), Messages(refusal)):
        with running(server):
            server.usual = {"intent": words}
            chosen = {**server.settings, "HOWCOME_LLM_KEY_ENV": "MY_KEY", "HOWCOME_HOME": store.folder}
            model = open_model(read_settings(chosen), store.spending, CLASSIFY)
            assert model is not None
            with pytest.raises(ProviderError) as raised:
                model.complete(words, SCHEMA)
            assert KEY not in str(raised.value)
            model.complete(words, SCHEMA)
    assert len(store.spending.receipts(0)) == 4
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    for path in Path(store.folder).rglob("*"):
        held = b"" if path.is_dir() else path.read_bytes()
        assert KEY.encode() not in held
        assert b"nobody else would" not in held


def test_a_server_of_a_nested_agent_has_no_worker(store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would read, distil and ask a model for what its own question is written into."""
    for guard, works in (("1", False), ("", True)):
        monkeypatch.setenv("HOWCOME_ACTIVE", guard)
        with Session(dict(os.environ), str(store_folder)) as session:
            session.start()
            assert (session._worker is not None) is works
