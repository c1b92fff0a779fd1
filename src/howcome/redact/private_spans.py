"""What a user put between `<private>` and `</private>` is never kept."""

from __future__ import annotations

import re

_PRIVATE_TAG = re.compile(r"<(/?)private[ \t]{0,8}>", re.IGNORECASE)


def strip_private(text: str) -> str:
    """Replace every `<private>` span by "[private]"; a span that is never closed reaches to the end."""
    pieces: list[str] = []
    depth = position = 0
    for tag in _PRIVATE_TAG.finditer(text):
        closing = bool(tag[1])
        if depth == 0 and not closing:
            pieces += (text[position : tag.start()], "[private]")
        if depth > 0 or not closing:
            depth += -1 if closing else 1
            position = tag.end()
    if depth == 0:
        pieces.append(text[position:])
    return "".join(pieces)


def strip_private_value(value: object) -> object:
    """Strip the private spans of all strings of decoded JSON."""
    if isinstance(value, str):
        return strip_private(value)
    if isinstance(value, dict):
        return {name: strip_private_value(item) for name, item in value.items()}
    return [strip_private_value(item) for item in value] if isinstance(value, list) else value
