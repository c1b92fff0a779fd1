"""Endpoints that complete chats in OpenAI's form (Ollama, llama.cpp, vLLM, OpenAI and others), and Anthropic's.

Anthropic's Messages API answers with the input of the one tool that the model may and must call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from howcome.domain.spending import as_cost
from howcome.errors import ProviderError
from howcome.providers import llm_adapter
from howcome.providers.http_post import Endpoint, RefusedError, TooLongError, completed, in_one_line
from howcome.providers.llm_adapter import DeclinedError, ModelAdapter, Reply, Turn

_LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
_UNKNOWN_FORM = (400, 404, 415, 422)
"""What endpoints say to a `response_format` that they do not know; some say it to a wrong model or path, too."""

_INCOMPLETE = (
    'llm = "http" needs an address that ends in /v1 in llm_url, such as http://localhost:11434/v1 or'
    " https://api.example.com/v1"
)


class HttpLanguageModel(ModelAdapter):
    """Asks an endpoint; the answer's shape is asked for in the request where that is known.

    A failing or busy endpoint is not asked again: who asks can do without, or comes back later. A redirect is never
    followed: prompt and key go where the settings say, or nowhere.
    """

    provider = "http"
    overhead_tokens = 100

    def __init__(self, url: str, model: str, key: str = "", most_tokens: int = llm_adapter.MOST_ANSWER_TOKENS) -> None:
        if not model:
            raise ProviderError('llm = "http" needs a model: set llm_model to its name at the endpoint')
        self._endpoint = Endpoint(completed(url, _INCOMPLETE, "/chat/completions"), key, setting="llm")
        super().__init__(model, self._endpoint.shown)
        self._is_strict, self._is_doubtful = True, False
        self._most_tokens, self._limit_name = most_tokens, "max_tokens"

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call; an endpoint that does not know how to hold it to a schema is asked without the next time."""
        messages = [{"role": "system", "content": llm_adapter.INSTRUCTION + json.dumps(schema)}]
        messages += [{"role": turn.role, "content": turn.text} for turn in turns]
        question: dict[str, object] = {"model": self.model, "messages": messages, "stream": False}
        question[self._limit_name] = self._most_tokens
        if not self._is_strict or self._is_doubtful:
            self._is_doubtful = False
            answer = self._endpoint.ask(question, deadline)
            self._is_strict = False  # without the form it works: that was refused before, not the question
            return self._reply(answer, schema)
        form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
        try:
            return self._reply(self._endpoint.ask({**question, "response_format": form}, deadline), schema)
        except RefusedError as refusal:
            if refusal.status not in _UNKNOWN_FORM or isinstance(refusal, TooLongError):
                raise
            if _LIMIT_NAMES[0] in str(refusal) and self._limit_name == _LIMIT_NAMES[0]:
                self._limit_name = _LIMIT_NAMES[1]  # OpenAI's newer models take no other, and say so
            else:
                self._is_doubtful = True
            raise llm_adapter.FormRefusedError(str(refusal), refusal.status) from refusal

    def _reply(self, data: bytes, schema: Mapping[str, object]) -> Reply:
        """The message of an answer, and what it used."""
        answer = llm_adapter.object_in(data, self.shown, "llm_url")
        said = answer.get("usage")
        cost_usd = as_cost(said.get("cost")) if isinstance(said, dict) else None  # most do not name it
        usage = llm_adapter.usage_of(said, ("prompt_tokens",), "completion_tokens", cost_usd)
        try:
            choice = answer["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
        except (LookupError, TypeError, AttributeError) as error:
            raise llm_adapter.not_a_model(self.shown, "llm_url") from error
        if isinstance(refusal, str) and refusal:
            raise DeclinedError(f"{self.model} declines to answer: {in_one_line(refusal)}", usage)
        if choice.get("finish_reason") == "content_filter":
            raise DeclinedError(f"{self.model} declines to answer: its filter says no", usage)
        reply = Reply(content if isinstance(content, str) else "", usage)
        if choice.get("finish_reason") == "length":
            is_early = usage.tokens_out is not None and usage.tokens_out < self._most_tokens
            llm_adapter.require_whole(reply, schema, self.model, self._most_tokens, is_early=is_early)
        return reply


DEFAULT_URL = "https://api.anthropic.com"
VERSION = "2023-06-01"
"""Of the API's form, sent with each call: what the API adds later does not change it."""

_TOOL = "answer"


class AnthropicLanguageModel(ModelAdapter):
    """Asks the API, or another server that speaks it."""

    provider = "anthropic"
    overhead_tokens = 700
    """The words with which the API tells a model of a tool, 300 to 600 tokens."""

    def __init__(self, url: str, model: str, key: str, most_tokens: int = llm_adapter.MOST_ANSWER_TOKENS) -> None:
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
        answer = llm_adapter.object_in(self._endpoint.ask(question, deadline), self.shown, "llm_url")
        usage, blocks = (
            llm_adapter.usage_of(answer.get("usage"), llm_adapter.READ_TOKENS, "output_tokens"),
            answer.get("content"),
        )
        if answer.get("stop_reason") == "refusal":
            raise DeclinedError(f"{self.model} declines to answer", usage)
        if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
            raise llm_adapter.not_a_model(self.shown, "llm_url")
        given = [block.get("input") for block in blocks if block.get("type") == "tool_use"]
        words = "".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
        reply = Reply(json.dumps(given[0]) if given else words, usage)
        if answer.get("stop_reason") == "max_tokens":
            llm_adapter.require_whole(reply, schema, self.model, self._most_tokens)
        return reply
