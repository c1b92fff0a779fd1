"""The write side of every table: no text is bound to a statement before it has been through the gate."""

from __future__ import annotations

import apsw

from howcome.log.terms import offer_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any


class Kept(str):
    """A text whose parts have been through the gate one by one, such as the JSON of gated values: bound as it is."""

    __slots__ = ()


class GatedConnection(apsw.Connection):
    """A connection whose statements get texts as they may rest on disk; `gate` None lets all through (a bare store)."""

    gate: Callable[[str], str] | None = None

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - the driver's own
        super().__init__(*args, **named)
        offer_terms(self)

    def execute(self, statements: str, bindings: Sequence[Any] | None = None) -> apsw.Cursor:  # type: ignore[override]
        """Runs statements; every text that is bound goes through the gate."""
        return super().execute(statements, self._gated(bindings) if bindings else bindings)

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]]) -> apsw.Cursor:  # type: ignore[override]
        """Runs a statement for each row; every text that is bound goes through the gate."""
        return super().executemany(statements, [self._gated(row) for row in sequenceofbindings])

    def execute_gated(self, statements: str, bindings: Sequence[Any]) -> apsw.Cursor:
        """Runs statements with what has been through the gate already, or is only looked for."""
        return super().execute(statements, bindings)

    def as_kept(self, bindings: Sequence[Any]) -> Sequence[Any] | None:
        """What is bound as the store would hold it; None when that is the same."""
        gated = self._gated(bindings)
        return gated if gated != bindings else None

    def _gated(self, bindings: Sequence[Any]) -> Sequence[Any]:
        gate = self.gate
        if gate is None:
            return bindings
        return tuple([gate(value) if type(value) is str else value for value in bindings])
