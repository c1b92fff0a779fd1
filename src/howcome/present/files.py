"""What is shown of a line and of a file's history: plain data, and what every door says of it."""

from __future__ import annotations

import os
import re

from howcome.domain.events import squeeze
from howcome.domain.rationales import parts_of
from howcome.present.render import counted, iso_time
from howcome.present.views import event_view, short_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from howcome.domain.stored import StoredEvent
    from howcome.history.origins import Past
    from howcome.present.views import View

    Told = tuple[str, tuple[str, ...], list[str]]

TEXT_CHARS = 220
HASH_CHARS, PLACE_PARTS = 10, 3
_LINE = re.compile(r"(?P<file>.+):(?P<line>\d{1,9})")
_COLUMN = re.compile(rf"{_LINE.pattern}:\d+")


def file_and_line(text: str) -> tuple[str, int | None]:
    """`FILE`, `FILE:LINE` or (as tools print it) `FILE:LINE:COLUMN`; a file whose name looks so is that file."""
    if os.path.isfile(text):
        return text, None
    found = [one for one in (_LINE.fullmatch(text), _COLUMN.fullmatch(text)) if one]
    best = next((one for one in found if os.path.isfile(one["file"])), found[0] if found else None)
    return (best["file"], int(best["line"])) if best else (text, None)


def is_file(text: str) -> bool:
    """Whether an argument names a file, or says that it does."""
    path, line = file_and_line(text)
    return text.startswith("./") or os.path.isfile(path) or (line is not None and "." in os.path.basename(path))


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


def told(view: View, when: Callable[[str | None], str], *, with_file: bool = False) -> Iterator[Told]:
    """What each part of it says, when and who and which (the id last), and further lines; `when` words a time.

    `with_file`: edits say of which file they are, where several have the name that was asked for.
    """
    by, calls, commit = view["committed"], view["events"], view["commit"]
    if calls:
        is_by = by is not None and by["id"] == calls[0]["id"]
        wrote = "committed" if is_by else "written" if view["is_sure"] else "probably written"
        names = {"edits": counted(len(calls), "edit"), "plan": "plan", "line": f"{wrote} by {calls[0]['tool']}"}
        asked = view["rationale"].get("Asked") or (view["prompt"] or calls[0])["excerpt"]
        text = calls[0]["excerpt"] if view["kind"] == "plan" else asked
        path = (calls[0]["file"] or "") if with_file and view["kind"] == "edits" else ""
        place = ["/".join(path.split("/")[-PLACE_PARTS:])] if path else []
        about = (names[view["kind"]], *place, when(calls[0]["ts"]), _session(calls[0]), calls[0]["id"])
        yield squeeze(text, TEXT_CHARS), about, list(_reasons(view))
    if commit:
        made = (_session(by), by["id"]) if by else ()
        yield commit["subject"], ("commit", when(commit["ts"]), commit["hash"][:HASH_CHARS], *made), []


def missing(view: View) -> list[str]:
    """What is not known of a line."""
    found = [] if view["events"] else ["No session that is stored here wrote this line."]
    return found if view["commit"] else [*found, f"Its commit: {view['problem'] or 'not committed yet'}."]


def _session(event: View) -> str:
    return f"session {short_session(event['session_id'])}"


def _reasons(view: View) -> Iterator[str]:
    if view["rationale"].get("Why"):
        yield f"why: {view['rationale']['Why']}"
    if view["kind"] == "line":
        parts = [("said", view["said"]["excerpt"], view["said"]["id"])] if view["said"] else []
        parts += [("failed", event["summary"], event["id"]) for event in view["tried"]]
        yield from (f"{name}: {squeeze(text, TEXT_CHARS)}  {ident}" for name, text, ident in parts)
