"""Questions about the past: what they are about, without the words that only ask."""

from __future__ import annotations

from howcome.domain import words

MAX_CHORE_CHARS = 300
MAX_WORDS = 40
"""A longer prompt gives a task; that it speaks of the past is no question about it."""


def is_chore(prompt: str) -> bool:
    """Whether a prompt asks for a step of the day and nothing else: "commit this and push it"."""
    return not any(character.isalnum() for character in words.without(prompt[:MAX_CHORE_CHARS], "chores"))


def asked_of_past(prompt: str) -> str:
    """What a question about the past is about: "What did we decide about the retry limit?" → "the retry limit?".

    "" for every other prompt, and where nothing is left of it.
    """
    if len(prompt.split()) > MAX_WORDS or not words.has(prompt, "recalls"):
        return ""
    return words.rest_of(prompt, "recalls", "asking")
