"""`howcome search`, `show` and `timeline`: finding events, and reading them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from howcome.app import App, now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_to_read, scope_of
from howcome.domain.events import RATIONALE, squeeze
from howcome.domain.memories import RESOLVED, Memory
from howcome.domain.stored import ID_PREFIX, Found, StoredEvent
from howcome.domain.text import STOP_WORDS
from howcome.errors import ProviderError, StoreMissingError
from howcome.present.moments import moment_ms
from howcome.present.nothing_found import EMPTY, not_searchable, nothing_found
from howcome.present.render import counted, json_line
from howcome.present.screen import Row, clocks, day, local_time, memory_brief, memory_row, show_rows, show_table
from howcome.present.terminal import echo
from howcome.present.views import (
    AGAINST,
    contradiction_of,
    event_view,
    hit_view,
    kind_of,
    memory_view,
    session_view,
)
from howcome.retrieve.question import TYPES, Question

if TYPE_CHECKING:
    from howcome.present.views import View

SHORT_SESSION = 8
"""Any beginning of a session's id that no other has names it."""

_KIND_STYLES = {"user": "bold cyan", "agent": "cyan", "thought": "dim", "call": "dim", "result": "dim"}
"""Whose words an event is, in the list of a session: what people and agents say stands out."""

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_ALL_PROJECTS = click.option("--all-projects", is_flag=True, help="Of every project, not only this folder's.")
_PROJECT = click.option("--project", metavar="PROJECT", help="Of this project: its folder, or its name.")
INDEX_WAIT_S = 1.0
"""A person waits so long for what another process has stored and nobody has made searchable yet."""


@click.command()
@click.argument("text", nargs=-1, required=True)
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=10, show_default=True, help="At most so many.")
@_ALL_PROJECTS
@_PROJECT
@click.option("--by", type=click.Choice(["session"]), help="One row a session, by its best passage.")
@click.option("--before", metavar="TIME", help="Only what is older than TIME.")
@click.option("--since", metavar="TIME", help="Only what is not older than TIME.")
@click.option("--type", "types", type=click.Choice(TYPES), multiple=True, help="Only this kind of event or memory.")
@click.option("--session", help="Only this session, of any project (any unique beginning of its id).")
@click.option("--agent", help="Only this agent's sessions, or the memories that it owns.")
@click.option("--subsystem", metavar="NAME", help="Only what is about this workspace package or folder.")
@click.option("--explain", "is_explained", is_flag=True, help="Say why each hit is there.")
@_JSON
def search(
    text: tuple[str, ...],
    limit: int,
    *,
    all_projects: bool,
    project: str | None,
    by: str | None,
    before: str | None,
    since: str | None,
    types: tuple[str, ...],
    session: str | None,
    agent: str | None,
    subsystem: str | None,
    is_explained: bool,
    as_json: bool,
) -> None:
    """Search what was said and done, best first.

    The scope is the project of the current folder. Nothing found is an empty list and exit code 0; a project that
    nobody knows is wrong usage (2), a session that nobody knows an error (1).

    TIME is a date or an ISO 8601 time (2026-10-01, 2026-10-01T12:00:00Z; yours when it has no zone), today, yesterday,
    or how long ago: 30m, 12h, 7d, 3w, "2 months ago", 1y.

    With --subsystem only exchanges count in which a call named a file below the folder, and memories that name one or
    that such an exchange bears out. NAME is a folder (packages/api), or what a package is called by its folder or its
    manifest (package.json, Cargo.toml, go.mod, pyproject.toml).

    With --explain each hit has the score of every tier and what the tier's word is worth, what changed the sum, how
    sure it is that the hit is about the question at all (strength), and where the question's words stand: in the hit,
    in the turns before it, elsewhere in its exchange.

    \b
    Examples:
      howcome search "why celery and not rq"
      howcome search --all-projects --by session "flaky migration test"
      howcome search --since 7d --json "retry policy"
      howcome search --type decision --type pattern "error handling"
      howcome search --subsystem packages/api "error handling"
      howcome search --explain "retry polcy"
    """
    asked = clean_argument(" ".join(text))
    if not asked.strip():
        raise click.UsageError("write what to search for: a question, or a few words")
    check_scope(project, all_projects=all_projects)
    before_ms, since_ms = _moment_ms(before, "--before"), _moment_ms(since, "--since")
    is_everywhere = all_projects or (session is not None and project is None)  # a session is named by itself
    narrowed = {"--type": types, "--session": session, "--since": since, "--before": before, "--agent": agent}
    narrowed["--subsystem"] = subsystem
    try:
        with open_to_read() as app:
            question = Question(
                asked,
                scope_of(app, project, all_projects=is_everywhere),
                limit=limit,
                by_session=by == "session",
                types=types,
                session=session,
                agent=agent,
                subsystem=subsystem,
                before_ms=before_ms,
                since_ms=since_ms,
                explained=is_explained,
            )
            names = [name for name, value in narrowed.items() if value]
            report, rows, notes = _answers(app, question, names, is_everywhere=is_everywhere)
    except StoreMissingError:
        report, rows, notes = {"results": [], "ms": 0.0, "index_lag_rows": 0}, [], [EMPTY]
    if as_json:
        echo(json_line(report))
        return
    show_rows(rows, [word for word in asked.split() if word.lower() not in STOP_WORDS], notes)


def _moment_ms(text: str | None, option: str) -> int | None:
    return None if text is None else moment_ms(text, option, now_ms(), is_local=True)


def _answers(
    app: App, question: Question, narrowed: Sequence[str], *, is_everywhere: bool
) -> tuple[dict[str, object], list[Row], list[str]]:
    """What a search gives programs, and people: rows, and what else is to be said."""
    lag = app.index.within(INDEX_WAIT_S)
    started = time.perf_counter()
    found, failed = _found(app, question)
    elapsed_ms = (time.perf_counter() - started) * 1000
    hints = [] if is_everywhere else ["--all-projects searches every project"]
    notes = [] if found else _nothing(app, question, narrowed, hints)
    notes += [not_searchable(lag)] if lag else []
    report = {"results": [hit_view(item) for item in found], "ms": round(elapsed_ms, 3), "index_lag_rows": lag}
    if failed:
        report, notes = report | {"by_words_only": failed}, [*notes, f"Searched by words only: {failed}"]
    return report, [_row(item, is_everywhere=is_everywhere) for item in found], notes


def _nothing(app: App, question: Question, narrowed: Sequence[str], hints: Sequence[str]) -> list[str]:
    """What is said instead of hits; no words find rationales before any are written."""
    is_known = question.scope.is_everything or question.scope.project_id is not None
    none_written = RATIONALE in question.types and is_known and not app.events.is_empty()
    if none_written and not app.learn.rationale_counts(question.scope):
        missing = ["No rationales are written here yet: run `howcome rationale`."]
        if set(question.types) == {RATIONALE}:
            return missing
        return [nothing_found(app, question, narrowed, hints), *missing]
    return [nothing_found(app, question, narrowed, hints)]


def _found(app: App, question: Question) -> tuple[list[Found], str]:
    """What answers a question, and why only words were searched ('': that was not so)."""
    try:
        return app.search.find(question), ""
    except ProviderError as error:  # an endpoint that is down, a model that is not here: words are
        return app.search.find(question, by_words=True), str(error)


def _row(item: Found, *, is_everywhere: bool) -> Row:
    """An answer: what it says; when, who, how sure and which; what was asked then, and why it is there."""
    view, memory = hit_view(item), item.memory
    marks = [f"session {str(view['session_id'])[:SHORT_SESSION]}"] if memory is None else []
    marks += [f"kept: {', '.join(item.memories)}"] if item.memories else []
    if memory is not None:
        marks += ["[resolved]"] if memory.status == RESOLVED else []
        marks += [f"[{contradiction_of(view)}]"] if memory.contradicts else []
        marks += [memory.cited] if memory.evidence else []
    where = [view["project"] or "everywhere"] if is_everywhere else []
    about = (day(view["ts"], now_ms()), kind_of(view), *marks, *where, item.id)
    asked = [f"asked: {item.prompt}"] if item.prompt else []
    return Row(item.passage, about, [*asked, *_explanation_lines(item)])


@click.command(short_help="Show one event or memory with its whole text.")
@click.argument("found_id", metavar="ID")
@_JSON
def show(found_id: str, *, as_json: bool) -> None:
    """Show one event (ev-…) or memory (mem-…) with its whole text. ID may be any unique beginning.

    An event is shown with the prompt of its exchange and with what stands before and after it; a memory with its
    chain (what it superseded, what superseded it) and the events that bear it out.

    \b
    Examples:
      howcome show ev-3f9a
      howcome show mem-71c0
    """
    with open_to_read() as app:
        found = app.events.or_memory(clean_argument(found_id))
        show_one = _show_memory(app, found) if isinstance(found, Memory) else _show_event(app, found)
    view, row = show_one
    if as_json:
        echo(json_line(view))
        return
    show_rows([row])


def _show_event(app: App, event: StoredEvent) -> tuple[View, Row]:
    """An event with its neighbours: the prompt that it belongs to, what stands before and after it."""
    row = event_view(event, with_text=True)
    told, place = app.events.session_of(event)
    asked = app.events.exchange_of(event)[:1]
    near = {
        "prompt": asked[0] if asked and asked[0].row != event.row else None,
        "before": told[place - 1] if place else None, "after": told[place + 1] if place + 1 < len(told) else None,
    }  # fmt: skip
    more = [
        f"{name}: {squeeze(one.summary, 120)}  {kind_of(event_view(one))}  {one.id}"
        for name, one in near.items()
        if one
    ]
    places = [f"branch {event.branch}" if event.branch else "", event.tool or "", event.file or ""]
    who = (local_time(event.ts_ms, now_ms()), kind_of(row))
    about = (*who, *places, event.project, f"session {event.session[:SHORT_SESSION]}", event.id)
    return row | {name: one and one.id for name, one in near.items()}, Row(row["text"], about, more, is_whole=True)


def _show_memory(app: App, memory: Memory) -> tuple[View, Row]:
    """A memory with its chain and its evidence; showing it counts as reading it."""
    app.search.look([memory])
    chain = app.memories.chain(memory.key.hex())
    place = [other.row for other in chain].index(memory.row)
    borne_out = {ident: app.events.cited([ident]) for ident in memory.evidence}
    row = memory_view(memory) | {
        "chain": [memory_view(other) for other in chain],
        "evidence": [
            {"id": ident, "summary": events[0].summary if events else None} for ident, events in borne_out.items()
        ],
    }  # fmt: skip
    now = now_ms()
    more = [f"replaced: {memory_brief(memory_view(other), now)}" for other in chain[:place]]
    more += [f"replaced by: {memory_brief(memory_view(other), now)}" for other in chain[place + 1 :]]
    more += [f"also in: {root}" for root in memory.also]
    more += [f"contradicts: {ident}" for ident in memory.contradicts]
    more += [f"its file {AGAINST[memory.standing]}"] if memory.standing in AGAINST else []
    more += [
        f"borne out by: {events[0].summary if events else 'not in this store'}  {ident}"
        for ident, events in borne_out.items()
    ]
    app.memories.count_access([memory])
    more += [f"read {counted(memory.access_count, 'time')}"] if memory.access_count else []
    return row, memory_row(row, now, more, is_whole=True)


@click.command(short_help="List the latest sessions, or what happened in one.")
@click.argument("session", required=False)
@click.option("--full", is_flag=True, help="With the whole text of each event.")
@click.option("--limit", "-n", type=click.IntRange(1, 1000), default=20, show_default=True, help="Sessions to list.")
@click.option("--since", metavar="TIME", help="Only sessions in which something happened since.")
@_ALL_PROJECTS
@_PROJECT
@_JSON
def timeline(
    session: str | None,
    *,
    full: bool,
    limit: int,
    since: str | None,
    all_projects: bool,
    project: str | None,
    as_json: bool,
) -> None:
    """Show what happened in a session, from its start; without SESSION list the latest sessions.

    SESSION may be any unique beginning of its id (of two agents' sessions with one id: claude-code:ID), or the id of
    an event (ev-…), which is marked then. A session is listed by its first prompt of more than a word or two.

    TIME is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, yesterday, 7d, 12h.

    \b
    Examples:
      howcome timeline
      howcome timeline --since yesterday
      howcome timeline 6295e04b
      howcome timeline ev-3f9a
    """
    if session is None:
        check_scope(project, all_projects=all_projects)
        since_ms = _moment_ms(since, "--since")
        _list_sessions(project, limit, since_ms or 0, all_projects=all_projects, as_json=as_json)
        return
    with open_to_read() as app:
        row_id, name, root, marked = _session(app, clean_argument(session))
        found = app.events.session(row_id, with_text=full)
    rows = [event_view(event, with_text=full) for event in found]
    if as_json:
        echo(json_line({"session_id": name, "project": root, "events": rows}))
        return
    began = next((day(row["ts"], now_ms()) for row in rows if row["ts"]), "undated")
    what = f"{counted(len(rows), 'event')} of session {name[:SHORT_SESSION]} in {root}, from {began}"
    if full:
        about = [(day(row["ts"], now_ms()), kind_of(row), row["id"]) for row in rows]
        show_rows([Row(row["text"], one, is_whole=True) for row, one in zip(rows, about, strict=True)], notes=[what])
    else:
        sign = [f"{'>' if row['id'] == marked else ' '} " if marked else "" for row in rows]
        cells = [
            (f"{mark}{when}", kind_of(row), row["summary"], row["id"])
            for mark, row, when in zip(sign, rows, clocks([row["ts"] for row in rows]), strict=True)
        ]
        show_table(cells, styles=_KIND_STYLES, notes=[what], wraps=2)


def _list_sessions(project: str | None, limit: int, since_ms: int, *, all_projects: bool, as_json: bool) -> None:
    found, nothing = [], EMPTY
    with contextlib.suppress(StoreMissingError), open_to_read() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        found = app.events.recent_sessions(scope, limit, since_ms=since_ms)
        nothing = (
            EMPTY if app.events.is_empty() else "No such sessions of this project; --all-projects lists every one."
        )
    if as_json:
        echo(json_line({"sessions": [session_view(one) for one in found]}))
        return
    rows = []
    for one in found:
        where = one.project if all_projects else ""
        about = (
            local_time(one.last_ms, now_ms()),
            one.client,
            counted(one.count, "event"),
            where,
            one.name[:SHORT_SESSION],
        )
        rows.append(Row(squeeze(one.prompt, 220), about))
    show_rows(rows, notes=[] if found else [nothing])


def _session(app: App, text: str) -> tuple[int, str, str, str]:
    """The session that a text names, by its id or by an event of it: row id, client id, root, the event's id or ''."""
    if not text.strip().startswith(ID_PREFIX) or app.events.is_session(text):
        return *app.events.session_named(text), ""
    event = app.events.by_id(text)
    return app.events.session_row(event), event.session, event.project, event.id


def _explanation_lines(item: Found) -> list[str]:
    """Why an answer is there, for people; nothing when nobody asked."""
    why = item.explanation
    if why is None:
        return []
    tiers = " + ".join(f"{name} {score:.2f} * {weight:g}" for name, (score, weight) in why.tiers.items())
    factors = "".join(f" * {name} {factor:.2f}" for name, factor in why.adjustments.items())
    lines = [f"why: {tiers} → {why.fused:.2f}{factors} = {item.score:.2f}; strength {why.strength:.2f}"]
    met = [f"{one.word} {one.weight:.1f} ({', '.join(one.places)})" for one in why.terms if one.places]
    met += [f"{one.word} → {', '.join(one.widened)}" for one in why.terms if one.widened]
    missing = [one.word for one in why.terms if not one.places and not one.widened]
    lines += [f"words: {'; '.join(met)}"] if met else []
    return lines + ([f"not there: {', '.join(dict.fromkeys(missing))}"] if missing else [])
