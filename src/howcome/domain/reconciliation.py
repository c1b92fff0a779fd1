"""What reconciling works with: candidates as kept, the memories that they give, and what somebody has to look at."""

from __future__ import annotations

STANDING_SESSIONS = 3
"""What is said in so many sessions holds until somebody says otherwise."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.candidates import Candidate
    from howcome.domain.memories import Memory, NewMemory


class NewCandidate:
    """A candidate ready to be stored: admitted and keyed. `key` is that of the memory that says exactly this."""

    __slots__ = ("candidate", "key", "project")

    def __init__(self, key: bytes, project: str, candidate: Candidate) -> None:
        self.key, self.project, self.candidate = key, project, candidate


class Taught:
    """What one exchange (by the row of its first event) taught."""

    __slots__ = ("candidates", "exchange")

    def __init__(self, exchange: int, candidates: Sequence[NewCandidate]) -> None:
        self.exchange, self.candidates = exchange, list(candidates)


class Told:
    """Who found a memory, and how often: the name of the source, in how many sessions it was said, and in how many
    projects somebody wished the same.
    """  # noqa: D205 - one sentence

    __slots__ = ("projects", "sessions", "source")

    def __init__(self, source: str, sessions: int, projects: int) -> None:
        self.source, self.sessions, self.projects = source, sessions, projects

    @property
    def is_standing(self) -> bool:
        """Whether it was said so often that it holds until somebody says otherwise."""
        return self.sessions >= STANDING_SESSIONS


class DueSession:
    """A session with events that were not distilled: all of them when `after_row` is 0.

    `events` is how many it has itself, `members` how many it shares with the session that it is a fork of.
    """

    __slots__ = ("after_row", "events", "last_row", "members", "row")

    def __init__(self, row: int, after_row: int, last_row: int, events: int, members: int) -> None:
        self.row, self.after_row, self.last_row, self.events, self.members = row, after_row, last_row, events, members


class StoredCandidate:
    """A candidate as kept.

    Attributes:
        key: Of the memory that says exactly this; the same words said again have the same.
        ts_ms: When it was said. `evidence`: ids of events.
    """

    __slots__ = ("evidence", "key", "origin", "subject", "text", "ts_ms", "type")

    def __init__(
        self,
        key: bytes,
        type: str,
        text: str,
        *,
        origin: str,
        ts_ms: int,
        subject: str = "",
        evidence: Sequence[str] = (),
    ) -> None:
        self.key, self.type, self.text, self.origin = key, type, text, origin
        self.ts_ms, self.subject, self.evidence = ts_ms, subject, tuple(evidence)


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

    __slots__ = ("candidates", "derived", "is_everywhere", "kept", "project_id", "stamp", "touched")

    def __init__(
        self,
        project_id: int,
        candidates: Sequence[StoredCandidate],
        kept: Sequence[Memory] = (),
        *,
        touched: Iterable[bytes] = (),
        derived: Iterable[bytes] = (),
        stamp: tuple[object, ...] = (),
        is_everywhere: bool = False,
    ) -> None:
        self.is_everywhere = is_everywhere
        self.project_id, self.candidates, self.kept = project_id, list(candidates), list(kept)
        self.touched, self.derived, self.stamp = set(touched), set(derived), stamp

    @property
    def gone(self) -> set[bytes]:
        """Keys of memories that came from candidates which are no longer there, and that nobody did anything with."""
        return self.derived - self.touched - {one.key for one in self.candidates}


class Wanted:
    """A memory as the candidates say it: what is stored of it is made to be so.

    Attributes:
        key: That of the candidate that said it first. `parts`: keys of all that say the same.
        said: Every time (ms, event id) it was said, in order. `evidence`: ids of events.
        supersedes: Key of the memory that it takes the place of.
        digest: Tells equal texts, as `NewMemory.digest` does; whoever stores it gives it.
    """

    __slots__ = (
        "digest", "evidence", "key", "origin", "parts", "said", "subject", "supersedes", "text", "type",
    )  # fmt: skip

    def __init__(
        self,
        key: bytes,
        type: str,
        text: str,
        *,
        origin: str,
        subject: str = "",
        said: Sequence[tuple[int, str]] = (),
        evidence: Sequence[str] = (),
        parts: Sequence[bytes] = (),
    ) -> None:
        self.key, self.type, self.text, self.origin = key, type, text, origin
        self.subject, self.said, self.evidence, self.parts = subject, tuple(said), tuple(evidence), tuple(parts)
        self.supersedes: bytes | None = None
        self.digest = b""

    @property
    def first_ms(self) -> int:
        """When it was said first."""
        return self.said[0][0]

    @property
    def last_ms(self) -> int:
        """When it was said last."""
        return self.said[-1][0]


class Plan:
    """The memories that a project's candidates give.

    Attributes:
        wanted: In an order in which what is superseded comes before what supersedes it.
        same: Key of a candidate → key of the memory, kept otherwise, that says the same.
        taken: Pairs of keys (older, newer), one of them kept otherwise: the newer takes the older's place.
        reviews: Pairs of keys (older, newer) that may contradict each other, with the reason.
    """

    __slots__ = ("reviews", "same", "taken", "wanted")

    def __init__(self) -> None:
        self.wanted: list[Wanted] = []
        self.same: dict[bytes, bytes] = {}
        self.taken: list[tuple[bytes, bytes]] = []
        self.reviews: dict[tuple[bytes, bytes], str] = {}


class Beside:
    """What stands beside a memory that somebody wants kept.

    Attributes:
        same: The one that says the same; a wrong one is not live.
        taken: Pairs of keys (older, newer): the newer, the new one itself or one that it takes the place of, takes the
            older's place. `differs`: pairs of keys with the reason for which somebody should look at them.
    """

    __slots__ = ("differs", "same", "taken")

    def __init__(
        self,
        same: Memory | None,
        taken: Sequence[tuple[bytes, bytes]],
        differs: Sequence[tuple[bytes, bytes, str]],
    ) -> None:
        self.same, self.taken, self.differs = same, list(taken), list(differs)


class Steps:
    """What keeps memories in step with files: new ones, and rows that a file no longer says, or says again.

    `is_whole`: whether nothing is left to look at.
    """

    __slots__ = ("back", "gone", "is_whole", "new")

    def __init__(self) -> None:
        self.new: list[NewMemory] = []
        self.gone: list[int] = []
        self.back: list[int] = []
        self.is_whole = True

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


class Changes:
    """How many memories a reconciliation added, changed and removed, and how many contradictions it found.

    `folded`: those of the removed whose words are a part of another memory now.
    """

    __slots__ = ("added", "contradictions", "folded", "removed", "updated")

    def __init__(self) -> None:
        self.added = self.updated = self.removed = self.folded = self.contradictions = 0
