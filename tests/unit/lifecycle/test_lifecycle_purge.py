"""What `uninstall --purge` deletes and leaves, what is asked and said before, and who can be asked at all."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.processes import COMMAND, WITHOUT_OVERRIDE, python, run
from tests.unit.lifecycle.wiring import put, unwire, wire

from howcome.cli.lifecycle import init, uninstall, upgrade
from howcome.errors import LifecycleError, UsageError
from howcome.present.own_files import foreign_paths, own_paths
from howcome.wiring import Owner, recorded_owners
from howcome.wiring.purge import plan_purge, purge, what_is_kept
from howcome.worker.thread import take_lock

OURS = {
    "servers/0123456789ab/index/vectors-1-model/codes": b"v", "servers/0123456789ab/branches.json": b"{}",
    "servers/0123456789ab/kept-memories": b"1", "team.lock": b"", "team.json": b"{}",
    "branches.json": b"{}", "branches.json.12-0123abcd.part": b"{",
    "howcome.db": b"words", "howcome.db-wal": b"w", "howcome.db-shm": b"s", "howcome.db-journal": b"j",
    "hook-errors.log": b"l", "hook-errors.log.old": b"l", "prompts.log": b"l", "worker.lock": b"{}", "worker.sock": b"",
    "config.toml": b"recall_limit = 2\n",
    "index/lexical-1/meta.json": b"{}", "index/memories-2/a.store": b"x", "index/memories-2-damaged-77/a.store": b"x",
    "index-damaged-123/lexical-1/meta.json": b"{}",
    "spool/observations.jsonl": b"{}", "spool/append.lock": b"", "spool/claim.lock": b"", "spool/key": b"k",
    "spool/batch-1772442000000-0badcafe.jsonl": b"{}",
    "spool/dead/batch-1772442000000-0badcafe.failed-3-StoreDamagedError.jsonl": b"{}",
    "spool/dead/batch-1772442000000-0badcafe.records.jsonl": b"{}",
    "installs/0123456789abcdef.json": b"{}", "installs/0123456789abcdef-0123456789abcdef.original": b"{}",
    "damaged/howcome.db": b"words", "damaged/index/lexical-1/meta.json": b"{}",
    "damaged/2026-11-21-081500/howcome.db": b"words", "damaged/2026-11-21-081500/memories.jsonl": b"words",
    "damaged/2026-11-21-081500/index/lexical-1/meta.json": b"{}",
    "replaced/2026-11-21-081500/howcome.db": b"words", "replaced/2026-11-21-081500/index/vectors-2-m/head": b"h",
    "backups/memories-2026-11-21.jsonl": b"{}", "backups/config-2026-11-21.toml": b"",
    "backups/howcome-2026-11-21-081500.db": b"words", "index/vectors-2-minilm-l6-v2/head": b"h",
}  # fmt: skip
"""Every kind of file that howcome makes, or tells its user to make."""

FOREIGN = {
    "thesis.txt": b"t", "howcome.db.backup-by-hand": b"b", "howcome.db2": b"b", "index/my-thesis.txt": b"t",
    "index/lexical-notes/a": b"t", "index-damaged-123/a": b"t", "spool/letters.txt": b"t", "spool/dead/letter": b"t",
    "installs/readme": b"t", "damaged/cup.jpg": b"t", "damaged/2026-11-21-081500/photo.jpg": b"t",
    "damaged/old/howcome.db": b"t", "backups/mine.db": b"t", "worker.lock.d/a": b"t",
}  # fmt: skip


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """A command line on a machine without any agent on PATH."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return CliRunner()


def done(result: Result) -> str:
    """What a command printed that did what it was asked for."""
    assert result.exit_code == 0, result.output
    return result.stdout


def files(folder: Path) -> set[str]:
    """Every file below a folder."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir() or path.is_symlink()}


# ---------------------------------------------------------------- exact names


def test_all_of_ours_is_deleted_and_no_folder_stays(tmp_path: Path) -> None:
    """Every file that howcome makes has a name that is known."""
    home = tmp_path / "memory"
    put(home, OURS)
    assert foreign_paths(str(home)) == []
    plan = plan_purge(home)
    assert plan.size_bytes == sum(len(data) for name, data in OURS.items() if not name.startswith("installs/"))
    assert set(purge(plan)) == set(OURS)
    assert not home.exists()


def test_nothing_of_anybody_else_is_deleted(tmp_path: Path) -> None:
    """Not in our folders, not with a name that only begins like one of ours."""
    home = tmp_path / "memory"
    put(home, {**OURS, **FOREIGN})
    purge(plan_purge(home))
    assert files(home) == set(FOREIGN)
    assert {name.partition("/")[0] for name in what_is_kept(home)} == {name.partition("/")[0] for name in FOREIGN}


@pytest.mark.parametrize("config", [b'theme = "dark"\n', b'recall_limit = 2\ntheme = "dark"\n', b"no toml", b""])
def test_another_programs_configuration_stays(tmp_path: Path, config: bytes) -> None:
    """In a shared folder `config.toml` is ours only by what it says."""
    put(tmp_path, {"config.toml": config, "howcome.db": b""})
    assert own_paths(str(tmp_path)) == [str(tmp_path / "howcome.db")]
    assert what_is_kept(tmp_path) == ["config.toml"]


def test_a_configuration_whose_last_setting_was_taken_back_is_ours(store_folder: Path) -> None:
    """`howcome config unset` leaves its comment behind."""
    assert run("config", "set", "recall_limit", "2").returncode == 0
    assert run("config", "unset", "recall_limit").returncode == 0
    assert str(store_folder / "config.toml") in own_paths(str(store_folder))


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """Neither a linked folder is emptied, nor is a link taken away."""
    put(tmp_path / "elsewhere", {"lexical-1/meta.json": b"{}", "howcome.db": b"words"})
    home = tmp_path / "memory"
    home.mkdir()
    (home / "index").symlink_to(tmp_path / "elsewhere")
    (home / "howcome.db").symlink_to(tmp_path / "elsewhere" / "howcome.db")
    assert purge(plan_purge(home)) == []
    assert files(tmp_path / "elsewhere") == {"lexical-1/meta.json", "howcome.db"}
    assert what_is_kept(home) == ["howcome.db", "index"]


def test_what_cannot_be_deleted_is_named_and_the_rest_goes(tmp_path: Path) -> None:
    """The error counts both, and is not waited for."""
    put(tmp_path, {"howcome.db": b"", "hook-errors.log": b"", "spool/key": b""})
    (tmp_path / "spool").chmod(0o500)
    program = (
        "import sys; from pathlib import Path\n"
        "from howcome.wiring.purge import plan_purge, purge\n"
        "purge(plan_purge(Path(sys.argv[1])), wait_s=600)\n"
    )
    words = [*python(WITHOUT_OVERRIDE), sys.executable, "-c", program, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    (tmp_path / "spool").chmod(0o700)
    assert "2 files of the memory were deleted, 1 could not be: " in done.stderr
    assert f"{tmp_path / 'spool' / 'key'}: Permission denied" in done.stderr
    assert files(tmp_path) == {"spool/key"}


class Writer:
    """A process of an agent's session that is at its work: it holds the worker's lock, and writes until it ends."""

    def __init__(self, home: Path, work: Callable[[threading.Event], None], threads: int = 1) -> None:
        self.home, self.over = home, threading.Event()
        self.threads = [threading.Thread(target=work, args=(self.over,)) for _ in range(threads)]

    def __enter__(self) -> None:
        self.lock = take_lock(str(self.home))
        assert self.lock is not None
        for thread in self.threads:
            thread.start()

    def __exit__(self, *error: object) -> None:
        self.over.set()
        for thread in self.threads:
            thread.join()


def test_what_a_worker_writes_while_it_ends_is_deleted_too(tmp_path: Path) -> None:
    """The words go first; it sees that, commits what it has begun, and lets go: only then is all of it there."""
    home = tmp_path / "memory"
    put(home, OURS)

    def work(over: threading.Event) -> None:
        while (home / "howcome.db").exists():
            over.wait(0.01)
        over.wait(0.3)
        put(home, {"index/lexical-1/late.store": b"words", "hook-errors.log": b"l"})
        assert writer.lock is not None
        os.close(writer.lock)

    writer = Writer(home, work)
    with writer:
        assert "index/lexical-1/late.store" in purge(plan_purge(home), wait_s=60)
    assert not home.exists()


def test_what_comes_again_and_again_is_named(tmp_path: Path) -> None:
    """Nothing is said to be gone that is there; and there is an end to waiting."""
    home = tmp_path / "memory"
    put(home, OURS)

    def work(over: threading.Event) -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):  # its folder has just been deleted
                put(home, {"index/lexical-1/late.store": b"words"})

    says = pytest.raises(LifecycleError, match=r"still at work.*end the agents' sessions")
    with Writer(home, work, threads=4), says:  # one of them has the processor
        purge(plan_purge(home), wait_s=0.3)
    purge(plan_purge(home))
    assert not home.exists()


def test_where_nothing_can_be_deleted_nothing_is_begun() -> None:
    """The folder is named before an agent is disconnected or a file is gone."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can be entered by their owner only
        put(Path(name), {"howcome.db": b"", "spool/key": b""})
        os.chmod(name, 0o500)
        program = (
            "import os, sys; from pathlib import Path\n"
            "from howcome.wiring.purge import plan_purge, require_deletable\n"
            "if os.geteuid() == 0:\n"
            "    for place in ('', 'spool'): os.chown(os.path.join(sys.argv[1], place), 65534, -1)\n"
            "    os.seteuid(65534)\n"
            "require_deletable(plan_purge(Path(sys.argv[1])))\n"
        )
        words = [sys.executable, "-c", program, name]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
        os.chmod(name, 0o700)
    assert f"{name} is not writable, so the memory cannot be deleted. Nothing was changed." in done.stderr


# ---------------------------------------------------------------- the command


def test_records_of_agents_that_stay_connected_stay(home: Path, shell: CliRunner) -> None:
    """And who they are is said before and after; the last uninstall gives back the original bytes."""
    put(home, {".claude/settings.json": b'{"model": "x"}', ".codex/config.toml": b'model = "o9"\n'})
    done(shell.invoke(init, ["--agent", "claude-code", "--agent", "codex", "--yes"]))
    said = done(shell.invoke(uninstall, ["--agent", "codex", "--purge", "--yes"]))
    assert "Claude Code would stay connected" in said
    assert "Claude Code stays connected" in said
    assert not (home / ".howcome/howcome.db").exists()
    assert recorded_owners() == [Owner("claude-code")]
    done(shell.invoke(uninstall, ["--purge", "--yes"]))
    assert (home / ".claude/settings.json").read_bytes() == b'{"model": "x"}'
    assert (home / ".codex/config.toml").read_bytes() == b'model = "o9"\n'
    assert sorted(os.listdir(home)) == [".claude", ".codex"]


def test_no_backup_is_named_that_is_deleted_then(home: Path, shell: CliRunner) -> None:
    """An edited file leaves a backup behind: it stays without --purge, and goes unmentioned with it."""
    for options, is_there in (([], True), (["--purge"], False)):
        put(home, {".claude/settings.json": b'{"model": "x"}'})
        done(shell.invoke(init, ["--yes", "--no-import"]))
        path = home / ".claude/settings.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "theme": "dark"}))
        said = done(shell.invoke(uninstall, ["--yes", *options]))
        assert (".original" in said) is is_there
        assert (home / ".howcome/installs").exists() is is_there


def test_settings_stay_for_agents_that_stay_connected(home: Path, shell: CliRunner) -> None:
    """What was to be left out must not be read again by those that go on; it is said, before and after."""
    put(home, {".howcome/config.toml": b'exclude = ["/home/mara/secret"]\n'})
    done(shell.invoke(init, ["--agent", "claude-code", "--agent", "codex", "--yes"]))
    said = done(shell.invoke(uninstall, ["--agent", "codex", "--purge", "--yes"]))
    assert "would stay connected, and begin an empty memory with the settings in config.toml" in said
    assert "Claude Code stays connected, and config.toml stays for it" in said
    assert (home / ".howcome/config.toml").read_bytes() == b'exclude = ["/home/mara/secret"]\n'
    done(shell.invoke(uninstall, ["--purge", "--yes"]))
    assert not (home / ".howcome").exists()


def test_only_the_memory_is_counted_as_the_memory(home: Path, shell: CliRunner) -> None:
    """Records of an install are none; what was announced is what is said to be gone."""
    put(home, {".claude/settings.json": b'{"model": "x"}'})
    done(shell.invoke(init, ["--no-import", "--yes"]))
    said = done(shell.invoke(uninstall, ["--purge", "--yes"]))
    assert "memory, deleted" not in said
    assert "There was no memory" in said
    assert files(home) == {".claude/settings.json"}
    put(home, {f".howcome/{name}": data for name, data in OURS.items()})
    said = done(shell.invoke(uninstall, ["--purge", "--yes"]))
    number = sum(not name.startswith("installs/") for name in OURS)
    assert f"({number} files, " in said
    assert f"{number} files of the memory deleted." in said
    assert "nothing was changed" not in said
    assert "No agent was connected" in said


def test_a_no_to_either_question_leaves_everything_as_it_was(home: Path, shell: CliRunner) -> None:
    """Both are asked before anything is done."""
    done(shell.invoke(init, ["--yes"]))
    before = files(home)
    for answers in ("n\n", "y\nn\n"):
        refused = shell.invoke(uninstall, ["--purge"], input=answers)
        assert refused.exit_code == 1
        assert refused.stdout.count("[y/N]") == answers.count("\n")
        assert files(home) == before
    said = done(shell.invoke(uninstall, ["--purge"], input="y\ny\n"))
    assert "Disconnect Claude Code?" in said
    assert f"Delete the whole memory in {home / '.howcome'}, with no way back?" in said
    assert files(home) == set()


def test_a_dry_run_names_the_memory_that_would_go(home: Path, shell: CliRunner) -> None:
    """For people and as JSON; nothing is deleted."""
    done(shell.invoke(init, ["--yes"]))
    before = files(home)
    assert "memory, deleted" in done(shell.invoke(uninstall, ["--purge", "--dry-run"]))
    assert "memory, stays" in done(shell.invoke(uninstall, ["--dry-run"]))
    report: dict[str, Any] = json.loads(shell.invoke(uninstall, ["--purge", "--dry-run", "--json"]).stdout)
    assert report["dry_run"] is True
    assert "howcome.db" in report["purged"]
    assert files(home) == before


def test_without_a_store_nothing_is_said_to_stay(home: Path, shell: CliRunner) -> None:
    """There is no memory, so none stays; and nothing is asked when there is nothing to do."""
    said = done(shell.invoke(uninstall, ["--yes"]))
    assert "Nothing was installed" in said
    assert "memory" not in said
    assert "There was no memory" in done(shell.invoke(uninstall, ["--purge"]))
    assert "?" not in done(shell.invoke(uninstall, []))
    assert os.listdir(home) == []


@pytest.mark.parametrize("is_member", [True, False])
def test_what_is_on_a_teams_server_is_said_before_the_question(home: Path, shell: CliRunner, is_member: bool) -> None:
    """Only a member can withdraw it, and the membership goes with the memory."""
    store = home / ".howcome"
    put(store, {"howcome.db": b"words", **({"team.json": b"{}"} if is_member else {})})
    said = shell.invoke(uninstall, ["--purge"], input="n\n")
    assert ("stays on the team's server" in said.output, (store / "howcome.db").exists()) == (is_member, True)


# ---------------------------------------------------------------- questions


def test_the_question_names_what_is_connected(home: Path, shell: CliRunner) -> None:
    """And a second init, with nothing to do, asks nothing."""
    said = done(shell.invoke(init, ["--agent", "claude-code", "--agent", "codex"], input="y\n"))
    assert "Connect Claude Code and Codex CLI? [y/N]: y" in said
    assert "?" not in done(shell.invoke(init, ["--agent", "codex"])).partition("Now try")[0]
    (home / ".codex/hooks.json").unlink()
    assert "Bring this up to date? [y/N]: y" in done(shell.invoke(upgrade, [], input="y\n"))


def test_only_the_users_scope_names_the_slash_commands(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A project has none of them."""
    (home / "shop").mkdir()
    monkeypatch.chdir(home / "shop")
    assert "/howcome:recall" not in done(shell.invoke(init, ["--scope", "project", "--yes"]))
    assert "Or type /howcome:recall" in done(shell.invoke(init, ["--yes"]))


@pytest.mark.parametrize("command", [init, uninstall, upgrade])
def test_with_nobody_to_ask_nothing_is_done(home: Path, shell: CliRunner, command: Any) -> None:
    """No prompt that nobody can answer: --yes is named."""
    if command is not init:
        wire("claude-code")
        (home / ".claude/settings.json").unlink()
    before = files(home)
    result = shell.invoke(command, [])
    assert isinstance(result.exception, UsageError)
    assert "add --yes" in str(result.exception)
    assert "?" not in result.stdout
    assert files(home) == before
    unwire("claude-code")


@pytest.mark.parametrize("stdin", ["/dev/null", "closed"])
def test_without_a_terminal_the_exit_code_is_that_of_wrong_usage(home: Path, stdin: str) -> None:
    """As a script or a scheduler starts it."""
    words = [*COMMAND, "init"]
    words = ["sh", "-c", 'exec "$@" <&-', "sh", *words] if stdin == "closed" else words
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert done.stderr == "howcome: not a terminal, so nobody can be asked: add --yes\n"
    assert os.listdir(home) == []


def test_at_a_terminal_a_person_is_asked(home: Path) -> None:
    """The answer is read from there."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([*COMMAND, "init"], stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, b"n\n")
        assert process.wait(timeout=60) == 1
        said = os.read(ours, 65536)
    os.close(ours)
    assert b"Connect Claude Code? [y/N]: " in said
    assert b"nothing was changed" in said
    assert os.listdir(home) == []
