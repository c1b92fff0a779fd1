"""Every complete record on disk is in the store exactly once, whatever happens to its file."""

import gzip
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, Codex, lines, write
from tests.checks import account, assert_accounted, assert_whole, keys, memberships, timeline
from tests.conftest import Ingest

from howcome.clients.files import HEAD_BYTES
from howcome.errors import TranscriptError
from howcome.ingest.exclusion import Places
from howcome.store.sqlite import SqliteStore

DAY_MS = 24 * 3600 * 1000
Suffix = pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])


def unpacked_size(path: Path) -> int:
    """The size of a transcript's content."""
    return len(gzip.decompress(path.read_bytes())) if path.suffix == ".gz" else path.stat().st_size


@Suffix
def test_reading_a_file_twice_is_reading_it_once(name: str, tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The second pass reads nothing; a pass over the same content anew adds nothing."""
    records = Claude().conversation(4)
    path = write(tmp_path / name, *records)
    first, second = ingest(path), ingest(path)
    assert (first.counts["accepted"], first.counts["ignored"], second.bytes_read) == (20, 5, 0)
    os.utime(path)
    assert ingest(path).bytes_read == 0
    assert len(timeline(store, Claude().session)) == 20
    assert_whole(store, path, unpacked_size(path))


@Suffix
def test_a_growing_file_is_read_from_where_it_was_left(
    name: str, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Each pass reads what was appended, and the whole is there in its order."""
    claude, path, total = Claude(), tmp_path / name, 0
    for number in range(5):
        records = claude.exchange(f"berth{number}")
        write(path, *records, append=True)
        total += len(lines(records))
        assert ingest(path).bytes_read == len(lines(records))
    assert [text for kind, text in timeline(store, claude.session) if kind == "user_prompt"] == [
        f"why does berth{number} fail?" for number in range(5)
    ]
    assert_whole(store, path, total)


def test_history_appended_again_adds_nothing(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A compaction that writes the whole history into its own file a second time is all duplicates."""
    path = write(tmp_path / "a.jsonl", *Claude().conversation(3))
    ingest(path)
    before, content = timeline(store, Claude().session), path.read_bytes()
    write(path, content, content, append=True)
    report = ingest(path)
    assert (report.counts["accepted"], report.counts["duplicate"]) == (0, 30)
    assert timeline(store, Claude().session) == before
    assert_whole(store, path)


def test_an_envelope_that_changed_does_not_make_a_record_new(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """The same record with other fields around its content is the same record."""
    record = Claude().user("why is the crane slow?")
    ingest(write(tmp_path / "a.jsonl", record, record | {"version": "9.9", "slug": "crane", "parentUuid": None}))
    assert store.accounts.counts()["events"] == 1


@pytest.mark.parametrize("fork_first", [False, True])
def test_a_fork_adds_nothing_and_is_still_whole(
    fork_first: bool, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Copied records under a new session are no new events, and both timelines are complete, read in any order."""
    parent = Claude()
    copied = parent.conversation(3)
    fork = Claude("11111111-0000-4000-8000-00000000f000", start=parent.number)
    own = fork.exchange("quay")
    a = write(tmp_path / "a.jsonl", *copied)
    b = write(tmp_path / "b.jsonl", *[record | {"sessionId": fork.session} for record in copied], *own)
    for path in (b, a) if fork_first else (a, b):
        ingest(path)
    assert store.accounts.counts()["events"] == 20
    assert len(timeline(store, parent.session)) == 15
    assert timeline(store, fork.session)[:15] == timeline(store, parent.session)
    assert len(timeline(store, fork.session)) == 20
    assert_accounted(store)


def test_one_uuid_on_many_contents_keeps_them_all(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """274 different contents under one uuid are 274 events; a copy of one is none."""
    claude = Claude()
    records = [claude.text(f"hook context {number}") | {"uuid": "same"} for number in range(274)]
    ingest(write(tmp_path / "a.jsonl", *records, records[7]))
    assert len(timeline(store, claude.session)) == 274
    assert account(store, tmp_path / "a.jsonl")["duplicate"] == 1


def test_a_line_belongs_to_the_session_that_it_names(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A line of session B in A's file is B's, whatever the file is called."""
    a, b = Claude("session-a"), Claude("session-b")
    ingest(write(tmp_path / "session-a.jsonl", a.user("first of a"), b.user("first of b"), a.text("answer of a")))
    assert timeline(store, "session-a") == [("user_prompt", "first of a"), ("assistant_text", "answer of a")]
    assert timeline(store, "session-b") == [("user_prompt", "first of b")]


@pytest.mark.parametrize("place", ["{session}/subagents/agent-a17.jsonl", "agent-a17.jsonl"])
def test_a_subagents_file_belongs_to_its_parent(place: str, tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Beside the session's file or below it: the events are the session's."""
    claude, agent = Claude(), Claude(isSidechain=True, agentId="a17", start=100)
    ingest(write(tmp_path / f"{claude.session}.jsonl", claude.user("find it")))
    ingest(write(tmp_path / place.format(session=claude.session), agent.user("find the table"), agent.text("here")))
    assert [kind for kind, _ in timeline(store, claude.session)] == ["user_prompt", "assistant_text", "assistant_text"]


def test_a_session_that_begins_without_a_folder_does_not_swallow_the_others(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """What has no folder belongs to no project in particular; what names one belongs to that, also when it is gone."""
    claude = Claude(cwd="/gone/harbour")
    bare = {name: value for name, value in claude.user("hello there").items() if name != "cwd"}
    ingest(write(tmp_path / "a.jsonl", bare, *claude.exchange("berth")))
    project = store.projects.of_path("/gone/harbour")
    found = [row[0] for row in store.connection.execute("SELECT project_id FROM events ORDER BY id")]
    assert project is not None
    assert found[1:] == [project] * 5
    assert found[0] != project


def test_records_without_a_session_belong_to_their_file(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The file's name is the last resort."""
    ingest(write(tmp_path / "lonely.jsonl", {"type": "user", "message": {"content": "hello there"}}))
    assert timeline(store, "lonely") == [("user_prompt", "hello there")]


def test_equal_words_without_id_and_time_are_all_kept(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Saying "continue" twice in a format without ids is two events, and reading it again adds none."""
    item: dict[str, Any] = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "continue"}]}
    head: dict[str, Any] = {"id": "old-1", "timestamp": "2026-03-02T09:00:00Z"}
    path = write(tmp_path / "rollout-old-1.jsonl", head, item, item, item)
    ingest(path, "codex")
    shutil.copy(path, tmp_path / "copy.jsonl")
    ingest(tmp_path / "copy.jsonl", "codex")
    assert timeline(store, "old-1") == [("user_prompt", "continue")] * 3


def test_a_codex_rollout_is_accounted_for(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """State of the head is kept with the cursor: lines read later belong to the same session and folder."""
    codex = Codex()
    path = write(tmp_path / "rollout.jsonl", codex.meta(), codex.message("user", "why?"), codex.call("c", ["ls"]))
    ingest(path, "codex")
    write(path, codex.output("c", "no", 2), codex.message("assistant", "because"), append=True)
    ingest(path, "codex")
    assert [kind for kind, _ in timeline(store, codex.session)] == [
        "user_prompt", "tool_call", "tool_result", "assistant_text"
    ]  # fmt: skip
    (tool,) = store.connection.execute("SELECT tool FROM events WHERE kind = 4").fetchone()
    assert tool == "shell"
    assert_whole(store, path)


def long_conversation() -> list[dict[str, Any]]:
    """More than the head that is fingerprinted."""
    found = Claude().conversation(8)
    assert len(lines(found)) > 2 * HEAD_BYTES
    return found


@pytest.mark.parametrize("is_running", [True, False])
@pytest.mark.parametrize("kept", [0, 1, 7, 30])
def test_a_truncated_file_is_read_anew_and_loses_nothing(
    is_running: bool, kept: int, tmp_path: Path, store_folder: Path
) -> None:
    """Shorter than before: a new generation, old rows stay; also when it was cut while nobody looked."""
    records, later = long_conversation(), Claude(start=500).conversation(2, "quay")
    path = write(tmp_path / "a.jsonl", *records)
    store = SqliteStore(str(store_folder))
    ingest = Ingest(store)
    ingest(path)
    if not is_running:
        store.close()
        store = SqliteStore(str(store_folder))
        ingest = Ingest(store)
    write(path, *records[:kept])
    if is_running:
        ingest(path)
    write(path, *later, append=True)
    ingest(path)
    assert store.accounts.counts()["events"] == 50
    assert_whole(store, path)
    store.close()


@pytest.mark.parametrize("change", ["head", "before the offset", "everything", "larger", "emptied lines"])
def test_a_file_rewritten_in_place_is_read_anew(
    change: str, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Other bytes under the same name, of the same size or more: what is new in them is found."""
    records = long_conversation()
    path = write(tmp_path / "a.jsonl", *records)
    ingest(path)
    content = path.read_bytes()
    changed = {
        "head": content.replace(b"berth0", b"crane0"),
        "before the offset": content.replace(b"berth7", b"crane7"),
        "everything": content.replace(b"berth", b"crane"),
        "larger": content.replace(b"berth", b"longer subject") + lines(Claude(start=900).exchange("quay")),
        "emptied lines": lines([record | {"message": {"content": ""}} for record in records]) + content[-40_000:],
    }[change]
    path.write_bytes(changed)
    os.utime(path, ns=(1, 1))
    ingest(path)
    expected = {"head": 45, "before the offset": 45, "everything": 80, "larger": 85, "emptied lines": 40}[change]
    assert store.accounts.counts()["events"] == expected
    last = max(int(str(row["generation"])) for row in store.accounts.sources())
    assert last == 2
    assert_accounted(store)


def test_the_fingerprint_before_the_offset_survives_short_passes(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """A pass that reads only a blank line must not make the fingerprint blank."""
    path = write(tmp_path / "a.jsonl", *long_conversation())
    ingest(path)
    write(path, b"\n", append=True)
    ingest(path)
    content = path.read_bytes()
    path.write_bytes(content.replace(b"berth7", b"crane7") + lines(Claude(start=900).exchange("quay")))
    ingest(path)
    assert store.accounts.counts()["events"] == 50


@pytest.mark.parametrize("how", ["renamed", "folder moved", "rotated", "hard link", "copy"])
def test_a_file_under_another_name_is_the_same_records(
    how: str, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Moved files keep their cursor; links and copies are read and found to be known."""
    old, claude = tmp_path / "p" / "a.jsonl", Claude()
    write(old, *claude.conversation(8))
    size = old.stat().st_size
    ingest(old)
    new = tmp_path / ("q/a.jsonl" if how == "folder moved" else "p/b.jsonl")
    if how == "folder moved":
        old.parent.rename(new.parent)
    elif how == "hard link":
        new.hardlink_to(old)
    elif how == "copy":
        shutil.copy(old, new)
    else:
        old.rename(new)
    if how == "rotated":
        write(old, *Claude("second", start=300).conversation(1))
        ingest(old)
    write(new, *claude.exchange("quay"), append=True)
    report = ingest(new)
    is_known = how in ("renamed", "folder moved")
    assert report.bytes_read == new.stat().st_size - (size if is_known else 0)
    assert report.counts["accepted"] == 5
    assert store.accounts.counts()["events"] == 45 + (5 if how == "rotated" else 0)
    assert_whole(store, new)


def test_a_name_used_again_is_a_new_generation(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Deleted and created anew under the same name (and inode) again and again: nothing is lost."""
    path = tmp_path / "a.jsonl"
    for number in range(6):
        path.unlink(missing_ok=True)
        write(path, *Claude(f"session-{number}", start=100 * number).conversation(1 + number % 3))
        ingest(path)
        assert_whole(store, path)
    assert store.accounts.counts()["events"] == 5 * (1 + 2 + 3) * 2
    assert len(store.accounts.sources()) == 6


def test_a_file_that_is_gone_is_a_transcript_error(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The client deletes files by age, also between looking and reading; what was stored stays."""
    path = write(tmp_path / "a.jsonl", *Claude().conversation(1))
    ingest(path)
    path.unlink()
    with pytest.raises(TranscriptError):
        ingest(path)
    assert store.accounts.counts()["events"] == 5


def test_excluded_folders_leave_no_trace_but_their_count(tmp_path: Path, store: SqliteStore) -> None:
    """By the user's settings or a repository's own file: counted as ignored, nothing stored, nothing named."""
    (tmp_path / "quiet" / ".git").mkdir(parents=True)
    (tmp_path / "quiet" / ".howcome.toml").write_text("capture = false\n")
    records = [
        *Claude("s1", str(tmp_path / "secret" / "x")).exchange("ledger"),
        *Claude("s2", str(tmp_path / "quiet")).exchange("ledger"),
        *Claude("s3", str(tmp_path / "open")).exchange("berth"),
    ]  # fmt: skip
    path = write(tmp_path / "a.jsonl", *records)
    Ingest(store, Places([str(tmp_path / "secret")]))(path)
    assert (account(store, path)["accepted"], account(store, path)["ignored"]) == (5, 10)
    assert memberships(store) == {("s3", key) for key in keys(store)}
    assert [root for _, root in store.projects.roots()] == [str(tmp_path / "open")]
    assert_whole(store, path)
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert b"ledger" not in Path(store.path).read_bytes()


def test_a_secret_in_an_open_call_is_not_kept_with_the_cursor(
    tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """What the reader remembers of a call until its result comes is redacted like everything else."""
    secret = "ghp_" + "Zx9Qw8Er7Ty6Ui5Op4As3Df2Gh1Jk0Lq5Wm7"
    path = write(tmp_path / "a.jsonl", Claude().call("Read", "t1", path=f"https://mara:{secret}@git.example.invalid/x"))
    ingest(path)
    write(path, Claude(start=50).result("t1", "denied", is_error=True), append=True)
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert secret.encode() not in Path(store.path).read_bytes()
    ingest(path)
    files = [row[0] for row in store.connection.execute("SELECT file FROM events")]
    assert len(files) == 2
    assert files[0] == files[1]
    assert secret not in files[0]
