"""The store port: one log of events is the truth, searches are answered from indexes derived of it.

Each part has its own port and is reached by its name: `store.log`, `store.index`, `store.memories`, …
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from howcome.domain.stored import Filter, Hit, Turn
    from howcome.index.search_index import SearchIndex
    from howcome.log.answers import Answers
    from howcome.log.code_graph import CodeGraph
    from howcome.log.command_rows import CommandRows
    from howcome.log.distil_batch_rows import DistilBatchRows
    from howcome.log.event_log import EventLog
    from howcome.log.gate import Gate
    from howcome.log.memory_rows import (
        Candidates,
        InStep,
        KeptMemories,
        Memories,
        MemorySearch,
        MemoryVectors,
        Purging,
        Reviews,
    )
    from howcome.log.rationale_rows import RationaleRows
    from howcome.log.repositories import Accounts, Injections, Projects, Quarantine, Sessions
    from howcome.log.spending import Spending
    from howcome.log.text_rows import TextRows

    FloatVector: TypeAlias = NDArray[np.float32]
    FloatMatrix: TypeAlias = NDArray[np.float32]


class Store(Protocol):
    """What is remembered: the log, what is derived of it, and what is kept beside it, over one connection."""

    path: str
    gate: Gate | None

    log: EventLog
    index: SearchIndex

    projects: Projects
    sessions: Sessions
    accounts: Accounts
    quarantine: Quarantine
    injections: Injections

    memories: Memories
    memory_search: MemorySearch
    kept: KeptMemories
    reviews: Reviews
    purging: Purging

    candidates: Candidates
    memory_vectors: MemoryVectors
    in_step: InStep
    distil_batches: DistilBatchRows
    rationales: RationaleRows
    commands: CommandRows

    code_graph: CodeGraph
    spending: Spending
    model_answers: Answers
    texts: TextRows

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written."""
        ...

    @property
    def is_current(self) -> bool:
        """Whether the database in the folder is still the one that is open: somebody may have put another there."""
        ...

    def meta(self, name: str) -> object:
        """A value of the store itself."""
        ...

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        ...

    def check_integrity(self) -> list[str]:
        """What is wrong with the rows' file; [] when nothing."""
        ...

    def verify_indexes(self) -> list[str]:
        """What is wrong with the files of the indexes, all of which are read; such an index is given up."""
        ...

    def close(self) -> None:
        """Gives everything back."""
        ...


class VectorRows(Protocol):
    """Vectors of turns as rows, derived from the events' and caught up by row id."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def search(self, query: FloatVector, wanted: Filter, limit: int) -> list[Hit]:
        """The rows nearest to a vector, best first; a hit's score is the cosine."""
        ...

    def cosines(self, query: FloatVector, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """The same score for some rows, those that have a vector; nothing from `before_ms` on counts."""
        ...

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""
        ...

    def refresh(self) -> None:
        """Lets the next search see what was written since."""
        ...


class VectorWriting(Protocol):
    """The one that writes vectors now."""

    @property
    def last_row(self) -> int:
        """The last event row that was considered: where to go on."""
        ...

    def append(self, turns: Sequence[Turn], vectors: FloatMatrix) -> None:
        """Adds the vectors of turns, in the order of their rows."""
        ...

    def commit(self, last_row: int) -> None:
        """Makes what was appended last; the next pass goes on behind `last_row`."""
        ...


class Vectors(Protocol):
    """Turns by meaning: an embedder's vectors of them, derived from the rows and caught up by row id."""

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """The turns nearest to a text, best first; a hit's score is the cosine."""
        ...

    def cosines(self, text: str, rows: Sequence[int], before_ms: int | None) -> dict[int, float]:
        """The same score for some rows, those that have a vector; nothing from `before_ms` on counts."""
        ...

    def memories(self, text: str, wanted: Filter) -> dict[int, float]:
        """The cosine of every live memory that is wanted and has a vector, by row id."""
        ...

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""
        ...

    def refresh(self) -> None:
        """Lets the next search see what was written since."""
        ...
