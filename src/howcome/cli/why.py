"""What prompts were told, `howcome why`; would be told, `howcome try`; and would have been told, `howcome replay`."""

from __future__ import annotations

import os
import time
from html import unescape
from typing import TYPE_CHECKING

from howcome.app import App, now_ms
from howcome.cli.arguments import UNKNOWN, check_scope, clean_argument, is_unknown, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, click_command, option
from howcome.domain.events import USER_PROMPT, squeeze
from howcome.domain.stored import ID_PREFIX, SessionSummary
from howcome.domain.text import tokens
from howcome.domain.verdicts import OWN, PROMPT, RULES, PastVerdict, Verdict
from howcome.errors import NotFoundError, StoreMissingError, UsageError
from howcome.present.nothing_found import EMPTY
from howcome.present.render import counted, iso_time
from howcome.present.screen import Row, day, report, report_rows
from howcome.present.views import reminder_view, short_session, short_time, verdict_view
from howcome.settings import read_settings

if TYPE_CHECKING:
    from howcome.evaluate.replay import Moment
    from howcome.present.views import View

LAST = "last"
_HOOKS = {"UserPromptSubmit": "A prompt", "SessionStart": "A session that began"}
NONE = "No prompts were answered in this project in the last 30 days; --all-projects shows every project's."
LIMIT_S = 60.0
_SESSIONS = 20
_EVERY = 1_000_000


@click_command
def why(
    what: str | None = argument(metavar="[PROMPT|SESSION|last]", required=False),
    limit: int = option("-n", type=range(1, 1001), default=5, help="Prompts at most."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Say what was considered for a prompt, what was said, and which rule held the rest back.

    PROMPT is the words of a prompt, or its event (ev-…, any unique beginning), SESSION the beginning of a session's
    id; without either it is the last prompts of this folder's project, with the sessions that began in between, with
    `last` the last prompt. Behind each candidate stands why it was said, or the rule that held it back; what each rule
    means stands below. `--json` has the chance (0 to 1) that it helps, too. It is kept for 30 days. Words of no such
    prompt are searched for.

    \b
    Examples:
      howcome why
      howcome why last
      howcome why "run the linter"
      howcome why ev-3f9a
      howcome why 6295e04b --json
    """
    check_scope(project, all_projects=all_projects)
    rows: list[View] = []
    nothing = NONE
    try:
        with open_existing() as app:
            if what is None or what == LAST:
                scope = scope_of(app, project, all_projects=all_projects)
                found = _last(app.search.verdicts(scope=scope), 1 if what else limit)
                found = [one for one in found if one.asked is not None] or found[:1] if what else found
            else:
                found = app.search.verdicts_on(what)[:1] or _named(app, clean_argument(what), limit)
            rows = [verdict_view(one) for one in app.search.explained(found)]
    except StoreMissingError:
        if what not in (None, LAST):
            raise
        nothing = EMPTY
    notes = legend(rows) if rows else [nothing]
    report_rows({"verdicts": rows}, map(_row, rows), notes=notes, as_json=as_json)


def was_asked(words: str) -> bool:
    """Whether they are the words of a prompt that was answered in the last 30 days."""
    try:
        with open_existing() as app:
            return bool(app.search.verdicts_on(words))
    except StoreMissingError:
        return False


def _last(verdicts: list[PastVerdict], limit: int) -> list[PastVerdict]:
    """So many prompts, the newest first, with the sessions that began after the last of them."""
    prompts = [place for place, one in enumerate(verdicts) if one.asked is not None]
    if not prompts:
        return verdicts[:limit]
    return verdicts[: prompts[limit - 1] + 1] if len(prompts) >= limit else verdicts


def _named(app: App, what: str, limit: int) -> list[PastVerdict]:
    if not what.startswith(ID_PREFIX) or app.events.is_session(what):
        return app.search.verdicts(session=app.search.session_told(what), limit=limit)
    event = app.events.by_id(what)
    if event.kind != USER_PROMPT:
        event = app.events.exchange_of(event)[0]
    every = app.search.explained(app.search.verdicts(session=event.session))
    found = [one.verdict for one in every if one.prompt is not None and one.prompt.row == event.row]
    if not found:
        raise NotFoundError(f"nothing is kept of {event.id}: it is older than 30 days, or no hook saw it")
    return found


def _row(view: View) -> Row:
    """A prompt: what it was told, then what was considered, and what became of each."""
    asked = f"“{squeeze(view['prompt'], 100)}”" if view["prompt"] else _HOOKS.get(view["hook"], view["hook"])
    told = f"{counted(view['lines'], 'line')}, {view['tokens']} tokens" if view["tokens"] else "nothing"
    about = (day(view["ts"]), f"session {short_session(view['session_id'])}", view["prompt_id"] or "")
    return Row(f"{asked} was told: {told}{because(view['rule'])}", about, considered_lines(view["considered"]))


def considered_lines(considered: list[View]) -> list[str]:
    """What was considered, a line each: its words, and why it was said, or the rule that held it back."""
    return [f"{squeeze(one['summary'] or 'gone', 80)}  {_reason(one)}  {one['id'] or 'gone'}" for one in considered]


def _reason(one: View) -> str:
    return f"{OWN} ({one['why']})" if one["rule"] == OWN else one["rule"] or one["why"]


def legend(views: list[View]) -> list[str]:
    """What the rules say that held something back, each once."""
    held = dict.fromkeys(one["rule"] for view in views for one in view["considered"] if one["rule"])
    return [f"{rule}: {RULES.get(rule, 'a rule of another version')}" for rule in held]


def because(rule: str) -> str:
    """A rule in words, to go on with; "" where none held anything back."""
    return f"; {rule} ({RULES.get(rule, 'a rule of another version')})" if rule else ""


@click_command
def try_(
    words: tuple[str, ...] = argument(nargs=-1, required=True, metavar="PROMPT"),
    project: str | None = option(metavar="PROJECT", help="As in this project: its folder, or its name."),
    as_json: bool = JSON,
) -> None:
    """See what a new session would be told with PROMPT beside its briefing, and which rule holds the rest back.

    It is answered as the agent's hook answers it, in this folder. Nothing is recorded: no receipt counts it.

    \b
    Examples:
      howcome try "what did we decide about the retry limit?"
      howcome try add a retry to the poller --project shop
    """
    from howcome.hooks.handlers import prepare

    prompt = clean_argument(" ".join(words))
    with open_existing() as app:
        scope = scope_of(app, project)
        if project is not None and is_unknown(scope):
            raise UsageError(UNKNOWN)
        project_id = scope.project_id
        folder = os.getcwd() if project is None else dict(app.projects.roots())[project_id or 0]
        payload = {"hook_event_name": PROMPT, "prompt": prompt, "cwd": folder, "session_id": ""}
        reply = prepare(PROMPT, payload, read_settings(os.environ), time.monotonic() + LIMIT_S)
        cost = tokens(reply.context)
        kept = (reply.verdict or Verdict(project_id)).kept(reply.said, cost)
        fields = (kept.project_id, kept.asked, kept.lines, kept.tokens, kept.rule, kept.considered)
        past = PastVerdict(0, "", PROMPT, now_ms(), kept=fields)
        [view] = [verdict_view(one) for one in app.search.explained([past])]
        reply.close()
    held = [one for one in view["considered"] if one["rule"]]
    said = [reminder_view(one) for one in reply.said]
    facts = {"prompt": prompt, "told": reply.context, "tokens": cost, "said": said, "rule": kept.rule, "held": held}
    lines = [unescape(line) for line in reply.context.splitlines() if line.startswith("[")]
    nothing = f"A new session would be told nothing with it{because(kept.rule)}"
    told = f"{counted(len(reply.said), 'line')}, {cost} tokens" if lines else nothing
    rows = [*map(Row, lines), Row(f"{told}{'. Held back:' if held else ''}", (), considered_lines(held))]
    report_rows(facts, rows, notes=legend([view]), as_json=as_json)


@click_command
def replay(
    project: str | None = argument(required=False),
    session: str | None = option(metavar="ID", help="Only this session (any unique beginning of its id)."),
    since: str | None = option(metavar="WHEN", help=f"Sessions with something said since; else the last {_SESSIONS}."),
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
    from howcome.evaluate.replay import replayed

    since_ms = option_ms(since, "--since")
    with open_existing() as app:
        found = _sessions(app, project, session, since_ms)
        app.search.rehearse()
        told = [(one, list(replayed(app, one.project, one.name))) for one in found]
    totals = _totals([moments for _, moments in told])
    facts = {"sessions": [_view(one, moments) for one, moments in told], "totals": totals}
    lines = [line for one, moments in told for line in _lines(one, moments)]
    report(facts, [*lines, _summary(totals)], as_json=as_json)


def _sessions(app: App, project: str | None, session: str | None, since_ms: int | None) -> list[SessionSummary]:
    """The sessions that are meant, the oldest first."""
    if session is not None:
        row, _, root = app.events.session_named(clean_argument(session))
        every = app.events.recent_sessions(app.projects.scope_of(root), _EVERY)
        return [one for one in every if one.row == row]
    scope = scope_of(app, project, other="or the name of one that `howcome projects` lists")
    if is_unknown(scope):
        raise UsageError(UNKNOWN)
    return app.events.recent_sessions(scope, _SESSIONS if since_ms is None else _EVERY, since_ms=since_ms or 0)[::-1]


def _view(one: SessionSummary, moments: list[Moment]) -> dict[str, object]:
    return {
        "session": one.name, "client": one.client, "branch": next((moment.branch for moment in moments), ""),
        "moments": [
            {"ts": iso_time(moment.ts_ms), "prompt": moment.prompt, "tokens": moment.tokens,
             "lines": [line.head + line.text for line in moment.lines]}
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
        prompt = "(the session begins)" if moment.prompt is None else squeeze(moment.prompt, 100)
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
