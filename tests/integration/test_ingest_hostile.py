"""Bytes that are no records, files that are no transcripts, names that are traps: accounted for, never in the way."""

import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from tests.builders import SESSION, Claude, Codex, Record, lines, write
from tests.checks import account, assert_accounted, assert_whole, timeline
from tests.conftest import Ingest

from howcome.clients.files import MAX_LINE_BYTES
from howcome.errors import TranscriptError
from howcome.store.sqlite import SqliteStore

DAY_MS = 24 * 3600 * 1000


def prompt(text: str, number: int = 0) -> bytes:
    """One prompt as a line."""
    return lines([Claude(start=number).user(text)])


def nested(depth: int, opening: str, closing: str) -> bytes:
    """A tool call whose input is nested, as one line."""
    line = json.dumps(Claude().call("Bash", "t1", command="HERE")).encode()
    return line.replace(b'"HERE"', (opening * depth + "1" + closing * depth).encode()) + b"\n"


def with_number(digits: str) -> bytes:
    """A tool call with a number in its input, as one line."""
    return json.dumps(Claude().call("Bash", "t1", command=7)).encode().replace(b": 7", b": " + digits.encode()) + b"\n"


BAD_LINES = {
    "bad UTF-8": (prompt("caf-é").replace(b"\xc3\xa9", b"\xe9"), "caf-\ufffd"),
    "overlong UTF-8": (prompt("caf-é").replace(b"\xc3\xa9", b"\xc0\xaf"), "caf-\ufffd\ufffd"),
    "a surrogate as bytes": (prompt("x-é").replace(b"\xc3\xa9", b"\xed\xa0\x80"), "x-\ufffd\ufffd\ufffd"),
    "a lone surrogate": (prompt("x-é").replace(b"\xc3\xa9", b"\\ud83d"), "x-\ufffd"),
    "a byte order mark": (b"\xef\xbb\xbf" + prompt("marked"), "marked"),
    "carriage returns": (prompt("windows").replace(b"\n", b"\r\n"), "windows"),
    "an escaped NUL": (prompt("x-é").replace(b"\xc3\xa9", b"\\u0000"), "x-\u2400"),
    "equal names": (prompt("old").replace(b'"content": "old"', b'"content": "old", "content": "new"'), "new"),
    "blank": (b" \t\n", None),
    "raw NUL": (b"\0" * 4096 + b"\n", "not-json"),
    "words": (b"Traceback (most recent call last):\n", "not-json"),
    "two records in a line": (prompt("a")[:-1] + prompt("b", 1), "not-json"),
    "UTF-16": ("".join(chr(byte) for byte in prompt("x")[:-1]).encode("utf-16-le") + b"\n", "not-json"),
    "a list": (b"[1, 2]\n", "not-an-object"),
    "null": (b"null\n", "not-an-object"),
    "a number": (b"1e400\n", "not-an-object"),
    "NaN": (with_number("NaN"), "bad-number"),
    "5,000 digits": (with_number("9" * 5000), "bad-number"),
    "100,000 arrays": (nested(100_000, "[", "]"), "too-deep"),
    "100,000 objects": (nested(100_000, '{"a":', "}"), "too-deep"),
    "arrays never closed": (b"[" * 100_000 + b"\n", "too-deep"),
    "300 in turns": (nested(150, '[{"a": ', "}]"), "too-deep"),
    "900 arrays": (nested(900, "[ ", "]"), "too-deep"),
}  # fmt: skip


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("name", BAD_LINES)
def test_a_bad_line_is_one_accounted_line(
    name: str, suffix: str, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """It is accepted with stand-ins or quarantined with its reason; the lines around it are read."""
    line, expected = BAD_LINES[name]
    path = write(tmp_path / f"a.jsonl{suffix}", prompt("before", 10), line, prompt("after", 20))
    report = ingest(path)
    is_reason = expected in ("not-json", "not-an-object", "bad-number", "too-deep")
    texts = [text for _, text in timeline(store, SESSION)]
    assert sorted(texts) == sorted(["before", "after"] + ([expected] if expected and not is_reason else []))
    assert store.quarantine.reasons() == ({expected: 1} if is_reason else {})
    assert report.bytes_read == account(store, path)["offset"]
    assert ingest(path).bytes_read == 0
    assert_accounted(store)
    store.index.catch_up()


def test_odd_values_inside_good_records_do_not_stop_the_file(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Huge numbers, absurd times and odd types are stored or left out, and indexed."""
    claude, codex = Claude(), Codex()
    odd: list[Record] = [
        claude.call("Bash", "t1", command=10**40), claude.result("t1", "x", is_error=[1]),
        claude.compact_boundary(tokens=10**400),
        *(claude.user(f"time {number}", timestamp=moment) for number, moment in enumerate(
            ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", -1, 10**30, 1e308, [], "soon", None])),
        claude.user("names", sessionId=7, cwd=[], gitBranch={}, agentId=0), claude.user([[], None, {"type": {}}]),
        claude.assistant({"type": "tool_use", "name": "\ufdd0", "input": [[]]}),
        claude.user("x" * 100, uuid="u" * 10_000),
    ]  # fmt: skip
    ingest(write(tmp_path / "a.jsonl", *odd))
    line = codex.item("function_call_output", call_id="c", output='{"output":"o","metadata":{"exit_code":1e30}}')
    big = codex.item("function_call_output", call_id="d", output={"output": "p", "metadata": {"exit_code": 10**40}})
    call = codex.item("function_call", name="shell", call_id="c", arguments='{"cmd":"\\ud800\\u0000"}')
    ingest(write(tmp_path / "r.jsonl", codex.meta(), call, line, big, codex.message("assistant", "said")), "codex")
    assert len(timeline(store, codex.session)) == 4
    assert store.quarantine.reasons() == {}
    assert_accounted(store)
    assert store.index.catch_up()
    assert store.index.lag() == 0


def test_unknown_records_are_counted_as_such(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A type that nobody knows is ignored, counted, and told apart from what is ignored by rule."""
    claude = Claude()
    records = [claude.bookkeeping("mode"), claude.bookkeeping("hologram"), claude.bookkeeping("hologram"), {"a": 1}]
    path = write(tmp_path / "a.jsonl", *records, {"type": ["odd"]})
    ingest(path)
    assert (account(store, path)["ignored"], account(store, path)["unknown"]) == (5, 4)
    assert_whole(store, path)


@pytest.mark.parametrize("cut", ["in a word", "in a UTF-8 character", "in a surrogate pair", "before the line break"])
def test_a_torn_last_line_waits_until_it_is_whole(cut: str, tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Half a record is not read; when the rest comes it is one record, unharmed."""
    line = prompt("die schöne \U0001f600 Möwe", 30)
    if cut == "in a surrogate pair":
        line = json.dumps(json.loads(line)).encode() + b"\n"
    marks = {
        "in a word": b"sch", "in a UTF-8 character": "ö".encode()[:1], "in a surrogate pair": b"\\ud83d\\u",
        "before the line break": b"}",
    }  # fmt: skip
    place = line.rindex(marks[cut]) + len(marks[cut])
    path = write(tmp_path / "a.jsonl", prompt("first"), line[:place])
    ingest(path)
    assert timeline(store, SESSION) == [("user_prompt", "first")]
    assert account(store, path)["tail_bytes"] == place
    write(path, line[place:], append=True)
    ingest(path)
    assert [text for _, text in timeline(store, SESSION)] == ["first", "die schöne \U0001f600 Möwe"]
    assert account(store, path)["tail_bytes"] == 0
    assert_whole(store, path)


@pytest.mark.parametrize("is_record", [True, False])
def test_a_torn_line_that_nobody_finishes_is_settled_after_a_day(
    is_record: bool, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Idle for 24 hours: accepted when it is a record after all, quarantined when not; what comes later is read."""
    line = prompt("last words", 30)[: -1 if is_record else -5]
    path = write(tmp_path / "a.jsonl", prompt("first"), line)
    for hours in (0, 23):
        ingest.clock_ms = path.stat().st_mtime_ns // 1_000_000 + hours * DAY_MS // 24
        ingest(path)
        assert store.accounts.counts()["events"] == 1
    ingest.clock_ms += DAY_MS
    ingest(path)
    ingest(path)
    assert store.accounts.counts()["events"] == 1 + is_record
    assert store.quarantine.reasons() == ({} if is_record else {"torn": 1})
    assert_whole(store, path)
    write(path, b"\n", prompt("and on", 40), append=True)
    ingest(path)
    assert timeline(store, SESSION)[-1] == ("user_prompt", "and on")
    assert_whole(store, path)


def test_the_place_of_a_torn_line_is_known_where_all_is_read_at_once(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Its own, not that where the pass began: two records at one place would be one in quarantine."""
    whole, torn = prompt("first"), prompt("last words", 30)[:-5]
    path = write(tmp_path / "a.jsonl", whole, torn)
    ingest.clock_ms = path.stat().st_mtime_ns // 1_000_000 + 2 * DAY_MS
    ingest(path)
    [found] = store.quarantine.newest()
    assert (found["reason"], found["offset"], found["size_bytes"]) == ("torn", len(whole), len(torn))


def test_a_torn_line_beyond_the_limit_is_settled_too(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """An unfinished line of more than 16 MB waits like any other, and is then quarantined by size and hash."""
    path = write(tmp_path / "a.jsonl", prompt("first"), b"x" * (MAX_LINE_BYTES + 9))
    ingest(path)
    assert account(store, path)["tail_bytes"] == MAX_LINE_BYTES + 9
    ingest.clock_ms += 2 * DAY_MS
    ingest(path)
    assert store.quarantine.reasons() == {"oversize": 1}
    assert_whole(store, path)
    packed = write(tmp_path / "b.jsonl.gz", prompt("second", 1), b"x" * (MAX_LINE_BYTES + 9))
    ingest(packed)
    assert_whole(store, packed, len(prompt("second", 1)) + MAX_LINE_BYTES + 9)


def test_a_cut_packed_file_gives_what_it_holds_and_the_rest_later(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """The records before the cut are stored, the damage is reported, and a whole copy adds only the rest."""
    records = Claude().conversation(400)
    whole = gzip.compress(lines(records))
    path = tmp_path / "a.jsonl.gz"
    for share in (0.5, 0.8, 0.3, 0.0002):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(TranscriptError):
            ingest(path)
        assert_accounted(store)
    assert 400 < store.accounts.counts()["events"] < 2000
    path.write_bytes(whole)
    ingest(path)
    assert store.accounts.counts()["events"] == 2000
    assert_whole(store, path, len(lines(records)))
    path.write_bytes(whole[:-300] + b"\xff" * 300)
    with pytest.raises(TranscriptError):
        ingest(path)
    assert store.accounts.counts()["events"] == 2000
    assert_accounted(store)


@pytest.mark.parametrize("kind", ["symlink", "fifo", "folder", "device", "gone"])
def test_what_is_no_regular_file_is_refused_at_once(
    kind: str, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """A transcript that was swapped for something else is an error about that file, and waits for nothing."""
    path = tmp_path / "a.jsonl"
    if kind == "symlink":
        path.symlink_to(write(tmp_path / "real", prompt("stolen")))
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    with pytest.raises(TranscriptError):
        ingest(Path("/dev/zero") if kind == "device" else path)
    assert store.accounts.counts()["events"] == 0


HOSTILE = ["../x", "-rf", "a\nb", "\u202egnp.exe", "s" * 4096, "%00", "\0", "\U0001f600", "A|B", "CON",
           "'; DROP TABLE events; --",
           "é", "e\u0301", " ", "$(id)", "<b>"]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: repr(name)[:24])
def test_hostile_names_are_only_data(name: str, tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A session, folder, branch, tool, call or record of any name is kept under that name and touches nothing."""
    claude = Claude(name, f"/gone/{name}", gitBranch=name, agentId=name, uuid=name)
    before = sorted(os.listdir(tmp_path))
    path = write(tmp_path / "in" / "a.jsonl", claude.user("hello there"), claude.call(name, name, file_path=name))
    ingest(path)
    kept = name.replace("\0", "\u2400")
    assert [kind for kind, _ in timeline(store, kept)] == ["user_prompt", "tool_call"]
    assert store.projects.of_path(f"/gone/{kept}") is not None
    assert sorted(os.listdir(tmp_path)) == sorted([*before, "in"])
    store.index.catch_up()
    assert_whole(store, path)


def test_a_file_name_that_is_no_text_is_read_like_any_other(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A name of undecodable bytes has a cursor of its own."""
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.jsonl"))
    write(path, {"type": "user", "message": {"content": "hello there"}})
    ingest(path)
    assert ingest(path).bytes_read == 0
    write(path, prompt("again"), append=True)
    ingest(path)
    path.rename(tmp_path / "plain.jsonl")
    ingest(tmp_path / "plain.jsonl")
    assert store.accounts.counts()["events"] == 2
    assert_accounted(store)


PEAK = """
import os, resource, sys
from howcome.__main__ import main
sys.argv[1:] = ["import", sys.argv[1], "--json"]
main()
if os.path.exists("/proc/self/status"):  # ru_maxrss also counts the process that this one was started from
    with open("/proc/self/status") as status:
        print(next(line.split()[1] for line in status if line.startswith("VmHWM")), file=sys.stderr)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def run_import(path: Path) -> tuple[dict[str, Any], int]:
    """Imports in a process of its own: its report, and its peak memory in bytes."""
    done = subprocess.run([sys.executable, "-c", PEAK, path], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout), int(done.stderr.split()[-1]) * 1024


def test_a_line_of_100_mb_is_quarantined_without_being_held(tmp_path: Path, store_folder: Path) -> None:
    """Its size and hash are a row; memory stays bounded and the lines around it are read."""
    path = tmp_path / "a.jsonl"
    with write(path, prompt("before", 10)).open("ab") as stream:
        for _ in range(100):
            stream.write(b"x" * (1 << 20))
        stream.write(b"\n" + prompt("after", 20))
    report, peak = run_import(path)
    assert (report["accepted"], report["quarantined"], report["bytes"]) == (2, 1, path.stat().st_size)
    assert peak < 300 << 20
    store = SqliteStore(str(store_folder))
    assert store.quarantine.reasons() == {"oversize": 1}
    assert store.quarantine.newest()[0]["size_bytes"] == (100 << 20) + 1
    assert_whole(store, path)
    store.close()


@pytest.mark.parametrize("content", ["words", "one word"])
def test_a_line_just_under_the_limit_is_kept_whole(content: str, tmp_path: Path, store_folder: Path) -> None:
    """A tool result of almost 16 MB is stored in full, found, and does not take the machine."""
    claude = Claude()
    room = MAX_LINE_BYTES - len(lines([claude.result("t1", "")])) - 10
    text = ("the quayside ledger " * (room // 20 + 1) if content == "words" else "A" * room)[:room]
    path = write(tmp_path / "a.jsonl", claude.result("t1", text), claude.text("after it"))
    started = time.monotonic()
    report, peak = run_import(path)
    assert (report["accepted"], report["quarantined"]) == (2, 0)
    assert peak < 600 << 20
    assert time.monotonic() - started < 60
    store = SqliteStore(str(store_folder))
    assert timeline(store, SESSION)[0] == ("tool_result", text)
    assert_whole(store, path)
    store.close()
