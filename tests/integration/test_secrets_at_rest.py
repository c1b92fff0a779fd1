"""Planted secrets reach no byte of the store, its indexes or its logs, in whatever field and by whatever door."""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import planting
from tests.builders import Claude, Codex, write
from tests.planting import REDACTOR, SAMPLES, left_in, values_of
from tests.processes import hook, payload, run

from howcome.app import open_app
from howcome.redact.gate import Gate, is_plain
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from howcome.app import App

pytestmark = pytest.mark.timeout(600)
"""A store into which everything came by every door is made once for all tests."""

WHOLE_DATABASES = {"sqlite_backup.py"}
"""Where a whole database is copied, or read to be salvaged: pages, and rows that went through the gate."""

SOURCE = Path(__file__).parents[2] / "src" / "howcome"


def planted(folder: Path) -> list[Path]:
    """Transcripts with every sample: in prompts, answers, thoughts, tool inputs and results, bare and escaped."""
    claude, codex = Claude(), Codex()
    records = [claude.user("where do we start?")]
    lines = [codex.meta()]
    for number, (name, sample) in enumerate(SAMPLES):
        records += [
            claude.user(f"use this:\n{sample}\nplease"), claude.text(f"{name}:\n{sample}"), claude.thinking(sample),
            claude.call("Write", f"toolu_{number}", file_path=f"/home/mara/{number}.env", content=f"{sample}\n"),
            claude.result(f"toolu_{number}", f"{sample}\n\nand again:\n{sample}"),
            claude.call("Bash", f"toolu_b{number}", command=f"echo\n{sample}", env={"nested": [sample]}),
            claude.result(f"toolu_b{number}", [{"type": "text", "text": sample}], is_error=True),
        ]  # fmt: skip
        lines += [codex.message("user", sample), codex.output(f"call_{number}", json.dumps({"output": sample}))]
    return [write(folder / "claude.jsonl", *records), write(folder / "rollout-1.jsonl", *lines)]


def test_personal_data_is_kept_out_from_the_first_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of the store that is made then: the rules need its key, which is in it."""
    monkeypatch.setenv("HOWCOME_HOME", str(tmp_path / "store"))
    monkeypatch.setenv("HOWCOME_REDACT_PERSONAL", "true")
    path = write(
        tmp_path / "a.jsonl", *Claude().conversation(1), Claude().user("write to mara.lund@harbour-lights.org")
    )
    assert run("import", path).returncode == 0
    assert "mara.lund@harbour-lights.org" not in run("search", "--all-projects", "write to").stdout


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """A store into which every secret came by every field of every door, and what was said meanwhile, by door."""
    folder, patch = tmp_path_factory.mktemp("full"), pytest.MonkeyPatch()
    home = folder / "store"
    patch.setenv("HOWCOME_HOME", str(home))
    patch.setenv("HOME", str(folder))
    patch.setenv("HOWCOME_EMBEDDING", "off")
    (folder / "in").mkdir()
    (folder / "tree").mkdir()
    paths = [*planted(folder / "in"), *planting.transcripts(folder / "in")]
    for _ in range(2):  # the second pass goes on from what the readers remember
        assert run("import", *paths).returncode == 0
    said = {
        "hooks": planting.hooks(home, paths[0]),
        "observe": planting.command("observe", "--now", data=planting.observations()),
        "memories": planting.command("import-memories", "-", data=planting.exported()),
        "mcp": planting.tools(folder),
        "refused": planting.refused(),
        "graph": planting.command("graph", "build", str(planting.repository(folder / "tree"))),
    }
    planting.by_hand(home)
    said["distil"] = planting.command("distil") + planting.command("rationale", "--write")
    said["export"] = planting.command("export", "--all-projects")
    said["doctor"] = planting.command("doctor")
    said["status"] = planting.command("status") + planting.command("status", "--json")
    patch.undo()
    return home, said


def app_of(home: Path) -> App:
    """The façade over a store."""
    return open_app(read_settings({**os.environ, "HOWCOME_HOME": str(home)}))


def test_there_are_enough_kinds_of_secrets() -> None:
    """The table has not shrunk, and most of it can be planted on one line."""
    assert len({name for name, _ in SAMPLES}) >= 150
    assert len({name for name, _ in planting.names()}) >= 150
    assert left_in("\n".join(sample for _, sample in SAMPLES).encode()) == {name for name, _ in planting.VALUES}


def test_no_byte_of_the_store_holds_a_planted_secret(full: tuple[Path, dict[str, str]]) -> None:
    """Neither the database, its log, the indexes, the spool, the hooks' log nor a file's name."""
    found = {}
    for path in sorted(full[0].rglob("*")):
        data = path.read_bytes() if path.is_file() else b""
        if names := left_in(data + b"\n" + os.fsencode(path.name)):
            found[str(path.relative_to(full[0]))] = sorted(names)
    assert found == {}


def test_no_column_of_a_row_holds_one(full: tuple[Path, dict[str, str]]) -> None:
    """Packed payloads and search texts hold none either; this names the column."""
    columns_said: dict[str, list[str]] = {}
    with app_of(full[0]) as app:
        store = app.store
        assert isinstance(store, SqliteStore)
        for (table,) in store.connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = [row[1] for row in store.connection.execute(f"PRAGMA table_info({table})")]
            for row in store.connection.execute(f"SELECT * FROM {table}"):  # noqa: S608 - fixed names
                for name, value in zip(columns, row, strict=True):
                    if isinstance(value, str):
                        columns_said.setdefault(f"{table}.{name}", []).append(value)
        rows = range(1, store.log.last_position() + 1)
        events = store.log.events(rows, with_text=True).values()
        assert len(events) > 3 * len(SAMPLES)
        columns_said["text"] = [event.text or "" for event in events]
        columns_said["search text"] = list(store.log.search_texts(rows).values())
    found = {name: left_in("\n".join(texts).encode()) for name, texts in columns_said.items()}
    assert {name: rules for name, rules in found.items() if rules} == {}


def test_nothing_that_was_said_holds_one(full: tuple[Path, dict[str, str]]) -> None:
    """Errors (which quote what they were given, with their own words around it), hooks, doctor, status and exports."""
    quoting = ("mcp", "refused", "observe", "memories")
    found = {door: left_in(said.encode()) for door, said in full[1].items()}
    found = {door: names & planting.bare_kinds() if door in quoting else names for door, names in found.items()}
    assert {door: sorted(names) for door, names in found.items() if names} == {}


def test_what_held_a_secret_is_found_by_its_own_name(store_folder: Path, tmp_path: Path) -> None:
    """A session and a folder that are secrets are one each, and a hook that comes with them is known."""
    for _, line in planting.names()[::40]:
        cwd, session = f"/home/mara/{line}", f"s {line}"
        claude = Claude(session=session, cwd=cwd)
        path = write(tmp_path / "one.jsonl", *claude.exchange("jetty"), *claude.exchange("crane"))
        assert run("import", path).returncode == 0
        with app_of(store_folder) as app:
            assert len(app.store.sessions.named(session)) == 1, line
            assert app.projects.scope_of(cwd).project_id is not None, line
        asked = payload("UserPromptSubmit", path, "another", cwd=cwd, prompt="why does jetty fail?")
        assert b"fixture is stale" in hook("UserPromptSubmit", asked).stdout, line
        asked = payload("UserPromptSubmit", path, session, cwd=cwd, prompt="why does jetty fail?")
        assert hook("UserPromptSubmit", asked).stdout == b"", line
        path.unlink()
        shutil.rmtree(store_folder)


@pytest.mark.parametrize("cut", [1, 2, 3, 4, 5])
def test_reading_in_pieces_gives_the_same_rows(store_folder: Path, tmp_path: Path, cut: int) -> None:
    """What a reader remembers between passes may be a secret: the next pass still knows it."""
    for number, (_, line) in enumerate(planting.names()[::30]):
        codex = Codex(session=f"s {line}", cwd=f"/home/mara/{line}")
        records = [
            codex.meta(git={"branch": line}), codex.message("user", "a task"), codex.call(f"s {line}", ["ls"]),
            codex.output(f"s {line}", "y"), codex.message("assistant", "done"),
        ]  # fmt: skip
        path = tmp_path / f"rollout-{number}.jsonl"
        with app_of(store_folder) as app:
            app.ingest.ingester().ingest_file(str(write(path, *records[:cut])), "codex")
        with app_of(store_folder) as app:
            app.ingest.ingester().ingest_file(str(write(path, *records[cut:], append=True)), "codex")
            before = app.store.log.last_position()
            again = write(tmp_path / f"copy-{number}.jsonl", *records)
            counts = app.ingest.ingester().ingest_file(str(again), "codex").counts
            assert (counts["accepted"], app.store.log.last_position()) == (0, before), line
            assert isinstance(app.store, SqliteStore)
            assert app.store.connection.execute("SELECT count(*) FROM sessions").get == number + 1, line


def test_a_plain_text_holds_no_secret() -> None:
    """What is not looked at by the rules is nothing that they find; a long text costs what its length is."""
    for _, sample in SAMPLES:
        for text in (sample, *values_of(sample), f"/home/mara/{sample}", json.dumps([sample])):
            assert not is_plain(text) or REDACTOR.redact(text) == text
    for plain in ("3f9a1c7e-5b2d-4046-a9e1-c3f57b0d2846", "/home/mara/my-harbour/src/berth1.py", '["3F9A", "AB"]'):
        assert is_plain(plain)
    for slow in ("a-" * 100_000, "aaaa1111" * 50_000, "1 " * 100_000, "A-" * 100_000, '["' * 100_000):
        is_plain(slow + "!")


def test_a_path_keeps_what_is_above_it() -> None:
    """What is below a folder with a secret is below its placeholder, and every text is gated once and for all."""
    gate = Gate(lambda: b"k" * 32)
    for _, line in planting.names():
        folder = gate.text(f"/home/mara/{line}")
        assert gate.text(f"/home/mara/{line}/src/a.py").startswith("/home/mara/"), line
        assert gate.text(folder) == folder
        assert left_in(folder.encode()) == set()


def test_no_writer_goes_round_the_gate() -> None:
    """Every statement of the store runs on the gated connection; what is bound ungated is named here."""
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for room in ("log", "store")
        for path in (SOURCE / room).glob("*.py")
    }
    lines = [(name, line) for name, text in texts.items() for line in text.splitlines()]
    assert {name for name, line in lines if re.search(r"apsw\.Connection\(|\.cursor\(", line)} == WHOLE_DATABASES
    ungated = re.compile(r"(?:connection|_db)\.execute_gated\(|\bKept\(json")
    found = sorted(name for name, line in lines if ungated.search(line))
    known = (
        "answers", "consolidated", *["database"] * 3, "memories", "rewriting", "sessions", *["sqlite_batches"] * 2,
    )  # fmt: skip
    assert found == [f"{name}.py" for name in known]
