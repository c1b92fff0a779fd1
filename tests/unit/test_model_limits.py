"""What bounds a call of a language model: one deadline, one limit of its answer; an error says which was reached."""

from __future__ import annotations

import json
import os
import socket
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.claude_program import ClaudeProgram
from tests.endpoint import running
from tests.others import Chat, Messages, called, said

from howcome.domain.spending import DISTIL, Caps
from howcome.errors import ProviderError
from howcome.providers.http_post import Endpoint
from howcome.providers.llm import open_adapter
from howcome.providers.llm_http import AnthropicLanguageModel, HttpLanguageModel
from howcome.providers.spending import MeteredModel
from howcome.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from tests.endpoint import Answer

    from howcome.providers.llm_adapter import ModelAdapter
    from howcome.store.sqlite import SqliteStore

SCHEMA: dict[str, object] = {
    "type": "object", "properties": {"color": {"type": "string", "enum": ["red", "blue"]}}, "required": ["color"],
    "additionalProperties": False,
}  # fmt: skip
RED = {"color": "red"}
CAPS = Caps(100, 1_000_000)


def metered(store: SqliteStore, adapter: ModelAdapter, timeout_s: float = 60.0) -> MeteredModel:
    """A model with its meter, for work that nobody waits for."""
    return MeteredModel(adapter, store.spending, DISTIL, CAPS, timeout_s, limit_setting="llm_deadline_s")


def both(server_of: type[Chat | Messages], *script: Answer) -> tuple[Any, Any]:
    """A server, and what asks it."""
    server = server_of(*script, usual=RED)
    if isinstance(server, Messages):
        return server, lambda: AnthropicLanguageModel(server.url(""), "claude-small", "key", 512)
    return server, lambda: HttpLanguageModel(server.url("/v1"), "small", most_tokens=512)


LATE_S = 40 if os.environ.get("HOWCOME_TEST_HOSTILE") == "full" else 8


@pytest.mark.timeout(240)
def test_a_late_answer_is_an_answer(store: SqliteStore) -> None:
    """A model on a laptop thinks for a minute; the deadline alone decides. This test is slow because it waits."""
    with running(Chat({"hang_s": LATE_S}, usual=RED)) as server:
        adapter = HttpLanguageModel(server.url("/v1"), "small")
        assert metered(store, adapter, timeout_s=150).complete("which?", SCHEMA) == RED
    assert [each.outcome for each in store.spending.receipts(0)] == ["ok"]


@pytest.mark.parametrize("kind", [Chat, Messages])
def test_the_deadline_is_said_and_charged_once(store: SqliteStore, kind: Any) -> None:
    """One call, one charge of what was reserved for it, and no second attempt; the next call is charged for itself."""
    server, adapter = both(kind, {"hang_s": 60}, {})
    with running(server):
        model = metered(store, adapter(), timeout_s=1.5)
        with pytest.raises(ProviderError, match=r"does not answer \(it was given [12] s\); raise llm_deadline_s"):
            model.complete("which?", SCHEMA)
        assert len(server.asked) == 1
        [lost] = store.spending.receipts(0)
        assert (lost.outcome, lost.usage.tokens_in) == ("timeout", None)
        assert lost.call.tokens > 1000
        assert metered(store, adapter()).complete("which?", SCHEMA) == RED
        again, first = store.spending.receipts(0)
        assert (again.outcome, first.call.tokens) == ("ok", lost.call.tokens)


@pytest.mark.parametrize("kind", [Chat, Messages])
def test_a_drip_ends_at_the_deadline(store: SqliteStore, kind: Any) -> None:
    """However the bytes come: each wait is bounded by what is left."""
    server, adapter = both(kind, {"drip_s": 1.0})
    with running(server):
        started = time.monotonic()
        with pytest.raises(ProviderError, match="does not answer"):
            metered(store, adapter(), timeout_s=3).complete("which?", SCHEMA)
        assert time.monotonic() - started < 20


def test_a_connection_is_another_limit(store: SqliteStore) -> None:
    """Nobody there is said as that, and costs nothing."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match=r"does not answer \(.*refused") as raised:
            metered(store, HttpLanguageModel(url, "small")).complete("which?", SCHEMA)
    assert "llm_deadline_s" not in str(raised.value)
    assert store.spending.receipts(0)[0].call.tokens == 0
    assert Endpoint(url).shown == url


@pytest.mark.parametrize("kind", [Chat, Messages])
def test_an_answers_limit_is_sent_and_said(store: SqliteStore, kind: Any) -> None:
    """Whoever reaches it is not asked the same again; a whole answer at the limit is one."""
    cut = '{"color": "r'
    used = {"usage": {"prompt_tokens": 40, "completion_tokens": 512}}
    half: Any = {**said(cut), **used} if kind is Chat else called(cut, stop_reason="max_tokens")
    whole: Any = {**said(RED), **used} if kind is Chat else called(RED, stop_reason="max_tokens")
    if kind is Chat:
        half["choices"][0]["finish_reason"] = whole["choices"][0]["finish_reason"] = "length"
    server, adapter = both(kind, {"value": half}, {"value": whole})
    with running(server):
        with pytest.raises(ProviderError, match="reached the 512 tokens of llm_answer_tokens"):
            metered(store, adapter()).complete("which?", SCHEMA)
        assert len(server.asked) == 1
        assert store.spending.receipts(0)[0].outcome == "bad answer"
        assert metered(store, adapter()).complete("which?", SCHEMA) == RED
    assert [asked["max_tokens"] for asked in server.asked] == [512, 512]


def test_an_answer_that_ends_before_its_limit_is_not_told_to_have_reached_it(store: SqliteStore) -> None:
    """llama.cpp ends it so when its context is full: more tokens in the settings would change nothing."""
    half: Any = {**said('{"color": "r'), "usage": {"prompt_tokens": 40, "completion_tokens": 100}}
    half["choices"][0]["finish_reason"] = "length"
    with running(Chat({"value": half})) as server:
        with pytest.raises(ProviderError, match=r"after 100 tokens.*512.*a larger context") as raised:
            metered(store, HttpLanguageModel(server.url("/v1"), "small", most_tokens=512)).complete("which?", SCHEMA)
        assert len(server.asked) == 1
    assert "raise" not in str(raised.value)
    [call] = store.spending.receipts(0)
    assert (call.outcome, call.call.tokens) == ("bad answer", 140)


TOO_LONG: dict[str, object] = {
    "llama.cpp": {
        "error": {
            "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": 3161, "n_ctx": 2048,
            "message": "request (3161 tokens) exceeds the available context size (2048 tokens), try increasing it",
        }
    },
    "OpenAI": {
        "error": {
            "code": "context_length_exceeded",
            "message": "This model's maximum context length is 2048 tokens. However, your messages resulted in 3161.",
        }
    },
}  # fmt: skip


@pytest.mark.parametrize("whose", TOO_LONG)
def test_what_is_longer_than_the_context_is_asked_once_and_said(store: SqliteStore, whose: str) -> None:
    """Without the form it would be as long; the sentence says what to change, in the endpoint's words and no JSON."""
    with running(Chat({"status": 400, "value": TOO_LONG[whose]}, usual=RED)) as server:
        model = metered(store, HttpLanguageModel(server.url("/v1"), "small"))
        with pytest.raises(ProviderError, match=r"400: [^{]*context [^{]*larger context") as raised:
            model.complete("which?", SCHEMA)
        assert len(server.asked) == 1
        assert "llm_url" not in str(raised.value)
        assert model.complete("which?", SCHEMA) == RED
        assert "response_format" in server.asked[-1]
    assert [(each.outcome, each.call.tokens > 0) for each in store.spending.receipts(0)] == [
        ("ok", True),
        ("refused", False),
    ]


def test_a_model_that_knows_another_name_for_the_limit_is_asked_so(store: SqliteStore) -> None:
    """OpenAI's newer ones; the form of the answer is asked for all the same."""
    words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with running(Chat({"status": 400, "value": {"error": {"message": words}}}, usual=RED)) as server:
        model = metered(store, HttpLanguageModel(server.url("/v1"), "small", most_tokens=512))
        assert model.complete("which?", SCHEMA) == RED
    assert [asked.get("max_completion_tokens") for asked in server.asked] == [None, 512]
    assert all("response_format" in asked for asked in server.asked)


def test_the_settings_reach_every_adapter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By both names; the program is told by its variable."""
    settings = read_settings({"HOWCOME_HOME": str(tmp_path)})
    assert (settings.llm_deadline_s, settings.llm_answer_tokens) == (300, 8192)
    monkeypatch.setenv("MY_KEY", "k")
    program = ClaudeProgram(tmp_path / "program")
    for llm, more in (
        ("http", {"HOWCOME_LLM_URL": "http://localhost:1/v1"}), ("anthropic", {"HOWCOME_LLM_KEY_ENV": "MY_KEY"}),
        ("claude", {"HOWCOME_LLM_COMMAND": str(program.path)}),
    ):  # fmt: skip
        named = {"HOWCOME_LLM": llm, "HOWCOME_LLM_MODEL": "m", "HOWCOME_LLM_ANSWER_TOKENS": "777", **more}
        adapter = open_adapter(read_settings({"HOWCOME_HOME": str(tmp_path), **named}))
        assert "777" in json.dumps(vars(adapter), default=str)
