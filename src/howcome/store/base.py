"""The store port: rows are the truth, searches are answered from indexes derived from them.

Contract (the suite in tests/contract runs against every adapter):

* adding the same events again changes nothing and is counted as duplicate; rows and cursor move together or not at all;
* every search takes a `Filter`, whose scope is mandatory; nothing outside the scope is ever returned;
* raw scores are comparable within one query only; order is best first;
* `catch_up_index` may be interrupted anywhere and run again by anybody.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias

from howcome.store.answers import Answers
from howcome.store.code_graph import CodeGraph
from howcome.store.distil_batch_rows import DistilBatchRows
from howcome.store.memory_rows import DistilledRows, MemoryRows
from howcome.store.rationale_rows import RationaleRows
from howcome.store.spending import Spending
from howcome.store.text_rows import TextRows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from howcome.domain.identity import Repository
    from howcome.domain.sources import Batch, SourceState
    from howcome.domain.stored import Filter, Hit, Scope, SessionSummary, StoredEvent, Turn, Weights

    FloatVector: TypeAlias = NDArray[np.float32]
    FloatMatrix: TypeAlias = NDArray[np.float32]


class Gate(Protocol):
    """What every text goes through before it rests; `version` says by which rules."""

    version: int

    def text(self, text: str) -> str:
        """A text as it may rest; one that rests already stays as it is."""
        ...

    def value(self, value: object) -> object:
        """Decoded JSON as it may rest."""
        ...


class Store(
    CodeGraph, Answers, MemoryRows, DistilledRows, RationaleRows, DistilBatchRows, Spending, TextRows, Protocol
):  # fmt: skip
    """What is remembered."""

    path: str
    is_read_only: bool
    gate: Gate | None

    @property
    def is_current(self) -> bool:
        """Whether the database in the folder is still the one that is open: somebody may have put another there."""
        ...

    # -- cursors and rows ------------------------------------------------------------------------------------------
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

    def add_batch(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds rows and moves the cursor in one transaction; counts, and the new rows' search texts."""
        ...

    def add_batches(self, batches: Sequence[Batch]) -> list[tuple[dict[str, int], dict[int, str]] | None]:
        """As `add_batch` for several sources, in one transaction; None for one whose cursor was moved meanwhile."""
        ...

    # -- costly records --------------------------------------------------------------------------------------------
    def trial(self, path: str, generation: int, offset: int) -> tuple[int, int] | None:
        """The process that tries (or tried) a record, and since when (UTC ms); None when nobody noted it."""
        ...

    def begin_trial(self, path: str, generation: int, offset: int, pid: int, now_ms: int) -> None:
        """Notes that a process tries a record; committing its rows takes the note away."""
        ...

    def end_trial(self, path: str, generation: int, offset: int) -> None:
        """Takes a note back."""
        ...

    def set_aside(self) -> list[tuple[str, int, int, str]]:
        """Records that a pass died in: path, offset, size in bytes, digest; of what the files hold now, in order."""
        ...

    def readmit(self, batch: Batch) -> tuple[dict[str, int], dict[int, str]]:
        """Adds a record that was set aside, in one transaction; the cursor stays. As `add_batch`, `records` is 0."""
        ...

    # -- which folders are one project -----------------------------------------------------------------------------
    def keep_repository(self, found: Repository, now_ms: int) -> None:
        """Keeps what a repository's folder shows, in place of what it showed before."""
        ...

    def repositories(self) -> list[Repository]:
        """What every folder showed when it was looked at, those of the oldest projects first."""
        ...

    def alias_project(self, root: str, project_id: int, now_ms: int) -> None:
        """From now on a root that is no project's is this project's."""
        ...

    def project_aliases(self) -> list[tuple[str, str]]:
        """Other roots of projects, each with the project's own root."""
        ...

    def keep_apart(self, one: str, other: str, now_ms: int) -> None:
        """Remembers that two roots are two projects, whatever they show."""
        ...

    def roots_apart(self) -> set[tuple[str, str]]:
        """The pairs of roots, each in order, that somebody said are two projects."""
        ...

    def join_projects(self, kept: int, joined: int, now_ms: int) -> None:
        """Makes one project a part of another; searching needs the lexical index built anew afterwards."""
        ...

    # -- reading ---------------------------------------------------------------------------------------------------
    def meta(self, name: str) -> object:
        """A value of the store itself."""
        ...

    def project_of_path(self, path: str) -> int | None:
        """The project of a folder that was seen before."""
        ...

    def project_of_root(self, root: str) -> int | None:
        """The project with this root."""
        ...

    def projects(self) -> list[tuple[int, str]]:
        """Every project's id and root."""
        ...

    def events_by_row(self, rows: Iterable[int], *, with_text: bool = False) -> dict[int, StoredEvent]:
        """Events by row id."""
        ...

    def turns_by_row(self, rows: Iterable[int]) -> dict[int, StoredEvent]:
        """Events by their row ids, turns with their whole texts; ids that are not there are left out."""
        ...

    def events_by_prefix(self, prefix: str, limit: int = 5) -> list[StoredEvent]:
        """Events by the beginning of their id, with texts."""
        ...

    def find_sessions(self, prefix: str, limit: int = 5) -> list[tuple[int, str, str]]:
        """Sessions by the beginning of the client's id: row id, id, project root."""
        ...

    def session_ids(self, name: str) -> list[int]:
        """Row ids of the sessions with this client id."""
        ...

    def session_events(self, session_id: int, *, with_text: bool = False) -> list[StoredEvent]:
        """Everything a session holds, in its order."""
        ...

    def opening(self, row: int) -> int | None:
        """The prompt (row id) that opened the exchange of an event: as it is now, whatever was read first."""
        ...

    def answers(self, exchange: int, limit: int) -> list[StoredEvent]:
        """The last things the agent said in the exchange that a prompt (by row id) opened, in their order."""
        ...

    def sessions_of_client(self, client: str) -> list[int]:
        """Row ids of one client's sessions."""
        ...

    def sessions_of_project(self, project_id: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions (row ids) are of a project."""
        ...

    def session_of_event(self, row: int) -> int | None:
        """The row id of the session that an event belongs to."""
        ...

    def recent_sessions(self, scope: Scope, limit: int) -> list[SessionSummary]:
        """The sessions of a scope in which something was said or done last, newest first."""
        ...

    def clients(self) -> list[str]:
        """The clients that sessions are of."""
        ...

    def last_row(self) -> int:
        """The highest row id."""
        ...

    def last_ms(self) -> int:
        """The time of the newest event, 0 for an empty store."""
        ...

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        ...

    def turns_after(self, row: int, limit: int) -> list[Turn]:
        """The next turns after a row id, in the order of their ids, as vectors need them."""
        ...

    def count_turns_after(self, row: int) -> int:
        """How many turns there are after a row id."""
        ...

    def mark_of_row(self, row: int) -> str:
        """What tells events up to a row from others of the same numbers, "" when there is no such row.

        Those of another database, of an older copy put back, or of a copy that went another way have other marks.
        """
        ...

    def renew_marks(self) -> None:
        """Makes whatever was derived from the rows worthless: for whoever changes rows that were there."""
        ...

    def rows_within(self, rows: Iterable[int], wanted: Filter) -> set[int]:
        """Which of some events (row ids) are where a filter looks (its scope and sessions), by the rows alone."""
        ...

    def kind_counts(self) -> dict[int, int]:
        """Events by the number of their kind."""
        ...

    def source_accounts(self) -> list[dict[str, object]]:
        """Every byte read, per generation of each file."""
        ...

    def quarantine_reasons(self) -> dict[str, int]:
        """Quarantined records by reason."""
        ...

    def quarantined(self, limit: int = 20) -> list[dict[str, object]]:
        """The newest quarantined records."""
        ...

    def check_integrity(self) -> list[str]:
        """What is wrong with the rows' file; [] when nothing."""
        ...

    # -- searching -------------------------------------------------------------------------------------------------
    def analyze(self, text: str) -> list[str]:
        """The terms of a question."""
        ...

    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        """What a question's terms are worth in a scope (None: everywhere)."""
        ...

    def search_events(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Hit]:
        """Events whose window holds the terms (and every required one), by BM25 with the given weights as idf."""
        ...

    def search_exchanges(
        self, weights: Mapping[str, float], wanted: Filter, limit: int, required: Sequence[Sequence[str]] = ()
    ) -> list[Hit]:
        """Exchanges that hold the terms (and every required one), by BM25 with the given weights as idf."""
        ...

    def name_frequencies(self, names: Sequence[str]) -> tuple[int, dict[str, int]]:
        """How many events there are, and how many mention each name."""
        ...

    def search_names(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events that mention the names."""
        ...

    def similar_terms(self, term: str, limit: int = 8) -> list[tuple[str, int]]:
        """Known terms that begin like an unknown one."""
        ...

    def search_fuzzy(self, weights: Mapping[str, float], wanted: Filter, limit: int) -> list[Hit]:
        """Events with a word one edit away from a term."""
        ...

    # -- derived indexes, injections, end --------------------------------------------------------------------------
    def catch_up_index(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """Makes new rows searchable; None when another process is at it."""
        ...

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        ...

    def release_index(self) -> None:
        """Lets other processes write the index."""
        ...

    def rebuild_index(self) -> int:
        """Builds the index anew from the rows."""
        ...

    def index_lag(self) -> int:
        """How many rows the index has not seen yet; all where it is of other rows than these."""
        ...

    def verify_indexes(self) -> list[str]:
        """What is wrong with the files of the indexes, all of which are read; such an index is given up."""
        ...

    def rows_known(self, session: str) -> set[int]:
        """Rows that a session holds already: injected into it, or copied with the session that it is a fork of."""
        ...

    def record_injections(self, session: str, hook: str, said: list[tuple[int, float]], now_ms: int) -> None:
        """Remembers what was said to a session."""
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

    def lone_sessions(self, session_ids: Iterable[int]) -> set[int]:
        """Which of the sessions are a single turn."""
        ...

    def refresh(self) -> None:
        """Lets the next search see what was written since."""
        ...
