"""The doors of the product as users and agents open them, and what is wrong with how one ended.

The same judgement for every fault: a hook is silent or answers in JSON, a command says one line or prints JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.processes import COMMAND, HOOK, HOOK_FIELDS, payload

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.hostile.stage import Stage

LIMIT_S = 90
DEADLINE_MS = "20000"
QUESTION = "why does berth3 fail again?"
_TRACES = (b"Traceback", b"panicked at", b'.py", line', b"RUST_BACKTRACE", b"Segmentation", b"core dumped")


class Door(NamedTuple):
    """One way in: the words behind the program; a hook is named by its event."""

    name: str
    words: tuple[str, ...]
    is_hook: bool = False
    codes: tuple[int, ...] = (0, 1)
    after: str = ""
    """The door that gives it work."""


DOORS = {
    door.name: door
    for door in (
        Door("Stop", ("Stop",), is_hook=True),
        Door("UserPromptSubmit", ("UserPromptSubmit",), is_hook=True),
        Door("SessionStart", ("SessionStart",), is_hook=True),
        Door("import", ("import", "--json", "TRANSCRIPTS")),
        Door("search", ("search", "--json", "--all-projects", QUESTION)),
        Door("remember", ("remember", "--json", "--project", "HARBOUR", "NOTE")),
        Door("doctor", ("doctor", "--json")),
        Door("status", ("status", "--json")),
        Door("distil", ("distil", "--json"), after="import"),
    )
}
"""Every door that is tried; TRANSCRIPTS, HARBOUR and NOTE stand for what the stage has there."""


class Outcome(NamedTuple):
    """How a process ended: its exit code (None: it did not, in time) and what it wrote."""

    code: int | None
    out: bytes
    err: bytes

    @property
    def answer(self) -> Any:
        """Its standard output as JSON."""
        return json.loads(self.out)


def opened(
    door: Door, stage: Stage, more: Mapping[str, str] = {}, before: tuple[str, ...] = (), *,
    data: bytes = b"", installed: bool = False,
) -> Outcome:  # fmt: skip
    """Runs a door to its end.

    Args:
        door: Which one.
        stage: The store and the transcripts.
        more: Variables on top of the environment.
        before: The words of what starts it (a script that sets limits, for one).
        data: What a command reads; a hook reads its payload.
        installed: A hook as agents run it: by a shell that hides stderr and the exit code.
    """
    standing = {"TRANSCRIPTS": str(stage.transcripts), "HARBOUR": stage.harbour.cwd, "NOTE": stage.note}
    words = [*before, *(HOOK if door.is_hook else COMMAND), *(standing.get(word, word) for word in door.words)]
    if installed:
        words = ["sh", "-c", '"$@" 2>/dev/null || true', "sh", *words]
    deadlines = {f"HOWCOME_{name}_DEADLINE_MS": DEADLINE_MS for name in ("PROMPT", "INGEST", "START")}
    environment = {**os.environ, **deadlines, **stage.environment, **more}
    data = _payload(door, stage) if door.is_hook else data
    try:
        done = subprocess.run(words, input=data, capture_output=True, check=False, timeout=LIMIT_S, env=environment)
    except subprocess.TimeoutExpired as late:
        return Outcome(None, late.stdout or b"", late.stderr or b"")
    return Outcome(done.returncode, done.stdout, done.stderr)


def _payload(door: Door, stage: Stage) -> bytes:
    fields = {**HOOK_FIELDS[door.name], **({"prompt": QUESTION} if door.name == "UserPromptSubmit" else {})}
    session = "asking" if door.name == "UserPromptSubmit" else stage.harbour.session
    return payload(door.name, stage.harbour_path, session, cwd=stage.harbour.cwd, **fields)


def complaints(door: Door, outcome: Outcome) -> list[str]:
    """What is wrong with how a door ended; [] when nothing is."""
    if outcome.code is None:
        return [f"{door.name} did not end within {LIMIT_S} s"]
    found = [f"{door.name}: {mark.decode()} on stderr: {_end(outcome.err)}" for mark in _TRACES if mark in outcome.err][
        :1
    ]
    return found or (_of_hook(door, outcome) if door.is_hook else _of_command(door, outcome))


def _of_hook(door: Door, outcome: Outcome) -> list[str]:
    found = []
    if outcome.code or outcome.err:
        found.append(f"{door.name} ended with {outcome.code}: {_end(outcome.err)}")
    if outcome.out and not _is_answer(door, outcome.out):
        found.append(f"{door.name} printed {outcome.out[:200]!r}")
    return found


def _of_command(door: Door, outcome: Outcome) -> list[str]:
    if outcome.code not in door.codes:
        return [f"{door.name} ended with {outcome.code}: {_end(outcome.err)}"]
    if outcome.out and not _is_json(outcome.out):
        return [f"{door.name} printed {outcome.out[:200]!r}"]
    if outcome.code and not outcome.out and not outcome.err.startswith(b"howcome: "):
        return [f"{door.name} ended with {outcome.code} and said {_end(outcome.err)}"]
    return []


def _is_answer(door: Door, out: bytes) -> bool:
    try:
        answer = json.loads(out)["hookSpecificOutput"]
    except (ValueError, KeyError, TypeError):
        return door.name in ("SessionStart", "PreCompact") and _is_json(out)
    return bool(answer["hookEventName"] == door.name)


def _is_json(out: bytes) -> bool:
    try:
        json.loads(out)
    except ValueError:
        return False
    return True


def _end(err: bytes) -> str:
    return err.decode("utf-8", "replace").strip()[-400:] or "nothing"
