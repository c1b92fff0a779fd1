"""A distiller for tests: it keeps what the agent says to keep."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from howcome.domain.candidates import Candidate, Distilled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.learn.base import Exchange

KEEP = re.compile(r"KEEP (\w+)(?: #([\w-]+))?: (.+)")
UNFINISHED = re.compile(r"UNFINISHED: (.+)")


class NotingDistiller:
    """`KEEP <type> [#subject]: <text>` is a candidate, UNFINISHED one while nothing follows."""

    def __init__(self, version: int = 1) -> None:
        self.name, self.version = "noting", version

    def distil(self, stream: Sequence[Exchange], place: int) -> Distilled:
        """What an exchange says to keep."""
        found, exchange, is_last = Distilled(), stream[place], place == len(stream) - 1
        for event in exchange.all_events:
            text = event.text or ""
            assert event.text is not None
            for kind, subject, words in KEEP.findall(text):
                if len(words) < 10:
                    found.reject("noise")
                    continue
                candidate = Candidate(kind, words, [event.id], event.origin, event.ts_ms or 0, subject=subject)
                found.candidates.append(candidate)
            for words in UNFINISHED.findall(text) if is_last else ():
                found.candidates.append(Candidate("context", words, [event.id], event.origin, event.ts_ms or 0))
        return found
