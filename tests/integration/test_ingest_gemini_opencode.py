"""Histories that are no files of lines are in the store exactly once too, whatever happens to them."""

import json
import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.builders import CWD, Claude, Codex, write
from tests.checks import account, assert_accounted, assert_whole, timeline
from tests.conftest import Ingest
from tests.histories import GEMINI_SESSION, START_MS, Gemini, OpenCode, gemini_project
from tests.processes import ask

from howcome.clients import gemini_records as gemini
from howcome.clients.base import is_plain
from howcome.clients.discover import known_transcripts, named_transcripts, sniff
from howcome.errors import TranscriptError
from howcome.store.sqlite import SqliteStore

HOUR_MS = 3600 * 1000
DAY_MS = 24 * HOUR_MS


@pytest.fixture
def database(home: Path) -> Path:
    """Where OpenCode keeps its sessions."""
    return home / ".local" / "share" / "opencode" / "opencode.db"


def current(store: SqliteStore, path: object) -> dict[str, Any]:
    """The account of the current generation of a source."""
    return account(store, path)  # type: ignore[arg-type]


# -- Gemini CLI --------------------------------------------------------------------------------------------------------
def test_a_recording_is_read_once_as_it_grows(home: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Messages that are written again add only what is new in them; the place names the project."""
    chat, path = Gemini(), gemini_project(home) / "session-2026-03-02T09-00-9e1f0000.jsonl"
    write(path, chat.head())
    for subject in ("berth", "quay", "crane"):
        for record in chat.exchange(subject):
            write(path, record, {"$set": {"lastUpdated": "x"}}, append=True)
            ingest(path, "gemini")
    assert ingest(path, "gemini").bytes_read == 0
    assert len(timeline(store, GEMINI_SESSION)) == store.accounts.counts()["events"] == 18
    assert store.projects.of_path(CWD) is not None
    assert_whole(store, path)


def test_a_document_that_is_rewritten_is_read_on_from_where_it_was(
    home: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Its lines stay, so the cursor keeps its place; taken over as lines by a newer version it adds nothing."""
    chat, path = Gemini(), gemini_project(home) / "session-2026-03-02T09-00-9e1f0000.json"
    messages = []
    for number in range(4):
        messages += chat.exchange(f"berth{number}")
        write(path, chat.document(*messages))
        ingest(path, "gemini")
    known = current(store, path)
    assert (known["generation"], known["duplicate"], known["accepted"]) == (1, 0, 24)
    assert known["offset"] == len(gemini.unfold(path.read_bytes()))
    newer = write(path.with_suffix(".jsonl"), chat.head(), *messages, {"$set": {"messages": messages[-1:]}})
    assert ingest(newer, "gemini").counts["accepted"] == 0
    assert len(timeline(store, GEMINI_SESSION)) == 24
    assert_accounted(store)


def test_a_history_that_was_changed_is_a_new_generation(home: Path, store: SqliteStore, ingest: Ingest) -> None:
    """What is gone from the document stays in the store; what is new is added."""
    chat, path = Gemini(), gemini_project(home) / "session-1.json"
    messages = [*chat.exchange("berth"), *chat.exchange("quay")]
    ingest(write(path, chat.document(*messages)), "gemini")
    ingest(write(path, chat.document(*messages[:5], *chat.exchange("crane"))), "gemini")
    assert current(store, path)["generation"] == 2
    assert len(timeline(store, GEMINI_SESSION)) == 18
    assert_accounted(store)


def test_a_document_caught_half_written_is_tried_again(home: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Nothing is quarantined, nothing lost."""
    chat, path = Gemini(), gemini_project(home) / "session-1.json"
    whole = chat.document(*chat.exchange("berth"))
    ingest(write(path, whole), "gemini")
    write(path, chat.document(*chat.exchange("quay"))[:-40])
    with pytest.raises(TranscriptError, match="not a whole document"):
        ingest(path, "gemini")
    ingest(write(path, whole), "gemini")
    assert store.accounts.counts()["events"] == 6
    assert current(store, path)["quarantined"] == 0
    assert_accounted(store)


def test_a_subagents_recording_is_in_its_sessions_timeline(home: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Beside the session's own words."""
    chats, chat, agent = gemini_project(home), Gemini(), Gemini("sub-1", kind="subagent")
    ingest(write(chats / "session-1.jsonl", chat.head(), chat.user("find it")), "gemini")
    path = write(chats / GEMINI_SESSION / "sub-1.jsonl", agent.head(), agent.user("find the table"))
    ingest(path, "gemini")
    ingest(write(path, agent.said("here"), append=True), "gemini")
    kinds = [kind for kind, _ in timeline(store, GEMINI_SESSION)]
    assert kinds == ["user_prompt", "assistant_text", "assistant_text"]


# -- OpenCode ----------------------------------------------------------------------------------------------------------
def test_a_database_is_read_once_as_it_grows(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Each session from where it was left; an untouched database is not opened, an untouched session not read."""
    chat, other = OpenCode(), OpenCode("ses_b2")
    other.exchange("crane")
    other.save(database)
    total = 0
    for number in range(4):
        chat.exchange(f"berth{number}")
        total += ingest(chat.save(database), "opencode").bytes_read
    assert ingest(database, "opencode").bytes_read == 0
    assert (len(timeline(store, "ses_b1")), len(timeline(store, "ses_b2"))) == (20, 5)
    for session in ("ses_b1", "ses_b2"):
        known = current(store, f"{database}#{session}")
        assert (known["generation"], known["duplicate"], known["quarantined"]) == (1, 0, 0)
    assert total == sum(current(store, f"{database}#{name}")["offset"] for name in ("ses_b1", "ses_b2"))
    assert current(store, database)["offset"] == 0
    assert_accounted(store)


def test_a_message_still_streaming_is_read_when_it_is_finished(
    database: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Also when nothing but the row that was there already changes."""
    ingest.clock_ms = START_MS + HOUR_MS
    chat = OpenCode()
    chat.message("user", {"type": "text", "text": "why?"})
    message = chat.message("assistant", chat.text("I lo", finished=False), completed=False)
    ingest(chat.save(database), "opencode")
    assert timeline(store, "ses_b1") == [("user_prompt", "why?")]
    (part,) = chat.parts[message].values()
    part |= {"text": "I look.", "time": {"start": part["time"]["start"], "end": START_MS}}
    ingest(chat.save(database), "opencode")
    chat.messages[message]["time"]["completed"] = START_MS
    ingest(chat.save(database), "opencode")
    assert timeline(store, "ses_b1") == [("user_prompt", "why?"), ("assistant_text", "I look.")]
    assert current(store, f"{database}#ses_b1")["generation"] == 1
    assert_accounted(store)


def test_what_was_never_finished_is_read_after_a_day(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The agent was killed: nobody touches the database any more."""
    chat = OpenCode()
    chat.message("assistant", chat.text("half of it", finished=False), completed=False)
    chat.save(database)
    os.utime(database, (START_MS // 1000, START_MS // 1000))
    ingest.clock_ms = START_MS + HOUR_MS
    ingest(database, "opencode")
    assert timeline(store, "ses_b1") == []
    ingest.clock_ms += DAY_MS
    ingest(database, "opencode")
    assert timeline(store, "ses_b1") == [("assistant_text", "half of it")]
    assert_accounted(store)


def test_a_message_that_still_streams_holds_back_what_was_typed_behind_it(
    database: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """What is said last may be finished first: read at once, it would stand before what comes later."""
    ingest.clock_ms = START_MS + HOUR_MS
    chat = OpenCode()
    chat.message("user", {"type": "text", "text": "why?"})
    message = chat.message("assistant", chat.text("I lo", finished=False), completed=False)
    chat.message("user", {"type": "text", "text": "and when?"})
    ingest(chat.save(database), "opencode")
    assert timeline(store, "ses_b1") == [("user_prompt", "why?")]
    (part,) = chat.parts[message].values()
    part |= {"text": "I look.", "time": {"start": part["time"]["start"], "end": START_MS}}
    chat.messages[message]["time"]["completed"] = START_MS
    ingest(chat.save(database), "opencode")
    said = [("user_prompt", "why?"), ("assistant_text", "I look."), ("user_prompt", "and when?")]
    assert timeline(store, "ses_b1") == said
    assert current(store, f"{database}#ses_b1")["generation"] == 1
    assert_accounted(store)


def test_a_message_that_was_given_up_holds_back_nothing(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The agent was killed in the middle of it, and the session went on."""
    ingest.clock_ms = START_MS + HOUR_MS
    chat = OpenCode()
    chat.message("assistant", chat.text("half of", finished=False), completed=False)
    chat.exchange("berth")
    ingest(chat.save(database), "opencode")
    assert len(timeline(store, "ses_b1")) == 6
    assert timeline(store, "ses_b1")[0] == ("assistant_text", "half of")
    assert_accounted(store)


def test_what_was_typed_behind_a_message_that_never_ended_is_read_after_a_day(
    database: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Also there nothing is lost, and a session that goes on then adds only what is new."""
    chat = OpenCode()
    chat.message("assistant", chat.text("half of it", finished=False), completed=False)
    chat.message("user", {"type": "text", "text": "go on"})
    chat.save(database)
    os.utime(database, (START_MS // 1000, START_MS // 1000))
    ingest.clock_ms = START_MS + 2 * DAY_MS
    ingest(database, "opencode")
    said = [("assistant_text", "half of it"), ("user_prompt", "go on")]
    assert timeline(store, "ses_b1") == said
    chat.exchange("berth")
    ingest(chat.save(database), "opencode")
    assert timeline(store, "ses_b1")[:2] == said
    assert len(timeline(store, "ses_b1")) == 7
    assert current(store, f"{database}#ses_b1")["duplicate"] == 0
    assert_accounted(store)


def test_a_session_that_moved_into_the_database_adds_nothing(
    database: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """The older files may stay or go; what is said later is added."""
    chat = OpenCode()
    chat.exchange("berth")
    old = chat.save_files(database.parent / "storage")
    assert ingest(old, "opencode").counts["accepted"] == 5
    assert ingest(old, "opencode").bytes_read == 0
    chat.save(database)
    moved = ingest(database, "opencode").counts
    assert (moved["accepted"], moved["duplicate"], moved["quarantined"]) == (0, 5, 0)
    shutil.rmtree(database.parent / "storage")
    chat.exchange("quay")
    assert ingest(chat.save(database), "opencode").counts["accepted"] == 5
    assert len(timeline(store, "ses_b1")) == 10
    assert_accounted(store)


def test_the_older_files_are_read_as_they_grow(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A part caught half-written waits with what follows it."""
    ingest.clock_ms = START_MS + HOUR_MS
    chat, storage = OpenCode(), database.parent / "storage"
    chat.exchange("berth")
    message = chat.message("assistant", chat.text("I look."), completed=False)
    path = chat.save_files(storage)
    torn = storage / "part" / message / "prt_x_99.json"
    torn.write_text('{"type": "tex')
    ingest(path, "opencode")
    assert len(timeline(store, "ses_b1")) == 6
    torn.write_text(json.dumps(chat.text("It is stale.")))
    ingest(path, "opencode")
    assert timeline(store, "ses_b1")[-1] == ("assistant_text", "It is stale.")
    known = current(store, path)
    assert (known["generation"], known["quarantined"]) == (1, 0)


def test_a_fork_adds_nothing_and_is_still_whole(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Copied messages have new ids and the same words: both timelines are complete."""
    chat = OpenCode()
    chat.exchange("berth")
    fork = chat.fork("ses_f1")
    fork.exchange("quay")
    chat.save(database)
    ingest(fork.save(database), "opencode")
    assert store.accounts.counts()["events"] == 10
    assert len(timeline(store, "ses_b1")) == 5
    assert timeline(store, "ses_f1")[:5] == timeline(store, "ses_b1")
    assert len(timeline(store, "ses_f1")) == 10


def test_a_copy_of_a_database_does_not_take_its_place(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The copy's sessions are known; one that was moved keeps its cursors."""
    chat = OpenCode()
    chat.exchange("berth")
    ingest(chat.save(database), "opencode")
    copy = Path(shutil.copy(database, database.with_name("opencode-beta.db")))
    assert ingest(copy, "opencode").counts["duplicate"] == 5
    assert current(store, f"{database}#ses_b1")["accepted"] == 5
    for path in (database, copy):
        path.rename(path.with_suffix(".moved.db"))
    assert ingest(database.with_suffix(".moved.db"), "opencode").bytes_read == 0
    assert current(store, f"{database.with_suffix('.moved.db')}#ses_b1")["generation"] == 1
    assert_accounted(store)


def test_what_was_taken_back_stays(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A revert deletes rows there, not here."""
    chat = OpenCode()
    for subject in ("berth", "quay"):
        chat.exchange(subject)
    ingest(chat.save(database), "opencode")
    connection = sqlite3.connect(database)
    for name in list(chat.messages)[2:]:
        connection.execute("DELETE FROM message WHERE id = ?", (name,))
        connection.execute("DELETE FROM part WHERE message_id = ?", (name,))
        del chat.messages[name]
    connection.commit()
    connection.close()
    chat.exchange("crane")
    ingest(chat.save(database), "opencode")
    assert len(timeline(store, "ses_b1")) == 15
    assert current(store, f"{database}#ses_b1")["generation"] == 2
    assert_accounted(store)


def test_a_row_that_is_no_record_is_quarantined_alone(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """And one of an unknown type is counted."""
    chat = OpenCode()
    chat.exchange("berth")
    chat.message("assistant", {"type": "hologram"})
    chat.save(database)
    connection = sqlite3.connect(database)
    row = ("prt_a", next(iter(chat.messages)), '{"type":\n')
    connection.execute("INSERT INTO part VALUES (?, ?, 'ses_b1', 1, 1, ?)", row)
    connection.commit()
    connection.close()
    ingest(database, "opencode")
    known = current(store, f"{database}#ses_b1")
    assert (known["quarantined"], known["unknown"], known["accepted"]) == (1, 1, 5)
    assert_accounted(store)


def test_a_locked_database_is_tried_again(database: Path, ingest: Ingest) -> None:
    """One that keeps no write-ahead log shuts readers out while it is written."""
    chat = OpenCode()
    chat.exchange("berth")
    chat.save(database)
    agent = sqlite3.connect(database, isolation_level=None)
    agent.execute("PRAGMA journal_mode = DELETE")
    agent.execute("BEGIN EXCLUSIVE")
    with pytest.raises(TranscriptError, match="locked"):
        ingest(database, "opencode")
    agent.execute("ROLLBACK")
    agent.close()
    assert ingest(database, "opencode").counts["accepted"] == 5


def test_a_damaged_database_leaves_the_others_readable(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """And a damaged page in one session its other sessions."""
    for number in range(6):
        chat = OpenCode(f"ses_{number}")
        chat.message("user", {"type": "text", "text": f"{number} " + "x" * 30_000})
        chat.save(database)
    whole = bytearray(database.read_bytes())
    place = whole.index(b'"text": "3 x') + 9000
    whole[place // 4096 * 4096 : place // 4096 * 4096 + 4] = b"\xff\xff\xff\xff"  # the next page of a long value
    database.write_bytes(whole)
    with pytest.raises(TranscriptError, match="malformed"):
        ingest(database, "opencode")
    assert store.accounts.counts()["events"] == 5
    other = OpenCode("ses_9")
    other.exchange("quay")
    ingest(other.save(database.with_name("opencode-beta.db")), "opencode")
    assert store.accounts.counts()["events"] == 10
    assert_accounted(store)


def test_a_pass_that_ran_out_of_time_goes_on_where_it_was(database: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Newest first; what was read is not read again."""
    for number in range(3):
        chat = OpenCode(f"ses_{number}")
        chat.number = number
        chat.exchange("berth")
        chat.save(database)
    read = []
    for _ in range(4):
        report = ingest.ingester.ingest_file(str(database), "opencode", deadline=0)
        read.append((report.counts["accepted"], report.is_complete))
        read_by_then = [len(timeline(store, f"ses_{number}")) for number in range(3)]
        assert read_by_then == [[0, 0, 5], [0, 5, 5], [5, 5, 5], [5, 5, 5]][len(read) - 1]
    assert read == [(5, False), (5, False), (5, False), (0, True)]
    assert ingest(database, "opencode").is_complete


# -- where they are ----------------------------------------------------------------------------------------------------
def all_four(home: Path) -> dict[str, Path]:
    """A home with a session of each client, and with much beside them that is none."""
    chat, open_code = Gemini(), OpenCode()
    open_code.exchange("crane")
    data = home / ".local" / "share" / "opencode"
    chats = gemini_project(home)
    for name in ("logs.json", "checkpoint-a.json", "chats/notes.json", "tool-outputs/session-x.json"):
        write(chats.parent / name, b"{}")
    for name in ("auth.json", "log/a.log", "storage/session_diff/ses_b1.json", "storage/migration", "snapshot.db"):
        write(data / name, b"{}")
    return {
        "claude-code": write(home / ".claude/projects/-p/a.jsonl", *Claude().exchange("berth")),
        "codex": write(home / ".codex/sessions/2026/r.jsonl", Codex().meta(), Codex().message("user", "why?")),
        "gemini": write(chats / "session-1.jsonl", chat.head(), *chat.exchange("quay")),
        "gemini (older)": write(chats / "session-0.json", chat.document(*chat.exchange("gate"))),
        "opencode": open_code.save(data / "opencode.db"),
        "opencode (older)": OpenCode("ses_old").save_files(data / "storage"),
    }  # fmt: skip


def test_a_home_with_all_clients_is_found_and_read(home: Path, store_folder: Path) -> None:
    """Each transcript with its client, nothing else; a second import reads nothing; nothing is left unread."""
    paths = all_four(home)
    expected = {(str(path), name.split(" ")[0]) for name, path in paths.items()}
    assert {(found.path, found.client) for found in known_transcripts(str(home), {})} == expected
    named = named_transcripts([str(home)])
    assert {(found.path, found.client) for found in named} == expected
    report = ask("import", "--json")
    assert (report["files"], report["accepted"], report.get("problems")) == (6, 5 + 1 + 6 + 6 + 5, None)
    assert ask("import", "--json")["bytes"] == 0
    assert ask("status", "--json")["unread"] == {"files": 0, "bytes": 0}
    assert store_folder.exists()


def test_the_environment_says_where_the_clients_keep_theirs(tmp_path: Path, home: Path) -> None:
    """As the clients themselves read it."""
    database = OpenCode().save(tmp_path / "data" / "opencode" / "opencode-dev.db")
    mine = OpenCode().save(tmp_path / "mine.sqlite")
    chat = write(tmp_path / "g" / ".gemini" / "tmp" / "p" / "chats" / "a.jsonl", Gemini().head())
    environment = {
        "XDG_DATA_HOME": str(tmp_path / "data"), "OPENCODE_DB": str(mine), "GEMINI_CLI_HOME": str(tmp_path / "g"),
    }  # fmt: skip
    found = known_transcripts(str(home), environment)
    assert {item.path for item in found} == {str(database), str(mine), str(chat)}


def test_a_named_file_is_told_by_what_it_holds(home: Path, tmp_path: Path) -> None:
    """Wherever it was copied to."""
    paths = all_four(home)
    for name, path in paths.items():
        assert sniff(str(path)) == name.split(" ")[0]
    copy = shutil.copy(paths["gemini (older)"], tmp_path / "backup.json")
    assert [(item.path, item.client) for item in named_transcripts([str(copy)])] == [(str(copy), "gemini")]
    assert sniff(str(write(tmp_path / "package.json", b"{}"))) is None


@pytest.mark.parametrize(("name", "plain"), [
    ("a.jsonl", True), ("a.jsonl.gz", False), ("session-1.json", False), ("opencode.db", False),
    ("opencode.db#ses_1", False), ("rollout", True),
])  # fmt: skip
def test_only_a_file_of_lines_counts_bytes_on_disk(name: str, plain: bool) -> None:
    """What is packed or unfolded is read as a whole, or not."""
    assert is_plain(name) is plain


def test_listing_opens_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every SessionStart lists all transcripts: it looks at files and reads none."""
    all_four(home)
    opened: list[str] = []

    def refuse(path: Any, *_: Any, **__: Any) -> int:
        opened.append(str(path))
        raise OSError("opened")

    monkeypatch.setattr(os, "open", refuse)
    monkeypatch.setattr(sqlite3, "connect", refuse)
    assert len(known_transcripts(str(home), {})) == 6
    assert opened == []
