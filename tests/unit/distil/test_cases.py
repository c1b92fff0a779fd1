"""Labelled micro-cases: events in, a memory or a rejection out (tests/cases/distil/README.md has their form)."""

from __future__ import annotations

import json
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pytest
from tests.noting import with_following

from howcome.domain import events
from howcome.domain.candidates import REASONS, Candidate
from howcome.domain.memories import TYPES
from howcome.domain.stored import StoredEvent
from howcome.learn.base import stream_of
from howcome.learn.rules import RuleDistiller

FOLDER = Path(__file__).resolve().parents[2] / "cases" / "distil"
TAUGHT = frozenset(("decision", "failure", "pattern", "discovery"))
"""What rules find; of dependencies and open tasks there are near misses only."""

START_MS = int(datetime.fromisoformat("2026-03-19T10:00:00+00:00").timestamp() * 1000)
MINUTE_MS = 60_000
ORIGINS = {
    events.USER_PROMPT: events.ORIGIN_USER, events.ASSISTANT_TEXT: events.ORIGIN_ASSISTANT,
    events.ASSISTANT_THINKING: events.ORIGIN_ASSISTANT, events.TOOL_CALL: events.ORIGIN_ASSISTANT,
    events.TOOL_RESULT: events.ORIGIN_TOOL, events.COMPACTION: events.ORIGIN_TOOL,
}  # fmt: skip

LABELLED: dict[str, list[dict[str, Any]]] = {
    path.stem: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted(FOLDER.glob("*.jsonl"))
}
"""The cases of each type of memory."""

CASES = [
    pytest.param(case, id=f"{kind}-{number:02}")
    for kind, cases in LABELLED.items()
    for number, case in enumerate(cases, 1)
]


def stored(values: dict[str, Any], number: int) -> StoredEvent:
    """An event of a case as the store would give it."""
    at = values.get("at")
    ts_ms = int(datetime.fromisoformat(at).timestamp() * 1000) if at else START_MS + number * MINUTE_MS
    text, file = str(values["text"]), values.get("file")
    if file is None and values["kind"] == events.TOOL_CALL:
        file = events.call_file(json.loads(text)) if text.startswith("{") else None
    return StoredEvent(
        {
            "row": number + 1, "key": blake2b(f"{number}".encode(), digest_size=16).digest(),
            "kind": events.KINDS.index(values["kind"]),
            "origin": events.ORIGINS.index(values.get("origin") or ORIGINS[values["kind"]]), "session": "s",
            "client": "claude-code", "project": "/home/mara/harbour", "ts_ms": ts_ms, "order_ms": ts_ms,
            "tool": values.get("tool"), "file": file, "branch": "main", "agent_id": None,
            "failed": values.get("failed", False if values["kind"] == events.TOOL_RESULT else None),
            "exit_code": values.get("exit_code"), "text_chars": len(text), "excerpt": text[:300],
        },
        text,
    )  # fmt: skip


def distilled(case: dict[str, Any]) -> tuple[list[Candidate], dict[str, int]]:
    """Everything a case's exchanges teach, and the rejections."""
    found: list[Candidate] = []
    rejected: dict[str, int] = {}
    stream = stream_of([stored(values, number) for number, values in enumerate(case["events"])])
    for exchange, following in with_following(stream):
        gave = RuleDistiller().distil(exchange, following)
        found += gave.candidates
        for reason, count in gave.rejected.items():
            rejected[reason] = rejected.get(reason, 0) + count
    return found, rejected


def plain(text: str) -> str:
    """A text as facts are looked for in it."""
    return " ".join(text.replace("`", "").split()).casefold()


def matches(candidate: Candidate, wanted: dict[str, Any]) -> bool:
    """Whether a candidate is what a case asks for."""
    text = plain(candidate.text)
    return (
        candidate.type == wanted["type"]
        and all(plain(fact) in text for fact in wanted.get("contains", ()))
        and not any(plain(fact) in text for fact in wanted.get("lacks", ()))
        and candidate.origin == wanted.get("origin", candidate.origin)
    )


@pytest.mark.parametrize("kind", TYPES)
def test_each_type_has_its_cases(kind: str) -> None:
    """Of what rules teach more than half are memories of that type, the others near misses of any."""
    cases = LABELLED[kind]
    wanted = [case["memory"]["type"] for case in cases if "memory" in case]
    assert len({json.dumps(case["events"]) for case in cases}) == len(cases)
    assert (len(cases), wanted) == ((50, [kind] * 28) if kind in TAUGHT else (len(cases), []))
    assert len(cases) > 20
    assert all(("memory" in case) is not ("rejected" in case) for case in cases)
    assert all(case.get("rejected", True) in (True, *REASONS) for case in cases)


def test_no_two_cases_say_that_they_test_the_same() -> None:
    """A name is one case's."""
    names = [case["name"] for cases in LABELLED.values() for case in cases]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("kind", "words", "facts"),
    [
        ("discovery", "error_handler.py. So frustrating. @jake found it", ["401", "200", "error_handler.py"]),
        ("decision", "use Celery instead of RQ because we need retry logic", ["Celery", "RQ", "retry"]),
        ("decision", "const CLI_TIMEOUT_MS = 12_000", ["classify.ts", "12s", "8.0s"]),
        ("decision", "Had a great weekend", []),
    ],
)
def test_the_requirements_own_examples_are_among_them(kind: str, words: str, facts: list[str]) -> None:
    """With the facts that have to come out, or nothing."""
    [case] = [case for case in LABELLED[kind] if any(words in event["text"] for event in case["events"])]
    assert set(facts) <= set(case.get("memory", {}).get("contains", []))
    assert ("rejected" in case) is not bool(facts)


@pytest.mark.parametrize("case", CASES)
def test_a_labelled_case_gives_what_its_label_says(case: dict[str, Any]) -> None:
    """A memory with the facts of the label, or none at all."""
    found, rejected = distilled(case)
    shown = [f"{one.type}/{one.origin}: {one.text}" for one in found]
    assert all(one.type in TYPES and 20 <= len(one.text) <= 8000 and one.evidence for one in found)
    assert set(rejected) <= set(REASONS)
    if "memory" in case:
        assert any(matches(one, case["memory"]) for one in found), (case["name"], shown, rejected)
        return
    assert not found, (case["name"], shown)
    reasons = {case["rejected"]} - {True}
    assert not rejected or reasons <= set(rejected), (case["name"], rejected)
