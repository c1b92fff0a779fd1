"""What a language model is asked of a batch: its messages, numbered, and what is remembered of the project.

What a person and the agent said is shown whole, commands and edits in a line each, and of tools' output only failures,
in a line each: what a tool gives back may be anybody's words. All of it was redacted when it was stored, and is once
more before it leaves.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import fsum

from howcome.domain import events, memories
from howcome.domain.distil_batches import OPERATIONS
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory, normalized
from howcome.domain.personal_data import without_personal_data
from howcome.domain.stored import StoredEvent
from howcome.domain.times import iso_day
from howcome.learn.likeness import Statement

TURNS_CHARS = 88_000
"""Of all messages together; what a message does not need others may use. A batch has less, unless its last exchange is
very long."""

TOOL_CHARS, FAILURE_CHARS, BEFORE_CHARS, SHOWN_CHARS = 160, 240, 300, 500
ASKED_CHARS = 1500
"""Of a plan, or of questions with their choices: the next words of the user answer them."""

OWN_MEMORIES, NEAR_MEMORIES = 40, 10
"""Memories that are shown: what is known from this session already, and what else is nearest to it."""

MOST_OPERATIONS = 24
NOTE_CHARS, MOST_CITED = 300, 3
"""A memory is one thing, said shortly, with the messages that bear it out best."""

ANSWER_CHARS = 1000
"""A text may be so long before the answer has another shape than it was asked for."""


def schema_of(**properties: object) -> Mapping[str, object]:
    """The schema of an object that has these properties and no other."""
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


_TEXT = {"type": "string", "maxLength": ANSWER_CHARS}
_QUOTED = schema_of(message={"type": "integer"}, quote=_TEXT)
_OPERATION = schema_of(
    op={"type": "string", "enum": list(OPERATIONS)},
    type={"type": "string", "enum": list(memories.TYPES)},
    text=_TEXT,
    memory={"anyOf": [{"type": "string"}, {"type": "null"}]},
    evidence={"type": "array", "items": _QUOTED, "maxItems": 8},
    reason=_TEXT,
)
SCHEMA = schema_of(operations={"type": "array", "maxItems": MOST_OPERATIONS, "items": _OPERATION})
_QUESTION = os.path.join(os.path.dirname(__file__), "notes_prompt.txt")
OWN_WORDS = "user agent runs edits fails prints"
"""With which messages are shown."""

_SHELL = re.compile(r"bash|shell|exec|terminal", re.IGNORECASE)
_EDIT = re.compile(r"edit|write|replace|patch|create", re.IGNORECASE)
_ASKING = re.compile(r"ask.*question|exit.?plan", re.IGNORECASE)
_TROUBLE = re.compile(
    r"^.*(?<![\w-])(?<!\D0 )(?<!^0 )"
    r"(?:error|fail(?:ed|s|ures?)?|fatal|conflict|denied|panic|exception|unrecognized|not found)(?![\w-])"
    r"(?!\W{1,3}0(?![\w.])).*(?:\n.*)?",
    re.IGNORECASE | re.MULTILINE,
)
"""Where the output of a command speaks of a failure: a pipe hides its exit code."""


class Shown:
    """What a model is shown of a batch.

    Attributes:
        messages: The events (number - 1 is the place); `lines`: as they are shown; `texts`: what may be quoted of each.
        memories: By label. `before`: what the user said in the session before; what was learnt from it is a memory.
    """

    __slots__ = ("before", "lines", "memories", "messages", "texts")

    def __init__(
        self, told: Iterable[StoredEvent], remembered: Iterable[Memory] = (), before: Sequence[StoredEvent] = ()
    ) -> None:
        lines = _lines(told)
        self.messages, self.lines = [event for event, _ in lines], [line for _, line in lines]
        self.texts = [event.text or line if event.kind in events.TURN_KINDS else line for event, line in lines]
        self.memories: dict[str, Memory] = {}
        for memory in remembered:
            label = blake2b(normalized(memory.text).encode(), digest_size=2).hexdigest()  # the same in whatever store
            self.memories.setdefault(f"m{label}", memory)
        is_users = (events.USER_PROMPT, events.ORIGIN_USER)
        self.before = [event for event in before if (event.kind, event.origin) == is_users]

    def prompt(self) -> str:
        """The whole question."""
        known = [f"[{label}] {_described(one)}" for label, one in self.memories.items()]
        said = [squeeze(event.excerpt, BEFORE_CHARS) for event in dict.fromkeys(self.before[:1] + self.before[-1:])]
        heads = "The session began with", "The last that the user said before"
        before = ["", *(f"{head}: {words}" for head, words in zip(heads, said, strict=False))] if said else []
        parts = [question(), "Memories:", *(known or ["(none)"]), *before, "", "Messages:"]
        day = ""
        for number, (event, line) in enumerate(zip(self.messages, self.lines, strict=True), 1):
            if (today := iso_day(event.ts_ms or event.order_ms)) != day:
                parts.append(f"-- {(day := today)}")
            parts.append(f"[{number}] {line}")
        return "\n".join(parts)

    def holds(self, number: int, quote: str) -> bool:
        """Whether a message holds some words, whatever the blanks between them."""
        words, text = " ".join(quote.split()), " ".join(self.texts[number - 1].split())
        return words in text or words in without_personal_data(text)  # which is what it was sent


def question() -> str:
    """What is asked: what good notes are, and how they are written."""
    with open(_QUESTION, encoding="utf-8") as stream:
        return stream.read()


def remembered(
    told: Sequence[StoredEvent], before: Sequence[StoredEvent], known: Iterable[Memory], near: Sequence[bytes] = ()
) -> list[Memory]:
    """The live memories that a model is shown: those that this session bears out, and the nearest others.

    `told` are the messages, `before` what was said before them; `near` are keys of memories that are near by meaning,
    the nearest first: where there are none words decide.
    """
    ids = {event.id for event in (*before, *told)}
    live = [memory for memory in known if memory.is_live]
    own = [memory for memory in live if ids & set(memory.evidence)][-OWN_MEMORIES:]
    others = {memory.key: memory for memory in live if memory not in own}
    by_words = _by_words(told, list(others.values()))
    by_meaning = [others[key] for key in near if key in others]
    in_turn = [one for pair in zip(by_meaning, by_words, strict=False) for one in pair] + by_meaning + by_words
    return [*own, *list(dict.fromkeys(in_turn))[:NEAR_MEMORIES]]


def _by_words(told: Sequence[StoredEvent], others: Sequence[Memory]) -> list[Memory]:
    """Memories that share words with the messages, by how rare these are among all, over the root of their number."""
    said = Statement(" ".join(event.text or event.excerpt for event in told if event.kind in events.TURN_KINDS)).words
    words = {memory.row: Statement(memory.text).words for memory in others}
    counts = Counter(word for each in words.values() for word in each)
    shares = {row: fsum(1 / counts[word] for word in each & said) for row, each in words.items()}
    scores = {row: share / len(words[row] or "-") ** 0.5 for row, share in shares.items()}
    near = [memory for memory in others if scores[memory.row]]
    return sorted(near, key=lambda memory: (-scores[memory.row], memory.row))[:NEAR_MEMORIES]


def _described(memory: Memory) -> str:
    day = iso_day(memory.said_ms or memory.created_ms)
    return f"({memory.type}, {day}, from {memory.origin}) {squeeze(memory.text, SHOWN_CHARS)}"


def _lines(told: Iterable[StoredEvent]) -> list[tuple[StoredEvent, str]]:
    """What of some events is shown, each as it is; long messages are cut in the middle, where they say least."""
    every = list(told)
    room = _room([len(event.text or "") for event in every if event.kind in events.TURN_KINDS])
    found: list[tuple[StoredEvent, str]] = []
    for event in every:
        if event.kind in events.TURN_KINDS:
            is_users = event.origin == events.ORIGIN_USER
            who = "agent" if event.kind == events.ASSISTANT_TEXT else "user" if is_users else "not the user"
            found.append((event, f"{who}: {ends((event.text or '').strip(), room, (room - 3) // 2)}"))
        elif (line := _deed(event)) and not (found and found[-1][1] == line):  # edits of one file
            found.append((event, line))
    return found


def _deed(event: StoredEvent) -> str:
    """A command, an edit, a plan or a failure in a line; "" for what is not shown."""
    tool = event.tool or ""
    if event.kind == events.TOOL_CALL:
        if _SHELL.search(tool):
            return f"runs {squeeze(event.excerpt, TOOL_CHARS)}"
        if _ASKING.search(tool):
            return f"agent, {tool}: {squeeze(event.text or event.excerpt, ASKED_CHARS)}"
        is_edit = event.file is not None and _EDIT.search(tool)
        return f"edits {str(event.file).removeprefix(event.project + '/')}" if is_edit else ""
    if event.kind != events.TOOL_RESULT or not (event.failed or _SHELL.search(tool)):
        return ""
    trouble = _TROUBLE.search(event.text or event.excerpt)
    if trouble is None and not event.failed:
        return ""
    how = "fails" if event.failed else "prints"
    return f"{tool} {how}: {squeeze(trouble[0] if trouble else event.excerpt, FAILURE_CHARS)}"


def _room(lengths: Sequence[int]) -> int:
    """How much of each message is shown, so that all of them together have TURNS_CHARS at most."""
    left, waiting = TURNS_CHARS, sorted(lengths)
    for place, length in enumerate(waiting):
        share = left // (len(waiting) - place)
        if length > share:
            return share
        left -= length
    return TURNS_CHARS


def ends(text: str, most: int, head: int) -> str:
    """A text, or so many characters of its beginning and the rest of what there is room for from its end."""
    return text if len(text) <= most else f"{text[:head]}\n…\n{text[len(text) - (most - head - 3) :]}"
