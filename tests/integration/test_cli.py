"""The command line as scripts use it: real processes, stable keys, useful exit codes, nothing written elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, Codex, write
from tests.histories import OpenCode
from tests.processes import ask, run

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PROJECT = "/home/dev/tidepool"
IMPORT_KEYS = {
    "files",
    "bytes",
    "records",
    "accepted",
    "duplicate",
    "ignored",
    "quarantined",
    "unknown",
    "observed",
    "unknown_files",
    "seconds",
}
ROW_KEYS = {
    "id", "kind", "session_id", "project", "branch", "ts", "type", "tool", "file", "origin", "tokens", "score", "tiers",
    "summary", "excerpt", "prompt", "memories", "later", "unmerged", "around",
}  # fmt: skip


class Shell:
    """Runs commands with a store of their own."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self.command, self.folder = command, folder
        self.environment = {**os.environ, "HOWCOME_HOME": str(folder), "PYTHONWARNINGS": "error"}

    def __call__(self, *arguments: str | bytes, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """One command; none ever ends with a traceback."""
        done = run(*arguments, folder=cwd, environment=self.environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: str, cwd: Path | None = None) -> Any:
        """What a command prints as JSON; it must succeed."""
        done = self(*arguments, "--json", cwd=cwd)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture
def shell(command: list[str], store_folder: Path) -> Shell:
    """Commands over an empty store."""
    return Shell(command, store_folder)


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a store with the sample sessions, which the tests only read."""
    folder = tmp_path_factory.mktemp("filled") / "store"
    Shell([sys.executable, "-m", "howcome"], folder).json("import", str(SAMPLES))
    return folder


@pytest.fixture
def asking(command: list[str], filled: Path) -> Shell:
    """Commands over the sample sessions."""
    return Shell(command, filled)


def test_import_reports_what_it_did_and_does_it_once(shell: Shell) -> None:
    """The keys are stable; a second import reads nothing, and adds nothing."""
    first = shell.json("import", str(SAMPLES))
    assert set(first) == IMPORT_KEYS
    assert first["files"] == 5
    assert first["bytes"] == sum(
        path.stat().st_size for agent in ("claude-code", "codex") for path in (SAMPLES / agent).rglob("*.jsonl")
    )
    assert first["accepted"] > 100
    assert (first["duplicate"], first["quarantined"]) == (0, 0)
    second = shell.json("import", str(SAMPLES))
    assert (second["files"], second["bytes"], second["records"], second["accepted"]) == (5, 0, 0, 0)


def test_import_for_people_is_one_line(shell: Shell) -> None:
    """Without --json: how much, how fast, how many."""
    done = shell("import", str(SAMPLES / "claude-code"), str(SAMPLES / "codex"))
    assert done.returncode == 0
    assert done.stdout.startswith("5 files, 0.2 MB new in ")
    assert len(done.stdout.splitlines()) == 1


def test_a_record_that_cannot_be_read_is_no_failure(shell: Shell, tmp_path: Path) -> None:
    """It is quarantined, counted and shown by `status`; the others are there."""
    talk = Claude()
    path = write(tmp_path / "a.jsonl", talk.user("the harbour plan"), b"{broken\n", b"[1, 2]\n", talk.text("agreed"))
    report = shell.json("import", str(path))
    assert (report["accepted"], report["quarantined"], report["records"]) == (2, 2, 4)
    found = shell.json("status")
    assert found["quarantine"]["records"] == 2
    assert sum(found["quarantine"]["reasons"].values()) == 2
    assert found["bytes"]["read"] == path.stat().st_size


def test_nothing_readable_is_a_failure(shell: Shell, tmp_path: Path) -> None:
    """A path that is not there, a folder without transcripts, a packed file that is none: not 0, with a message."""
    empty = tmp_path / "empty"
    empty.mkdir()
    broken = tmp_path / "broken.jsonl.gz"
    broken.write_bytes(b"no gzip at all")
    for path in (tmp_path / "missing.jsonl", empty, broken):
        done = shell("import", str(path))
        assert done.returncode == (1 if path == broken else 2), path
        assert done.stderr.strip()
        assert str(path) in done.stderr or path == empty


def test_one_readable_file_among_others_is_enough(shell: Shell, tmp_path: Path) -> None:
    """What can be read is read; the problem is told on standard error."""
    tmp_path.joinpath("t").mkdir()
    tmp_path.joinpath("t", "broken.jsonl.gz").write_bytes(b"no gzip at all")
    write(tmp_path / "t" / "good.jsonl", Claude().user("the harbour plan"))
    done = shell("import", "--json", str(tmp_path / "t"))
    assert done.returncode == 0
    assert json.loads(done.stdout)["accepted"] == 1
    assert "broken.jsonl.gz" in done.stderr


def test_import_without_paths_finds_every_agents_sessions(shell: Shell, home: Path) -> None:
    """Claude Code's and Codex's folders, or only those of --agent; no transcripts at all is no failure."""
    assert shell("import").returncode == 0
    claude, codex = Claude(), Codex()
    write(home / ".claude" / "projects" / "-home" / "a.jsonl", claude.user("the harbour plan"))
    write(
        home / ".codex" / "sessions" / "2026" / "rollout-1.jsonl",
        codex.meta(),
        codex.message("user", "the sluice plan"),
    )
    assert shell.json("import", "--agent", "codex")["files"] == 1
    assert shell.json("status")["unread"]["files"] == 1
    assert shell.json("import")["files"] == 2
    assert shell.json("status")["unread"] == {"files": 0, "bytes": 0}


def test_a_search_row_has_stable_keys(asking: Shell) -> None:
    """Every key scripts rely on, the time it took, scores from 0 to 1 with the best first."""
    found = asking.json("search", "--project", PROJECT, "redis seen-set")
    assert set(found) == {"results", "nearest", "ms", "index_lag_rows"}
    assert found["index_lag_rows"] == 0
    assert found["ms"] > 0
    assert found["results"]
    for row in found["results"]:
        assert set(row) - {"failed", "exit_code"} == ROW_KEYS
        assert row["kind"] == "event"
        assert row["id"].startswith("ev-")
        assert row["project"] == PROJECT
        assert 0 < row["score"] <= 1
        assert len(row["summary"]) <= 160
        assert row["ts"].endswith("Z")
    scores = [row["score"] for row in found["results"]]
    assert scores == sorted(scores, reverse=True)


def test_no_hit_is_an_empty_list_and_no_failure(asking: Shell, shell: Shell, tmp_path: Path) -> None:
    """An unknown word, an unknown folder, an empty store."""
    assert asking.json("search", "--all-projects", "zzzunheard")["results"] == []
    assert asking.json("search", "redis", cwd=tmp_path)["results"] == []
    assert shell.json("search", "--all-projects", "redis")["results"] == []
    done = asking("search", "zzzunheard")
    says = "--all-projects searches every project.\n"
    assert (done.returncode, done.stdout.partition("; ")[2]) == (0, says)


def git(folder: Path, *arguments: str) -> None:
    """A git command with an identity of its own."""
    identity = ["-c", "user.name=Mara", "-c", "user.email=mara@example.org", "-c", "init.defaultBranch=main"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_the_scope_is_the_project_of_the_working_directory(shell: Shell, tmp_path: Path) -> None:
    """From its root, a subfolder and a git worktree of it alike; never another project's words."""
    quay, dike = tmp_path / "quay", tmp_path / "dike"
    for number, folder in enumerate((quay, dike)):
        (folder / "src").mkdir(parents=True)
        git(folder, "init", "--quiet")
        git(folder, "commit", "--allow-empty", "--quiet", "-m", "start")
        talk = Claude(session=f"0000000{number}-0000-4000-8000-000000000000", cwd=str(folder / "src"))
        write(tmp_path / "t" / f"{number}.jsonl", talk.user(f"the zebra plan of {folder.name}"))
    git(quay, "worktree", "add", "--quiet", str(tmp_path / "elsewhere"))
    assert shell.json("import", str(tmp_path / "t"))["accepted"] == 2

    def excerpts(cwd: Path, *options: str) -> set[str]:
        return {row["excerpt"] for row in shell.json("search", "zebra plan", *options, cwd=cwd)["results"]}

    for cwd in (quay, quay / "src", tmp_path / "elsewhere"):
        assert excerpts(cwd) == {"the zebra plan of quay"}
    assert excerpts(dike) == excerpts(quay, "--project", str(dike)) == {"the zebra plan of dike"}
    assert excerpts(quay, "--project", "../dike/src") == {"the zebra plan of dike"}
    assert excerpts(tmp_path) == set()
    assert len(excerpts(tmp_path, "--all-projects")) == 2


def test_search_options_narrow_what_is_found(asking: Shell) -> None:
    """--limit, --before and --by session."""
    every = asking.json("search", "--project", PROJECT, "--limit", "100", "gauge readings")["results"]
    assert asking.json("search", "--project", PROJECT, "-n", "2", "gauge readings")["results"] == every[:2]
    early = asking.json("search", "--project", PROJECT, "--before", "2026-10-01", "-n", "100", "gauge readings")[
        "results"
    ]
    assert {row["ts"][:7] for row in early} == {"2026-09"}
    assert {row["ts"][:7] for row in every} > {"2026-09"}
    by_session = asking.json("search", "--project", PROJECT, "--by", "session", "gauge readings")["results"]
    assert len({row["session_id"] for row in by_session}) == len(by_session) > 2


WRONG = (
    ("search",), ("search", "--limit", "0", "x"), ("search", "--limit", "many", "x"), ("search", "--by", "day", "x"),
    ("search", "--no-such-option", "x"), ("import", "--agent", "nobody"), ("statu",), ("search", " "), ("show",),
    ("show", "a", "b"), ("eval",), ("eval", "/nonexistent/folder"), ("search", "--before", "soon", "x"),
    ("search", "--all-projects", "--project", "/", "x"), ("status", "extra"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", WRONG, ids=" ".join)
def test_wrong_usage_ends_with_2_and_a_message(shell: Shell, arguments: tuple[str, ...]) -> None:
    """A script can tell a typing mistake from a failure; nothing is printed on standard output."""
    done = shell(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip()


def test_a_timeline_is_a_session_from_its_start(asking: Shell) -> None:
    """By a beginning of its id; with --full also the whole texts."""
    found = asking.json("timeline", "c41d7e96")
    assert (found["project"], found["session_id"][:8]) == (PROJECT, "c41d7e96")
    times = [event["ts"] for event in found["events"]]
    assert times == sorted(times)
    assert found["events"][0]["type"] == "user_prompt"
    assert "text" not in found["events"][0]
    full = asking.json("timeline", "c41d7e96", "--full")["events"]
    assert [event["id"] for event in full] == [event["id"] for event in found["events"]]
    assert all(event["text"] for event in full)
    assert any(event.get("failed") for event in full)
    assert full[0]["text"] in asking("timeline", "c41d7e96", "--full").stdout
    written = asking("timeline", "c41d7e96", "--markdown").stdout
    assert written.startswith("# Session c41d7e96")
    assert all(one["text"] in written for one in full)
    assert written.count("\n## 2") == len(full)


def test_sessions_of_a_time_are_listed(asking: Shell) -> None:
    """Until a moment, too."""
    every = asking.json("timeline", "--all-projects")["sessions"]
    middle = sorted(one["last"] for one in every)[len(every) // 2]
    early = asking.json("timeline", "--all-projects", "--before", middle)["sessions"]
    late = asking.json("timeline", "--all-projects", "--since", middle)["sessions"]
    assert len(early) < len(every) > len(late)
    assert {one["session_id"] for one in early + late} == {one["session_id"] for one in every}


def test_a_question_that_names_a_time_is_answered_from_it(shell: Shell, tmp_path: Path) -> None:
    """First; where nothing of it answers that is said. A question of nothing else is answered by its sessions."""
    ships = "We ship Q4 of the lift, because Q8 does not fit."
    for day, said in enumerate(
        ("The crane stops at the berth: a fuse.", f"The crane, the crane! Its motor is hot. {ships}")
    ):
        talk = Claude(f"c{day}", cwd=PROJECT, start=86_400 * day)
        write(tmp_path / f"c{day}.jsonl", talk.user("why does the crane stop?"), talk.text(said))
    assert shell("import", tmp_path).returncode == 0
    asked = ("search", "--project", PROJECT)
    days = {one["ts"][:10] for one in shell.json(*asked, "crane berth motor hot stop")["results"]}
    assert len(days) == 2
    for day in days:
        for words in (f"crane berth motor hot stop on {day}", f"{day} crane"):
            found = [one["ts"][:10] for one in shell.json(*asked, words)["results"]]
            assert (found[0], found) == (day, sorted(found, key=day.__ne__))
            assert set(found) == days or words.endswith("crane")
            assert f"First: of {day}." in shell(*asked, words).stdout
        whole = shell.json(*asked, f"what did we do on {day}?")
        assert (whole["results"], [one["first"][:10] for one in whole["sessions"]]) == ([], [day])
        assert shell(*asked, f"was haben wir am {day} gemacht").stdout.endswith(f"The sessions of {day}.\n")
    never = shell(*asked, "crane berth motor hot stop in January 2024").stdout
    assert "None of these is of 2024-01-01 to 2024-01-31." in never
    assert ships in shell.json(*asked, "Q4")["results"][0]["excerpt"]  # a name may look like a time
    for bare in (
        "what did I do yesterday",
        "letzte Woche",
        "was habe ich gestern gemacht",
        "what happened last tuesday",
    ):
        only = shell(*asked, bare).stdout
        assert (only.count("\n"), only.startswith("No session is of ")) == (1, True), only


def test_an_event_is_shown_by_any_unique_beginning_of_its_id(asking: Shell) -> None:
    """With its whole text and where it is from."""
    [row] = asking.json("search", "--project", PROJECT, "-n", "1", "redis")["results"]
    for prefix in (row["id"], row["id"][:-2], row["id"][3:]):
        event = asking.json("show", prefix)
        assert (event["id"], event["session_id"], event["project"]) == (row["id"], row["session_id"], PROJECT)
        assert event["excerpt"] in event["text"] or event["excerpt"].endswith("…")
    assert event["text"] in asking("show", row["id"]).stdout


ABSENT = (
    ("show", "ev-000000000000"), ("show", "nonsense"), ("timeline", "nonsense"), ("show", ""), ("timeline", ""),
    ("timeline", "ev-000000000000"), ("search", "--session", "nonsense", "redis"),
)  # fmt: skip


@pytest.mark.parametrize("arguments", ABSENT)
def test_what_is_not_there_ends_with_1_and_a_hint(asking: Shell, arguments: tuple[str, ...]) -> None:
    """The message says where ids come from."""
    done = asking(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert "search" in done.stderr


def test_an_ambiguous_beginning_names_the_candidates(asking: Shell) -> None:
    """Write more of it: these are the ids."""
    ids = [event["id"] for event in asking.json("timeline", "5f0c8a52")["events"]]
    shared = next(digit for digit in "0123456789abcdef" if sum(event[3] == digit for event in ids) > 1)
    done = asking("show", shared)
    assert done.returncode == 1
    assert done.stderr.count("ev-") >= 2


def test_status_counts_what_is_stored(asking: Shell) -> None:
    """Counts, accounts and sizes, for programs and for people; --check reads the whole database."""
    found = asking.json("status", "--check")
    assert found["counts"]["sessions"] == 4
    assert found["counts"]["events"] == sum(found["counts"]["events_by_type"].values())
    accounts = found["bytes"]
    assert accounts["read"] == sum(accounts[name] for name in ("accepted", "duplicate", "ignored", "quarantined"))
    assert (found["index_lag_rows"], found["integrity"], found["hook_errors"]) == (0, ["ok"], [])
    assert found["sizes"]["database_bytes"] > 0 < found["sizes"]["index_bytes"]
    assert f"{found['counts']['events']} events of 4 sessions in 1 project\n" in asking("status").stdout


HELP = ("init", "uninstall", "import", "search", "show", "timeline", "status", "eval", "hook")


@pytest.mark.parametrize("name", HELP)
def test_every_command_explains_itself_with_an_example(shell: Shell, name: str) -> None:
    """`--help` shows a line that can be typed."""
    done = shell(name, "--help")
    assert done.returncode == 0
    assert "Example" in done.stdout
    assert f"howcome {name}" in done.stdout
    assert f"  {name} " in shell("--help").stdout


def test_howcome_home_moves_everything(shell: Shell, home: Path) -> None:
    """Import, search, status and a hook leave nothing in the user's home; what they leave is private."""
    shell.json("import", str(SAMPLES))
    shell.json("search", "--all-projects", "redis")
    shell.json("status")
    prompt = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s",
        "cwd": PROJECT,
        "prompt": "redis for duplicate readings?",
    }
    subprocess.run(
        [*shell.command, "hook", "UserPromptSubmit"], input=json.dumps(prompt), text=True, env=shell.environment,
        check=True, capture_output=True,
    )  # fmt: skip
    assert list(home.rglob("*")) == []
    assert shell.folder.stat().st_mode & 0o077 == 0


def test_without_howcome_home_the_store_is_in_the_users_home(shell: Shell, home: Path) -> None:
    """~/.howcome, and nothing else; commands that only read make none."""
    del shell.environment["HOWCOME_HOME"]
    shell.json("status")
    assert shell.json("search", "redis")["results"] == shell.json("timeline")["sessions"] == []
    assert shell("show", "ev-1").returncode == shell("timeline", "x").returncode == 1
    assert list(home.iterdir()) == []
    shell.json("import", str(SAMPLES))
    assert [path.name for path in home.iterdir()] == [".howcome"]


def test_a_bad_setting_is_named_by_every_command(shell: Shell) -> None:
    """One line that says which variable, exit code 1."""
    shell.environment["HOWCOME_RECALL_LIMIT"] = "many"
    for arguments in (("search", "x"), ("status",), ("import", str(SAMPLES))):
        done = shell(*arguments)
        assert done.returncode == 1
        assert done.stderr.startswith("howcome: HOWCOME_RECALL_LIMIT")


def test_a_reader_that_goes_away_is_no_error(asking: Shell) -> None:
    """`howcome timeline … | head` ends quietly."""
    line = f"{' '.join(asking.command)} timeline --full 5f0c8a52 | head -n 1; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], env=asking.environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 141)
    assert done.stderr == ""


def test_nothing_needs_a_network(shell: Shell, run_without_sockets: Callable[..., str]) -> None:
    """Import, search and recall in a process that cannot open a socket."""
    assert '"accepted": 112' in run_without_sockets(shell.environment, "import", str(SAMPLES), "--json")
    assert '"excerpt"' in run_without_sockets(shell.environment, "search", "--all-projects", "--json", "redis")


@pytest.fixture
def run_without_sockets() -> Callable[..., str]:
    """Runs a command in a process in which sockets and look-ups raise; what it printed."""
    code = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise SystemExit('a socket was opened')\n"
        "socket.socket = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from howcome.__main__ import main\n"
        "sys.exit(main())\n"
    )

    def run(environment: dict[str, str], *arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


@pytest.mark.parametrize(
    "words",
    [
        ("search", "berth"), ("timeline",), ("timeline", "x"), ("show", "ev-1"), ("status",), ("memories",),
        ("export",), ("forget", "mem-1"),
        ("restore", "mem-1"), ("purge", "mem-1", "--yes"), ("update", "mem-1", "the gauge is kept in UTC"), ("doctor",),
    ],
    ids=" ".join,
)  # fmt: skip
def test_what_only_reads_makes_no_store(words: tuple[str, ...], store_folder: Path) -> None:
    """On a machine without one nothing is left behind, and what to do is said."""
    done = run(*words)
    assert done.returncode in (0, 1), done.stderr
    assert re.search("howcome (init|remember|import)", done.stdout + done.stderr)
    assert not store_folder.exists()


def test_words_that_are_no_command_are_searched_for(asking: Shell) -> None:
    """`howcome why did we …` is `howcome search why did we …`, options and all."""
    words = ("gauge", "readings", "--project", PROJECT, "-n", "2")
    searched = asking.json("search", *words)["results"]
    assert len(searched) == 2
    assert asking.json(*words)["results"] == searched


def test_a_mistyped_command_is_not_searched_for(shell: Shell) -> None:
    """A first word that is nearly a command is one, whatever follows; both are offered. "how" begins a question."""
    typed = {
        "statu": "status",
        "forgt mem-0123": "forget mem-0123",
        "uninstal --yes": "uninstall --yes",
        "stauts": "status",
    }
    for words, meant in {**typed, "serch redis cache": "search redis cache"}.items():
        done = shell(*words.split())
        assert (done.returncode, done.stdout) == (2, "")
        assert f"Did you mean `howcome {meant}`? To search: howcome search {words}" in done.stderr
    for words in ("how did it fail", "shadow of the gauge"):
        assert shell(*words.split()).returncode == 0
    assert "`howcome restore ID`" in shell("undo").stderr


def test_what_a_library_writes_to_the_error_stream_itself_is_not_shown() -> None:
    """The index's binding prints what panics, before anybody can say it in a sentence."""
    script = (
        "import os, sys; from howcome.present.terminal import echo, hush_libraries; hush_libraries()\n"
        "os.write(2, b'panicked at'); echo('ours', err=True); print('also ours', file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "ours\nalso ours\n")
    closed = ["/bin/sh", "-c", f"'{sys.executable}' -m howcome --version 2>&-"]
    assert subprocess.run(closed, capture_output=True, check=False).returncode == 0


@pytest.mark.usefixtures("store_folder")
def test_a_shown_session_is_one_that_can_be_pasted(tmp_path: Path) -> None:
    """Also where ids begin with the time, and sessions began in one minute; in every list."""
    names = ["019ac0de-1111-7000-8000-00000000c001", "019ac0de-2222-7000-8000-00000000c002"]
    for name in names:
        talk = Codex(name)
        write(
            tmp_path / f"rollout-{name}.jsonl", talk.meta(), talk.message("user", f"why does berth {name[9:13]} fail?")
        )
    names += ["ses_ddc811112ffeAbCdEfGhIjKlMn", "ses_ddc822223ffeAbCdEfGhIjKlMn"]
    for name in names[2:]:
        chat = OpenCode(name)
        chat.exchange("crane")
        chat.save(tmp_path / "opencode.db")
    names.append("3fa85f64-5717-4562-b3fc-2c963f66afa6")
    write(tmp_path / "claude.jsonl", *Claude(names[-1]).conversation(1))
    ask("import", tmp_path)
    listed = run("timeline", "--all-projects").stdout + run("stats", "--by", "session").stdout
    for name in names:
        short = next(short for short in re.findall(rf"{name[:8]}\S*", listed) if name.startswith(short.rstrip(",")))
        assert ask("timeline", short)["session_id"] == name
    assert "3fa85f64-" not in listed
