"""What is shown of a line and of a file's history: plain data, and rows of it (name, our words, quoted words)."""

from __future__ import annotations

import os
import re

from howcome.domain.events import squeeze
from howcome.domain.rationales import parts_of
from howcome.present.render import counted, iso_time
from howcome.present.views import event_view, short_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.domain.stored import StoredEvent
    from howcome.learn.origins import Past
    from howcome.present.views import View

    Row = tuple[str, str, str]

LINE_CHARS = 220
HASH_CHARS = 10
_LINE = re.compile(r"(?P<file>.+?):(?P<line>\d+)(?::\d+)?")


def file_and_line(text: str) -> tuple[str, int | None]:
    """`FILE`, `FILE:LINE` or (as tools print it) `FILE:LINE:COLUMN`; a file whose name looks so is that file."""
    found = None if os.path.isfile(text) else _LINE.fullmatch(text)
    return (found["file"], int(found["line"])) if found else (text, None)


def is_file(text: str) -> bool:
    """Whether an argument names a file, or says that it does."""
    return text.startswith("./") or os.path.isfile(file_and_line(text)[0])


def past_view(past: Past) -> View:
    """What is known of a line, or one thing that became of a file; `session_id` is null where no session is known."""
    made = past.done or ([past.committed] if past.committed else [])
    commit = past.commit
    return {
        "kind": past.kind, "ts": iso_time(past.ts_ms), "session_id": made[0].session if made else None,
        "commit": {"hash": commit.hash, "ts": iso_time(commit.at_ms), "subject": commit.subject} if commit else None,
        "committed": _view(past.committed), "problem": past.problem, "is_sure": past.is_sure,
        "events": [event_view(event) for event in past.done], "prompt": _view(past.prompt),
        "rationale": dict(part.partition(": ")[::2] for part in parts_of(past.rationale)) if past.rationale else {},
        "said": _view(past.said), "tried": [event_view(event) for event in past.tried],
    }  # fmt: skip


def _view(event: StoredEvent | None) -> View | None:
    return event_view(event) if event else None


def line_rows(view: View) -> Iterator[Row]:
    """What is said of a line."""
    yield _commit_row(view) if view["commit"] else ("commit", view["problem"] or "not committed yet", "")
    by = view["committed"]
    for event in view["events"]:
        is_by = by is not None and by["id"] == event["id"]
        yield "committed by" if is_by else "written" if view["is_sure"] else "probably", _head(event), ""
        if by is not None and by["session_id"] != event["session_id"]:
            yield "committed by", _head(by), ""
    if not view["events"]:
        yield "session", "none that is stored here wrote it", ""
    yield from _reason_rows(view)
    if view["said"]:
        yield "said", view["said"]["id"], view["said"]["excerpt"]
    for event in view["tried"]:
        yield "failed", event["id"], event["summary"]


def change_rows(view: View) -> Iterator[Row]:
    """What is said of one thing that became of a file."""
    of = f"  session {view['session_id'][:8]}" if view["session_id"] else ""
    if view["commit"]:
        yield _commit_row(view, of)
        return
    many = f"  {counted(len(view['events']), 'edit')}" if view["kind"] == "edits" else ""
    yield view["kind"], f"{short_time(view['ts'])}{of}{many}  {view['events'][0]['id']}", ""
    yield from _reason_rows(view)


def _commit_row(view: View, of: str = "") -> Row:
    commit = view["commit"]
    return "commit", f"{commit['hash'][:HASH_CHARS]}  {short_time(commit['ts'])}{of}", commit["subject"]


def _head(event: View) -> str:
    return f"{short_time(event['ts'])}  session {event['session_id'][:8]}  {event['tool']}  {event['id']}"


def _reason_rows(view: View) -> Iterator[Row]:
    if view["prompt"]:
        yield "asked", view["prompt"]["id"], view["rationale"].get("Asked") or view["prompt"]["excerpt"]
    if view["rationale"].get("Why"):
        yield "why", "", view["rationale"]["Why"]


def row_line(row: Row) -> str:
    """A row for people."""
    name, ours, quoted = row
    return f"{name:>12}  {'  '.join(filter(None, (ours, squeeze(quoted, LINE_CHARS))))}"
