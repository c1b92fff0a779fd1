"""The spool's file, and the observations in it: nothing torn, nothing lost, nothing kept that cannot be read again."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples
from tests.processes import WITH_SMALL_FILES, python

from howcome.clients import spool
from howcome.clients.decode import decode_record
from howcome.clients.observed import check_observation, read_observation
from howcome.domain import events
from howcome.errors import StoreError, StoreLockedError, UsageError

GOOD: dict[str, Any] = {"agent": "cursor", "session_id": "7f3a", "cwd": "/home/mara/harbour", "text": "berth 7 is free"}


def lines_of(home: Path) -> list[dict[str, Any]]:
    """Every whole line in the spool, claimed or not."""
    paths = sorted((home / "spool").glob("*.jsonl"))
    return [json.loads(line) for path in paths for line in path.read_bytes().splitlines() if line]


# -- the file -------------------------------------------------------------------------------------------------------
def test_what_is_appended_is_for_its_owner_only(tmp_path: Path) -> None:
    """Folders 0700, files 0600, whatever the umask; each line has an id and a time of its own."""
    old = os.umask(0)
    try:
        assert spool.append(str(tmp_path / "home"), [GOOD, GOOD]) == 2
    finally:
        os.umask(old)
    folder = tmp_path / "home" / "spool"
    assert stat.S_IMODE(folder.stat().st_mode) == stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    first, second = lines_of(tmp_path / "home")
    assert first["id"] != second["id"]
    assert abs(first["ts_ms"] - time.time() * 1000) < 60_000
    folder.chmod(0o755)
    spool.append(str(tmp_path / "home"), [GOOD])
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_nothing_appended_makes_nothing(tmp_path: Path) -> None:
    """No observation, no folder; and asking what is there makes none either."""
    home = str(tmp_path / "home")
    assert spool.append(home, []) == 0
    assert spool.is_empty(home)
    assert spool.spool_counts(home)["waiting"] == spool.spool_counts(home)["dead"] == 0
    assert spool.discard_dead(home) == 0
    assert not os.path.exists(home)


def test_a_line_that_a_killed_writer_left_swallows_no_other(tmp_path: Path) -> None:
    """The next line begins on a line of its own."""
    home = str(tmp_path)
    spool.append(home, [GOOD])
    with (tmp_path / "spool" / spool.LIVE).open("ab") as stream:
        stream.write(b'{"agent": "cur')
    spool.append(home, [GOOD | {"id": "next"}])
    lines = (tmp_path / "spool" / spool.LIVE).read_bytes().splitlines()
    assert lines[1] == b'{"agent": "cur'
    assert json.loads(lines[2])["id"] == "next"


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_the_spool_is_a_plain_file(kind: str, tmp_path: Path) -> None:
    """Nothing is written through a link, into a pipe or a folder; the message names the file."""
    (tmp_path / "spool").mkdir()
    path, target = tmp_path / "spool" / spool.LIVE, tmp_path / "elsewhere"
    if kind == "link":
        target.write_text("")
        path.symlink_to(target)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StoreError, match=r"observations\.jsonl"):
        spool.append(str(tmp_path), [GOOD])
    assert not target.exists() or target.read_text() == ""


def test_without_room_all_or_nothing_is_kept(tmp_path: Path) -> None:
    """Where the file may not grow, what was there stays whole, nothing of the rest is there, and the caller is told."""
    script = """
import sys
from howcome.clients import spool
from howcome.errors import StoreError
kept = 0
for number in range(100):
    try:
        kept += spool.append(sys.argv[1], [{"number": number, "text": "x" * 100}] * 3)
    except StoreError as error:
        assert "observations.jsonl" in str(error), error
        print(kept)
        sys.exit(0)
"""
    done = subprocess.run(
        [*python(WITH_SMALL_FILES, "5000"), *python(script, tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert len(lines_of(tmp_path)) == int(done.stdout) > 0


def test_a_large_file_becomes_a_batch(tmp_path: Path) -> None:
    """One batch fits the time of one hook: the file does not grow for ever."""
    large = {"text": "x" * 500_000}
    for _ in range(10):
        spool.append(str(tmp_path), [large])
    assert len(list((tmp_path / "spool").glob("batch-*.jsonl"))) == 1
    assert len(lines_of(tmp_path)) == 10
    assert spool.spool_counts(str(tmp_path))["waiting"] == 10


APPENDER = """
import sys
from howcome.clients import spool
for number in range(int(sys.argv[3])):
    text = "x" * (number % 700)
    spool.append(sys.argv[1], [{"id": f"{sys.argv[2]}.{number}.{part}", "text": text} for part in (0, 1)])
"""
CLAIMER = """
import os, sys
from howcome.clients import spool
from howcome.errors import StoreLockedError
while True:
    try:
        with spool.claiming(sys.argv[1]):
            for path in spool.claim(sys.argv[1]):
                with open(path, "rb") as batch, open(sys.argv[2], "ab") as moved:
                    moved.write(batch.read())
                os.unlink(path)
    except StoreLockedError:
        pass
"""


def test_appends_and_claims_at_once_lose_and_tear_nothing(tmp_path: Path) -> None:
    """Four writers, and two claimers that take batches away: every line is somewhere once, and whole."""
    rounds, moved = 400, tmp_path / "moved.jsonl"
    claimers = [subprocess.Popen(python(CLAIMER, tmp_path, moved)) for _ in range(2)]
    writers = [
        subprocess.Popen(python(APPENDER, tmp_path, str(number), str(rounds)), stderr=subprocess.PIPE)
        for number in range(4)
    ]
    for writer in writers:
        _, error = writer.communicate(timeout=60)
        assert (writer.returncode, error) == (0, b""), error.decode()
    while not spool.is_empty(str(tmp_path)):
        time.sleep(0.01)
    for claimer in claimers:
        claimer.kill()
        claimer.wait()
    found = [json.loads(line)["id"] for line in moved.read_bytes().splitlines()]
    assert sorted(found) == sorted(f"{w}.{n}.{p}" for w in range(4) for n in range(rounds) for p in (0, 1))


HOLDER = """
import sys, time
from howcome.clients import spool
with spool.locked(sys.argv[1], 5):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_lock_ends_with_its_holder(tmp_path: Path) -> None:
    """While it is held others wait and then say so; a killed holder lets go of it at once."""
    path = tmp_path / "a.lock"
    holder = subprocess.Popen(python(HOLDER, path), stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    started = time.monotonic()
    with pytest.raises(StoreLockedError, match=r"a\.lock"), spool.locked(str(path), 0.1):
        pytest.fail("two hold it")
    assert 0.1 <= time.monotonic() - started < 30
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    holder.stdout.close()
    with spool.locked(str(path), 0.0):
        pass


def test_the_key_is_made_once(tmp_path: Path) -> None:
    """Many processes ask for it at once: one key, 0600; half a key is made whole."""
    script = "import sys; from howcome.clients.spool import key_of; print(key_of(sys.argv[1]).hex())"
    askers = [subprocess.Popen(python(script, tmp_path), stdout=subprocess.PIPE) for _ in range(6)]
    assert len({asker.communicate(timeout=60)[0] for asker in askers}) == 1
    (tmp_path / "spool" / "key").write_bytes(b"half")
    assert len(spool.key_of(str(tmp_path))) == 32 == (tmp_path / "spool" / "key").stat().st_size
    assert spool.key_of(str(tmp_path)) == spool.key_of(str(tmp_path))


def test_a_spool_that_cannot_be_made_is_an_error_with_its_place(tmp_path: Path) -> None:
    """A file where the home should be: one line that names it."""
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match="home"):
        spool.append(str(tmp_path / "home"), [GOOD])
    assert spool.spool_counts(str(tmp_path / "home"))["waiting"] == 0


def test_appending_loads_the_standard_librarys_cheap_half(tmp_path: Path) -> None:
    """It is called by agents' hooks: nothing of ours but the spool, nothing dear."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); from howcome.clients import spool;"
        ' spool.append(sys.argv[1], [{"text": "x"}]); print(*sorted(sys.modules))'
    )
    words = [sys.executable, "-I", "-S", "-c", script, str(tmp_path), str(Path(spool.__file__).parents[2])]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"typing", "dataclasses", "pathlib", "hashlib", "logging", "subprocess", "datetime", "click"}
    assert {name for name in loaded if name.startswith("howcome")} == {
        "howcome", "howcome.clients", "howcome.clients.spool", "howcome.errors",
    }  # fmt: skip


# -- observations ---------------------------------------------------------------------------------------------------
BAD: list[tuple[Any, str]] = [
    ([], "not an object"), ("text", "not an object"), (None, "not an object"),
    ({**GOOD, "agent": ""}, "agent"), ({**GOOD, "agent": "a b"}, "agent"), ({**GOOD, "agent": 7.5}, "agent: "),
    ({**GOOD, "agent": "../x"}, "agent"), ({**GOOD, "agent": "x" * 65}, "agent"),
    ({**GOOD, "session_id": ""}, "session_id"), ({**GOOD, "session_id": " "}, "session_id"),
    ({**GOOD, "session_id": 7}, "session_id"), ({**GOOD, "session_id": "a\nb"}, "session_id"),
    ({**GOOD, "session_id": "x" * 1025}, "session_id"), ({**GOOD, "session_id": None}, "session_id"),
    ({**GOOD, "cwd": "harbour"}, "cwd"), ({**GOOD, "cwd": 7}, "cwd"), ({**GOOD, "cwd": "/a\x00b\n"}, "cwd"),
    ({**GOOD, "cwd": "/" + "x" * 4096}, "cwd"), ({**GOOD, "kind": "guess"}, "kind"), ({**GOOD, "kind": []}, "kind"),
    ({**GOOD, "text": ""}, "text"), ({**GOOD, "text": "\n \t"}, "text"), ({**GOOD, "text": ["x"]}, "text"),
    ({**GOOD, "text": "x" * 4_000_001}, "text"), ({**GOOD, "text": None}, "text"),
    ({**GOOD, "ts": "yesterday"}, "ts"), ({**GOOD, "ts": -1}, "ts"), ({**GOOD, "ts": True}, "ts"),
    ({**GOOD, "ts_ms": 1.5}, "ts_ms"), ({**GOOD, "ts_ms": -1}, "ts_ms"), ({**GOOD, "ts_ms": 10**14}, "ts_ms"),
    ({**GOOD, "id": ""}, "id"), ({**GOOD, "id": 1.5}, "id"), ({**GOOD, "id": True}, "id"),
    ({**GOOD, "failed": "no"}, "failed"), ({**GOOD, "exit_code": "2"}, "exit_code"),
    ({**GOOD, "exit_code": True}, "exit_code"), ({**GOOD, "exit_code": 2**40}, "exit_code"),
    ({**GOOD, "tool_input": {"a": 1}}, "tool_input"), ({**GOOD, "kind": "call", "tool_input": [1]}, "tool_input"),
    ({**GOOD, "kind": "tool_call"}, "tool"), ({**GOOD, "kind": "tool_result"}, "tool"),
    ({**GOOD, "tool": ""}, "tool"), ({**GOOD, "file": 3}, "file"), ({**GOOD, "branch": "a\x1b[2J"}, "branch"),
    ({**GOOD, "v": 2}, "v: 2"), ({**GOOD, "extra": json.loads("[" * 300 + "]" * 300)}, "too-deep"),
]  # fmt: skip


@pytest.mark.parametrize(("value", "begins"), BAD, ids=lambda item: ascii(item)[:40])
def test_what_cannot_be_kept_is_refused_by_its_field(value: Any, begins: str) -> None:
    """The message begins with what is wrong."""
    with pytest.raises(UsageError) as caught:
        check_observation(value)
    assert str(caught.value).startswith(begins)


@pytest.mark.parametrize(
    ("word", "kind"),
    [("prompt", "user_prompt"), ("user", "user_prompt"), ("assistant", "assistant_text"),
     ("thinking", "assistant_thinking"), *((kind, kind) for kind in events.KINDS)],
)  # fmt: skip
def test_kinds_have_synonyms(word: str, kind: str) -> None:
    """Agents' own words for the same thing."""
    assert check_observation({**GOOD, "tool": "shell", "kind": word})["kind"] == kind


def test_what_is_not_said_is_filled_in() -> None:
    """The agent and the folder of the caller, the agent's words by default; unknown fields are left out."""
    kept = check_observation({"session_id": "s", "text": "t", "mood": 7}, agent="Aider", cwd="/home/mara/x/../quay")
    assert kept == {
        "v": 1, "agent": "aider", "session_id": "s", "text": "t", "kind": "assistant_text", "cwd": "/home/mara/quay",
    }  # fmt: skip


def test_a_result_with_its_input_is_a_call_and_its_result() -> None:
    """As a hook after a command sees it: two events that belong together; the exit code says whether it failed."""
    kept = check_observation({
        **GOOD, "kind": "tool_result", "tool": "shell", "tool_input": {"command": "make"}, "exit_code": 2, "id": 9,
        "text": "no rule",
    })  # fmt: skip
    call, result = read_observation(kept)
    assert (call.kind, call.tool, call.input, call.text) == ("tool_call", "shell", {"command": "make"}, "")
    assert (result.kind, result.text, result.failed, result.exit_code) == ("tool_result", "no rule", True, 2)
    assert call.tool_use_id == result.tool_use_id == "9"
    assert (call.record_id, call.block) != (result.record_id, result.block)
    assert (call.failed, call.origin, result.origin) == (None, "assistant", "tool")


def test_events_say_whose_words_they_are() -> None:
    """Origins by kind; the file from the input; our own injected blocks are nobody's words; text of a call is kept."""
    [prompt] = read_observation(check_observation({**GOOD, "kind": "prompt", "id": "1"}))
    assert (prompt.client, prompt.session_id, prompt.origin) == ("cursor", "7f3a", "user")
    echo = 'so <howcome-memory id="ab">old words</howcome-memory> then'
    [answer] = read_observation(check_observation({**GOOD, "text": echo, "id": "1"}))
    assert (answer.text, answer.origin) == ("so  then", "assistant")
    [call] = read_observation(
        check_observation({
            **GOOD, "kind": "call", "tool": "edit", "id": "1", "text": "why", "tool_input": {"file_path": "/a/b.py"},
        })
    )  # fmt: skip
    assert (call.file, call.input) == ("/a/b.py", {"text": "why", "file_path": "/a/b.py"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=8,
)  # fmt: skip
fields = st.sampled_from(
    ["agent", "session_id", "cwd", "kind", "text", "tool", "tool_input", "file", "failed", "exit_code", "ts", "ts_ms",
     "id", "branch", "v"]
)  # fmt: skip
likely = st.sampled_from([
    "cursor", "/home/mara", "prompt", "tool_result", "tool_call", 7, 0, -3, 2**70, "2026-10-05T12:00:00Z",
    "1970-01-02T00:00:00Z", True, {"command": "make"}, "\ud800", "\x00", "x",
])  # fmt: skip


@settings(max_examples=examples(400), deadline=None)
@given(st.dictionaries(fields, likely | json_values, max_size=8))
def test_what_is_kept_can_be_read_again(given_: dict[str, Any]) -> None:
    """Any value is refused, or kept so that the spool's line gives the same observation and its events."""
    try:
        kept = check_observation({"agent": "cursor", "session_id": "s", "text": "t", **given_})
        line = spool.encode(kept)
    except (UsageError, ValueError):  # ValueError: NaN in a tool's input
        return
    again = check_observation(decode_record(line, None))
    assert {**again, **kept} == again
    assert read_observation(again)
