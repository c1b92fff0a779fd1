"""Search by meaning: whether something can embed texts, and what is missing for it."""

from __future__ import annotations

import os
from typing import Any

from howcome.app import App
from howcome.doctor.base import Finding, Level, Machine, counted, edit, in_units, quoted
from howcome.doctor.source import extra_remedy
from howcome.providers.embed import BUILDING, RUNNING, EmbeddingStatus, embedding_status, model_name
from howcome.settings import CONFIG_NAME, Settings

EXTRA = "semantic"
"""The extra of howcome with the packages that embedding needs."""

TURNS_A_SECOND = 53
"""What one core embeds with the local model: docs/evaluation.md, "Speed of search"."""

_WORDS = "search is by words only"
_UNASKED = "an endpoint: `howcome doctor` asks it"


def check_embedding(machine: Machine) -> list[Finding]:
    """What the settings ask for is here. By default it need not be: then that is a note, no warning."""
    if machine.settings_problem is not None:  # said by the check of the settings
        return []
    status = embedding_status(machine.settings)
    if status.state == "ready":
        return [Finding("ok", "embedding", f"search by meaning: {status.what}")]
    if status.state == "off":
        return [Finding("ok", "embedding", status.what)]
    chosen = machine.settings.embedding
    level: Level = "note" if chosen == "auto" and status.state != "damaged" else "warning"
    what = f"{status.what}: {_WORDS}" if chosen == "auto" else f'embedding = "{chosen}", but {status.what}: {_WORDS}'
    return [Finding(level, "embedding", what, remedy_of(status, machine.home))]


def check_vectors(machine: Machine) -> list[Finding]:
    """Every turn has a vector of the model that the settings mean; what is left of other models is told."""
    app = machine.app
    if app is None or machine.settings_problem is not None or machine.settings.embedding == "off":
        return []
    facts = vector_facts(app, machine.settings)
    if facts["state"] not in ("ready", "unasked"):  # said by the check of the embedder
        return []
    return [_of_current(facts), *_of_others(machine, facts)]


def _of_current(facts: dict[str, Any]) -> Finding:
    model, behind = facts["model"], facts["turns_without_vectors"]
    if facts["problem"]:
        what = f"the vectors of {model} cannot be used ({facts['problem']}): {_WORDS}"
        return Finding("warning", "vectors", what, "howcome model embed")
    if behind:
        what = f"{counted(behind, 'turn')} without a vector: found by words only until a session's worker embeds them"
        return Finding("note", "vectors", what, "howcome model embed")
    return Finding("ok", "vectors", f"every turn has a vector: {described(facts)}")


def _of_others(machine: Machine, facts: dict[str, Any]) -> list[Finding]:
    others = [each for each in facts["models"] if each["model"] != facts["model"]]
    return [
        Finding(
            "note",
            "vectors",
            f"{in_units(each['size_bytes'])} of vectors of {each['model']}, which is not used now",
            f"rm -r {quoted(os.path.join(machine.home, 'index', each['folder']))}",
        )
        for each in others
    ]


def vector_facts(app: App, settings: Settings) -> dict[str, Any]:
    """What there is of vectors, as JSON values. No model is loaded, no endpoint asked.

    `state` is that of `EmbeddingStatus`, or `unasked` for an endpoint; `turns_without_vectors` and `vectors` are of the
    settings' `model`, None where none is known; `size_bytes` of all `models`.
    """
    status = EmbeddingStatus("unasked", _UNASKED) if settings.embedding == "http" else embedding_status(settings)
    model, folders = status.model or model_name(settings), app.index.vector_folders()
    current = next((each for each in folders if each.model == model), None)
    behind = app.index.turns_without(model)
    return {
        "setting": settings.embedding,
        "state": status.state,
        "what": status.what,
        "model": model or None,
        "dimensions": current.dimensions if current is not None else None,
        "vectors": (current.count if current is not None else 0) if model else None,
        "turns_without_vectors": behind if model else None,
        "problem": current.problem if current is not None else "",
        "size_bytes": sum(each.size_bytes for each in folders),
        "models": [
            {
                "model": each.model, "dimensions": each.dimensions, "vectors": each.count,
                "size_bytes": each.size_bytes, "folder": each.name,
            }
            for each in folders
        ],
    }  # fmt: skip


def waiting(facts: dict[str, Any]) -> str:
    """The turns without a vector, and about how long the local model takes for them on one core; "" for none."""
    turns = facts["turns_without_vectors"]
    minutes = turns // (60 * TURNS_A_SECOND) if facts["state"] == "ready" and turns else 0
    about = f" (some {counted(minutes, 'minute')} of one core)" if minutes else ""
    return f"{counted(turns, 'turn')} without one{about}" if turns else ""


def described(facts: dict[str, Any]) -> str:
    """The vectors of the settings' model, in a line."""
    size_bytes = sum(each["size_bytes"] for each in facts["models"] if each["model"] == facts["model"])
    return f"{facts['vectors']} of {facts['model']}, {facts['dimensions'] or '?'} dimensions, {in_units(size_bytes)}"


def remedy_of(status: EmbeddingStatus, home: str) -> str:
    """The command that brings what is missing, or the file to correct."""
    if status.state == "packages":
        return "pip install fastembed" if "fastembed" in status.missing else packages_remedy()
    if status.state in ("model", "damaged"):
        return "howcome model install"
    return f"{edit(os.path.join(home, CONFIG_NAME))}  # correct the settings that begin with embedding"


def packages_remedy() -> str:
    """What installs all packages that a local model needs."""
    return extra_remedy(EXTRA, sorted({**RUNNING, **BUILDING}.values()))
