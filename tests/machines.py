"""Machines: each has a home and a store of its own, and runs howcome as a process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.processes import COMMAND, payload, run
from tests.repositories import git

from howcome.app import App, open_app
from howcome.domain.memories import NewMemory
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


class Machine:
    """One machine: its home, and the folder in which it works."""

    def __init__(self, home: Path, folder: Path, **more: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        home.mkdir(parents=True)
        self.home, self.folder, self.store = home, folder, home / ".howcome"
        self.environment: Mapping[str, str] = {
            **os.environ, "HOME": str(home), "HOWCOME_HOME": str(self.store), "PWD": str(folder), **more,
        }  # fmt: skip

    def run(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        """A command to its end."""
        return run(*words, environment=self.environment, folder=self.folder)

    def ask(self, *words: str | Path) -> Any:
        """The JSON that a command answers with; it must succeed and say nothing else."""
        done = self.run(*words, "--json")
        assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr[-3000:]
        return json.loads(done.stdout)

    def keep(self, text: str, *words: str) -> str:
        """The id of what is kept by hand."""
        done = self.run("remember", "--type", "decision", *words, text)
        assert done.returncode == 0, done.stderr
        return str(done.stdout.split()[0])

    def texts(self, *words: str) -> list[str]:
        """The live memories of every project, sorted."""
        return sorted(one["text"] for one in self.ask("memories", "--all-projects", *words)["memories"])

    def one(self, text: str) -> Any:
        """The live memory with a text."""
        [found] = [one for one in self.ask("memories", "--all-projects")["memories"] if one["text"] == text]
        return found

    def app(self) -> App:
        """The façade over its store, in this process."""
        return open_app(read_settings(self.environment))

    def told(self, prompt: str) -> str:
        """All that a new session in its folder is told unasked, at its start and with a prompt."""
        said = ""
        session = f"{self.home.name}-{time.monotonic_ns()}"
        for event, fields in (("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": prompt})):
            data = payload(event, self.home / "none.jsonl", session, **{**fields, "cwd": str(self.folder)})
            done = run("hook", event, data=data, environment=self.environment, folder=self.folder)
            assert (done.returncode, done.stderr) == (0, ""), done.stderr
            said += done.stdout
        return said

    def plant(self, number: int, text: str, origin: str = "user", project: str | None = None) -> None:
        """Puts a memory into the store past its gate, as an older version or other rules may have left it."""
        self.ask("memories")
        store = SqliteStore(str(self.store))
        key = bytes([number]) * 16
        store.memories.add(
            NewMemory(
                key=key, digest=key, type="decision", text=text, project=project or str(self.folder), agent=None,
                origin=origin, status="open", created_ms=1_790_000_000_000,
            )
        )  # fmt: skip
        store.close()

    def killed_after(self, delay_s: float, *words: str) -> int:
        """A command that is killed after a while; its exit code."""
        process = subprocess.Popen(
            [*COMMAND, *words], env=dict(self.environment), cwd=self.folder, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        time.sleep(delay_s)
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        return process.wait()


def repository(root: Path, remote: str = "") -> Path:
    """A repository with one commit, and perhaps a remote."""
    root.mkdir(parents=True)
    git(root, "init", "-q")
    git(root, "config", "user.name", root.name.title())
    git(root, "config", "user.email", f"{root.name}@example.org")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    if remote:
        git(root, "remote", "add", "origin", remote)
    return root
