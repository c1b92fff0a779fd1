"""The port to batches: which messages a language model is to distil, what became of them, and what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.distil_batches import Applied, Batch, MemoryChange, NewBatch, OpenSession
    from howcome.domain.stored import Scope, StoredEvent


class DistilBatchRows(Protocol):
    """Batches: the part of the store that holds them."""

    def open_sessions(self, scope: Scope, since_ms: int | None = None) -> list[OpenSession]:
        """Sessions that may have messages in no batch, those written last first."""
        ...

    def main_events(
        self, session: int, after_row: int, last_row: int | None = None, *, with_text: bool = False
    ) -> list[StoredEvent]:
        """A session's own events of the main agent after a row (up to another), in the order in which they came."""
        ...

    def keep(self, session: OpenSession, batches: Sequence[NewBatch], *, has_tail: bool) -> bool:
        """Keeps batches that were closed, in one transaction; False when somebody else has closed some meanwhile.

        Args:
            session: As it was read.
            batches: In their order.
            has_tail: Whether messages are left: the session is looked at again although nothing came.
        """
        ...

    def mark(self, last_row: int) -> None:
        """Every event up to a row was looked at: later only newer ones are looked for, and tails."""
        ...

    def pending(self, scope: Scope, since_ms: int | None = None) -> list[Batch]:
        """Batches that no model was asked for with success: the newest session first, of each the oldest first."""
        ...

    def finish(self, batch: Batch, model: str, changes: Sequence[MemoryChange], now_ms: int) -> Applied | None:
        """Does what a model said of a batch, in one transaction; None when the batch does not wait any more.

        What somebody did to a memory meanwhile stays: what is theirs is not changed but put on the review list, and
        what is not live any more is left alone.
        """
        ...

    def fail(self, batch: Batch, reason: str, *, is_dead: bool) -> None:
        """Notes that a model failed at a batch; a dead one waits for `retry_dead_batches`."""
        ...

    def retry_dead(self) -> int:
        """Lets dead batches wait for a model again, those not retried too often; how many."""
        ...

    def session_sizes(self) -> list[tuple[int, int]]:
        """Of each session that may be distilled the characters of what was said, and how many other events it has."""
        ...

    def counts(self) -> dict[str, int]:
        """How many batches there are by state; `given_up`: those of the dead that are not retried any more."""
        ...

    def dead_reasons(self) -> dict[str, int]:
        """Why batches are dead, with how many of each."""
        ...

    def memory_reasons(self, row: int) -> list[tuple[str, str, int]]:
        """What models did to a memory, in order: the operation, the reason, and when (UTC ms)."""
        ...
