"""What is done to the database as a whole: salvaged, backed up, put back.

A composition root like `app`, for what works where the store cannot be opened.
"""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING

from howcome.app import move, open_app, open_on_server
from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Scope
from howcome.errors import HowcomeError, StoreError, TranscriptError, UsageError
from howcome.memory.backup import newest_backup
from howcome.memory.export import MAX_LISTED
from howcome.redact.version import RULES_VERSION
from howcome.settings import STORE_FIELD, Settings, check_value
from howcome.store.sqlite import BUSY_TIMEOUT_MS, SqliteStore
from howcome.store.sqlite_backup import back_up, restore_backup
from howcome.store.sqlite_salvage import Salvaged, salvage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    ReadExport = Callable[[str], Iterable[tuple[int, object]]]
    from howcome.app import App
    from howcome.clients.discover import Found
    from howcome.store.moving import Moved

__all__ = ["back_up", "mend_database", "move_store", "put_back"]


class Mended(Salvaged):
    """A salvage with what came after it: memories from the last backup, transcripts read, and those that were not."""

    def __init__(self, salvaged: Salvaged) -> None:
        super().__init__()
        self.__dict__.update(vars(salvaged))
        self.from_backup = 0
        self.added = 0
        self.unread: list[str] = []


def mend_database(settings: Settings, transcripts: Iterable[Found], read_export: ReadExport) -> Mended | None:
    """A damaged database becomes a whole one: what can be read of it, of the last backup, and of the transcripts.

    None when it is not damaged: nothing was done then.

    Raises:
        StoreError: other processes use it, or it cannot be told to be damaged; nothing was changed.
    """
    salvaged = salvage(settings.home)
    if salvaged is None:
        return None
    report = Mended(salvaged)
    with open_app(settings, is_embedded=True) as app:
        if not any(salvaged.rows.values()):  # nothing in it is from older rules for secrets
            app.health.note_redacted(RULES_VERSION)
        report.from_backup = _import_backup(app, read_export)
        for found in transcripts:
            try:
                report.added += app.ingest.file(found).counts["accepted"]
            except (TranscriptError, OSError):
                report.unread.append(found.path)
        app.index.catch_up()
    return report


def _import_backup(app: App, read_export: ReadExport) -> int:
    path = newest_backup(app.settings.home)
    try:
        return 0 if path is None else app.memories.import_values(read_export(path), is_mine=True).added
    except HowcomeError:  # one that cannot be read must not keep the transcripts from being read
        return 0


def put_back(settings: Settings, file: str) -> tuple[str, list[str]]:
    """A backup in the place of the database: where the present one is kept, and memories that were purged once more.

    What was purged since the backup was made stays purged.

    Raises:
        UsageError: the file is no backup; nothing was changed.
        StoreError: other processes use the store, or it cannot be written.
    """
    purged = _purged(settings)
    aside = restore_backup(settings.home, file)
    with open_app(settings, is_embedded=True) as app:
        app.index.catch_up()
        return aside, app.memories.purge_again(purged)


def _purged(settings: Settings) -> list[bytes]:
    try:
        with open_app(settings, create=False, is_embedded=True) as app:
            wanted = MemoryFilter(with_forgotten=True, with_superseded=True, with_purged=True)
            found = app.memories.listed(Scope.everything(), wanted, MAX_LISTED)
            return [memory.key for memory in found if memory.purged_ms is not None]
    except StoreError:  # there is none, or it is what the backup is put back for
        return []


def move_store(settings: Settings, to: str, on_progress: Callable[[int], object] = lambda _: None) -> tuple[str, Moved]:
    """Copies the embedded store to a server (`postgresql://…`), or a server's to one (`sqlite`, `sqlite:FOLDER`).

    The source stays as it is. An interrupted copy goes on when it is begun again.

    Returns:
        Where the copy is, and what was copied.

    Raises:
        UsageError: it is no such place, or holds something already.
        StoreError: a store cannot be opened, read or written, or the copy is not the same.
    """
    kind, _, folder = to.partition(":")
    is_back = kind == "sqlite"
    if is_back and not settings.store:
        raise UsageError("the store is an embedded one already; --to postgresql://user@host/database copies it")
    address = settings.store if is_back else str(check_value(STORE_FIELD, to, "--to"))
    server = Settings({**vars(settings), "store": address})
    with ExitStack() as stack:
        embedded = SqliteStore(os.path.abspath(folder if is_back and folder else settings.home), create=is_back)
        stack.callback(embedded.close)
        remote = open_on_server(server, busy_ms=BUSY_TIMEOUT_MS, create=not is_back, gate=None)
        stack.callback(remote.close)
        source, target = (remote, embedded) if is_back else (embedded, remote)
        return target.place, move(source, target, on_progress)
