"""What is stored: `howcome show`, `timeline`; why a line is there, `blame`; what became of a file, `history`."""

from __future__ import annotations

import contextlib
import os
import re

from howcome.app import App, now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, command, option
from howcome.domain.events import TOOL_CALL, TOOL_RESULT, squeeze
from howcome.domain.memories import Memory
from howcome.domain.stored import ID_PREFIX, StoredEvent
from howcome.errors import StoreMissingError, UsageError
from howcome.present import screen
from howcome.present.files import file_and_line, missing, past_view, told
from howcome.present.nothing_found import EMPTY
from howcome.present.render import counted, json_line
from howcome.present.terminal import echo, echo_text
from howcome.present.views import AGAINST, event_view, kind_of, memory_view, session_view, short_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.present.views import View

_KIND_STYLES = {"user": "1;36", "agent": "36", "thought": screen.DIM, "call": screen.DIM, "result": screen.DIM}
"""Whose words an event is, in the list of a session: what people and agents say stands out."""


@command
def show(found_id: str = argument(metavar="ID"), as_json: bool = JSON) -> None:
    """Show one event (ev-…) or memory (mem-…) with its whole text. ID may be any unique beginning.

    An event is shown with the prompt of its exchange and with what stands before and after it; a memory with its
    chain (what it superseded, what superseded it) and the events that bear it out.

    \b
    Examples:
      howcome show ev-3f9a
      howcome show mem-71c0
    """
    with open_existing() as app:
        found = app.events.or_memory(clean_argument(found_id))
        view, row = _show_memory(app, found) if isinstance(found, Memory) else _show_event(app, found)
    screen.report_rows(view, [row], as_json=as_json)


def _show_event(app: App, event: StoredEvent) -> tuple[View, screen.Row]:
    """An event with its neighbours: the prompt that it belongs to, what stands before and after it."""
    row = event_view(event, with_text=True)
    told, place = app.events.session_of(event)
    asked = app.events.exchange_of(event)[:1]
    near = {
        "prompt": asked[0] if asked and asked[0].row != event.row else None,
        "before": told[place - 1] if place else None, "after": told[place + 1] if place + 1 < len(told) else None,
    }  # fmt: skip
    shown = [(name, one) for name, one in near.items() if one]
    more = [f"{name}: {squeeze(one.summary, 120)}  {kind_of(event_view(one))}  {one.id}" for name, one in shown]
    if dropped := row.get("dropped_chars", 0):
        more.append(f"{dropped} of {event.text_chars} characters were dropped: it is old (`howcome compact`)")
    places = [f"branch {event.branch}" if event.branch else "", event.tool or "", event.file or ""]
    who = (screen.local_time(event.ts_ms, now_ms()), kind_of(row))
    about = (*who, *places, event.project, f"session {short_session(event.session)}", event.id)
    view = row | {name: one and one.id for name, one in near.items()}
    return view, screen.Row(row["text"], about, more, is_whole=True)


def _show_memory(app: App, memory: Memory) -> tuple[View, screen.Row]:
    """A memory with its chain and its evidence; showing it counts as reading it."""
    app.search.look([memory])
    chain = app.memories.chain(memory.key.hex())
    place = [other.row for other in chain].index(memory.row)
    cited = [(ident, app.events.cited([ident])) for ident in memory.evidence]
    borne_out = [(ident, events[0].summary if events else None) for ident, events in cited]
    row = memory_view(memory) | {
        "chain": [memory_view(other) for other in chain],
        "evidence": [{"id": ident, "summary": summary} for ident, summary in borne_out],
    }
    more = [f"replaced: {screen.memory_brief(memory_view(other))}" for other in chain[:place]]
    more += [f"replaced by: {screen.memory_brief(memory_view(other))}" for other in chain[place + 1 :]]
    more += [f"also in: {root}" for root in memory.also]
    more += [f"contradicts: {ident}" for ident in memory.contradicts]
    more += [f"its file {AGAINST[memory.standing]}"] if memory.standing in AGAINST else []
    more += [f"borne out by: {'not in this store' if said is None else said}  {ident}" for ident, said in borne_out]
    app.memories.count_access([memory])
    more += [f"read {counted(memory.access_count, 'time')}"] if memory.access_count else []
    return row, screen.memory_row(row, more, is_whole=True)


@command
def timeline(
    session: str | None = argument(required=False),
    full: bool = option(help="With the whole text of each event."),
    markdown: bool = option(help="A session as Markdown, with whole texts."),
    limit: int = option("-n", type=range(1, 1001), default=20, help="Sessions to list."),
    since: str | None = option(metavar="TIME", help="Only sessions in which something happened since."),
    before: str | None = option(metavar="TIME", help="Only what happened before."),
    all_projects: bool = ALL_PROJECTS,
    project: str | None = PROJECT,
    as_json: bool = JSON,
) -> None:
    """Show what happened in a session, from its start; without SESSION list the latest sessions.

    SESSION may be any unique beginning of its id (of two agents' sessions with one id: claude-code:ID), or the id of
    an event (ev-…), which is marked then. A session is listed by its first prompt of more than a word or two.

    TIME is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, yesterday, last
    week, 7d, 12h.

    \b
    Examples:
      howcome timeline
      howcome timeline --since yesterday
      howcome timeline --since 2026-10-01 --before 2026-10-08
      howcome timeline 6295e04b
      howcome timeline 6295e04b --markdown > session.md
      howcome timeline ev-3f9a
    """
    if session is None:
        check_scope(project, all_projects=all_projects)
        window = option_ms(since, "--since") or 0, option_ms(before, "--before")
        _list_sessions(project, limit, window, all_projects=all_projects, as_json=as_json)
        return
    with open_existing() as app:
        row_id, name, root, marked = _session(app, clean_argument(session))
        found = app.events.session(row_id, with_text=full or markdown)
    rows = [event_view(event, with_text=full or markdown) for event in found]
    if as_json:
        echo(json_line({"session_id": name, "project": root, "events": rows}))
        return
    if markdown:
        echo_text("\n".join([f"# Session {name} in {root}", *map(_as_markdown, rows)]))
        return
    began = next((screen.day(row["ts"]) for row in rows if row["ts"]), "undated")
    what = f"{counted(len(rows), 'event')} of session {short_session(name)} in {root}, from {began}"
    if full:
        about = [(screen.day(row["ts"]), kind_of(row), row["id"]) for row in rows]
        whole = [screen.Row(row["text"], one, is_whole=True) for row, one in zip(rows, about, strict=True)]
        screen.show_rows(whole, notes=[what])
    else:
        sign = [f"{'>' if row['id'] == marked else ' '} " if marked else "" for row in rows]
        when = [mark + clock for mark, clock in zip(sign, screen.clocks([row["ts"] for row in rows]), strict=True)]
        cells = [(at, kind_of(row), row["summary"], row["id"]) for at, row in zip(when, rows, strict=True)]
        screen.show_table(cells, styles=_KIND_STYLES, notes=[what], wraps=2)


def _as_markdown(row: View) -> str:
    """An event with its whole text; what tools were given and said stands in a block that no text of theirs closes."""
    text = str(row["text"])
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    body = f"{fence}\n{text}\n{fence}" if row["type"] in (TOOL_CALL, TOOL_RESULT) else text
    return f"\n## {row['ts']} {kind_of(row)}\n\n{body}"


def _list_sessions(
    project: str | None, limit: int, window: tuple[int, int | None], *, all_projects: bool, as_json: bool
) -> None:
    found, nothing = [], EMPTY
    with contextlib.suppress(StoreMissingError), open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        found = app.events.recent_sessions(scope, limit + 1, since_ms=window[0], before_ms=window[1])
        if not app.events.is_empty():
            nothing = "No such sessions of this project; --all-projects lists every one."
    more = [f"There are more: --limit {5 * limit}"] if len(found) > limit else []
    found = found[:limit]
    rows = [screen.session_row(one, is_everywhere=all_projects) for one in found]
    facts = {"sessions": [session_view(one) for one in found]}
    screen.report_rows(facts, rows, notes=more if found else [nothing], as_json=as_json)


def _session(app: App, text: str) -> tuple[int, str, str, str]:
    """The session that a text names, by its id or by an event of it: row id, client id, root, the event's id or ''."""
    if not text.strip().startswith(ID_PREFIX) or app.events.is_session(text):
        return *app.events.session_named(text), ""
    event = app.events.by_id(text)
    return app.events.session_row(event), event.session, event.project, event.id


@command
def blame(place: str = argument(metavar="FILE[:LINE]"), as_json: bool = JSON) -> None:
    """Say why a line is there: its commit, the session that wrote it, the prompt, the reason, what failed before.

    The commit is git's answer (`git blame`). The session is the one whose edit put the line in, told by its text and
    the lines around it, else the one that made the commit, told by the commit's hash or message. "probably" means that
    other places of the file look the same. Lines that are not committed are answered, too. Without LINE the last
    changes of the file are listed, as `howcome history` does. A bare name that is no file here is that of the only file
    of this name which sessions edited.

    `howcome FILE:LINE` is short for this where there is such a file; `./` says that a word is a file.

    \b
    Examples:
      howcome src/cart.py:42
      howcome ./status
      howcome blame src/cart.py:42 --json
    """
    path, line = file_and_line(place)
    if not os.path.isfile(path):
        with contextlib.suppress(StoreMissingError), open_existing() as app:
            path = app.files.named(path)
    if not os.path.isfile(path):
        hint = "`howcome history` tells of files that are gone, `howcome search` of words"
        raise UsageError(f"there is no file {clean_argument(path)}; {hint}")
    if line is None:
        _history(path, 3, as_json=as_json)
        return
    with open_existing() as app:
        file, past = app.files.line(path, line)
    view = past_view(past)
    notes = [*missing(view), f"More: howcome show ID, howcome history {file}"]
    screen.report_rows({"file": file, "line": line, **view}, _rows(view), notes=notes, as_json=as_json)


@command
def history(
    file: str = argument(),
    limit: int = option("-n", type=range(1, 1001), default=20, help="At most so many."),
    as_json: bool = JSON,
) -> None:
    """List what became of a file, newest first: the edits of every session, the plans that named it, the commits.

    Edits of one exchange are one row, with the prompt and the reason. The file need not be there any more; a bare name
    that is no file here stands for every file of that name.

    \b
    Examples:
      howcome history src/cart.py
      howcome history src/cart.py --limit 100 --json
    """
    _history(file, limit, as_json=as_json)


def _history(path: str, limit: int, *, as_json: bool) -> None:
    with open_existing() as app:
        name, changes, problem = app.files.history(path, limit)
    views = [past_view(one) for one in changes]
    notes = [] if views else ["No session edited it, no plan named it, no commit took it in."]
    notes += [f"Commits: {problem}."] if problem else []
    notes += [f"More: howcome history {name} --limit {limit * 5}"] if len(views) == limit else []
    facts = {"file": name, "problem": problem, "changes": views}
    files = {event["file"] for view in views if view["kind"] == "edits" for event in view["events"]}
    rows = [row for view in views for row in _rows(view, with_file=len(files) > 1)]
    screen.report_rows(facts, rows, notes=notes, as_json=as_json)


def _rows(view: View, *, with_file: bool = False) -> list[screen.Row]:
    return [screen.Row(*one) for one in told(view, screen.day, with_file=with_file)]
