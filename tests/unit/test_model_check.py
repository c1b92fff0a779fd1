"""What `doctor` says of a language model and a graph server, without asking an endpoint."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from tests.endpoint import running
from tests.others import Chat

from howcome.doctor.base import Finding, Machine
from howcome.doctor.configuration import check_models, check_settings
from howcome.domain.spending import Call, Caps
from howcome.retrieve.outside import model_known_as
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

CAPS = {"LLM_DAILY_CALLS": "5", "LLM_DAILY_TOKENS": "9000"}
MODEL = {"LLM": "http", "LLM_URL": "http://127.0.0.1:9/v1", "LLM_MODEL": "small", **CAPS}
GRAPH = {"GRAPH_URL": "bolt://127.0.0.1:9"}


def found(home: Path, chosen: dict[str, str]) -> list[Finding]:
    """What the check finds under these settings."""
    variables = {f"HOWCOME_{name}": text for name, text in chosen.items()}
    machine = Machine({"HOWCOME_HOME": str(home), "HOME": str(home), **variables})
    assert all(finding.level == "ok" for finding in check_settings(machine))
    findings = check_models(machine)
    machine.close()
    return findings


def test_by_default_there_is_neither(tmp_path: Path) -> None:
    """One line, all well."""
    (finding,) = found(tmp_path, {})
    assert (finding.level, finding.what) == ("ok", "no language model: off, free by default")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (MODEL | {"LLM_MODEL": ""}, "llm_model"), (MODEL | {"LLM_URL": "localhost"}, "llm_url"),
        (MODEL | {"LLM_KEY_ENV": "NO_SUCH_KEY"}, "NO_SUCH_KEY"), ({"GRAPH_URL": "http://host:7474"}, "graph_url"),
        (GRAPH | {"GRAPH_PASSWORD_ENV": "NO_SUCH_WORD"}, "graph_password_env"),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_used_are_a_warning(tmp_path: Path, chosen: dict[str, str], said: str) -> None:
    """By name, with the file to correct."""
    finding = found(tmp_path, chosen)[-1]
    assert finding.level == "warning"
    assert said in finding.what
    assert "config.toml" in finding.remedy


@pytest.mark.parametrize(("chosen", "weight"), [(MODEL, "classifier_weight"), (GRAPH, "graph_weight")])
def test_what_is_configured_and_counts_nothing_is_noted(tmp_path: Path, chosen: dict[str, str], weight: str) -> None:
    """Without a weight the tier is not asked, so nobody is."""
    finding = found(tmp_path, chosen)[-1]
    assert finding.level == "note"
    assert f"{weight} is 0: it is never asked" in finding.what
    finding = found(tmp_path, chosen | {weight.upper(): "0.2"})[-1]
    assert (finding.level, finding.remedy) == ("ok", "")


def test_a_driver_that_is_not_here_has_its_package_as_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing finds it; the server is asked again when it is there."""
    monkeypatch.setitem(sys.modules, "neo4j", None)
    finding = found(tmp_path, GRAPH | {"GRAPH_WEIGHT": "0.5"})[-1]
    assert (finding.level, finding.what) == ("warning", "graph_url needs the package neo4j")
    assert "neo4j" in finding.remedy


def test_one_that_is_left_alone_says_why_and_how_long(tmp_path: Path) -> None:
    """The last failure is in the store; the model itself is not asked by the doctor."""
    with running(Chat()) as server:
        chosen = MODEL | {"LLM_URL": server.url("/v1"), "CLASSIFIER_WEIGHT": "0.2"}
        settings = read_settings({f"HOWCOME_{name}": text for name, text in chosen.items()})
        with_store = SqliteStore(str(tmp_path))
        now_ms = time.time_ns() // 1_000_000
        with_store.model_answers.pause(model_known_as(settings), now_ms, now_ms + 240_000, "it fails with 500")
        with_store.close()
        finding, budget = found(tmp_path, chosen)
        assert server.asked == []
    assert (budget.level, budget.check) == ("ok", "budget")
    assert finding.level == "warning"
    assert "is left alone for 4 min: it fails with 500" in finding.what


@pytest.mark.parametrize(
    ("caps", "said"),
    [
        ({"LLM_DAILY_CALLS": "0", "LLM_DAILY_TOKENS": "0"}, "llm_daily_calls and llm_daily_tokens is 0"),
        ({"LLM_DAILY_CALLS": "0"}, ": llm_daily_calls is 0"), ({"LLM_DAILY_TOKENS": "0"}, ": llm_daily_tokens is 0"),
    ],
)  # fmt: skip
def test_a_model_that_may_spend_nothing_is_said_with_its_remedy(
    tmp_path: Path, caps: dict[str, str], said: str
) -> None:
    """Which is so by default: who turns a model on wants to know that one line is missing."""
    finding = found(tmp_path, MODEL | caps)[-1]
    assert (finding.level, finding.check) == ("warning", "budget")
    assert said in finding.what
    assert "llm_daily_calls = 100" in finding.remedy


def test_the_switch_and_what_is_left_are_said(store: SqliteStore) -> None:
    """Stopped in the store is stopped, whatever the settings say."""
    now_ms = time.time_ns() // 1_000_000
    store.spending.reserve(Call("classify", "http", "small", 700), Caps(5, 9000), now_ms)
    finding = found(Path(store.folder), MODEL)[-1]
    assert (finding.level, finding.check) == ("ok", "budget")
    assert "1 of 5 calls and 700 of 9000 tokens are spent" in finding.what
    store.spending.stop(now_ms)
    finding = found(Path(store.folder), MODEL)[-1]
    assert (finding.level, finding.remedy) == ("warning", "howcome spending --go")


def test_a_package_or_program_that_is_not_here_has_its_remedy(tmp_path: Path) -> None:
    """The program by the file to correct; within an agent that howcome started nothing is said of models."""
    finding = found(tmp_path, {"LLM": "claude", "LLM_COMMAND": "/no/such/claude", **CAPS})[-1]
    assert "'/no/such/claude'" in finding.what
    assert "config.toml" in finding.remedy
