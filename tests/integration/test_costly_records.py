"""A record that costs a pass all its time: what came before it is stored, it is set aside, nothing waits for it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from tests.builders import SESSION, Claude, write
from tests.checks import account, assert_accounted, assert_indexed, assert_whole, timeline
from tests.conftest import Ingest
from tests.processes import ask, assert_silent, hook, payload, python, run

from howcome.domain.events import Event
from howcome.domain.sources import SET_ASIDE, NewEvent
from howcome.errors import HowcomeError
from howcome.ingest.exclusion import Places
from howcome.ingest.pipeline import COSTLY_BYTES, Ingester
from howcome.ingest.writer import Preparer
from howcome.store.sqlite import SqliteStore

MARK = "endless"
COSTLY = f"{MARK} " + "word " * (COSTLY_BYTES // 5)
DYING = """
import os, sys, time
from howcome.ingest.exclusion import Places
from howcome.ingest.pipeline import Ingester
from howcome.ingest.writer import Preparer
from howcome.store.sqlite import SqliteStore

class Dying(Preparer):
    def prepare(self, event, order_ms):
        if "endless" in (event.text or ""):
            os._exit(0)  # as a hook's watchdog ends it, and the agent a hook that takes too long
        return super().prepare(event, order_ms)

store = SqliteStore(os.environ["HOWCOME_HOME"])
impatient = Ingester(store, Places(), now_ms=lambda: time.time_ns() // 1_000_000)
impatient.preparer = Dying(bytes(store.meta("key")))
impatient.ingest_file(sys.argv[1], "claude-code")
raise SystemExit("it did not die")
"""


class Slow(Preparer):
    """Calls something when a marked text is prepared."""

    def __init__(self, key: bytes, then: object) -> None:
        super().__init__(key)
        self._then = then

    def prepare(self, event: Event, order_ms: int) -> NewEvent:
        """The row of an event."""
        if MARK in (event.text or ""):
            self._then()  # type: ignore[operator]
        return super().prepare(event, order_ms)


class SlowIngester(Ingester):
    """Reads with a preparer that something happens to."""

    def __init__(self, store: SqliteStore, then: object) -> None:
        super().__init__(store, Places(), now_ms=lambda: time.time_ns() // 1_000_000)
        self.preparer = Slow(bytes(store.meta("key")), then)  # type: ignore[call-overload]


def transcript(tmp_path: Path, costly: str = COSTLY) -> Path:
    """Two prompts, one that costs too much, and two more."""
    claude = Claude()
    texts = ["first", "second", costly, "fourth", "fifth"]
    return write(tmp_path / "a.jsonl", *(claude.user(text) for text in texts))


def texts(store: SqliteStore) -> list[str]:
    """What a session said, each with its first word."""
    return [text.split()[0] for _, text in timeline(store, SESSION)]


def die_in(path: Path) -> None:
    """A pass that ends in the costly record."""
    import subprocess

    done = subprocess.run([*python(DYING, path)], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_deadline_is_looked_at_between_records(tmp_path: Path, store: SqliteStore) -> None:
    """What was read when the time is over is committed then, and not only when a batch is full."""
    deadline = time.monotonic() + 5

    def until_late() -> None:
        while time.monotonic() <= deadline:
            time.sleep(0.01)

    path = transcript(tmp_path, MARK)
    report = SlowIngester(store, until_late).ingest_file(str(path), "claude-code", deadline=deadline)
    assert (texts(store), report.is_complete) == (["first", "second", MARK], False)
    assert report.bytes_read == account(store, path)["offset"] > 0


def test_what_was_read_before_a_costly_record_is_there_while_it_is_tried(tmp_path: Path, store: SqliteStore) -> None:
    """Whoever ends the process in it finds nothing uncommitted but the record at hand."""
    seen: list[list[str]] = []
    path = transcript(tmp_path)
    SlowIngester(store, lambda: seen.append(texts(store))).ingest_file(str(path), "claude-code")
    assert seen == [["first", "second"]]
    assert texts(store) == ["first", "second", MARK, "fourth", "fifth"]
    assert_whole(store, path)


def test_a_record_that_a_pass_died_in_is_set_aside_by_the_next(tmp_path: Path, store_folder: Path) -> None:
    """Its place and size are known, nothing of the file waits for it, and doctor says what to do."""
    path = transcript(tmp_path)
    die_in(path)
    assert_silent(hook("Stop", payload("Stop", path, SESSION)))
    with_store = SqliteStore(str(store_folder))
    assert texts(with_store) == ["first", "second", "fourth", "fifth"]
    [aside] = with_store.quarantine.newest()
    [line] = [line for line in path.read_bytes().splitlines(keepends=True) if MARK.encode() in line]
    assert (aside["reason"], aside["path"], aside["size_bytes"]) == (SET_ASIDE, str(path), len(line))
    assert aside["offset"] == path.read_bytes().index(line)
    assert_whole(with_store, path)
    assert_indexed(with_store)
    with_store.close()
    findings = json.loads(run("doctor", "--json").stdout)["findings"]
    [finding] = [found for found in findings if found["check"] == "set aside"]
    assert "howcome import --retry-set-aside" in finding["remedy"]
    report = ask("import", "--retry-set-aside", path)
    assert (report["accepted"], report["quarantined"]) == (1, 0)
    with_store = SqliteStore(str(store_folder))
    assert texts(with_store) == ["first", "second", MARK, "fourth", "fifth"]
    assert with_store.quarantine.newest() == []
    assert_whole(with_store, path)
    assert_indexed(with_store)
    with_store.close()
    assert ask("import", "--retry-set-aside", path)["accepted"] == 0


def test_a_record_that_another_living_process_tries_is_left_to_it(tmp_path: Path, store: SqliteStore) -> None:
    """Two passes at once are no death: the second gives way, and the first stores the record."""
    path = transcript(tmp_path)
    rival = Ingest(store)

    def meanwhile() -> None:
        report = rival(path)
        assert (report.is_complete, report.bytes_read) == (False, 0)

    SlowIngester(store, meanwhile).ingest_file(str(path), "claude-code")
    assert texts(store) == ["first", "second", MARK, "fourth", "fifth"]
    assert store.quarantine.newest() == []
    assert_accounted(store)


def test_who_is_interrupted_may_try_again(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Ctrl-C in a costly record says nothing about the record; an error in it does."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    def failing() -> None:
        raise MemoryError

    path = transcript(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        SlowIngester(store, interrupted).ingest_file(str(path), "claude-code")
    with pytest.raises(MemoryError):
        SlowIngester(store, failing).ingest_file(str(path), "claude-code")
    ingest(path)
    assert store.quarantine.reasons() == {SET_ASIDE: 1}
    assert_whole(store, path)


def test_what_cannot_be_found_again_stays_set_aside(tmp_path: Path, store_folder: Path) -> None:
    """A transcript that was rewritten since holds something else there: that is not taken for the record."""
    path = transcript(tmp_path)
    die_in(path)
    ask("import", path)
    path.write_bytes(path.read_bytes().replace(MARK.encode(), b"changed"))
    done = run("import", "--retry-set-aside", path)
    assert done.returncode == 0
    store = SqliteStore(str(store_folder))
    assert store.quarantine.reasons() == {SET_ASIDE: 1}
    assert "changed" in texts(store)  # the new content is a generation of its own
    assert_accounted(store)
    store.close()


def test_a_note_of_a_process_that_is_gone_counts(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A note is old when its process is, or when it began so long ago that its number may be another's now."""
    path = transcript(tmp_path)
    with pytest.raises(HowcomeError):
        SlowIngester(store, lambda: (_ for _ in ()).throw(HowcomeError("x"))).ingest_file(str(path), "claude-code")
    store.connection.execute("UPDATE trials SET pid = ?", (os.getppid(),))
    assert not ingest(path).is_complete
    store.connection.execute("UPDATE trials SET began_ms = began_ms - 36000000")
    assert ingest(path).is_complete
    assert store.quarantine.reasons() == {SET_ASIDE: 1}
