"""Questions of the user that the agent answered after looking, and causes that the user says are right."""

from __future__ import annotations

import re

from howcome.domain import words
from howcome.learn.sources.seen import (
    MAX_CHARS,
    Draft,
    Seen,
    count_words,
    is_question,
    is_whole,
    lasting,
    named,
    one_line,
    quoted,
    stems,
)

MIN_WORDS, MAX_YES_WORDS = 5, 8
MAX_QUESTION_CHARS, MAX_ANSWER_CHARS = 100, 190
MIN_WEIGHT = 2.0
"""Below it an answer shares too little with its question: of those that strangers read on one project 45 % were of
use, above it 65 %."""

_LINES = re.compile(r"(?i)\blines? \d|:\d+\b")
"""Numbers of lines are others tomorrow."""


def find(seen: Seen) -> list[Draft]:
    """The answer of an exchange to what it asked, and what its words say of the answer before it."""
    return _asked(seen) + _confirmed(seen)


def _asked(seen: Seen) -> list[Draft]:
    said = seen.words
    if said is None or not said.is_typed or not is_question(said.text) or count_words(said.text) < MIN_WORDS:
        return []
    final = next((one for one in reversed(seen.replies) if one.is_final), None)
    if final is None or seen.scene.edited:
        return []
    wanted = stems(said.text)
    weighed = []
    for place, line in enumerate(lasting(final)):
        weight = 0.6 * named(line) + 0.5 * len(wanted & stems(line)) + 0.8 * words.has(line, "causes") - 0.08 * place
        weight -= 1.0 if len(line) > MAX_ANSWER_CHARS else 0.0
        is_clear = weight > MIN_WEIGHT and is_whole(line) and not _LINES.search(line)
        if is_clear and not seen.is_taken_back(line, final):
            weighed.append((weight, line, final))
    best = seen.best(weighed)
    if best is None or seen.is_changed_later(best[0]):
        return []
    asked = f"Asked {quoted(one_line(said.text, MAX_QUESTION_CHARS))}: "
    text = f"{asked}{one_line(best[0], MAX_CHARS - len(asked))}"
    return [Draft("discovery", text, [final.event], witnesses=[said.event])]


def _confirmed(seen: Seen) -> list[Draft]:
    said, answered = seen.words, seen.answered
    if said is None or answered is None or count_words(said.text) > MAX_YES_WORDS:
        return []
    if not words.begins(said.text, "confirms") or is_question(answered.text[-200:]):
        return []  # a yes to what the agent asks to do is none to a cause
    told = [line for line in lasting(answered) if is_whole(line) and named(line) and words.has(line, "causes")]
    best = seen.best((words.has(line, "blames") - 0.01 * place, line, answered) for place, line in enumerate(told))
    if best is None:
        return []
    text = f"{one_line(best[0], MAX_ANSWER_CHARS)} The user: {quoted(one_line(said.text, MAX_QUESTION_CHARS))}"
    return [Draft("discovery", text, [answered.event], witnesses=[said.event])]
