"""Plans that a person approved of: what they are for, and what they lay down with a reason.

Agents write them, so no word in them is the person's, also where the person's prompt hands one over.
"""

from __future__ import annotations

import re
from itertools import islice
from math import ceil

from howcome.domain import words
from howcome.domain.events import ORIGIN_ASSISTANT
from howcome.domain.sentences import without_markdown
from howcome.learn.scene import Said
from howcome.learn.sources.seen import Draft, Seen, count_words, is_whole, lasting, named, one_line, quoted

MAX_FROM_ONE = 5
MIN_PLAN_CHARS = 400
MAX_TITLE_CHARS, MAX_TEXT_CHARS = 80, 205
MIN_WEIGHT = 1.2
MIN_WORDS, FIRST_SHARE, FIRST_LINES = 12, 0.5, 10
"""A plan's first half says what it is for and what was decided, the rest is steps; a short line is one of a list. Of
372 lines of plans that readers graded, those with both and MIN_WEIGHT are understood alone and useful for 15 of 30 and
11 of 16 (TypeScript project, Go tool), without the two for 24 of 73 and 19 of 31. A short plan is looked at whole.
A line without a word of a reason or a cause is a step or tells how things are: strict readers found 2 of 37 and 3 of 10
of use, of the others 19 of 56 and 4 of 14."""

_HEADING = re.compile(r"(?m)^#{1,6} +(\S.*)")


def find(seen: Seen) -> list[Draft]:
    """Plans of an exchange: given by the user, or written by the agent and approved."""
    found = []
    for said in seen.scene.said:
        if said.is_plan or (said.is_user and len(said.text) >= MIN_PLAN_CHARS and _has_headings(said.text)):
            found += _of(seen, said)
    return found


def _has_headings(text: str) -> bool:
    """Whether it is a document; a script has comments that look like headings."""
    return not text.lstrip().startswith("#!") and _HEADING.search(text, text.find("\n") + 1) is not None


def _of(seen: Seen, said: Said) -> list[Draft]:
    heading = _HEADING.search(said.text)
    title = without_markdown(heading[1].strip("# ")) if heading else ""
    if not said.is_user and seen.is_repeated(title, said.event):
        title = ""
    if ":" in title[:40]:
        title = title.partition(":")[2].strip() or title
    head = f"Plan {quoted(one_line(title, MAX_TITLE_CHARS))}" if title else "Plan"
    weighed = []
    lines = lasting(said)
    for place, text in enumerate(lines[: max(FIRST_LINES, ceil(len(lines) * FIRST_SHARE))]):
        weight = 0.4 * named(text) + 1.2 * words.has(text, "reasons") + 0.6 * words.has(text, "blames") - 0.01 * place
        weight += 0.5 * is_whole(text)
        is_sized = len(text) <= MAX_TEXT_CHARS and count_words(text) >= MIN_WORDS
        is_borne_out = words.has(text, "reasons") or words.has(text, "causes")
        is_part = words.has(text, "before") or text[0] in "`(" or text[0].islower()  # or what is about to change
        if weight >= MIN_WEIGHT and is_sized and is_borne_out and not is_part:
            weighed.append((-weight, place, text))
    own = (text for *_, text in sorted(weighed) if said.is_user or not seen.is_repeated(text, said.event))
    told = ((_type(text), f"{head}: {text}") for text in islice(own, MAX_FROM_ONE))
    return [Draft(kind, text, [said.event], origin=ORIGIN_ASSISTANT) for kind, text in told]


def _type(text: str) -> str:
    """A cause that was found out ("the root cause is …") is no decision; the rest of what has a reason is one."""
    is_found = words.has(words.without(text, "joins"), "blames") or not words.has(text, "reasons")
    return "discovery" if is_found and not words.has(text, "swaps") else "decision"
