"""Hooks as whole processes on a store of 100,000 events, each timed in turn with an interpreter that does nothing."""

from __future__ import annotations

import json
import os
import uuid
from typing import TYPE_CHECKING

import corpus
from searching import questions
from timing import base_command, middle, share

if TYPE_CHECKING:
    from collections.abc import Callable

    from bench import Bench

PROMPT_RATIO = 4
STOP_RATIO = 15
TURN_BYTES = 500_000
MAX_SEGMENTS = 60
"""Of both indexes: Tantivy merges eight of a size into one, so that there are never many of any size."""
RECALLS, SMALL, UNKNOWN = "that recalls", "small talk, recalls nothing", "unknown words, recalls nothing"
SMALL_TALK = (
    "thanks, that looks good to me",
    "ok, go ahead",
    "yes please",
    "run it once more and tell me",
    "commit this",
)


def run_prompts(bench: Bench) -> None:
    """Section `hooks`."""
    env, events = bench.env(bench.big, bench.user), bench.status(bench.big, user=bench.user)["counts"]["events"]
    bench.report.figure("events in the store", events, least=100_000)
    forms = {
        "howcome hook": [*bench.command, "hook", "UserPromptSubmit"],
        "as installed": bench.hook("UserPromptSubmit"),
    }
    prompts = sorted_prompts(bench, env, forms["as installed"])
    for kind, texts in prompts.items():
        base: list[float] = []
        times: dict[str, list[float]] = {name: [] for name in forms}
        for number in range(bench.options.runs):
            base.append(bench.watch.run(base_command(), env)[0])
            for name, command in forms.items():
                payload = payload_of(bench, "UserPromptSubmit", prompt=texts[number % len(texts)])
                times[name].append(bench.watch.run(command, env, payload)[0])
        ratios(bench, f"prompt, {kind}", base, times, PROMPT_RATIO, "(aim 2.5)")


def sorted_prompts(bench: Bench, env: dict[str, str], hook: list[str]) -> dict[str, list[str]]:
    """Prompts that recall something and prompts that recall nothing, told apart by asking once."""
    asked = [text[:1500] for kind, text in questions(bench.said, 60, bench.options.seed + 2) if kind != "unknown"]
    unknown = [text for kind, text in questions(bench.said, 100, bench.options.seed + 3) if kind == "unknown"]
    found: dict[str, list[str]] = {kind: [] for kind in (RECALLS, SMALL, UNKNOWN)}
    for text in asked:
        answer = bench.watch.run(hook, env, payload_of(bench, "UserPromptSubmit", prompt=text))[1]
        if answer:
            found[RECALLS].append(text)
    for kind, texts in ((SMALL, SMALL_TALK), (UNKNOWN, unknown)):
        found[kind] = [
            t for t in texts if not bench.watch.run(hook, env, payload_of(bench, "UserPromptSubmit", prompt=t))[1]
        ]
    bench.report.figure("prompts of the corpus' own words that recall", 100 * len(found[RECALLS]) / len(asked), "%")
    return {kind: texts for kind, texts in found.items() if texts}


def payload_of(bench: Bench, event: str, **fields: str) -> str:
    payload = {"session_id": str(uuid.uuid4()), "transcript_path": bench.files[0], "cwd": bench.cwd, **fields}
    return json.dumps({"hook_event_name": event, "permission_mode": "default", **payload})


def ratios(
    bench: Bench, what: str, base: list[float], times: dict[str, list[float]], most: float | None, note: str
) -> None:
    for name, values in times.items():
        medians = f"(medians {middle(values):.1f} and {middle(base):.1f} ms)"
        bench.report.figure(f"{what}, {name}: median", middle(values) / middle(base), "x base", most=most, note=note)
        bench.report.figure(f"{what}, {name}: 95 of 100", share(values, 0.95) / middle(base), "x base", note=medians)


class _Growing:
    """A transcript of the user's, and one of a subagent of it, that grow between hooks."""

    def __init__(self, bench: Bench) -> None:
        self.session = corpus.Session("growing", cwd=bench.cwd)
        folder = os.path.join(bench.user, ".claude", "projects", "growing")
        self.path = os.path.join(folder, f"{self.session.id}.jsonl")
        self.agent = corpus.Session("agent", cwd=bench.cwd, agent="a1b2c3", session_id=self.session.id)
        self.agent_path = os.path.join(folder, self.session.id, "subagents", "agent-a1b2c3.jsonl")
        os.makedirs(os.path.dirname(self.agent_path))

    def grow(self, size: int, *, agent: bool = False) -> None:
        """Appends a turn of about so many bytes."""
        with open(self.agent_path if agent else self.path, "ab") as stream:
            stream.writelines((self.agent if agent else self.session).lines(size))

    def unread(self, bench: Bench) -> int:
        """Bytes of both that the store does not hold."""
        unread: int = bench.status(bench.big, user=bench.user)["unread"]["bytes"]
        return unread


def run_captures(bench: Bench) -> None:
    """Section `stop`."""
    env, growing = bench.env(bench.big, bench.user), _Growing(bench)
    growing.grow(20_000)
    growing.grow(5_000, agent=True)
    runs = max(15, bench.options.runs // 3)
    cases: list[tuple[str, str, Callable[[], object], float | None]] = [
        ("Stop after a turn of 500 KB", "Stop", lambda: growing.grow(TURN_BYTES), STOP_RATIO),
        ("Stop after a turn of 20 KB", "Stop", lambda: growing.grow(20_000), None),
        ("SessionStart with nothing to read", "SessionStart", lambda: None, None),
        ("SessionStart with 1 MB unread", "SessionStart", lambda: growing.grow(1_000_000), None),
        ("SubagentStop after 100 KB", "SubagentStop", lambda: growing.grow(100_000, agent=True), None),
        ("PreCompact after 100 KB", "PreCompact", lambda: growing.grow(100_000), None),
        ("SessionEnd with nothing to read", "SessionEnd", lambda: None, None),
    ]
    bench.report.figure("segments of the index before", _segments(bench.big))
    for name, event, prepare, most in cases:
        fields = {"session_id": growing.session.id, "transcript_path": growing.path, "source": "startup"}
        if event == "SubagentStop":
            fields["agent_transcript_path"] = growing.agent_path
        payload = payload_of(bench, event, **fields)
        command, base, times = bench.hook(event), [], []
        for _ in range(runs):
            prepare()
            base.append(bench.watch.run(base_command(), env)[0])
            times.append(bench.watch.run(command, env, payload)[0])
        ratios(bench, name, base, {"as installed": times}, most, "")
        bench.report.figure(f"{name}: bytes left unread", growing.unread(bench), most=0)
    bench.report.figure(
        f"segments of the index after {runs * 5} hooks that read", _segments(bench.big), most=MAX_SEGMENTS
    )


def _segments(home: str) -> int:
    """Of how many pieces the lexical indexes are made: each costs every search, and each hook adds one."""
    found = 0
    for folder, _, names in os.walk(os.path.join(home, "index")):
        if "meta.json" in names:
            with open(os.path.join(folder, "meta.json"), encoding="utf-8") as stream:
                found += len(json.load(stream)["segments"])
    return found
