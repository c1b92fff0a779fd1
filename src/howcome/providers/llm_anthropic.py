"""Anthropic's Messages API, through their own client library (extra `anthropic`), which is imported at the first call.

The library costs a second of processor time to import: it is paid by processes that ask, and by no other. It is told to
try once, to follow no redirect and to trace nothing; an answer is bounded in time and size here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from howcome.errors import MissingError, ProviderError
from howcome.providers.http_post import (
    CLOSE_S,
    CONNECT_LIMIT_S,
    LOOPBACK,
    MAX_ANSWER_BYTES,
    Endpoint,
    TryLaterError,
    in_one_line,
    seconds_left,
    status_error,
)
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

if TYPE_CHECKING:
    import httpx2


PACKAGE = "anthropic"
"""The package, and the extra of howcome that brings it."""

DEFAULT_URL = "https://api.anthropic.com"
_TOOL = "answer"
_KEY_SETTING = "llm_key_env"


class AnthropicLanguageModel(ModelAdapter):
    """Asks the API; an answer is the input of the one tool that the model may and must call."""

    provider = "anthropic"
    overhead_tokens = 700
    """The words with which the API tells a model of a tool, 300 to 600 tokens."""

    def __init__(self, url: str, model: str, key: str, most_tokens: int = MOST_ANSWER_TOKENS) -> None:
        if not model:
            raise ProviderError('llm = "anthropic" needs a model: set llm_model to its name')
        if not key:
            raise ProviderError('llm = "anthropic" needs a key: set llm_key_env to the variable that holds it')
        self._url = (url.strip() or DEFAULT_URL).rstrip("/").removesuffix("/messages").removesuffix("/v1")
        super().__init__(model, Endpoint(self._url, key, setting="llm").shown)
        if find_spec(PACKAGE) is None:
            raise MissingError(f'llm = "anthropic" needs the package {PACKAGE}', f"pip install {PACKAGE}")
        self._key, self._most_tokens = key, most_tokens

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call."""
        limit_s = seconds_left(deadline)
        import anthropic
        import httpx2

        try:
            with self._connection(deadline) as http:
                answer = self._client(http).messages.with_raw_response.create(
                    model=self.model,
                    max_tokens=self._most_tokens,
                    timeout=httpx2.Timeout(limit_s, connect=min(limit_s, CONNECT_LIMIT_S)),
                    messages=[{"role": turn.role, "content": turn.text} for turn in turns],
                    tools=[{"name": _TOOL, "description": "Give the answer.", "input_schema": schema}],
                    tool_choice={"type": "tool", "name": _TOOL, "disable_parallel_tool_use": True},
                )
                return self._reply(answer.http_response.content, schema)
        except anthropic.APIStatusError as error:
            said = in_one_line(error.response.text.replace(self._key, "(key)"))
            failure = status_error(error.status_code, error.response.headers, said, self.shown, "llm", _KEY_SETTING)
            raise failure from None  # the library's error holds the request, and with it the key
        except anthropic.APIError as error:
            cause = TimeoutError() if isinstance(error, anthropic.APITimeoutError) else None
            reason = in_one_line(str(error))
            if cause is not None and time.monotonic() >= deadline - CLOSE_S:
                reason = f"it was given {limit_s:.0f} s"
            raise TryLaterError(f"{self.shown} does not answer ({reason})") from cause

    def _connection(self, deadline: float) -> httpx2.Client:
        """Connections for one call: no redirects, answers bounded in time and size, no proxy for this machine."""
        import httpx2

        def bound(response: httpx2.Response) -> None:
            if isinstance(response.stream, httpx2.SyncByteStream):
                response.stream = _bounded(response.stream, deadline)

        is_here = urlsplit(self._url).hostname in LOOPBACK
        return httpx2.Client(follow_redirects=False, event_hooks={"response": [bound]}, trust_env=not is_here)

    def _client(self, http: httpx2.Client) -> Any:  # noqa: ANN401 - of a library that is typed for its own dicts
        import anthropic

        return anthropic.Anthropic(
            api_key=self._key, base_url=self._url, max_retries=0, http_client=http, open_telemetry=False
        )

    def _reply(self, data: bytes, schema: Mapping[str, object]) -> Reply:
        """What the model said, and what it used."""
        answer = object_in(data, self.shown, "llm_url")
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


def _bounded(inner: httpx2.SyncByteStream, deadline: float) -> httpx2.SyncByteStream:
    """The same bytes, which end in time and within a size, however slowly they come."""
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size_bytes = 0
            for part in inner:
                size_bytes += len(part)
                if time.monotonic() > deadline:
                    raise httpx2.ReadTimeout("the answer takes too long")
                if size_bytes > MAX_ANSWER_BYTES:
                    raise httpx2.ReadError(f"more than {MAX_ANSWER_BYTES >> 20} MB")
                yield part

        def close(self) -> None:
            inner.close()

    return Bounded()
