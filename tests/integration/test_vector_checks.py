"""What `status` and `doctor` say of vectors: how many are missing, whose they are, what is wrong, what is not here."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.hashing import HashingEmbedder
from tests.mcp_server import McpServer, python_server
from tests.processes import LIMIT_S, ask, run

from howcome.app import open_app
from howcome.doctor.base import Machine
from howcome.doctor.configuration import check_vectors
from howcome.doctor.facts import waiting
from howcome.domain.stored import Scope
from howcome.providers.minilm_places import MODEL_NAME
from howcome.retrieve.question import Question
from howcome.settings import read_settings

WITHOUT_PACKAGES = """
import sys
from importlib.machinery import PathFinder

class Without(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in ("numpy", "onnx", "onnxruntime", "safetensors", "tokenizers", "fastembed"):
            return None
        return super().find_spec(name, path, target)

sys.meta_path[:] = [Without if finder is PathFinder else finder for finder in sys.meta_path]
"""
"""As in an environment where the extra was not installed: neither found nor imported."""

MAIN = "from howcome.cli.main import main; sys.exit(main())"


@pytest.fixture(autouse=True)
def automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ships."""
    monkeypatch.delenv("HOWCOME_EMBEDDING")


def embed(**embedder: Any) -> None:
    """Vectors for all turns, by an embedder of that name."""
    with open_app(read_settings(os.environ), embedder=HashingEmbedder(**embedder)) as app:
        app.index.embed()


def facts() -> dict[str, Any]:
    """What `status --json` says."""
    found: dict[str, Any] = ask("status")["embedding"]
    return found


def line() -> str:
    """What `status` says to a person."""
    [found] = [text for text in run("status").stdout.splitlines() if text.startswith("vectors ")]
    return found


def findings() -> list[tuple[str, str, str]]:
    """What `doctor` finds: level, fact, remedy."""
    machine = Machine(os.environ)
    found = [(each.level, each.what, each.remedy) for each in check_vectors(machine)]
    machine.close()
    return found


def test_missing_vectors_are_counted(past: Path, tmp_path: Path) -> None:
    """Before any, with all, after new turns; no model is loaded for it."""
    assert past.exists()
    found = facts()
    assert (found["model"], found["vectors"], found["turns_without_vectors"]) == (MODEL_NAME, 0, 12)
    assert line().endswith("none yet; they are made while sessions run")
    assert findings()[0][::2] == ("note", "howcome model embed")
    embed(name=MODEL_NAME)
    found = facts()
    assert (found["vectors"], found["turns_without_vectors"], found["dimensions"]) == (12, 0, 384)
    [one] = found["models"]
    assert one["size_bytes"] == found["size_bytes"] >= 12 * (32 + 48 + 768)
    assert f"12 of {MODEL_NAME}, 384 dimensions, " in line()
    assert "without" not in line()
    [(level, what, remedy)] = findings()
    assert (level, remedy) == ("ok", "")
    assert what.startswith(f"every turn has a vector: 12 of {MODEL_NAME}, 384 dimensions")
    done = run("import", write(tmp_path / "new.jsonl", *Claude("newer").conversation(1, "lantern")))
    assert "Vectors: 2 turns without one; they are made while sessions run" in done.stdout
    assert facts()["turns_without_vectors"] == 2
    assert line().endswith("; 2 turns without one")
    assert findings()[0][1].startswith("2 turns without a vector")


def test_many_missing_vectors_come_with_a_time() -> None:
    """Of the local model; an endpoint's is not known."""
    held: dict[str, Any] = {"state": "ready", "turns_without_vectors": 9600}
    assert waiting(held) == "9600 turns without one (some 3 minutes of one core)"
    assert waiting(held | {"state": "unasked"}) == "9600 turns without one"
    assert waiting(held | {"turns_without_vectors": 0}) == ""


def test_vectors_of_another_model_are_told_and_can_be_removed(past: Path) -> None:
    """They count for nothing; the remedy, typed, takes them away and nothing else."""
    assert past.exists()
    embed(name=MODEL_NAME)
    embed(name="other-1", dimensions=64)
    found = facts()
    assert (found["vectors"], len(found["models"])) == (12, 2)
    (level, _, _), (note, what, remedy) = findings()
    assert (level, note) == ("ok", "note")
    assert "vectors of other-1, which is not used now" in what
    subprocess.run(shlex.split(remedy), check=True)
    assert [level for level, _, _ in findings()] == ["ok"]
    assert facts()["vectors"] == 12


@pytest.mark.parametrize("part", ["head", "rows-*", "values-*"])
def test_a_damaged_index_is_told_and_made_anew(part: str, past: Path, store_folder: Path, built_home: Path) -> None:
    """By what doctor says; `status` and `doctor` go on meanwhile, and so does the search by words."""
    assert past.exists()
    shutil.copytree(built_home / "models", store_folder / "models")
    embed(name=MODEL_NAME)
    [path] = store_folder.glob(f"index/vectors-*/{part}")
    path.write_bytes(b"x")
    assert facts()["problem"]
    assert "howcome model embed" in line()
    [(level, what, remedy)] = findings()
    assert (level, remedy) == ("warning", "howcome model embed")
    assert "search is by words only" in what
    assert ask("model", "embed")["embedded"] == 12
    assert [level for level, _, _ in findings()] == ["ok"]


def test_another_database_has_no_vectors(past: Path, store_folder: Path) -> None:
    """Those of the one that was here before count for nothing."""
    assert past.exists()
    embed(name=MODEL_NAME)
    for path in store_folder.glob("howcome.db*"):
        path.unlink()
    with open_app(read_settings(os.environ)) as app:
        app.ingest.ingester().ingest_file(str(past), "claude-code")
    assert (facts()["vectors"], facts()["turns_without_vectors"]) == (0, 12)


def test_an_endpoint_is_not_asked_by_status(past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would be waited for; its vectors are known by its model's name."""
    assert past.exists()
    for name, value in {"": "http", "_URL": "http://192.0.2.1/v1", "_MODEL": "nomic"}.items():
        monkeypatch.setenv(f"HOWCOME_EMBEDDING{name}", value)
    embed(name="http-nomic", dimensions=64)
    assert (facts()["state"], facts()["turns_without_vectors"]) == ("unasked", 0)
    assert [level for level, _, _ in findings()] == ["ok"]
    monkeypatch.setenv("HOWCOME_EMBEDDING", "off")
    assert facts()["turns_without_vectors"] is None
    assert line().endswith("none: embedding is off: search is by words only")
    assert findings() == []


@pytest.mark.parametrize("kept", ["nothing", "turns", "a memory"])
def test_a_search_loads_no_model_while_there_is_no_vector(past: Path, kept: str) -> None:
    """It would take a quarter of a second, and find what words find; with one vector it is loaded."""
    assert past.exists()
    opened: list[str] = []
    if kept == "turns":
        embed(name=MODEL_NAME)
    if kept == "a memory":
        with open_app(read_settings(os.environ)) as app:
            app.store.memory_vectors.keep(MODEL_NAME, {b"key": bytes(768)})

    def opener(*_: object, **__: object) -> HashingEmbedder:
        opened.append("the model")
        return HashingEmbedder(name=MODEL_NAME)

    with open_app(read_settings(os.environ), opener=opener) as app:
        assert app.search.find(Question("berth1", Scope.everything(), limit=3))
    assert opened == ([] if kept == "nothing" else ["the model"])


def bare(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """A command of howcome where no package of the extra is."""
    words = [sys.executable, "-c", WITHOUT_PACKAGES + MAIN, *map(str, arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL)


def test_without_the_packages_words_do_everything(past: Path) -> None:
    """Search, tools and status work; `doctor` says which packages are missing and how they come."""
    assert past.exists()
    done = bare("search", "--all-projects", "--json", "berth1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "berth1" in done.stdout
    found = json.loads(bare("status", "--json").stdout)["embedding"]
    assert (found["state"], found["turns_without_vectors"]) == ("packages", 12)
    report = json.loads(bare("doctor", "--json").stdout)
    [finding] = [each for each in report["findings"] if each["check"] == "embedding"]
    assert finding["level"] == "note"
    assert "numpy, onnxruntime, tokenizers" in finding["what"]
    assert "install" in finding["remedy"]
    assert not [each for each in report["findings"] if each["check"] == "vectors"]
    with McpServer(python_server(WITHOUT_PACKAGES), cwd="/") as server:
        assert "berth1" in server.call("search_memory", query="berth1", project="all")
        fields = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/home/mara/harbour"}
        assert "berth1" in server.call("hook", prompt="why does berth1 fail again?", **fields)
    refused = bare("model", "embed")
    assert refused.returncode == 1
    assert "Traceback" not in refused.stderr
