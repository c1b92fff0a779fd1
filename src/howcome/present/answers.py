"""What a search finds, the same at every door: by words alone where an embedder fails, and of a time that is named.

"november 5 sync" is searched among what was said on that day. Where nothing but a time is asked ("what did we do
yesterday?") the sessions of that time answer. Where nothing of it surely answers, as for words that only look like a
time, the whole scope does. A time that reaches into today only puts its answers first: "today" also means "nowadays".
"""

from __future__ import annotations

from copy import copy

from howcome.app import App, now_ms
from howcome.domain import words
from howcome.domain.stored import Found, SessionSummary
from howcome.domain.times import Span, iso_day, spans, without
from howcome.errors import ProviderError
from howcome.present.moments import ahead_of_utc_ms
from howcome.retrieve.question import Question

MAX_ASKED_CHARS = 200
"""So much of a question is read for a time."""


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
    """What answers a question, of the time that it names; `since` and `before` of the question come first."""
    told = Answers(*_found(app, question))
    asked, now = " ".join(question.concepts)[:MAX_ASKED_CHARS], now_ms()
    local = now + ahead_of_utc_ms(now)
    spoken = spans(asked, local)
    if len(spoken) != 1 or question.since_ms is not None or question.before_ms is not None:
        return told
    within = copy(question)
    within.since_ms, within.before_ms = (_utc_ms(end) for end in (spoken[0].since_ms, spoken[0].before_ms))
    rest = without(asked, local)
    if app.search.has_words(words.rest_of(words.telling(rest, asked), "recalls", "hints", "asking")):
        within.concepts = [left for one in question.concepts if (left := without(one, local))]
        _narrow(app, told, within, _name(spoken[0]), is_past=(within.before_ms or now + 1) <= now)
    elif not (question.types or question.session or question.agent or question.subsystem):
        _list_sessions(app, told, within, _name(spoken[0]), is_bare=not any(map(str.isalnum, rest)))
    return told


def _narrow(app: App, told: Answers, within: Question, name: str, *, is_past: bool) -> None:
    """Answers of the time alone, or first, where there are any that are as sure as those of any time."""
    found, _ = _found(app, within)
    is_sure = any(not one.is_near for one in told.found)
    others = [one for one in told.found if one.id not in {item.id for item in found}]
    if not found or (is_sure and found[0].is_near):
        told.notes = [f"None of these is of {name}."] if told.found else []
    elif is_past or found[0].is_near or not is_sure:
        told.found, told.notes = found, [f"Only of {name}."]
    else:
        told.found = [*found, *others][: within.limit]
        told.notes = [f"Those of {name} first."] if others else []


def _list_sessions(app: App, told: Answers, within: Question, name: str, *, is_bare: bool) -> None:
    """The sessions of a time. What has the time's own words answers only where it was all that was asked."""
    since_ms, before_ms = within.since_ms or 0, within.before_ms
    told.sessions = app.events.recent_sessions(within.scope, within.limit, since_ms=since_ms, before_ms=before_ms)
    is_known = within.scope.is_everything or within.scope.project_id is not None
    told.is_told = is_known and not app.events.is_empty()
    if told.is_told:
        told.notes = [f"The sessions of {name}." if told.sessions else f"No session is of {name}."]
    if told.sessions or not is_bare:
        told.found = []


def _utc_ms(local_ms: int | None) -> int | None:
    """The moment at which a person's clock shows a time; by what it is ahead of UTC then, summer or winter."""
    return None if local_ms is None else max(0, local_ms - ahead_of_utc_ms(local_ms))


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
