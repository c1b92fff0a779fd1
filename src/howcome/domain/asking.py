"""Questions about the past: what they are about, without the words that only ask."""

from __future__ import annotations

from howcome.domain import words

MAX_CHORE_CHARS = 300
MAX_WORDS = 40
"""A longer prompt gives a task; that it speaks of the past is no question about it."""


def is_chore(prompt: str) -> bool:
    """Whether a prompt asks for a step of the day and nothing else: "commit this and push it"."""
    return not any(character.isalnum() for character in words.rest_of(prompt[:MAX_CHORE_CHARS], "chores"))


def asked_of_past(prompt: str) -> str | None:
    """What a question about the past is about: "What did we decide about the retry limit?" → "the retry limit?".

    "" where nothing is left of it ("where did we leave off?"), None for every other prompt.
    """
    said = prompt.split()
    lists = ("recalls", "hints") if "?" in prompt else ("recalls",)
    if len(said) > MAX_WORDS or len(words.rest_of(prompt, *lists).split()) == len(said):
        return None
    rest = words.rest_of(prompt, "recalls", "hints", "asking")
    return rest if any(character.isalnum() for character in rest) else ""
