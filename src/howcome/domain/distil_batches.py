"""Batches: a session's messages in portions that a language model distils, and what it wants done with memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from howcome.domain.memories import LLM, RULES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.memories import Memory, NewMemory

PENDING, DONE, DEAD = "pending", "done", "dead"
"""What has become of a batch. DEAD: the model failed at it, and it waits until somebody asks for it again."""

ADD, UPDATE, DELETE, NOOP = "ADD", "UPDATE", "DELETE", "NOOP"
OPERATIONS = (ADD, UPDATE, DELETE, NOOP)

MAX_RETRIES = 3
"""How often a dead batch is given to the model again when somebody asks for it; it then stays dead."""

MAX_FAILURES = 2
"""A batch that the model refuses, or has no answer to in time, so often, is dead."""

SIZE, PROJECT, END = "size", "project", "end"
"""Why a batch ends where it does: it is full, another project begins, nothing follows."""


class OpenSession(NamedTuple):
    """A session with messages that are in no batch: those after a row."""

    row: int
    after_row: int


class NewBatch(NamedTuple):
    """Messages of the main agent's, from one event to another (row ids), all of one project.

    `turns` is how many were said, `ended_ms` when the last one was (UTC).
    """

    project: str
    first_row: int
    last_row: int
    turns: int
    ended_ms: int
    closed_by: str


class Batch(NamedTuple):
    """A batch as kept; `failures` is how often the model had no answer to it since it was last asked for by hand."""

    row: int
    session: int
    project_id: int
    first_row: int
    last_row: int
    ended_ms: int
    failures: int


class MemoryChange:
    """What is to be done with memories because a model said so.

    Attributes:
        op: ADD, UPDATE or DELETE.
        new: What is to be kept (ADD, UPDATE).
        target: Row of the memory that it takes the place of, or that is to be forgotten.
        same: Row of a memory that says the same already: nothing is added.
        differs: Rows of memories that it may contradict, each with the reason (`memories.REVIEW_REASONS`).
        is_doubtful: Whether somebody has to look at it first: then the target stays.
        reason: The model's, redacted.
    """

    __slots__ = ("differs", "is_doubtful", "new", "op", "reason", "same", "target")

    def __init__(
        self,
        op: str,
        *,
        new: NewMemory | None = None,
        target: int | None = None,
        reason: str = "",
        is_doubtful: bool = False,
    ) -> None:
        self.op, self.new, self.target, self.reason, self.is_doubtful = op, new, target, reason, is_doubtful
        self.same: int | None = None
        self.differs: Sequence[tuple[int, str]] = ()


class Applied:
    """How many memories a batch added, changed and forgot, how many it said again, and what is to be looked at."""

    __slots__ = ("added", "contradictions", "duplicates", "forgotten", "gone", "updated")

    def __init__(self) -> None:
        self.added = self.updated = self.forgotten = self.duplicates = self.contradictions = self.gone = 0


def is_free(memory: Memory) -> bool:
    """Whether a model may take a memory away: a distiller made it, and nobody did anything to it since.

    What somebody keeps, pinned, resolved, owns or put into several projects is theirs, and what a file says is the
    file's.
    """
    is_ours = memory.source in (RULES, LLM) and memory.agent is None and memory.project is not None
    return memory.is_live and is_ours and not memory.also and memory.pinned_ms is None and memory.status_ms is None
