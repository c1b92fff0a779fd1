"""Distilling by a model as real processes: the command, the worker, the `claude` program, kills, two at once."""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import Claude, write
from tests.claude_program import ClaudeProgram
from tests.endpoint import running
from tests.integration.test_model_distilling import CHOICE, QUESTION, WAIT, answer, operation
from tests.others import Chat, Noter
from tests.processes import COMMAND, LIMIT_S, ask, run
from tests.warm import eventually, server

from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.present.own_files import own_paths
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

SESSIONS = 6
EVERYTHING = Scope.everything()


class Poller(Noter):
    """Keeps what the agent said of a poller, in words of its own; `held_s` is how long each answer takes."""

    held_s = 0.0

    def answer(self, path: str, question: dict[str, Any]) -> dict[str, Any]:
        """One memory a batch."""
        self.over.wait(self.held_s)
        prompt = str(question["messages"][-1]["content"])
        name = next(word for word in prompt.split()[::-1] if word.startswith("poller") and word[6:].isdigit())
        self.usual = answer(operation("ADD", f"The {name} of the harbour waits 30s between its reads."))
        return super().answer(path, question)


@pytest.fixture
def sessions(tmp_path: Path, store_folder: Path) -> Path:
    """A store with sessions that ended long ago; its folder."""
    paths = []
    for number in range(SESSIONS):
        claude = Claude(f"s{number}", start=5000 * number)
        words = f"The poller{number} waits 30s, which is enough for its gauge."
        paths.append(write(tmp_path / f"s{number}.jsonl", claude.user(QUESTION), claude.text(words)))
    ask("import", *paths)
    return store_folder


@pytest.fixture
def distiller(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The setting that lets a model distil."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "llm")
    return monkeypatch


def use(patch: pytest.MonkeyPatch, model: Chat | ClaudeProgram) -> None:
    """The settings that name a model."""
    for name, value in model.settings.items():
        patch.setenv(name, value)


def by_model(folder: Path) -> list[str]:
    """The texts of memories that a model made."""
    store = SqliteStore(str(folder))
    found = store.memories.select(EVERYTHING, MemoryFilter(source="llm"), 99)
    store.close()
    return sorted(memory.text for memory in found)


def counts(folder: Path) -> dict[str, int]:
    """What became of the batches."""
    store = SqliteStore(str(folder))
    found = store.distil_batches.counts()
    store.close()
    return found


ALL_POLLERS = [f"The poller{number} of the harbour waits 30s between its reads." for number in range(SESSIONS)]


def test_the_command_says_what_the_model_did(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """In numbers and in words; what it made is found, listed, sampled and explained."""
    with running(Poller()) as chat:
        use(distiller, chat)
        found = ask("distil", "--sample", "50")
        model = [found["model"][name] for name in ("asked", "done", "added", "waiting", "problem", "rejected")]
        assert model == [SESSIONS, SESSIONS, SESSIONS, 0, "", {}]
        shown = run("distil").stdout
    assert "the model was asked for 0 batches" in shown
    assert {path.name for path in sessions.iterdir()} <= {os.path.basename(path) for path in own_paths(str(sessions))}
    rows = ask("memories", "--all-projects", "--source", "llm")["memories"]
    assert sorted(row["text"] for row in rows) == ALL_POLLERS == by_model(sessions)
    assert {row["id"] for row in rows} <= {row["id"] for row in found["sample"]}
    assert ask("memories", "--why", rows[0]["id"])["by_model"][0]["op"] == "ADD"
    assert run("search", "poller3 of the harbour", "--all-projects").stdout.count("poller3 of the harbour") == 1


def test_what_it_failed_at_is_told_and_asked_for_again(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """By status and doctor; when somebody asks for it."""
    assert run("distil", "--retry").returncode == 0
    with running(Noter(answers=[answer(operation("ADD", WAIT, (9,)))], usual=answer())) as chat:
        use(distiller, chat)
        assert "it failed at 1 batch:" in run("distil").stdout
        assert ask("status")["distil_batches"] == {"pending": 0, "done": 5, "dead": 1, "given_up": 0}
        assert "at 1 it failed" in run("status").stdout
        [finding] = [one for one in ask_doctor() if one["check"] == "distilling"]
        assert (finding["level"], finding["remedy"]) == ("warning", "howcome distil --retry")
        assert [one["level"] for one in ask_doctor() if "distils sessions" in one["what"]] == ["ok"]
        assert ask("distil", "--retry")["model"]["done"] == 1
    assert counts(sessions)["dead"] == 0
    distiller.setenv("HOWCOME_DISTILLER", "rules")
    done = run("distil", "--retry")
    assert (done.returncode, "no model distils" in done.stderr) == (2, True)


def ask_doctor() -> list[dict[str, Any]]:
    """Its findings, whatever else it finds."""
    findings: list[dict[str, Any]] = json.loads(run("doctor", "--json").stdout)["findings"]
    return findings


def test_without_a_model_the_rules_distil(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """Off, without a budget, with a wrong setting, within an agent that howcome started; doctor says so."""
    found = ask("distil")["model"]
    assert (found["asked"], "llm is off" in found["problem"]) == (0, True)
    assert any(one["check"] == "distilling" and one["level"] == "warning" for one in ask_doctor())
    with running(Poller()) as chat:
        use(distiller, chat)
        for name, value in {
            "HOWCOME_LLM_DAILY_CALLS": "0", "HOWCOME_LLM_KEY_ENV": "NOT_SET", "HOWCOME_ACTIVE": "1",
        }.items():  # fmt: skip
            with distiller.context() as patch:
                patch.setenv(name, value)
                found = ask("distil")["model"]
                assert (found["asked"], "NOT_SET" in found["problem"]) == (0, value == "NOT_SET")
        assert chat.asked == []
    assert by_model(sessions) == []


def test_two_that_distil_pay_once(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """Each batch is asked for once, whoever comes first."""
    with running(Poller()) as chat:
        chat.held_s = 0.1
        use(distiller, chat)
        words = [*COMMAND, "distil", "--json"]
        running_ones = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        reports = [json.loads(one.communicate(timeout=LIMIT_S)[0])["model"] for one in running_ones]
        assert len(chat.asked) == SESSIONS
    assert sum(report["done"] for report in reports) == SESSIONS
    assert by_model(sessions) == ALL_POLLERS


def test_a_run_that_is_killed_is_gone_on_with(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """While the model thinks, and at any other moment: nothing is lost or done twice; what was asked for is spent."""
    with running(Poller({"hang_s": 600})) as chat:
        use(distiller, chat)
        process = subprocess.Popen([*COMMAND, "distil"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        eventually(lambda: chat.asked)
        process.kill()
        process.wait()
        assert counts(sessions) == {"pending": SESSIONS, "done": 0, "dead": 0, "given_up": 0}
        chat.held_s, chance = 0.05, random.Random(5)
        for _ in range(5):
            process = subprocess.Popen([*COMMAND, "distil"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(chance.uniform(0.2, 0.9))
            process.kill()
            process.wait()
        ask("distil")
    assert by_model(sessions) == ALL_POLLERS
    assert counts(sessions) == {"pending": 0, "done": SESSIONS, "dead": 0, "given_up": 0}
    store = SqliteStore(str(sessions))
    assert "unsettled" in {receipt.outcome for receipt in store.spending.receipts(0)}
    assert sum(receipt.outcome == "ok" for receipt in store.spending.receipts(0)) >= SESSIONS
    store.close()


def test_the_worker_asks_in_the_background(sessions: Path, distiller: pytest.MonkeyPatch) -> None:
    """A few batches in each pass, until none waits."""
    with running(Poller()) as chat:
        use(distiller, chat)
        with server():
            eventually(lambda: by_model(sessions) == ALL_POLLERS)
        assert len(chat.asked) == SESSIONS


@pytest.mark.usefixtures("sessions")
def test_the_claude_program_distils_and_starts_nothing_of_ours(
    tmp_path: Path, store_folder: Path, distiller: pytest.MonkeyPatch
) -> None:
    """Whatever it runs itself: within it nobody is asked."""
    evidence = [{"message": 2, "quote": "30s, which is enough for its gauge"}]
    program = ClaudeProgram(tmp_path / "bin", usual=answer(operation("ADD", WAIT, evidence=evidence)))
    nested = {"runs": [[[*COMMAND, "distil"], ""]]}
    wrong = ({"answer": {"result": "no JSON"}}, {"answer": {"result": "{}"}}, {"answer": {"stop_reason": "refusal"}})
    program.will(nested, *wrong)
    use(distiller, program)
    found = ask("distil")["model"]
    assert (found["asked"], found["dead"], found["waiting"]) == (SESSIONS, 1, 1)
    assert len(program.asked) == SESSIONS + 1
    assert found["done"] == SESSIONS - 2
    assert by_model(store_folder) == [WAIT]
    assert all("poller" not in " ".join(asked["words"]) for asked in program.asked)


def test_the_rules_words_are_there_when_the_model_fails(
    tmp_path: Path, store_folder: Path, distiller: pytest.MonkeyPatch
) -> None:
    """Nobody has less than with rules."""
    claude = Claude("one")
    ask("import", write(tmp_path / "one.jsonl", claude.user("which queue?"), claude.text(CHOICE)))
    with running(Chat(usual="no")) as chat:
        use(distiller, chat)
        assert ask("distil")["model"]["dead"] == 1
    assert "Celery" in str(ask("memories", "--all-projects"))
    assert store_folder.exists()
