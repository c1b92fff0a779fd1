"""What every check works with: the machine it looks at, the findings it returns, and how a newer howcome comes here."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Literal

from howcome.app import App, open_app
from howcome.clients.discover import Found, known_transcripts
from howcome.doctor.facts import edit, quoted
from howcome.errors import SettingsError, StoreError
from howcome.log.place import database_path
from howcome.settings import ACTIVE, CONFIG_NAME, FIELDS, Settings, home_folder, read_settings

Level = Literal["ok", "note", "warning", "error"]
BUSY_MS = 1500
"""A write that waits longer than a hook would (1 s) is a finding."""

MAX_OUTPUT_CHARS = 300

KILLED_S = 1.0
"""How long the output of a process that was killed is waited for: a child may have left its group, and hold it open."""


@dataclass(frozen=True)
class Finding:
    """One observed fact: `what` it is, and as `remedy` the command to run or the line to change ("" when all is well).

    `repair` does what is safe, and says what it did; with a `question` only when that was answered with yes.
    """

    level: Level
    check: str
    what: str
    remedy: str = ""
    repair: Callable[[], str] | None = field(default=None, repr=False, compare=False)
    question: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True)
class Done:
    """How a process ended: `exit_code` is None when it was stopped at its limit."""

    exit_code: int | None
    stdout: str
    stderr: str
    ms: int

    @property
    def complaint(self) -> str:
        """The last thing it said, in one line."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return lines[-1][:MAX_OUTPUT_CHARS] if lines else "it said nothing"


class Machine:
    """The machine as the checks see it. The store is opened when first asked for, and never created.

    With `deep` checks may read all of the store; `mounts` is a file in the format of /proc/mounts.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        deep: bool = False,
        disk_free: Callable[[str], int] = lambda folder: shutil.disk_usage(folder).free,
        mounts: str = "/proc/mounts",
    ) -> None:
        self.environment, self.deep, self.disk_free, self.mounts = environment, deep, disk_free, mounts
        self.user_home = environment.get("HOME") or os.path.expanduser("~")
        self.home = home_folder(environment)
        self.config = os.path.join(self.home, CONFIG_NAME)
        self.database = database_path(self.home)
        self.settings_problem: SettingsError | None = None
        try:
            self.settings = read_settings(environment)
        except SettingsError as error:
            self.settings_problem = error
            self.settings = Settings({"home": self.home, **{known.name: known.default for known in FIELDS}})
        self.store_problem: StoreError | None = None
        self._app: App | None = None
        self._is_opened = False

    @property
    def app(self) -> App | None:
        """The façade over the store; None when there is no store or it cannot be opened (`store_problem` says why)."""
        if not self._is_opened and os.path.lexists(self.database):
            try:
                self._app = open_app(self.settings, busy_ms=BUSY_MS, is_embedded=True)
            except StoreError as error:
                self.store_problem = error
            self._is_opened = True
        return self._app

    @cached_property
    def transcripts(self) -> list[Found]:
        """Every transcript of every known agent, oldest first."""
        return known_transcripts(self.user_home, self.environment)

    def close(self) -> None:
        """Gives the store back; it is opened anew when asked for again."""
        if self._app is not None:
            self._app.close()
        self._app, self._is_opened, self.store_problem = None, False, None

    @property
    def fix(self) -> str:
        """The command that repairs what was found: what only `deep` finds, it finds with `deep` alone."""
        return "howcome doctor --deep --fix" if self.deep else "howcome doctor --fix"

    def edit_config(self, what: str = "") -> str:
        """The command that opens the settings, and what to do there."""
        return edit(self.config) + (f"  # {what}" if what else "")

    def run(
        self, words: Sequence[str], *, data: bytes = b"", environment: Mapping[str, str] | None = None, limit_s: float
    ) -> Done:
        """A process to its end, with all that it started; stopped at its limit.

        `data` is its standard input and must fit a pipe (16 KB); `environment` are variables beside the user's.
        """
        variables = {**self.environment, **(environment or {})}
        variables.pop(ACTIVE, None)  # with it a hook does nothing, and that is not what is asked here
        started = time.monotonic()
        reads, writes = os.pipe()
        os.write(writes, data)  # before it starts: one that ends without reading would end this process by SIGPIPE
        os.close(writes)
        try:
            process = subprocess.Popen(
                words, stdin=reads, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=variables,
                start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(reads)
        code: int | None = None
        try:
            out, err = process.communicate(timeout=limit_s)
            code = process.returncode
            _end_group(process)
        except subprocess.TimeoutExpired:
            out, err = _stopped(process)
        ms = round((time.monotonic() - started) * 1000)
        return Done(code, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), ms)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):  # nobody is left in it, or somebody who became another user
        os.killpg(process.pid, signal.SIGKILL)


def _stopped(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a process and its children said until they were killed."""
    _end_group(process)
    try:
        return process.communicate(timeout=KILLED_S)
    except subprocess.TimeoutExpired as late:
        for stream in filter(None, (process.stdout, process.stderr)):
            stream.close()
        process.poll()  # it was killed a second ago: no zombie is left
        return late.output or b"", late.stderr or b""


Check = Callable[[Machine], list[Finding]]


def of_store(check: Callable[[Machine, App], list[Finding]]) -> Check:
    """A check of a store that is open; where there is none, `check_store` says so."""

    @wraps(check)
    def checked(machine: Machine) -> list[Finding]:
        return check(machine, machine.app) if machine.app is not None else []

    return checked


_TOOLS = {"pipx/venvs": ("pipx", "install", "--force"), "uv/tools": ("uv", "tool", "install", "--force")}
"""Part of an environment's path → what made it, and what makes it anew."""


def _noted() -> object:
    """What the installer noted; None when it noted nothing that can be read."""
    from importlib import metadata

    try:
        return json.loads(metadata.distribution("howcome").read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return None


def _place(noted: object) -> tuple[str, str, bool]:
    """A repository's address, or a folder, "" for what it is not; and whether what runs is the folder itself."""
    url = noted.get("url") if isinstance(noted, dict) else None
    if not isinstance(noted, dict) or not isinstance(url, str):
        return "", "", False
    if "vcs_info" in noted:
        vcs = noted["vcs_info"].get("vcs", "git") if isinstance(noted["vcs_info"], dict) else "git"
        return f"{vcs}+{url}", "", False
    from urllib.parse import unquote, urlsplit

    is_editable = isinstance(noted.get("dir_info"), dict) and noted["dir_info"].get("editable") is True
    return "", unquote(urlsplit(url).path) if url.startswith("file:") else "", is_editable


def update_remedy(noted: Callable[[], object] = _noted, prefix: str = sys.prefix) -> str:
    """What brings a newer howcome here, by what the installer noted (PEP 610): it is in no package registry."""
    repository, folder, is_editable = _place(noted())
    if repository:
        return f"{quoted(*_install(prefix), '--upgrade', repository)} && howcome upgrade"
    if not folder or not os.path.exists(os.path.join(folder, ".git")):
        return "install a newer howcome the way this one was installed; then howcome upgrade"
    words = [*_install(prefix), *(["--editable"] if is_editable else []), folder]
    return f"{quoted('git', '-C', folder, 'pull')} && {quoted(*words)} && howcome upgrade"


def extra_remedy(
    extra: str, packages: Sequence[str], noted: Callable[[], object] = _noted, prefix: str = sys.prefix
) -> str:
    """What brings the packages of an extra here: from where howcome came from, else the packages by themselves."""
    repository, folder, is_editable = _place(noted())
    if repository:
        return quoted(*_install(prefix), f"howcome[{extra}] @ {repository}")
    if folder and os.path.isdir(folder):
        return quoted(*_install(prefix), *(["--editable"] if is_editable else []), f"{folder}[{extra}]")
    if "pipx/venvs" in prefix:
        return quoted("pipx", "inject", "howcome", *packages)
    return quoted(*_with_pip(), *packages)


def _install(prefix: str) -> tuple[str, ...]:
    return next((words for part, words in _TOOLS.items() if part in prefix), None) or _with_pip()


def _with_pip() -> tuple[str, ...]:
    """What installs into this environment; there is no pip in one of uv's."""
    if importlib.util.find_spec("pip") is None:
        return ("uv", "pip", "install", "--python", sys.executable)
    return (sys.executable, "-m", "pip", "install")
