"""The port of the gate: what every text goes through before it rests."""

from __future__ import annotations

from typing import Protocol


class Gate(Protocol):
    """What every text goes through before it rests; `version` says by which rules."""

    version: int

    def text(self, text: str) -> str:
        """A text as it may rest; one that rests already stays as it is."""
        ...

    def value(self, value: object) -> object:
        """Decoded JSON as it may rest."""
        ...
