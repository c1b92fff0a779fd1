"""Why a search found nothing, and what to try: the same words at the command line and over MCP."""

from __future__ import annotations

import shlex

from howcome.domain.events import squeeze
from howcome.present.render import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.app import App
    from howcome.retrieve.question import Question

MAX_AGENT_CHARS = 60
MAX_AGENTS = 10


def nothing_found(app: App, question: Question, narrowed: Sequence[str], hints: Sequence[str]) -> str:
    """What is said instead of answers; `narrowed` are the options that narrowed it, as this door writes them."""
    if app.events.is_empty():
        return EMPTY
    if not app.search.has_words("\n".join(question.concepts)):
        return "Nothing found: only very common words. Add a name or a topic."
    if question.agent is not None and not app.events.is_of_agent(question.agent):
        known = ", ".join(agents(app)) or "none"
        agent = squeeze(question.agent, MAX_AGENT_CHARS)
        return f"Nothing found: no agent {agent} has sessions or memories here (sessions are of: {known})."
    is_new = not question.scope.is_everything and question.scope.project_id is None
    what = "Nothing is stored of this project yet" if is_new else "Nothing found. Other words may find it"
    if is_new and (moved := app.projects.moved(question.scope.folder)):
        command = shlex.join(("howcome", "projects", "join", *moved[0]))
        several = f"one of {len(moved)} projects whose folders are gone: `howcome doctor` names them"
        what += f"; it may be {several if moved[1:] else f'{moved[0][0]}, moved: `{command}`'}"
    more = ["ask for fewer concepts"] if len(question.concepts) > 1 and not is_new else []
    return _with_hints(what, narrowed, [*more, *hints])


def only_near(narrowed: Sequence[str], hints: Sequence[str]) -> str:
    """What is said with rows that are only near (`Found.is_near`); `narrowed` and `hints` as of `nothing_found`."""
    return _with_hints(f"{NEAR} A name, or other words, may find more", narrowed, hints)


def _with_hints(what: str, narrowed: Sequence[str], hints: Sequence[str]) -> str:
    more = [f"leave out {', '.join(narrowed)}"] if narrowed else []
    return what + "".join(f"; {hint}" for hint in (*more, *hints)) + "."


NEAR = "Nothing surely answers that: these are the nearest."

EMPTY = (
    "Nothing is stored yet. `howcome init` connects your agent and reads the sessions that are on this machine;"
    " `howcome import` only reads them."
)


def agents(app: App) -> list[str]:
    """The agents that sessions are of, as short words: anybody can name one to `howcome observe`."""
    return [squeeze(name, MAX_AGENT_CHARS) for name in app.events.agents()[:MAX_AGENTS]]


def not_searchable(lag: int) -> str:
    """What is said of events that no search finds yet; '' when every one is found."""
    return f"{counted(lag, 'event is', 'events are')} not searchable yet: `howcome doctor --fix`" if lag else ""
