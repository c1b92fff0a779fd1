"""`howcome why`: what was considered for a prompt, what was said, and which rule held the rest back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from howcome.app import App, now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_to_read, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, click_command, option
from howcome.domain.events import USER_PROMPT, squeeze
from howcome.domain.stored import ID_PREFIX
from howcome.domain.verdicts import RULES, PastVerdict
from howcome.errors import NotFoundError, StoreMissingError
from howcome.present.nothing_found import EMPTY
from howcome.present.render import counted, json_line
from howcome.present.screen import Row, day, show_rows
from howcome.present.terminal import echo
from howcome.present.views import verdict_view

if TYPE_CHECKING:
    from howcome.present.views import View

LAST = "last"
_HOOKS = {"UserPromptSubmit": "A prompt", "SessionStart": "A session that began"}
NONE = "No prompts were answered in this project in the last 30 days; --all-projects shows every project's."


@click_command
def why(
    what: str | None = argument(metavar="[PROMPT|SESSION|last]", required=False),
    limit: int = option("-n", type=range(1, 1001), default=5, help="Prompts at most."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    as_json: bool = JSON,
) -> None:
    """Say what was considered for a prompt, what was said, and which rule held the rest back.

    PROMPT is the event of a prompt (ev-…, any unique beginning), SESSION the beginning of a session's id; without
    either it is the last prompts of this folder's project, with `last` the last one. Behind each candidate stands why
    it was said, or the rule that held it back; what each rule means stands below. `--json` has the chance (0 to 1)
    that it helps, too. It is kept for 30 days. Several words behind `why` are searched for.

    \b
    Examples:
      howcome why
      howcome why last
      howcome why ev-3f9a
      howcome why 6295e04b --json
    """
    check_scope(project, all_projects=all_projects)
    rows: list[View] = []
    nothing = NONE
    try:
        with open_to_read() as app:
            if what is None or what == LAST:
                scope = scope_of(app, project, all_projects=all_projects)
                found = app.search.verdicts(scope=scope, limit=1 if what else limit)
            else:
                found = _named(app, clean_argument(what), limit)
            rows = [verdict_view(one) for one in app.search.explained(found)]
    except StoreMissingError:
        if what not in (None, LAST):
            raise
        nothing = EMPTY
    if as_json:
        echo(json_line({"verdicts": rows}))
        return
    show_rows(list(map(_row, rows)), notes=legend(rows) if rows else [nothing])


def _named(app: App, what: str, limit: int) -> list[PastVerdict]:
    """The verdicts of a session, or the one of a prompt.

    Raises:
        NotFoundError: there is no such session or event, or that event is no prompt with a verdict.
    """
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
    """A prompt: what it was told, then what was considered with its chance, and what became of each."""
    asked = f"“{squeeze(view['prompt'], 100)}”" if view["prompt"] else _HOOKS.get(view["hook"], view["hook"])
    told = f"{counted(view['lines'], 'line')}, {view['tokens']} tokens" if view["tokens"] else "nothing"
    about = (day(view["ts"], now_ms()), f"session {view['session_id'][:8]}", view["prompt_id"] or "")
    return Row(f"{asked} was told: {told}{because(view['rule'])}", about, considered_lines(view["considered"]))


def considered_lines(considered: list[View]) -> list[str]:
    """What was considered, a line each: its words, and why it was said, or the rule that held it back."""
    return [
        f"{squeeze(one['summary'] or 'gone', 80)}  {one['rule'] or one['why']}  {one['id'] or 'gone'}"
        for one in considered
    ]


def legend(views: list[View]) -> list[str]:
    """What the rules say that held something back, each once."""
    held = dict.fromkeys(one["rule"] for view in views for one in view["considered"] if one["rule"])
    return [f"{rule}: {RULES.get(rule, 'a rule of another version')}" for rule in held]


def because(rule: str) -> str:
    """A rule in words, to go on with; "" where none held anything back."""
    return f"; {rule} ({RULES.get(rule, 'a rule of another version')})" if rule else ""
