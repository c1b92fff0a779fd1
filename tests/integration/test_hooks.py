"""A hook is never in the way: exit 0, silence or one valid answer, within its deadline, whatever it is given."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, timeline
from tests.processes import COMMAND, HOOK_FIELDS, LIMIT_S, answer_of, assert_silent, hook, payload, started_hook

from howcome.store.sqlite import SqliteStore

EVENTS = tuple(HOOK_FIELDS)
OTHERS = (
    "PostToolUse",
    "Notification",
    "SubagentStart",
    "PostCompact",
    "CwdChanged",
)


def typed(event: str, data: bytes) -> subprocess.CompletedProcess[bytes]:
    """A hook as a person may start it."""
    return subprocess.run([*COMMAND, "hook", event], input=data, capture_output=True, check=False, timeout=LIMIT_S)


Way = Callable[[str, bytes], subprocess.CompletedProcess[bytes]]
ENTRIES: dict[str, Way] = {"launch": started_hook, "command": typed}


def call(event: str, path: Path, session: str = "running", way: Way = hook, **fields: Any) -> dict[str, Any] | None:
    """One hook with a payload as the client writes it."""
    data = payload(event, path, session, **{**HOOK_FIELDS.get(event, {}), **fields})
    return answer_of(event, way(event, data))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_served_with_and_without_a_store(
    event: str, entry: str, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No store yet, then one: silence, or an answer; a hook that reads has then read its transcript."""
    monkeypatch.setenv("HOWCOME_INJECT", "off" if event != "UserPromptSubmit" else "bites")
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(2))
    assert call(event, path, way=ENTRIES[entry]) is None
    if event == "UserPromptSubmit":
        assert not store_folder.exists()
        return
    store = SqliteStore(str(store_folder))
    assert len(timeline(store, "running")) == 10
    store.close()
    assert call(event, path, way=ENTRIES[entry]) is None


def test_a_prompt_gets_what_an_earlier_session_said(past: Path) -> None:
    """The answer quotes the earlier session of this project; the same session is not told twice."""
    first = call("UserPromptSubmit", past)
    assert first is not None
    assert "berth1" in first["additionalContext"]
    assert first["additionalContext"].startswith("<howcome-memory ")
    second = call("UserPromptSubmit", past)
    assert second is None or second["additionalContext"] != first["additionalContext"]
    assert call("UserPromptSubmit", past, session="other", cwd="/gone/elsewhere") is None
    assert call("UserPromptSubmit", past, session="earlier") is None


def test_a_session_is_captured_with_its_subagents_as_it_grows(tmp_path: Path, store_folder: Path) -> None:
    """Stop reads what is new in the session's file and in its subagents'; nothing twice."""
    claude, agent = Claude("running"), Claude("running", isSidechain=True, agentId="a17", start=500)
    path = write(tmp_path / "running.jsonl", *claude.conversation(1))
    call("Stop", path)
    inner = write(tmp_path / "running" / "subagents" / "agent-a17.jsonl", *agent.exchange("quay"))
    outer = write(
        tmp_path / "agent-b2.jsonl", *Claude("running", isSidechain=True, agentId="b2", start=900).exchange("dock")
    )
    write(path, *claude.conversation(1, "tide"), append=True)
    call("SubagentStop", path, agent_transcript_path=str(outer))
    call("Stop", path)
    store = SqliteStore(str(store_folder))
    assert len(timeline(store, "running")) == 20
    assert {os.path.basename(state.path) for state in store.log.sources()} == {path.name, inner.name, outer.name}
    assert store.index.lag() == 0
    assert_accounted(store)
    store.close()


def test_a_start_catches_up_with_every_transcript(
    home: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sessions that no hook saw are read when the next one starts; one that cannot be read stops no other."""
    monkeypatch.setenv("HOWCOME_BRIEFING_TOKENS", "0")
    root = home / ".claude" / "projects" / "-gone-harbour"
    write(root / "one.jsonl", *Claude("one").conversation(1))
    write(root / "cut.jsonl.gz", b"").write_bytes(b"\x1f\x8b\x08\x00 cut")
    write(Path(os.fsdecode(os.fsencode(root) + b"/caf\xe9.jsonl")), *Claude("odd").conversation(1))
    (root / "loop.jsonl").symlink_to(root / "one.jsonl")
    os.mkfifo(root / "fifo.jsonl")
    write(root / "two" / "subagents" / "agent-1.jsonl", *Claude("two").conversation(1))
    assert call("SessionStart", root / "not-there-yet.jsonl") is None
    store = SqliteStore(str(store_folder))
    assert {name for _, name, _ in store.sessions.find("o") + store.sessions.find("t")} == {"one", "odd", "two"}
    assert_accounted(store)
    store.close()


GARBAGE = {
    "empty": b"", "blank": b" \n", "words": b"hello", "half": b'{"hook_event_name": "Stop", "session', "list": b"[]",
    "null": b"null", "no fields": b"{}", "bytes": bytes(range(256)) * 20, "deep": b"[" * 200_000,
    "deep object": b'{"a":' * 200_000, "surrogate": b'{"hook_event_name": "\\ud800"}', "two": b"{}{}",
}  # fmt: skip


@pytest.mark.parametrize("name", GARBAGE)
@pytest.mark.usefixtures("past")
def test_garbage_on_stdin_is_no_payload(name: str) -> None:
    """Whatever comes in, nothing comes out."""
    for event in ("UserPromptSubmit", "Stop"):
        assert_silent(hook(event, GARBAGE[name]))


VALUES: list[Any] = [
    None,
    7,
    [],
    {},
    "",
    "\ud800",
    "a\0b",
    "../../etc/passwd",
    "x" * 300_000,
    "\U0001f600\u202e",
    ["a"],
    True,
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:20])
@pytest.mark.usefixtures("past")
def test_odd_fields_are_survived(value: Any) -> None:
    """A field that is missing, of the wrong type, huge or hostile costs at most the answer."""
    for event in ("UserPromptSubmit", "SubagentStop"):
        fields = dict.fromkeys(("session_id", "transcript_path", "cwd", "prompt", "agent_transcript_path"), value)
        data = json.dumps({"hook_event_name": event, **fields}).encode()
        answer_of(event, hook(event, data))


@pytest.mark.parametrize(
    "prompt",
    ["why \ud800 berth1 \ude00?", "why\0berth1\0fail", '"berth1" OR * AND (', "berth1 " * 20_000, "港の berth1"],
)
def test_any_prompt_is_answered_or_not_but_never_fails(prompt: str, past: Path, store_folder: Path) -> None:
    """Lone surrogates, NUL, query syntax and a wall of words are words like others."""
    data = payload("UserPromptSubmit", past, "running", prompt="x").replace(b'"x"', json.dumps(prompt).encode())
    answer_of("UserPromptSubmit", hook("UserPromptSubmit", data))
    log = store_folder / "hook-errors.log"
    assert not log.exists(), log.read_text()


@pytest.mark.parametrize("event", [*OTHERS, "", "../x", "--help", "stop", "\udcff"])
def test_an_event_that_nobody_handles_is_nobodys(event: str, past: Path) -> None:
    """An unknown event is silence."""
    assert_silent(hook(event, payload("Stop", past, "running")))
    assert_silent(
        subprocess.run([*COMMAND, "hook", "Stopp"], input=b"{}", capture_output=True, check=False, timeout=LIMIT_S)
    )


@pytest.mark.usefixtures("past")
def test_the_payload_of_another_event_is_not_answered(tmp_path: Path, store_folder: Path) -> None:
    """The event of the command and of the payload must agree."""
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(1))
    assert_silent(hook("UserPromptSubmit", payload("Stop", path, "running", prompt="why does berth1 fail?")))
    assert_silent(hook("Stop", payload("SubagentStop", path, "running")))
    store = SqliteStore(str(store_folder))
    assert timeline(store, "running") == []
    store.close()


def damage(kind: str, folder: Path) -> None:
    """Makes a store unusable in one way."""
    database = folder / "howcome.db"
    for name in ("howcome.db-wal", "howcome.db-shm"):
        (folder / name).unlink(missing_ok=True)
    if kind == "garbage":
        database.write_bytes(os.urandom(50_000))
    elif kind == "half":
        database.write_bytes(database.read_bytes()[:9000])
    elif kind == "flipped":
        content = bytearray(database.read_bytes())
        content[200:4000] = os.urandom(3800)
        database.write_bytes(content)
    elif kind == "newer":
        with sqlite3.connect(database) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
    elif kind == "a folder":
        database.unlink()
        database.mkdir()
    elif kind == "a file for a folder":
        shutil.rmtree(folder)
        folder.write_text("in the way")
    elif kind == "index garbage":
        for found in (folder / "index").rglob("*.json"):
            found.write_bytes(b"garbage")
    elif kind == "config garbage":
        (folder / "config.toml").write_bytes(b"\xff = [")


@pytest.mark.parametrize(
    "kind",
    ["garbage", "half", "flipped", "newer", "a folder", "a file for a folder", "index garbage", "config garbage"],
)
def test_an_unusable_store_is_silence_and_left_as_it_is(kind: str, past: Path, store_folder: Path) -> None:
    """Nothing is said, nothing repaired, renamed or deleted by a hook."""
    damage(kind, store_folder)
    database = store_folder / "howcome.db"
    before = database.read_bytes() if database.is_file() else None
    for event in EVENTS:
        answer_of(event, hook(event, payload(event, past, "running", **HOOK_FIELDS[event])))
    if before is not None and kind in ("garbage", "newer", "half"):
        assert database.read_bytes() == before


@pytest.mark.parametrize("kind", ["missing", "symlink", "fifo", "folder", "device", "empty"])
@pytest.mark.usefixtures("past")
def test_a_transcript_that_is_none_is_silence(kind: str, tmp_path: Path, store_folder: Path) -> None:
    """Not there yet (a first prompt), or swapped for something else: nothing is waited for, nothing is stored."""
    path = tmp_path / "t.jsonl"
    if kind == "symlink":
        path.symlink_to(write(tmp_path / "real.jsonl", *Claude("stolen").conversation(1)))
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "empty":
        path.touch()
    path = Path("/dev/zero") if kind == "device" else path
    for event in EVENTS:
        call(event, path, agent_transcript_path=str(path))
    store = SqliteStore(str(store_folder))
    assert timeline(store, "stolen") == []
    assert store.accounts.counts()["events"] == 30
    store.close()
