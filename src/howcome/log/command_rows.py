"""The port to the ledger of commands: what failed in which way, and what then worked."""

from __future__ import annotations

from typing import Protocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from howcome.domain.commands import Run
    from howcome.domain.stored import Scope


class CommandRows(Protocol):
    """Commands that ran, by numbers of their forms (`domain.commands.number`)."""

    def unread(self, limit: int) -> tuple[int, dict[int, list[int]]] | None:
        """The next events that are not looked through, at most so many; None where there are none.

        The last one's position, and by session the tool calls and results to look at, with those shortly before them.
        """
        ...

    def record(self, runs: Sequence[Run], last_row: int) -> None:
        """Keeps what ran, and that every event up to a position is looked through."""
        ...

    def failed(
        self, scope: Scope, numbers: Collection[int], without: Collection[int], before_ms: int | None
    ) -> list[Run]:
        """A project's failures with one of some numbers (form, exact, alike), not of some sessions; newest first."""
        ...

    def has_worked(self, scope: Scope, form: int, before_ms: int | None) -> bool:
        """Whether a command has ever worked in a project."""
        ...
