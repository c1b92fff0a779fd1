"""Programs as language models: `claude`, and any that reads a prompt and prints the answer; one process a call.

A program is no part of the session that howcome runs in: an empty folder to work in, a variable that keeps howcome's
own hooks and worker still should it run them. `claude` is held apart from everything that belongs to its user's own
sessions: no settings, hooks, tools, MCP servers, slash commands, memory files or transcripts.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any

from howcome.domain.spending import Usage, as_cost
from howcome.errors import ProviderError
from howcome.providers import llm_adapter
from howcome.providers.http_post import MAX_ANSWER_BYTES, RefusedError, TryLaterError, in_one_line
from howcome.providers.llm_adapter import DeclinedError, ModelAdapter, Reply, Turn
from howcome.settings import ACTIVE

_OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR",
)  # fmt: skip
"""Variables of the session that howcome runs in: the process is no part of it."""

COMPLAINT_BYTES = 1 << 12
LOOK_S = 0.5
"""How often the size of its answer is looked at."""


def find_program(command: str, llm: str) -> str:
    """The path of a program."""
    found = shutil.which(os.path.expanduser(command))
    if found is None:
        what = f'llm = "{llm}" needs the program {command!r}'
        raise ProviderError(f"{what}: install it, or set llm_command to its path")
    return os.path.abspath(found)


def run_program(
    words: Sequence[str], given: str, home: str, deadline: float, variables: Mapping[str, str] | None = None
) -> tuple[int, bytes, str]:
    """Exit code, the beginning of standard output, and that of standard error.

    It is `given` the words on standard input, and works in an empty folder in `home`, where nobody else writes. The
    files have no names, so that nothing of the words is left on disk when this process is killed.

    Raises:
        TryLaterError: it cannot be started; or it took too long, and was ended with all that it started.
        ProviderError: so it was when it said too much.
    """
    environment = {name: value for name, value in os.environ.items() if name not in _OF_A_SESSION}
    with (
        tempfile.TemporaryDirectory(prefix=".asking-", dir=home) as folder,
        tempfile.TemporaryFile() as stdin,
        tempfile.TemporaryFile() as said,
        tempfile.TemporaryFile() as complaint,
    ):
        stdin.write(given.encode("utf-8", "replace"))
        stdin.seek(0)
        try:
            process = subprocess.Popen(
                words, stdin=stdin, stdout=said, stderr=complaint, cwd=folder, start_new_session=True,
                env={**environment, **(variables or {}), ACTIVE: "1"},
            )  # fmt: skip
        except OSError as error:
            raise TryLaterError(f"{words[0]} cannot be run ({error.strerror or error})") from error
        try:
            code = _wait(process, words[0], said, deadline)
        finally:  # ends the program with all that it started, also what it left behind
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        complained = _from_start(complaint, COMPLAINT_BYTES).decode("utf-8", "replace")
        return code, _from_start(said, MAX_ANSWER_BYTES), complained


def _wait(process: subprocess.Popen[bytes], name: str, said: IO[bytes], deadline: float) -> int:
    """The exit code of a program that ends in time, and says no more than an answer may have."""
    limit_s = max(0.0, deadline - time.monotonic())
    while True:
        with suppress(subprocess.TimeoutExpired):
            return process.wait(min(LOOK_S, max(0.0, deadline - time.monotonic())))
        if os.fstat(said.fileno()).st_size > MAX_ANSWER_BYTES:
            raise ProviderError(f"{name} says more than {MAX_ANSWER_BYTES >> 20} MB")
        if time.monotonic() >= deadline:
            what = f"{name} does not answer in time (it was given {limit_s:.0f} s)"
            raise TryLaterError(what) from TimeoutError(str(limit_s))


def _from_start(stream: IO[bytes], most_bytes: int) -> bytes:
    stream.seek(0)
    return stream.read(most_bytes)


SETTINGS: Mapping[str, object] = {"disableAllHooks": True, "autoMemoryEnabled": False}
ARGUMENTS = (
    "-p", "--output-format", "json", "--setting-sources", "", "--settings", json.dumps(SETTINGS), "--strict-mcp-config",
    "--mcp-config", '{"mcpServers":{}}', "--tools", "", "--disable-slash-commands", "--no-session-persistence",
)  # fmt: skip
"""All but the model and the words. Tried with 2.1.329, 2.1.100 and 2.0.76: none ran a hook, started an MCP server, read
a memory file or wrote a transcript."""

VARIABLES: Mapping[str, str] = {
    "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0",
}  # fmt: skip


class ClaudeLanguageModel(ModelAdapter):
    """Starts the program, hands it the words on standard input, and ends all that it started."""

    provider = "claude"
    overhead_tokens = 1500
    """What the program adds: some 600 tokens of surroundings (2.1.329), 2,000 of requests to warm up (2.0.76)."""

    def __init__(self, command: str, model: str, home: str, most_tokens: int = llm_adapter.MOST_ANSWER_TOKENS) -> None:
        super().__init__(model or "default", find_program(command, self.provider))
        self._home = home
        self._variables = {**VARIABLES, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(most_tokens)}
        self._model = ("--model", model) if model else ()

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: one process, which has ended when this returns."""
        words = [self.shown, *ARGUMENTS, *self._model, "--system-prompt", llm_adapter.INSTRUCTION + json.dumps(schema)]
        code, said, complaint = run_program(words, llm_adapter.as_one(turns), self._home, deadline, self._variables)
        if code and not said.strip():
            raise RefusedError(f"{self.shown} ends with {code}: {in_one_line(complaint) or 'it says nothing'}")
        return self._reply(llm_adapter.object_in(said, self.shown, "llm_command"), code)

    def _reply(self, answer: Mapping[str, Any], code: int) -> Reply:
        """What the model said, and what it used."""
        said = answer.get("result")
        cost_usd = as_cost(answer.get("total_cost_usd"))  # its own reckoning, also where a subscription pays
        usage = llm_adapter.usage_of(answer.get("usage"), llm_adapter.READ_TOKENS, "output_tokens", cost_usd)
        if answer.get("stop_reason") == "refusal":
            raise DeclinedError(f"{self.model} declines to answer", usage)
        if code or answer.get("is_error"):
            reason = said if isinstance(said, str) and said else answer.get("subtype")
            is_about = str(answer.get("subtype")).startswith("error_")  # else the login, or a limit
            raise DeclinedError(f"{self.shown} fails: {in_one_line(str(reason))}", usage, is_about_question=is_about)
        if not isinstance(said, str):
            raise ProviderError(f"{self.shown} does not answer as `claude -p` does; check llm_command")
        return Reply(said, usage)


_DEFAULT = "claude"
LATER = 75
"""The exit code (EX_TEMPFAIL of sysexits.h) by which it says that it will have an answer, and has none yet."""


class CommandLanguageModel(ModelAdapter):
    """Starts the program, hands it the words on standard input, and ends all that it started."""

    provider = "command"

    def __init__(self, command: str, model: str, home: str) -> None:
        try:
            program, *arguments = shlex.split(command)
        except ValueError as error:  # also when there is none
            raise ProviderError(f'llm = "command" needs a program in llm_command, not {command!r}') from error
        if program == _DEFAULT and not arguments:  # nobody chose it, and alone it would be a session of its user's
            raise ProviderError(
                'llm = "command" needs a program: set llm_command (for this one there is llm = "claude")'
            )
        super().__init__(model or program.rpartition("/")[2], find_program(program, self.provider))
        self._home, self._words = home, [self.shown, *arguments]

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: one process, which has ended when this returns. It does not say what it used: that is as reserved.

        Raises:
            llm_adapter.NotYetError: it ends with 75.
            ProviderError: as the port says.
        """
        prompt = f"{llm_adapter.as_one(turns)}\n\n{llm_adapter.INSTRUCTION}{json.dumps(schema)}\n"
        code, said, complaint = run_program(self._words, prompt, self._home, deadline)
        reason = in_one_line(complaint) or "it says nothing"
        if code == LATER:
            raise llm_adapter.NotYetError(f"{self.shown} answers later: {reason}")
        if code:
            raise RefusedError(f"{self.shown} ends with {code}: {reason}")
        return Reply(said.decode("utf-8", "replace"), Usage())
