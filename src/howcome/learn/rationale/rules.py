"""The rationale of an exchange by rules, without a model: a pure function of it and of those before it."""

from __future__ import annotations

from collections.abc import Sequence

from howcome.domain import events
from howcome.domain.events import squeeze
from howcome.domain.rationales import MAX_TEXT_CHARS, Rationale
from howcome.domain.stored import StoredEvent
from howcome.learn.base import Exchange
from howcome.learn.rationale.asked import asked
from howcome.learn.rationale.done import Deeds, deed_in_words
from howcome.learn.rationale.reasons import why
from howcome.learn.rewriting import capitalized
from howcome.learn.scene import Scene

NAME = "rules"
VERSION = 1
"""Grows with every change to what the rules say: rationales of an older one are written anew."""

AUTHOR = f"{NAME} {VERSION}"
_CHANGING = {*events.EDITORS, *events.SHELLS}
LOOKBACK = 4
"""Exchanges before one that it may point at ("yes, do that")."""


def may_have(exchange: Exchange) -> bool:
    """Whether an exchange may have a rationale, as far as can be told without its texts."""
    return any((event.tool or "").lower() in _CHANGING for event in exchange.events if event.kind == events.TOOL_CALL)


def by_rules(exchange: Exchange, before: Sequence[Exchange]) -> Rationale | None:
    """What was asked, what was done and why; None where nothing was done or decided.

    Args:
        exchange: A prompt of the main agent's and what followed, with whole texts (those of results are not read).
        before: The exchanges before it, at most LOOKBACK, the nearest last.
    """
    if exchange.prompt is None:
        return None
    scene = Scene(exchange)
    deeds = Deeds(scene)
    if not deeds.is_substantial:
        return None
    wish = asked(scene, before[-LOOKBACK:])
    what = "" if deeds.commits else deed_in_words(scene)
    done = deeds.told(what)
    reason, _ = why(scene, f"{wish} {done}", deeds.files)
    parts = [("Asked", wish), ("Done", done), ("Why", reason)]
    text = " ".join(f"{name}: {_ended(capitalized(said))}" for name, said in parts if said)
    return Rationale(squeeze(text, MAX_TEXT_CHARS), least_trusted(exchange.prompt), AUTHOR)


def _ended(text: str) -> str:
    """A sentence with its end."""
    text = text.rstrip(" .,;:")
    return text if text.endswith(("?", "!", "…", "?)")) else text + "."


def least_trusted(prompt: StoredEvent) -> str:
    """The least trusted origin of what is quoted: of tools' output nothing is."""
    return events.ORIGIN_ASSISTANT if prompt.origin in events.PUSHED_ORIGINS else prompt.origin
