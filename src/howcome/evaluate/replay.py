"""A session told again: its begin and its prompts in their order, each answered as it would have been then.

What is told is noted, so that nothing is told twice to a window, and a compaction begins a new one. That a session is
distilled some time after it ended, and that a prompt typed while the agent works asks nobody, is left out of account.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from howcome.app import App
from howcome.domain import events
from howcome.domain.stored import Reminder, StoredEvent
from howcome.domain.text import tokens
from howcome.recall.bites import bite_lines
from howcome.settings import BITES, OFF

SAME_MS = 2_000
"""How near two times of a prompt have to be."""

LAST_PROMPTS, MIN_PROMPT_CHARS = 3, 4
BLOCK_TOKENS = 35
"""What stands around the lines of a block."""


@dataclass(frozen=True)
class Line:
    """A line that is told: where it is from, and its words."""

    head: str
    text: str
    reminder: Reminder | None

    @property
    def tokens(self) -> int:
        """What it costs."""
        return tokens(self.head + self.text)


@dataclass(frozen=True)
class Moment:
    """A session's begin (without a prompt), or a prompt, with what is told then.

    `before` are the last things that were said, `after` what was said next; a compaction begins another `window`.
    """

    ts_ms: int
    prompt: str | None
    lines: Sequence[Line]
    window: int
    branch: str = ""
    before: Sequence[str] = field(default_factory=list)
    after: Sequence[str] = field(default_factory=list)

    @property
    def tokens(self) -> int:
        """What the block costs."""
        return BLOCK_TOKENS + sum(line.tokens for line in self.lines) if self.lines else 0


def replayed(app: App, root: str, session: str, instead: Mapping[int, str] | None = None) -> Iterator[Moment]:
    """The moments of a session (the client's id) of a project; `app.search.rehearse` comes before the first one.

    `instead` are prompts by their time (UTC ms) that are asked instead of those that are stored.
    """
    told = [event for event in app.events.session(app.events.session_named(session)[0]) if event.agent_id is None]
    own = [event for event in told if event.session == session and event.project == root]  # a fork copied the others
    turns = app.events.with_texts([event for event in own if event.kind in events.TURN_KINDS])
    prompts = _prompts(turns, instead or {})
    if not own or not prompts:
        return
    branch = next((event.branch for event in own if event.branch), "")
    start_ms = min(own[0].order_ms, prompts[0][0])
    yield Moment(start_ms, None, _briefing(app, root, session, branch, start_ms), 0, branch)
    compacted = [event.order_ms for event in own if event.kind == events.COMPACTION]
    window = 0
    for ts_ms, prompt in prompts:
        now_in = sum(moment_ms < ts_ms for moment_ms in compacted)
        if now_in != window:
            window = now_in
            app.search.forget_said(session)
        place = next((at for at, turn in enumerate(turns) if turn.order_ms >= ts_ms), len(turns))
        before, after = _before(turns[:place]), list(map(_said, turns[place + 1 : place + 11]))
        recent, is_asked = partial("\n".join, before), len(prompt) >= MIN_PROMPT_CHARS and not prompt.startswith("/")
        found = app.search.recall(prompt, cwd=root, session=session, recent=recent, then_ms=ts_ms) if is_asked else []
        app.search.record_said(session, "UserPromptSubmit", found)
        yield Moment(ts_ms, prompt, _lines(app, found, ts_ms), window, branch, before, after)


def _prompts(turns: Iterable[StoredEvent], instead: Mapping[int, str]) -> list[tuple[int, str]]:
    """When somebody asked what."""
    users = [turn for turn in turns if (turn.kind, turn.origin) == (events.USER_PROMPT, events.ORIGIN_USER)]
    others = (turn for turn in users if not any(abs(turn.order_ms - ts_ms) <= SAME_MS for ts_ms in instead))
    return sorted({**{turn.order_ms: turn.text or "" for turn in others}, **instead}.items())


def _briefing(app: App, root: str, session: str, branch: str, start_ms: int) -> list[Line]:
    limit = app.settings.briefing_tokens if app.settings.inject != OFF else 0
    if not limit:
        return []
    found = app.search.briefing(root, start_ms).lines(branch, limit)
    app.search.record_said(session, "SessionStart", [reminder for _, reminder in found if reminder is not None])
    parts = [(*text.partition("] "), reminder) for text, reminder in found]
    return [Line(head + mark, text, one) if mark else Line("", head, one) for head, mark, text, one in parts]


def _lines(app: App, found: Sequence[Reminder], now_ms: int) -> list[Line]:
    if app.settings.inject == BITES:
        told = bite_lines(found, now_ms)
        return [Line(head, text, reminder) for (head, text), reminder in zip(told, found, strict=True)]
    return [Line(f"[{one.source.id}] ", "\n".join(text for _, text in one.passages), one) for one in found]


def _before(turns: Sequence[StoredEvent]) -> list[str]:
    """The last prompts and the last answer."""
    asked = [turn for turn in turns if turn.kind == events.USER_PROMPT][-LAST_PROMPTS:]
    answered = [turn for turn in turns if turn.kind != events.USER_PROMPT][-1:]
    return list(map(_said, asked + answered))


def _said(turn: StoredEvent) -> str:
    return ("user: " if turn.kind == events.USER_PROMPT else "agent: ") + (turn.text or "")
