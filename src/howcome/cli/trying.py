"""`howcome try`: what a new session would be told with a prompt, and why no more; nothing is recorded."""

from __future__ import annotations

import os
import time
from html import unescape

from howcome.app import now_ms
from howcome.cli.arguments import clean_argument, open_to_read, scope_of
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.cli.why import because, considered_lines, legend
from howcome.domain.text import tokens
from howcome.domain.verdicts import PROMPT, PastVerdict, Verdict
from howcome.hooks.handlers import prepare
from howcome.present.render import counted, json_line
from howcome.present.screen import Row, show_rows
from howcome.present.terminal import echo
from howcome.present.views import reminder_view, verdict_view
from howcome.settings import read_settings

LIMIT_S = 60.0
NOTHING = "A new session would be told nothing with it"


@click_command
def try_(
    words: tuple[str, ...] = argument(nargs=-1, required=True, metavar="PROMPT"),
    project: str | None = option(metavar="PROJECT", help="As in this project: its folder, or its name."),
    as_json: bool = JSON,
) -> None:
    """See what a new session would be told with PROMPT, and which rule holds the rest back.

    It is answered as the agent's hook answers it, in this folder. Nothing is recorded: no receipt counts it.

    \b
    Examples:
      howcome try "what did we decide about the retry limit?"
      howcome try add a retry to the poller --project shop
    """
    prompt = clean_argument(" ".join(words))
    with open_to_read() as app:
        project_id = scope_of(app, project, all_projects=False).project_id
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
    if as_json:
        said = [reminder_view(one) for one in reply.said]
        facts = {"prompt": prompt, "told": reply.context, "tokens": cost, "said": said, "rule": kept.rule, "held": held}
        echo(json_line(facts))
        return
    lines = [unescape(line) for line in reply.context.splitlines() if line.startswith("[")]
    told = f"{counted(len(reply.said), 'line')}, {cost} tokens" if lines else f"{NOTHING}{because(kept.rule)}"
    show_rows(
        [*(Row(line) for line in lines), Row(f"{told}{'. Held back:' if held else ''}", (), considered_lines(held))],
        notes=legend([view]),
    )
