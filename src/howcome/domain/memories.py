"""Memories: what was decided, what failed, what is so; rows of their own, each with the events that bear it out.

A memory is never edited: a new text is a new memory that supersedes the old one, and the chain between them stays.
Forgetting is soft (it can be restored); purging takes the text itself away and leaves a stone with its id.
"""

from __future__ import annotations

from howcome.domain.events import squeeze
from howcome.domain.times import iso_day

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TYPES = ("decision", "failure", "pattern", "dependency", "context", "discovery")
"""Every type of memory, in the order of their numbers in the store (append only)."""

DEFAULT_TYPE = "context"
HAND, RULES, LLM, CLIENT = "hand", "rules", "llm", "client"
SOURCES = (HAND, RULES, LLM, CLIENT)
"""Where a memory comes from: somebody kept it, a distiller of that name found it in what was said, or a client wrote it
into a file of its own."""

LEVELS = ("short-term", "long-term", "shared")
"""How far a memory reaches: a situation, a project's knowledge, everybody's (see `Memory.level`)."""

OPEN, RESOLVED = "open", "resolved"
STATUSES = (OPEN, RESOLVED)
ID_PREFIX = "mem-"
ID_HEX_CHARS = 12
KEY_BYTES = 16
MAX_TEXT_CHARS = 8000
"""A memory is one thing said shortly; what is longer belongs into a document of the project."""

MAX_AGENT_CHARS = 120
MAX_EVIDENCE = 50
MAX_ALSO = 50
"""Of more projects than that it is said that it holds everywhere."""

SUMMARY_CHARS, LATER_CHARS, AUTHOR_CHARS = 160, 110, 24


class Memory:
    """One memory as kept.

    Attributes:
        row: The store's row id.
        key: 16 bytes that no other memory has; the beginning of it is the id.
        project: Root of its project; None: it holds everywhere. `also`: roots of the other projects that it holds in.
        agent: Who owns it, if somebody does: only the owner forgets it.
        origin: Whose words it is (domain.events.ORIGINS).
        supersedes: Row of the memory that this one took the place of; `superseded_by`: of the one that took its.
        supersedes_id: The id of what it superseded, `superseded_by_id` of what superseded it.
        created_ms: When it was kept, or said first; `said_ms`: when it was said last, None when it was kept by hand.
        deleted_ms: When it was forgotten; `purged_ms`: when its text was taken away.
        pinned_ms: When somebody pinned it: it does not fade. `status_ms`: when somebody set its status.
        wrong_ms: When somebody called it wrong: nothing distilled that says the same becomes a memory again.
        contradicts: Ids of the live memories that it may contradict, as long as it lives and nobody has settled it.
        later: What the newest of these that chose otherwise later says, after its time (UTC ms); None: none did.
        gone_ms: When the file that it is from no longer said it.
        source: One of SOURCES. `subject`: what it is about, where a distiller knows it, else "" (of CLIENT the file).
        evidence: Ids of events that bear it out: those that say it first, in order of time, then the others.
        standing: What has become of the files that it names (`recall/standing`), where somebody looked; else "".
        is_outside: Whether a file brought it and nobody has accepted it yet.
        is_asleep: Whether it has faded and nobody used it: it is found, and not said unasked.
    """

    __slots__ = (
        "access_count", "agent", "also", "contradicts", "created_ms", "deleted_ms", "evidence", "gone_ms", "is_asleep",
        "is_outside", "key", "later", "origin", "pinned_ms", "project", "purged_ms", "row", "said_ms", "source",
        "standing", "status", "status_ms", "subject", "superseded_by", "superseded_by_id", "supersedes",
        "supersedes_id", "text", "type", "wrong_ms",
    )  # fmt: skip

    def __init__(self, values: Mapping[str, object], evidence: Sequence[str] = ()) -> None:
        self.row: int = values["row"]  # type: ignore[assignment]
        self.key: bytes = values["key"]  # type: ignore[assignment]
        self.type: str = values["type"]  # type: ignore[assignment]
        self.text: str = values["text"]  # type: ignore[assignment]
        self.project: str | None = values["project"]  # type: ignore[assignment]
        self.agent: str | None = values["agent"]  # type: ignore[assignment]
        self.origin: str = values["origin"]  # type: ignore[assignment]
        self.status: str = values["status"]  # type: ignore[assignment]
        self.created_ms: int = values["created_ms"]  # type: ignore[assignment]
        self.supersedes: int | None = values["supersedes"]  # type: ignore[assignment]
        self.superseded_by: int | None = values["superseded_by"]  # type: ignore[assignment]
        self.deleted_ms: int | None = values["deleted_ms"]  # type: ignore[assignment]
        self.purged_ms: int | None = values["purged_ms"]  # type: ignore[assignment]
        self.access_count: int = values["access_count"]  # type: ignore[assignment]
        self.source: str = values["source"]  # type: ignore[assignment]
        self.subject: str = values["subject"]  # type: ignore[assignment]
        self.said_ms: int | None = values["said_ms"]  # type: ignore[assignment]
        self.pinned_ms: int | None = values["pinned_ms"]  # type: ignore[assignment]
        self.status_ms: int | None = values["status_ms"]  # type: ignore[assignment]
        self.wrong_ms: int | None = values.get("wrong_ms")  # type: ignore[assignment]
        self.gone_ms: int | None = values.get("gone_ms")  # type: ignore[assignment]
        self.supersedes_id = _id_of(values["supersedes_key"])
        self.superseded_by_id = _id_of(values["superseded_by_key"])
        self.evidence = list(evidence)
        self.standing = ""
        self.is_outside = bool(values.get("is_outside"))
        self.is_asleep = bool(values.get("is_asleep"))
        others: list[tuple[str, int | None, str]] = values.get("contradicts") or []  # type: ignore[assignment]
        self.also: list[str] = values.get("also") or []  # type: ignore[assignment]
        self.contradicts = [memory_id(bytes.fromhex(key)) for key, *_ in others] if self.is_live else []
        later = [(said_ms, later_said(bytes.fromhex(key), said_ms, text)) for key, said_ms, text in others if said_ms]
        self.later = max(later, default=None) if self.is_live else None

    @property
    def id(self) -> str:
        """The short id that people and agents see; any unique prefix of it finds the memory too."""
        return memory_id(self.key)

    @property
    def roots(self) -> list[str]:
        """The roots of all projects that it holds in, its own first; none where it holds everywhere."""
        return [] if self.project is None else [self.project, *self.also]

    @property
    def cited(self) -> str:
        """The event that bears it out first, and how many more do; '' when none does."""
        more = f" and {len(self.evidence) - 1} more" if len(self.evidence) > 1 else ""
        return f"from {self.evidence[0]}{more}" if self.evidence else ""

    @property
    def is_live(self) -> bool:
        """Whether it is searched and said: neither forgotten nor superseded nor purged."""
        return self.deleted_ms is None and self.superseded_by is None and self.purged_ms is None

    @property
    def is_let_go(self) -> bool:
        """Whether it was forgotten because its file no longer says it, by nobody."""
        return self.gone_ms is not None and self.deleted_ms == self.gone_ms

    @property
    def level(self) -> str:
        """One of LEVELS: what holds everywhere is shared, a situation passes, all else is a project's knowledge."""
        if self.project is None:
            return LEVELS[2]
        return LEVELS[0] if self.type == DEFAULT_TYPE else LEVELS[1]

    @property
    def state(self) -> str:
        """What has become of it, in a word."""
        if self.purged_ms is not None:
            return "purged"
        if self.deleted_ms is not None:
            return "forgotten"
        return "superseded" if self.superseded_by is not None else "live"

    @property
    def summary(self) -> str:
        """One line of at most 160 characters."""
        return squeeze(self.text, SUMMARY_CHARS)


class Claims:
    """What a file from outside says of a memory that it brings: nothing of it holds until a person accepts it.

    `supersedes` is the row of the memory here whose place it would take, `pinned_ms` the pin that it would have.
    """

    __slots__ = ("found_ms", "pinned_ms", "supersedes")

    def __init__(self, found_ms: int, supersedes: int | None = None, pinned_ms: int | None = None) -> None:
        self.found_ms, self.supersedes, self.pinned_ms = found_ms, supersedes, pinned_ms


class NewMemory:
    """A memory ready to be stored: redacted, checked, keyed. `project` is a root, None everywhere; `also` are others'.

    `digest` tells equal texts (whatever their case and spacing) of one scope; `supersedes` is the row it replaces;
    `said` is every time (UTC ms, event id) it was said. A copy of another store's comes as it is there: perhaps
    forgotten, perhaps a stone, and so what it replaces. One from outside has `claims`; `replaces` is the row of one
    from outside that turns out to be one's own. `same_as` is the row of a live one that says the same in other words:
    then that one is borne out, and nothing is added.
    """

    __slots__ = (
        "agent", "also", "claims", "created_ms", "deleted_ms", "digest", "evidence", "gone_ms", "is_copy", "key",
        "origin", "pinned_ms", "project", "purged_ms", "replaces", "said", "same_as", "source", "status", "status_ms",
        "subject", "supersedes", "text", "type", "wrong_ms",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - one row, one constructor
        self,
        *,
        key: bytes,
        digest: bytes = b"",
        type: str,
        text: str,
        project: str | None,
        agent: str | None,
        origin: str,
        status: str,
        created_ms: int,
        evidence: Sequence[str] = (),
        supersedes: int | None = None,
        is_copy: bool = False,
        deleted_ms: int | None = None,
        purged_ms: int | None = None,
        source: str = HAND,
        subject: str = "",
        said: Sequence[tuple[int, str]] = (),
        pinned_ms: int | None = None,
        status_ms: int | None = None,
        wrong_ms: int | None = None,
        gone_ms: int | None = None,
        claims: Claims | None = None,
        replaces: int | None = None,
        also: Sequence[str] = (),
    ) -> None:
        self.key, self.digest, self.type, self.text, self.project = key, digest, type, text, project
        self.agent, self.origin, self.status, self.created_ms = agent, origin, status, created_ms
        self.evidence, self.supersedes = tuple(evidence), supersedes
        self.is_copy, self.deleted_ms, self.purged_ms = is_copy, deleted_ms, purged_ms
        self.source, self.subject, self.said = source, subject, tuple(said)
        self.pinned_ms, self.status_ms, self.wrong_ms = pinned_ms, status_ms, wrong_ms
        self.gone_ms, self.claims, self.replaces, self.also = gone_ms, claims, replaces, tuple(also)
        self.same_as: int | None = None


class MemoryHit:
    """A memory that answers a question, and the index's raw score (comparable within one query only)."""

    __slots__ = ("row", "score")

    def __init__(self, row: int, score: float) -> None:
        self.row, self.score = row, score


class MemoryFilter:
    """Which memories a listing shows, beside its scope: by default the live ones.

    `is_global_only` leaves out those of projects, `is_own_only` those that hold everywhere; `with_purged` shows stones,
    which have no text. `before_ms`: as it was at that moment; what was forgotten since stays forgotten.
    """

    __slots__ = (
        "agent", "before_ms", "is_global_only", "is_own_only", "source", "status", "type", "with_forgotten",
        "with_purged", "with_superseded",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - each narrows by itself
        self,
        *,
        type: str | None = None,
        agent: str | None = None,
        status: str | None = None,
        with_forgotten: bool = False,
        with_superseded: bool = False,
        with_purged: bool = False,
        is_global_only: bool = False,
        is_own_only: bool = False,
        source: str | None = None,
        before_ms: int | None = None,
    ) -> None:
        self.type, self.agent, self.status, self.source = type, agent, status, source
        self.before_ms = before_ms
        self.is_global_only, self.is_own_only = is_global_only, is_own_only
        self.with_forgotten, self.with_superseded, self.with_purged = with_forgotten, with_superseded, with_purged


class Review:
    """Two memories that may contradict each other; a person settles it, and both stay until then.

    Attributes:
        row: The store's row id.
        older: The one that was said first; `newer`: the other.
        reason: Wherein they differ, one of REVIEW_REASONS.
        found_ms: When it was found; `settled_ms`: when somebody settled it, None: nobody has.
    """

    __slots__ = ("found_ms", "newer", "older", "reason", "row", "settled_ms")

    def __init__(
        self, row: int, older: Memory, newer: Memory, reason: str, found_ms: int, settled_ms: int | None
    ) -> None:
        self.row, self.older, self.newer = row, older, newer
        self.reason, self.found_ms, self.settled_ms = reason, found_ms, settled_ms


REVERTED = "Reverted the commit “"
"""What a memory of a reverted commit begins with, before the commit's subject."""

PROPOSED, OUTDATED, IMPORTED = "proposed", "outdated", "imported"
REVIEW_REASONS = ("number", "negation", "choice", "subject", PROPOSED, OUTDATED, IMPORTED)
"""Wherein memories that say about the same differ: a number, a "not", what was chosen over what; or a distiller says
anew what somebody keeps otherwise (`subject`). A model proposes another text for what it may not change (`proposed`),
or says that it does not hold any more (`outdated`; then both are the same memory). A file brought the newer one
(`imported`), which says that it supersedes the older one, or (both are the same memory) nothing."""


def memory_id(key: bytes) -> str:
    """The id of a key."""
    return ID_PREFIX + key.hex()[:ID_HEX_CHARS]


def later_said(key: bytes, said_ms: int, text: str) -> str:
    """That a later memory says otherwise, in a few words."""
    said = squeeze(text.partition("”, the user chose ")[2] or text, LATER_CHARS)  # a question is longer than its answer
    return f"later changed {iso_day(said_ms)}{said and f': {said}'} [{memory_id(key)}]"


def _id_of(key: object) -> str | None:
    return memory_id(key) if isinstance(key, bytes) else None


def normalized(text: str) -> str:
    """What makes two texts the same memory: their words, whatever the case and the spacing."""
    return " ".join(text.split()).casefold()


def taken_out(given: str, kept: str) -> list[str]:
    """The rules by which secrets were taken out of a text before it was kept, one for each secret."""
    before, after = (text.split("[redacted:")[1:] for text in (given, kept))
    rules = sorted(part.partition(":")[0] for part in after)
    for known in (part.partition(":")[0] for part in before):  # what was given so was no secret any more
        if known in rules:
            rules.remove(known)
    return rules


def author_of(agent: str | None) -> str:
    """Who wrote a memory, by its owner: the name without address and key, in letters that end no bracket.

    Of a name without letters the address; "somebody" where that has none, either. '' where nobody owns it.
    """
    from unicodedata import category

    for name in ((agent or "").partition(" <")[0], agent or ""):
        said = "".join(one for one in name if one.isalnum() or one in " .'\u2019-_@" or category(one)[0] == "M")
        if any(map(str.isalnum, said)):
            return squeeze(said, AUTHOR_CHARS)
    return "somebody" if agent else ""


def is_memory_id(text: str) -> bool:
    """Whether an id (or the beginning of one) is a memory's."""
    return text.strip().lower().startswith(ID_PREFIX)
