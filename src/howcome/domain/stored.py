"""What a store gives back: events as kept, the scope of a question, and hits."""

from __future__ import annotations

from howcome.domain import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from howcome.domain.explanation import Explanation
    from howcome.domain.memories import Memory

EVENTS, EXCHANGES, NAMES, FUZZY, HOLDING = SEARCHES = ("events", "exchanges", "names", "fuzzy", "holding")
"""What is searched: events whose window holds the terms; exchanges that hold them; events that mention names (lower
case); events with a word one edit away from a term; exchanges again, scored by the weights that they hold alone."""

ID_PREFIX = "ev-"
ID_HEX_CHARS = 12


class Scope:
    """Whose events a question may see: one project's, or (when asked for explicitly) every project's.

    `here` is the project in which everything is asked for, where that is known: of what answers as well its own counts
    more. `folder` is where somebody asks for that project; '' where nobody stands in it.
    """

    __slots__ = ("folder", "here", "is_everything", "project_id")

    def __init__(
        self, project_id: int | None, *, is_everything: bool = False, here: int | None = None, folder: str = ""
    ) -> None:
        self.project_id, self.folder = project_id, folder
        self.is_everything = is_everything
        self.here = here

    @property
    def number(self) -> int | None:
        """What a statement is asked with: the project (0: one that nobody knows), None for every one."""
        return None if self.is_everything else self.project_id or 0

    @classmethod
    def project(cls, project_id: int | None) -> Scope:
        """One project; None is a folder that the store has never seen: it holds nothing."""
        return cls(project_id)

    @classmethod
    def everything(cls, here: int | None = None) -> Scope:
        """Every project, asked in one of them."""
        return cls(None, is_everything=True, here=here)


class StoredEvent:
    """One event as kept. `text` is the whole redacted text where it was asked for, else None."""

    __slots__ = (
        "agent_id",
        "branch",
        "client",
        "excerpt",
        "exit_code",
        "failed",
        "file",
        "key",
        "kind",
        "order_ms",
        "origin",
        "project",
        "row",
        "session",
        "text",
        "text_chars",
        "tool",
        "tool_use_id",
        "ts_ms",
    )  # fmt: skip

    def __init__(self, values: Mapping[str, object], text: str | None = None) -> None:
        self.row: int = values["row"]  # type: ignore[assignment]
        self.key: bytes = values["key"]  # type: ignore[assignment]
        self.kind: str = events.STORED_KINDS[values["kind"]]  # type: ignore[call-overload]
        self.origin: str = events.ORIGINS[values["origin"]]  # type: ignore[call-overload]
        self.session: str = values["session"]  # type: ignore[assignment]
        self.client: str = values["client"]  # type: ignore[assignment]
        self.project: str = values["project"]  # type: ignore[assignment]
        self.ts_ms: int | None = values["ts_ms"]  # type: ignore[assignment]
        self.order_ms: int = values["order_ms"]  # type: ignore[assignment]
        self.tool: str | None = values["tool"]  # type: ignore[assignment]
        self.tool_use_id: str | None = values.get("tool_use_id")  # type: ignore[assignment]
        self.file: str | None = values["file"]  # type: ignore[assignment]
        self.branch: str | None = values["branch"]  # type: ignore[assignment]
        self.agent_id: str | None = values["agent_id"]  # type: ignore[assignment]
        self.failed: bool | None = None if values["failed"] is None else bool(values["failed"])
        self.exit_code: int | None = values["exit_code"]  # type: ignore[assignment]
        self.text_chars: int = values["text_chars"]  # type: ignore[assignment]
        self.excerpt: str = values["excerpt"]  # type: ignore[assignment]
        self.text = text

    @property
    def id(self) -> str:
        """The short id that people and agents see; any unique prefix of it finds the event too."""
        return ID_PREFIX + self.key.hex()[:ID_HEX_CHARS]

    @property
    def summary(self) -> str:
        """One line of at most 160 characters."""
        return events.summary(self.kind, self.tool, self.excerpt, failed=self.failed)


class SessionSummary:
    """What a list of sessions says of each: its first prompt (without one: its first event) says what it was about."""

    __slots__ = ("client", "count", "first_ms", "last_ms", "name", "project", "prompt", "row")

    def __init__(self, columns: Sequence[object]) -> None:
        self.row: int = columns[0]  # type: ignore[assignment]
        self.name: str = columns[1]  # type: ignore[assignment]
        self.client: str = columns[2]  # type: ignore[assignment]
        self.project: str = columns[3]  # type: ignore[assignment]
        self.first_ms: int = columns[4] or 0  # type: ignore[assignment]
        self.last_ms: int = columns[5] or 0  # type: ignore[assignment]
        self.count: int = columns[6]  # type: ignore[assignment]
        self.prompt = str(columns[7] or "")


class Hit:
    """One row of an index that answers a query, with the index's raw score (comparable within one query only).

    `exchange` is the row of the prompt that opened the exchange which the row belongs to.
    """

    __slots__ = ("exchange", "row", "score", "session_id", "ts_ms")

    def __init__(self, row: int, session_id: int, exchange: int, ts_ms: int, score: float) -> None:
        self.row, self.session_id, self.exchange, self.ts_ms, self.score = row, session_id, exchange, ts_ms, score


class Turn:
    """What a vector is made of: a turn's text and that of the turn before it (None: it is its session's first).

    `exchange` is the row of the prompt that opened its exchange, `place` counts the turns of that from 1; `kind` and
    `origin` are numbers.
    """

    __slots__ = ("before", "exchange", "kind", "origin", "place", "project_id", "row", "session_id", "text", "ts_ms")

    def __init__(  # noqa: PLR0913 - a row of a table
        self,
        row: int,
        session_id: int,
        exchange: int,
        project_id: int,
        ts_ms: int,
        kind: int,
        origin: int,
        *,
        text: str,
        before: str | None,
        place: int = 1,
    ) -> None:
        self.place = place
        self.row, self.session_id, self.exchange, self.project_id = row, session_id, exchange, project_id
        self.ts_ms, self.kind, self.origin, self.text, self.before = ts_ms, kind, origin, text, before


class Found:
    """One answer of a search: an event or a memory, its score (0 to 1), what each tier gave it, and what to show.

    `strength` and `adjustments` (what the fused score was multiplied with, by name) say how the score came about;
    `explanation` is there where one was asked for (`Question.explained`). A row that stands for an exchange has that
    exchange's prompt (row and beginning of its words), the ids of the memories that were learnt from it, and what a
    later memory says otherwise (`later`). `unmerged` is the branch of what was said on one that is not merged. A row
    that `is_near` was asked for (`Question.with_near`): nothing answers the question for sure, and this is nearest.
    `around` has what was settled in the exchanges next to it: turns, each with a sentence.
    """

    __slots__ = (
        "adjustments", "around", "event", "exchange", "explanation", "is_near", "later", "memories", "memory",
        "passage", "prompt", "score", "strength", "tiers", "unmerged",
    )  # fmt: skip

    def __init__(
        self,
        score: float,
        tiers: Mapping[str, float],
        passage: str,
        *,
        event: StoredEvent | None = None,
        memory: Memory | None = None,
        strength: float = 0.0,
        adjustments: Mapping[str, float] | None = None,
    ) -> None:
        self.score, self.tiers, self.passage, self.event, self.memory = score, tiers, passage, event, memory
        self.exchange, self.prompt, self.later, self.unmerged = 0, "", "", ""
        self.memories: list[str] = []
        self.around: list[tuple[StoredEvent, str]] = []
        self.strength, self.adjustments, self.is_near = strength, adjustments or {}, False
        self.explanation: Explanation | None = None

    @property
    def id(self) -> str:
        """The id of what was found."""
        found = self.event or self.memory
        return found.id if found else ""


class Weights:
    """What a question's terms are worth: idf among windows and among exchanges, and how many of each there are."""

    __slots__ = ("exchanges", "known", "totals", "windows")

    def __init__(self) -> None:
        self.windows: dict[str, float] = {}
        self.exchanges: dict[str, float] = {}
        self.known: set[str] = set()
        self.totals: dict[str, int] = {}


class Subsystem:
    """A part of a project: its folders (below the root), and the exchanges that are about it, with their sessions.

    Exchanges are known by the rows of the prompts that opened them.
    """

    __slots__ = ("exchanges", "folders", "sessions")

    def __init__(self, folders: Sequence[str], exchanges: Mapping[int, int]) -> None:
        self.folders, self.exchanges, self.sessions = tuple(folders), frozenset(exchanges), set(exchanges.values())


class Filter:
    """Which rows a search may return. The scope is mandatory: nothing is ever searched without one.

    `before_ms` leaves out what is not older, `since_ms` what is; `without` names sessions (row ids) to leave out,
    `sessions` the only ones wanted; `kinds`, `origins` and `agent_id` (a subagent's) narrow events to those,
    `memory_types` and `agent` (its owner) memories (None: all); `subsystem` narrows both to a part of the project. With
    `is_then` memories are asked as they were at `before_ms`: not as what has become of them since.
    """

    __slots__ = (
        "agent", "agent_id", "before_ms", "is_then", "kinds", "memory_types", "origins", "scope", "sessions",
        "since_ms", "subsystem", "without",
    )  # fmt: skip

    def __init__(  # noqa: PLR0913 - each narrows by itself
        self,
        scope: Scope,
        *,
        before_ms: int | None = None,
        since_ms: int | None = None,
        without: Sequence[int] = (),
        sessions: Sequence[int] | None = None,
        kinds: Sequence[str] | None = None,
        origins: Sequence[str] | None = None,
        memory_types: Sequence[str] | None = None,
        agent: str | None = None,
        agent_id: str | None = None,
        subsystem: Subsystem | None = None,
        is_then: bool = False,
    ) -> None:
        self.agent_id, self.subsystem, self.is_then = agent_id, subsystem, is_then
        self.scope, self.before_ms, self.since_ms, self.without = scope, before_ms, since_ms, tuple(without)
        self.sessions = None if sessions is None else tuple(sessions)
        self.kinds, self.origins, self.memory_types, self.agent = kinds, origins, memory_types, agent

    @property
    def then_ms(self) -> int | None:
        """The moment as of which memories are asked; None: now."""
        return self.before_ms if self.is_then else None

    @property
    def is_never(self) -> bool:
        """Whether nothing can be within the time asked for."""
        return self.before_ms is not None and (self.before_ms <= 0 or self.before_ms <= (self.since_ms or 0))

    def narrowed(self, kinds: Sequence[str]) -> Filter:
        """The same filter for these kinds of events only, of those that it lets through."""
        wanted = kinds if self.kinds is None else [kind for kind in kinds if kind in self.kinds]
        found = Filter(self.scope)
        for name in self.__slots__:
            setattr(found, name, getattr(self, name))
        found.kinds = wanted
        return found


class Reminder:
    """What is worth saying again: its score (0 to 1), and the passages to quote as (origin, text), in their order.

    An event with the rows of what is quoted, or a memory (then there is no event, and `rows` is its row). `unmerged` as
    of `Found`.
    """

    __slots__ = ("event", "memory", "passages", "rows", "score", "unmerged")

    def __init__(
        self,
        event: StoredEvent | None,
        score: float,
        passages: list[tuple[str, str]],
        rows: list[int],
        memory: Memory | None = None,
    ) -> None:
        self.event, self.score, self.passages, self.rows, self.memory = event, score, passages, rows, memory
        self.unmerged = ""

    @property
    def source(self) -> StoredEvent | Memory:
        """What it is from.

        Raises:
            ValueError: it is neither of an event nor of a memory.
        """
        found = self.event or self.memory
        if found is None:
            raise ValueError("a reminder is of an event or of a memory")
        return found

    @property
    def said_ms(self) -> int:
        """When it was said last, UTC milliseconds."""
        if self.memory is not None:
            return self.memory.said_ms or self.memory.created_ms
        return (self.event.ts_ms or self.event.order_ms) if self.event is not None else 0


class IndexRow:
    """What a search index needs of one event, but for its search text."""

    __slots__ = ("kind", "order_ms", "origin", "project_id", "row", "session_id", "ts_ms")

    def __init__(
        self, row: int, session_id: int, project_id: int, kind: int, origin: int, ts_ms: int | None, order_ms: int
    ) -> None:
        self.row, self.session_id, self.project_id, self.kind, self.origin = row, session_id, project_id, kind, origin
        self.ts_ms, self.order_ms = ts_ms, order_ms
