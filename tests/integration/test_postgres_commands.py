"""Commands over a store on a server answer as over the embedded one, which hooks go on using; moving between both."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.batches import Transcript
from tests.builders import Claude, write
from tests.postgres_servers import fresh_database
from tests.processes import ask, hook, payload, python, run

from howcome.domain.times import DAY_MS
from howcome.errors import StoreError, UsageError
from howcome.memory.remember import Memories
from howcome.settings import read_settings
from howcome.store.moving import copy_store
from howcome.store.postgres import PostgresStore
from howcome.store.sqlite import SqliteStore
from howcome.upkeep import move_store

if TYPE_CHECKING:
    from collections.abc import Iterator

SAMPLES = Path(__file__).parents[2] / "samples" / "claude-code"
COMMANDS = (
    ("timeline", "--all-projects"),
    ("search", "upsert resends", "--all-projects"),
    ("search", "what did we decide about duplicates", "--all-projects"),
    ("memories", "--all-projects"),
    ("learnt", "--all-projects"),
    ("projects",),
    ("rationale", "--project", "/home/dev/tidepool"),
    ("receipt",),
    ("spending",),
    ("stats", "--all-projects"),
    ("patterns", "--all-projects"),
)
_CHANGING = re.compile(
    r'(ev|mem)-[0-9a-f]+|"(ms|seconds|\w*score|strength)": [-.\de]+|"(ts|created|said|learnt)\w*": [^,}]+'
)
"""What depends on the store's own key, and on the moment."""

LONG = "\n".join(f"berth {number}: the bollard holds" for number in range(400))
TOLD = {
    "refused": "howcome: old tool traffic was not …; an import tries again in an hour\n",
    "damaged": "howcome: 1 old text could not be unpacked, and stayed whole\n",
}
LATER = "UPDATE pauses SET until_ms = until_ms - 3600000 WHERE name = 'retention'"
NOWHERE = "postgresql://mara@127.0.0.1:1/quay"


def address(dsn: str) -> str:
    """A server as a setting names it."""
    given = conninfo_to_dict(dsn)
    return f"postgresql://{given['user']}@/{given['dbname']}?host={given['host']}"


@pytest.fixture
def server(postgres_dsn: str) -> str:
    """An empty database."""
    return address(postgres_dsn)


def answers() -> list[str]:
    """What every command says after an import."""
    assert ask("import", SAMPLES)["accepted"]
    run("distil")
    run("remember", "the gauge is read every ten minutes", "--project", "/home/dev/tidepool")
    return [_answer(words) for words in COMMANDS]


def _answer(words: tuple[str, ...]) -> str:
    """What a command says; of a search the first row, and which there are: BM25 is rounded otherwise there."""
    said = run(*words, "--json").stdout or " ".join(words)
    if words[0] == "search":
        rows = [row["summary"] for row in json.loads(said)["results"]]
        said = json.dumps([rows[0], *sorted(rows)])
    return _CHANGING.sub("…", said)


def test_commands_answer_as_over_the_embedded_store(
    server: str, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same words, in the same order; the embedded store is not even made."""
    embedded = answers()
    monkeypatch.setenv("HOWCOME_HOME", str(store_folder) + "-2")
    assert run("config", "set", "store", server).returncode == 0
    assert answers() == embedded
    assert not Path(str(store_folder) + "-2", "howcome.db").exists()
    status = ask("status", "--check")
    assert status["store"].startswith("postgresql://")
    assert (status["integrity"], status["index_lag_rows"]) == (["ok"], 0)
    assert min(status["sizes"].values()) > 100_000


@pytest.mark.usefixtures("store_folder")
def test_memories_are_kept_changed_and_erased_there(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everything that a person does to one."""
    monkeypatch.setenv("HOWCOME_STORE", server)
    kept = ask("remember", "gauges drift in winter", "--project", tmp_path)
    changed = ask("update", kept["id"], "gauges drift in summer")
    assert [one["text"] for one in ask("memories", "--all-projects")["memories"]] == ["gauges drift in summer"]
    for words in (("forget",), ("restore",), ("memories", "--pin"), ("purge", "--yes")):
        done = run(*words, changed["id"])
        assert done.returncode == 0, (words, done.stderr)
    assert "words are in no table of the store; only the id is kept\nnot looked into: the server's own" in done.stdout
    assert ask("memories", "--all-projects")["memories"] == []


def test_hooks_use_the_embedded_store(store_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the setting says: what is captured waits for no network, and no server has to answer."""
    monkeypatch.setenv("HOWCOME_STORE", NOWHERE)
    transcript = write(tmp_path / "talk.jsonl", *Claude("talk").conversation(4))
    done = hook("Stop", payload("Stop", transcript, "talk"))
    assert (done.returncode, done.stderr) == (0, b"")
    store = SqliteStore(str(store_folder))
    assert store.accounts.counts()["events"]
    store.close()


@pytest.mark.usefixtures("store_folder")
def test_a_server_that_is_not_there_is_said_by_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, with the remedy; doctor says it, too."""
    monkeypatch.setenv("HOWCOME_STORE", NOWHERE)
    monkeypatch.setenv("HOWCOME_STORE_PASSWORD_ENV", "QUAY")
    monkeypatch.setenv("QUAY", "zebra")
    for words in (("search", "gauge"), ("import", str(SAMPLES)), ("memories",)):
        done = run(*words)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
        assert "127.0.0.1" in done.stderr
        assert "zebra" not in done.stderr
    found = {one["check"]: one for one in ask_doctor()}
    assert "127.0.0.1" in found["server"]["what"]
    assert "store" in found["server"]["remedy"]


@pytest.mark.usefixtures("store_folder")
def test_days_are_those_of_the_embedded_store(
    server: str, postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever time zone the server or the user has, and as soon as they are stored; also of a replica."""
    assert ask("import", SAMPLES)["accepted"]
    embedded = ask("stats", "--daily", "--all-projects")
    assert ask("status")["last_week"] is None
    monkeypatch.setenv("HOWCOME_STORE", server)
    quiet = {"events": 0, "calls": 0, "failed": 0, "learnt": 0}
    assert ask("import", SAMPLES)["accepted"]
    with psycopg.connect(server, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {other.info.dbname} SET timezone = 'Pacific/Kiritimati'".encode())
    monkeypatch.setenv("TZ", "Pacific/Pago_Pago")
    assert ask("stats", "--daily", "--all-projects") == embedded
    assert embedded["days"]
    last = embedded["days"][-1]["day"]
    assert {one["day"] for one in ask("stats", "--daily", "--all-projects", "--since", last)["days"]} == {last}
    assert ask("status")["last_week"] == quiet
    store = PostgresStore(str(tmp_path / "client"), postgres_dsn)
    now_ms = int(time.time() * 1000)
    Transcript(store).say("one", "two", ts_ms=now_ms - 6 * DAY_MS)
    Transcript(store, "/t/old.jsonl", session="old").say("three", ts_ms=now_ms - 7 * DAY_MS)
    store.close()
    with psycopg.connect(server, autocommit=True) as other:
        other.execute(f"ALTER DATABASE {other.info.dbname} SET default_transaction_read_only = on".encode())
    assert ask("status")["last_week"] == {**quiet, "events": 2}
    assert "last week" in run("status").stdout
    assert ask("search", "upsert resends", "--all-projects")["results"]


@pytest.mark.usefixtures("store_folder")
def test_an_import_shortens_old_tool_traffic_where_the_setting_says_so(
    server: str, postgres_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off by default, once a day; what fails ends no import, and is due again in an hour. What is cited stays."""
    store = PostgresStore(str(tmp_path / "client"), postgres_dsn)
    talk = Transcript(store)
    old_ms = int(time.time() * 1000) - 100 * DAY_MS
    results = (talk.result(first + LONG, ts_ms=old_ms) for first in ("", "cited ", "damaged "))
    talk.add(talk.prompt(LONG, ts_ms=old_ms), *results)
    monkeypatch.setenv("HOWCOME_STORE", server)
    ask("remember", "The bollard holds at every berth of the quay.", "--evidence", store.log.events([3])[3].id)
    refusing = (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE ''not now''; END';"
        " CREATE TRIGGER refusing BEFORE UPDATE ON events FOR EACH ROW EXECUTE FUNCTION refuse()"
    )
    damaging = "UPDATE events SET payload = substring(payload FROM 1 FOR 20) WHERE id = 4"
    steps = (
        ("0", "SELECT 1", len(LONG), ""), ("30", f"{damaging}; {refusing}", len(LONG), "refused"),
        ("30", "DROP TRIGGER refusing ON events", len(LONG), ""), ("30", LATER, 800, "damaged"), ("30", LATER, 800, ""),
    )  # fmt: skip
    for days, change, chars, said in steps:
        monkeypatch.setenv("HOWCOME_TOOL_TEXT_DAYS", days)
        store.database.execute(change)
        done = run("import", SAMPLES, "--json")
        assert (done.returncode, json.loads(done.stdout)["files"] > 0) == (0, True)
        assert re.sub("shortened: .* failed: not now", "…", done.stderr) == TOLD.get(said, "")
        told = store.log.events([1, 2, 3], with_text=True)
        assert [len(told[row].text or "") for row in (1, 2, 3)] == [len(LONG), chars, len(LONG) + 6]
    store.close()


def ask_doctor() -> list[dict[str, str]]:
    """Its findings."""
    findings: list[dict[str, str]] = json.loads(run("doctor", "--json").stdout)["findings"]
    return findings


@pytest.mark.usefixtures("store_folder")
def test_without_its_packages_the_extra_is_explained(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of howcome works."""
    monkeypatch.setenv("HOWCOME_STORE", server)
    script = "import sys; sys.modules['psycopg'] = None; from howcome.__main__ import main; sys.argv[1:] = {!r}; main()"
    for words in (["search", "gauge"], ["doctor"]):
        done = run(before=python(script.format(words)))
        assert "howcome[postgres]" in done.stdout + done.stderr


def test_a_password_belongs_into_no_setting(store_folder: Path) -> None:
    """It would be shown; what is refused is not repeated."""
    for value in ("postgresql://mara:zebra@h/quay", "postgresql://h/quay?password=zebra", "mysql://zebra/x"):
        done = run("config", "set", "store", value)
        assert done.returncode != 0
        assert "zebra" not in done.stdout + done.stderr
    assert not (store_folder / "config.toml").exists()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An embedded store with something in every room: tests take copies."""
    folder = tmp_path_factory.mktemp("prepared") / "store"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOWCOME_HOME", str(folder))
        assert ask("import", SAMPLES)["accepted"]
        run("distil")
        run("graph", "build", str(SAMPLES.parents[1] / "tests"))
        run("remember", "the gauge is read every ten minutes", "--project", "/home/dev/tidepool")
    store = SqliteStore(str(folder))
    transcript = Transcript(store)
    transcript.say("a\0b", "x\0" * 5000, "plain")
    fork = Transcript(store, "/t/fork.jsonl", session="fork", records="session-one")
    fork.say("a\0b")
    store.close()
    return folder


@pytest.fixture
def filled(prepared: Path, store_folder: Path) -> Path:
    """Such a store of the test's own."""
    shutil.copytree(prepared, store_folder)
    return store_folder


def test_a_store_moves_to_a_server_and_back(filled: Path, server: str, tmp_path: Path) -> None:
    """With its ids, its key, and every row of it; the source stays as it is."""
    before = ask("timeline", "--project", "/home/dev/tidepool")
    size = (filled / "howcome.db").stat().st_size
    moved = ask("migrate", "--to", server)
    assert moved["copied"]["events"] == ask("status")["counts"]["events"] > 50
    assert {"/home/dev/tidepool", "/home/mara/quay", ""} <= {one["project"] for one in moved["compared"]}
    os.environ["HOWCOME_STORE"] = server
    try:
        assert ask("timeline", "--project", "/home/dev/tidepool") == before
        assert ask("status", "--check")["integrity"] == ["ok"]
        kept = run("remember", "a new row has a number of its own", "--project", "/home/dev/tidepool")
        assert "sessions are not told it" in kept.stderr
        assert "hooks use" in run("status").stdout
        back = tmp_path / "back"
        assert "sqlite:FOLDER" in run("migrate", "--to", "sqlite").stderr
        moved_back = run("migrate", "--to", f"sqlite:{back}").stdout
        assert f"howcome config unset store && howcome backup --restore {back}/howcome.db" in moved_back
        copied = run("backup", tmp_path / "embedded.db").stdout
        assert "the embedded store, not postgresql://" in copied
    finally:
        del os.environ["HOWCOME_STORE"]
    ours, theirs = SqliteStore(str(filled)), SqliteStore(str(back))
    sql = "SELECT key, excerpt, payload FROM events ORDER BY id"
    wanted = [(key, said.replace("\0", "\u2400")) for key, said, _ in ours.database.rows(sql)]
    assert [row[:2] for row in theirs.database.rows(sql)] == wanted
    [row] = theirs.sessions.named("session-one")
    assert [event.text for event in theirs.log.session(row, with_text=True)] == ["a\0b", "x\0" * 5000, "plain"]
    assert (ours.meta("key"), theirs.check_integrity()) == (theirs.meta("key"), [])
    assert (
        len(theirs.database.rows("SELECT id FROM memories")) == len(ours.database.rows("SELECT id FROM memories")) + 1
    )
    for store in (ours, theirs):
        store.close()
    assert (filled / "howcome.db").stat().st_size == size
    assert "sessions are not told it" not in run("remember", "the embedded store is used again now").stderr
    assert run("backup", "--restore", back / "howcome.db", "--yes").returncode == 0
    assert "a new row has a number of its own" in run("memories", "--all-projects").stdout


class Interrupted(Exception):  # noqa: N818 - no error
    """Somebody ended the copy."""


@pytest.fixture
def both(filled: Path, postgres_dsn: str) -> Iterator[tuple[SqliteStore, PostgresStore]]:
    """A source, and an empty store on a server."""
    source, target = SqliteStore(str(filled)), PostgresStore(str(filled / "there"), postgres_dsn)
    yield source, target
    source.close()
    target.close()


def test_an_interrupted_copy_goes_on(both: tuple[SqliteStore, PostgresStore]) -> None:
    """Behind the last event that arrived; what changed since is as it is now."""
    source, target = both

    def end(_: int) -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        copy_store(source, target, end)
    there = target.accounts.counts()["events"]
    transcript = Transcript(source)
    transcript.number = 90
    transcript.say("said meanwhile")
    source.memories.set_pinned(1, 5)
    report = copy_store(source, target)
    assert (report.copied["events"], there > 0) == (1, True)
    assert target.memories.by_row([1])[1].pinned_ms == 5
    assert target.check_integrity() == []
    with pytest.raises(UsageError, match=r"holds rows already \("):
        copy_store(source, target)


def test_a_memory_alone_is_something(both: tuple[SqliteStore, PostgresStore]) -> None:
    """A server without a project or an event keeps the memory that somebody gave it."""
    source, target = both
    kept = Memories(target, lambda: 1)
    kept.add("Small commits.", project=None)
    with pytest.raises(UsageError, match=r"holds rows already \(.*memories"):
        copy_store(source, target)
    assert [memory.text for memory in target.memories.by_row([1]).values()] == ["Small commits."]


def test_a_source_on_a_server_may_wait_for_the_copy(both: tuple[SqliteStore, PostgresStore], tmp_path: Path) -> None:
    """It is read in one transaction, which rests while the other store is written and compared."""
    source, server = both
    copy_store(source, server)
    server.database.execute("SET idle_in_transaction_session_timeout = '200ms'")
    back = SqliteStore(str(tmp_path / "back"))
    copy_store(server, back, lambda _: time.sleep(0.5))
    assert back.check_integrity() == []
    back.close()


def test_a_copy_that_is_not_the_same_is_no_copy(both: tuple[SqliteStore, PostgresStore]) -> None:
    """It says where they differ, and begins no life as a store."""
    source, target = both

    def spoil(_: int) -> None:
        target.database.execute("UPDATE events SET excerpt = 'another' WHERE id = 1")

    with pytest.raises(StoreError, match="events of /home/dev/tidepool"):
        copy_store(source, target, spoil)
    assert target.meta("migrating") == 1


def test_nothing_is_copied_into_a_store_that_is_used(filled: Path, server: str, tmp_path: Path) -> None:
    """Nor from a store that is not there; either way both stay as they are."""
    settings = read_settings({"HOWCOME_HOME": str(filled)})
    with pytest.raises(UsageError, match="embedded one already"):
        move_store(settings, "sqlite")
    move_store(settings, server)
    there = read_settings({"HOWCOME_HOME": str(filled), "HOWCOME_STORE": server})
    with pytest.raises(UsageError, match="holds"):
        move_store(there, "sqlite")
    shutil.copytree(filled, tmp_path / "other")
    empty = read_settings({"HOWCOME_HOME": str(filled), "HOWCOME_STORE": address(fresh_database())})
    with pytest.raises(StoreError, match="no memory on that server"):
        move_store(empty, f"sqlite:{tmp_path / 'new'}")


def test_a_role_that_owns_nothing_can_use_a_store(postgres_dsn: str, tmp_path: Path) -> None:
    """Tables are made by one role, and used by another that may neither make nor change any."""
    PostgresStore(str(tmp_path / "owner"), postgres_dsn).close()
    role = f"reader_{os.getpid()}"
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {role} LOGIN")
        for what in ("USAGE ON SCHEMA howcome", "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA howcome"):
            owner.execute(f"GRANT {what} TO {role}")
        owner.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA howcome TO {role}")
    given = {**conninfo_to_dict(postgres_dsn), "user": role}
    store = PostgresStore(str(tmp_path / "user"), psycopg.conninfo.make_conninfo(**given))
    assert list(Transcript(store).say("hello", "yes")) == [1, 2]
    assert store.check_integrity() == []
    store.close()
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(f"DROP OWNED BY {role}; DROP ROLE {role}")
