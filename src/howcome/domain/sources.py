"""The cursor of one transcript file and the batch of rows that moves it, committed together."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

COUNTERS = (
    "records", "accepted", "duplicate", "ignored", "unknown", "quarantined",
    "accepted_bytes", "duplicate_bytes", "ignored_bytes", "quarantined_bytes",
)  # fmt: skip
"""Accounts of a source: per generation, offset = the sum of the four `_bytes`."""


SET_ASIDE = "set-aside"
"""Why a record is quarantined that a pass died in: it cost too much time."""


class SourceState:
    """How far one generation of a file is in the store. `id` is None before its first batch."""

    __slots__ = (
        "client", "generation", "head_bytes", "head_digest", "id", "mtime_ns", "offset", "order_ms", "path",
        "reader_state", "size_bytes", "tail_bytes", "tail_digest",
    )  # fmt: skip

    def __init__(self, path: str, client: str, values: Mapping[str, object] | None = None) -> None:
        values = values or {}
        self.path, self.client = path, client
        self.id: int | None = values.get("id")  # type: ignore[assignment]
        self.generation: int = values.get("generation", 1)  # type: ignore[assignment]
        self.offset: int = values.get("offset", 0)  # type: ignore[assignment]
        self.head_bytes: int = values.get("head_bytes", 0)  # type: ignore[assignment]
        self.head_digest: str = values.get("head_digest", "")  # type: ignore[assignment]
        self.tail_digest: str = values.get("tail_digest", "")  # type: ignore[assignment]
        self.size_bytes: int = values.get("size_bytes", 0)  # type: ignore[assignment]
        self.mtime_ns: int = values.get("mtime_ns", 0)  # type: ignore[assignment]
        self.tail_bytes: int = values.get("tail_bytes", 0)  # type: ignore[assignment]
        self.order_ms: int = values.get("order_ms", 0)  # type: ignore[assignment]
        remembered = values.get("reader_state")
        self.reader_state: dict[str, object] = json.loads(str(remembered)) if remembered else {}

    def copy(self) -> SourceState:
        """The same state, to be moved on its own."""
        other = SourceState.__new__(SourceState)
        for name in SourceState.__slots__:
            setattr(other, name, getattr(self, name))
        return other

    def next_generation(self, client: str | None = None) -> SourceState:
        """The state of the file's next content (or of the same for another client's reader)."""
        fresh = SourceState(self.path, client or self.client)
        fresh.generation = self.generation + 1
        return fresh


class NewEvent:
    """An event ready to be stored: redacted, keyed, in its four resolutions.

    `kind` and `origin` are their numbers (`events.KINDS`, `events.ORIGINS`); `order_ms` is its place in its session;
    `payload` is the whole text, packed, or None when the excerpt is all of it.
    """

    __slots__ = (
        "agent_id", "branch", "cwd", "excerpt", "exit_code", "failed", "file", "key", "kind", "order_ms", "origin",
        "payload", "search_text", "session", "text_chars", "tool", "tool_use_id", "ts_ms",
    )  # fmt: skip

    key: bytes
    session: str
    cwd: str | None
    kind: int
    origin: int
    ts_ms: int | None
    order_ms: int
    tool: str | None
    tool_use_id: str | None
    file: str | None
    branch: str | None
    agent_id: str | None
    failed: bool | None
    exit_code: int | None
    text_chars: int
    excerpt: str
    payload: bytes | str | None
    search_text: str


class NewRecord:
    """One line that was read: where it is and what became of it."""

    __slots__ = ("digest", "events", "offset", "quarantined", "size_bytes", "unknown")

    def __init__(
        self,
        offset: int,
        size_bytes: int,
        events: list[NewEvent],
        *,
        quarantined: str | None = None,
        digest: str = "",
        unknown: bool = False,
    ) -> None:
        self.offset, self.size_bytes, self.events = offset, size_bytes, events
        self.quarantined, self.digest, self.unknown = quarantined, digest, unknown

    @property
    def ignored(self) -> bool:
        """Whether it says nothing."""
        return not self.events and self.quarantined is None


class Batch:
    """Consecutive records of one source, and the cursor as it stands after them.

    `roots` maps each folder in it to the root of its project and whether the file system said so (True) or only the
    path itself (False: a folder that is not there any more).
    """

    __slots__ = ("after", "now_ms", "records", "roots")

    def __init__(
        self, after: SourceState, records: list[NewRecord], roots: Mapping[str, tuple[str, bool]], now_ms: int
    ) -> None:
        self.after, self.records, self.roots, self.now_ms = after, records, roots, now_ms
