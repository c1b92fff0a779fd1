"""The log of events: the one truth, of which everything else is derived.

Contract (tests/contract runs it against every adapter):

* **Positions follow the order of commit.** Every event has a position, a number above 0; who has seen position p has
  seen everything that was or ever will be committed at or below p. So whatever is derived of the log remembers one
  number, and goes on behind it.
* An append is one transaction: its events and the cursor of their source move together or not at all. Appending the
  same events again changes nothing, and is counted as duplicate.
* `mark_at` tells a log from another one with the same positions (an older copy that was put back): what is derived
  keeps the mark of the position that it has seen, and is worth nothing where that mark is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol, TypeAlias

from howcome.domain.events import ASSISTANT_TEXT
from howcome.domain.sources import Batch, SourceState
from howcome.domain.stored import Filter, IndexRow, StoredEvent, Turn

Appended: TypeAlias = tuple[dict[str, int], dict[int, str]]
"""Counts by the names of `domain.sources.COUNTERS`, and the search text of each new event by its position."""


class EventLog(Protocol):
    """Events in the order in which they were committed, with the cursors of the files they came from."""

    # -- cursors ---------------------------------------------------------------------------------------------------
    def source(self, path: str) -> SourceState | None:
        """The cursor of a file's current generation."""
        ...

    def sources(self) -> Iterator[SourceState]:
        """The cursors of every file's current generation."""
        ...

    def sources_like(self, head_digest: str) -> list[SourceState]:
        """Current generations that begin with the same bytes."""
        ...

    def move_source(self, source_id: int, path: str) -> None:
        """A file that was renamed keeps its cursor."""
        ...

    # -- writing ---------------------------------------------------------------------------------------------------
    def append(self, batch: Batch) -> Appended:
        """Adds a batch's events and moves its source's cursor, in one transaction.

        Raises:
            CursorMovedError: another process has moved the cursor; nothing was written.
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        ...

    def append_all(self, batches: Sequence[Batch]) -> list[Appended | None]:
        """Adds batches of several sources in one transaction; None for one whose cursor another process has moved.

        Raises:
            StoreLockedError: the write lock could not be had; nothing was written.
        """
        ...

    def renew_marks(self) -> None:
        """Makes whatever was derived worthless: for whoever changes or moves events that were there."""
        ...

    # -- by position -----------------------------------------------------------------------------------------------
    def last_position(self) -> int:
        """The highest position, 0 for an empty log."""
        ...

    def mark_at(self, row: int) -> str:
        """What tells events up to a position from others of the same positions, "" when there is no such event."""
        ...

    def after(self, row: int, limit: int) -> list[IndexRow]:
        """The next events behind a position, as an index needs them."""
        ...

    def turns_after(self, row: int, limit: int) -> list[Turn]:
        """The next turns behind a position, as vectors need them."""
        ...

    def count_turns_after(self, row: int) -> int:
        """How many turns there are behind a position."""
        ...

    def sessions_before(self, row: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions have events of their own before a position."""
        ...

    def search_texts(self, rows: Iterable[int]) -> dict[int, str]:
        """The search texts of events by their positions."""
        ...

    # -- reading ---------------------------------------------------------------------------------------------------
    def events(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by their positions; those that are not there are left out."""
        ...

    def turns(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """The same, turns with their whole texts."""
        ...

    def within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        """Which of some events are where a filter looks (its scope and sessions), by the log alone."""
        ...

    def calls_on(self, project_id: int, file: str) -> list[StoredEvent]:
        """Calls and results about a file whose path ends so, and calls about none in whose excerpt its name stands.

        With texts, in the order of time; all events are read (1 ms a thousand).
        """
        ...

    def calls_of(self, project_id: int, tools: Iterable[str], from_ms: int, until_ms: int) -> list[StoredEvent]:
        """Calls of some tools (names in lower case) and their results, in a time; with texts, in the order of time."""
        ...

    def find(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events by the beginning of their id, with texts."""
        ...

    def session(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order."""
        ...

    def session_rows(self, session_id: int, from_ms: int) -> list[IndexRow]:
        """A session's own events in their order, from the prompt before the last one before a moment on."""
        ...

    def opening(self, row: int) -> int | None:
        """The prompt (position) that opened the exchange of an event: as it is now, whatever was read first."""
        ...

    def answers(self, exchange: int, limit: int, kind: str = ASSISTANT_TEXT) -> list[StoredEvent]:
        """The last things the agent said in the exchange that a prompt (position) opened, in their order.

        Or its last events of another kind, without texts.
        """
        ...


class Gate(Protocol):
    """What every text goes through before it rests; `version` says by which rules."""

    version: int

    def text(self, text: str) -> str:
        """A text as it may rest; one that rests already stays as it is."""
        ...

    def value(self, value: object) -> object:
        """Decoded JSON as it may rest."""
        ...
