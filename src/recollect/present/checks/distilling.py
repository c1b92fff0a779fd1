"""What a language model distils: whether there is one that may, and what it failed at."""

from __future__ import annotations

import os

from recollect.present.checks.base import Finding, Machine, edit
from recollect.settings import CONFIG_NAME

MOST_REASONS = 3


def check_batches(machine: Machine) -> list[Finding]:
    """Batches that wait do so for a budget or a pause; those that a model failed at wait for somebody."""
    if machine.settings.distiller == "llm" and machine.settings.llm == "off":
        what = "distiller is llm, and llm is off: only the rules distil"
        return [Finding("warning", "distilling", what, edit(os.path.join(machine.home, CONFIG_NAME)))]
    app = machine.app
    if app is None:
        return []
    counts = app.store.batch_counts()
    if counts["dead"]:
        reasons = list(app.store.dead_batch_reasons().items())[:MOST_REASONS]
        why = "; ".join(f"{count}: {reason}" for reason, count in reasons)
        lasting = f", {counts['given_up']} of them for good" if counts["given_up"] else ""
        what = f"the model failed at {_batches(counts['dead'])}{lasting} ({why}); what the rules say of them stays"
        return [Finding("note" if counts["given_up"] == counts["dead"] else "warning", "distilling", what, _RETRY)]
    if machine.settings.distiller != "llm":
        return []
    return [Finding("ok", "distilling", f"{_batches(counts['done'])} done by the model, {counts['pending']} wait")]


_RETRY = "recollect distil --retry"


def _batches(count: int) -> str:
    return f"{count} batch" if count == 1 else f"{count} batches"
