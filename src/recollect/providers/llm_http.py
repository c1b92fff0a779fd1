"""Any endpoint that completes chats in OpenAI's form: Ollama, llama.cpp, vLLM, OpenAI and others."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from recollect.errors import ProviderError
from recollect.providers.http_post import Endpoint, RefusedError, in_one_line
from recollect.providers.schema import problem_with

if TYPE_CHECKING:
    from recollect.providers.base import LanguageModel

    Messages = list[dict[str, str]]

ATTEMPTS = 2
"""A model that twice answers in another shape than it was asked for will do so again."""

MAX_ANSWER_CHARS = 1 << 20
_UNKNOWN_FORM = (400, 404, 415, 422)
"""What endpoints say to a `response_format` that they do not know; some say it to a wrong model or path, too."""

_THOUGHT = re.compile(r"<think>.*?</think>", re.DOTALL)
_SYSTEM = (
    "Answer with one JSON object and nothing else: no explanation, no code fence. It has to satisfy this JSON schema:\n"
)


class HttpLanguageModel:
    """Asks an endpoint; the answer's shape is asked for in the request where that is known, and always checked.

    A failing or busy endpoint is not asked again: who asks can do without, or comes back later. A redirect is never
    followed: prompt and key go where the settings say, or nowhere.

    Args:
        url: The endpoint: a path that ends in `/v1` is completed.
        model: The model's name there.
        key: Sent as a bearer token when not empty; shown nowhere.
        timeout_s: A call ends by then, the second attempt included.

    Raises:
        ProviderError: the address or the key cannot be used.
    """

    def __init__(self, url: str, model: str, key: str = "", timeout_s: float = 60.0) -> None:
        if not model:
            raise ProviderError('llm = "http" needs a model: set llm_model to its name at the endpoint')
        self.name, self.model, self.timeout_s = f"http:{model}", model, timeout_s
        self._endpoint = Endpoint(_complete(url), key, setting="llm")
        self._is_strict = True

    @property
    def shown(self) -> str:
        """The address, as messages show it."""
        return self._endpoint.shown

    def complete(self, prompt: str, schema: Mapping[str, object]) -> dict[str, object]:
        """The answer to a prompt, in the shape of the schema; asked a second time when it has another.

        Raises:
            ProviderError: it does not answer in time, refuses, or twice says something of another shape.
        """
        deadline, problem = time.monotonic() + self.timeout_s, ""
        messages = [
            {"role": "system", "content": _SYSTEM + json.dumps(schema)},
            {"role": "user", "content": prompt.encode("utf-8", "replace").decode()},
        ]
        for _ in range(ATTEMPTS):
            said = self._said(messages, schema, deadline)
            value, problem = _read(said, schema)
            if value is not None:
                return value
            again = f"That was not it: {problem}. Answer again, with the JSON object only."
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": again}]
        what = f"{self.shown} answers in another shape than it was asked for"
        raise ProviderError(f"{what}: {problem}; try another model")

    def _said(self, messages: Messages, schema: Mapping[str, object], deadline: float) -> str:
        """What the model says; an endpoint that does not know how to hold it to a schema is asked without."""
        question: dict[str, object] = {"model": self.model, "messages": messages, "stream": False}
        if self._is_strict:
            form = {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}
            try:
                return self._text(self._endpoint.post({**question, "response_format": form}, deadline))
            except RefusedError as refusal:
                if refusal.status not in _UNKNOWN_FORM:
                    raise
        said = self._text(self._endpoint.post(question, deadline))
        self._is_strict = False  # only now: it was the form that was refused, not the question
        return said

    def _text(self, answer: bytes) -> str:
        """The message of an answer.

        Raises:
            ProviderError: there is none: it is no such endpoint, or the model declines.
        """
        try:
            choice = json.loads(answer)["choices"][0]
            message = choice["message"]
            content, refusal = message.get("content"), message.get("refusal")
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ProviderError(f"{self.shown} does not answer as a language model; check llm_url") from error
        if isinstance(refusal, str) and refusal:
            raise ProviderError(f"{self.model} declines to answer: {in_one_line(refusal)}")
        if choice.get("finish_reason") == "content_filter":
            raise ProviderError(f"{self.model} declines to answer: its filter says no")
        return content[:MAX_ANSWER_CHARS] if isinstance(content, str) else ""


def _read(said: str, schema: Mapping[str, object]) -> tuple[dict[str, object] | None, str]:
    """The object in what a model says, and what is wrong with it: its thoughts and a fence around it are not."""
    plain = _THOUGHT.sub("", said)
    start, end = plain.find("{"), plain.rfind("}")
    try:
        value: Any = json.loads(plain[start : end + 1]) if start >= 0 else None
    except (ValueError, RecursionError):
        return None, "that is no JSON"
    problem = problem_with(value, schema) if isinstance(value, dict) else "that is no JSON object"
    return (None, problem) if problem else (value, "")


def _complete(url: str) -> str:
    """The whole address."""
    plain = url.strip().rstrip("/")
    if plain.endswith("/chat/completions"):
        return plain
    if plain.endswith("/v1"):
        return plain + "/chat/completions"
    example = "http://localhost:11434/v1 or https://api.example.com/v1"
    raise ProviderError(f'llm = "http" needs an address that ends in /v1 in llm_url, such as {example}')


if TYPE_CHECKING:
    _: type[LanguageModel] = HttpLanguageModel
