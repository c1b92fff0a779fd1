"""The receipt: what was injected, how many tokens that was, and how often it was used afterwards. Read-only.

A line was used when the agent opened it (a call names its id), or when one of its names is in what the agent says and
does next, where nobody in the session had said it before.
"""

from __future__ import annotations

import re
from collections import defaultdict

from howcome.domain.events import ASSISTANT_TEXT, TOOL_CALL, TOOL_RESULT, USER_PROMPT
from howcome.domain.text import coined_names
from howcome.domain.verdicts import AGENT, BRIEFING, MANIFEST, PROMPT, PROMPT_MS
from howcome.recall.bites import SHORT_ID_CHARS
from howcome.recall.explained import words_said

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from howcome.domain.stored import StoredEvent
    from howcome.domain.verdicts import PastVerdict
    from howcome.store.base import Store

KINDS = {BRIEFING: "briefing", PROMPT: "prompts", MANIFEST: "compaction", AGENT: "subagents"}
TOOLS = "tools"
NEXT_PROMPTS = 3
"""What the agent does until so many further prompts are typed may be because of a line; later it is chance."""

OURS = "howcome"
_QUOTED = re.compile(r"`([^`\n]{3,80})`")
_COST = re.compile(r"\(~(\d{1,6}) tokens\)")


class Row:
    """One way of saying: how often something was said, lines, tokens; of the lines: opened, with names, names used."""

    __slots__ = ("lines", "named", "opened", "reused", "times", "tokens", "used")

    def __init__(self) -> None:
        self.times = self.lines = self.tokens = self.opened = self.named = self.reused = self.used = 0


def way_of(one: PastVerdict) -> str:
    """The way by which something was said."""
    return KINDS.get(one.hook, one.hook)


def receipt(
    store: Store, verdicts: Iterable[PastVerdict], key: Callable[[PastVerdict], str] = way_of
) -> dict[str, Row]:
    """What was injected by some verdicts, and by our tools in their sessions, by the way it came (or another `key`)."""
    rows: dict[str, Row] = defaultdict(Row)
    by_session: dict[str, list[PastVerdict]] = defaultdict(list)
    for one in verdicts:
        by_session[one.session].append(one)
        row = rows[key(one)]
        row.times, row.lines, row.tokens = row.times + bool(one.tokens), row.lines + one.lines, row.tokens + one.tokens
    for name, told in by_session.items():
        whole = [event for row in store.sessions.named(name) for event in store.log.session(row, with_text=True)]
        for one in told:
            asked = "" if one.asked is None else _last_prompt(whole, one.asked_ms)
            _count_uses(rows[key(one)], words_said(store, one, asked), one, whole)
        _count_tools(rows, whole, min(one.asked_ms for one in told))
    return dict(rows)


def _last_prompt(whole: Sequence[StoredEvent], then_ms: int) -> str:
    """What was typed last until a moment."""
    asked = [event for event in whole if event.kind == USER_PROMPT and _is_before(event, then_ms)]
    return (asked[-1].text or "") if asked else ""


def _count_uses(row: Row, said: Mapping[str, str], one: PastVerdict, whole: Sequence[StoredEvent]) -> None:
    before = "\n".join(event.text or "" for event in whole if _is_before(event, one.asked_ms)).lower()
    after = _next(whole, one.asked_ms)
    calls = "\n".join(event.text or "" for event in after if event.kind == TOOL_CALL)
    done = "\n".join(event.text or "" for event in after).lower()
    for ident, text in said.items():
        names = {*coined_names(text), *(name.lower() for name in _QUOTED.findall(text))}
        new = [name for name in names if name not in before]
        is_opened, is_reused = ident[:SHORT_ID_CHARS] in calls, any(name in done for name in new)
        row.opened += is_opened
        row.named += bool(new)
        row.reused += is_reused
        row.used += is_opened or is_reused


def _next(whole: Sequence[StoredEvent], then_ms: int) -> list[StoredEvent]:
    """What the agent says and does after a moment, until NEXT_PROMPTS more prompts are typed."""
    found: list[StoredEvent] = []
    prompts = 0
    for event in whole:
        if _is_before(event, then_ms):
            continue
        prompts += event.kind == USER_PROMPT
        if prompts > NEXT_PROMPTS:
            break
        if event.kind in (ASSISTANT_TEXT, TOOL_CALL):
            found.append(event)
    return found


def _count_tools(rows: dict[str, Row], whole: Iterable[StoredEvent], since_ms: int) -> None:
    """Answers of our tools say themselves what they cost."""
    for event in whole:
        if event.kind == TOOL_RESULT and OURS in (event.tool or "") and _ms(event) >= since_ms:
            rows[TOOLS].times += 1
            rows[TOOLS].tokens += sum(map(int, _COST.findall((event.text or "")[:400])[:1]))


def _is_before(event: StoredEvent, then_ms: int) -> bool:
    """Whether it was said when a hook answered; a prompt that was typed just after that is the one it answered."""
    return _ms(event) <= then_ms + (PROMPT_MS if event.kind == USER_PROMPT else 0)


def _ms(event: StoredEvent) -> int:
    return event.ts_ms or event.order_ms
