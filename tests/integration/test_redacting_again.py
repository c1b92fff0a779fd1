"""What older rules let through is taken out of what is stored, whoever is killed meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from tests.builders import Claude, write
from tests.planting import command
from tests.processes import COMMAND, ask, run
from tests.ungated import CWD, KEY_ID, SECRETS, SESSION, TOKEN, holding, make, read, transcripts

from howcome.app import open_app
from howcome.domain.stored import Filter, Scope
from howcome.redact.version import RULES_VERSION, is_due
from howcome.settings import read_settings
from howcome.store.rewriting import CURSOR
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

    from howcome.app import App


@pytest.fixture
def old(store_folder: Path, tmp_path: Path) -> list[Path]:
    """A store in clear, and the transcripts that it was made from."""
    paths = transcripts(tmp_path / "in", 3)
    make(store_folder, paths)
    assert {name.split("/")[0] for name in holding(store_folder)} >= {"howcome.db", "spool", "backups"}
    return paths


def app_of(home: Path) -> App:
    """The façade as every door opens it."""
    return open_app(read_settings({**os.environ, "HOWCOME_HOME": str(home)}))


def texts_of(store: SqliteStore) -> str:
    """Every text of every row, packed ones too."""
    rows = range(1, store.log.last_position() + 1)
    found = [event.text or "" for event in store.log.events(rows, with_text=True).values()]
    for (table,) in store.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
        for row in store.connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - the schema's names
            found += [value for value in row if isinstance(value, str)]
    return "\n".join(found)


def upgraded() -> Any:
    """What an upgrade redacted."""
    done = run("upgrade", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["redacted"]


def assert_clean(home: Path) -> None:
    """No byte of it is left, rows and indexes are whole, and the version is noted."""
    with app_of(home) as app:
        store = app.store
        assert isinstance(store, SqliteStore)
        assert not [secret for secret in SECRETS if secret in texts_of(store)]
        assert (store.meta("rules_version"), store.meta(CURSOR)) == (RULES_VERSION, None)
        assert store.check_integrity() == []
        assert store.connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert store.index.lag() == 0
    assert holding(home) == {}


def test_a_new_store_is_born_with_the_rules_of_now(store_folder: Path, tmp_path: Path) -> None:
    """Nothing is due in it, and the doctor has nothing to say."""
    assert run("import", write(tmp_path / "a.jsonl", *Claude().exchange("jetty"))).returncode == 0
    with app_of(store_folder) as app:
        assert (app.store.meta("rules_version"), is_due(app.store)) == (RULES_VERSION, False)
    assert "older rules" not in command("doctor")


@pytest.mark.usefixtures("old")
def test_nothing_in_clear_is_left_after_an_upgrade(store_folder: Path) -> None:
    """Rows, packed texts, indexes, vectors, spool and backups; the doctor says before that it is due."""
    assert "howcome upgrade" in command("doctor")
    report = upgraded()
    assert report["changed"] > 10
    assert report["left"] == []
    with app_of(store_folder) as app:
        assert isinstance(app.store, SqliteStore)
        assert app.store.connection.execute("SELECT key FROM memory_vectors").fetchall() == []
    assert {"aws-access-key-id"} <= set(report["rules"])
    assert_clean(store_folder)
    assert "older rules" not in command("doctor")
    assert upgraded() is None
    copied = apsw.Connection(str(store_folder / "backups" / "howcome-2026-03-02.db"))
    assert copied.execute("SELECT value FROM meta WHERE name = 'rules_version'").fetchall() == [(RULES_VERSION,)]
    copied.close()


def test_reading_again_afterwards_adds_nothing(old: list[Path], store_folder: Path, tmp_path: Path) -> None:
    """Keys are of what was said: the same files, copies of them, and what comes after them."""
    assert run("upgrade", "--yes").returncode == 0
    with app_of(store_folder) as app:
        before = app.store.log.last_position()
        assert read(app, old) == {"accepted": 0, "duplicate": 0}
        copies = [write(tmp_path / "copies" / path.name, path.read_bytes()) for path in old]
        assert read(app, copies)["accepted"] == 0
        claude = Claude(session=SESSION, cwd=CWD, start=500)
        write(old[0], claude.result("toolu_9", "it holds nothing"), append=True)
        assert read(app, old)["accepted"] == 1
        [new] = app.store.log.events([before + 1]).values()
        assert new.tool == "Read"  # the call before the upgrade is still known
        assert len(app.store.sessions.named(SESSION)) == 2  # one of each client
        assert app.store.projects.of_path(CWD) is not None
        app.index.catch_up()
    assert_clean(store_folder)


@pytest.mark.usefixtures("old")
def test_what_is_left_is_still_found(store_folder: Path) -> None:
    """Words beside a secret, memories, and turns by meaning but for those that held one."""
    assert run("upgrade", "--yes").returncode == 0
    found = ask("search", "why does berth1 fail", "--all-projects")
    assert "fixture" in str(found)
    with app_of(store_folder) as app:
        hits = app.store.memory_search.search({"jetti": 1.0}, Filter(Scope.everything()), 5)
        assert len(hits) == 1
        memory = app.store.memories.by_row([hits[0].row])[hits[0].row]
        assert memory.text.count("[redacted:") == 2
        said = f"The jetty's key is {KEY_ID}, not {TOKEN}."
        again, is_new = app.memories.add(said, type="decision", project=CWD, agent=TOKEN)
        assert (is_new, again.id) == (False, memory.id)


def test_rows_that_new_rules_wrote_meanwhile_become_one_with_the_old(old: list[Path], store_folder: Path) -> None:
    """A session that went on between the new rules and the upgrade is one session afterwards."""
    with app_of(store_folder) as app:
        claude = Claude(session=SESSION, cwd=CWD, start=900)
        write(old[0], *claude.exchange("winch"), append=True)
        assert read(app, old)["accepted"] == 5
        app.index.catch_up()
    assert run("upgrade", "--yes").returncode == 0
    assert_clean(store_folder)
    with app_of(store_folder) as app:
        assert len(app.store.sessions.named(SESSION)) == 2
        [session] = set(app.store.sessions.named(SESSION)) & app.store.sessions.clients()["claude-code"]
        assert any("winch" in event.excerpt for event in app.store.log.session(session))
        assert len([root for _, root in app.store.projects.roots() if "redacted" in root]) == 1


def test_a_killed_upgrade_goes_on_where_it_was(store_folder: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle of the rows, three times: what was counted stays counted, and nothing is left."""
    paths = transcripts(tmp_path / "in", 700)
    make(store_folder, paths)
    looked = 0
    for _ in range(3):
        process = subprocess.Popen([*COMMAND, "upgrade", "--yes"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        store = SqliteStore(str(store_folder))
        while process.poll() is None and progress(store) <= looked:
            time.sleep(0.001)
        os.kill(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert progress(store) > looked
        looked = progress(store)
        assert is_due(store)
        store.close()
    report = upgraded()
    assert report["looked"] >= looked + 1
    assert_clean(store_folder)


def progress(store: SqliteStore) -> int:
    """How many rows an upgrade has looked at."""
    saved = store.meta(CURSOR)
    return int(json.loads(str(saved))["looked"]) if saved else 0
