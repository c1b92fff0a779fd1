"""Real HTTP servers of what howcome may ask: a language model in OpenAI's form, or Anthropic's."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tests.endpoint import Answer, Embeddings

BUDGET = {"HOWCOME_LLM_DAILY_CALLS": "1000", "HOWCOME_LLM_DAILY_TOKENS": "10000000"}
"""More than any test spends."""

REVIEW: Answer = {"intent": "review", "confidence": 0.9, "subsystems": [], "files": [], "entities": []}


def said(content: Any, **message: Any) -> Answer:
    """A chat completion that says a text, or an object as JSON."""
    text = content if isinstance(content, str) or content is None else json.dumps(content)
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text, **message}}]}


class Chat(Embeddings):
    """Says the same to everybody, unless its script says otherwise."""

    def __init__(self, *script: Answer, usual: Any = REVIEW) -> None:
        super().__init__(*script)
        self.usual = usual

    def answer(self, path: str, question: dict[str, Any]) -> Answer:  # noqa: ARG002 - as the base
        """The usual words."""
        return said(self.usual)

    @property
    def settings(self) -> dict[str, str]:
        """The variables that name it."""
        url = self.url("/v1")
        return {"HOWCOME_LLM": "http", "HOWCOME_LLM_URL": url, "HOWCOME_LLM_MODEL": "small", **BUDGET}


class Noter(Chat):
    """Notes what its usual answer says, or the next of its `answers`, as somebody does who has read the prompt.

    An operation may name messages by number alone: then each is quoted; and a memory by its place among those shown.
    """

    def __init__(self, *script: Answer, usual: Any = REVIEW, answers: Sequence[Any] = ()) -> None:
        super().__init__(*script, usual=usual)
        self.answers = list(answers)

    def answer(self, path: str, question: dict[str, Any]) -> Answer:  # noqa: ARG002 - as the base
        """The next words."""
        chosen = self.answers.pop(0) if self.answers else self.usual
        if not isinstance(chosen, dict) or "operations" not in chosen:
            return said(chosen)
        prompt = "\n".join(str(one["content"]) for one in question["messages"][1:])
        return said({"operations": [noted(one, prompt) for one in chosen["operations"]]})


def noted(operation: dict[str, Any], prompt: str) -> dict[str, Any]:
    """An operation with the quotes and labels of a prompt."""
    lines = dict(re.findall(r"^\[(\d+)\] (?:[^:\n]+: |runs )?(.+)$", prompt, re.MULTILINE))
    labels = re.findall(r"^\[(m[0-9a-f]{4})\]", prompt, re.MULTILINE)
    evidence = [
        {"message": one, "quote": lines.get(str(one), "nobody said this")[:60]} if isinstance(one, int) else one
        for one in operation.get("evidence", ())
    ]
    memory = operation.get("memory")
    if isinstance(memory, int):
        memory = labels[memory - 1] if memory <= len(labels) else "mffff"
    return {**operation, "evidence": evidence, "memory": memory}


class Messages(Embeddings):
    """Anthropic's Messages API: calls the one tool with the same input, unless its script says otherwise."""

    def __init__(self, *script: Answer, usual: Any = REVIEW) -> None:
        super().__init__(*script)
        self.usual = usual

    def answer(self, path: str, question: dict[str, Any]) -> Answer:
        """A call of the tool; what else it is asked is the error that the API has for it."""
        if path != "/v1/messages" or "tool_choice" not in question:
            return {"type": "error", "error": {"type": "not_found_error", "message": path}}
        return called(self.usual)

    @property
    def settings(self) -> dict[str, str]:
        """The variables that name it; the key is in `MY_KEY`."""
        named = {"HOWCOME_LLM": "anthropic", "HOWCOME_LLM_URL": self.url(""), "HOWCOME_LLM_MODEL": "claude-small"}
        return {**named, "HOWCOME_LLM_KEY_ENV": "MY_KEY", **BUDGET}


def called(given: Any, **fields: Any) -> Answer:
    """A message that calls the tool with an input, or says a text."""
    block = {"type": "text", "text": given} if isinstance(given, str) else _use(given)
    usage = {"input_tokens": 40, "cache_read_input_tokens": 2, "output_tokens": 8}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-small", "content": [block]}
    return {**message, "stop_reason": "tool_use", "stop_sequence": None, "usage": usage, **fields}


def _use(given: Any) -> Answer:
    return {"type": "tool_use", "id": "toolu_1", "name": "answer", "input": given}
