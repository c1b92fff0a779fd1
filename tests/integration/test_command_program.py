"""Any program as a language model: what it is given, what may become of it, and answers that are recorded in files."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.integration.test_model_distilling import CHOICE, WAIT, answer, operation
from tests.others import BUDGET
from tests.processes import ask, run

from howcome.domain.memories import MemoryFilter
from howcome.domain.spending import DISTIL, Caps
from howcome.domain.stored import Scope
from howcome.errors import ProviderError
from howcome.providers.llm_program import CommandLanguageModel
from howcome.providers.spending import MeteredModel
from howcome.settings import ACTIVE
from howcome.store.sqlite import SqliteStore

RECORDED = Path(__file__).resolve().parents[2] / "benchmarks" / "recorded_model.py"
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"color": {"type": "string"}}, "required": ["color"]}
RED = {"color": "red"}


def command(folder: Path, body: str) -> str:
    """A program that does so, as `llm_command` names it."""
    path = folder / "a program.py"
    path.write_text(f"import json, os, sys, time, subprocess\ngiven = sys.stdin.read()\n{body}\n")
    return shlex.join([sys.executable, str(path), "two words"])


def metered(store: SqliteStore, words: str, timeout_s: float = 60.0) -> MeteredModel:
    """The model that it is, with a budget that nobody exhausts here."""
    adapter = CommandLanguageModel(words, "", store.folder)
    return MeteredModel(adapter, store.spending, DISTIL, Caps(100, 1_000_000), timeout_s)


def test_the_prompt_is_its_input_and_the_answer_its_output(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No shell, an empty folder, nothing of the session around it; what it used is as reserved."""
    monkeypatch.setenv("CLAUDECODE", "1")
    before = set(os.listdir(store.folder))
    noted = tmp_path / "noted.json"
    words = command(
        tmp_path,
        f"open({str(noted)!r}, 'w').write(json.dumps([given, sys.argv[1:], dict(os.environ), os.listdir()]))\n"
        "print('Here it is:', json.dumps({'color': 'red'}))",
    )
    assert metered(store, words).complete("which? $(touch here) \ud800", SCHEMA) == RED
    given, arguments, environment, files = json.loads(noted.read_text())
    assert given.startswith("which? $(touch here) ?\n")
    assert json.dumps(SCHEMA) in given
    assert (arguments, files, environment[ACTIVE], "CLAUDECODE" in environment) == (["two words"], [], "1", False)
    assert set(os.listdir(store.folder)) == before
    [receipt] = store.spending.receipts(0)
    assert (receipt.call.provider, receipt.outcome, receipt.usage.tokens_in) == ("command", "ok", None)
    assert receipt.call.tokens > 1000


FAILING = {
    "a failure": ("sys.exit('no\\n key')", "ends with 1: no key", "refused", True),
    "silence": ("sys.exit(3)", "ends with 3: it says nothing", "refused", True),
    "later": ("sys.stderr.write('tomorrow'); sys.exit(75)", "answers later: tomorrow", "refused", False),
    "another shape": ("print('red')", "another shape", "bad answer", True),
    "too much": ("while True: sys.stdout.write('x' * 1000000)", "says more than", "bad answer", True),
    "no end": ("subprocess.Popen(['sleep', '600']); time.sleep(600)", "does not answer in time", "timeout", True),
}


@pytest.mark.parametrize("what", FAILING)
def test_a_failure_is_said(store: SqliteStore, tmp_path: Path, what: str) -> None:
    """In a line; what was asked for is spent, unless nobody answered yet."""
    body, message, outcome, is_spent = FAILING[what]
    with pytest.raises(ProviderError, match=message) as raised:
        metered(store, command(tmp_path, body), timeout_s=4.0).complete("which?", SCHEMA)
    assert str(raised.value).isprintable()
    receipts = store.spending.receipts(0)
    assert {each.outcome for each in receipts} == {outcome}
    assert (receipts[0].call.tokens > 1000) is is_spent


@pytest.mark.parametrize("words", ["", "claude", "no-such-program -p", "'half a quote"])
def test_one_that_is_none_is_said_with_the_setting(store: SqliteStore, words: str) -> None:
    """Also what nobody chose: alone, `claude` would be a session of its user's."""
    with pytest.raises(ProviderError, match="llm_command"):
        metered(store, words)


@pytest.fixture
def sessions(tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two sessions that a program is to distil, which reads its answers in a folder; that folder."""
    folder = tmp_path / "answers of a reader"
    settings = {"HOWCOME_DISTILLER": "llm", "HOWCOME_LLM": "command", **BUDGET}
    settings["HOWCOME_LLM_COMMAND"] = shlex.join([sys.executable, str(RECORDED), str(folder)])
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    talks = [
        write(
            tmp_path / f"{name}.jsonl", Claude(name).user(f"which queue of {name}?"), Claude(name, start=9).text(CHOICE)
        )
        for name in ("one", "two")
    ]
    ask("import", *talks)
    assert store_folder.exists()
    return folder


def test_answers_may_come_later_from_files(sessions: Path, store_folder: Path) -> None:
    """All prompts are written in one run, whatever has no answer; the next one takes what is there, and keeps it."""
    found = ask("distil")["model"]
    assert (found["asked"], found["done"], found["dead"], found["waiting"]) == (2, 0, 0, 2)
    assert "answers later" in found["problem"]
    prompts = sorted(sessions.glob("*.prompt"))
    assert len(prompts) == 2
    text = prompts[0].read_text()
    assert text.startswith("You keep the notes")
    assert "Answer with one JSON object" in text
    noted = operation("ADD", WAIT, evidence=[{"message": 2, "quote": CHOICE[:40]}])
    prompts[0].with_suffix(".answer").write_text(json.dumps(answer(noted)))
    assert "answers later" in run("distil").stdout  # it is left alone for some minutes
    found = ask("distil", "--retry")["model"]
    assert (found["done"], found["added"], found["waiting"]) == (1, 1, 1)
    assert sorted(sessions.glob("*.prompt")) == prompts
    store = SqliteStore(str(store_folder))
    assert [one.text for one in store.memories.select(Scope.everything(), MemoryFilter(source="llm"), 9)] == [WAIT]
    assert sum(receipt.call.tokens for receipt in store.spending.receipts(0) if receipt.outcome == "refused") == 0
    store.close()


def test_doctor_explains_it(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Which program is asked; and what is wrong with the setting."""
    assert not sessions.exists()
    said = [one["what"] for one in json.loads(run("doctor", "--json").stdout)["findings"]]
    assert any("distils sessions" in what and sys.executable in what for what in said)
    monkeypatch.setenv("HOWCOME_LLM_COMMAND", "no-such-program")
    said = [one["what"] for one in json.loads(run("doctor", "--json").stdout)["findings"]]
    assert any('llm = "command"' in what and "no-such-program" in what for what in said)
