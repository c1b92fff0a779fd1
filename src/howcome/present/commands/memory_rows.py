"""One memory as every command shows it, and what bears it out."""

from __future__ import annotations

import os

from howcome.app import App
from howcome.domain.events import cut
from howcome.domain.memories import HAND, Memory
from howcome.present.render import iso_time

EVIDENCE_CHARS = 4000
"""Of a longer event the beginning is shown: `howcome show` has all of it."""


def memory_row(memory: Memory) -> dict[str, object]:
    """One memory as every command shows it; `ts` is `created_at`, as of everything that is found."""
    return {
        "id": memory.id, "type": memory.type, "status": memory.status, "state": memory.state,
        "ts": iso_time(memory.created_ms), "project": memory.project, "agent": memory.agent, "origin": memory.origin,
        "text": memory.text, "evidence": memory.evidence, "access_count": memory.access_count,
        "scope": "global" if memory.project is None else "project", "level": memory.level, "source": memory.source,
        "created_at": iso_time(memory.created_ms), "said_at": iso_time(memory.said_ms),
        "pinned": memory.pinned_ms is not None, "supersedes": memory.supersedes_id,
        "superseded_by": memory.superseded_by_id, "is_outside": memory.is_outside,
    }  # fmt: skip


def memory_line(memory: Memory) -> str:
    """One memory on one line: id, type, day, where it holds, what it says, what has become of it."""
    where = os.path.basename(memory.project) or memory.project if memory.project else "everywhere"
    marks = [memory.state] if memory.state != "live" else []
    marks += ["resolved"] if memory.status == "resolved" else []
    marks += ["pinned"] if memory.pinned_ms is not None else []
    marks += ["distilled"] if memory.source != HAND else []
    marks += ["from outside"] if memory.is_outside else []
    marks += [f"of {memory.agent}"] if memory.agent else []
    about = f" [{', '.join(marks)}]" if marks else ""
    return f"{memory.id}  {memory.type:<10}  {str(iso_time(memory.created_ms))[:10]}  {where}  {memory.summary}{about}"


def borne_out(app: App, memory: Memory) -> list[dict[str, object]]:
    """The events that bear a memory out, in the order of their times, with their texts; those that are here."""
    found = [event for ident in memory.evidence for event in app.store.log.find(ident, limit=1)]
    return [
        {
            "id": event.id, "ts": iso_time(event.ts_ms), "type": event.kind, "tool": event.tool,
            "session_id": event.session, "text": cut(event.text or event.excerpt, EVIDENCE_CHARS),
        }
        for event in sorted(found, key=lambda event: (event.order_ms, event.row))
    ]  # fmt: skip


def evidence_lines(events: list[dict[str, object]]) -> list[str]:
    """The same for people."""
    lines = []
    for event in events:
        tool = f" {event['tool']}" if event["tool"] else ""
        lines.append(f"    {event['id']}  {event['ts']}  {event['type']}{tool}")
        lines += [f"      {line}" for line in str(event["text"]).splitlines()]
    return lines
