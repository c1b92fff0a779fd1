"""`howcome receipt`: what injecting cost, and how often it was used."""

from __future__ import annotations

from typing import Any

from howcome.app import now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, SINCE, command, option
from howcome.errors import StoreMissingError, UsageError
from howcome.present.render import counted, json_line
from howcome.present.screen import local_time, show_table
from howcome.present.terminal import echo
from howcome.present.views import receipt_view

NOTHING_INJECTED = "Nothing was injected here in that time."


@command
def receipt(
    today: bool = option(help="Since midnight (where neither --session nor --since is given)."),
    since: str | None = SINCE,
    session: str | None = option(metavar="ID", help="Only this session (any unique beginning of its id)."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Say what was injected, how many tokens that was, and how often it was used afterwards.

    A line was used when the agent opened it (a tool call names its id), or when a name in it that nobody in the session
    had said before is in what the agent says or does until the third prompt after it (by chance a quarter would); a
    line without such a name can be used unseen. Tokens are characters divided by four. It is kept for 30 days. The
    descriptions of howcome's tools, some 550 tokens a session with Claude Code, are not counted here.

    \b
    Examples:
      howcome receipt
      howcome receipt --since 7d --all-projects
      howcome receipt --session 6295e04b --json
    """
    check_scope(project, all_projects=all_projects)
    if today and since is not None:
        raise UsageError("choose one of --today and --since")
    is_all = session is not None and not today and since is None
    since_ms = 0 if is_all else option_ms(since or "today", "--since") or 0
    rows: list[dict[str, Any]] = []
    name: str | None = None
    try:
        with open_existing() as app:
            name = None if session is None else app.search.session_told(clean_argument(session))
            scope = None if name is not None else scope_of(app, project, all_projects=all_projects)
            told = app.search.verdicts(session=name, scope=scope, since_ms=since_ms)
            rows = receipt_view(app.search.receipt(told))
    except StoreMissingError:
        if session is not None:
            raise
    if as_json:
        echo(json_line({"receipt": rows}))
        return
    period = "" if is_all else f" since {local_time(since_ms, now_ms())}"
    where = "of this session" if name is not None else "of every project" if all_projects else "of this project"
    notes = [f"What was said{period}, {where}; the lines themselves: howcome why"] if rows else [NOTHING_INJECTED]
    show_table(_cells(rows), widths=(12,), notes=notes)


def _cells(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    cells = []
    for row in rows:
        said = f"{counted(row['lines'], 'line')}, " if row["lines"] else ""
        line = f"{counted(row['times'], 'time')}, {said}{row['tokens']} tokens"
        how = [f"{row['opened']} opened"] if row["opened"] else []
        how += [f"of {row['named']} with a new name {row['reused']} came up later"] if row["named"] else []
        used = f"; {row['used']} used ({', '.join(how)})" if row["used"] else "; none used"
        cells.append((row["way"], line + used if row["lines"] else line))
    return [*cells, ("in all", f"{sum(row['tokens'] for row in rows)} tokens")] if rows else []
