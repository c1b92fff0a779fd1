"""What a search finds, the same at every door: by words alone where an embedder fails, and of a time that is named.

"november 5 sync" is answered first by what was said on that day, then by what surely answers of the whole scope: a time
filters nothing, as other things are called so, too ("October CMS"). Where nothing but a time is asked ("what did we do
yesterday?") the sessions of that time answer, unless something is found that has such a name.
"""

from __future__ import annotations

import re
from copy import copy

from howcome.app import App, now_ms
from howcome.domain import words
from howcome.domain.stored import Found, SessionSummary
from howcome.domain.times import Span, iso_day, names_in, spans, without
from howcome.errors import ProviderError
from howcome.present.moments import ahead_of_utc_ms
from howcome.retrieve.question import Question

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_ASKED_CHARS = 200
"""So much of a question is read for a time."""

OTHERS_SHARE = 3
"""One row in so many is for what has the name of a time."""


class Answers:
    """What answers a question.

    Attributes:
        found: Events and memories, best first.
        sessions: Those of the time that is named, where nothing else is asked.
        failed: Why only words were searched, or "".
        notes: What is to be said of the time.
        is_told: The notes say why nothing is found.
    """

    __slots__ = ("failed", "found", "is_told", "notes", "sessions")

    def __init__(self, found: list[Found], failed: str) -> None:
        self.found, self.failed, self.is_told = found, failed, False
        self.sessions: list[SessionSummary] = []
        self.notes: list[str] = []


def answers(app: App, question: Question) -> Answers:
    """What answers a question, first of the time that it names; `since_ms` and `before_ms` of it come before that."""
    told = Answers(*_found(app, question))
    asked, now = " ".join(question.concepts)[:MAX_ASKED_CHARS], now_ms()
    local = now + ahead_of_utc_ms(now)
    spoken = spans(asked, local)
    if len(spoken) != 1 or question.since_ms is not None or question.before_ms is not None:
        return told
    within = copy(question)
    within.since_ms, within.before_ms = (_utc_ms(end) for end in (spoken[0].since_ms, spoken[0].before_ms))
    named = [one.id for one in told.found if not one.is_near and _has(one.passage, names_in(asked, local))]
    rest = without(asked, local)
    if app.search.has_words(words.rest_of(words.telling(rest, asked), "recalls", "hints", "asking")):
        left = (without(one[:MAX_ASKED_CHARS], local) + one[MAX_ASKED_CHARS:] for one in question.concepts)
        within.concepts = [one for one in left if one]
        _put_first(app, told, within, _name(spoken[0]), named)
    elif not (named or question.types or question.session or question.agent or question.subsystem):
        _list_sessions(app, told, within, spoken[0], is_bare=not any(map(str.isalnum, rest)))
    return told


def _has(passage: str, names: Sequence[str]) -> bool:
    return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", passage.lower()) for name in names)


def _put_first(app: App, told: Answers, within: Question, name: str, named: Sequence[str]) -> None:
    """Answers of the time before the sure ones of any time, of which those that are named so keep a third of the rows.

    Of the time are only those that are as sure.
    """
    found, _ = _found(app, within)
    is_sure = any(not one.is_near for one in told.found)
    if not found or (is_sure and found[0].is_near):
        told.notes = [f"None of these is of {name}."] if told.found else []
        return
    known = {one.id for one in found}
    others = [one for one in told.found if not one.is_near and one.id not in known]
    others.sort(key=lambda one: one.id not in named)
    kept = min(sum(one.id in named for one in others), -(-within.limit // OTHERS_SHARE), within.limit - 1)
    told.found = [*found[: within.limit - kept], *others][: within.limit]
    told.notes = [f"First: of {name}."]


def _list_sessions(app: App, told: Answers, within: Question, span: Span, *, is_bare: bool) -> None:
    """The sessions of a time. Where there are none, what surely answers does, or what has a name that is all of it."""
    name, excluded = _name(span), app.projects.excluded().values() if within.scope.is_everything else ()
    since_ms, before_ms, most = within.since_ms or 0, within.before_ms, -1 if excluded else within.limit + 1
    found = app.events.recent_sessions(within.scope, most, since_ms=since_ms, before_ms=before_ms)
    found = [one for one in found if one.project not in excluded]
    told.sessions = found[: within.limit]
    is_known = within.scope.is_everything or within.scope.project_id is not None
    told.is_told = is_known and not app.events.is_empty()
    if told.sessions or not (is_bare or any(not one.is_near for one in told.found)):
        told.found = []
    if told.is_told:
        without_any = f"None of these is of {name}." if told.found else f"No session is of {name}."
        told.notes = [f"The sessions of {name}." if told.sessions else without_any]
        told.notes += [_more(span, within)] if len(found) > within.limit else []


def _more(span: Span, within: Question) -> str:
    since, before = (iso_day(end) if end is not None else "" for end in (span.since_ms, span.before_ms))
    ends = (f" --since {since}" if since else "") + (f" --before {before}" if before else "")
    ends += " --all-projects" if within.scope.is_everything else ""
    return f"There are more: `howcome timeline{ends}`."


def _utc_ms(local_ms: int | None) -> int | None:
    """The moment at which a person's clock shows a time; by what it is ahead of UTC then, summer or winter."""
    if local_ms is None:
        return None
    near_ms = max(0, local_ms - ahead_of_utc_ms(local_ms))  # another day's, where clocks are changed in between
    return max(0, local_ms - ahead_of_utc_ms(near_ms))


def _name(span: Span) -> str:
    """A time's days, both ends included."""
    if span.since_ms is None:
        return f"the time before {iso_day(span.before_ms)}"
    first, last = iso_day(span.since_ms), iso_day(span.before_ms and span.before_ms - 1)
    return first if first == last else f"{first} to {last}" if span.before_ms else f"{first} and later"


def _found(app: App, question: Question) -> tuple[list[Found], str]:
    """What answers a question, and why only words were searched ('': that was not so)."""
    try:
        return app.search.find(question), ""
    except ProviderError as error:  # an endpoint that is down, a model that is not here: words are
        return app.search.find(question, by_words=True), str(error)
