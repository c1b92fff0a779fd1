"""`howcome learnt`: what sessions taught, with who said it, when and about what; and how to take it back."""

from __future__ import annotations

from howcome.app import App, now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, command, option
from howcome.domain.candidates import WISH, Told
from howcome.domain.memories import HAND, Memory
from howcome.errors import StoreMissingError, UsageError
from howcome.present.render import counted
from howcome.present.screen import day, memory_row, report_rows
from howcome.present.views import evidence_view, memory_view

_DAY_MS = 24 * 3600 * 1000
_WHO = {"user": "the user", "assistant": "the agent", "tool": "a tool", "task": "a task", "external": "from outside"}
_WRONG = (
    "Wrong, never again: `howcome forget --wrong ID`. Take it back: `howcome learnt --undo ID`, or --session, --since."
)
_NOTHING = (
    "Nothing was learnt from sessions of this folder lately. --all-projects lists what every project taught, --project"
    " NAME one; `howcome distil` looks for more."
)


@command
def learnt(
    memory_ids: tuple[str, ...] = argument(metavar="[ID]...", nargs=-1, required=False),
    session: str | None = option(metavar="ID", help="What this session taught (any unique beginning of its id)."),
    since: str | None = option(metavar="WHEN", help="What was said since then, whenever it was learnt."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    undo: bool = option(help="Forget it; `howcome restore ID` brings a memory back."),
    as_json: bool = JSON,
) -> None:
    """List the memories that were distilled from sessions: each with who said it, when, about what, and the evidence.

    Without an ID, --session or --since: what was learnt in the last 24 hours, or else in the last session that taught
    anything. What an earlier session taught and this one said again is marked.

    --undo wants one of the three. It leaves what an earlier session taught, and what is pinned, unless it is named.

    WHEN is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, 7d, 12h. It goes by when a thing was said
    in its session, not by when howcome learnt it: what an old session taught today is not in `--since 1h`.

    \b
    Examples:
      howcome learnt
      howcome learnt --session 6295e04b
      howcome learnt --since 7d --json
      howcome learnt --undo mem-3f9a mem-71c0
      howcome learnt --undo --session 6295e04b
    """
    check_scope(project, all_projects=all_projects)
    if bool(memory_ids) + (session is not None) + (since is not None) > 1:
        raise UsageError("choose one of ID, --session and --since")
    if undo and not memory_ids and session is None and since is None:
        raise UsageError("--undo takes back what you name: give an ID, --session or --since")
    since_ms = option_ms(since, "--since")
    more = 0
    try:
        with open_existing() as app:
            if memory_ids:
                found = [(app.memories.get(clean_argument(ident)), True) for ident in memory_ids]
            elif session is not None:
                found = app.memories.learnt_in(app.events.session_named(clean_argument(session))[0])
            else:
                scope = scope_of(app, project, all_projects=all_projects)
                found = app.memories.learnt_since(scope, now_ms() - _DAY_MS if since_ms is None else since_ms)
                found = found or (app.memories.learnt_last(scope) if since_ms is None else [])
                more = len(app.memories.learnt_since(scope, 0)) - len(found) if since_ms is None else 0
            if undo:
                found = _taken_back(app, [one for one, is_new in found if is_new], is_named=bool(memory_ids))
            told = app.memories.told_of([memory for memory, _ in found])
            rows = [_row(app, memory, told.get(memory.key), is_new=is_new) for memory, is_new in found]
    except StoreMissingError:
        if memory_ids or session is not None:
            raise
        rows = []
    shown = [memory_row(row, now_ms(), [] if undo else [_about(row)]) for row in rows]
    earlier = f"{counted(more, 'more memory', 'more memories')} of earlier sessions: howcome memories"
    undone = f"{counted(len(rows), 'memory is', 'memories are')} forgotten; `howcome restore ID` brings one back."
    note = (undone if rows else "Nothing to take back.") if undo else _WRONG if rows else _NOTHING
    notes = [*([earlier] if more > 0 else []), note]
    report_rows({"undone" if undo else "learnt": rows}, shown, notes=notes, as_json=as_json)


def _taken_back(app: App, found: list[Memory], *, is_named: bool) -> list[tuple[Memory, bool]]:
    """Forgets what was learnt; what is pinned only where it is named.

    Raises:
        UsageError: somebody kept one of them by hand.
    """
    for one in found:
        if one.source == HAND:
            raise UsageError(f"{one.id} was kept by hand, no session taught it: use `howcome forget {one.id}`")
    free = [one for one in found if is_named or one.pinned_ms is None]
    return [(app.memories.forget(one.key.hex(), is_person=True), True) for one in free]


def _row(app: App, memory: Memory, told: Told | None, *, is_new: bool) -> dict[str, object]:
    """A memory with its evidence; `said_by` is whose words it is, `is_new` that it was learnt then, not said again."""
    often = {"sessions": 1, "projects": 1} if told is None else {"sessions": told.sessions, "projects": told.projects}
    return memory_view(memory) | often | {
        "learnt_from": told.source if told is not None else memory.source,
        "is_standing": told is not None and told.is_standing,
        "said_by": memory.origin, "is_new": is_new, "borne_out_by": evidence_view(app.events.cited(memory.evidence)),
    }  # fmt: skip


def _about(row: dict[str, object]) -> str:
    """Who said it, when, about what, and which events bear it out."""
    about = f", about {str(row['subject']).removeprefix(WISH)}" if row["subject"] else ""
    about += f", said in {row['sessions']} sessions: standing" if row["is_standing"] else ""
    if int(str(row["projects"])) > 1:
        about += ", wished in another project, too (`howcome remember --global` keeps it everywhere)"
    about += "" if row["is_new"] else ", said again"
    shown, said = (day(str(row[name] or row["ts"]), now_ms()) for name in ("ts", "said_at"))
    when = f", {said}" if said != shown else ""  # the row has the other
    where = f"; {row['cited']}" if row["cited"] else ""
    return f"said by {_WHO.get(str(row['said_by']), row['said_by'])}{when}{about}{where}"
