"""The `claude` program as a language model, for who has no key but a subscription: one call is one process.

It is held apart from everything that belongs to its user's own sessions: no settings, hooks, tools, MCP servers, slash
commands, memory files or transcripts; an empty folder to work in, and a variable that keeps howcome's own hooks and
worker still should it run them all the same.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from howcome.domain.spending import Usage, as_cost, as_count
from howcome.errors import ProviderError
from howcome.providers.http_post import MAX_ANSWER_BYTES, RefusedError, TryLaterError, in_one_line
from howcome.providers.llm_adapter import INSTRUCTION, MOST_ANSWER_TOKENS, DeclinedError, Reply, Turn, object_in
from howcome.settings import ACTIVE

if TYPE_CHECKING:
    from howcome.providers.llm_adapter import ModelAdapter

SETTINGS: Mapping[str, object] = {"disableAllHooks": True, "autoMemoryEnabled": False}
ARGUMENTS = (
    "-p", "--output-format", "json", "--setting-sources", "", "--settings", json.dumps(SETTINGS), "--strict-mcp-config",
    "--mcp-config", '{"mcpServers":{}}', "--tools", "", "--disable-slash-commands", "--no-session-persistence",
)  # fmt: skip
"""All but the model and the words. Tried with 2.1.329, 2.1.100 and 2.0.76: none ran a hook, started an MCP server, read
a memory file or wrote a transcript."""

VARIABLES: Mapping[str, str] = {
    ACTIVE: "1", "CLAUDE_CODE_SKIP_PROMPT_HISTORY": "1", "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "0",
}  # fmt: skip
_OF_A_SESSION = (
    "CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_MESSAGING_TOKEN",
    "CLAUDE_CODE_SESSION_ATTENDED", "CLAUDE_CODE_SESSION_ID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE", "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PROJECT_DIR",
)  # fmt: skip
"""Variables of the session that howcome runs in: the process is no part of it."""

_USED = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")


class ClaudeLanguageModel:
    """Starts the program, hands it the words on standard input, and ends all that it started.

    Args:
        command: Its name on PATH, or its path.
        model: The model, as the program names it; '' is the one that it takes by itself.
        most_tokens: What an answer may have at most.
        home: HOWCOME_HOME: the empty folder that it works in is made there, where nobody else writes.

    Raises:
        ProviderError: there is no such program.
    """

    provider = "claude"
    overhead_tokens = 1500
    """What the program adds: some 600 tokens of surroundings (2.1.329), 2,000 of requests to warm up (2.0.76)."""

    def __init__(self, command: str, model: str, home: str, most_tokens: int = MOST_ANSWER_TOKENS) -> None:
        found = shutil.which(os.path.expanduser(command))
        if found is None:
            what = f'llm = "claude" needs the program {command!r}'
            raise ProviderError(f"{what}: install it, or set llm_command to its path")
        self.shown, self._home = os.path.abspath(found), home
        self._variables = {**VARIABLES, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(most_tokens)}
        self.model = model or "default"
        self.name = f"claude:{self.model}"
        self._model = ("--model", model) if model else ()

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: one process, which has ended when this returns.

        Raises:
            ProviderError: as the port says.
        """
        words = [self.shown, *ARGUMENTS, *self._model, "--system-prompt", INSTRUCTION + json.dumps(schema)]
        try:
            code, said, complaint = self._run(words, _as_one(turns), deadline)
        except OSError as error:
            raise TryLaterError(f"{self.shown} cannot be run ({error.strerror or error})") from error
        if code and not said.strip():
            raise RefusedError(f"{self.shown} ends with {code}: {in_one_line(complaint) or 'it says nothing'}")
        return self._reply(object_in(said, self.shown, "llm_command"), code)

    def _run(self, words: Sequence[str], prompt: str, deadline: float) -> tuple[int, bytes, str]:
        """Exit code, standard output and the beginning of standard error.

        The files have no names, so that nothing of the prompt is left on disk when this process is killed.

        Raises:
            OSError: it cannot be started.
            TryLaterError: it took too long, and was ended with all that it started.
        """
        environment = {name: value for name, value in os.environ.items() if name not in _OF_A_SESSION}
        with (
            tempfile.TemporaryDirectory(prefix=".asking-", dir=self._home) as folder,
            tempfile.TemporaryFile() as given,
            tempfile.TemporaryFile() as said,
            tempfile.TemporaryFile() as complaint,
        ):
            given.write(prompt.encode("utf-8", "replace"))
            given.seek(0)
            process = subprocess.Popen(
                words,
                stdin=given,
                stdout=said,
                stderr=complaint,
                cwd=folder,
                env={**environment, **self._variables},
                start_new_session=True,
            )
            limit_s = max(0.0, deadline - time.monotonic())
            try:
                code = process.wait(limit_s)
            except subprocess.TimeoutExpired as error:
                what = f"{self.shown} does not answer in time (it was given {limit_s:.0f} s)"
                raise TryLaterError(what) from TimeoutError(str(error.timeout))
            finally:
                _end(process)
            return code, _from_start(said, MAX_ANSWER_BYTES), _from_start(complaint, 1 << 12).decode("utf-8", "replace")

    def _reply(self, answer: Mapping[str, Any], code: int) -> Reply:
        """What the model said, and what it used.

        Raises:
            ProviderError: it is no answer of this program's; RefusedError when it says that it failed.
        """
        usage, said = _usage(answer), answer.get("result")
        if answer.get("stop_reason") == "refusal":
            raise DeclinedError(f"{self.model} declines to answer", usage)
        if code or answer.get("is_error"):
            reason = said if isinstance(said, str) and said else answer.get("subtype")
            is_about = str(answer.get("subtype")).startswith("error_")  # else the login, or a limit
            raise DeclinedError(f"{self.shown} fails: {in_one_line(str(reason))}", usage, is_about_question=is_about)
        if not isinstance(said, str):
            raise ProviderError(f"{self.shown} does not answer as `claude -p` does; check llm_command")
        return Reply(said, usage)


def _as_one(turns: Sequence[Turn]) -> str:
    """A conversation as one prompt: the program takes nothing else that it would not write down."""
    first, *rest = turns
    told = {"assistant": "You have answered:", "user": "And then you were told:"}
    return "\n\n".join([first.text, *(f"{told[turn.role]}\n{turn.text}" for turn in rest)])


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the program with all that it started, also what it left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _from_start(stream: IO[bytes], most_bytes: int) -> bytes:
    stream.seek(0)
    return stream.read(most_bytes)


def _usage(answer: Mapping[str, Any]) -> Usage:
    """What the program says that a call used; the cost is its own reckoning, also where a subscription pays."""
    said, cost_usd = answer.get("usage"), as_cost(answer.get("total_cost_usd"))
    if not isinstance(said, dict):
        return Usage(cost_usd=cost_usd)
    read = [as_count(said.get(name)) for name in _USED]
    tokens_in = sum(count or 0 for count in read) if read[0] is not None else None
    return Usage(tokens_in, as_count(said.get("output_tokens")), cost_usd)


if TYPE_CHECKING:
    _: type[ModelAdapter] = ClaudeLanguageModel
