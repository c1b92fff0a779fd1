"""A hook's process: its environment, its pipes, its deadline, and what it must not load."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.checks import assert_accounted, timeline
from tests.processes import COMMAND, HOOK, HOOK_FIELDS, LAUNCH, LIMIT_S, answer_of, assert_silent, payload
from tests.processes import started_hook as hook

from howcome.clients.registry import names
from howcome.store.sqlite import SqliteStore

EVENT = "UserPromptSubmit"

ENVIRONMENTS: dict[str, dict[str, str]] = {
    "empty PATH": {"PATH": ""}, "C locale": {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
    "odd locale": {"LC_ALL": "xx_YY.ISO-8859-1"},
    "python variables": {"PYTHONPATH": "/nowhere", "PYTHONHOME": "/nowhere"},
    "debugging": {"PYTHONWARNINGS": "error", "PYTHONDEVMODE": "1", "PYTHONVERBOSE": "1"},
}  # fmt: skip


@pytest.mark.parametrize("name", [*ENVIRONMENTS, "no HOME"])
def test_the_environment_does_not_matter(name: str, past: Path, store_folder: Path, tmp_path: Path, home: Path) -> None:
    """A bare, foreign or broken environment changes nothing about the answer."""
    environment = {**os.environ, "HOWCOME_BRIEFING_TOKENS": "0", **ENVIRONMENTS.get(name, {})}
    if name == "no HOME":
        del environment["HOME"]
        environment |= {"CLAUDE_CONFIG_DIR": str(home / "c"), "CODEX_HOME": str(home / "x")}
    prompt = payload("UserPromptSubmit", past, "möwe", prompt=HOOK_FIELDS["UserPromptSubmit"]["prompt"])
    assert answer_of("UserPromptSubmit", hook("UserPromptSubmit", prompt, env=environment))
    path = write(tmp_path / "möwe.jsonl", *Claude("running").conversation(1))
    assert_silent(hook("Stop", payload("Stop", path, "running"), env=environment))
    assert_silent(hook("SessionStart", payload("SessionStart", path, "running"), env=environment))
    store = SqliteStore(str(store_folder))
    assert len(timeline(store, "running")) == 5
    store.close()


@pytest.mark.parametrize("variable", ["HOWCOME_ACTIVE", "HOWCOME_DISABLE"])
@pytest.mark.usefixtures("past")
def test_a_guarded_or_disabled_hook_does_nothing(variable: str, tmp_path: Path, store_folder: Path) -> None:
    """Inside an agent that howcome started, or when switched off: no answer and no capture."""
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(1))
    for event in HOOK_FIELDS:
        data = payload(event, path, "running", **HOOK_FIELDS[event])
        assert_silent(hook(event, data, env={**os.environ, variable: "1"}))
    store = SqliteStore(str(store_folder))
    assert timeline(store, "running") == []
    store.close()


WRONG = ((), ("--nonsense",), ("Stop", "--nonsense"), ("Stop", "--agent"), ("Stop", "--agent", "codex", "more"))


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
@pytest.mark.parametrize("start", [HOOK, [*COMMAND, "hook"]], ids=["as installed", "as typed"])
def test_wrong_arguments_never_block(
    start: list[str], arguments: tuple[str, ...], past: Path, store_folder: Path
) -> None:  # fmt: skip
    """Exit code 2 would block a prompt: the hook is silent, and `doctor` finds the reason in its log."""
    data = payload("Stop", past, "earlier")
    assert_silent(subprocess.run([*start, *arguments], input=data, capture_output=True, check=False, timeout=LIMIT_S))
    assert "wrong arguments" in (store_folder / "hook-errors.log").read_text()


def wait_for(process: subprocess.Popen[bytes], event: str) -> dict[str, Any] | None:
    """The answer of a hook whose stdin stays open."""
    code = process.wait(timeout=LIMIT_S)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdin is not None
    done = subprocess.CompletedProcess(process.args, code, process.stdout.read(), process.stderr.read())
    for stream in (process.stdin, process.stdout, process.stderr):
        stream.close()
    return answer_of(event, done)


@pytest.mark.parametrize("size", [0, 1 << 16, 1 << 17, (1 << 17) - 1], ids=["small", "64 KiB", "128 KiB", "odd"])
def test_a_pipe_left_open_does_not_keep_a_whole_payload_waiting(size: int, past: Path) -> None:
    """The payload is answered when it is whole, whatever its size, though the client never closes the pipe."""
    data = payload("UserPromptSubmit", past, "running", prompt="why does berth1 fail again?", padding="")
    data = data.replace(b'"padding": ""', b'"padding": "%s"' % (b"x" * max(0, size - len(data))))
    assert size == 0 or len(data) == size
    process = subprocess.Popen(
        [*HOOK, "UserPromptSubmit"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdin is not None
    process.stdin.write(data)
    process.stdin.flush()
    assert wait_for(process, "UserPromptSubmit") is not None


@pytest.mark.parametrize("event", HOOK_FIELDS)
def test_half_a_payload_ends_at_the_deadline(event: str, past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that stops in the middle is not waited for."""
    for name in ("PROMPT", "INGEST", "START"):
        monkeypatch.setenv(f"HOWCOME_{name}_DEADLINE_MS", "300")
    process = subprocess.Popen([*HOOK, event], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(payload(event, past, "running")[:-9])
    process.stdin.flush()
    assert wait_for(process, event) is None  # and the other end of its pipe is still open


def test_fifty_megabytes_are_refused_within_the_deadline(past: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A payload that is far too large is no payload."""
    monkeypatch.delenv("HOWCOME_PROMPT_DEADLINE_MS")
    started = time.monotonic()
    data = payload("UserPromptSubmit", past, "running", prompt="berth1 " * (50 << 17))
    assert_silent(hook("UserPromptSubmit", data))
    assert time.monotonic() - started < 30


def test_a_closed_stdin_or_stdout_is_silence(past: Path) -> None:
    """Streams that are not there, and a reader that is gone, are nobody's problem."""
    data = payload("UserPromptSubmit", past, "running", prompt="why does berth1 fail again?")
    for redirection in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'exec "$@" {redirection}', "sh", *HOOK, "UserPromptSubmit"], input=data, capture_output=True,
            check=False, timeout=LIMIT_S,
        )  # fmt: skip
        answer_of("UserPromptSubmit", done)


def test_a_capture_that_takes_too_long_is_ended_and_caught_up_later(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The deadline holds against a long backlog; nothing is left running; further hooks get through it."""
    monkeypatch.setenv("HOWCOME_INGEST_DEADLINE_MS", "400")
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(2500))
    process = subprocess.Popen(
        [*HOOK, "Stop"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    out, error = process.communicate(payload("Stop", path, "running"), timeout=LIMIT_S)
    assert (process.returncode, out, error) == (0, b"", b"")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    count, deadline_ms = stored(store_folder), 400
    assert count < 12_500
    for _ in range(100):
        before = count
        assert_silent(hook("Stop", payload("Stop", path, "running")))
        count = stored(store_folder)
        if count == 12_500:
            return
        if count == before:  # a busy machine may need that long for the hook's imports alone
            deadline_ms = min(20_000, 2 * deadline_ms)
            monkeypatch.setenv("HOWCOME_INGEST_DEADLINE_MS", str(deadline_ms))
    pytest.fail(f"only {count} events after 100 hooks")


def stored(folder: Path) -> int:
    """How many events a store holds, which are accounted for."""
    store = SqliteStore(str(folder))
    assert_accounted(store)
    count = store.accounts.counts()["events"]
    store.close()
    return count


MODULES = f"""
import sys, os
saved = os.dup(2)  # a hook gives its own away
def report(code):
    os.write(saved, "\\n".join(sorted(sys.modules)).encode())
    os._real_exit(0)
os._real_exit, os._exit = os._exit, report
sys.argv = [{str(LAUNCH)!r}, *sys.argv[1:]]
with open(sys.argv[0]) as script:
    exec(compile(script.read(), sys.argv[0], "exec"), {{"__name__": "__main__", "__file__": sys.argv[0]}})
"""
EXPENSIVE = {
    "click", "msgspec", "re2", "zstandard", "tqdm", "dataclasses", "typing", "pathlib", "logging", "subprocess",
    "asyncio", "tomllib", "inspect", "sqlite3", "numpy", "importlib.metadata",
    "urllib", "socket", "threading", "tempfile", "gzip", "warnings",
    "howcome.present.views", "howcome.present.warm_client", "howcome.log.rationales", "howcome.log.sqlite_batches",
}  # fmt: skip


def loaded_by(data: bytes, *arguments: str) -> set[str]:
    """The modules of a hook's process that said something of berth1."""
    words = [sys.executable, "-I", "-S", "-E", "-c", MODULES, *arguments]
    done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=LIMIT_S)
    assert b"berth1" in done.stdout, done.stderr
    return set(done.stderr.decode().split("\n"))


def test_a_prompt_pays_for_no_expensive_import(past: Path) -> None:
    """A prompt that is answered has loaded apsw, tantivy and the cheap half of the standard library."""
    loaded = loaded_by(payload("UserPromptSubmit", past, "running", prompt="why does berth1 fail again?"), EVENT)
    assert loaded & EXPENSIVE == set()
    third_party = {name.split(".")[0] for name in loaded} - set(sys.stdlib_module_names) - {"howcome", "__main__"}
    assert third_party == {"apsw", "tantivy"}


@pytest.mark.parametrize(("agent", "event"), [("claude-code", EVENT), ("codex", EVENT), ("gemini", "BeforeAgent")])
def test_a_prompt_pays_for_no_other_agent(past: Path, home: Path, agent: str, event: str) -> None:
    """Its own object is all that is imported of clients, though the prompt points at its transcript's last words."""
    folders = {"claude-code": ".claude/projects/p", "codex": ".codex/sessions", "gemini": ".gemini/tmp/p/chats"}
    path = home / folders[agent] / "running.jsonl"
    path.parent.mkdir(parents=True)
    path.write_bytes(past.read_bytes())
    data = payload(event, path, "running", prompt="why does berth1 fail again? do that")
    loaded = loaded_by(data, event, "--agent", agent)
    assert "howcome.clients.tail" in loaded
    modules = {name.replace("-", "_") for name in names()}
    assert modules & {name.removeprefix("howcome.clients.") for name in loaded} == {agent.replace("-", "_")}
