"""Patterns that are compiled when they are first used: a prompt imports fifty and uses a dozen."""

from __future__ import annotations

import re


def late(source: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, which it calls when it is first asked for a method; then nothing is slower."""
    return _Late(source, flags)  # type: ignore[return-value]


class _Late:
    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> object:
        """A method of the pattern, which is found at once from then on."""
        found = getattr(re.compile(self._source, self._flags), name)
        self.__dict__[name] = found
        return found
