"""Search by meaning: whether something can embed texts, and what is missing for it."""

from __future__ import annotations

import os

from recollect.present.checks.base import Finding, Level, Machine, edit
from recollect.present.checks.source import extra_remedy
from recollect.providers.embed import BUILDING, RUNNING, EmbeddingStatus, embedding_status
from recollect.settings import CONFIG_NAME

EXTRA = "semantic"
"""The extra of recollect with the packages that embedding needs."""

_WORDS = "search is by words only"


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


def remedy_of(status: EmbeddingStatus, home: str) -> str:
    """The command that brings what is missing, or the file to correct."""
    if status.state == "packages":
        return "pip install fastembed" if "fastembed" in status.missing else packages_remedy()
    if status.state in ("model", "damaged"):
        return "recollect model install"
    return f"{edit(os.path.join(home, CONFIG_NAME))}  # correct the settings that begin with embedding"


def packages_remedy() -> str:
    """What installs all packages that a local model needs."""
    return extra_remedy(EXTRA, sorted({**RUNNING, **BUILDING}.values()))
