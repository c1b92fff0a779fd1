"""Vectors on a server: found by every machine, counted until none is missing, whole whatever is killed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.batches import Transcript
from tests.builders import Claude, write
from tests.hashing import HashingEmbedder, Synonyms
from tests.integration.test_postgres_commands import address, ask_doctor
from tests.integration.test_postgres_kills import WAIT_S, Server, server  # noqa: F401 - a fixture
from tests.integration.test_vector_checks import bare
from tests.processes import ask, run

from howcome.app import App, open_app
from howcome.domain.stored import Filter, Scope
from howcome.errors import StoreLockedError
from howcome.providers.minilm_places import MODEL_NAME
from howcome.retrieve.question import Question
from howcome.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT, TURNS = Path(__file__).parents[2], 400
EVERYTHING = Filter(Scope.everything())
EMBEDDING = """
import sys, time
from tests.hashing import HashingEmbedder
from howcome.app import open_app
from howcome.settings import read_settings

class Slow(HashingEmbedder):
    def embed(self, texts):
        time.sleep(float(sys.argv[3]))
        return super().embed(texts)

settings = read_settings({"HOWCOME_HOME": sys.argv[1], "HOWCOME_STORE": sys.argv[2], "HOWCOME_EMBEDDING": "off"})
with open_app(settings, embedder=Slow()) as app:
    total = 0
    while added := app.index.embed(time.monotonic()):
        total += added
    print(total + app.index.embed_all(), flush=True)
"""
"""A machine that embeds all that is missing, slowly, a commit a piece; it waits where another one is at it."""

STOPPING = """
import sys, time
from tests.hashing import HashingEmbedder
from howcome.app import open_app
from howcome.settings import read_settings
from tests.stopping import Stopping

Stopping.left = int(sys.argv[3])

settings = read_settings({"HOWCOME_HOME": sys.argv[1], "HOWCOME_STORE": sys.argv[2], "HOWCOME_EMBEDDING": "off"})
with open_app(settings, embedder=HashingEmbedder()) as app:
    app.store.index.server().cursor_factory = Stopping
    app.index.embed(time.monotonic())
    print("done", flush=True)
"""
"""A machine that waits before the statement of that number of a piece; one more than there are: it is done."""


def machine(folder: Path, dsn: str, embedder: HashingEmbedder | None = None) -> App:
    """The façade of a machine that uses a store on a server."""
    settings = read_settings({"HOWCOME_HOME": str(folder), "HOWCOME_STORE": address(dsn), "HOWCOME_EMBEDDING": "off"})
    return open_app(settings, embedder=embedder)


def say(app: App, count: int, name: str = "one") -> None:
    """Adds turns."""
    Transcript(app.store, f"/t/{name}.jsonl", session=name).say(*(f"{name} {number} gauge" for number in range(count)))
    app.index.finish()


def embedding(folder: Path, dsn: str, pause_s: float = 0.01) -> subprocess.Popen[str]:
    """Starts a machine that embeds."""
    words = [sys.executable, "-c", EMBEDDING, str(folder), address(dsn), str(pause_s)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)


def rows(dsn: str) -> list[int]:
    """The rows that have a vector, as they lie there."""
    with psycopg.connect(dsn) as other:
        try:
            return [row for (row,) in other.execute("SELECT row FROM howcome_search_1.vectors_1 ORDER BY row")]
        except psycopg.errors.UndefinedTable:
            return []


def until(is_so: Callable[[], object]) -> None:
    """Waits for something."""
    limit = time.monotonic() + WAIT_S
    while not is_so():
        assert time.monotonic() < limit
        time.sleep(0.01)


def assert_whole(app: App, dsn: str, count: int) -> None:
    """Every turn has its vector, once, by which it is found."""
    assert rows(dsn) == list(range(1, count + 1))
    assert (app.index.turns_to_embed(), app.index.verify()) == (0, [])
    assert app.models.vectors is not None
    for number in (0, TURNS // 2, TURNS - 1):
        assert number + 1 in [hit.row for hit in app.models.vectors.near(f"one {number} gauge", EVERYTHING, 5)]


def test_what_one_machine_embeds_every_machine_finds(postgres_dsn: str, tmp_path: Path) -> None:
    """By meaning, without a file of its own; memories, too. No file of vectors is made anywhere."""
    with machine(tmp_path / "one", postgres_dsn, Synonyms()) as app:
        Transcript(app.store).say("the counter has a race condition", "I put a lock around the race condition.",
                                  "paint the fence green", "The fence is green.")  # fmt: skip
        app.index.finish()
        app.memories.add("Lorry drivers wait at the gate.", project=None)
        assert app.index.embed_all() == 5
    with machine(tmp_path / "two", postgres_dsn, Synonyms()) as app:
        found = app.search.find(Question("thread safety", Scope.everything(), limit=3))
        assert found[0].event is not None
        assert "race condition" in found[0].event.excerpt
        assert app.models.vectors is not None
        assert app.models.vectors.memories("which truck", EVERYTHING)
        assert app.index.embed() == 0
    assert not [path for path in tmp_path.rglob("*") if "vectors" in path.name]


@pytest.mark.usefixtures("store_folder")
def test_what_is_missing_is_counted_until_it_is_made(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By `status` and `doctor`; a count that does not agree is told."""
    monkeypatch.setenv("HOWCOME_STORE", address(postgres_dsn))
    monkeypatch.setenv("HOWCOME_EMBEDDING", "auto")
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder(name=MODEL_NAME)) as app:
        say(app, 12)
        assert ask("status")["embedding"]["turns_without_vectors"] == 12
        assert "12 turns without one" in run("status").stdout
        [found] = [one for one in ask_doctor() if "12 turns on the server without a vector" in one["what"]]
        assert (found["level"], found["remedy"]) == ("warning", "howcome model embed")
        assert app.index.embed_all() == 12
        assert ask("status")["embedding"]["turns_without_vectors"] == 0
        assert f"12 of {MODEL_NAME}" in run("status").stdout
        assert "without one" not in run("status").stdout
        say(app, 3, "two")
        assert ask("status")["embedding"]["turns_without_vectors"] == 3
        assert app.index.embed_all() == 3
    with psycopg.connect(postgres_dsn) as other:
        other.execute("DELETE FROM howcome_search_1.vectors_1 WHERE row = 7")
    assert [one for one in ask_doctor() if "not as many vectors as there are turns" in one["what"]]
    assert ask("status")["embedding"]["turns_without_vectors"] == 15


@pytest.mark.usefixtures("store_folder")
def test_a_machine_without_the_packages_counts_too(
    postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It imports, searches by words, and says how many turns have no vector."""
    monkeypatch.setenv("HOWCOME_STORE", address(postgres_dsn))
    monkeypatch.setenv("HOWCOME_EMBEDDING", "auto")
    talk = write(tmp_path / "talk.jsonl", *Claude("talk").conversation(3, "lantern"))
    done = bare("import", talk)
    assert done.returncode == 0, done.stderr
    assert "lantern" in bare("search", "lantern", "--all-projects").stdout
    found = json.loads(bare("status", "--json").stdout)["embedding"]
    assert (found["state"], found["turns_without_vectors"]) == ("packages", 6)
    assert "6 turns without one" in bare("status").stdout
    assert "6 turns on the server without a vector" in bare("doctor").stdout
    with machine(tmp_path / "one", postgres_dsn, HashingEmbedder(name=MODEL_NAME)) as app:
        assert app.index.embed_all() == 6
    assert json.loads(bare("status", "--json").stdout)["embedding"]["turns_without_vectors"] == 0
    assert "without a vector" not in bare("doctor").stdout


def test_two_machines_at_once_make_each_vector_once(postgres_dsn: str, tmp_path: Path) -> None:
    """While a third goes on writing turns; both end when no turn is without a vector."""
    with machine(tmp_path / "looker", postgres_dsn, HashingEmbedder()) as app:
        say(app, TURNS)
        both = [embedding(tmp_path / str(number), postgres_dsn) for number in range(2)]
        for number in range(5):
            say(app, 20, f"more-{number}")
        done = 0
        for process in both:
            said, errors = process.communicate(timeout=WAIT_S)
            assert process.returncode == 0, errors
            done += int(said.split()[-1])
        done += app.index.embed_all()
        assert done == TURNS + 100
        assert_whole(app, postgres_dsn, TURNS + 100)


def test_a_machine_that_does_nothing_is_not_waited_for_without_end(postgres_dsn: str, tmp_path: Path) -> None:
    """Whoever holds the lock and makes no vector."""
    with (
        machine(tmp_path / "one", postgres_dsn, HashingEmbedder()) as app,
        machine(tmp_path / "two", postgres_dsn, HashingEmbedder()) as other,
    ):
        say(app, 3)
        with (
            other.store.turn_vectors.writer("hashing-1", 384),
            pytest.raises(StoreLockedError, match="another process"),
        ):
            app.index.embed_all(patience_s=0.3)
        assert app.index.embed_all() == 3


@pytest.mark.parametrize("victim", ["client", "backend", "server"])
def test_a_catch_up_that_is_killed_is_gone_on_with(
    server: Server,  # noqa: F811 - the fixture
    tmp_path: Path,
    victim: str,
) -> None:
    """What was committed stays, the next one does the rest, and the lock went with the dead."""
    with machine(tmp_path / "reader", server.dsn, HashingEmbedder()) as app:
        say(app, TURNS)
    kept = 0
    for number in range(3):
        process = embedding(tmp_path / f"client-{number}", server.dsn, 0.03)
        until(lambda: len(rows(server.dsn)) > kept or process.poll() is not None)  # noqa: B023 - within its round
        assert process.poll() is None
        if victim == "client":
            process.kill()
        else:
            server.kill(is_backend=victim == "backend")
        _, errors = process.communicate(timeout=WAIT_S)
        assert "Duplicate" not in errors
        here = rows(server.dsn)
        assert here == list(range(1, len(here) + 1))
        assert TURNS > len(here) > kept
        kept = len(here)
        with psycopg.connect(server.dsn) as other:
            told = other.execute("SELECT vectors, last FROM howcome_search_1.vector_models").fetchone()
        assert told == (kept, kept)
    with machine(tmp_path / "reader", server.dsn, HashingEmbedder()) as app:
        assert app.index.turns_to_embed() == TURNS - kept
        assert app.index.embed_all() == TURNS - kept
        assert_whole(app, server.dsn, TURNS)


def test_a_catch_up_is_whole_wherever_it_is_cut(server: Server, tmp_path: Path) -> None:  # noqa: F811 - the fixture
    """Before each of its statements the machine is killed; the next one misses and doubles nothing."""
    with machine(tmp_path / "reader", server.dsn, HashingEmbedder()) as app:
        say(app, 100)
        at, is_done = 1, False
        while not is_done:
            words = [sys.executable, "-c", STOPPING, str(tmp_path / "client"), address(server.dsn), str(at)]
            process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
            assert process.stdout is not None
            is_done = process.stdout.readline() == "done\n"
            process.kill()
            process.communicate(timeout=WAIT_S)
            until(lambda: app.index.embed(time.monotonic()) is not None)
            here = rows(server.dsn)
            assert here == list(range(1, len(here) + 1))
            assert app.index.turns_to_embed() == 100 - len(here)
            at += 1
        assert app.index.embed_all() == 100 - len(here)
        assert at > 5
        assert app.index.verify() == []
