"""Graduation: what is proven stands in a memory file that the client reads by itself, in a block with marks."""

from __future__ import annotations

from howcome.domain.candidates import users_words

MIN_HELD_CHARS = 12
"""What is shorter stands in a file by chance."""


def told(text: str) -> str:
    """What a memory says on a line of such a file: the user's own words where it quotes them, without a mark."""
    words = users_words(text) or text.partition(" says: ")[2] or text
    return " ".join(words.split()).replace("<!--", "<! --").replace("-->", "-- >")


def is_held(text: str, file_text: str) -> bool:
    """Whether a file (in one line) says what a memory does, in the same words."""
    said = told(text)
    return len(said) >= MIN_HELD_CHARS and said in file_text
