"""What a question about the past is about, and which sentences of several texts answer one.

It is about what is left without the words that only ask. Those answer that have most of its weight and are no passing
remark.
"""

from __future__ import annotations

from howcome.domain import words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import TypeVar

    _Of = TypeVar("_Of")

MAX_CHORE_CHARS = 300
MAX_WORDS = 40
"""A longer prompt gives a task; that it speaks of the past, or asks something besides, is no question about it."""

QUESTION_MARKS = ("?", "\uff1f", "\u061f")  # also of Chinese and Arabic
SENTENCE_ENDS = (". ", "! ", "? ", ": ", "\n")

TELLING_TERMS = 12
"""A long question is asked by its heaviest terms: so many say what it is about."""

NARRATION, QUESTION, HEAD, FRAGMENT = 0.5, 0.3, 0.2, 0.3
"""What a sentence loses that tells what is done next, asks, heads a list, or is a scrap of fewer than MIN_WORDS."""

MIN_WORDS, MAX_WORD_CHARS = 6, 30
BETWEEN = " … "


def is_chore(prompt: str) -> bool:
    """Whether a prompt asks for a step of the day and nothing else: "commit this and push it"."""
    return not any(character.isalnum() for character in words.rest_of(prompt[:MAX_CHORE_CHARS], "chores"))


def is_question(prompt: str) -> bool:
    """Whether a prompt asks: it ends with a mark, or its first or last sentence begins as a question does."""
    return prompt.strip().endswith(QUESTION_MARKS) or _begins(prompt, "asks")


def is_request(prompt: str) -> bool:
    """Whether a prompt asks for work: "can you add a test?", but not "can you tell me why …?"."""
    return _begins(prompt, "requests") and not _begins(prompt, "asks")


def _begins(prompt: str, name: str) -> bool:
    """Whether the first or the last sentence of a prompt begins with words of a list."""
    said = prompt.strip()
    last = max(said.rfind(end) for end in SENTENCE_ENDS)
    return any(words.opens(one, name) for one in (said, said[last + 1 :]))


def asked_of_past(prompt: str) -> str | None:
    """What a question about the past is about: "What did we decide about the retry limit?" → "the retry limit?".

    "" where nothing is left of it ("where did we leave off?"), None for every other prompt.
    """
    lists = ("recalls", "hints") if "?" in prompt or is_question(prompt) else ("recalls",)
    if words.count(prompt) > MAX_WORDS or words.rest_of(prompt, *lists) == " ".join(prompt.split()):
        return None
    rest = words.rest_of(prompt, "recalls", "hints", "asking")
    rest = words.telling(rest, prompt)
    return rest if any(character.isalnum() for character in rest) else ""


def share_of(said: str, weights: Mapping[str, float]) -> float:
    """How much of the weight of a question's terms a text in lower case has, from 0 to 1."""
    full = sum(sorted(weights.values(), reverse=True)[:TELLING_TERMS]) or 1.0
    return min(1.0, sum(weight for term, weight in weights.items() if term in said) / full)


def passing(said: str) -> float:
    """How little a sentence in lower case says by itself."""
    worth = NARRATION * words.opens(said, "narrates") + QUESTION * ("?" in said) + HEAD * said.endswith(":")
    return worth + FRAGMENT * (words.count(said) < MIN_WORDS)


def best_first(told: Iterable[tuple[_Of, str]], weights: Mapping[str, float]) -> list[tuple[float, _Of, str]]:
    """Sentences, each once, those first that answer a question best, each with what it is of.

    What is more of a passing remark than of an answer is left out, but for the best one.
    """
    once = {text.lower(): (whose, text) for whose, text in reversed(list(told))}
    worth = [(share_of(said, weights) - passing(said), *one) for said, one in reversed(once.items())]
    ordered = sorted(worth, key=lambda one: -one[0])
    return ordered[:1] + [one for one in ordered[1:] if one[0] >= 0]


def filled(sentences: Iterable[str], width_chars: int, each_chars: int) -> str:
    """As many sentences as there is room for, in their order, each cut at so many characters."""
    text = ""
    for sentence in sentences:
        room = width_chars - len(text) - len(BETWEEN) * bool(text)
        if room < MAX_WORD_CHARS:
            break
        text = text.removesuffix("…") + BETWEEN * bool(text) + cut(sentence, min(room, each_chars))
    return text


def cut(text: str, limit_chars: int) -> str:
    """A text on one line within a limit, cut at a word."""
    text = " ".join(text.split())
    if len(text) <= limit_chars:
        return text
    kept = text[: limit_chars - 1]
    blank = kept.rfind(" ", len(kept) - MAX_WORD_CHARS)
    return (kept[:blank] if blank > 0 else kept).rstrip(",;:—- ") + "…"
