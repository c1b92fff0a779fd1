"""The port to memories: their rows, what became of them, and what a search of them finds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.memories import Memory, MemoryFilter, MemoryHit, NewMemory, Review
    from howcome.domain.reconciliation import Changes, DueSession, Known, Plan, Steps, Taught, Told
    from howcome.domain.stored import Filter, Scope


class Memories(Protocol):
    """Memories: the part of the store that holds them."""

    def add(self, new: NewMemory) -> tuple[Memory, bool]:
        """Adds a memory, or gives the one that says the same in the same scope (and False)."""
        ...

    def by_row(self, rows: Iterable[int], then_ms: int | None = None) -> dict[int, Memory]:
        """Memories by row id, perhaps as they were at a moment."""
        ...

    def find(self, prefix: str, limit: int = 5) -> list[Memory]:
        """Memories by the beginning of their id, whatever has become of them."""
        ...

    def live_twin(self, row: int) -> Memory | None:
        """The live memory that says the same in the same scope, of the same owner, if there is one."""
        ...

    def select(self, scope: Scope, wanted: MemoryFilter, limit: int, *, oldest_first: bool = False) -> list[Memory]:
        """Memories of a scope (a project's with those that hold everywhere), newest first; purged ones when asked."""
        ...

    def counts(self) -> dict[str, dict[str, int]]:
        """Live memories by type and status, and all by state."""
        ...

    def set_status(self, row: int, status: str, now_ms: int) -> None:
        """Open or resolved, as somebody says it is."""
        ...

    def set_deleted(self, row: int, deleted_ms: int | None, *, is_wrong: bool = False) -> None:
        """Forgets a memory, perhaps because it is wrong, or (None) restores it."""
        ...

    def set_pinned(self, row: int, pinned_ms: int | None) -> None:
        """Pins a memory, or (None) lets it go."""
        ...

    def set_also(self, row: int, roots: Iterable[str], left: Iterable[str], now_ms: int) -> None:
        """A memory holds in these other projects from now on, and in some no longer; all by their roots."""
        ...

    def record_access(self, rows: Iterable[int], now_ms: int) -> None:
        """Counts that memories were read on purpose."""
        ...

    def said(self, row: int) -> list[tuple[int, str]]:
        """Every time (UTC ms, event id) a memory was said, in order; none for one that was kept by hand."""
        ...


class MemorySearch(Protocol):
    """A search of memories: what is committed is found, by everybody, at once."""

    def search(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[MemoryHit]:
        """Live memories that hold the terms (and every required one), by BM25 with the given weights as idf."""
        ...

    def vectors(self, model: str, wanted: Filter) -> list[tuple[int, bytes]]:
        """Live memories by row id with the vectors (half floats) that a model has made of them."""
        ...


class KeptMemories(Protocol):
    """Which memories were kept by hand, known beside the store too: no transcript holds them."""

    def note(self) -> None:
        """Writes down which there are."""
        ...

    def vanished(self) -> list[str]:
        """Ids of those that are gone: the database was lost, or is an older one."""
        ...


class Reviews(Protocol):
    """What became of memories: those that fade, and pairs that may contradict each other."""

    def fading(self, scope: Scope, max_reads: int) -> list[Memory]:
        """Live memories of a scope that are not pinned and were read at most so often, those said longest ago first."""
        ...

    def waiting(self, scope: Scope, limit: int) -> list[Review]:
        """Pairs that may contradict each other and that nobody settled, of live memories of a scope, newest first."""
        ...

    def get(self, row: int) -> Review | None:
        """One pair, by its row id."""
        ...

    def settle(self, row: int, now_ms: int) -> None:
        """Somebody has looked at a pair."""
        ...

    def relate(self, taken: Iterable[tuple[int, int]], differing: Iterable[tuple[int, int, str]], now_ms: int) -> None:
        """Of pairs of rows (older, newer) the newer takes the older's place; others are put up, with the reason."""
        ...

    def part(self, older: int, newer: int) -> None:
        """What took the place of another gives it back."""
        ...

    def accept(self, review: Review, now_ms: int, *, supersedes: bool) -> None:
        """Makes an imported memory the user's, with its pin; with `supersedes` it takes the older one's place."""
        ...


class Purging(Protocol):
    """Erasing memories for good, and looking for what is left of them."""

    def purge(self, row: int, now_ms: int) -> None:
        """Takes a memory's text and its words out of the rows and their log; its id stays as a stone.

        Raises:
            StoreLockedError: another process is in the way; it is forgotten, its text is still there.
        """
        ...

    def files_with(self, text: str) -> list[str]:
        """The files of the store's folder that hold a text (of 6 characters or more) or much of it.

        Raises:
            StoreError: a file cannot be read.
        """
        ...

    def events_with(self, text: str) -> list[str]:
        """Ids of events that hold a text or much of it, however they are packed; at most 21."""
        ...

    def memories_with(self, text: str) -> list[str]:
        """Ids of memories, whatever became of them, that hold a text or much of it; at most 21."""
        ...

    def vacuum(self) -> None:
        """Writes the rows' file anew, without what unused parts of it still hold."""
        ...


class Candidates(Protocol):
    """What sessions taught, how far they are distilled, and the memories that are made from it."""

    def due(self, distiller: str, scope: Scope, since_ms: int | None = None) -> list[DueSession]:
        """Sessions with events that this distiller (name and version) has not seen, those written last first.

        Args:
            distiller: Its name and version; what another one distilled is due.
            scope: Only sessions of this project.
            since_ms: Only sessions in which something was said since.
        """
        ...

    def mark(self, distiller: str, last_row: int) -> None:
        """Every event up to a row is distilled: later only newer ones are looked for."""
        ...

    def record(self, due: DueSession, distiller: str, taught: Sequence[Taught], exchanges: Iterable[int]) -> int:
        """Replaces what some exchanges of a session taught, and moves its cursor, in one transaction.

        Args:
            due: The session, as it was read.
            distiller: Who distilled it.
            taught: What was distilled anew, one for each exchange.
            exchanges: All exchanges that the session has now: what others taught is taken away.

        Returns:
            How many candidates were not known before.
        """
        ...

    def unreconciled(self) -> list[int]:
        """Ids of the projects whose candidates have changed since their memories were made."""
        ...

    def known_of(self, project_id: int) -> Known:
        """What a project's memories are to be made from."""
        ...

    def told_of(self, keys: Iterable[bytes], before_ms: int | None = None) -> dict[bytes, Told]:
        """Which source found memories (by key), and how often they were said (before a moment); by hand: nothing."""
        ...

    def wordings(self, row: int) -> list[str]:
        """The other words in which sessions said what a memory says, in order."""
        ...

    def apply(self, known: Known, plan: Plan, source: str, now_ms: int) -> Changes | None:
        """Makes a project's distilled memories what a plan says, in one transaction; None when something has changed.

        What people did stays: what they forgot, changed, pinned, resolved or erased is as they left it, and a memory
        that somebody read or was told is not taken away.
        """
        ...

    def sample(self, scope: Scope, source: str) -> list[Memory]:
        """All live memories of a scope that come from a distiller, in the order of their keys."""
        ...


class InStep(Protocol):
    """Memories of files, which are kept in step with what these say."""

    def stamp(self) -> tuple[int, ...]:
        """Another one after each change of a memory."""
        ...

    def found_by(self, source: str) -> dict[int, list[str]]:
        """Distilled memories (rows) that a source found, each in all its wordings; none where another one did, too."""
        ...

    def apply(self, stamp: tuple[int, ...], steps: Steps, now_ms: int) -> bool:
        """Does all that, in one transaction; False when a memory has changed since the stamp was taken."""
        ...


class MemoryVectors(Protocol):
    """Vectors of memories and of candidates, by which near ones are told and memories are found."""

    def projects_without(self, model: str) -> list[int]:
        """Ids of projects with candidates that a model has made no vectors of."""
        ...

    def of(self, model: str, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        """Vectors (half floats) of candidates by key, those that a model has made."""
        ...

    def without(self, model: str, limit: int) -> dict[bytes, str]:
        """Texts of live memories by key that a model has made no vectors of, the newest first."""
        ...

    def keep(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keeps vectors of candidates by key; those of other models go."""
        ...
