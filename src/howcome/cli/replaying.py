"""`howcome replay`: a project's own sessions again, prompt by prompt, with what would have been said then."""

from __future__ import annotations

from howcome.app import App, now_ms
from howcome.cli.arguments import UNKNOWN, clean_argument, is_unknown, open_to_read, scope_of, sessions_of
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.domain.events import squeeze
from howcome.domain.stored import SessionSummary
from howcome.errors import UsageError
from howcome.evaluate.replay import Moment, replayed
from howcome.present.moments import moment_ms
from howcome.present.render import counted, iso_time, json_line
from howcome.present.terminal import echo
from howcome.present.views import short_time

_SESSIONS = 20
_EVERY = 1_000_000
_PROMPT_CHARS = 100
_BEGIN = "(the session begins)"


@click_command
def replay(
    project: str | None = argument(required=False),
    session: str | None = option(metavar="ID", help="Only this session (any unique beginning of its id)."),
    since: str | None = option(
        metavar="WHEN", help=f"Sessions in which something was said since; else the last {_SESSIONS}."
    ),
    as_json: bool = JSON,
) -> None:
    """Go through the stored sessions of PROJECT (its folder or its name; this folder's) with the clock set back.

    Each session's begin and each prompt is answered by what had been said before it, as the settings have it now:
    judge for yourself whether it would have helped. Nothing is changed. The totals say what it would have cost.

    A session counts as distilled as soon as something was said in it.

    WHEN is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, 7d, 12h.

    \b
    Examples:
      howcome replay
      howcome replay shop --since 30d
      howcome replay --session 6295e04b --json
    """
    since_ms = None if since is None else moment_ms(since, "--since", now_ms(), is_local=True)
    with open_to_read() as app:
        found = _sessions(app, project, session, since_ms)
        app.search.rehearse()
        told = [(one, list(replayed(app, one.project, one.name))) for one in found]
    if as_json:
        sessions = [_view(one, moments) for one, moments in told]
        echo(json_line({"sessions": sessions, "totals": _totals([moments for _, moments in told])}))
        return
    for one, moments in told:
        for line in _lines(one, moments):
            echo(line)
    echo(_summary(_totals([moments for _, moments in told])))


def _sessions(app: App, project: str | None, session: str | None, since_ms: int | None) -> list[SessionSummary]:
    """The sessions that are meant, the oldest first.

    Raises:
        UsageError: nothing is stored of the project.
    """
    if session is not None:
        row, _, root = app.events.session_named(clean_argument(session))
        every = app.events.recent_sessions(app.projects.scope_of(root), _EVERY)
        return [one for one in every if one.row == row]
    scope = (
        scope_of(app, None, all_projects=False)
        if project is None
        else sessions_of(app, project, "or the name of one that `howcome projects` lists")
    )
    if is_unknown(scope):
        raise UsageError(UNKNOWN)
    return app.events.recent_sessions(scope, _SESSIONS if since_ms is None else _EVERY, since_ms=since_ms or 0)[::-1]


def _view(one: SessionSummary, moments: list[Moment]) -> dict[str, object]:
    return {
        "session": one.name, "client": one.client, "branch": next((moment.branch for moment in moments), ""),
        "moments": [
            {
                "ts": iso_time(moment.ts_ms), "prompt": moment.prompt, "tokens": moment.tokens,
                "lines": [line.head + line.text for line in moment.lines],
            }
            for moment in moments
        ],
    }  # fmt: skip


def _totals(told: list[list[Moment]]) -> dict[str, int]:
    begun = [moment for moments in told for moment in moments if moment.prompt is None]
    asked = [moment for moments in told for moment in moments if moment.prompt is not None]
    return {
        "sessions": len(begun), "briefings": sum(bool(moment.lines) for moment in begun),
        "briefing_tokens": sum(moment.tokens for moment in begun), "prompts": len(asked),
        "answered": sum(bool(moment.lines) for moment in asked),
        "prompt_tokens": sum(moment.tokens for moment in asked),
    }  # fmt: skip


def _lines(one: SessionSummary, moments: list[Moment]) -> list[str]:
    branch = next((f", branch {moment.branch}" for moment in moments if moment.branch), "")
    lines = [f"session {one.name}, {one.client}{branch}"] if moments else []
    for moment in moments:
        prompt = _BEGIN if moment.prompt is None else squeeze(moment.prompt, _PROMPT_CHARS)
        lines.append(f"{short_time(iso_time(moment.ts_ms))}  {prompt}")
        lines += [f"    {line.head}{line.text}" for line in moment.lines]
        lines += [f"    ~{moment.tokens} tokens"] if moment.lines else []
    return [*lines, ""] if lines else []


def _summary(totals: dict[str, int]) -> str:
    spent = totals["briefing_tokens"] + totals["prompt_tokens"]
    return (
        f"{counted(totals['sessions'], 'session')}, of which {totals['briefings']} would begin with a briefing;"
        f" {counted(totals['prompts'], 'prompt')}, of which {totals['answered']} would be answered; ~{spent} tokens in"
        f" all: {totals['briefing_tokens']} of briefings, {totals['prompt_tokens']} with prompts"
        f" ({totals['prompt_tokens'] / max(1, totals['prompts']):.1f} a prompt)."
    )
