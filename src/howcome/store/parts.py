"""What every store is made of: the log, what is derived of it, and what is kept beside it, over one database."""

from __future__ import annotations

import contextlib

from howcome.log.event_log import EventLog
from howcome.log.memories import Memories, MemorySearch
from howcome.log.projects import Projects
from howcome.log.sessions import Accounts, Injections, Sessions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import ClassVar

    from howcome.index.search_index import SearchIndex
    from howcome.index.turn_vectors import TurnVectors
    from howcome.log.answers import Answers
    from howcome.log.code_graph import CodeGraph
    from howcome.log.commands import Commands
    from howcome.log.consolidated import Consolidated
    from howcome.log.daily import Daily
    from howcome.log.database import Database, Gate
    from howcome.log.distil_batches import DistilBatches
    from howcome.log.distilled import Candidates, InStep, MemoryVectors
    from howcome.log.kept import KeptMemories
    from howcome.log.purging import Purging
    from howcome.log.quarantine import Quarantine
    from howcome.log.rationales import Rationales
    from howcome.log.retention import Retention
    from howcome.log.reviews import Reviews
    from howcome.log.spending import Spending
    from howcome.log.sqlite_batches import BatchWriter
    from howcome.store.rewriting import Rewritings


_LATE: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "_writer": ("log.sqlite_batches", "BatchWriter", ()),
    "quarantine": ("log.quarantine", "Quarantine", ("_writer",)),
    "reviews": ("log.reviews", "Reviews", ()),
    "kept": ("log.kept", "KeptMemories", ()),
    "purging": ("log.purging", "Purging", ()),
    "candidates": ("log.distilled", "Candidates", ()),
    "memory_vectors": ("log.distilled", "MemoryVectors", ()),
    "turn_vectors": ("index.file_vectors", "VectorFiles", ("log",)),
    "retention": ("log.retention", "Retention", ()),
    "daily": ("log.daily", "Daily", ()),
    "consolidated": ("log.consolidated", "Consolidated", ()),
    "in_step": ("log.distilled", "InStep", ()),
    "distil_batches": ("log.distil_batches", "DistilBatches", ("log",)),
    "rationales": ("log.rationales", "Rationales", ()),
    "commands": ("log.commands", "Commands", ()),
    "code_graph": ("log.code_graph", "CodeGraph", ()),
    "spending": ("log.spending", "Spending", ()),
    "model_answers": ("log.answers", "Answers", ()),
    "texts": ("store.rewriting", "Rewritings", ("index", "purging")),
}
"""Parts that not every prompt needs: module, class, and what each is made with beside the database."""


class StoreParts:
    """The parts of a store over one database; who opens that says how it is closed and whether it is whole."""

    database: Database
    folder: str
    """Where the indexes are."""

    gate: Gate | None
    path: str
    """A place in that folder, which its name is of."""

    has_worker: ClassVar[bool] = True
    """Whether the workers of sessions keep up what is derived of it."""

    late: ClassVar[Mapping[str, tuple[str, str, tuple[str, ...]]]] = _LATE
    _writer: BatchWriter
    quarantine: Quarantine
    reviews: Reviews
    kept: KeptMemories
    purging: Purging
    candidates: Candidates
    memory_vectors: MemoryVectors
    turn_vectors: TurnVectors
    in_step: InStep
    consolidated: Consolidated
    retention: Retention
    daily: Daily
    distil_batches: DistilBatches
    rationales: Rationales
    commands: Commands
    code_graph: CodeGraph
    spending: Spending
    model_answers: Answers
    texts: Rewritings

    def _compose(self, db: Database, index_of: Callable[[EventLog], SearchIndex]) -> None:
        """What a prompt needs is made at once; the rest (`_LATE`) when it is asked for: each costs its import."""
        self.database = db
        self.log = EventLog(db, lambda: self._writer)
        self.index = index_of(self.log)
        self.projects = Projects(db)
        self.sessions = Sessions(db)
        self.accounts = Accounts(db)
        self.injections = Injections(db)
        self.memories = Memories(db)
        self.memory_search = MemorySearch(db)

    def __getattr__(self, name: str) -> object:
        """Only asked for what is not there yet: a part that is made late, and kept."""
        if name not in self.late:
            raise AttributeError(name)
        module, kind, needs = self.late[name]
        part = getattr(__import__(f"howcome.{module}", fromlist=(kind,)), kind)  # importlib costs a hook 1 ms
        setattr(self, name, made := part(self.database, *(getattr(self, need) for need in needs)))
        return made

    @property
    def place(self) -> str:
        """Where the rows are, as people are told."""
        return self.folder

    def describe(self) -> str:
        """The engine, as people are told."""
        return "SQLite"

    @property
    def size_bytes(self) -> int:
        """What the rows take on disk."""
        raise NotImplementedError

    @property
    def server_index_bytes(self) -> int:
        """What the words' index and the vectors take where no folder of ours holds them."""
        return 0

    @property
    def is_current(self) -> bool:
        """Whether the database is still the one that was opened."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives everything back; the store can be opened again."""
        raise NotImplementedError

    def check_integrity(self) -> list[str]:
        """What is wrong with the database; [] when nothing."""
        raise NotImplementedError

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written."""
        return self.database.is_read_only

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        self.index.refresh()

    def verify_indexes(self) -> list[str]:
        """What is wrong with the files of the indexes, if they are ours; an index with such a file is given up."""
        raise NotImplementedError

    def transaction(self) -> contextlib.AbstractContextManager[None]:
        """One write transaction: everything in it, or nothing."""
        return self.database.transaction()

    def meta(self, name: str) -> object:
        """A value of the store itself (its key, its creation time), or None."""
        row = self.database.row("SELECT value FROM meta WHERE name = ?", (name,))
        return row[0] if row else None
