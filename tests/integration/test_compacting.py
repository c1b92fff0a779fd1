"""`howcome compact` and the setting `tool_text_days`: what is dropped, what stays, and what says so."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.batches import Transcript
from tests.processes import ask, run

from howcome.domain import events
from howcome.domain.ranking import DAY_MS
from howcome.errors import StoreError
from howcome.log.retention import shortened
from howcome.present.patience import Patience
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp

LONG = "\n".join(f"berth {number}: the bollard holds" for number in range(400))
WRITTEN = json.dumps({"file_path": "/home/mara/quay/tides.py", "content": LONG}, separators=(",", ":"))
AN_HOUR_LATER = "UPDATE pauses SET until_ms = until_ms - 3600000 WHERE name = 'retention'"
VALUES = st.recursive(
    st.one_of(st.text(st.characters(codec="utf-8"), max_size=900), st.integers(), st.none()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@pytest.fixture
def home(store_folder: Path) -> Path:
    """A store with an old and a new turn that say, call and return much; a memory cites one old result."""
    store = SqliteStore(str(store_folder))
    now_ms = time.time_ns() // 1_000_000
    for name, at_ms in (("old", now_ms - 100 * DAY_MS), ("new", now_ms - DAY_MS)):
        talk = Transcript(store, f"/t/{name}.jsonl", session=name)
        talk.add(
            talk.prompt(LONG, ts_ms=at_ms),
            talk.event(WRITTEN, events.TOOL_CALL, tool="Write", origin="assistant", ts_ms=at_ms),
            talk.event(LONG, events.TOOL_RESULT, tool="Write", ts_ms=at_ms),
            talk.event(f"cited {LONG}", events.TOOL_RESULT, tool="Bash", ts_ms=at_ms),
            talk.answer(LONG, ts_ms=at_ms),
        )
    store.close()
    [cited] = [ident for ident, text in texts(store_folder).items() if text.startswith("cited")][:1]
    ask("remember", "The bollard holds at every berth of the quay.", "--evidence", cited)
    return store_folder


def texts(home: Path) -> dict[str, str]:
    """The whole texts of all events by their ids, in order."""
    store = SqliteStore(str(home))
    try:
        rows = [row for (row,) in store.database.rows("SELECT id FROM events ORDER BY id")]
        found = store.log.events(rows, with_text=True)
        return {found[row].id: found[row].text or "" for row in rows}
    finally:
        store.close()


def searched(home: Path) -> dict[int, str]:
    """Their search texts."""
    store = SqliteStore(str(home))
    try:
        return store.log.search_texts([row for (row,) in store.database.rows("SELECT id FROM events")])
    finally:
        store.close()


def test_old_tool_traffic_is_shortened_and_nothing_else(home: Path) -> None:
    """Two texts: not what was said, not what a memory cites, not what is new; each is found and listed as before."""
    before, found = texts(home), searched(home)
    assert run("compact", "--dry-run").stdout.startswith("nothing would be shortened: no age is given")
    assert ask("compact", "--older-than", "30", "--dry-run")["texts"] == 2
    assert run("compact", "--older-than", "30", data=b"n\n").returncode == 1
    assert texts(home) == before
    report = ask("compact", "--older-than", "30", "--yes")
    assert (report["texts"], report["after_bytes"] > 0, report["saved_bytes"] > 0) == (2, True, True)
    after = texts(home)
    changed = [ident for ident, text in before.items() if after[ident] != text]
    assert (changed, searched(home)) == (list(before)[1:3], found)
    shown = ask("show", changed[1])
    assert (len(shown["text"]), shown["dropped_chars"]) == (800, len(LONG) - 800)
    assert f"{len(LONG) - 800} of {len(LONG)} characters were dropped" in run("show", changed[1]).stdout
    assert json.loads(after[changed[0]])["file_path"] == "/home/mara/quay/tides.py"
    assert "dropped_chars" not in ask("show", next(iter(before)))
    assert ask("compact", "--older-than", "30", "--yes")["texts"] == 0
    assert "MB before" in run("compact").stdout


def test_a_text_that_cannot_be_unpacked_is_told_and_left(home: Path) -> None:
    """The others are shortened."""
    change(home, "UPDATE events SET payload = substr(payload, 1, 20) WHERE id = 2")
    said = run("compact", "--older-than", "30", "--yes").stdout
    assert "1 text of tool traffic older than 30 days shortened" in said
    assert "1 text cannot be unpacked: left whole" in said
    report = ask("compact", "--older-than", "30", "--dry-run")
    assert (report["texts"], report["damaged_texts"]) == (0, 1)


def test_the_worker_shortens_only_where_the_setting_says_so(home: Path, tmp_path: Path) -> None:
    """Off by default; once a day."""
    before = texts(home)
    for days, hours, count in (("0", 0, 0), ("30", 0, 2), ("30", 23, 0), ("30", 1, 1)):
        for _ in range(hours):
            change(home, AN_HOUR_LATER)
        if hours == 23:
            store = SqliteStore(str(home))
            talk = Transcript(store, "/t/late.jsonl", session="late")
            talk.add(talk.result(f"late {LONG}", ts_ms=time.time_ns() // 1_000_000 - 100 * DAY_MS))
            store.close()
            before = texts(home)
        worker(home, tmp_path, days).scan()
        after = texts(home)
        assert sum(after[ident] != text for ident, text in before.items()) == count
        before = after


def test_what_cannot_be_shortened_keeps_the_worker_from_nothing_else(home: Path, tmp_path: Path) -> None:
    """It is told once, after all other work, and due again in an hour."""
    change(home, "CREATE TRIGGER refusing BEFORE UPDATE ON events BEGIN SELECT raise(ABORT, 'not now'); END")
    with pytest.raises(StoreError, match="not now"):
        worker(home, tmp_path, "30").scan()
    assert list((home / "backups").iterdir())
    assert worker(home, tmp_path, "30").scan()
    change(home, AN_HOUR_LATER)
    with pytest.raises(StoreError, match="not now"):
        worker(home, tmp_path, "30").scan()


def change(home: Path, sql: str) -> None:
    """Changes the store's rows or tables."""
    store = SqliteStore(str(home))
    with store.transaction():
        store.database.execute(sql)
    store.close()


def worker(home: Path, tmp_path: Path, days: str) -> CatchUp:
    """One whose setting says so many days."""
    told = {"HOWCOME_HOME": str(home), "HOME": str(tmp_path), "HOWCOME_EMBEDDING": "off"}
    return CatchUp(read_settings({**told, "HOWCOME_TOOL_TEXT_DAYS": days, "HOWCOME_DISTILLER": "off"}), Patience())


@given(st.dictionaries(st.sampled_from([*events.CALL_FIELDS, *events.CONTENT_FIELDS, "other"]), VALUES, max_size=4))
def test_a_shortened_call_is_found_by_the_same_words(values: dict[str, object]) -> None:
    """Whatever its fields hold; and what is shortened twice is as shortened once."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"))
    short = shortened(text, is_call=True)
    assert events.call_text("Tool", json.loads(short)) == events.call_text("Tool", values)
    assert shortened(short, is_call=True) == short


@given(st.text(max_size=2000), st.sampled_from([None, "Bash"]), st.sampled_from([None, "tides.py"]))
def test_a_shortened_result_has_the_same_search_text(text: str, tool: str | None, file: str | None) -> None:
    """Also where its tool and file stand before it."""
    short = shortened(text, is_call=False)
    kept = events.searchable(events.TOOL_RESULT, tool, file, text)
    assert events.searchable(events.TOOL_RESULT, tool, file, short) == kept
    assert shortened(short, is_call=False) == short


@pytest.mark.parametrize("said", ["{ make && make test; } 2>&1", '{"a": 1} {"b": 2}', '{"a": ' * 5000])
def test_a_call_that_only_looks_like_an_object_is_shortened_as_a_text(said: str) -> None:
    """What other programs observed need not be JSON, and must not end the rest."""
    text = said + " " + LONG
    assert len(shortened(text, is_call=True)) < len(text)
