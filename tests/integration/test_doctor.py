"""`howcome doctor` names what is wrong and its remedy: a test breaks one thing, follows the remedy, looks again."""

from __future__ import annotations

import fcntl
import json
import os
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.histories import OpenCode
from tests.processes import run

from howcome.doctor import base, folder, programs, storage
from howcome.doctor import report as doctor
from howcome.doctor.base import Finding, Machine
from howcome.doctor.wiring import launch_of
from howcome.errors import StoreError
from howcome.present.screen import local_time

LIMIT_S = 60
OLD_S = 3600
FOREIGN = ("HOWCOME_", "CLAUDE", "CODEX_", "GEMINI_", "XDG_", "GIT_")
"""Beginnings of variables of the caller's that must not reach a test."""


class Patient:
    """A user's machine on which howcome is installed, and the doctor who looks at it."""

    def __init__(self, home: Path, store: Path, programs: Path) -> None:
        self.home, self.store = home, store
        self.settings = home / ".claude" / "settings.json"
        self.servers = home / ".claude.json"
        self.programs = programs
        path = f"{programs}:{os.environ['PATH']}"
        self.environment = {**os.environ, "HOME": str(home), "HOWCOME_HOME": str(store), "PATH": path}
        self.program("howcome", f'exec {sys.executable} -m howcome "$@"')
        self.program("claude", "echo 2.1.329 '(Claude Code)'")

    def program(self, name: str, script: str) -> None:
        """Puts a program on PATH."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    def do(self, command: str) -> str:
        """What a person types; it must succeed."""
        done = subprocess.run(
            ["sh", "-c", command], env=self.environment, cwd=self.home, capture_output=True, text=True, check=False,
            timeout=LIMIT_S,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
        return done.stdout

    def examine(self, *options: str) -> dict[str, Any]:
        """The doctor's report; the exit code says whether there is an error, and nothing else is said."""
        done = run("doctor", "--json", *options, folder=self.home, environment=self.environment)
        assert done.stderr == ""
        report: dict[str, Any] = json.loads(done.stdout)
        assert done.returncode == (1 if report["counts"]["error"] else 0)
        return report

    def problems(self, *options: str) -> list[dict[str, str]]:
        """Its warnings and errors."""
        return [found for found in self.examine(*options)["findings"] if found["level"] in ("warning", "error")]

    def edit(self, path: Path, change: Callable[[Any], None]) -> None:
        """Changes a JSON file as its user might."""
        document = json.loads(path.read_text())
        change(document)
        path.write_text(json.dumps(document, indent=2))

    def session(self, name: str, *, age_s: float = OLD_S) -> Path:
        """A session of Claude Code that nobody has read yet."""
        path = write(self.home / ".claude" / "projects" / "-harbour" / f"{name}.jsonl", *Claude(name).conversation(2))
        age(path, age_s)
        return path

    def database(self) -> sqlite3.Connection:
        """The database as another program opens it."""
        return sqlite3.connect(self.store / "howcome.db", isolation_level=None)


def age(path: Path, age_s: float) -> None:
    """Makes a file that old."""
    then = time.time() - age_s
    os.utime(path, (then, then))


def new_patient(base: Path) -> Patient:
    """An empty machine: nothing was done on it yet."""
    for name in ("home", "bin"):
        (base / name).mkdir(parents=True)
    return Patient(base / "home", base / "store", base / "bin")


@pytest.fixture(scope="module")
def healthy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a machine with a healthy install and one session that was read, as it was then."""
    base = tmp_path_factory.mktemp("patient") / "machine"
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN)]:
            patch.delenv(name)
        found = new_patient(base)
        found.session("earlier")
        found.do("howcome init --yes")
    shutil.copytree(base, base.with_name("healthy"), symlinks=True)
    return base


@pytest.fixture
def patient(healthy: Path, monkeypatch: pytest.MonkeyPatch) -> Patient:
    """That machine, healthy again."""
    shutil.rmtree(healthy)
    shutil.copytree(healthy.with_name("healthy"), healthy, symlinks=True)
    monkeypatch.setenv("HOME", str(healthy / "home"))
    monkeypatch.setenv("HOWCOME_HOME", str(healthy / "store"))
    return Patient(healthy / "home", healthy / "store", healthy / "bin")


def test_a_healthy_install_gives_no_warning(patient: Patient) -> None:
    """Everything is looked at, nothing is wrong, also at depth; the exit code is 0."""
    for options in ((), ("--deep",)):
        report = patient.examine(*options)
        assert [found for found in report["findings"] if found["level"] != "ok"] == []
    seen = {found["check"] for found in report["findings"]}
    assert seen >= {
        "folder", "file system", "disk", "settings", "switches", "models", "versions", "parts", "agents", "mcp",
        "hook errors", "interpreter", "hook", "store", "integrity", "index", "quarantine", "unread", "spool", "worker",
    }  # fmt: skip
    assert "0 errors, 0 warnings" in patient.do("howcome doctor")


# ---------------------------------------------------------------- broken states: what breaks, and what must be said


def no_interpreter(patient: Patient) -> None:
    """The virtual environment was removed."""
    text = patient.settings.read_text()
    patient.settings.write_text(text.replace(sys.executable, "/opt/gone/bin/python3"))


def packages_gone(patient: Patient) -> None:
    """The interpreter is there, its packages are not: the hook says nothing, and does nothing."""
    launch = launch_of(_command(patient))
    assert launch is not None
    bare = patient.home / "elsewhere" / "howcome" / "launch.py"
    bare.parent.mkdir(parents=True)
    shutil.copy(launch.script, bare)
    other = patient.home / "bare-python"
    other.symlink_to(os.path.realpath(sys.executable))
    text = patient.settings.read_text().replace(launch.script, str(bare))
    patient.settings.write_text(text.replace(sys.executable, str(other)))


def _command(patient: Patient) -> str:
    return str(json.loads(patient.settings.read_text())["hooks"]["Stop"][0]["hooks"][0]["command"])


def hooks_cut_out(patient: Patient) -> None:
    """Somebody cleaned up their settings."""
    patient.edit(patient.settings, lambda document: document["hooks"].pop("Stop"))


def another_install(patient: Patient) -> None:
    """The hooks fill another store."""
    text = patient.settings.read_text()
    patient.settings.write_text(text.replace(str(patient.store), str(patient.home / "old-store")))


def no_server_entry(patient: Patient) -> None:
    """The server's entry was removed."""
    patient.edit(patient.servers, lambda document: document["mcpServers"].pop("howcome"))


def server_does_not_start(patient: Patient) -> None:
    """The server's program is gone."""
    patient.edit(patient.servers, lambda document: document["mcpServers"]["howcome"].update(command="/opt/gone/py"))


def server_says_nothing(patient: Patient) -> None:
    """The server's code is another one."""
    replace_server(patient, "raise SystemExit('no server here')\n")


def server_stays(patient: Patient) -> None:
    """A server that would outlive its session."""
    answer = {"jsonrpc": "2.0", "id": 1, "result": {"serverInfo": {"name": "howcome", "version": "0.0.1"}}}
    replace_server(patient, f"import time\ninput()\nprint({json.dumps(answer)!r}, flush=True)\ntime.sleep(60)\n")


def replace_server(patient: Patient, code: str) -> None:
    """Lets the entry start other code."""
    other = patient.home / "other" / "howcome" / "launch.py"
    other.parent.mkdir(parents=True)
    other.write_text(code)
    arguments = ["-I", "-S", "-E", str(other), "mcp"]
    patient.edit(patient.servers, lambda document: document["mcpServers"]["howcome"].update(args=arguments))


def no_skill(patient: Patient) -> None:
    """Somebody cleaned up their skills."""
    shutil.rmtree(patient.home / ".claude" / "skills")


def unread_sessions(patient: Patient) -> None:
    """A session was killed."""
    patient.session("killed")


def index_behind(patient: Patient) -> None:
    """A process was killed between the commit of the rows and that of the index."""
    copy = patient.home / "index-of-before"
    shutil.copytree(patient.store / "index", copy)
    patient.session("later")
    patient.do("howcome import")
    shutil.rmtree(patient.store / "index")
    copy.rename(patient.store / "index")


def index_gone(patient: Patient) -> None:
    """Somebody needed the room."""
    shutil.rmtree(patient.store / "index")


def damaged_index(patient: Patient) -> None:
    """A bad block in the index."""
    for path in (patient.store / "index").rglob("meta.json"):
        path.write_bytes(b"\0" * 100)


def index_of_another_store(patient: Patient) -> None:
    """The database was put back from a backup, the index was not."""
    database = patient.database()
    database.execute("DELETE FROM memberships")
    database.execute("DELETE FROM events WHERE id > 5")
    database.close()


def damaged_database(patient: Patient) -> None:
    """A bad disk."""
    (patient.store / "howcome.db").write_bytes(b"no database at all" * 1000)
    for name in ("howcome.db-wal", "howcome.db-shm"):
        (patient.store / name).unlink(missing_ok=True)


def damaged_but_readable(patient: Patient) -> None:
    """A bad block in an index of the database: memories can still be read."""
    patient.do("howcome remember 'a queue keeps its order'")
    database = patient.database()
    (page_bytes,) = database.execute("PRAGMA page_size").fetchone()
    (root,) = database.execute("SELECT min(rootpage) FROM sqlite_schema WHERE tbl_name = 'injections'").fetchone()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    with (patient.store / "howcome.db").open("r+b") as stream:
        stream.seek((root - 1) * page_bytes)
        stream.write(b"\xff" * page_bytes)


def open_to_others(patient: Patient) -> None:
    """Somebody was generous."""
    (patient.store / "howcome.db").chmod(0o644)
    patient.store.chmod(0o755)


def stale_spool(patient: Patient) -> None:
    """An agent without transcripts said something, and no session came by since."""
    said = {"agent": "cursor", "session_id": "s", "cwd": "/x", "text": "the harbour plan"}
    patient.do(f"echo {shlex.quote(json.dumps(said))} | howcome observe")
    live = patient.store / "spool" / "observations.jsonl"
    assert live.exists()
    age(live, 2 * OLD_S)


def dead_letters(patient: Patient) -> None:
    """A batch of observations met a damaged store; it has been whole again since."""
    dead = patient.store / "spool" / "dead"
    dead.mkdir(parents=True, mode=0o700)
    said = {"agent": "cursor", "session_id": "s", "cwd": "/x", "text": "the harbour plan", "id": "1", "ts": 1}
    letter = dead / "batch-1772442000000-0badcafe.failed-3-StoreDamagedError.jsonl"
    letter.write_text(json.dumps(said) + "\n")
    for path in (dead, dead.parent):
        path.chmod(0o700)
    letter.chmod(0o600)


def failed_hook(patient: Patient) -> None:
    """A hook failed a moment ago."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    log = patient.store / "hook-errors.log"
    log.write_text(f"{now} Stop StoreLockedError BusyError hooks.py:1\n")
    log.chmod(0o600)


STATES: dict[str, tuple[Callable[[Patient], None], str, str, str, str]] = {
    "interpreter gone": (no_interpreter, "error", "interpreter", "/opt/gone/bin/python3", "howcome init"),
    "packages gone": (packages_gone, "error", "interpreter", "cannot load howcome", "howcome init"),
    "hooks cut out": (hooks_cut_out, "error", "agents", ": hooks Stop", "howcome init"),
    "hooks of another install": (another_install, "warning", "agents", "outdated", "howcome init"),
    "MCP entry missing": (no_server_entry, "error", "agents", ": MCP server", "howcome init"),
    "MCP server does not start": (server_does_not_start, "error", "mcp", "does not start", "howcome init"),
    "MCP server says nothing": (server_says_nothing, "error", "mcp", "no server here", "howcome init"),
    "MCP server does not end": (server_stays, "error", "mcp", "did not end", "howcome init"),
    "skill gone": (no_skill, "warning", "agents", "skill temporal-recall", "howcome init"),
    "unread bytes": (unread_sessions, "warning", "unread", "of 1 transcript are not read", "howcome import"),
    "index behind": (index_behind, "warning", "index", "behind", "howcome import"),
    "index gone": (index_gone, "warning", "index", "behind", "howcome import"),
    "index damaged": (damaged_index, "error", "index", "damaged", "howcome doctor --fix"),
    "index of another store": (index_of_another_store, "error", "index", "another store's", "howcome doctor --fix"),
    "database damaged": (damaged_database, "error", "store", "in no transcript", "howcome doctor --fix"),
    "open to others": (open_to_others, "error", "folder", "other users", "chmod -R go-rwx {store}"),
    "stale spool": (stale_spool, "warning", "spool", "not stored yet", "howcome observe --retry"),
    "dead letters": (dead_letters, "warning", "spool", "1 StoreDamagedError", "howcome observe --retry"),
    "hook failed": (failed_hook, "warning", "hook errors", "StoreLockedError", "howcome doctor --deep; then rm "),
}
"""Broken state → what breaks it, the level, the check, words of the finding, the beginning of its remedy."""


@pytest.mark.parametrize("state", STATES)
def test_a_broken_state_is_named_with_its_remedy(patient: Patient, state: str) -> None:
    """The finding names it; following its remedy makes it go away, and nothing else is left."""
    break_it, level, check, words, remedy = STATES[state]
    break_it(patient)
    problems = patient.problems()
    found = [problem for problem in problems if problem["check"] == check and words in problem["what"]]
    assert found, problems
    assert found[0]["level"] == level
    assert found[0]["remedy"].startswith(remedy.format(store=patient.store))
    follow(patient, found[0]["remedy"])
    assert patient.problems() == []


def follow(patient: Patient, remedy: str) -> None:
    """Types a remedy as it stands, and says yes."""
    for command in remedy.split("; then "):
        patient.do(f"{command} --yes" if command.startswith(("howcome init", "howcome doctor")) else command)


SWITCHES = {
    "disabled": ("HOWCOME_DISABLE", "1", "hooks do nothing"),
    "misspelt variable": ("HOWCOME_RECAL_LIMIT", "5", "is it HOWCOME_RECALL_LIMIT?"),
    "variable out of range": ("HOWCOME_RECALL_LIMIT", "500", "expected 0 to 10"),
    "nested agent": ("HOWCOME_ACTIVE", "1", "hooks of agents that are started from this shell"),
}


@pytest.mark.parametrize("state", SWITCHES)
def test_a_variable_that_is_in_the_way_is_named(patient: Patient, state: str) -> None:
    """And how to be rid of it, literally."""
    variable, value, words = SWITCHES[state]
    patient.environment[variable] = value
    (problem,) = [found for found in patient.problems() if words in found["what"]]
    assert problem["remedy"] == f"unset {variable}"
    del patient.environment[variable]
    assert patient.problems() == []


CONFIGURATIONS = {
    "unknown key": ("recall_limits = 3", "unknown setting 'recall_limits'"),
    "out of range": ("recall_limit = 99", "expected 0 to 10"),
    "relative folder": ('exclude = ["clients"]', "no absolute folder"),
    "no TOML": ("recall_limit 3", "config.toml"),
}


@pytest.mark.parametrize("state", CONFIGURATIONS)
def test_a_bad_configuration_is_named_and_hides_nothing_else(patient: Patient, state: str) -> None:
    """Every other check still runs, with the defaults; the remedy opens the file."""
    line, words = CONFIGURATIONS[state]
    config = patient.store / "config.toml"
    config.write_text(line + "\n")
    config.chmod(0o600)
    problems = patient.problems()
    (problem,) = [found for found in problems if found["check"] == "settings"]
    assert words in problem["what"]
    patient.environment["EDITOR"] = "sed -i d"
    patient.do(problem["remedy"])
    assert patient.problems() == []


def test_settings_that_are_no_json_are_named_with_the_place(patient: Patient) -> None:
    """The agent drops the whole file; the remedy opens it."""
    good = patient.settings.read_text()
    patient.settings.write_text(good.replace('"hooks"', '"hooks', 1))
    (problem,) = patient.problems()
    assert (problem["level"], problem["check"]) == ("error", "agents")
    assert str(patient.settings) in problem["what"]
    assert "line" in problem["what"]
    assert problem["remedy"].endswith(str(patient.settings))
    patient.settings.write_text(good)
    assert patient.problems() == []


@pytest.mark.parametrize("place", [".claude/settings.json", "work/.claude/settings.local.json"])
def test_hooks_that_are_switched_off_are_named(patient: Patient, place: str) -> None:
    """In the user's settings or in those of the folder where one stands; the remedy names file and line."""
    path = patient.home / place
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.write_text("{}")
    patient.edit(path, lambda document: document.update(disableAllHooks=True))
    done = subprocess.run(
        ["howcome", "doctor", "--json"], env=patient.environment, cwd=path.parents[1], capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    (problem,) = [found for found in json.loads(done.stdout)["findings"] if "disableAllHooks" in found["what"]]
    assert problem["remedy"] == f'in {path}: "disableAllHooks": false'
    patient.edit(path, lambda document: document.update(disableAllHooks=False))
    assert patient.problems() == []


OWN_FILES = {
    "capure = false": ("warning", "nothing reads capure", "is it capture?"),
    "capture = no": ("warning", "cannot be read", "nothing of this project is stored"),
    "capture = 0": ("warning", "capture in", "is none of true, false"),
    'inject = "quiet"': ("warning", "inject in", "is none of bites, context, off"),
    'inject = "off"': ("note", "nothing is told in this project", ""),
    "capture = false": ("note", "nothing of this project is stored", ""),
}


@pytest.mark.parametrize("said", OWN_FILES)
def test_what_a_repository_s_own_file_says_is_told(said: str, tmp_path: Path, store_folder: Path) -> None:
    """A word that nobody reads would switch nothing off, and what is off is no puzzle."""
    assert not store_folder.exists()
    (tmp_path / ".git").mkdir()
    (tmp_path / ".howcome.toml").write_text(f"{said}\n")
    level, *words = OWN_FILES[said]
    findings = json.loads(run("doctor", "--json", folder=tmp_path).stdout)["findings"]
    found = [one for one in findings if one["check"] == "switches"]
    assert [one["level"] for one in found] == [level]
    assert all(word in found[0]["what"] for word in words)


def test_a_server_that_is_somebody_elses_is_told(patient: Patient) -> None:
    """`init` leaves it alone: the remedy opens the file."""
    entry = {"command": "/bin/echo", "args": ["hi"]}
    patient.edit(patient.servers, lambda document: document["mcpServers"].update(howcome=entry))
    problems = patient.problems()
    assert [(found["level"], found["check"]) for found in problems] == [("error", "agents"), ("error", "mcp")]
    assert all(found["remedy"].startswith(f"${{EDITOR:-vi}} {patient.servers}") for found in problems)


def test_a_tool_hook_is_an_error_with_an_older_client(patient: Patient) -> None:
    """It would drop the whole settings file; a newer one is fine."""
    patient.do("howcome init --yes --hook-form mcp")
    assert patient.problems() == []
    patient.program("claude", "echo 2.1.117 '(Claude Code)'")
    (problem,) = patient.problems()
    assert "mcp_tool" in problem["what"]
    assert (problem["level"], problem["remedy"]) == ("error", "howcome init --hook-form command")
    follow(patient, problem["remedy"])
    assert patient.problems() == []


def test_a_skill_that_its_user_edited_is_a_note(patient: Patient) -> None:
    """It is theirs now; the remedy takes ours again."""
    skill = patient.home / ".claude" / "skills" / "temporal-recall" / "SKILL.md"
    skill.write_text(skill.read_text() + "\nNever search for lunch.\n")
    (note,) = [found for found in patient.examine()["findings"] if found["level"] != "ok"]
    assert (note["level"], note["remedy"]) == ("note", "howcome init --force")
    assert str(skill) in note["what"]
    follow(patient, note["remedy"])
    assert "lunch" not in skill.read_text()


def test_a_client_that_hangs_is_not_waited_for(patient: Patient) -> None:
    """Its version is not known then."""
    machine = Machine(patient.environment)
    assert programs.client_version(machine, "claude", limit_s=LIMIT_S) == "2.1.329"
    patient.program("claude", "sleep 600 & sleep 600")
    started = time.monotonic()
    assert programs.client_version(machine, "claude", limit_s=0.3) == ""
    assert programs.client_version(machine, "nobody") == ""
    assert time.monotonic() - started < 30


def test_a_version_is_read_before_a_program_is_started(patient: Patient) -> None:
    """A package says it in a file next to its program; other packages around it do not."""
    package = patient.home / "lib" / "node_modules" / "@google" / "gemini-cli"
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.40.1", "bin": {"gemini": "dist/gemini.js"}}')
    (package / "dist" / "package.json").write_text('{"type": "module", "version": "9.9.9"}')
    patient.program("gemini", f"touch {patient.home}/started; echo 1.1.1")
    (patient.programs / "gemini").rename(package / "dist" / "gemini.js")
    (patient.programs / "gemini").symlink_to(package / "dist" / "gemini.js")
    machine = Machine(patient.environment)
    assert programs.client_version(machine, "gemini") == "0.40.1"
    assert not (patient.home / "started").exists()
    single = '{"name": "%s", "version": "2.0.0", "bin": "dist/gemini.js"}'  # a program with its package's name
    for name in ("gemini", "@google/gemini"):
        (package / "package.json").write_text(single % name)
        assert programs.client_version(machine, "gemini") == "2.0.0"
    others = ("{", "[]", '{"version": 7, "bin": {"gemini": "x"}}', '{"version": "2.0.0", "bin": {"other": "x"}}')
    for other in (*others, single % "@gemini/other", '{"version": "2.0.0", "bin": "dist/gemini.js"}'):
        (package / "package.json").write_text(other)
        assert programs.client_version(machine, "gemini") == "1.1.1"


def test_programs_are_started_together_and_leave_nothing(patient: Patient) -> None:
    """Each waits for the other here; what they write at home goes away with the home that they are given."""
    meet = "until [ -e {0}/{2} ]; do sleep 0.05; done; mkdir -p $XDG_CACHE_HOME/pkg; touch ~/left $CODEX_HOME/left"
    meet += "; touch $TMPDIR/left $TMP/left $TEMP/left"
    for name, other in (("codex", "gemini"), ("gemini", "codex")):
        waits = meet.format(patient.home, name, other)
        patient.program(name, f"touch {patient.home}/{name}; {waits}; echo {name} 1.2.3")
    patient.program("copilot", "exit 1")
    places = ("CODEX_HOME", "XDG_CACHE_HOME", "TMPDIR", "TMP", "TEMP")
    patient.environment |= dict.fromkeys(places, str(patient.home))
    before = sorted(patient.home.iterdir())
    found = programs.check_versions(Machine(patient.environment))
    said = {finding.what: finding for finding in found}
    assert {"codex 1.2.3", "gemini 1.2.3"} <= set(said)
    silent = said["copilot is here, and does not say its version"]
    assert (silent.level, silent.remedy) == ("note", "copilot --version")
    assert sorted(set(patient.home.iterdir()) - set(before)) == [patient.home / "codex", patient.home / "gemini"]


@pytest.mark.parametrize("module", ["re2", "msgspec", "zstandard"])
def test_a_part_that_is_missing_is_told_with_what_is_lost(patient: Patient, tmp_path: Path, module: str) -> None:
    """A warning: everything works, worse; the remedy installs it."""
    (tmp_path / f"{module}.py").write_text("raise ImportError('not installed')\n")
    patient.environment["PYTHONPATH"] = str(tmp_path)
    (problem,) = patient.problems()
    distribution, lost = programs.PARTS[module]
    assert (problem["level"], problem["check"]) == ("warning", "parts")
    assert lost in problem["what"]
    assert problem["remedy"].endswith(f"-m pip install {distribution}")


def test_a_store_of_a_newer_howcome_is_left_alone(patient: Patient) -> None:
    """The remedy is an upgrade of this one; the other checks still run."""
    patient.database().execute("PRAGMA user_version = 999")
    problems = patient.problems()
    (problem,) = [found for found in problems if found["check"] == "store"]
    assert "schema 999" in problem["what"]
    assert problem["remedy"] == base.update_remedy()
    checks = {found["check"] for found in patient.examine()["findings"]}
    assert checks >= {"folder", "agents", "interpreter", "spool"}


def test_without_a_store_the_remedy_is_an_import(patient: Patient) -> None:
    """A check never makes a store; the import does."""
    for name in ("howcome.db", "howcome.db-wal", "howcome.db-shm"):
        (patient.store / name).unlink(missing_ok=True)
    shutil.rmtree(patient.store / "index")
    (problem,) = patient.problems()
    assert (problem["check"], problem["remedy"]) == ("store", "howcome import")
    assert not (patient.store / "howcome.db").exists()
    follow(patient, problem["remedy"])
    assert patient.problems() == []


def test_without_any_agent_the_remedy_is_init(tmp_path: Path) -> None:
    """On a machine where nothing was done yet, nothing is made; then all is well."""
    patient = new_patient(tmp_path)
    problems = patient.problems()
    assert ("agents", "howcome init") in [(found["check"], found["remedy"]) for found in problems]
    assert not patient.store.exists()
    assert list(patient.home.iterdir()) == []
    follow(patient, "howcome init")
    assert patient.problems() == []


def test_a_plugin_is_enough_and_beside_init_it_is_named(patient: Patient) -> None:
    """Alone it connects the agent; beside `init` the note says which of them acts, and what takes one out."""

    def found() -> list[tuple[str, str]]:
        findings = patient.examine()["findings"]
        return [(one["level"], one["remedy"]) for one in findings if "its plugin" in one["what"]]

    assert found() == []
    patient.edit(patient.settings, lambda document: document.update(enabledPlugins={"howcome@howcome": True}))
    assert found() == [("note", "claude plugin uninstall howcome@howcome  # or: howcome uninstall")]
    patient.do("howcome uninstall --yes")
    assert found() == [("ok", "")]
    assert patient.problems() == []
    patient.edit(patient.settings, lambda document: document.update(enabledPlugins={"howcome@howcome": False}))
    assert [problem["remedy"] for problem in patient.problems()] == ["howcome init"]


def trust(codex: Path) -> None:
    """What the client notes when its user trusts all hooks of a file."""
    path = codex / "hooks.json"
    events = ("session_start", "user_prompt_submit", "stop")
    tables = [f'\n[hooks.state."{path}:{event}:0:0"]\ntrusted_hash = "sha256:5f"\n' for event in events]
    with (codex / "config.toml").open("a", encoding="utf-8") as stream:
        stream.writelines(tables)


def test_every_agent_is_looked_at(patient: Patient) -> None:
    """Each install for itself, with the remedy for that one."""
    agents = " ".join(f"--agent {name}" for name in ("codex", "gemini", "cursor", "opencode", "copilot"))
    patient.do(f"howcome init --yes --no-import {agents}")
    [untrusted] = patient.problems()
    assert untrusted["remedy"] == "codex  # type /hooks"
    trust(patient.home / ".codex")
    assert patient.problems() == []
    connected = json.loads(patient.do("howcome status --json"))["agents"]
    assert {found["agent"] for found in connected} == {
        "claude-code", "codex", "gemini", "cursor", "opencode", "copilot",
    }  # fmt: skip
    assert all(found["mcp"] for found in connected)
    config = patient.home / ".codex" / "config.toml"
    config.write_text(config.read_text().replace("[mcp_servers.howcome]", "[mcp_servers.other]"))
    (patient.home / ".cursor" / "hooks.json").write_text('{"version": 1, "hooks": {')
    invalid, missing = sorted(patient.problems(), key=lambda found: found["remedy"])
    assert (missing["remedy"], invalid["remedy"]) == (
        "howcome init --agent codex", f"${{EDITOR:-vi}} {patient.home / '.cursor' / 'hooks.json'}",
    )  # fmt: skip
    follow(patient, missing["remedy"])
    assert "howcome" in config.read_text()


def test_an_install_for_one_project_is_looked_at(patient: Patient) -> None:
    """The remedy leads there."""
    root = patient.home / "my work"
    root.mkdir()
    patient.do("git init --quiet 'my work' && cd 'my work' && howcome init --yes --no-import --scope project")
    assert patient.problems() == []
    (root / ".claude" / "settings.local.json").unlink()
    problems = patient.problems()
    assert {found["remedy"] for found in problems} == {f"cd '{root}' && howcome init --scope project"}
    patient.do(f"cd '{root}' && howcome init --yes --no-import --scope project")
    assert patient.problems() == []


def test_a_lock_that_is_kept_names_its_holder(patient: Patient) -> None:
    """Hooks give up after a second: who is in the way is said, and how to end it."""
    script = (
        "import sqlite3, sys, time\n"
        "store = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "store.execute('BEGIN IMMEDIATE'); print('locked', flush=True); time.sleep(600)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", script, str(patient.store / "howcome.db")], stdout=subprocess.PIPE, text=True
    )
    with holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        (problem,) = [found for found in patient.problems() if found["check"] == "store"]
        if os.path.exists(storage.LOCKS):
            assert f"process {holder.pid}" in problem["what"]
            assert problem["remedy"] == f"kill {holder.pid}"
        assert problem["level"] == "error"
        holder.kill()
    assert patient.problems() == []


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz"])
def test_a_few_unreadable_records_are_a_note_that_shows_where(patient: Patient, suffix: str) -> None:
    """The remedy prints the record's bytes, also of a packed file."""
    many = Claude("long").conversation(40)
    path = patient.home / ".claude" / "projects" / "-harbour" / f"long.{suffix}"
    write(path, *many, b"{broken\n", *Claude("x").conversation(1))
    patient.do("howcome import")
    (found,) = [found for found in patient.examine()["findings"] if found["check"] == "quarantine"]
    assert found["level"] == "note"
    assert str(path) in found["what"]
    assert patient.do(found["remedy"]) == "{broken\n"


def test_many_unreadable_records_are_a_new_format(patient: Patient) -> None:
    """The remedy is a howcome that knows it."""
    write(patient.home / ".claude/projects/-harbour/new.jsonl", *[b"[1, 2]\n"] * 20)
    patient.do("howcome import")
    (problem,) = patient.problems()
    assert (problem["level"], problem["check"]) == ("warning", "quarantine")
    assert problem["remedy"] == base.update_remedy()


def test_what_a_running_session_writes_is_no_warning(patient: Patient) -> None:
    """Its next hook reads it; that of an agent without hooks the next session's server."""
    patient.session("running", age_s=5)
    (found,) = [found for found in patient.examine()["findings"] if found["check"] == "unread"]
    assert (found["level"], found["what"].partition(": ")[2]) == ("note", "running sessions, their next hook reads it")
    patient.do("howcome import && howcome init --yes --agent opencode --no-import")
    chat = OpenCode()
    chat.exchange("berth")
    chat.save(patient.home / ".local" / "share" / "opencode" / "opencode.db")
    (found,) = [found for found in patient.examine()["findings"] if found["check"] == "unread"]
    assert (found["level"], found["what"].partition(": ")[2]) == ("note", "the next session's server reads it")


def damaged_inside(database: Path) -> None:
    """A bad block: the sessions are listed, and one of them cannot be read to its end."""
    chat = OpenCode()
    for number in range(60):
        chat.exchange(f"berth{number}")
    chat.save(database)
    connection = sqlite3.connect(database)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sql = "SELECT pageno FROM dbstat WHERE name = 'part' AND pagetype = 'leaf' AND ncell > 0 LIMIT 1"
    (page,) = connection.execute(sql).fetchone()
    connection.close()
    with database.open("r+b") as stream:
        stream.seek((page - 1) * 4096)
        stream.write(b"\xff" * 4096)


def damaged_head(database: Path) -> None:
    """Nothing in it is a database's."""
    database.write_bytes(b"rubbish " * 1000)


def of_another_schema(database: Path) -> None:
    """The agent keeps its sessions otherwise now."""
    sqlite3.connect(database).execute("CREATE TABLE conversation (id TEXT PRIMARY KEY)").connection.close()


UNREADABLE = {
    "damaged inside": (damaged_inside, "malformed", "sqlite3 "),
    "damaged head": (damaged_head, "not a database", "sqlite3 "),
    "unknown": (of_another_schema, "no such table: session", base.update_remedy()),
}


@pytest.mark.parametrize("state", UNREADABLE)
def test_an_agents_database_that_nobody_can_read_is_named(patient: Patient, state: str) -> None:
    """It is not said to be read soon; other transcripts that wait are told beside it."""
    break_it, words, remedy = UNREADABLE[state]
    database = patient.home / ".local" / "share" / "opencode" / "opencode.db"
    database.parent.mkdir(parents=True)
    break_it(database)
    patient.session("later")
    waiting = [found["what"] for found in patient.problems() if found["check"] == "unread"]
    assert len(waiting) == 2
    patient.do("howcome import")
    (found,) = patient.problems()
    assert (found["level"], found["check"]) == ("warning", "unread")
    assert str(database) in found["what"]
    assert words in found["what"]
    assert found["remedy"].startswith(remedy)


def test_an_agents_database_that_is_locked_waits(patient: Patient) -> None:
    """Its agent is at it: it is read later, and nothing is wrong with it."""
    chat = OpenCode()
    chat.exchange("berth")
    database = sqlite3.connect(chat.save(patient.home / ".local" / "share" / "opencode" / "opencode.db"))
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("BEGIN EXCLUSIVE")
    (found,) = [found for found in patient.examine()["findings"] if found["check"] == "unread"]
    assert (found["level"], found["what"].partition(": ")[2]) == ("note", "the next session's server reads it")
    database.close()


def test_what_the_doctor_starts_is_no_hook_of_an_agent(patient: Patient) -> None:
    """No prompt is counted, no error is left, and nothing ran that was seen; a hook without a Stop is (`claude -p`)."""
    log = patient.store / "hook-errors.log"
    for _ in range(2):
        assert {found["what"] for found in patient.examine()["findings"] if found["check"] == "prompts"} == {
            "none today"
        }
    assert not log.exists()
    assert json.loads(patient.do("howcome status --json"))["last_hook"] is None
    command = _command(patient).replace(" Stop ", " UserPromptSubmit ")
    before = time.time()
    patient.do(f"echo '{{}}' | {command}")
    last = json.loads(patient.do("howcome status --json"))["last_hook"]
    assert last is not None
    assert abs(datetime.fromisoformat(last).timestamp() - before) < LIMIT_S


def test_hooks_that_never_ran_are_noticed(patient: Patient) -> None:
    """Sessions ended since the install, and no hook read them."""
    age(patient.settings, 3 * OLD_S)
    for name in ("one", "two"):
        patient.session(name)
    problems = patient.problems()
    assert [found["check"] for found in problems] == ["hook", "unread"]
    follow(patient, problems[1]["remedy"])
    assert patient.problems() == []


def test_the_clients_own_word_says_when_a_hook_ran(patient: Patient) -> None:
    """Claude Code notes in its transcript which Stop hooks it ran."""
    talk = Claude("told")
    ran = [{"command": _command(patient), "durationMs": 30}]
    summary = talk.record("system", subtype="stop_hook_summary", hookInfos=ran)
    write(patient.home / ".claude/projects/-harbour/told.jsonl", talk.user("the harbour plan"), summary)
    patient.do("howcome import")
    last = json.loads(patient.do("howcome status --json"))["last_hook"]
    assert last == summary["timestamp"]
    seen = local_time(round(datetime.fromisoformat(last).timestamp() * 1000), time.time_ns() // 1_000_000)
    assert any(f"last seen {seen}" in found["what"] for found in patient.examine()["findings"])


def test_a_socket_without_a_worker_is_taken_away(patient: Patient) -> None:
    """Only while nobody holds the worker's lock."""
    path = patient.store / "worker.sock"
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(os.path.relpath(path))
    path.chmod(0o600)
    lock = os.open(patient.store / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    assert [found for found in patient.examine("--fix")["findings"] if found["level"] != "ok"] == []
    assert path.exists()
    os.close(lock)
    (found,) = [found for found in patient.examine()["findings"] if found["level"] != "ok"]
    assert (found["level"], found["remedy"]) == ("note", "howcome doctor --fix")
    assert "killed" not in found["what"]  # a client ends its servers with a signal, and that is a normal end
    patient.do(found["remedy"])
    assert not path.exists()


def test_fix_repairs_what_is_safe_and_says_so(patient: Patient) -> None:
    """Modes, the index, the spool; the findings are those of afterwards."""
    dead_letters(patient)
    open_to_others(patient)
    damaged_index(patient)
    report = patient.examine("--fix")
    assert [line.partition(":")[0] for line in report["fixed"]] == ["folder", "index", "spool"]
    assert (report["counts"]["error"], report["counts"]["warning"]) == (0, 0)
    assert patient.store.stat().st_mode & 0o077 == 0
    assert patient.examine("--fix")["fixed"] == []


def test_what_its_owner_may_not_write_is_made_writable(patient: Patient) -> None:
    """SQLite gives the files beside a database its mode: a moment of read-only lasts."""
    (patient.store / "howcome.db").chmod(0o400)
    (found,) = [found for found in patient.problems() if found["check"] == "folder"]
    assert "howcome.db cannot be written by you" in found["what"]
    assert patient.examine("--fix")["fixed"] == ["folder: made 1 path writable for you"]
    assert [found for found in patient.problems() if found["check"] == "folder"] == []


def test_what_git_keeps_read_only_is_as_it_should_be(patient: Patient) -> None:
    """A `howcome sync` through git leaves objects that git itself never writes again; `--fix` leaves their modes."""
    pack = patient.store / "sync" / "git" / ".git" / "objects" / "pack" / "pack-0badcafe.idx"
    pack.parent.mkdir(parents=True)
    for made in (patient.store / "sync", *(patient.store / "sync").rglob("*")):
        made.chmod(0o700)
    pack.write_bytes(b"p")
    pack.chmod(0o400)
    assert [found for found in patient.problems() if found["check"] == "folder"] == []
    patient.examine("--fix")
    assert pack.stat().st_mode & 0o777 == 0o400
    (patient.store / "sync" / "state.json").write_text("{}")
    (patient.store / "sync" / "state.json").chmod(0o400)
    assert "sync/state.json cannot be written" in "".join(found["what"] for found in patient.problems())


# ---------------------------------------------------------------- facts of the system, through the machine's ports


def found_by(check: doctor.Check, machine: Machine) -> Finding:
    """The one finding of a check."""
    (finding,) = check(machine)
    return finding


@pytest.fixture
def machine(patient: Patient) -> Iterator[Machine]:
    """The patient's machine, in this process."""
    found = Machine(patient.environment)
    yield found
    found.close()


@pytest.mark.parametrize(
    ("free_bytes", "level"), [(10**12, "ok"), (2_000_000_000, "ok"), (600_000_000, "warning"), (1_000_000, "error")]
)
def test_a_full_disk_is_told_before_it_is_full(patient: Patient, free_bytes: int, level: str) -> None:
    """Below 1 GB a warning, below 50 MB an error; the remedy moves the store."""
    finding = found_by(folder.check_disk, Machine(patient.environment, disk_free=lambda _: free_bytes))
    assert finding.level == level
    assert finding.remedy.startswith("export HOWCOME_HOME=") == (level != "ok")


@pytest.mark.parametrize(("kind", "level"), [("nfs4", "error"), ("fuse.sshfs", "error"), ("ext4", "ok")])
def test_a_network_file_system_is_told(patient: Patient, tmp_path: Path, kind: str, level: str) -> None:
    """The nearest mount above the store decides, also with a blank in its name."""
    mounts = tmp_path / "mounts"
    place = str(patient.store.parent).replace(" ", "\\040")
    mounts.write_text(f"/dev/vda / ext4 rw 0 0\nhost:/home {place} {kind} rw 0 0\nproc {place}x proc rw 0 0\n")
    assert found_by(folder.check_file_system, Machine(patient.environment, mounts=str(mounts))).level == level
    assert folder.file_system("host:/x /home/a\\040b nfs rw 0 0", "/home/a b/c") == ("/home/a b", "nfs")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_what_another_user_owns_is_named(patient: Patient) -> None:
    """What `sudo howcome` leaves behind; the remedy takes it back."""
    os.chown(patient.store / "howcome.db", 65534, -1)
    (problem,) = patient.problems()
    assert (problem["level"], problem["check"]) == ("error", "folder")
    assert problem["remedy"] == f'sudo chown -R "$(id -un)" {patient.store}'
    patient.program("sudo", 'exec "$@"')
    patient.do(problem["remedy"])
    assert patient.problems() == []


def test_memories_of_a_damaged_store_are_saved(patient: Patient) -> None:
    """As far as it can be read, they are in the new store."""
    damaged_but_readable(patient)
    (problem,) = patient.problems("--deep")
    assert "can still be read: 1" in problem["what"]
    assert problem["remedy"] == "howcome doctor --deep --fix"  # without --deep it is not looked for
    assert (
        "`howcome doctor --deep --fix` repairs some" in run("doctor", "--deep", environment=patient.environment).stdout
    )
    assert " and 1 memory," in patient.do(f"{problem['remedy']} --yes")
    assert patient.problems("--deep") == []
    assert "a queue keeps its order" in patient.do("howcome memories")
    follow(patient, "howcome uninstall --yes --purge")
    assert not patient.store.exists()


def test_files_of_somebody_else_keep_their_modes(patient: Patient) -> None:
    """In a folder that is not the memory's alone, only what is the memory's is closed to others, by any remedy."""
    page = patient.store / "public" / "index.html"
    page.parent.mkdir(mode=0o755)
    page.write_text("hi")
    for path, mode in ((page, 0o644), (page.parent, 0o755), (patient.store, 0o755)):
        path.chmod(mode)
    assert patient.problems() == []  # (opening the store closes its folder)
    (patient.store / "howcome.db").chmod(0o644)
    patient.store.chmod(0o755)
    (problem,) = patient.problems()
    assert problem["remedy"] == "howcome doctor --fix"
    assert "public" not in problem["what"]
    patient.store.chmod(0o755)
    patient.do(problem["remedy"])
    assert (page.stat().st_mode & 0o777, page.parent.stat().st_mode & 0o777) == (0o644, 0o755)
    assert (patient.store / "howcome.db").stat().st_mode & 0o777 == 0o600


def test_what_nobody_can_reach_is_a_note(patient: Patient) -> None:
    """A settings file as an editor writes it, in a folder that only its user can enter."""
    config = patient.store / "config.toml"
    config.write_text("recall_limit = 2\n")
    config.chmod(0o644)
    (note,) = [found for found in patient.examine()["findings"] if found["level"] != "ok"]
    assert (note["level"], note["check"]) == ("note", "folder")
    follow(patient, note["remedy"])
    assert config.stat().st_mode & 0o777 == 0o600


AS_SOMEBODY = """
import os, sys
from howcome.doctor.base import Machine
from howcome.doctor.folder import check_folder
home = sys.argv[1]
if os.geteuid() == 0:
    for folder, _, names in os.walk(home):
        for name in ("", *names):
            os.chown(os.path.join(folder, name), 65534, -1)
    os.seteuid(65534)
for place in (home + "/memory", home + "/none"):
    for finding in check_folder(Machine({"HOME": home, "HOWCOME_HOME": place})):
        print(finding.level, finding.what, "->", finding.remedy)
"""


def test_a_folder_that_cannot_be_written_is_told_with_the_next_step() -> None:
    """The memory's own, or the one in which it would be made."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can be entered by their owner only
        home, memory = Path(name), Path(name, "memory")
        memory.mkdir(mode=0o700)
        (memory / "howcome.db").touch(mode=0o600)
        for path in (memory, home):
            path.chmod(0o500)
        words = [sys.executable, "-c", AS_SOMEBODY, name]
        done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=LIMIT_S)
        home.chmod(0o700)
        memory.chmod(0o700)
    elsewhere = "export HOWCOME_HOME=/a/folder/that/can/be/written"
    assert done.stdout.splitlines() == [
        f"error {memory} is not writable: nothing new is stored -> chmod -R u+rwX {memory}",
        f"error {home}/none cannot be made: {home} is not writable -> {elsewhere}",
    ]


AS_SOMEBODY_ELSE = """
import os, sys
from howcome.cli.main import main
import howcome.cli.importing, howcome.cli.remembering, howcome.store.sqlite
import howcome.cli.group, howcome.clients.spool, howcome.ingest.pipeline, howcome.memory.remember  # while they can be
import howcome.present.next_step, howcome.present.unsaid  # read
if os.geteuid() == 0:
    for folder, _, names in os.walk(os.environ["HOME"]):
        for name in ("", *names):
            os.chown(os.path.join(folder, name), 65534, -1)
    os.seteuid(65534)
os.chdir("/")
sys.exit(main())
"""


@pytest.mark.parametrize("command", ["import", "remember the crane is out of order"])
def test_in_a_home_that_cannot_be_written_a_command_names_the_next_step(command: str) -> None:
    """One line that says where, and who knows more; nothing was made."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can be entered by their owner only
        os.chmod(name, 0o500)
        words = [sys.executable, "-c", AS_SOMEBODY_ELSE, *command.split()]
        environment = {**os.environ, "HOME": name}
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=LIMIT_S, env=environment)
        os.chmod(name, 0o700)
        assert os.listdir(name) == []
    assert done.returncode == 1
    assert done.stderr.startswith(f"howcome: {name}")
    assert done.stderr.endswith("Run `howcome doctor`: it says what to do.\n")
    assert done.stderr.count("\n") == 1


SOURCES: dict[str, tuple[object, str, str]] = {
    "a checkout": ({"url": "file://{checkout}", "dir_info": {}}, "/venv", "git -C {checkout} pull && "),
    "with pipx": ({"url": "file://{checkout}"}, "/x/pipx/venvs/howcome", "&& pipx install --force {checkout} && "),
    "with uv": ({"url": "file://{checkout}"}, "/x/uv/tools/howcome", "&& uv tool install --force {checkout} && "),
    "editable": ({"url": "file://{checkout}", "dir_info": {"editable": True}}, "/venv", " --editable {checkout} && "),
    "a repository": (
        {"url": "https://example.org/r.git", "vcs_info": {"vcs": "git"}}, "/venv",
        " -m pip install --upgrade git+https://example.org/r.git && howcome upgrade",
    ),
    "a folder that is gone": ({"url": "file:///gone/r"}, "/venv", "the way this one was installed"),
    "an archive": ({"url": "https://example.org/r.zip"}, "/venv", "the way this one was installed"),
    "nothing noted": ({}, "/venv", "the way this one was installed"),
    "no object": ([1], "/venv", "the way this one was installed"),
}  # fmt: skip
"""What an installer noted, the environment → words of the remedy."""


@pytest.mark.parametrize("case", SOURCES)
def test_a_newer_howcome_comes_from_where_this_one_did(tmp_path: Path, case: str) -> None:
    """There is none in a package registry, so the remedy never asks one for it."""
    noted, prefix, words = SOURCES[case]
    (tmp_path / ".git").mkdir()
    text = json.dumps(noted).replace("{checkout}", str(tmp_path))
    remedy = base.update_remedy(lambda: json.loads(text), prefix)
    assert words.format(checkout=tmp_path) in remedy
    assert "install --upgrade howcome" not in remedy


def test_only_a_process_is_told_to_be_ended(tmp_path: Path) -> None:
    """0 and -1 in the list of locks are no processes: with them `kill` would end many."""
    shared = tmp_path / "howcome.db-shm"
    shared.touch()
    lines = [f"1: POSIX ADVISORY WRITE {pid} 00:1f:{shared.stat().st_ino} 120 120" for pid in (-1, 0, 4711)]
    (tmp_path / "locks").write_text("\n".join(lines) + "\n")
    assert storage.write_lock_holders(str(shared), str(tmp_path / "locks")) == [4711]


def test_a_linked_home_is_a_note(patient: Patient, tmp_path: Path) -> None:
    """It works; the remedy names the real folder."""
    moved = tmp_path / "moved"
    patient.store.rename(moved)
    patient.store.symlink_to(moved)
    (note,) = [found for found in patient.examine()["findings"] if found["level"] != "ok"]
    assert (note["level"], note["remedy"]) == ("note", f"export HOWCOME_HOME={moved}")


def test_a_check_that_cannot_run_is_a_finding(machine: Machine) -> None:
    """And the others still run."""

    def check_weather(_: Machine) -> list[Finding]:
        raise StoreError("no barometer")

    first, second = doctor.examine(machine, (check_weather, folder.check_folder))
    assert (first.level, first.check, second.level) == ("error", "weather", "ok")
    assert "no barometer" in first.what
    assert first.remedy


def test_every_problem_has_a_remedy(patient: Patient) -> None:
    """Many things wrong at once: each is named, each with what to do."""
    for break_it in (no_interpreter, hooks_cut_out, damaged_database, open_to_others, unread_sessions, failed_hook):
        break_it(patient)
    problems = patient.problems()
    assert {found["check"] for found in problems} >= {"interpreter", "agents", "store", "folder", "hook errors"}
    assert all(found["remedy"] for found in problems)
    shown = subprocess.run(
        ["howcome", "doctor"], env=patient.environment, cwd=patient.home, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 1
    assert shown.stdout.count("-> ") == len(problems)


@pytest.mark.parametrize(
    ("script", "exit_code", "said"),
    [("cat", 0, "hello"), ("exec 0<&-; echo deaf", 0, "deaf"), ("sleep 600 & sleep 600", None, ""), ("exit 3", 3, "")],
)
def test_whatever_a_program_does_it_comes_to_an_end(
    patient: Patient, script: str, exit_code: int | None, said: str
) -> None:
    """With all that it started, also when it does not listen."""
    started = time.monotonic()
    limit_s = 1 if exit_code is None else LIMIT_S
    done = Machine(patient.environment).run(["sh", "-c", script], data=b"hello", limit_s=limit_s)
    assert (done.exit_code, done.stdout.strip()) == (exit_code, said)
    assert time.monotonic() - started < 30


def test_what_a_program_leaves_running_is_ended_before_its_home_is_gone(patient: Patient) -> None:
    """Also where it ends in time itself: else the child writes into a folder that was removed."""
    child = patient.home / "child"
    patient.program("claude", f"sleep 600 >/dev/null 2>&1 & echo $! > {child}; echo 2.1.329")
    assert programs.client_version(Machine(patient.environment), "claude", limit_s=LIMIT_S) == "2.1.329"
    deadline = time.monotonic() + LIMIT_S
    while is_running(int(child.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie that nobody has asked about."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


AWAY = """
import os, sys, time
os.setsid()
print("here", flush=True)
with open(sys.argv[1], "w") as stream:
    stream.write(str(os.getpid()))
time.sleep(45)
"""


def test_a_child_that_left_and_holds_the_output_is_not_waited_for(patient: Patient, tmp_path: Path) -> None:
    """It is in no group that could be ended: what was said until then is the answer."""
    note = tmp_path / "child"
    words = ["sh", "-c", '"$0" -c "$1" "$2" & sleep 600', sys.executable, AWAY, str(note)]
    started = time.monotonic()
    done = Machine(patient.environment).run(words, limit_s=3)
    took_s = time.monotonic() - started
    os.kill(int(note.read_text()), signal.SIGKILL)
    assert (done.exit_code, done.stdout) == (None, "here\n")
    assert took_s < 30


def test_in_a_folder_that_was_deleted_projects_are_looked_at_all_the_same(
    machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no project that moved."""
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    (finding,) = storage.check_projects(machine)
    assert finding.level == "ok"
