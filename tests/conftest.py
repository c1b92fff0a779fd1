"""A clean machine for every test: its own home, none of the caller's agents, a store of its own."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import hypothesis
import pytest
from tests import surroundings  # noqa: F401 - before everything else
from tests.builders import Claude, write
from tests.hostile.scale import of
from tests.processes import COMMAND, ask

from howcome.ingest.exclusion import Places
from howcome.ingest.file_pass import FileReport
from howcome.ingest.pipeline import Ingester
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Iterator

_FOREIGN = ("HOWCOME_", "CLAUDE_", "CODEX_", "ANTHROPIC_", "OPENAI_", "GIT_", "XDG_")
_OURS = ("HOWCOME_TEST_",)
_HOOKS_MS = 20_000
"""How long a hook may take in tests that are not about its deadline: one that a busy machine ends has no answer."""

hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow],
    derandomize="HOWCOME_TEST_RANDOM" not in os.environ,  # the same examples each time
    max_examples=of(40, 100),
)  # fmt: skip
hypothesis.settings.load_profile("any machine")


def pytest_xdist_auto_num_workers() -> int:
    """Three tests at once on two cores: many wait for a process, a lock or a time limit."""
    return max(2, (os.cpu_count() or 1) * 3 // 2)


_numbers = itertools.count(1)
"""Of homes: pytest looks through all its folders for each new number."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What may take longest begins first, so that the cores end together."""
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


def pytest_collection_finish() -> None:
    """What is known of all tests is not looked through for garbage during each, nor after every 700 new objects."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000)


@pytest.fixture(scope="session", autouse=True)
def clean_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Nothing of the caller's agents, settings or home reaches a test, what is made for several, or their processes."""
    with pytest.MonkeyPatch.context() as patch:
        for name in list(os.environ):
            if (name.startswith(_FOREIGN) or name == "CLAUDECODE") and not name.startswith(_OURS):
                patch.delenv(name)
        folder = tmp_path_factory.getbasetemp()
        patch.setenv("HOME", str(_new_home(folder)))
        patch.setenv("HOWCOME_TRANSCRIPT_FOLDERS", str(folder))  # hooks are given transcripts that lie anywhere in it
        patch.setenv("HOWCOME_EMBEDDING", "off")  # a model is loaded by the tests that are about it
        for name in ("PROMPT", "INGEST", "START"):
            patch.setenv(f"HOWCOME_{name}_DEADLINE_MS", str(_HOOKS_MS))
        yield


@pytest.fixture(autouse=True)
def new_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A home folder of its own for every test."""
    monkeypatch.setenv("HOME", str(_new_home(tmp_path_factory.getbasetemp())))


def _new_home(folder: Path) -> Path:
    home = folder / "homes" / str(next(_numbers))
    home.mkdir(mode=0o700, parents=True)
    return home


@pytest.fixture(autouse=True)
def same_process() -> Iterator[None]:
    """What a test runs in this process leaves it as it was for the next: broken pipes do not end it, files are as open.

    Opening a store closes the process's new files to others (its umask): that is meant, and taken back here.
    """
    before, umask = signal.getsignal(signal.SIGPIPE), os.umask(0o022)
    os.umask(umask)
    yield
    os.umask(umask)
    assert signal.getsignal(signal.SIGPIPE) == before


@pytest.fixture
def home() -> Path:
    """The home folder of the test."""
    return Path(os.environ["HOME"])


@pytest.fixture
def store_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the store of the test is: for this process, and for those that it starts."""
    folder = tmp_path / "store"
    monkeypatch.setenv("HOWCOME_HOME", str(folder))
    return folder


@pytest.fixture
def store(store_folder: Path) -> Iterator[SqliteStore]:
    """An open, empty store."""
    opened = SqliteStore(str(store_folder))
    yield opened
    opened.close()


@pytest.fixture
def postgres_dsn() -> Iterator[str]:
    """An empty database on PyPI's PostgreSQL server."""
    from tests import postgres_servers

    try:
        dsn = postgres_servers.fresh_database()
    except postgres_servers.NotHereError as error:
        pytest.skip(str(error))
    yield dsn
    postgres_servers.drop_database(dsn)


class Ingest:
    """Ingests files into one store, under a clock that a test can set."""

    def __init__(self, store: SqliteStore, places: Places | None = None) -> None:
        self.store, self.clock_ms = store, time.time_ns() // 1_000_000
        self.ingester = Ingester(store, places or Places(), now_ms=lambda: self.clock_ms)

    def __call__(self, path: Path, client: str = "claude-code") -> FileReport:
        """One pass over one file."""
        return self.ingester.ingest_file(str(path), client)


@pytest.fixture
def ingest(store: SqliteStore) -> Ingest:
    """Ingests files into `store`."""
    return Ingest(store)


@pytest.fixture
def command() -> list[str]:
    """The command line, run by this interpreter."""
    return list(COMMAND)


@pytest.fixture
def past(tmp_path: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """A store that knows an earlier session; its transcript."""
    path = write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6))
    ask("import", path)
    return path
