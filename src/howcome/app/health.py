"""`app.health`: what there is, what became of everything that was read, and whether it is whole."""

from __future__ import annotations

from howcome.app.clock import now_ms
from howcome.domain import events
from howcome.redact.version import is_due, rules_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from howcome.app.redacting import Redacted
    from howcome.domain.sources import SourceState
    from howcome.settings import Settings
    from howcome.store.base import Store


class Health:
    """Counts, accounts, checks, and what keeps the store well."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    @property
    def is_read_only(self) -> bool:
        """Whether nothing can be written."""
        return self._store.is_read_only

    @property
    def is_current(self) -> bool:
        """Whether the store is still the one that stands at its path."""
        return self._store.is_current

    def place(self) -> tuple[str, str, tuple[int, int], str]:
        """Where the rows are, as people are told; this machine's folder for all else; bytes; the engine.

        The bytes are those of the rows, and of the indexes (words, vectors) where those are not in the folder.
        """
        sizes = self._store.size_bytes, self._store.server_index_bytes
        return self._store.place, self._store.folder, sizes, self._store.describe()

    def require_writable(self) -> None:
        """Writes nothing, in a transaction; StoreError where it cannot be written."""
        self._store.injections.record("", "", 0)

    def read_some(self) -> dict[str, int]:
        """Reads some of each kind of rows; the counts."""
        self.sources()
        self._store.accounts.kinds()
        self._store.log.events([self._store.log.last_position()], with_text=True)
        return self.counts()

    def check_integrity(self) -> list[str]:
        """Reads the whole database: what is wrong with it."""
        return self._store.check_integrity()

    def memories(self) -> tuple[dict[str, dict[str, int]], list[str]]:
        """How many memories there are, by state and by type; the ids of those kept by hand that are there no more."""
        return self._store.memories.counts(), self._store.kept.vanished()

    def counts(self) -> dict[str, int]:
        """How many rows there are of what is counted."""
        return self._store.accounts.counts()

    def kinds(self) -> dict[str, int]:
        """How many events there are of each kind."""
        kinds = self._store.accounts.kinds()
        return {name: kinds.get(number, 0) for number, name in enumerate(events.KINDS)}

    def sources(self) -> list[Mapping[str, object]]:
        """What became of the records and bytes of every transcript."""
        return list(self._store.accounts.sources())

    def cursors(self) -> Iterator[SourceState]:
        """How far every transcript is read."""
        return self._store.log.sources()

    def position(self) -> tuple[int, str]:
        """The last position of the log, and the mark that stands there."""
        last = self._store.log.last_position()
        return last, self._store.log.mark_at(last)

    def holds(self, position: int, mark: str) -> bool:
        """Whether the log has a mark at a position: it is the one that was seen, and has gone on."""
        return bool(mark) and self._store.log.mark_at(position) == mark

    def quarantined(self, limit: int = 10) -> tuple[dict[str, int], list[dict[str, object]]]:
        """Records that could not be read: how many by reason, and the newest."""
        return self._store.quarantine.reasons(), self._store.quarantine.newest(limit)

    def set_aside(self) -> list[tuple[str, int, int, str]]:
        """Records that cost a pass its time: path, offset, size in bytes, and the record's time."""
        return self._store.quarantine.set_aside()

    # -- secrets ---------------------------------------------------------------------------------------------------
    def rules_version(self) -> int:
        """By which version of the rules for secrets everything here was searched."""
        return rules_of(self._store)

    def is_redaction_due(self) -> bool:
        """Whether that is an older one than today's."""
        return is_due(self._store)

    def redact_again(self, on_progress: Callable[[int, int], None]) -> Redacted | None:
        """Redacts what is stored by today's rules; None when that is not due. See `redacting.redact_again`."""
        from howcome.app.redacting import redact_again

        return redact_again(self._store, self._settings.home, on_progress) if self.is_redaction_due() else None

    def note_redacted(self, version: int) -> None:
        """Everything here has been through the rules of a version already."""
        self._store.texts.finish(version, is_changed=False)

    # -- backups ---------------------------------------------------------------------------------------------------
    def back_up_memories(self) -> bool:
        """Writes today's backup of what no transcript holds; False when there is one."""
        from howcome.memory.backup import back_up_memories

        return back_up_memories(self._store, self._store.folder, now_ms())

    def is_backup_overdue(self) -> bool:
        """Whether there is something to back up, and nobody has for days."""
        from howcome.memory.backup import is_overdue

        return is_overdue(self._store, self._store.folder, now_ms())
