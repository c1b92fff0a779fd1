"""What a source proposes, before it is checked like every other."""

from __future__ import annotations

from collections.abc import Sequence

from howcome.domain import candidates
from howcome.domain.candidates import Candidate
from howcome.domain.events import squeeze
from howcome.domain.stored import StoredEvent

MAX_CHARS = 300
"""A memory says one thing."""

MAX_CITED = 3
_PLAIN = '"'


class Draft:
    """A memory as a source proposes it.

    Attributes:
        sources: The events whose words it is made of: they say its origin and its time.
        witnesses: Events that bear it out.
        subject: What a later word of the same kind would be about, "" where nothing tells.
        origin: Whose words they are, where that is not who said the events.
    """

    __slots__ = ("origin", "sources", "subject", "text", "type", "witnesses")

    def __init__(
        self,
        type: str,
        text: str,
        sources: Sequence[StoredEvent],
        *,
        witnesses: Sequence[StoredEvent] = (),
        subject: str = "",
        origin: str | None = None,
    ) -> None:
        self.type, self.text, self.sources, self.witnesses = type, squeeze(text, MAX_CHARS), sources, witnesses
        self.subject, self.origin = subject, origin

    def candidate_of(self, source: str) -> Candidate:
        """The candidate that a source of this name proposes with it."""
        cited = [event.id for event in (*self.sources, *self.witnesses)][:MAX_CITED]
        origin = self.origin or candidates.least_trusted(event.origin for event in self.sources)
        ts_ms = max((event.ts_ms or event.order_ms for event in self.sources), default=0)
        return Candidate(self.type, self.text, cited, origin, ts_ms, subject=self.subject, source=source)


def quoted(text: str) -> str:
    """Words as somebody's: in quotes that no code has."""
    return f"“{text.strip().replace('“', _PLAIN).replace('”', _PLAIN)}”"
