"""What `howcome status` and the checks both look at; the checks import far more."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from howcome.app import App
from howcome.clients.discover import Found
from howcome.clients.registry import clients
from howcome.present.guarded import LATE, TALLY_NAME
from howcome.present.guarded import LOG_NAME as HOOK_LOG_NAME
from howcome.present.render import counted, in_units
from howcome.providers.embed import EmbeddingStatus, embedding_status, model_name
from howcome.settings import Settings
from howcome.wiring.commands import LAUNCHERS

RECENT_S = 24 * 3600
"""A hook's error of the last day is a warning, an older one a note."""

COUNTED = 60
"""So many of the last prompts are looked at."""

NEWEST_TRANSCRIPTS = 5
EMBED = "howcome model embed"
TURNS_A_SECOND = 53
"""What one core embeds with the local model: docs/evaluation.md, "Speed of search"."""


def quoted(*words: str) -> str:
    """Words as a shell reads them."""
    return shlex.join(words)


def edit(path: str) -> str:
    """The command that opens a file for its user."""
    return f"${{EDITOR:-vi}} {quoted(path)}"


def last_lines(path: str, count: int = 5) -> list[str]:
    """The last lines of a file, each cut at 300 characters; [] when there is none."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return [line.rstrip("\n")[:300] for line in stream.readlines()[-count:]]
    except OSError:
        return []


def logged_s(line: str) -> float:
    """When a line of the log was written, in seconds; 0 when it does not say."""
    try:
        return datetime.fromisoformat(line[:20]).timestamp() if line[19:20] == "Z" else 0.0
    except ValueError:
        return 0.0


def last_hook_ms(app: App | None, home: str, transcripts: Sequence[Found]) -> int:
    """When a hook of ours last ran for certain, in UTC milliseconds; 0 when nothing tells.

    What agents note in their transcripts, what was decided about prompts and how they were answered, and the log to
    which a hook writes that fails: so no other hook has to write down that it was there.
    """
    decided = app.search.verdicts(limit=1) if app is not None else []
    logged = max((logged_s(line) for line in last_lines(os.path.join(home, HOOK_LOG_NAME))), default=0.0)
    noted = [
        client.wiring.hook_noted_ms(found.path, launcher)
        for client in clients()
        for launcher in LAUNCHERS
        for found in [found for found in transcripts if found.client == client.name][-NEWEST_TRANSCRIPTS:]
    ]
    answered = max((second for second, _ in _lines(os.path.join(home, TALLY_NAME))), default=0.0)
    return max(round(logged * 1000), round(answered * 1000), *noted, *(one.asked_ms for one in decided), 0)


def prompts_in_time(home: str) -> dict[str, int]:
    """How many of the last prompts of the last day were counted, and how many of them reached the deadline."""
    since_s = time.time() - RECENT_S
    lines = _lines(os.path.join(home, TALLY_NAME + ".old")) + _lines(os.path.join(home, TALLY_NAME))
    recent = [outcome for second, outcome in lines[-COUNTED:] if second > since_s]
    return {"prompts": len(recent), "late": recent.count(LATE)}


def _lines(path: str) -> list[tuple[float, str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            words = [line.split() for line in stream]
    except OSError:
        return []
    return [(float(pair[0]), pair[1]) for pair in words if len(pair) == 2 and pair[0].isdigit()]


def late_prompts(counts: dict[str, int]) -> str:
    """What is said of prompts that were not answered in time; '' when all were."""
    if not counts["late"]:
        return ""
    return f"{counts['late']} of the last {counted(counts['prompts'], 'prompt')} got no answer: the time was over"


def unknown_to_readers(app: App) -> list[tuple[str, int, bool]]:
    """Files with records that no reader knows: the path, how many, and whether nothing else was found in it."""
    return [
        (str(row["path"]), int(str(row["unknown"])), not row["accepted"] and not row["duplicate"])
        for row in app.health.sources()
        if row["unknown"] and row["is_current"]
    ]


def unread_transcripts(app: App, transcripts: Sequence[Found]) -> list[tuple[Found, int]]:
    """Transcripts with the number of bytes that no pass has read: plain files by bytes, packed ones as a whole."""
    known = {state.path: state for state in app.health.cursors()}
    unread = []
    for found in transcripts:
        state = known.get(found.path)
        if state is not None and (state.size_bytes, state.mtime_ns) == (found.size_bytes, found.mtime_ns):
            continue
        missing = found.size_bytes - (state.offset if state and not found.path.endswith(".gz") else 0)
        if missing > 0:
            unread.append((found, missing))
    return unread


def vector_facts(app: App, settings: Settings, *, in_full: bool = True) -> dict[str, Any]:
    """What there is of vectors, as JSON values. No model is loaded, no endpoint asked.

    `state` is that of `EmbeddingStatus`, or `unasked` for an endpoint; `turns_without_vectors` and `vectors` are of the
    settings' `model`, None where none is known; `size_bytes` of all `models`; `by_worker`: workers make those that are
    missing. Where they do, and there is no vector, or nothing can be embedded, turns are counted only `in_full`, which
    reads every row.
    """
    status = EmbeddingStatus("unasked", "an endpoint: `howcome doctor` asks it")
    if settings.embedding != "http":
        status = embedding_status(settings)
    model, folders = status.model or model_name(settings), app.index.vectors()
    current = next((each for each in folders if each.model == model), None)
    is_counted = in_full or not app.index.has_worker or (current is not None and status.state in ("ready", "unasked"))
    behind = app.index.turns_without(model) if is_counted else None
    return {
        "setting": settings.embedding,
        "state": status.state,
        "what": status.what,
        "model": model or None,
        "dimensions": current.dimensions if current is not None else None,
        "vectors": (current.count if current is not None else 0) if model else None,
        "turns_without_vectors": behind if model else None,
        "by_worker": app.index.has_worker,
        "problem": current.problem if current is not None else "",
        "size_bytes": sum(each.size_bytes for each in folders),
        "models": [
            {
                "model": each.model, "dimensions": each.dimensions, "vectors": each.count,
                "size_bytes": each.size_bytes, "folder": each.name, "removal": quoted(*each.removal),
            }
            for each in folders
        ],
    }  # fmt: skip


def making(facts: dict[str, Any]) -> str:
    """What makes vectors that are missing."""
    return f"they are made {'while sessions run, or now: ' if facts['by_worker'] else 'by: '}{EMBED}"


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
