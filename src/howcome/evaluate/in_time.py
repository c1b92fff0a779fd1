"""In time: whether one short line of its window held what a prompt needed when the prompt came, however it got there.

What was needed are the quotes that readers found helpful, and what they missed (in their own words). A line holds it
when it has most of its stems, or when a reader of both says so; nearly the same thing, missed often, counts once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from howcome.domain.text import tokens
from howcome.evaluate.notes import stems
from howcome.evaluate.replay import Line

HELPS = 2
QUOTE_SHARE = 0.7
NEAR_SHARE, NEAR_LINES = 0.2, 2
"""A line that has so much of it may hold it in other words: so many, the nearest, are put to a reader."""

SAME_SHARE = 0.5
"""What shares so many of both's stems is the same thing missed again."""

MAX_LINE_TOKENS = 40


@dataclass
class Want:
    """Something that a prompt needed: a `quote` or what was `missing`; lines that may hold it, by their ids."""

    what: str
    text: str
    is_held: bool
    near: Sequence[tuple[str, str]] = field(default_factory=list)


def wants_of(
    row: Mapping[str, object],
    candidates: Sequence[Mapping[str, object]],
    held: Sequence[Line],
    judged: Mapping[object, int],
) -> list[Want]:
    """What a judged prompt needed, and whether a line that its window held says it."""
    texts = [line.text for line in held if tokens(line.text) <= MAX_LINE_TOKENS]
    helpful = (one for one in candidates if one.get("grade") == HELPS)
    wanted = [("quote", str(one.get("quote") or ""), str(one.get("gist") or "")) for one in helpful]
    wanted.append(("missing", str(row.get("missing") or ""), ""))
    return [_want(what, text, gist, texts, judged) for what, text, gist in wanted if text]


def distinct(wants: Sequence[Want]) -> list[list[Want]]:
    """What was needed, each thing with all prompts that needed it."""
    things: list[tuple[frozenset[str], list[Want]]] = []
    for want in wants:
        of_want = stems(want.text)
        same = (thing for known, thing in things if len(known & of_want) >= SAME_SHARE * len(known | of_want))
        if (thing := next(same, None)) is not None:
            thing.append(want)
        else:
            things.append((of_want, [want]))
    return [thing for _, thing in things]


def key_of(*parts: str) -> str:
    """An id for readers that stays as long as what they read."""
    return blake2b("\0".join(parts).encode(), digest_size=8).hexdigest()


def _want(what: str, text: str, gist: str, lines: Sequence[str], judged: Mapping[object, int]) -> Want:
    wanted = stems(text)
    found = ((len(wanted & stems(line)) / (len(wanted) or 1), line) for line in dict.fromkeys(lines))
    shares = sorted(found, key=lambda pair: (-pair[0], pair[1]))
    shown = f"{text} ({gist})" if gist else text
    if wanted and any(share >= QUOTE_SHARE for share, _ in shares):
        return Want(what, shown, is_held=True)
    near = [(key_of(text, line), line) for share, line in shares[:NEAR_LINES] if share >= NEAR_SHARE]
    return Want(what, shown, any(judged.get(key) == HELPS for key, _ in near), near)
