"""The composition root and façade: the only room that names a concrete store; every door calls it, by its groups.

Recall and ingest are opened apart, because a prompt must not pay for what only ingest needs: groups, and imports below
them, are made where they are asked for.
"""

from __future__ import annotations

import os
import time
from functools import cached_property

from howcome.app.clock import now_ms
from howcome.errors import SettingsError, StoreError
from howcome.log.place import has_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from howcome.app.files import Files, Graphs
    from howcome.app.health import Health
    from howcome.app.indexing import Indexing
    from howcome.app.ingesting import Ingesting
    from howcome.app.learning import Learning
    from howcome.app.models import Models, Opener
    from howcome.app.projects import Projects
    from howcome.app.reading import Reading
    from howcome.app.remembering import Remembering
    from howcome.app.searching import Searching
    from howcome.app.sharing import Sharing
    from howcome.app.telemetry import Telemetry
    from howcome.log.database import Gate as StoreGate
    from howcome.log.spending import Spending
    from howcome.providers.base import Embedder
    from howcome.retrieve.ranking import Ranking
    from howcome.settings import Settings
    from howcome.store.base import Store
    from howcome.store.moving import Moved
    from howcome.store.postgres import PostgresStore

__all__ = [
    "App",
    "DriverMissingError",
    "move",
    "now_ms",
    "open_app",
    "open_for_ingest",
    "open_for_recall",
    "open_on_server",
]


class DriverMissingError(StoreError):
    """The packages of the extra `postgres` are not here."""


def open_app(
    settings: Settings,
    *,
    busy_ms: int = 5000,
    fixed_root: str | None = None,
    create: bool = True,
    ranking: Ranking | None = None,
    embedder: Embedder | None = None,
    opener: Opener | None = None,
    is_embedded: bool = False,
) -> App:
    """The façade over the store of the settings, which is created when it is not there.

    Args:
        settings: Where the store is, what is excluded.
        busy_ms: How long a write waits for another process's.
        fixed_root: Every event belongs to this project (for evaluation only).
        create: False for what only reads, and for who has seen a store here that is gone now.
        ranking: Another way to rank than the one that ships (for evaluation only).
        embedder: One that is loaded already, instead of that of the settings.
        opener: What opens that of the settings when it is needed, instead of `providers.embed.open_embedder`.
        is_embedded: Whether it is the one in `settings.home`, even if commands use one on a server.
    """
    from howcome.redact.gate import Gate

    os.umask(0o077)  # the database makes its files 0600 itself; the index and all else must be nobody else's either
    gate = Gate(lambda: bytes(store.meta("key")), personal=settings.redact_personal)  # type: ignore[call-overload]
    if settings.store and not is_embedded:
        store: Store = open_on_server(settings, busy_ms=busy_ms, create=create, gate=gate)
    else:
        from howcome.store.sqlite import SqliteStore

        store = SqliteStore(settings.home, busy_ms=busy_ms, create=create, gate=gate)
    return App(store, settings, fixed_root=fixed_root, ranking=ranking, embedder=embedder, opener=opener)


def open_on_server(settings: Settings, *, busy_ms: int, create: bool, gate: StoreGate | None) -> PostgresStore:
    """The store on the server of the settings, which may name a variable with its password."""
    try:
        from howcome.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if error.name is None or not error.name.startswith("psycopg"):
            raise
        what = "a store on a server needs the package psycopg: pip install 'howcome[postgres]'"
        raise DriverMissingError(what) from error
    from hashlib import blake2b

    name = settings.store_password_env
    if name and name not in os.environ:
        raise SettingsError(f"store_password_env: the variable {name} is not set")
    # where this machine keeps vectors of what is on a server
    folder = os.path.join(settings.home, "servers", blake2b(settings.store.encode(), digest_size=6).hexdigest())
    password = os.environ.get(name, "")
    return PostgresStore(folder, settings.store, password=password, busy_ms=busy_ms, create=create, gate=gate)


def move(source: Store, target: Store, on_progress: Callable[[int], object]) -> Moved:
    """See `store.moving.copy_store`, which needs the extra as well."""
    from howcome.store.moving import copy_store

    return copy_store(source, target, on_progress)


def open_for_recall(settings: Settings, deadline: float, embedder: Embedder | None = None) -> App | None:
    """The façade for a prompt; None when there is no store yet. Only a loaded embedder is asked."""
    if not has_database(settings.home):
        return None
    busy_ms = max(1, int((deadline - time.monotonic()) * 250))  # a quarter of the time left, then without
    return open_app(settings, busy_ms=busy_ms, create=False, embedder=embedder, is_embedded=True)


def open_for_ingest(settings: Settings) -> App:
    """The façade for a hook that reads transcripts; made with the store when that is not there."""
    return open_app(settings, busy_ms=1000, is_embedded=True)


class App:
    """Everything howcome does, over one store, in groups; `store` is for the groups, and for tests."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        fixed_root: str | None = None,
        ranking: Ranking | None = None,
        embedder: Embedder | None = None,
        opener: Opener | None = None,
    ) -> None:
        self.store, self.settings, self._fixed_root, self._ranking = store, settings, fixed_root, ranking
        self._embedder, self._opener = embedder, opener

    def __enter__(self) -> App:  # noqa: PYI034 - `typing` costs a hook 10 ms
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives the store back."""
        self.store.close()

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        self.store.refresh()
        self.models.refresh()

    def nonce(self, text: str) -> str:
        """Eight digits that nobody without this store's key can make of a text: they mark where a quotation ends."""
        from hashlib import blake2b

        key = bytes(self.store.meta("key"))  # type: ignore[call-overload]
        return blake2b(text.encode("utf-8", "replace"), digest_size=4, key=key).hexdigest()

    @cached_property
    def ingest(self) -> Ingesting:
        """Transcripts and observations become events."""
        from howcome.app.ingesting import Ingesting

        return Ingesting(self.store, self.settings, self.index, self._fixed_root)

    @cached_property
    def index(self) -> Indexing:
        """What searches read is made of the events."""
        from howcome.app.indexing import Indexing

        return Indexing(self.store, self.settings, self.models)

    @cached_property
    def models(self) -> Models:
        """What embeds, and reads again."""
        from howcome.app.models import Models

        return Models(self.store, self.settings, self._embedder, self._opener)

    @cached_property
    def search(self) -> Searching:
        """A question or a prompt, and what earlier sessions say about it."""
        from howcome.app.searching import Searching

        return Searching(self.store, self.settings, self.models, self.projects, self._ranking)

    @cached_property
    def events(self) -> Reading:
        """Events and sessions as they are stored."""
        from howcome.app.reading import Reading

        return Reading(self.store)

    @cached_property
    def projects(self) -> Projects:
        """Which project a folder belongs to."""
        from howcome.app.projects import Projects

        return Projects(self.store, self.settings, self._fixed_root)

    @cached_property
    def memories(self) -> Remembering:
        """Keeping, reading, forgetting and moving memories."""
        from howcome.app.remembering import Remembering

        return Remembering(self.store, self.projects, self.models.meaning)

    @cached_property
    def sharing(self) -> Sharing:
        """Memories on a person's other machines, and in a team's repository."""
        from howcome.app.sharing import Sharing

        return Sharing(self.settings, self.memories, self.projects)

    @cached_property
    def learn(self) -> Learning:
        """What turns sessions into memories and rationales."""
        from howcome.app.learning import Learning

        return Learning(self.store, self.settings, self.models)

    @cached_property
    def files(self) -> Files:
        """Why a line is there, and what became of a file."""
        from howcome.app.files import Files

        return Files(self.store, self.projects, self.learn)

    @cached_property
    def graphs(self) -> Graphs:
        """Which file of a project imports which."""
        from howcome.app.files import Graphs

        return Graphs(self.store, self.settings, self.projects, self._fixed_root)

    @cached_property
    def health(self) -> Health:
        """What there is, and whether it is whole."""
        from howcome.app.health import Health

        return Health(self.store, self.settings)

    @cached_property
    def telemetry(self) -> Telemetry:
        """What sessions did, what it cost, and what goes wrong again and again."""
        from howcome.app.telemetry import Telemetry

        return Telemetry(self.store)

    @property
    def spending(self) -> Spending:
        """The ledger of what language models were asked."""
        return self.store.spending
