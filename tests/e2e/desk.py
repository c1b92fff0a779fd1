"""One developer's desk: a HOME of its own, a project, the real client, and `howcome` as a person would run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.client import Client, Run, Script, Turn, call

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HOWCOME = Path(sys.executable).with_name("howcome")
COMMAND_SECONDS = 60
LABEL = "UserPromptSubmit hook additional context"


class Desk:
    """Everything one test touches lies below its folder."""

    def __init__(self, root: Path, executable: Path, version: str) -> None:
        self.version = version
        self.home = root / "home"
        self.project = root / "harbour"
        self.client = Client(executable, self.home)
        self.project.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "init", "-q", "-b", "main"], cwd=self.project, check=True, capture_output=True)

    @property
    def old(self) -> bool:
        """True for clients that keep no hook context in transcripts and run warm-up agents of their own."""
        return self.version.startswith("2.0")

    @property
    def settings(self) -> Path:
        """The user's settings of the client."""
        return self.home / ".claude" / "settings.json"

    @property
    def store(self) -> Path:
        """The folder that howcome keeps everything in."""
        return self.home / ".howcome"

    def howcome(self, *args: str, env: Mapping[str, str] | None = None) -> str:
        """Run one howcome command in this HOME and return what it printed."""
        done = subprocess.run(
            [str(HOWCOME), *args],
            cwd=self.project,
            env={**self.client.environment(), **(env or {})},
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )
        assert done.returncode == 0, f"howcome {' '.join(args)}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout

    def report(self, *args: str) -> dict[str, Any]:
        """Run a howcome command with `--json` and return its answer."""
        answer = json.loads(self.howcome(*args, "--json"))
        assert isinstance(answer, dict)
        return answer

    def found(self, text: str) -> list[dict[str, Any]]:
        """Search the store."""
        return list(self.report("search", text)["results"])

    def events(self) -> int:
        """Count the events of the store."""
        return int(self.report("status")["counts"]["events"])

    def unread(self) -> int:
        """Count the bytes of transcripts that are not in the store."""
        return int(self.report("status")["unread"]["bytes"])

    def ask(
        self,
        prompt: str,
        script: Script | Sequence[Turn] = (),
        *,
        resume: str | None = None,
        args: Sequence[str] = (),
    ) -> Run:
        """Run one prompt through the client, as a new session or as the next prompt of one; it has to work."""
        run = self.try_to_ask(prompt, script, resume=resume, args=args)
        assert run.exit_code == 0, f"{run.exit_code}: {run.stderr or run.stdout}"
        return run

    def try_to_ask(
        self,
        prompt: str,
        script: Script | Sequence[Turn] = (),
        *,
        resume: str | None = None,
        args: Sequence[str] = (),
    ) -> Run:
        """Run one prompt whatever comes of it."""
        allow = ("Read", "Bash", "Agent", "Task")
        return self.client.run(self.project, prompt, script, resume=resume, allow=allow, args=args)

    def write(self, name: str, text: str) -> Path:
        """Put a file into the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def subagent(self, description: str, prompt: str) -> Turn:
        """Build a turn that starts a subagent under the name this client version has for it."""
        if self.old:
            return call("Task", description=description, prompt=prompt, subagent_type="general-purpose")
        return call(
            "Agent",
            description=description,
            prompt=prompt,
            subagent_type="general-purpose",
            run_in_background=False,
        )

    def processes(self) -> list[str]:
        """List the running processes that have this HOME, by their command lines."""
        return list(processes_of(self.home).values())

    def left_after(self, seconds: float) -> list[str]:
        """Wait for the processes of this HOME to end; return those that did not."""
        limit = time.monotonic() + seconds
        while (left := self.processes()) and time.monotonic() < limit:
            time.sleep(0.1)
        return left

    def files(self) -> dict[str, bytes]:
        """Read every file of the HOME but those of the store."""
        paths = [path for path in self.home.rglob("*") if path.is_file() and self.store not in path.parents]
        return {os.path.relpath(path, self.home): path.read_bytes() for path in paths}


def processes_of(home: Path) -> dict[int, str]:
    """The running processes that have a HOME: their command lines by their ids."""
    mark = f"HOME={home}".encode()
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes().split(b"\0"):
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = words.decode("utf-8", "replace")
        except OSError:
            continue
    return found


def injected(body: dict[str, Any]) -> list[tuple[int, str, int, str]]:
    """List the texts that UserPromptSubmit hooks added to a request: message, role, block, text."""
    found = []
    for index, message in enumerate(body["messages"]):
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        for position, block in enumerate(blocks):
            text = str(block.get("text", ""))
            if LABEL in text:
                found.append((index, str(message["role"]), position, text.split(LABEL, 1)[1]))
    return found
