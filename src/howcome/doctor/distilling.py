"""What a language model distils: whether there is one that may, and what it failed at."""

from __future__ import annotations

import os

from howcome.doctor.base import Finding, Machine, counted, edit
from howcome.learn.model_run import STOPPED
from howcome.learn.opening import not_allowed
from howcome.settings import ACTIVE, CONFIG_NAME

MOST_REASONS = 3


def check_batches(machine: Machine) -> list[Finding]:
    """Batches that wait do so for a budget, a switch or a pause; those that a model failed at wait for somebody."""
    if machine.settings.distiller == "llm" and machine.settings.llm == "off":
        what = "distiller is llm, and llm is off: memories are made without a model"
        return [Finding("warning", "distilling", what, edit(os.path.join(machine.home, CONFIG_NAME)))]
    if machine.app is None:
        return []
    counts = machine.app.learn.batch_counts()
    return [*_failed(machine, counts), *_waiting(machine, counts)]


def _failed(machine: Machine, counts: dict[str, int]) -> list[Finding]:
    if machine.app is not None and counts["dead"]:
        reasons = list(machine.app.learn.dead_reasons().items())[:MOST_REASONS]
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons)
        lasting = f", {counts['given_up']} of them for good" if counts["given_up"] else ""
        what = f"the model failed at {_batches(counts['dead'])}{lasting} ({why}); what was learnt without it stays"
        return [Finding("note" if counts["given_up"] == counts["dead"] else "warning", "distilling", what, _RETRY)]
    return []


def _waiting(machine: Machine, counts: dict[str, int]) -> list[Finding]:
    """What waits, and why; a pause after failures is told where the model is."""
    if machine.app is None or machine.settings.distiller != "llm":
        return []
    app, done = machine.app, f"{_batches(counts['done'])} done by the model"
    why, remedy = not_allowed(machine.settings), edit(os.path.join(machine.home, CONFIG_NAME))
    if ACTIVE in why:
        remedy = f"unset {ACTIVE}"
    if not why and app.spending.stopped_ms() is not None:
        why, remedy = STOPPED, "howcome spending --go"
    if why:
        sessions = counted(app.learn.sessions_waiting(), "session")
        what = f"{done}, {_batches(counts['pending'])} and {sessions} wait: {why}"
        return [Finding("warning", "distilling", what, remedy)]
    if counts["dead"]:  # said already
        return []
    return [Finding("ok", "distilling", f"{done}, {counts['pending']} wait")]


_RETRY = "howcome distil --retry"


def _batches(count: int) -> str:
    return f"{count} batch" if count == 1 else f"{count} batches"
