"""One bounded run of the real client in an empty environment."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.client.loopback import Loopback, loopback
from tests.client.script import Body, Script, Turn
from tests.client.stub import Exchange, StubModel, listen
from tests.client.transcripts import hook_notices, read_lines, transcript_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

QUIET = {
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_BUG_COMMAND": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
}
RUN_SECONDS = 90.0


@dataclass(frozen=True)
class Run:
    """What one run of the client left behind; the exit code is None when it had to be stopped."""

    exit_code: int | None
    stdout: str
    stderr: str
    seconds: float
    exchanges: list[Exchange]
    config: Path

    @property
    def outcome(self) -> dict[str, Any]:
        """The client's own JSON result."""
        try:
            value = json.loads(self.stdout)
        except ValueError:
            return {}
        if isinstance(value, list):
            value = value[-1] if value else {}
        return value if isinstance(value, dict) else {}

    @property
    def session_id(self) -> str:
        """Id of the session that ran."""
        return str(self.outcome.get("session_id", ""))

    @property
    def result(self) -> str:
        """The answer as the user sees it."""
        return str(self.outcome.get("result", ""))

    def bodies(self, route: str = "main") -> list[Body]:
        """Return the bodies of the requests that one route answered."""
        return [exchange.body for exchange in self.exchanges if exchange.route == route]

    def routes(self) -> list[str]:
        """Name the route of each request, in order."""
        return [exchange.route for exchange in self.exchanges]

    def transcript(self) -> list[dict[str, Any]]:
        """Return the records of this session's own file."""
        for path in transcript_files(self.config):
            if path.stem == self.session_id:
                return read_lines(path)
        return []

    def notices(self) -> list[dict[str, Any]]:
        """Return the client's complaints about hooks in this session."""
        return hook_notices(self.transcript())


class Client:
    """The real client with its own HOME, a dummy key, and only loopback to talk to.

    `env` adds variables for every run. The namespace is used when this process may make one.
    """

    def __init__(self, executable: Path, home: Path, env: Mapping[str, str] | None = None) -> None:
        self.executable = executable
        self.home = home
        self.extra = dict(env or {})
        self.network: Loopback = loopback()
        home.mkdir(parents=True, exist_ok=True)

    @property
    def config(self) -> Path:
        """The client's configuration folder."""
        return Path(self.extra.get("CLAUDE_CONFIG_DIR") or self.home / ".claude")

    def environment(self) -> dict[str, str]:
        """The whole environment of the client, apart from the address of the model."""
        scratch = self.home / "tmp"
        scratch.mkdir(exist_ok=True)
        node = shutil.which("node")
        path = ["/usr/local/bin", "/usr/bin", "/bin"] + ([str(Path(node).parent)] if node else [])
        return {
            "HOME": str(self.home),
            "HOWCOME_DISTILLER": "off",  # a memory that is learnt meanwhile, or not yet, would change what is told
            "HOWCOME_BRIEFING_TOKENS": "0",  # what it says is not said again with the prompt
            "PATH": os.pathsep.join(dict.fromkeys(path)),
            "SHELL": "/bin/bash",
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            "TMPDIR": str(scratch),
            "CLAUDE_CODE_TMPDIR": str(scratch),
            "ANTHROPIC_API_KEY": "not-a-key",
            **QUIET,
            **self.extra,
        }

    def run(
        self,
        project: Path,
        prompt: str,
        script: Script | Iterable[Turn] = (),
        *,
        resume: str | None = None,
        allow: Sequence[str] = (),
        args: Sequence[str] = (),
        seconds: float = RUN_SECONDS,
    ) -> Run:
        """Run `claude -p` once in a project folder and wait for its end."""
        argv = [str(self.executable), "-p", "--output-format", "json"]
        argv += ["--resume", resume] if resume else []
        argv += ["--allowedTools", ",".join(allow)] if allow else []
        argv += [*args, "--", prompt]
        chosen = script if isinstance(script, Script) else Script(script)
        with StubModel(chosen, self.network.run(listen)) as model:
            started = time.monotonic()
            code, out, err = self._execute(argv, project, model.url, seconds)
            took = time.monotonic() - started
        return Run(code, out, err, took, list(model.exchanges), self.config)

    def _execute(self, argv: list[str], project: Path, url: str, seconds: float) -> tuple[int | None, str, str]:
        """Start the client in its own process group, bounded in time, with its output in files."""
        env = {**self.environment(), "ANTHROPIC_BASE_URL": url}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self.network.run(
                lambda: subprocess.Popen(
                    argv, cwd=project, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
                )
            )
            code = _wait(process, seconds)
            texts = []
            for stream in (out, err):
                stream.seek(0)
                texts.append(stream.read().decode("utf-8", "replace"))
        return code, texts[0], texts[1]


def _wait(process: subprocess.Popen[bytes], seconds: float) -> int | None:
    """Wait for our own child; past the limit its process group is killed."""
    try:
        return process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return None
