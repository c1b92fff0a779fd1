"""What `howcome stats` counts, counted again from raw transcripts of Claude Code: both must be equal.

    python benchmarks/recount.py FOLDER

FOLDER holds *.jsonl or *.jsonl.gz. This reads them by itself, with nothing of howcome's but the rule that says in which
way a command failed; then howcome reads them into a store of its own, and every count of every session is compared.
Prompts are left out: whose words a record holds is what the reader is for.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

from howcome.clients.discover import named_transcripts
from howcome.domain.commands import failure_of
from howcome.domain.stored import Scope
from howcome.evaluate.harness import Pool

WEEK_MS = 7 * 24 * 3_600_000
READS, EDITS = {"Read", "NotebookRead"}, {"Edit", "Write", "MultiEdit", "NotebookEdit"}
TOKENS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass
class Call:
    """A call with its result."""

    session: str
    agent: str | None
    tool: str
    values: dict[str, Any]
    ms: int
    result: str | None = None
    failed: bool = False
    code: int | None = None

    @property
    def file(self) -> str | None:
        """The file that it names."""
        named = (self.values.get(name) for name in ("file_path", "notebook_path", "path"))
        return next(filter(None, named), None)

    @property
    def worked(self) -> bool:
        """Whether a result came that is no failure."""
        return self.result is not None and not self.failed


@dataclass
class Raw:
    """What the transcripts of a folder hold."""

    calls: list[Call] = field(default_factory=list)
    compactions: Counter[str] = field(default_factory=Counter)
    usage: dict[str, tuple[int, ...]] = field(default_factory=dict)
    last_ms: int = 0


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a transcript."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def raw_of(paths: list[Path]) -> Raw:
    """Every call with its result, once, in the order of the files."""
    found, seen = Raw(), set[tuple[str, str, int]]()
    for path in paths:
        waiting: dict[tuple[str, str | None], Call] = {}
        now_ms = 0
        for record in records(path):
            kind, message = record.get("type"), record.get("message") or {}
            session, agent = record.get("sessionId"), record.get("agentId")
            if stamp := record.get("timestamp"):
                now_ms = max(now_ms, round(datetime.fromisoformat(stamp).timestamp() * 1000))
                found.last_ms = max(found.last_ms, now_ms)
            if kind == "system" and "compact_boundary" in (record.get("subtype") or ""):
                found.compactions[session] += ("", record["uuid"], 0) not in seen
                seen.add(("", record["uuid"], 0))
            if kind == "assistant" and (usage := message.get("usage")):
                took = tuple(usage.get(name) or 0 for name in TOKENS)
                before = found.usage.get(message["id"], took)
                found.usage[message["id"]] = max(before, took, key=lambda one: one[1])
            if kind == "assistant" and (record.get("isApiErrorMessage") or message.get("model") == "<synthetic>"):
                continue
            content = message.get("content") if kind in ("assistant", "user") else None
            for at, block in enumerate(content if isinstance(content, list) else ()):
                if kind == "assistant" and block.get("type") == "tool_use":
                    call = Call(session, agent, block["name"], block.get("input") or {}, now_ms)
                    waiting[block["id"], agent] = call
                    if (key := (kind, record["uuid"], at)) not in seen:
                        seen.add(key)
                        found.calls.append(call)
                elif kind == "user" and block.get("type") == "tool_result":
                    answer(waiting.pop((block["tool_use_id"], agent), None), block)
    return found


def answer(call: Call | None, block: dict[str, Any]) -> None:
    """Gives a call its result."""
    if call is not None:
        content = block.get("content")
        parts = [one.get("text", "") for one in content] if isinstance(content, list) else [content or ""]
        call.result = "\n".join(parts)
        said = re.match(r"(?:Error: )?Exit code (\d+)", call.result)
        call.code = int(said[1]) if said else None
        call.failed = bool(block.get("is_error")) or bool(call.code)


def recount(raw: Raw) -> dict[str, Counter[str]]:
    """The counts of each session."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    streams: dict[tuple[str, str | None], list[Call]] = defaultdict(list)
    for call in raw.calls:
        streams[call.session, call.agent].append(call)
    for (session, _), calls in streams.items():
        found[session].update(counts_of(calls))
    for session, count in raw.compactions.items():
        found[session]["compactions"] += count
    for session, what in rework(raw):
        found[session][what] += 1
    return found


def counts_of(calls: list[Call]) -> Iterator[str]:
    """What an agent's calls add to which counts."""
    known: set[str | None] = set()
    ways: Counter[object] = Counter()
    for call, following in zip(calls, [*calls[1:], None], strict=True):
        yield from ("calls", "tool: " + call.tool)
        yield from ["answered"] * (call.result is not None) + ["reads"] * (call.tool in READS)
        if call.failed:
            yield from ["failed"] + ["retried"] * (following is not None and following.tool == call.tool)
        if call.tool in EDITS:
            is_placed = call.tool != "Write"
            yield from ["edits"] + ["placed"] * is_placed + ["blind"] * (is_placed and call.file not in {*known, None})
        if call.worked and call.tool in READS | EDITS:
            known.add(call.file)
        if call.worked and call.tool in EDITS:
            ways.clear()
        elif call.worked and call.tool != "Bash":
            ways.pop((call.tool, call.file), None)
        elif call.failed and (way := way_of(call)) is not None:
            ways[way] += 1
            yield from ["spins"] * (ways[way] == 3)


def way_of(call: Call) -> object:
    """In which way a call failed; None where nobody can say."""
    if call.tool != "Bash":
        return (call.tool, call.file) if call.file else None
    if not call.code or call.code >= 128:
        return None
    failed = failure_of(call.values.get("command", ""), call.result or "")
    return failed.exact if failed else None


def rework(raw: Raw) -> Iterator[tuple[str, str]]:
    """What other sessions did to edits and files within a week."""
    files: dict[str, list[Call]] = defaultdict(list)
    for call in raw.calls:
        if call.tool in EDITS and call.worked and call.file:
            files[call.file].append(call)
    for made in files.values():
        made.sort(key=lambda call: call.ms)
        for call in {call.session: call for call in made}.values():
            if call.ms + WEEK_MS <= raw.last_ms:
                yield call.session, "edited"
                yield from [(call.session, "again")] * any(after(call, other) for other in made)
        sides = [(call, *lines_of(call)) for call in made]
        for call, old, new in sides:
            lines = {line for line in added(old, new) if line}
            if lines and call.ms + WEEK_MS <= raw.last_ms:
                yield call.session, "settled"
                gone = {line for other, was, now in sides if after(call, other) for line in {*was} - {*now}}
                yield from [(call.session, "reworked")] * (2 * len(lines & gone) > len(lines))


def after(one: Call, other: Call) -> bool:
    """Whether another session's call came within a week after one."""
    return one.session != other.session and 0 < other.ms - one.ms <= WEEK_MS


def lines_of(call: Call) -> tuple[list[str], list[str]]:
    """The lines that an edit replaced, and those that it wrote, without indentation."""
    sides = call.values.get("old_string", ""), call.values.get("content", call.values.get("new_string", ""))
    old, new = ([line.strip() for line in side.split("\n")] for side in sides)
    return old, new


def added(old: list[str], new: list[str]) -> list[str]:
    """The lines of a text that another one did not have."""
    head = next((at for at, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    steps = SequenceMatcher(None, old[head:], new[head:], autojunk=False).get_opcodes()
    return [line for step, *_, start, end in steps if step != "equal" for line in new[head + start : head + end]]


def main(folder: str) -> int:
    """Prints both counts; 1 where any differs."""
    paths = named_transcripts([folder])
    raw = raw_of([Path(one.path) for one in paths])
    ours = recount(raw)
    with tempfile.TemporaryDirectory() as home:
        pool = Pool(home)
        with pool.open("/recount/recount") as app:
            for one in paths:
                app.ingest.file(one)
            app.index.note_commands()
            theirs = app.telemetry.counts(Scope.everything()).sessions
            tokens = app.telemetry.spent(Scope.everything()).every
    differing = [
        (session, name, ours[session][name], theirs.get(session, Counter())[name])
        for session in sorted({*ours, *theirs})
        for name in sorted({*ours[session], *theirs.get(session, ())} - {"prompts"})
        if ours[session][name] != theirs.get(session, Counter())[name]
    ]
    for name in sorted({name for counts in ours.values() for name in counts}):
        print(f"{name:44} {sum(one[name] for one in ours.values()):>9} {sum(one[name] for one in theirs.values()):>9}")
    both = [*zip(TOKENS, map(sum, zip(*raw.usage.values(), strict=True)), list(tokens.values())[1:], strict=True)]
    for name, own, other in both:
        print(f"{name:44} {own:>13} {other:>13}")
    print(f"{len(ours)} sessions; {len(differing)} counts of sessions differ", *differing[:20], sep="\n")
    return bool(differing) or any(own != other for _, own, other in both)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
