"""The port to rationales: what was asked, done and why, one an exchange.

They are events to whoever reads a session (`session_events`, `events_by_prefix`), with a row of their own that no other
event has: the negative of their prompt's. Indexes, vectors and cursors walk the positive ones, and never see them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.rationales import NewRationale, Rationale, Unasked, UnreadSession
    from howcome.domain.stored import Scope, StoredEvent


class RationaleRows(Protocol):
    """Rationales: the part of the store that holds them."""

    def unread_sessions(self, author: str, scope: Scope, since_ms: int | None = None) -> list[UnreadSession]:
        """Sessions with events that an author of this name and version has not looked through, the newest first."""
        ...

    def record(
        self, session: UnreadSession, author: str, written: Sequence[NewRationale], *, is_whole: bool
    ) -> tuple[int, int]:
        """Writes rationales of a session's exchanges and moves its cursor, in one transaction.

        What a model wrote of an exchange that has not grown since stays.

        Args:
            session: As it was when it was read.
            author: Who looked it through.
            written: Of exchanges that were looked through.
            is_whole: Whether these were the last of the session: its cursor moves only then.

        Returns:
            How many are new, and how many replaced another text or were taken away.
        """
        ...

    def mark(self, author: str, last_row: int) -> None:
        """Every event up to a row is looked through."""
        ...

    def to_ask(self, model: str, scope: Scope, since_ms: int | None, limit: int) -> list[Unasked]:
        """Rationales that this model neither wrote nor was asked for, the newest first."""
        ...

    def replace(self, unasked: Unasked, model: str, rationale: Rationale | None) -> bool:
        """What a model said of an exchange, None when it was nothing of use; False when the exchange has grown."""
        ...

    def newest(self, scope: Scope, since_ms: int | None, limit: int) -> list[StoredEvent]:
        """The newest rationales of a scope, with their texts, newest first."""
        ...

    def counts(self, scope: Scope, since_ms: int | None = None) -> dict[str, int]:
        """How many rationales a scope has, by author."""
        ...
