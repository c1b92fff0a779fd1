"""What reconciling and consolidating work with: candidates as kept, the memories that they give, and what somebody has
to look at.
"""  # noqa: D205 - one sentence

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Candidate
    from howcome.domain.memories import Memory, NewMemory

MERGED, RESOLVED, ASLEEP = "merged", "resolved", "asleep"
"""One that says what another says, too, takes its place; the user's last word does; or one is not said unasked."""


@dataclass(slots=True, eq=False)
class Step:
    """What consolidation does: to which memory, and which stands in its place (itself: it sleeps)."""

    what: str
    memory: Memory
    kept: Memory


@dataclass(slots=True, eq=False)
class NewCandidate:
    """A candidate ready to be stored: admitted and keyed. `key` is that of the memory that says exactly this."""

    key: bytes
    project: str
    candidate: Candidate


@dataclass(slots=True, eq=False)
class Taught:
    """What one exchange (by the row of its first event) taught."""

    exchange: int
    candidates: Sequence[NewCandidate]


@dataclass(slots=True, eq=False)
class DueSession:
    """A session with events that were not distilled: all of them when `after_row` is 0.

    `events` is how many it has itself, `members` how many it shares with the session that it is a fork of.
    """

    row: int
    after_row: int
    last_row: int
    events: int
    members: int


@dataclass(slots=True, eq=False)
class StoredCandidate:
    """A candidate as kept.

    Attributes:
        key: Of the memory that says exactly this; the same words said again have the same.
        ts_ms: When it was said. `evidence`: ids of events.
    """

    key: bytes
    type: str
    text: str
    origin: str
    ts_ms: int
    subject: str = ""
    evidence: tuple[str, ...] = ()


@dataclass(slots=True, eq=False)
class Known:
    """What a project's memories are to be made from, as it was at one moment.

    Attributes:
        candidates: Everything that was taught.
        kept: The project's memories and those that hold everywhere, whatever became of them, but purged ones.
        touched: Keys of those that somebody read, was told, or did something to. `derived`: keys of those that come
            from candidates of this store, as far as whoever reconciles knows.
        stamp: Tells whether anything of it has changed since.
        is_everywhere: What is taught holds in every project.
    """

    project_id: int
    candidates: Sequence[StoredCandidate]
    kept: Sequence[Memory] = ()
    touched: set[bytes] = field(default_factory=set)
    derived: set[bytes] = field(default_factory=set)
    stamp: tuple[object, ...] = ()
    is_everywhere: bool = False

    @property
    def gone(self) -> set[bytes]:
        """Keys of memories that came from candidates which are no longer there, and that nobody did anything with."""
        return self.derived - self.touched - {one.key for one in self.candidates}


@dataclass(slots=True, eq=False)
class Wanted:
    """A memory as the candidates say it: what is stored of it is made to be so.

    Attributes:
        key: That of the candidate that said it first. `parts`: keys of all that say the same.
        said: Every time (ms, event id) it was said, in order. `evidence`: ids of events.
        supersedes: Key of the memory that it takes the place of.
        digest: Tells equal texts, as `NewMemory.digest` does; whoever stores it gives it.
    """

    key: bytes
    type: str
    text: str
    origin: str
    subject: str
    said: tuple[tuple[int, str], ...]
    evidence: tuple[str, ...]
    parts: tuple[bytes, ...]
    supersedes: bytes | None = None
    digest: bytes = b""

    @property
    def first_ms(self) -> int:
        """When it was said first."""
        return self.said[0][0]

    @property
    def last_ms(self) -> int:
        """When it was said last."""
        return self.said[-1][0]


@dataclass(slots=True, eq=False)
class Plan:
    """The memories that a project's candidates give.

    Attributes:
        wanted: In an order in which what is superseded comes before what supersedes it.
        same: Key of a candidate → key of the memory, kept otherwise, that says the same.
        taken: Pairs of keys (older, newer), one of them kept otherwise: the newer takes the older's place.
        reviews: Pairs of keys (older, newer) that may contradict each other, with the reason.
    """

    wanted: list[Wanted] = field(default_factory=list)
    same: dict[bytes, bytes] = field(default_factory=dict)
    taken: list[tuple[bytes, bytes]] = field(default_factory=list)
    reviews: dict[tuple[bytes, bytes], str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class Beside:
    """What stands beside a memory that somebody wants kept.

    Attributes:
        same: The one that says the same; a wrong one is not live.
        taken: Pairs of keys (older, newer): the newer, the new one itself or one that it takes the place of, takes the
            older's place. `differs`: pairs of keys with the reason for which somebody should look at them.
    """

    same: Memory | None
    taken: Sequence[tuple[bytes, bytes]]
    differs: Sequence[tuple[bytes, bytes, str]]


@dataclass(slots=True, eq=False)
class Steps:
    """What keeps memories in step with files: new ones, and rows that a file no longer says, or says again.

    `is_whole`: whether nothing is left to look at.
    """

    new: list[NewMemory] = field(default_factory=list)
    gone: list[int] = field(default_factory=list)
    back: list[int] = field(default_factory=list)
    is_whole: bool = True

    def add(self, other: Steps) -> None:
        """These, too."""
        self.new, self.gone, self.back = self.new + other.new, self.gone + other.gone, self.back + other.back

    def counts(self) -> dict[str, int]:
        """How many memories are made, taken away, and brought back."""
        return {"added": len(self.new), "forgotten": len(self.gone), "restored": len(self.back)}

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.new or self.gone or self.back)


@dataclass(slots=True, eq=False)
class Changes:
    """How many memories a reconciliation added, changed and removed, and how many contradictions it found.

    `folded`: those of the removed whose words are a part of another memory now.
    """

    added: int = 0
    updated: int = 0
    removed: int = 0
    folded: int = 0
    contradictions: int = 0

    def add(self, other: Changes) -> None:
        """These, too."""
        for name in ("added", "updated", "removed", "folded", "contradictions"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
