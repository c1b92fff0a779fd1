"""Another agent under the whole product: one object in one file, and it is found, read, wired, told, checked, undone.

A process that knows the toy registers it before it does anything else; nothing of howcome names it.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.processes import LIMIT_S
from tests.toy_client import NAME

from howcome.clients import registry

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
sys.path.insert(0, sys.argv.pop(1))
from howcome.clients.registry import register
from tests.toy_client import CLIENT
register(CLIENT)
from howcome.__main__ import main
sys.exit(main())
"""
SETTINGS = b'{\n  // mine\n  "hooks": {"asked": [{"command": "./theirs.sh"}]},\n  "theme": "dusk", /* and */\n}\n'
WHERE = "/home/mara/harbour"
SAID = [
    ("me", "why does the crane at berth1 stall in the rain?"),
    ("it", "The limit switch of berth1 is wet: decided to seal it with grease and to log every stall."),
    ("me", "seal the switch of berth1 then"),
    ("it", "Sealed the limit switch; berth1 runs."),
]


def line(number: int, by: str, says: str) -> str:
    """A line of the toy's."""
    record = {"chat": "q1", "where": WHERE, "n": number, "at": f"2026-03-02T09:0{number}:00Z", "by": by, "says": says}
    return json.dumps(record) + "\n"


def howcome(*words: str, data: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """A command or hook in a process that knows the toy."""
    start = [sys.executable, "-c", START, str(ROOT), *words]
    return subprocess.run(start, input=data, capture_output=True, check=False, timeout=LIMIT_S)


def ask(*words: str) -> Any:
    """What a command says as JSON."""
    done = howcome(*words, "--json")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def hook(words: list[str], **fields: str) -> Any:
    """What a hook answers to a payload in the toy's words."""
    done = howcome("hook", *words, data=json.dumps({"on": words[0], "chat": "now", "where": WHERE, **fields}).encode())
    assert (done.returncode, done.stderr) == (0, b"")
    return json.loads(done.stdout) if done.stdout else None


@pytest.fixture
def chats(home: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """The toy's home: a chat, and settings of its user's; the chat."""
    path = home / ".quillwright" / "chats" / "q1.quill"
    path.parent.mkdir(parents=True)
    path.write_text("".join(line(number, *said) for number, said in enumerate(SAID)))
    (home / ".quillwright" / "settings.jsonc").write_bytes(SETTINGS)
    return path


def test_one_object_is_all_that_a_new_agent_takes(
    home: Path, chats: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its first `init` to its `uninstall`."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    settings = home / ".quillwright" / "settings.jsonc"
    begun = ask("init", "--agent", "all", "--yes")
    assert (begun["imported"]["files"], begun["imported"]["accepted"]) == (1, len(SAID))
    assert {one["agent"] for one in begun["files"]} == {NAME}

    found = ask("search", "limit switch grease", "--all-projects", "--agent", NAME)["results"]
    assert any("grease" in hit["excerpt"] for hit in found)
    assert {one["agent"] for one in ask("timeline", "--all-projects")["sessions"]} == {NAME}

    text = settings.read_text()
    assert "// mine" in text
    assert text.count("./theirs.sh") == 1
    commands = [words for words in text.split('"') if "launch.py" in words and "--agent" in words]
    asked, answered = (shlex.split(command)[-6:-3] for command in commands)
    assert (asked, answered) == (["asked", "--agent", NAME], ["answered", "--agent", NAME])
    told = hook(asked, asks="why does the crane at berth1 stall again?")
    assert told["for"] == "asked"
    assert "grease" in told["hints"][0]
    assert hook(asked, asks="ok, go ahead") == {"for": "asked", "hints": []}
    assert hook(asked, on="other", asks="why does the crane at berth1 stall again?") is None

    with chats.open("a") as stream:
        stream.write(line(4, "me", "and the windlass at berth9?"))
    assert hook(answered, log=str(chats)) == {"for": "answered", "hints": []}
    assert any("windlass" in hit["excerpt"] for hit in ask("search", "windlass", "--all-projects")["results"])
    assert not (store_folder / "hook-errors.log").exists()

    findings = {one["what"] for one in json.loads(howcome("doctor", "--json").stdout)["findings"]}
    assert f"{NAME}: 3 parts, all in place" in findings
    settings.write_text(text.replace('"theme"', '"muted": true, "theme"'))
    findings = {one["what"] for one in json.loads(howcome("doctor", "--json").stdout)["findings"]}
    assert f"{settings} says `muted`" in findings
    settings.write_text(text)

    ask("uninstall", "--agent", NAME, "--yes")
    assert settings.read_bytes() == SETTINGS
    assert not (store_folder / "installs").exists()


def test_a_folder_of_its_files_is_known_by_what_is_in_them(chats: Path) -> None:
    """`howcome import FOLDER`, without saying whose."""
    report = ask("import", str(chats.parent))
    assert (report["files"], report["accepted"]) == (1, len(SAID))
    assert ask("import", "--agent", NAME, str(chats))["accepted"] == 0


def test_nothing_of_howcome_names_it() -> None:
    """Neither its name nor a word of its files."""
    assert NAME not in registry.names()
    for path in (ROOT / "src").rglob("*.py"):
        assert "quill" not in path.read_text(encoding="utf-8"), path


def test_a_stored_agent_that_is_gone_is_searched_all_the_same(chats: Path) -> None:
    """What was read stays readable where its reader is not any more."""
    ask("import", str(chats.parent))
    done = subprocess.run(
        [sys.executable, "-m", "howcome", "search", "grease", "--all-projects", "--json"],
        capture_output=True, check=False, timeout=LIMIT_S, env=dict(os.environ),
    )  # fmt: skip
    assert any("grease" in hit["excerpt"] for hit in json.loads(done.stdout)["results"])
