"""What holds for every transcript, every cut and every order. HOWCOME_TEST_EXAMPLES multiplies the examples."""

from __future__ import annotations

import gzip
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import Claude, Record, lines
from tests.checks import assert_accounted, keys, memberships, timeline
from tests.hostile.scale import of

from howcome.domain.sources import COUNTERS
from howcome.errors import TranscriptError
from howcome.ingest.exclusion import Places
from howcome.ingest.pipeline import Ingester
from howcome.store.sqlite import SqliteStore

FACTOR = float(os.environ.get("HOWCOME_TEST_EXAMPLES", of("0.4", "1")))


def examples(count: int) -> settings:
    """So many examples, without a limit of time for each."""
    return settings(max_examples=max(1, int(count * FACTOR)), deadline=None)


class Bench:
    """A store of its own, with a key that all of them share, so that their rows can be compared."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)
        self.store = SqliteStore(str(self.folder / "store"))
        self.store.connection.execute("PRAGMA synchronous = OFF")
        self.store.connection.execute("UPDATE meta SET value = ? WHERE name = 'key'", (b"k" * 32,))
        self.ingester = Ingester(self.store, Places(), now_ms=lambda: time.time_ns() // 1_000_000)

    def write(self, name: str, data: bytes) -> None:
        """A file with just this content; the time of change never stands still."""
        path = self.folder / name
        path.write_bytes(data)
        status = path.stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns + len(data)))

    def ingest(self, name: str) -> None:
        """One pass over one file."""
        self.ingester.ingest_file(str(self.folder / name), "claude-code")

    def rows(self) -> list[tuple[object, ...]]:
        """Everything about every event, but for row ids."""
        sql = (
            "SELECT e.key, s.name, p.root, o.path, e.offset, e.kind, e.ts_ms, e.order_ms, e.tool, e.file, e.failed,"
            " e.exit_code, e.excerpt, e.payload FROM events e JOIN sessions s ON s.id = e.session_id"
            " JOIN projects p ON p.id = e.project_id JOIN sources o ON o.id = e.source_id ORDER BY e.key"
        )
        return [(*row[:3], os.path.basename(str(row[3])), *row[4:]) for row in self.store.connection.execute(sql)]

    def accounts(self) -> list[list[object]]:
        """The account of every generation."""
        names = ("generation", "is_current", "offset", "tail_bytes", *COUNTERS)
        return [[row[name] for name in names] for row in self.store.accounts.sources()]


@contextmanager
def bench() -> Iterator[Bench]:
    """A bench that is cleared away."""
    with tempfile.TemporaryDirectory() as folder:
        made = Bench(folder)
        try:
            yield made
        finally:
            made.store.close()


def pool() -> list[bytes]:
    """Lines of two sessions: prompts, calls, results, bookkeeping, wide characters, a record copied by a fork."""
    claude, fork = Claude("session-one"), Claude("session-two", "/gone/quay", start=40)
    records: list[Record] = [
        *claude.conversation(3),
        claude.user("die Möwe \U0001f600 und 港"),
        claude.compact_boundary(),
    ]
    records += [record | {"sessionId": fork.session} for record in records[1:5]] + fork.exchange("quay")
    return [lines([record]) for record in records]


POOL = pool()
garbage = st.binary(max_size=30).map(lambda data: data.replace(b"\n", b"") + b"\n")
odd = st.sampled_from([b"\n", b"\xff\n", b"[]\n", b"\x00\x00\n", b'{"type":"hologram"}\n', b"[" * 3000 + b"\n"])
line = st.one_of(st.sampled_from(POOL), st.sampled_from(POOL), st.sampled_from(POOL), garbage, odd)
transcripts = st.lists(line, min_size=1, max_size=25).map(b"".join)


def whole(data: bytes, name: str = "a.jsonl") -> tuple[list[tuple[object, ...]], list[list[object]]]:
    """Rows and accounts of a file that is read at once."""
    with bench() as one:
        one.write(name, data)
        one.ingest(name)
        assert_accounted(one.store)
        return one.rows(), one.accounts()


@given(transcripts, st.lists(st.floats(0, 1), min_size=1, max_size=12), st.booleans())
@examples(60)
def test_reading_in_parts_is_reading_at_once(data: bytes, shares: list[float], is_open: bool) -> None:
    """A file that grows by any number of any cuts, in characters and all, ends like one that is read whole."""
    data = data[:-1] if is_open else data
    with bench() as parts:
        for share in sorted(shares):
            parts.write("a.jsonl", data[: int(len(data) * share)])
            parts.ingest("a.jsonl")
            assert_accounted(parts.store)
        parts.write("a.jsonl", data)
        parts.ingest("a.jsonl")
        assert (parts.rows(), parts.accounts()) == whole(data)


@given(transcripts, st.lists(st.floats(0, 1), min_size=1, max_size=4))
@examples(25)
def test_a_packed_file_in_parts_is_the_packed_file(data: bytes, shares: list[float]) -> None:
    """A .gz that is still being copied ends like one that is read whole."""
    packed = gzip.compress(data)
    with bench() as parts:
        for share in sorted(shares):
            parts.write("a.jsonl.gz", packed[: int(len(packed) * share)])
            with suppress(TranscriptError):
                parts.ingest("a.jsonl.gz")
            assert_accounted(parts.store)
        parts.write("a.jsonl.gz", packed)
        parts.ingest("a.jsonl.gz")
        assert (parts.rows(), parts.accounts()) == whole(packed, "a.jsonl.gz")


@given(transcripts, transcripts)
@examples(40)
def test_the_order_of_files_does_not_matter(first: bytes, second: bytes) -> None:
    """Two files with shared records: the same events, and every session as whole, in either order."""
    found = []
    for order in (("a.jsonl", "b.jsonl"), ("b.jsonl", "a.jsonl"), ("a.jsonl", "b.jsonl", "a.jsonl")):
        with bench() as both:
            both.write("a.jsonl", first)
            both.write("b.jsonl", second)
            for name in order:
                both.ingest(name)
            assert_accounted(both.store)
            said = {name: sorted(timeline(both.store, name)) for name in ("session-one", "session-two")}
            found.append((keys(both.store), memberships(both.store), said))
    assert found[0] == found[1] == found[2]


@given(st.lists(st.sampled_from(POOL), min_size=1, max_size=8), st.data())
@examples(50)
def test_any_bytes_are_accounted_for(records: list[bytes], data: st.DataObject) -> None:
    """Flipped, missing and doubled bytes anywhere: no error, and every byte of every line has its place."""
    content = bytearray(b"".join(records))
    for _ in range(data.draw(st.integers(1, 12))):
        place = data.draw(st.integers(0, max(0, len(content) - 1)))
        kind = data.draw(st.sampled_from(["flip", "drop", "double", "insert"]))
        if kind == "flip" and content:
            content[place] = data.draw(st.integers(0, 255))
        elif kind == "drop":
            del content[place : place + data.draw(st.integers(1, 40))]
        elif kind == "double":
            content[place:place] = content[place : place + 60]
        else:
            content[place:place] = data.draw(st.binary(max_size=9))
    with bench() as one:
        one.write("a.jsonl", bytes(content))
        one.ingest("a.jsonl")
        assert_accounted(one.store)
        complete = bytes(content).rfind(b"\n") + 1
        (row,) = one.store.accounts.sources() or [{"offset": 0, "tail_bytes": 0, "records": 0}]
        assert row["offset"] == complete
        assert row["tail_bytes"] == len(content) - complete
        assert row["records"] == bytes(content).count(b"\n")
        one.store.index.catch_up()


step = st.sampled_from(["append", "append", "cut", "rewrite", "rename", "copy", "delete", "repeat", "pass"])


@given(st.lists(st.tuples(step, st.sampled_from("ab"), transcripts), min_size=2, max_size=10))
@examples(60)
def test_whatever_happens_to_the_files_what_is_on_disk_is_stored(steps: list[tuple[str, str, bytes]]) -> None:
    """Files grow, shrink, move, are copied, deleted and made again: a last pass leaves nothing out, doubles nothing."""
    with bench() as one:
        files = {"a.jsonl": b"", "b.jsonl": b""}
        for action, letter, data in steps:
            name, other = f"{letter}.jsonl", "b.jsonl" if letter == "a" else "a.jsonl"
            old = files.get(name, b"")
            content = {
                "append": old + data, "cut": old[: len(old) // 2], "rewrite": data, "repeat": old + old, "pass": old,
                "rename": b"", "copy": old, "delete": b"",
            }[action]  # fmt: skip
            if action in ("rename", "copy"):
                files[other] = old
                one.write(other, old)
            files[name] = content
            one.write(name, content)
            if action in ("delete", "rename"):
                (one.folder / name).unlink()
                del files[name]
            if action in ("pass", "append"):
                for found in files:
                    if (one.folder / found).exists():
                        one.ingest(found)
                assert_accounted(one.store)
        for name, content in files.items():
            one.write(name, content)
            one.ingest(name)
        assert_accounted(one.store)
        found = set(keys(one.store))
        for number, (name, content) in enumerate(files.items()):
            complete = content[: content.rfind(b"\n") + 1]
            expected = {row[0] for row in whole(complete)[0]} if complete.strip() else set()
            assert expected <= found, (number, name)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_long_file_in_parts_is_the_file(share: float) -> None:
    """More than one batch: the same rows and accounts for a cut inside any of them."""
    data = b"".join(lines(Claude("long").conversation(700)) + POOL[number % len(POOL)] for number in range(1))
    with bench() as parts:
        parts.write("a.jsonl", data[: int(len(data) * share)])
        parts.ingest("a.jsonl")
        parts.write("a.jsonl", data)
        parts.ingest("a.jsonl")
        assert (parts.rows(), parts.accounts()) == whole(data)
