"""Running howcome as real processes: commands, hooks, and helpers under limits."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests import forking
from tests.fork_server import LAUNCH

COMMAND = [sys.executable, "-m", "howcome"]
HOOK_OPTIONS = ("-I", "-S", "-E")
HOOK = [sys.executable, *HOOK_OPTIONS, str(LAUNCH)]
LIMIT_S = 60
HOOK_FIELDS: dict[str, dict[str, Any]] = {
    "SessionStart": {"source": "startup", "model": "claude-opus-5-5"},
    "UserPromptSubmit": {"prompt": "why does berth1 fail again?"},
    "PreCompact": {"trigger": "manual", "custom_instructions": ""},
    "Stop": {"stop_hook_active": False, "last_assistant_message": "done", "background_tasks": []},
    "SubagentStop": {"stop_hook_active": False, "agent_id": "a17", "agent_type": "Explore"},
    "SessionEnd": {"reason": "clear"},
}
"""Every event that is handled, with the fields that its payload has beside the common ones."""

WITHOUT_OVERRIDE = """
import ctypes, os, sys
if os.geteuid() == 0:  # root ignores mode bits unless it cannot have the capabilities to
    for capability in (1, 2, 3):
        assert ctypes.CDLL(None).prctl(24, capability, 0, 0, 0) == 0
os.execv(sys.argv[1], sys.argv[1:])
"""
WITH_SMALL_FILES = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
interpreter, *words = sys.argv[2:]  # -B: Python 3.11 keeps bytecode that was cut, and every later process fails on it
os.execv(interpreter, [interpreter, "-B", *words])
"""
WITH_LIMIT = """
import os, resource, sys
resource.setrlimit(getattr(resource, sys.argv[1]), (int(sys.argv[2]),) * 2)
interpreter, *words = sys.argv[3:]
os.execv(interpreter, [interpreter, "-B", *words])
"""
"""Starts a program under a limit: its name in `resource`, and the number."""


def run(
    *arguments: str | bytes | Path, before: tuple[str, ...] = (), data: bytes = b"", folder: str | Path | None = None,
    environment: Mapping[str, str] | None = None, fresh: bool = False,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """A command of howcome to its end; `before` is what starts it, `data` is what it reads, `folder` where it runs.

    Python is started for it only where it has to be: `fresh` where a test is about that.
    """
    words, surroundings = list(map(os.fsdecode, arguments)), os.environ if environment is None else environment
    if not before and not fresh and forking.can_fork(surroundings, data):
        done = forking.run(words, surroundings, str(folder or os.getcwd()), data, LIMIT_S)
    else:
        done = subprocess.run(
            [*before, *COMMAND, *words], input=data, capture_output=True, check=False, timeout=LIMIT_S,
            cwd=folder, env=environment,
        )  # fmt: skip
    return subprocess.CompletedProcess(done.args, done.returncode, _text(done.stdout), _text(done.stderr))


def _text(data: bytes) -> str:
    return io.TextIOWrapper(io.BytesIO(data)).read()


def ask(*arguments: str | Path, fresh: bool = False) -> dict[str, Any]:
    """The JSON that a command answers with; it must succeed and say nothing else."""
    done = run(*arguments, "--json", fresh=fresh)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def python(script: str, *arguments: str | Path) -> tuple[str, ...]:
    """The words that run a script with arguments."""
    return (sys.executable, "-c", script, *map(str, arguments))


def payload(event: str, transcript: Path, session: str, **fields: Any) -> bytes:
    """What the client hands to a hook."""
    common = {
        "session_id": session, "transcript_path": str(transcript), "cwd": "/home/mara/harbour",
        "permission_mode": "default", "hook_event_name": event,
    }  # fmt: skip
    return json.dumps({**common, **fields}).encode()


def hook(event: str, data: bytes, *more: str) -> subprocess.CompletedProcess[bytes]:
    """A hook as the client runs it, with what it is told beside the event."""
    if forking.can_fork(os.environ, data):
        return forking.run([event, *map(os.fsdecode, more)], os.environ, os.getcwd(), data, LIMIT_S, HOOK_OPTIONS)
    return started_hook(event, data, *more)


def started_hook(
    event: str, data: bytes, *more: str, before: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """A hook that Python is started for, where a test is about that; `before` is what starts it."""
    words = [*before, *HOOK, event, *more]
    return subprocess.run(words, input=data, capture_output=True, check=False, timeout=LIMIT_S, env=env)


def assert_silent(done: subprocess.CompletedProcess[bytes]) -> None:
    """Exit 0, nothing on either stream."""
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), done.stderr[-3000:]


def failures(folder: Path) -> list[str]:
    """What a store's log of errors holds, but who gave up because another held a lock or its own time was over.

    That is a hook's or a worker's honest word on a busy machine, and their work is done by whoever comes next.
    """
    log = folder / "hook-errors.log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [line for line in lines if "StoreLockedError" not in line and "reached its deadline" not in line]


def answer_of(event: str, done: subprocess.CompletedProcess[bytes]) -> dict[str, Any] | None:
    """What the hook said, checked: exit 0, no word on stderr, nothing or one answer to this event."""
    assert (done.returncode, done.stderr) == (0, b""), done.stderr[-3000:]
    if not done.stdout:
        return None
    answer: dict[str, Any] = json.loads(done.stdout)
    output: dict[str, Any] = answer["hookSpecificOutput"]
    assert output["hookEventName"] == event
    return output
