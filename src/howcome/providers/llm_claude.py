"""The `claude` program as a language model, for who has no key but a subscription: one call is one process.

It is held apart from everything that belongs to its user's own sessions: no settings, hooks, tools, MCP servers, slash
commands, memory files or transcripts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from howcome.domain.spending import as_cost
from howcome.errors import ProviderError
from howcome.providers.http_post import RefusedError, in_one_line
from howcome.providers.llm_adapter import (
    INSTRUCTION,
    MOST_ANSWER_TOKENS,
    READ_TOKENS,
    DeclinedError,
    ModelAdapter,
    Reply,
    Turn,
    as_one,
    object_in,
    usage_of,
)
from howcome.providers.program import find_program, run_program

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

    def __init__(self, command: str, model: str, home: str, most_tokens: int = MOST_ANSWER_TOKENS) -> None:
        super().__init__(model or "default", find_program(command, self.provider))
        self._home = home
        self._variables = {**VARIABLES, "CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(most_tokens)}
        self._model = ("--model", model) if model else ()

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: one process, which has ended when this returns."""
        words = [self.shown, *ARGUMENTS, *self._model, "--system-prompt", INSTRUCTION + json.dumps(schema)]
        code, said, complaint = run_program(words, as_one(turns), self._home, deadline, self._variables)
        if code and not said.strip():
            raise RefusedError(f"{self.shown} ends with {code}: {in_one_line(complaint) or 'it says nothing'}")
        return self._reply(object_in(said, self.shown, "llm_command"), code)

    def _reply(self, answer: Mapping[str, Any], code: int) -> Reply:
        """What the model said, and what it used."""
        said = answer.get("result")
        cost_usd = as_cost(answer.get("total_cost_usd"))  # its own reckoning, also where a subscription pays
        usage = usage_of(answer.get("usage"), READ_TOKENS, "output_tokens", cost_usd)
        if answer.get("stop_reason") == "refusal":
            raise DeclinedError(f"{self.model} declines to answer", usage)
        if code or answer.get("is_error"):
            reason = said if isinstance(said, str) and said else answer.get("subtype")
            is_about = str(answer.get("subtype")).startswith("error_")  # else the login, or a limit
            raise DeclinedError(f"{self.shown} fails: {in_one_line(str(reason))}", usage, is_about_question=is_about)
        if not isinstance(said, str):
            raise ProviderError(f"{self.shown} does not answer as `claude -p` does; check llm_command")
        return Reply(said, usage)
