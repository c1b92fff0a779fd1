"""Planting every kind of secret into every field of every door, and looking for what is left of them."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import TYPE_CHECKING, Any

import re2
from tests.builders import Claude, Codex, write
from tests.hostile.scale import of
from tests.mcp_server import McpServer
from tests.processes import hook, payload, run

from howcome.app import open_app
from howcome.domain.memories import MAX_AGENT_CHARS
from howcome.domain.spending import Call, Caps
from howcome.redact.gate import Gate
from howcome.redact.redactor import RULES, Redactor
from howcome.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REDACTOR = Redactor(b"only to find where the values are")
SAMPLES = [(rule.name, sample) for rule in RULES for sample in rule.samples]
MIN_CHARS = 6
"""What is shorter is in any file by chance."""


def values_of(sample: str) -> set[str]:
    """The secret values in a sample."""
    return {sample[finding.start : finding.end] for finding in REDACTOR.scan(sample)}


VALUES = {(name, value) for name, sample in SAMPLES for value in values_of(sample) if len(value) >= MIN_CHARS}


FORMS = [(name, form.encode()) for name, value in VALUES for form in (value, json.dumps(value)[1:-1])]
"""Each value as it is, and as JSON writes it."""


@cache
def _any_form() -> Any:
    """Finds any of them in one pass; one by one they are looked for only where there is one."""
    options = re2.Options()
    options.max_mem = 1 << 28
    return re2.compile(b"|".join(re2.escape(form) for _, form in FORMS), options=options)


def left_in(data: bytes) -> set[str]:
    """The rules whose samples are there, as they are or as JSON writes them."""
    return {name for name, form in FORMS if form in data} if _any_form().search(data) else set()


def on_one_line(sample: str) -> str:
    """A sample as a name of something: one line, no control characters."""
    return "".join(char if char.isprintable() else " " for char in sample)


def as_owner(line: str) -> str:
    """A name that fits: half a secret is none that rules know."""
    return line if len(line) <= MAX_AGENT_CHARS else "owner"


_GATE = Gate(lambda: b"only to find where the values are")


def _is_seen(line: str) -> bool:
    """Whether all that is secret in a name is found in whatever a door makes of it: some need what is before them."""
    path = f"/home/mara/{line}"
    made = (line, f"s {line}", f"toolu {line}", f"refused: {line}", path, os.path.normpath(path))
    return bool(values_of(line)) and not left_in("\n".join(map(_GATE.text, made)).encode())


@cache
def names() -> list[tuple[str, str]]:
    """The samples that are secrets on one line, too, behind a word and at the end of a path, with their rules."""
    return [(name, line) for name, sample in SAMPLES if _is_seen(line := on_one_line(sample))]


@cache
def bare() -> list[str]:
    """Those that need nothing around them: what is taken out of a file's name, or of its source, is one still."""
    return [
        line for _, line in names()
        if "/" not in line and len(line.encode()) < 200 and all(REDACTOR.scan(value) for value in values_of(line))
    ]  # fmt: skip


def bare_kinds() -> set[str]:
    """The rules of those."""
    return {name for name, line in names() if line in bare()}


# -- doors ---------------------------------------------------------------------------------------------------------
def transcripts(folder: Path) -> Iterator[Path]:
    """Records of both clients with a secret in each field beside the words; files named by secrets.

    Some of the secrets name a folder to work in: each of those is a project, with an index of its own.
    """
    some = slice(None, None, of(12, 4))
    records: list[Any] = []
    for number, (_, line) in enumerate(names()):
        cwd = "/home/mara/pier" if number % of(12, 4) else f"/home/mara/{line}"
        claude = Claude(session=f"s {line}", cwd=cwd, gitBranch=line, agentId=line)
        records += [
            claude.user(f"question {number}"),
            claude.call(line, f"toolu {line}", file_path=f"/home/mara/{line}/a.py"),
            claude.result(f"toolu {line}", "done", is_error=True),
            {"type": f"s {line}", "uuid": line, "sessionId": line},
            b'{"broken": "' + line.encode() + b"\n",
        ]
    yield write(folder / "many.jsonl", *records)
    for number, (_, line) in enumerate(names()[some]):
        cwd = "/home/mara/pier" if number % 4 else f"/home/mara/code/{line}/src"
        claude, codex = Claude(session=f"p{number}"), Codex(session=f"s {line}", cwd=cwd)
        # it waits for its result beside the cursor
        yield write(folder / f"{number}.jsonl", claude.call("Read", "toolu_1", file_path=f"/srv/{line}"))
        rollout = [
            codex.meta(git={"branch": line}), codex.message("user", f"task {number}"),
            codex.call(f"s {line}", ["cat", "x"]), codex.output(f"s {line}", "y"), codex.call(line, ["ls"]),
        ]  # fmt: skip
        yield write(folder / "codex" / f"rollout-{number}.jsonl", *rollout)
    for line in bare()[some]:
        yield write(folder / "named" / f"{line}.jsonl", {**Claude().user("who am I?"), "sessionId": ""})
        yield write(folder / line / "inside.jsonl", *Claude(session=f"s {line}").exchange("jetty"))


def observations() -> bytes:
    """Observations with a secret in each field, valid and not."""
    found: list[dict[str, Any]] = []
    for number, (_, line) in enumerate(names()):
        base = {"agent": "cursor", "session_id": f"o{number}", "cwd": "/home/mara/pier", "text": "a word"}
        call = {"kind": "tool_result", "tool": "Shell", "tool_input": {"command": "ls"}}
        every = [
            {**base, "session_id": line}, {**base, "cwd": f"/home/mara/{line}"}, {**base, "branch": line},
            {**base, **call, "tool": line}, {**base, **call, "file": f"/home/{line}"}, {**base, "id": line},
            {**base, "kind": line}, {**base, "agent": line}, {**base, "v": line}, {**base, "ts": line},
            {**base, **call, "tool_input": {"env": {"nested": [line]}, line: "x"}}, {**base, line: "x"},
        ]  # fmt: skip
        found += every[number % 3 :: 3]  # each secret in a third of the fields, each field with a third of them
    return "\n".join(map(json.dumps, found)).encode()


def exported() -> bytes:
    """An export of memories with a secret in each field, valid and not."""
    lines: list[dict[str, Any]] = [{"howcome": "memories", "version": 1}]
    for number, (name, line) in enumerate(names()):
        base = {
            "key": f"{number:032x}", "type": "decision", "text": f"{name}:\n{line}", "origin": "user",
            "status": "open", "created_ms": 1, "agent": as_owner(line), "project": f"/home/mara/{line}",
            "subject": line,
        }  # fmt: skip
        lines.append(base)
        fields = ("key", "type", "origin", "status", "evidence", "source", "said", "created_ms")
        lines += [{**base, "key": f"{number:031x}f", field: line} for field in fields]
    return "\n".join(map(json.dumps, lines)).encode()


def by_hand(folder: Path) -> None:
    """Memories, notes and receipts by the façade, which is what every door calls."""
    with open_app(read_settings({**os.environ, "HOWCOME_HOME": str(folder)})) as app:
        for number, (name, line) in enumerate(names()):
            now_ms = 1_000_000 + number
            if number % 5 == 0:
                text = f"{name} {number}:\n{line}"
                kept, _ = app.memories.add(text, project=f"/home/mara/{line}", agent=as_owner(line))
            if number % 20 == 0:
                app.memories.update(kept.id, text=f"{name} is not\n{line}", agent=as_owner(line))
            app.store.injections.record(f"s {line}", "UserPromptSubmit", now_ms, [(1, 0.5)])
            app.store.injections.record(f"s {line}", "UserPromptSubmit", now_ms, (), [(kept.row, 0.5)])
            app.store.model_answers.pause(f"s {line}", now_ms, 2**50, f"refused: {line}")
            app.store.model_answers.keep(str(number).encode(), {"files": [line], line: line}, 0, now_ms)
            row, _ = app.store.spending.reserve(Call("classify", line, line, 1), Caps(10**6, 10**9), now_ms)
            assert row


def hooks(folder: Path, transcript: Path) -> str:
    """Hooks with a secret in each field of their payload; what they say."""
    said = []
    for _, line in names()[::60]:
        for event in ("UserPromptSubmit", "Stop", "SessionStart"):
            data = payload(event, transcript, line, cwd=f"/home/mara/{line}", prompt="which berth?", model=line)
            done = hook(event, data)
            said += [done.stdout.decode(), done.stderr.decode()]
        done = hook(line, payload("Stop", folder / on_one_line(line).replace("/", " ")[:100], line))
        said += [done.stdout.decode(), done.stderr.decode()]
    return "".join(said)


def tools(folder: Path) -> str:
    """MCP tools with a secret in each argument; what they answer when it is an error."""
    said = []
    with McpServer(cwd=folder) as server:
        for _, line in names()[::10]:
            remembered = (
                {"text": line, "type": "decision"}, {"text": "a word", "type": line},
                {"text": "a word", "agent_id": as_owner(line)}, {"text": "a word", "evidence": [line]},
            )  # fmt: skip
            said += [server.call("remember", **arguments) for arguments in remembered]
            said += [
                server.call("update_memory", id=line, text=line), server.call("forget", id=line),
                server.call("search_memory", query="berth", types=[line]),
                server.call("get_timeline", session_id=line, project=line),
            ]  # fmt: skip
    return "".join(answer.text for answer in said if answer.is_error)


def command(*words: str, data: bytes = b"") -> str:
    """What a command says, on both streams."""
    done = run(*words, data=data)
    return done.stdout + done.stderr


def refused() -> str:
    """What commands say of arguments that they cannot use."""
    said = []
    for _, line in names()[::90]:
        for words in (
            ("remember", "--type", line, "x"), ("update", line, "--text", line), ("show", line),
            ("import", f"/nowhere/{line}"), (f"--{line}",), ("search", "--type", line, "x"),
            ("search", "--project", line, "x"), ("export", f"/nowhere/{line}/x"),
        ):  # fmt: skip
            done = run(*words)
            said.append(done.stderr)
    return "".join(said)


def repository(folder: Path) -> Path:
    """A project with files that are named by secrets, and import such."""
    for line in bare():
        (folder / f"{line}.py").write_text(f"import {line}\nfrom a import b\n", encoding="utf-8")
    (folder / "a.py").write_text("b = 1\n", encoding="utf-8")
    return folder
