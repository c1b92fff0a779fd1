"""The port to what others said and how they failed: short-lived notes that spare asking them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


class Answers(Protocol):
    """Answers of language models, and pauses of whoever failed: the part of the store that holds them.

    A store that cannot be written keeps nothing new, and raises nothing for it.
    """

    def said(self, key: bytes, since_ms: int, now_ms: int) -> dict[str, object] | None:
        """What was said under a key between these times; None when nothing was."""
        ...

    def keep(self, key: bytes, answer: Mapping[str, object], since_ms: int, now_ms: int) -> None:
        """Keeps what was said now under a key; what is older than `since_ms` goes, and what is dated later than now."""
        ...

    def pause_of(self, name: str, now_ms: int) -> tuple[int, str] | None:
        """Until when (UTC ms) nobody should ask somebody, and why; None when it may be asked."""
        ...

    def pause(self, name: str, now_ms: int, until_ms: int, reason: str) -> None:
        """From now until then nobody should ask somebody."""
        ...
