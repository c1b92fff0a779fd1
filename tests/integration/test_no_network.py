"""As it ships howcome talks to nobody: the kernel kills every process of it that tries, in every door."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.mcp_server import McpServer
from tests.no_network import WITHOUT_NETWORK, needs_a_filter
from tests.processes import HOOK_FIELDS, LIMIT_S, answer_of, ask, payload, python, run, started_hook
from tests.warm import eventually, socket_of

from howcome.providers.minilm_places import MODEL_NAME

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
ALONE = python(WITHOUT_NETWORK)


@pytest.fixture(autouse=True)
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The default configuration, with the packages and the weights of the local model installed."""
    needs_a_filter()
    monkeypatch.delenv("HOWCOME_EMBEDDING")


@pytest.fixture
def transcript(home: Path, store_folder: Path, built_home: Path) -> Path:
    """A session that nobody has read; the model is here.

    It is built outside of the filter: the library that builds it makes an id from the machine's address, for which it
    has a socket that it never sends through. `test_embedders` builds it under Python's own watch.
    """
    shutil.copytree(built_home, store_folder)
    assert ask("model", "install", "--yes")["name"] == MODEL_NAME
    return write(home / ".claude" / "projects" / "-harbour" / "earlier.jsonl", *Claude("earlier").conversation(6))


def done(*arguments: str | Path) -> str:
    """What a command says; it must succeed."""
    found = run(*arguments, before=ALONE)
    assert found.returncode == 0, (found.returncode, found.stdout, found.stderr[-3000:])
    return found.stdout


def test_the_filter_kills() -> None:
    """Whatever makes a socket of the internet, however far down; Unix sockets are left alone."""
    for code, expected in (("socket.socket()", -31), ("socket.socket(socket.AF_UNIX)", 0)):
        words = [*ALONE, sys.executable, "-c", f"import socket; {code}"]
        assert subprocess.run(words, capture_output=True, check=False, timeout=LIMIT_S).returncode == expected


def test_commands_need_no_network(transcript: Path) -> None:
    """From the install to the uninstall, with the model in use on the way."""
    done("init", "--yes")
    done("import", transcript)
    assert "every turn has a vector" in done("model", "embed")
    assert json.loads(done("search", "--all-projects", "--explain", "--json", "why does the berth fail"))
    assert json.loads(done("status", "--json"))["embedding"]["turns_without_vectors"] == 0
    report = json.loads(done("doctor", "--json"))  # it starts the hook and the server, which are killed with it
    levels = {found["check"]: found["level"] for found in report["findings"]}
    assert {levels[name] for name in ("embedding", "vectors", "hook", "mcp")} == {"ok"}
    done("uninstall", "--yes")


def test_hooks_need_no_network(transcript: Path, store_folder: Path) -> None:
    """Every event, alone; also on a machine that is in a team."""
    (store_folder / "team.json").write_text(
        json.dumps({"url": "http://127.0.0.1:9", "token": "hct_x", "repositories": {"a/b": {}}, "pushed": {}})
    )
    for event in HOOK_FIELDS:
        answer_of(event, started_hook(event, payload(event, transcript, "new", **HOOK_FIELDS[event]), before=ALONE))
    assert (store_folder / "howcome.db").exists()


def test_a_server_needs_no_network(transcript: Path, store_folder: Path) -> None:
    """Its worker reads and embeds; its tools search with it, its socket and its tool answer hooks."""
    session, asked = "warm", "why does berth1 fail again?"
    with McpServer([*ALONE, sys.executable, "-m", "howcome", "mcp"], cwd="/") as server:
        socket_of(store_folder)

        def embedded() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(run("status", "--json").stdout)["embedding"]
            return found

        eventually(lambda: embedded()["vectors"] and not embedded()["turns_without_vectors"], limit_s=LIMIT_S)
        assert "berth1" in server.call("search_memory", query="why does berth1 fail", project="all")
        maps = Path(f"/proc/{server.process.pid}/maps").read_text()
        assert "onnxruntime" in maps
        for name in (session, "warm-2"):
            fields = payload("UserPromptSubmit", transcript, name, prompt=asked)
            assert answer_of("UserPromptSubmit", started_hook("UserPromptSubmit", fields, before=ALONE)) is not None
        fields = json.loads(payload("UserPromptSubmit", transcript, "tool", prompt=asked))
        assert "berth1" in server.call("hook", **fields)
        assert server.process.poll() is None
