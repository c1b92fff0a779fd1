"""Programs: does what the agents were told to start really start and answer; which versions and parts are here."""

from __future__ import annotations

import importlib
import json
import os
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import metadata
from pathlib import Path

from howcome import __version__
from howcome.clients.registry import clients
from howcome.doctor.base import Finding, Machine
from howcome.doctor.facts import last_lines, quoted
from howcome.doctor.wiring import Launch, ServerEntry, launch_of, read_wirings, remedy_of, server_remedy
from howcome.present.guarded import LOG_NAME, NOTES
from howcome.settings import ACTIVE

LEAST_SQLITE = (3, 51, 3)
"""Before it, several writers could damage a database with a write-ahead log."""

HOOK_LIMIT_S = 10
SERVER_LIMIT_S = 5
VERSION_LIMIT_S = 5

_HOMES = (
    "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "TMPDIR", "TMP", "TEMP",
)  # fmt: skip
"""Variables that say where a program may write; each agent has one of its own beside them."""

PARTS = {
    "re2": ("google-re2", "secrets are found by `re`: the same ones, some 30 times slower"),
    "msgspec": ("msgspec", "transcripts are decoded by `json`: an import takes several times as long"),
    "zstandard": ("zstandard", "nothing can be stored, and what is stored compressed cannot be shown"),
    "tomlkit": ("tomlkit", "`howcome config` does not start: write settings into config.toml"),
    "tqdm": ("tqdm", "`howcome import` does not start: it cannot show its progress"),
}
"""Module → its distribution, and what is lost without it."""

_PROBE = f"""
import json, os, runpy, sys
launch = runpy.run_path(sys.argv.pop())
sys.argv[1:] = ["UserPromptSubmit"]
os.environ[{ACTIVE!r}] = "1"
launch["run"]()
import apsw, tantivy, howcome
print(json.dumps(dict(python=sys.version.split()[0], howcome=howcome.__version__)))
"""
"""Finds the packages as a hook does that has nothing to do here, and says what it found: the hook itself says nothing
when they are not there."""

_PROMPT = {
    "hook_event_name": "UserPromptSubmit",
    "session_id": "howcome-doctor",
    "prompt": "?",  # too short to be answered: nothing is said, looked up or logged
    "cwd": "/",
    "transcript_path": "",
}
_HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "howcome-doctor", "version": __version__},
    },
}  # fmt: skip


def check_hook_process(machine: Machine) -> list[Finding]:
    """Starts what the installed hook commands start: it must know its packages, end with 0, and say nothing."""
    launches = {
        launch: remedy_of(wiring.owner)
        for wiring in reversed(read_wirings())
        for command in wiring.commands.values()
        if (launch := launch_of(command))
    }
    return [finding for launch, remedy in launches.items() for finding in _check_launch(machine, launch, remedy)]


def _check_launch(machine: Machine, launch: Launch, remedy: str) -> list[Finding]:
    for path, role in ((launch.interpreter, "interpreter"), (launch.script, "script")):
        if not os.path.exists(path):
            what = f"the {role} of the installed hooks is gone: {path}; no hook does anything"
            return [Finding("error", "interpreter", what, remedy)]
    try:
        probe = machine.run(
            [launch.interpreter, "-I", "-S", "-E", "-c", _PROBE, launch.script], limit_s=HOOK_LIMIT_S,
            environment=dict(launch.environment),
        )  # fmt: skip
        versions = json.loads(probe.stdout) if probe.exit_code == 0 else None
    except (OSError, ValueError) as error:
        return [Finding("error", "interpreter", f"{launch.interpreter} does not start: {error}", remedy)]
    if versions is None:
        what = f"{launch.interpreter} cannot load howcome: {probe.complaint}"
        return [Finding("error", "interpreter", what, remedy)]
    said = f"{launch.interpreter}: Python {versions['python']}, howcome {versions['howcome']}"
    finding = Finding("ok", "interpreter", said)
    if versions["howcome"] != __version__:
        finding = Finding("warning", "interpreter", f"hooks run {said}, this is {__version__}", "howcome upgrade")
    if machine.settings_problem is not None:  # it would stop there, and log it
        return [finding]
    return [finding, _run_hook(machine, launch, remedy)]


def _run_hook(machine: Machine, launch: Launch, init: str) -> Finding:
    with tempfile.TemporaryDirectory(prefix="howcome-doctor-") as notes:
        done = machine.run(
            [*launch.words, "UserPromptSubmit"], data=json.dumps(_PROMPT).encode() + b"\n", limit_s=HOOK_LIMIT_S,
            environment={**dict(launch.environment), NOTES: notes},
        )  # fmt: skip
        logged = last_lines(os.path.join(notes, LOG_NAME))
    problems = {
        f"it did not end within {HOOK_LIMIT_S} s": done.exit_code is None,
        f"exit {done.exit_code}: {done.complaint}": done.exit_code,
        f"it wrote to standard error: {done.complaint}": done.stderr,
        f"it answered where it should not: {done.complaint}": done.stdout,
        f"it failed: {next(iter(logged), '')}": logged,
    }
    if problem := next((what for what, is_so in problems.items() if is_so), ""):
        remedy = "howcome doctor --deep" if done.exit_code == 0 else init
        return Finding("error", "hook", f"the installed hook was started: {problem}", remedy)
    if done.ms > machine.settings.prompt_deadline_ms:
        what = f"the installed hook took {done.ms} ms, its deadline is {machine.settings.prompt_deadline_ms} ms"
        return Finding("warning", "hook", what, f"in {machine.config}: prompt_deadline_ms = {min(2 * done.ms, 4000)}")
    return Finding("ok", "hook", f"the installed hook was started: silent, exit 0, {done.ms} ms")


def check_servers(machine: Machine) -> list[Finding]:
    """Starts the MCP server as each agent's entry says: it must answer, and end when its input does."""
    if machine.settings_problem is not None:
        return []
    unique = {}
    for wiring in reversed(read_wirings()):
        if entry := wiring.server:
            unique[entry.words, entry.environment] = (entry, server_remedy(wiring))
    return [_check_server(machine, entry, remedy) for entry, remedy in unique.values()]


def _check_server(machine: Machine, entry: ServerEntry, remedy: str) -> Finding:
    try:
        hello = json.dumps(_HELLO).encode() + b"\n"
        variables = {**dict(entry.environment), "HOWCOME_DISABLE": "1"}  # no worker: nothing is read, nothing written
        done = machine.run(entry.words, data=hello, environment=variables, limit_s=SERVER_LIMIT_S)
    except (OSError, IndexError) as error:
        return Finding("error", "mcp", f"the server of {entry.path} does not start: {error}", remedy)
    name = _server_name(done.stdout)
    if not name:
        what = f"the server of {entry.path} does not answer (exit {done.exit_code}): {done.complaint}"
        return Finding("error", "mcp", what, remedy)
    if done.exit_code is None:
        what = f"the server of {entry.path} answers, but did not end with its input"
        return Finding("error", "mcp", what, remedy)
    return Finding("ok", "mcp", f"{name} answers and ends within {done.ms} ms, as {entry.path} starts it")


def _server_name(output: str) -> str:
    """The name and version in the answer to `initialize`, or ''."""
    for line in output.splitlines():
        with suppress(ValueError, LookupError, TypeError):
            answer = json.loads(line)
            if answer["id"] == _HELLO["id"]:
                told = answer["result"]["serverInfo"]
                return f"{told['name']} {told['version']}"
    return ""


def check_versions(machine: Machine) -> list[Finding]:
    """This howcome, its SQLite and Tantivy, and the agents' programs."""
    import apsw

    sqlite = apsw.sqlite_lib_version()
    here = f"howcome {__version__}, Python {sys.version.split()[0]}, SQLite {sqlite}, tantivy {_installed('tantivy')}"
    findings = [Finding("ok", "versions", here)]
    if numbers(sqlite) < LEAST_SQLITE:
        least = ".".join(map(str, LEAST_SQLITE))
        what = f"SQLite {sqlite} may damage a store with several writers; {least} is the least"
        remedy = quoted(sys.executable, "-m", "pip", "install", "-U", "apsw")
        findings = [Finding("error", "versions", what, remedy)]
    asked = [(client.name, client.wiring.programs[0]) for client in clients() if client.wiring.says_version]
    found = [(name, program) for name, program in asked if _on_path(machine, program)]
    with ThreadPoolExecutor(len(asked)) as threads:  # some take seconds to start
        versions = threads.map(lambda pair: client_version(machine, pair[1]), found)
    return findings + [_version_finding(*pair, version) for pair, version in zip(found, versions, strict=True)]


def _version_finding(name: str, program: str, version: str) -> Finding:
    if version:
        return Finding("ok", "versions", f"{name} {version}")
    return Finding("note", "versions", f"{name} is here, and does not say its version", f"{program} --version")


def client_version(machine: Machine, program: str, limit_s: float = VERSION_LIMIT_S) -> str:
    """The version of an agent's program, '' when it is not on PATH or says no number in time.

    Its package's file tells it where there is one. Else it is started, in a home that is thrown away: some programs
    unpack themselves into their user's.
    """
    path = _on_path(machine, program)
    if not path:
        return ""
    said = _packaged_version(path, program)
    if not said:
        with (
            suppress(OSError),
            tempfile.TemporaryDirectory(prefix="howcome-doctor-", ignore_cleanup_errors=True) as home,
        ):
            variables = dict.fromkeys((*_HOMES, *(client.wiring.settings[0] for client in clients())), home)
            said = machine.run([path, "--version"], environment=variables, limit_s=limit_s).stdout
    found = re.search(r"\d+(?:\.\d+)+\S*", said)
    return found[0] if found else ""


def _on_path(machine: Machine, program: str) -> str | None:
    return shutil.which(program, path=machine.environment.get("PATH", os.defpath))


def _packaged_version(path: str, program: str) -> str:
    """What the package of npm says in which a program is; '' where it is in none."""
    for folder in Path(os.path.realpath(path)).parents:
        with suppress(OSError, ValueError, LookupError, TypeError):
            package = json.loads((folder / "package.json").read_bytes())
            version, names = package["version"], package["bin"]
            if isinstance(names, str):  # the path of the only program, which has the package's name without its scope
                names = [package["name"].rpartition("/")[2]]
            if program in names and numbers(version):
                return str(version)
    return ""


def numbers(version: str) -> tuple[int, ...]:
    """A version to be compared."""
    return tuple(int(number) for number in re.findall(r"\d+", version)[:3])


def _installed(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "?"


def check_parts(_: Machine) -> list[Finding]:
    """The parts that howcome can start without, and what is lost then."""
    missing = []
    for module, (distribution, lost) in PARTS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            remedy = quoted(sys.executable, "-m", "pip", "install", distribution)
            missing.append(Finding("warning", "parts", f"{distribution} is not installed: {lost}", remedy))
    return missing or [Finding("ok", "parts", "all here: " + ", ".join(name for name, _ in PARTS.values()))]
