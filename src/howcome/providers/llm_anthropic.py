"""Anthropic's Messages API: the answer is the input of the one tool that the model may and must call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from howcome.errors import ProviderError
from howcome.providers.http_post import Endpoint
from howcome.providers.llm_adapter import (
    MOST_ANSWER_TOKENS,
    READ_TOKENS,
    DeclinedError,
    ModelAdapter,
    Reply,
    Turn,
    object_in,
    require_whole,
    usage_of,
)

DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
"""Of the API's form, sent with each call: what the API adds later does not change it."""

_TOOL = "answer"


class AnthropicLanguageModel(ModelAdapter):
    """Asks the API, or another server that speaks it."""

    provider = "anthropic"
    overhead_tokens = 700
    """The words with which the API tells a model of a tool, 300 to 600 tokens."""

    def __init__(self, url: str, model: str, key: str, most_tokens: int = MOST_ANSWER_TOKENS) -> None:
        if not model:
            raise ProviderError('llm = "anthropic" needs a model: set llm_model to its name')
        if not key:
            raise ProviderError('llm = "anthropic" needs a key: set llm_key_env to the variable that holds it')
        base = (url.strip() or DEFAULT_URL).rstrip("/").removesuffix("/messages").removesuffix("/v1")
        headers = {"x-api-key": key, "anthropic-version": VERSION}
        self._endpoint = Endpoint(f"{base}/v1/messages", key, setting="llm", headers=headers)
        self._most_tokens = most_tokens
        super().__init__(model, self._endpoint.shown)

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call."""
        question: dict[str, object] = {
            "model": self.model,
            "max_tokens": self._most_tokens,
            "messages": [{"role": turn.role, "content": turn.text} for turn in turns],
            "tools": [{"name": _TOOL, "description": "Give the answer.", "input_schema": schema}],
            "tool_choice": {"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True},
        }
        answer = object_in(self._endpoint.post(question, deadline), self.shown, "llm_url")
        usage, blocks = usage_of(answer.get("usage"), READ_TOKENS, "output_tokens"), answer.get("content")
        if answer.get("stop_reason") == "refusal":
            raise DeclinedError(f"{self.model} declines to answer", usage)
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise ProviderError(f"{self.shown} does not answer as a language model; check llm_url")
        given = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        words = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        reply = Reply(json.dumps(given[0]) if given else words, usage)
        if answer.get("stop_reason") == "max_tokens":
            require_whole(reply, schema, self.model, self._most_tokens)
        return reply
