"""A process that is warm answers prompts with vectors too, once its embedder is loaded; and never later for that."""

from __future__ import annotations

import os
import shutil
import socket
import threading
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.builders import CWD, Claude, write
from tests.hashing import HashingEmbedder, Synonyms
from tests.mcp_server import McpServer
from tests.processes import ask, hook, payload
from tests.warm import LIMIT_S, eventually, socket_of

from howcome.app import open_app
from howcome.errors import ProviderError, SettingsError
from howcome.hooks.tool import hook_tool
from howcome.hooks.warm_server import WarmServer
from howcome.mcp.session import Session
from howcome.present import warm_client
from howcome.present.patience import Patience
from howcome.present.shared_embedder import AskedEmbedder, BriefEmbedder, SharedEmbedder
from howcome.providers.minilm_places import MODEL_NAME
from howcome.settings import Settings, read_settings
from howcome.worker.passes import CatchUp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from howcome.providers.base import Embedder, FloatMatrix

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
EVENT = "UserPromptSubmit"
PROMPT = "the counter and thread safety"


class Failing(HashingEmbedder):
    """One that gives no vectors."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Nothing.

        Raises:
            ProviderError: always.
        """
        raise ProviderError(f"no vectors for {len(texts)} texts; look whether it runs")


class Slow(Synonyms):
    """One that takes longer than anybody waits."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors, much later."""
        time.sleep(40)
        return super().embed(texts)


class Loading:
    """Opens an embedder, as the settings' would be opened; counts how often.

    Args:
        make: Makes it.
        seconds: How long that takes.
        gate: It is not open before this is set.
    """

    def __init__(
        self, make: Callable[[], Embedder | None], seconds: float = 0.0, gate: threading.Event | None = None
    ) -> None:
        self.make, self.seconds, self.gate, self.models = make, seconds, gate, list[str]()

    def __call__(self, settings: Settings, **_: float) -> Embedder | None:
        """What `make` makes, after some time."""
        self.models.append(settings.embedding_model)
        time.sleep(self.seconds)
        if self.gate is not None:
            assert self.gate.wait(LIMIT_S)
        return self.make()


@pytest.fixture(autouse=True)
def automatic(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ships, but that the best answer alone is given, however weak it is."""
    monkeypatch.delenv("HOWCOME_EMBEDDING")
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    monkeypatch.setenv("HOWCOME_RECALL_LIMIT", "1")
    monkeypatch.setenv("HOWCOME_RECALL_THRESHOLD", "0.01")


@pytest.fixture
def talks(tmp_path: Path, store_folder: Path) -> Path:
    """A store that knows two talks which share one word with PROMPT; the newer one does not mean what it means."""
    older, newer = Claude("older", cwd=CWD), Claude("newer", cwd=CWD, start=90_000)
    write(tmp_path / "a.jsonl", older.user("the counter has a race condition"), older.text("A lock for the counter."))
    write(tmp_path / "b.jsonl", newer.user("the counter has a green fence"), newer.text("I painted the counter."))
    settings = read_settings({"HOWCOME_HOME": str(store_folder)})
    with open_app(settings, embedder=Synonyms()) as app:
        for name in ("a", "b"):
            app.ingest.ingester().ingest_file(str(tmp_path / f"{name}.jsonl"), "claude-code")
        app.index.catch_up()
        app.store.index.release()
        assert app.index.embed() == 4
    return store_folder


def prompt(session: str, text: str = PROMPT) -> bytes:
    """The payload of a prompt in a session."""
    return payload(EVENT, Path("/gone.jsonl"), session, prompt=text)


def fields(session: str, text: str = PROMPT) -> dict[str, Any]:
    """The same, as the tool gets it."""
    return {"hook_event_name": EVENT, "session_id": session, "cwd": CWD, "prompt": text}


@contextmanager
def answering(home: Path, embedder: SharedEmbedder) -> Iterator[None]:
    """A socket where hooks are answered by this process."""
    server = WarmServer(str(home), Patience(), embedder)
    embedder.is_host = server.start()
    try:
        yield
    finally:
        embedder.is_host = False
        server.stop(LIMIT_S)


def asked(session: str, text: str = PROMPT) -> bytes:
    """What the warm process answers a hook; who is answered too late was told nothing, and asks again."""

    def answers() -> list[bytes]:
        found = warm_client.ask(os.environ["HOWCOME_HOME"], EVENT, "claude-code", prompt(session, text), 1)
        return [] if found is None else [found]

    return bytes(eventually(answers)[0])


def anew(name: str) -> str:
    """A session that nobody has asked in."""
    return f"{name}-{time.monotonic()}"


def test_meaning_orders_what_words_find_once_the_embedder_is_loaded(talks: Path) -> None:
    """The first prompt is answered by words and begins the loading; then socket and tool say the same by both."""
    load = Loading(Synonyms, gate=threading.Event())
    assert load.gate is not None
    shared = SharedEmbedder(load)
    alone = hook(EVENT, prompt("alone")).stdout
    assert b"green fence" in alone

    def is_said_by_both() -> bool:
        tool = hook_tool(fields(anew("tool")), read_settings(os.environ), shared).encode()
        return b"race condition" in tool and tool == asked(anew("last"))

    with answering(talks, shared):
        assert asked("first") == alone
        load.gate.set()
        eventually(lambda: b"race condition" in asked(anew("again")))
        eventually(is_said_by_both)  # an embedder that is late is not waited for
        assert asked("none", "zzgloop frabnitz") == b""
        assert asked("other", "thread safety") == b""  # what no word finds is not said, whatever it means
    assert len(load.models) == 1


@pytest.mark.parametrize("make", [Failing, Slow, lambda: None, lambda: Synonyms(64, "hashing-2")])
def test_an_embedder_that_is_of_no_use_changes_nothing(make: Callable[[], Embedder | None], talks: Path) -> None:
    """It fails, is too slow, is not there, or has no vectors yet: the words answer, within the hook's patience."""
    shared = SharedEmbedder(Loading(make))
    alone = hook(EVENT, prompt("alone")).stdout
    settings = read_settings(os.environ)
    with answering(talks, shared):
        shared.get(settings, build=False)
        for number in range(3):
            assert asked(f"asked-{number}") == alone
        started = time.monotonic()
        assert hook_tool(fields("tool"), settings, shared).encode() == alone
        assert time.monotonic() - started < 30
    assert not (talks / "hook-errors.log").exists()


def test_a_damaged_vector_index_leaves_the_words(talks: Path) -> None:
    """A prompt does not fail for it."""
    for path in talks.glob("index/vectors-*/values-*"):
        os.truncate(path, 10)
    shared = SharedEmbedder(Loading(Synonyms))
    shared.get(read_settings(os.environ), build=False)
    with answering(talks, shared):
        assert b"green fence" in asked("a")


def test_an_endpoint_is_never_asked_for_a_prompt(talks: Path) -> None:
    """Nor looked up, nor loaded: a prompt waits for no network."""
    load = Loading(Synonyms)
    shared = SharedEmbedder(load)
    remote = {"": "http", "_URL": "http://192.0.2.1/v1", "_MODEL": "m"}
    variables = {f"HOWCOME_EMBEDDING{name}": value for name, value in remote.items()}
    settings = read_settings({**os.environ, **variables})
    assert shared.get(settings) is not None
    assert shared.for_prompts(settings) is None
    assert b"green fence" in hook_tool(fields("tool"), settings, shared).encode()
    assert load.models == ["m"]
    assert talks.exists()


def test_one_embedder_is_loaded_whoever_asks(tmp_path: Path) -> None:
    """By ten threads at once; another model of the settings is another embedder; `off` loads none."""
    load = Loading(Synonyms, seconds=0.2)
    shared = SharedEmbedder(load)
    home = {"HOWCOME_HOME": str(tmp_path)}
    found: list[Embedder | None] = []
    threads = [threading.Thread(target=lambda: found.append(shared.get(read_settings(home)))) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(load.models) == 1
    assert len(set(map(id, found))) == 1
    assert shared.get(read_settings({**home, "HOWCOME_EMBEDDING_MODEL": "other"})) is not found[0]
    assert load.models == ["", "other"]
    assert shared.get(read_settings({**home, "HOWCOME_EMBEDDING": "off"})) is None


def test_who_asks_while_a_model_is_built_does_without(tmp_path: Path) -> None:
    """A tool waits a second at most; a prompt not at all."""
    load = Loading(Synonyms, gate=threading.Event())
    assert load.gate is not None
    shared, settings = SharedEmbedder(load), read_settings({"HOWCOME_HOME": str(tmp_path)})
    builder = threading.Thread(target=lambda: shared.get(settings))
    builder.start()
    eventually(lambda: load.models)
    assert shared.for_prompts(settings) is None  # and it is still being built
    assert shared.get(settings, build=False) is None
    load.gate.set()
    builder.join()
    assert shared.for_prompts(settings) is not None


def test_a_brief_embedder_is_not_waited_for() -> None:
    """One late question; until it is over the next ones are refused at once."""
    brief = BriefEmbedder(Slow(), limit_s=0.05)
    for _ in range(2):
        started = time.monotonic()
        with pytest.raises(ProviderError):
            brief.embed(["x"])
        assert time.monotonic() - started < 30
    quick = BriefEmbedder(HashingEmbedder(), limit_s=LIMIT_S)
    assert (quick.name, quick.dimensions) == ("hashing-1", 384)
    assert np.array_equal(quick.embed(["a b"]), HashingEmbedder().embed(["a b"]))
    with pytest.raises(ProviderError):
        BriefEmbedder(Failing()).embed(["x"])


# -- the model of another process --------------------------------------------------------------------------------------
def test_a_server_asks_the_warm_one_for_vectors(talks: Path) -> None:
    """The same bytes; and when that one is gone, its own embedder gives them."""
    host, settings = SharedEmbedder(Loading(Synonyms, seconds=0.2)), read_settings(os.environ)

    def guest_of() -> tuple[AskedEmbedder, Loading] | None:
        own = Loading(Synonyms)
        guest = SharedEmbedder(own)
        found = guest.get(settings, build=False)
        if not isinstance(found, AskedEmbedder):  # it was answered too late
            return None
        assert (found.name, found.dimensions) == ("hashing-1", 384)
        for text in ("thread safety", "", "港 é \0\n" * 50):
            assert found.embed([text]).tobytes() == Synonyms().embed([text]).tobytes()
        assert guest.get(settings, build=False) is found
        return None if own.models else (found, own)

    with answering(talks, host):
        found, own = eventually(guest_of)
    assert found.embed(["thread safety"]).tobytes() == Synonyms().embed(["thread safety"]).tobytes()
    assert len(own.models) == 1


@pytest.mark.parametrize("make", [Failing, lambda: None])
def test_a_warm_process_without_vectors_is_not_relied_upon(make: Callable[[], Embedder | None], talks: Path) -> None:
    """Who asks it loads its own, after a second at most."""
    guest = SharedEmbedder(Loading(Synonyms))
    with answering(talks, SharedEmbedder(Loading(make))):
        started = time.monotonic()
        found = guest.get(read_settings(os.environ), build=False)
        assert isinstance(found, Synonyms)
        assert time.monotonic() - started < 30
    other = read_settings({**os.environ, "HOWCOME_EMBEDDING": "http"})
    assert not isinstance(guest.get(other, build=False), AskedEmbedder)


def asking(settings: Settings) -> AskedEmbedder:
    """Who asks the warm process; one that was answered too late has an embedder of its own."""

    def answered() -> AskedEmbedder | None:
        found = SharedEmbedder(Loading(Synonyms)).get(settings, build=False)
        return found if isinstance(found, AskedEmbedder) else None

    found = eventually(answered)
    assert isinstance(found, AskedEmbedder)
    return found


def test_another_model_there_is_not_taken_for_this_one(talks: Path) -> None:
    """Vectors of two models are never compared: the process asked has changed its model since."""
    first, second = SharedEmbedder(Loading(Synonyms)), SharedEmbedder(Loading(lambda: HashingEmbedder(64, "hashing-2")))
    settings = read_settings(os.environ)
    with answering(talks, first):
        found = asking(settings)
    with answering(talks, second):
        assert found.embed(["a"]).shape == (1, 384)


def test_who_becomes_the_warm_one_asks_itself_no_more(talks: Path) -> None:
    """A server that takes over loads its own model: for its tools, its prompts and whoever asks it."""
    settings = read_settings(os.environ)

    def guest_of() -> tuple[SharedEmbedder, Loading] | None:
        own = Loading(Synonyms)
        guest = SharedEmbedder(own)
        return (guest, own) if isinstance(guest.get(settings, build=False), AskedEmbedder) else None

    with answering(talks, SharedEmbedder(Loading(Synonyms))):
        guest, own = eventually(guest_of)
    with answering(talks, guest):
        assert isinstance(guest.get(settings, build=False), Synonyms)
        eventually(lambda: b"race condition" in asked(anew("a")))
        asking(settings)
    assert len(own.models) == 1


ODD_ANSWERS = (b"garbage", b"5\nabcde", b"12\nname\n1234567", b"5\nname\n", b"-1\n", b"99999999\nx", b"0\n", b"")


@pytest.mark.parametrize("answer", ODD_ANSWERS)
def test_odd_answers_are_no_vectors(answer: bytes, store_folder: Path) -> None:
    """Whatever stands at the socket: the own embedder is loaded, soon."""
    store_folder.mkdir()
    with closing(socket.socket(socket.AF_UNIX)) as listener:
        listener.bind(str(store_folder / "worker.sock"))
        listener.listen()

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1 << 16)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        started = time.monotonic()
        found = SharedEmbedder(Loading(Synonyms)).get(read_settings(os.environ), build=False)
        assert isinstance(found, Synonyms)
        assert time.monotonic() - started < 30
        listener.shutdown(socket.SHUT_RDWR)


# -- real processes, the real model ------------------------------------------------------------------------------------
def mapped(pid: int) -> bool:
    """Whether a process has loaded onnxruntime."""
    return "onnxruntime" in Path(f"/proc/{pid}/maps").read_text()


@contextmanager
def three_servers(talks: Path) -> Iterator[list[McpServer]]:
    """A server that works, and two of other sessions."""
    with McpServer(cwd="/") as first:
        socket_of(talks)
        with McpServer(cwd="/") as second, McpServer(cwd="/") as third:
            yield [first, second, third]


def test_of_several_servers_one_loads_the_model(talks: Path, built_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is loaded before it is needed; then the others ask the one that works. Without it they load their own."""
    shutil.copytree(built_home / "models", talks / "models")
    monkeypatch.setenv("HOWCOME_RECALL_LIMIT", "3")
    assert ask("model", "embed")["embedded"] == 4
    for attempt in range(5):  # who is answered too late loads its own, too
        with three_servers(talks) as servers:
            pids = [server.process.pid for server in servers]
            time.sleep(1.0)
            assert [mapped(pid) for pid in pids] == [False, False, False]
            for server in servers if attempt > 2 else servers[1:]:  # on some machines loading it is too late already
                assert "race condition" in server.call("search_memory", query="race condition", project="all")
            loaded = [mapped(pid) for pid in pids]
            servers[0].process.kill()
            servers[0].process.wait()
            assert "race condition" in servers[1].call("search_memory", query="counter lock", project="all")
        if loaded == [True, False, False]:
            break
    assert loaded == [True, False, False]
    assert MODEL_NAME in ask("model", "show")["model"]


def test_a_search_whose_embedder_fails_is_answered_by_words(talks: Path) -> None:
    """And says so: an endpoint that is down keeps no agent from its memory."""
    assert talks.exists()
    variables = {"": "http", "_URL": "http://127.0.0.1:1/v1", "_MODEL": "m"}
    remote = {f"HOWCOME_EMBEDDING{name}": value for name, value in variables.items()}
    with McpServer(cwd="/", environment=remote) as server:
        found = server.call("search_memory", query="race condition", project="all")
        assert "the counter has a race condition" in found
        assert "Searched by words only: " in found
        assert "127.0.0.1:1" in found


def test_a_running_server_notices_changed_settings(talks: Path) -> None:
    """Other settings, another façade and another embedder; settings that cannot be read are said, and corrected."""
    config = talks / "config.toml"
    with Session({"HOWCOME_HOME": str(talks)}, CWD) as session:
        before, app = session.settings, session.app
        assert session.settings is before
        assert session.app is app
        config.write_text('embedding = "off"\n')
        assert session.settings.embedding == "off"
        assert session.app is not app
        assert session.app.models.vectors is None
        config.write_text("embedding = 5\n")
        with pytest.raises(SettingsError, match=r"config\.toml"):
            assert session.app
        config.unlink()
        assert session.settings.embedding == before.embedding


def test_the_worker_embeds_anew_with_the_model_that_is_set_now(talks: Path, home: Path) -> None:
    """While settings cannot be read it works with those that it had; where nothing is to be done nothing is loaded."""
    assert home.exists()
    current, load = [read_settings({"HOWCOME_HOME": str(talks)})], Loading(lambda: HashingEmbedder(64, MODEL_NAME))

    def read() -> Settings:
        if not current:
            raise SettingsError("config.toml: line 1")
        return current[0]

    work = CatchUp(current[0], Patience(), embedder=SharedEmbedder(load), current=read)
    assert work.scan()
    assert work.scan()
    assert load.models == [""]
    load.make = lambda: HashingEmbedder(64, "other-1")
    current[0] = read_settings({"HOWCOME_HOME": str(talks), "HOWCOME_EMBEDDING_MODEL": "other-1"})
    assert work.scan()
    current.clear()
    assert work.scan()
    assert load.models == ["", "other-1"]
    assert sorted((each["model"], each["vectors"]) for each in ask("status")["embedding"]["models"]) == [
        ("hashing-1", 4), (MODEL_NAME, 4), ("other-1", 4),
    ]  # fmt: skip
