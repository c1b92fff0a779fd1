"""The ledger of commands: what failed in an earlier session and what then worked there, said where it fails again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Record, Shell, write
from tests.processes import answer_of, ask, hook, payload, run

from howcome.store.sqlite import SqliteStore

PROJECT = "/home/mara/harbour"
UNKNOWN = "Exit code 1\nunknown flag: --stat\n\nUsage: tide diff NUMBER [flags]"


def kept(folder: Path, *sessions: list[Record], name: str = "past") -> None:
    """Sessions that are in the store, as their last hook leaves them."""
    for number, records in enumerate(sessions):
        path = write(folder / f"{name}{number}.jsonl", *records)
        assert answer_of("Stop", hook("Stop", payload("Stop", path, records[0]["sessionId"]))) is None


def earlier(number: int, *commands: tuple[str, str]) -> list[Record]:
    """A session that ran some commands, each with its failure."""
    talk = Shell(f"earlier-{number}", start=100 * number)
    return [talk.user("look at it"), *(record for one in commands for record in talk.ran(*one)), talk.text("Done.")]


def failing(command: str, error: str, session: str = "now", folder: Path = Path("/gone"), **fields: Any) -> str:
    """What is said when a command fails; '' for nothing."""
    given = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_use_id": "toolu_now", "error": error}
    event = "PostToolUseFailure"
    said = answer_of(event, hook(event, payload(event, folder / "now.jsonl", session, **{**given, **fields})))
    return str(said["additionalContext"]) if said else ""


def running(session: str = "now", **given: Any) -> str:
    """What is said before a tool runs; '' for nothing."""
    event = "PreToolUse"
    fields = {"tool_name": "Bash", "tool_input": given, "tool_use_id": "toolu_now"}
    said = answer_of(event, hook(event, payload(event, Path("/gone/now.jsonl"), session, **fields)))
    return str(said["additionalContext"]) if said else ""


STAT, NAMES = ("tide diff 88 --stat", UNKNOWN), ("tide diff 88 --name-only", "")


@pytest.fixture
def told(tmp_path: Path, store_folder: Path) -> Path:
    """A store with one such session."""
    kept(tmp_path, earlier(1, STAT, NAMES))
    return store_folder


def test_the_command_that_worked_is_said_once_where_the_same_word_fails_again(told: Path) -> None:
    """Another number, the same unknown option: the earlier pair, with its call's id, and no second time."""
    said = failing("cd /tmp && tide diff 104 --stat | head", UNKNOWN)
    assert "`tide diff 88 --stat` failed here, last on 2026-03-02; `tide diff 88 --name-only` then worked." in said
    assert said.startswith("<howcome-memory id=")
    assert len(said) < 400
    ident = said.split("[")[1].split("]")[0]
    assert ask("show", ident)["tool"] == "Bash"
    assert failing("tide diff 104 --stat", UNKNOWN) == ""
    assert "then worked" in failing("tide diff 104 --stat", UNKNOWN, "another")
    with SqliteStore(str(told)).connection as connection:
        assert [*connection.execute("SELECT DISTINCT hook FROM injections")] == [("PostToolUseFailure",)]


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("tide diff 104 --stat", "Exit code 1\nerror: no such number: 104"),
        ("tide diff 104 --json", "Exit code 1\nunknown flag: --json"),
        ("ebb diff 104 --stat", UNKNOWN),
        ("tide diff 88 --name-only", UNKNOWN),
    ],
    ids=["another error", "another word", "another program", "nothing of it"],
)
@pytest.mark.usefixtures("told")
def test_nothing_is_said_of_what_is_not_the_same(command: str, error: str) -> None:
    """Both the command and what it says have to be as they were."""
    assert failing(command, error) == ""


@pytest.mark.usefixtures("told")
def test_nothing_is_said_to_the_same_session_or_in_another_project(monkeypatch: pytest.MonkeyPatch) -> None:
    """The session has it in its window; another project may not know of it; `inject = off` means off."""
    assert failing("tide diff 104 --stat", UNKNOWN, "earlier-1") == ""
    assert failing("tide diff 104 --stat", UNKNOWN, cwd="/home/mara/elsewhere") == ""
    assert failing("tide diff 104 --stat", UNKNOWN, is_interrupt=True) == ""
    monkeypatch.setenv("HOWCOME_INJECT", "off")
    assert failing("tide diff 104 --stat", UNKNOWN) == ""


RED = "Exit code 1\nFAILED test_gauge: expected 3 to be 4"


def test_a_test_that_an_edit_mended_is_no_case(tmp_path: Path, store_folder: Path) -> None:
    """Neither an edit between, nor the same words that worked later or before, make another command a mending."""
    talk = Shell("edited")
    edited = [*talk.ran("tide test gauge", RED), *talk.edited(f"{PROJECT}/gauge.py"), *talk.ran("tide test gauge -v")]
    again = earlier(2, ("tide check all", RED), ("tide check all", ""), ("tide check all -v", ""))
    right = earlier(3, ("tide lint all", ""), ("tide lint all", RED), ("tide lint all -v", ""))
    kept(tmp_path, edited, again, right)
    for command in ("tide test gauge", "tide check all", "tide lint all"):
        assert failing(command, RED) == "", command
    assert store_folder.is_dir()


@pytest.mark.parametrize(
    ("failed", "error", "worked"),
    [
        ("python gauge.py", "Exit code 127\nbash: python: command not found", "python3 gauge.py"),
        ("tsc --noEmit", "Exit code 127\nbash: tsc: command not found", "npx tsc --noEmit"),
        ("berth tide test", "Exit code 2\nerror: unrecognized subcommand 'tide'", "tide test"),
        ("tide serve", "Exit code 1\nerror: TIDE_HOME is not set", "TIDE_HOME=/srv/tide tide serve"),
        ("tide lint", "Exit code 1\nerror: Script not found 'lint'", "cd /home/mara/harbour/web && tide lint"),
        ("tide -C web status", "Exit code 2\nerror: unexpected argument '-C' found", "tide status"),
        ("pip install tides", "Exit code 1\nerror: externally-managed-environment", "uv add tides"),
        ("./gauge.sh", "Exit code 126\n./gauge.sh: Permission denied", "bash ./gauge.sh"),
        ("npm run tests", 'Exit code 1\nnpm error Missing script: "tests"', "npm run test"),
    ],
)
def test_what_may_mend_a_command(failed: str, error: str, worked: str, tmp_path: Path, store_folder: Path) -> None:
    """Another program, one in front or none, a setting, another folder, a word less, another word."""
    kept(tmp_path, earlier(1, (failed, error), (f"{worked} 2>&1", "")))
    said = failing(failed, error)
    assert f"`{worked.replace('&', '&amp;')}` then worked." in said
    assert store_folder.is_dir()


def test_the_right_one_of_a_line_is_said(tmp_path: Path, store_folder: Path) -> None:
    """Where several commands of the line are near, that which mended it."""
    missing = 'Exit code 1\nnpm error Missing script: "tests"'
    kept(tmp_path, earlier(1, ("npm run tests", missing), ("npm run lint && npm run test", "")))
    assert "`npm run test` then worked." in failing("npm run tests", missing)
    assert store_folder.is_dir()


def test_what_is_piped_away_did_not_work(tmp_path: Path, store_folder: Path) -> None:
    """A line ends as its last command does: what stands before a pipe or a semicolon may have failed."""
    kept(tmp_path, earlier(1, STAT, ("tide diff 88 --name-only | head", ""), ("tide diff 88 --names; echo", "")))
    assert failing("tide diff 104 --stat", UNKNOWN) == ""
    assert store_folder.is_dir()


def test_a_secret_is_not_said(tmp_path: Path, store_folder: Path) -> None:
    """A command whose secret was taken out does not run any more."""
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    kept(tmp_path, earlier(1, ("tide push 88", "Exit code 1\nerror: no token"), (f"TOKEN={secret} tide push 88", "")))
    assert failing("tide push 88", "Exit code 1\nerror: no token") == ""
    assert store_folder.is_dir()


def test_a_mending_in_the_next_turn_is_found(tmp_path: Path, store_folder: Path) -> None:
    """What failed in one pass of the hook and was mended in the next is one pair."""
    talk = Shell("two turns")
    first, second = [talk.user("go"), *talk.ran(*STAT)], [talk.user("and now?"), *talk.ran(*NAMES)]
    kept(tmp_path, first, name="a")
    write(tmp_path / "a0.jsonl", *second, append=True)
    assert hook("Stop", payload("Stop", tmp_path / "a0.jsonl", "two turns")).returncode == 0
    assert "then worked" in failing("tide diff 104 --stat", UNKNOWN)
    assert store_folder.is_dir()


def test_it_is_said_ahead_where_a_command_never_worked(tmp_path: Path, store_folder: Path) -> None:
    """Three failures and no success: before the run, once a session; two are not enough."""
    kept(tmp_path, earlier(1, STAT, NAMES), earlier(2, STAT, NAMES))
    assert running(command="tide diff 31 --stat") == ""
    kept(tmp_path, earlier(3, STAT, NAMES), name="third")
    said = running(command="tide diff 31 --stat")
    assert "failed here 3 times" in said
    assert running(command="tide diff 31 --stat") == ""
    assert failing("tide diff 31 --stat", UNKNOWN) == ""
    assert running("fourth", command="tide diff 31 --name-only") == ""
    kept(tmp_path, earlier(5, ("tide diff 5 --stat", "")), name="worked")
    assert running("another", command="tide diff 31 --stat") == ""
    assert store_folder.is_dir()


def test_a_file_with_a_standing_word_is_told_of_before_its_edit(tmp_path: Path, store_folder: Path) -> None:
    """A decision that names exactly this file, once a session and file; of another file of that name nothing."""
    kept(tmp_path, earlier(1, STAT))
    text = "We keep harbour/gauge.py free of threads, because the sensor library is not safe for them."
    done = run("remember", text, "--type", "decision", "--project", PROJECT)
    assert done.returncode == 0, done.stderr
    assert running(file_path=f"{PROJECT}/other.py") == ""
    assert running(file_path=f"{PROJECT}/web/gauge.py") == ""
    said = running(file_path=f"{PROJECT}/gauge.py")
    assert "free of threads" in said
    assert "[mem-" in said
    assert running(file_path=f"{PROJECT}/gauge.py") == ""
    assert store_folder.is_dir()


def test_failing_over_and_over_is_noticed_once(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The third failure in the same way with no edit between: at that one, not at the second nor the fourth."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / ".claude"))
    folder = tmp_path / ".claude" / "projects" / "harbour"
    kept(tmp_path, earlier(1, STAT))
    talk = Shell("now")
    path = write(folder / "now.jsonl", talk.user("go"), *talk.ran("tide test gauge", RED))
    assert failing("tide test gauge", RED, folder=folder) == ""
    write(path, *talk.ran("tide test gauge 2>&1", RED), *talk.ran("ls"), append=True)
    said = failing("tide test gauge", RED, folder=folder)
    assert "`tide test gauge` failed 3 times in the same way, with no edit in between." in said
    write(path, *talk.ran("tide test gauge", RED), append=True)
    assert failing("tide test gauge", RED, folder=folder) == ""
    write(path, *talk.edited("/x/gauge.py"), append=True)
    for _ in range(2):
        assert failing("tide test gauge", RED, folder=folder) == ""
        write(path, *talk.ran("tide test gauge", RED), append=True)
    assert "3 times" in failing("tide test gauge", RED, folder=folder)
    assert store_folder.is_dir()


def test_what_was_distilled_of_it_is_cited_and_may_be_called_wrong(told: Path) -> None:
    """Where there is a memory of the same pair the line is its; forgotten, the ledger is silent, too."""
    assert run("distil").returncode == 0
    said = failing("tide diff 104 --stat", UNKNOWN)
    assert "[mem-" in said
    assert failing("tide diff 104 --stat", UNKNOWN) == ""
    ident = said.split("[")[1].split("]")[0]
    assert run("forget", "--wrong", ident).returncode == 0
    assert failing("tide diff 104 --stat", UNKNOWN, "another") == ""
    assert run("restore", ident).returncode == 0
    assert "[mem-" in failing("tide diff 104 --stat", UNKNOWN, "another")
    assert told.is_dir()


def test_what_the_briefing_said_is_said_again_where_it_fails_all_the_same(told: Path) -> None:
    """A line among others at the start was not enough then; at the failure it is said once."""
    assert run("distil").returncode == 0
    [ident] = [one["id"] for one in ask("memories", "--all-projects")["memories"] if "--name-only" in one["text"]]
    store = SqliteStore(str(told))
    [memory] = store.memories.find(ident)
    rows = [event.row for event in store.log.session(store.sessions.find("earlier-1")[0][0])]
    store.injections.record("now", "SessionStart", 1, [(row, 1.0) for row in rows], [(memory.row, 1.0)])
    store.close()
    assert "then worked" in failing("tide diff 104 --stat", UNKNOWN)
    assert failing("tide diff 104 --stat", UNKNOWN) == ""


def test_what_a_shell_expands_is_not_said(tmp_path: Path, store_folder: Path) -> None:
    """The words that ran are not the ones that were typed."""
    assert store_folder
    kept(tmp_path, earlier(1, ("tide diff 88 --stat", UNKNOWN), ('tide diff "$HOME/88" --name-only', "")))
    assert failing("tide diff 104 --stat", UNKNOWN) == ""


def test_what_worked_in_another_project_is_not_said(tmp_path: Path, store_folder: Path) -> None:
    """A session may go on in another folder."""
    assert store_folder
    records = earlier(1, ("tide diff 88 --stat", UNKNOWN), ("tide diff 88 --name-only", ""))
    for record in records[3:]:
        record["cwd"] = "/home/mara/elsewhere"
    kept(tmp_path, records)
    assert failing("tide diff 104 --stat", UNKNOWN) == ""


def test_the_ledger_is_made_again_from_the_events(told: Path) -> None:
    """It holds no word of its own: numbers and positions, and the same after it was lost."""
    store = SqliteStore(str(told))
    before = store.database.rows("SELECT * FROM commands ORDER BY 1, 2")
    assert {type(value) for row in before for value in row} <= {int, type(None)}
    assert len([row for row in before if row[4] is not None]) == 1
    store.connection.execute("DELETE FROM commands; DELETE FROM command_mark")
    store.close()
    assert run("import").returncode == 0
    store = SqliteStore(str(told))
    assert store.database.rows("SELECT * FROM commands ORDER BY 1, 2") == before
    store.close()


def test_the_ledger_is_replayed(tmp_path: Path) -> None:
    """Three sessions in order of time: the second and third meet what the first found, and one is not what worked."""
    folder = tmp_path / "data" / "one"
    sessions = [earlier(1, STAT, NAMES), earlier(2, ("tide diff 9 --stat", UNKNOWN), ("tide diff 9 --name-only", ""))]
    sessions.append(earlier(3, ("tide diff 7 --stat", UNKNOWN), ("tide diff 7 --short", "")))
    for number, records in enumerate(sessions):
        write(folder / "transcripts" / f"earlier-{number + 1}.jsonl", *records)
    row = {"session": "earlier-3", "ts": sessions[2][0]["timestamp"], "prompt": "look at it", "candidates": []}
    (folder / "judged_prompts.jsonl").write_text(json.dumps(row) + "\n")
    done = run("eval", "--speak", "--json", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["speak"]["one"]["ledger"]
    assert (found["spoke_of"], found["right_of"], found["met_of"]) == ([2, 3], [1, 2], [2, 2])
    assert (found["signatures"], found["right_by_signature"]) == (1, 0.5)
    shown = run("eval", "--speak", str(tmp_path / "data"))
    assert "right 1, wrong 1: `tide diff" in shown.stderr
    assert "ledger: met" in shown.stdout


def test_what_is_no_tool_call_gets_no_answer(told: Path) -> None:
    """Odd payloads are answered with silence."""
    for fields in (
        {},
        {"tool_input": "x"},
        {"tool_input": {"command": 7}},
        {"tool_input": {"command": "'"}, "error": 1},
    ):
        for event in ("PreToolUse", "PostToolUseFailure"):
            data = json.dumps({"hook_event_name": event, "session_id": "s", "cwd": PROJECT, **fields}).encode()
            assert answer_of(event, hook(event, data)) is None
    assert not (told / "hook-errors.log").exists()
