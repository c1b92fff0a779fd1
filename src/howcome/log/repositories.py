"""What is kept beside the log: which folders are one project, sessions, accounts, what was set aside, what was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.identity import Repository
    from howcome.domain.sources import Batch
    from howcome.domain.stored import Scope, SessionSummary
    from howcome.domain.verdicts import KeptVerdict, PastVerdict
    from howcome.log.event_log import Appended


class Projects(Protocol):
    """Which folders are one project."""

    def of_path(self, path: str) -> int | None:
        """The project of a folder that was seen before."""
        ...

    def of_root(self, root: str) -> int | None:
        """The project with this root."""
        ...

    def roots(self) -> list[tuple[int, str]]:
        """Every project's id and root."""
        ...

    def keep_repository(self, found: Repository, now_ms: int) -> None:
        """Keeps what a repository's folder shows, in place of what it showed before."""
        ...

    def repositories(self) -> list[Repository]:
        """What every folder showed when it was looked at, those of the oldest projects first."""
        ...

    def alias(self, root: str, project_id: int, now_ms: int) -> None:
        """From now on a root that is no project's is this project's."""
        ...

    def aliases(self) -> list[tuple[str, str]]:
        """Other roots of projects, each with the project's own root."""
        ...

    def keep_apart(self, one: str, other: str, now_ms: int) -> None:
        """Remembers that two roots are two projects, whatever they show."""
        ...

    def roots_apart(self) -> set[tuple[str, str]]:
        """The pairs of roots, each in order, that somebody said are two projects."""
        ...

    def join(self, kept: int, joined: int, now_ms: int) -> None:
        """Makes one project a part of another; searching needs the index built anew afterwards."""
        ...


class Sessions(Protocol):
    """Sessions by their row ids; people know them by the client's own id."""

    def find(self, prefix: str, limit: int = 5) -> list[tuple[int, str, str]]:
        """Sessions by the beginning of the client's id: row id, id, project root."""
        ...

    def named(self, name: str) -> list[int]:
        """Those with this client id."""
        ...

    def of_client(self, client: str) -> list[int]:
        """Those of one client."""
        ...

    def of_agent(self, agent_id: str) -> list[int]:
        """Those in which a subagent of this id worked."""
        ...

    def of_project(self, project_id: int, asked: Iterable[int]) -> set[int]:
        """Which of some sessions are of a project."""
        ...

    def of_event(self, row: int) -> int | None:
        """The session that an event belongs to."""
        ...

    def of_memory(self, row: int) -> dict[str, str]:
        """The events (ids) that bear a memory out, as far as they are here, with their sessions (client's ids)."""
        ...

    def exchanges_in(self, scope: Scope, folders: Sequence[str]) -> dict[int, int]:
        """Exchanges (rows of their prompts) in which a file below one of some folders was named, with their sessions.

        Folders are paths below the project's root; of a file elsewhere (another checkout) any part of its path.
        """
        ...

    def recent(
        self,
        scope: Scope,
        limit: int,
        among: Sequence[int] | None = None,
        since_ms: int = 0,
        before_ms: int | None = None,
    ) -> list[SessionSummary]:
        """The sessions of a scope (and among some) in which something happened last (before then), newest first."""
        ...

    def ends(
        self, session_id: int, project_id: int | None, before_ms: int | None = None
    ) -> tuple[int | None, int | None]:
        """The rows of what a person asked first in a session, and of what its agent said last (before then)."""
        ...

    def clients(self) -> list[str]:
        """The clients that sessions are of."""
        ...

    def steps(self, name: str, before_ms: int | None = None) -> int:
        """How many tools the agent of a session (the client's id) called since the last prompt (before a moment)."""
        ...


class Accounts(Protocol):
    """How much of everything there is."""

    def counts(self) -> dict[str, int]:
        """How many of everything."""
        ...

    def kinds(self) -> dict[int, int]:
        """Events by the number of their kind."""
        ...

    def sources(self) -> list[dict[str, object]]:
        """Every byte read, per generation of each file."""
        ...

    def last_ms(self) -> int:
        """The time of the newest event, 0 for an empty store."""
        ...


class Quarantine(Protocol):
    """Records that could not be read, or cost a pass its time."""

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

    def readmit(self, batch: Batch) -> Appended:
        """Adds a record that was set aside, in one transaction; the cursor stays. `records` is 0."""
        ...

    def reasons(self) -> dict[str, int]:
        """Quarantined records by reason."""
        ...

    def newest(self, limit: int = 20) -> list[dict[str, object]]:
        """The newest quarantined records."""
        ...


class Injections(Protocol):
    """What was said to which session (the client's id)."""

    def record(
        self,
        session: str,
        hook: str,
        now_ms: int,
        events: Sequence[tuple[int, float]] = (),
        memories: Sequence[tuple[int, float]] = (),
        verdict: KeptVerdict | None = None,
    ) -> None:
        """Remembers which events and memories (row, score) were said to a session, and why no more, in one write.

        What was not said is not waited for: nothing is noted where another process writes. Old verdicts go.
        """
        ...

    def verdicts(
        self, *, session: str | None = None, project_id: int | None = None, since_ms: int = 0, limit: int = -1
    ) -> list[PastVerdict]:
        """The verdicts of a session (the client's id), of a project, or of all, the newest first."""
        ...

    def bites(self, session: str) -> tuple[int, dict[int, int]]:
        """How many lines a session was told with prompts since its window is new, and of which sessions (rows)."""
        ...

    def told_elsewhere(self, asked: bytes | None, session: str, since_ms: int) -> dict[int, int]:
        """What the same prompt was told in other sessions since then, and in how many: by an event's row, -memory's."""
        ...

    def events_known(self, session: str) -> set[int]:
        """Events that a session holds already: said to it, or copied with the session that it is a fork of."""
        ...

    def forget(self, session: str) -> None:
        """Forgets what was said to a session."""
        ...

    def memories_known(self, session: str) -> set[int]:
        """Memories that were said to a session."""
        ...

    def rehearse(self) -> None:
        """From now on, for who opened this store: nothing was said yet, and what is said is kept by nobody."""
        ...
