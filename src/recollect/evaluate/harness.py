"""Data sets through the façade: each folder is one project in one store of its own, each question asked there."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from recollect.app import App, open_app
from recollect.capture.records import parse_time_ms
from recollect.domain.stored import Scope
from recollect.evaluate.datasets import clean_questions, find, kind_of, read_rows
from recollect.evaluate.metrics import NAMES, interval, mean, percentile, score_ranking
from recollect.retrieve.question import Question
from recollect.settings import read_settings

RANKED_SESSIONS = 50
HUMAN_CATEGORIES = ("commit", "pr", "branch")
"""Questions that people wrote: commit subjects, titles, first prompts."""


def evaluate_set(folder: Path, progress: Callable[[str], None]) -> dict[str, object]:
    """The figures of one data set, as JSON values."""
    if kind_of(folder) == "secrets":
        return evaluate_secrets(folder)
    return evaluate_sessions(folder, progress)


def evaluate_sessions(folder: Path, progress: Callable[[str], None]) -> dict[str, object]:
    """any@k, R@k, MRR and nDCG@10 of a folder's questions at session level, with latency."""
    with tempfile.TemporaryDirectory(prefix="recollect-eval-") as home:
        settings = read_settings({"RECOLLECT_HOME": home, "HOME": home})
        with open_app(settings, fixed_root=str(folder.resolve())) as app:
            progress(f"{folder.name}: reading transcripts")
            _import(app, folder)
            progress(f"{folder.name}: asking")
            return {"set": folder.name, **_ask(app, folder)}


def _import(app: App, folder: Path) -> None:
    from recollect.capture.discover import named_transcripts

    for found in named_transcripts([str(folder / "transcripts")]):
        app.ingest_file(found)
    app.index_new_rows()
    app.store.release_index()


def _ask(app: App, folder: Path) -> dict[str, object]:
    scope = app.scope_of(str(folder.resolve()))
    newest = app.store.last_ms()
    by_category: dict[str, list[dict[str, float]]] = defaultdict(list)
    times_ms: list[float] = []
    questions = clean_questions(folder)
    for question in questions:
        started = time.perf_counter()
        ranked = _ranked_sessions(app, question, scope, newest)
        times_ms.append((time.perf_counter() - started) * 1000)
        evidence = question["evidence_sessions"]
        relevant = {str(name) for name in evidence} if isinstance(evidence, list) else set()
        scores = score_ranking(ranked, relevant)
        category = str(question.get("category") or "all")
        by_category[category].append(scores)
    everything = [scores for rows in by_category.values() for scores in rows]
    human = [scores for name in HUMAN_CATEGORIES for scores in by_category.get(name, ())]
    return {
        "questions": len(questions),
        "all": _figures(everything),
        "human-written": _figures(human),
        "categories": {name: _figures(rows) for name, rows in sorted(by_category.items())},
        "latency_ms": {"p50": percentile(times_ms, 0.5), "p95": percentile(times_ms, 0.95)},
    }


def _ranked_sessions(app: App, question: dict[str, object], scope: Scope, newest: int) -> list[str]:
    before = question.get("before")
    before_ms = (parse_time_ms(before) if before else None) or newest + 1
    asking = question.get("self")
    limit = RANKED_SESSIONS + bool(asking)
    found = app.search(
        Question(str(question["question"]), scope, limit=limit, by_session=True, before_ms=before_ms)
    )
    sessions = [item.event.session for item in found if item.event is not None]
    return [session for session in sessions if session != asking][:RANKED_SESSIONS]


def _figures(rows: list[dict[str, float]]) -> dict[str, object]:
    figures: dict[str, object] = {"n": len(rows)}
    for name in NAMES:
        values = [row[name] for row in rows]
        low, high = interval(values)
        figures[name] = {"mean": round(mean(values), 4), "low": round(low, 4), "high": round(high, 4)}
    return figures


def evaluate_secrets(folder: Path) -> dict[str, object]:
    """The share of secrets in which something is redacted, and of clean texts in which something is (wrongly)."""
    from recollect.ingest.secrets import Redactor

    redactor = Redactor(b"evaluation key, not a secret one")
    shares: dict[str, float] = {}
    sizes: dict[str, int] = {}
    missed: dict[str, int] = defaultdict(int)
    for name in ("secrets", "clean"):
        path = find(folder, name)
        rows = list(read_rows(path)) if path else []
        touched = 0
        for row in rows:
            text = str(row["text"])
            is_touched = redactor.redact(text) != text
            touched += is_touched
            if name == "secrets" and not is_touched:
                missed[str(row.get("source", ""))] += 1
        sizes[name], shares[name] = len(rows), touched / len(rows) if rows else 0.0
    return {
        "set": folder.name, "secrets": sizes["secrets"], "clean": sizes["clean"],
        "recall": round(shares["secrets"], 4), "clean_touched": round(shares["clean"], 4), "missed": dict(missed),
    }  # fmt: skip


def as_text(figures: dict[str, object]) -> str:
    """The figures of one set for people."""
    if "recall" in figures:
        return (
            f"{figures['set']}: recall {figures['recall']:.3f} of {figures['secrets']} secrets,"
            f" {figures['clean_touched']:.3f} of {figures['clean']} clean texts touched; missed: {figures['missed']}"
        )
    latency: Any = figures["latency_ms"]
    heading = f"{figures['set']}: {figures['questions']} questions without leaks,"
    lines = [
        f"{heading} search p50 {latency['p50']:.1f} ms, p95 {latency['p95']:.1f} ms",
        f"{'':<16}{'n':>5}" + "".join(f"{name:>22}" for name in ("any@5", "any@10", "MRR", "nDCG@10")),
    ]
    categories: Any = figures["categories"]
    groups: dict[str, Any] = {"all": figures["all"], "human-written": figures["human-written"], **categories}
    for name, group in groups.items():
        if group["n"]:
            cells = (group[metric] for metric in ("any@5", "any@10", "MRR", "nDCG@10"))
            row = "".join(f"{cell['mean']:>8.3f} [{cell['low']:.3f} {cell['high']:.3f}]" for cell in cells)
            lines.append(f"{name:<16}{group['n']:>5}{row}")
    return "\n".join(lines)


def as_json(figures: list[dict[str, object]]) -> str:
    """The figures of several sets for programs."""
    return json.dumps({"sets": figures}, ensure_ascii=False)
