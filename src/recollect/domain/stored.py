"""What a store gives back: events as kept, the scope of a question, and hits."""

from __future__ import annotations

from recollect.domain import events

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ID_PREFIX = "ev-"
ID_HEX_CHARS = 12


class Scope:
    """Whose events a question may see: one project's, or (when asked for explicitly) every project's."""

    __slots__ = ("is_everything", "project_id")

    def __init__(self, project_id: int | None, *, is_everything: bool = False) -> None:
        self.project_id = project_id
        self.is_everything = is_everything

    @classmethod
    def project(cls, project_id: int | None) -> Scope:
        """One project; None is a folder that the store has never seen: it holds nothing."""
        return cls(project_id)

    @classmethod
    def everything(cls) -> Scope:
        """Every project."""
        return cls(None, is_everything=True)


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
        "ts_ms",
    )  # fmt: skip

    def __init__(self, values: Mapping[str, object], text: str | None = None) -> None:
        self.row: int = values["row"]  # type: ignore[assignment]
        self.key: bytes = values["key"]  # type: ignore[assignment]
        self.kind: str = events.KINDS[values["kind"]]  # type: ignore[call-overload]
        self.origin: str = events.ORIGINS[values["origin"]]  # type: ignore[call-overload]
        self.session: str = values["session"]  # type: ignore[assignment]
        self.client: str = values["client"]  # type: ignore[assignment]
        self.project: str = values["project"]  # type: ignore[assignment]
        self.ts_ms: int | None = values["ts_ms"]  # type: ignore[assignment]
        self.order_ms: int = values["order_ms"]  # type: ignore[assignment]
        self.tool: str | None = values["tool"]  # type: ignore[assignment]
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


class Hit:
    """One row of an index that answers a query, with the index's raw score (comparable within one query only).

    `exchange` is the row of the prompt that opened the exchange which the row belongs to.
    """

    __slots__ = ("exchange", "row", "score", "session_id", "ts_ms")

    def __init__(self, row: int, session_id: int, exchange: int, ts_ms: int, score: float) -> None:
        self.row, self.session_id, self.exchange, self.ts_ms, self.score = row, session_id, exchange, ts_ms, score


class Weights:
    """What a question's terms are worth: idf among windows and among exchanges, and how many of each there are."""

    __slots__ = ("exchanges", "known", "totals", "windows")

    def __init__(self) -> None:
        self.windows: dict[str, float] = {}
        self.exchanges: dict[str, float] = {}
        self.known: set[str] = set()
        self.totals: dict[str, int] = {}


class Filter:
    """Which rows a search may return. The scope is mandatory: nothing is ever searched without one.

    `before_ms` leaves out what is not older; `without` names sessions (row ids) to leave out; `kinds` and `origins`
    narrow to those (None: all).
    """

    __slots__ = ("before_ms", "kinds", "origins", "scope", "without")

    def __init__(
        self, scope: Scope, *, before_ms: int | None = None, without: Sequence[int] = (),
        kinds: Sequence[str] | None = None, origins: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.scope, self.before_ms, self.without = scope, before_ms, tuple(without)
        self.kinds, self.origins = kinds, origins

    def narrowed(self, kinds: Sequence[str]) -> Filter:
        """The same filter for these kinds only."""
        return Filter(self.scope, before_ms=self.before_ms, without=self.without, kinds=kinds, origins=self.origins)


class Recollection:
    """An event worth saying again: its score (0 to 1), and the passages to quote as (origin, text), in their order."""

    __slots__ = ("event", "passages", "rows", "score")

    def __init__(self, event: StoredEvent, score: float, passages: list[tuple[str, str]], rows: list[int]) -> None:
        self.event, self.score, self.passages, self.rows = event, score, passages, rows
