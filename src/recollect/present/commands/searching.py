"""`recollect search`, `show` and `timeline`: finding events, and reading them."""

from __future__ import annotations

import contextlib
import json
import os
import time
from datetime import UTC, datetime

import click

from recollect.app import App, now_ms, open_app
from recollect.domain.events import TOOL_CALL, squeeze
from recollect.domain.memories import Memory
from recollect.domain.stored import Found, Scope, StoredEvent
from recollect.errors import NotFoundError, StoreError
from recollect.present.commands.arguments import clean_argument
from recollect.present.commands.remembering import memory_line, memory_row
from recollect.present.render import iso_time, plain
from recollect.retrieve.question import TYPES, Question
from recollect.settings import read_settings

_Shown = tuple[dict[str, object], tuple[str, ...], list[tuple[str, str]]]
"""A row as JSON, which of its fields people see, and further lines with their names."""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=10, show_default=True, help="At most so many.")
@click.option("--all-projects", is_flag=True, help="Search every project, not only this folder's.")
@click.option("--project", type=click.Path(), help="Search the project of this folder.")
@click.option("--by", type=click.Choice(["session"]), help="One row a session, by its best passage.")
@click.option("--before", metavar="TIME", help="Only what is older (ISO 8601, UTC when it has no zone).")
@click.option("--since", metavar="TIME", help="Only what is not older.")
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True, help="Only this kind of event or memory.")
@click.option("--session", help="Only this session (any unique beginning of its id).")
@click.option("--agent", help="Only this agent's sessions, or the memories that it owns.")
@_JSON
def search(
    text: tuple[str, ...], limit: int, *, all_projects: bool, project: str | None, by: str | None, before: str | None,
    since: str | None, types: tuple[str, ...], session: str | None, agent: str | None, as_json: bool,
) -> None:  # fmt: skip
    """Search what was said and done, best first.

    The scope is the project of the current folder; nothing found is an empty list and exit code 0.

    \b
    Examples:
      recollect search "why celery and not rq"
      recollect search --all-projects --by session "flaky migration test"
      recollect search --before 2026-10-01 --json "retry policy"
      recollect search --type decision --type pattern "error handling"
    """
    if all_projects and project:
        raise click.UsageError("choose one of --all-projects and --project")
    question = clean_argument(" ".join(text))
    with open_app(read_settings(os.environ)) as app:
        folder = clean_argument(os.path.abspath(project or os.getcwd()))
        scope = Scope.everything() if all_projects else app.scope_of(folder)
        started = time.perf_counter()
        found = app.search(
            Question(
                question, scope, limit=limit, by_session=by == "session", types=types, session=session, agent=agent,
                before_ms=_time_ms(before, "--before"), since_ms=_time_ms(since, "--since"),
            )
        )  # fmt: skip
        elapsed_ms = (time.perf_counter() - started) * 1000
        is_empty = not found and app.store.last_row() == 0
    rows = [found_row(item) for item in found]
    if as_json:
        click.echo(json.dumps({"results": rows, "ms": round(elapsed_ms, 3)}, ensure_ascii=False))
        return
    for row in rows:
        of_session = f"  session {str(row['session_id'])[:8]}" if row["session_id"] else ""
        where = f"  {row['project'] or 'everywhere'}" if all_projects else ""
        click.echo(plain(f"{row['id']}  {row['score']:.2f}  {str(row['ts'])[:16]}  {row['type']}{of_session}{where}"))
        click.echo(f"    {plain(squeeze(str(row['excerpt']), 220))}")
    if not rows:
        click.echo(_nothing(is_empty=is_empty, all_projects=all_projects))


def _nothing(*, is_empty: bool, all_projects: bool) -> str:
    if is_empty:
        return "The store is empty: run `recollect import` first."
    return "Nothing found." if all_projects else "Nothing found in this project; --all-projects searches everywhere."


@click.command(short_help="Show one event or memory with its whole text.")
@click.argument("found_id", metavar="ID")
@_JSON
def show(found_id: str, *, as_json: bool) -> None:
    """Show one event (ev-…) or memory (mem-…) with its whole text. ID may be any unique beginning.

    A memory is shown with its chain (what it superseded, what superseded it) and the events that bear it out.

    \b
    Examples:
      recollect show ev-3f9a
      recollect show mem-71c0
    """
    prefix = clean_argument(found_id)
    with open_app(read_settings(os.environ)) as app:
        found: list[StoredEvent | Memory] = [*app.store.events_by_prefix(prefix), *app.store.memories_by_prefix(prefix)]
        if not found:
            raise NotFoundError(f"no event or memory {prefix}; `recollect search` prints ids (ev-…, mem-…)")
        if len(found) > 1:
            raise NotFoundError(f"{prefix} could be {', '.join(one.id for one in found)}; write more of it")
        show_one = _show_memory(app, found[0]) if isinstance(found[0], Memory) else _show_event(found[0])
    row, names, more = show_one
    if as_json:
        click.echo(json.dumps(row, ensure_ascii=False))
        return
    for name in names:
        if row[name] is not None:
            click.echo(plain(f"{name:>12}  {row[name]}"))
    for name, line in more:
        click.echo(plain(f"{name:>12}  {line}"))
    click.echo(plain(f"\n{row['text']}"))


def _show_event(event: StoredEvent) -> _Shown:
    row = {"session_id": event.session, "project": event.project, **event_row(event, with_text=True)}
    return row, ("id", "ts", "type", "tool", "file", "session_id", "project"), []


def _show_memory(app: App, memory: Memory) -> _Shown:
    """A memory with its chain and its evidence; showing it counts as reading it."""
    chain = app.memories.chain(memory.key.hex())
    place = [other.row for other in chain].index(memory.row)
    borne_out = {ident: app.store.events_by_prefix(ident, limit=1) for ident in memory.evidence}
    row = memory_row(memory) | {
        "chain": [memory_row(other) for other in chain],
        "evidence": [
            {"id": ident, "summary": events[0].summary if events else None} for ident, events in borne_out.items()
        ],
    }  # fmt: skip
    more = [("before", memory_line(other)) for other in chain[:place]]
    more += [("after", memory_line(other)) for other in chain[place + 1 :]]
    more += [
        ("borne out by", f"{ident}  {events[0].summary if events else 'not in this store'}")
        for ident, events in borne_out.items()
    ]
    if not app.store.is_read_only:
        with contextlib.suppress(StoreError):  # losing a count must not lose the answer
            app.store.record_memory_access([memory.row], now_ms())
    return row, ("id", "ts", "type", "status", "state", "project", "agent", "access_count"), more


@click.command()
@click.argument("session")
@click.option("--full", is_flag=True, help="With the whole text of each event.")
@_JSON
def timeline(session: str, *, full: bool, as_json: bool) -> None:
    """Show what happened in a session, from its start. SESSION may be any unique beginning of its id.

    \b
    Example:
      recollect timeline 6295e04b
    """
    with open_app(read_settings(os.environ)) as app:
        row_id, name, project = _session(app, clean_argument(session))
        found = app.store.session_events(row_id, with_text=full)
    rows = [event_row(event, with_text=full) for event in found]
    if as_json:
        click.echo(json.dumps({"session_id": name, "project": project, "events": rows}, ensure_ascii=False))
        return
    click.echo(plain(f"session {name} in {project}: {len(rows)} events"))
    for row in rows:
        click.echo(plain(f"{row['id']}  {str(row['ts'])[:19]}  {row['type']:<20}{row['summary']}"))
        if full:
            click.echo(plain(f"{row['text']}\n"))


def event_row(event: StoredEvent, *, with_text: bool) -> dict[str, object]:
    """One event as every door shows it."""
    row: dict[str, object] = {
        "id": event.id, "ts": iso_time(event.ts_ms), "type": event.kind, "tool": event.tool, "file": event.file,
        "summary": event.summary, "excerpt": event.excerpt,
    }  # fmt: skip
    if event.kind != TOOL_CALL and event.failed is not None:
        row |= {"failed": event.failed, "exit_code": event.exit_code}
    if with_text:
        row["text"] = event.text
    return row


def _session(app: App, prefix: str) -> tuple[int, str, str]:
    found = app.store.find_sessions(prefix)
    if not found:
        raise NotFoundError(f"no session {prefix}; `recollect search` prints session ids")
    if len(found) > 1:
        raise NotFoundError(f"{prefix} could be {', '.join(name for _, name, _ in found)}; write more of it")
    return found[0]


def found_row(item: Found) -> dict[str, object]:
    """One answer as every door shows it: an event, or a memory (which has no session)."""
    event, memory = item.event, item.memory
    row: dict[str, object] = {
        "id": item.id, "kind": "memory" if memory else "event", "session_id": event.session if event else None,
        "project": event.project if event else memory and memory.project, "ts": None, "type": None,
        "score": round(item.score, 4), "tiers": {name: round(score, 4) for name, score in item.tiers.items()},
    }  # fmt: skip
    if event is not None:
        row |= {"ts": iso_time(event.ts_ms), "type": event.kind, "summary": event.summary}
    elif memory is not None:
        row |= {"ts": iso_time(memory.created_ms), "type": memory.type, "summary": memory.summary}
    return row | {"excerpt": item.passage}


def _time_ms(text: str | None, option: str) -> int | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise click.BadParameter(
            f"{text!r} is not an ISO 8601 time, such as 2026-10-01 or 2026-10-01T12:00:00Z", param_hint=option
        ) from error
    return int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
