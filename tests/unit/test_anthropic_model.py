"""Anthropic's API, over a real server: the shape of answers, and what may come instead."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.endpoint import Answer, running
from tests.others import Messages, called

from howcome.domain.spending import CLASSIFY, Caps
from howcome.errors import ProviderError
from howcome.providers.llm_http import DEFAULT_URL, AnthropicLanguageModel
from howcome.providers.spending import MeteredModel
from howcome.store.sqlite import SqliteStore

KEY = "sk-ant-planted-0123456789"
SCHEMA: dict[str, Any] = {
    "type": "object", "properties": {"color": {"type": "string", "enum": ["red", "blue"]}}, "required": ["color"],
    "additionalProperties": False,
}  # fmt: skip
RED = {"color": "red"}


def metered(store: SqliteStore, server: Messages, timeout_s: float = 60.0) -> MeteredModel:
    """The model at a server, with a budget that nobody exhausts here."""
    adapter = AnthropicLanguageModel(server.url("/v1"), "claude-small", KEY)
    return MeteredModel(adapter, store.spending, CLASSIFY, Caps(100, 1_000_000), timeout_s)


def outcomes(store: SqliteStore) -> list[str]:
    """What became of each call, in their order."""
    return [each.outcome for each in reversed(store.spending.receipts(0))]


def test_an_answer_is_the_input_of_the_one_tool(store: SqliteStore) -> None:
    """The schema is the tool's, the model has to call it, and what was used is in the receipt."""
    with running(Messages(usual=RED)) as server:
        model = metered(store, server)
        assert model.complete("which color? \ud800", SCHEMA) == RED
    (asked,), (headers,) = server.asked, server.headers
    assert asked["messages"] == [{"role": "user", "content": "which color? ?"}]
    assert asked["tools"][0]["input_schema"] == SCHEMA
    assert asked["tool_choice"] == {"type": "tool", "name": "answer", "disable_parallel_tool_use": True}
    assert KEY in json.dumps(headers)
    (receipt,) = store.spending.receipts(0)
    assert (receipt.usage.tokens_in, receipt.usage.tokens_out, receipt.call.tokens) == (42, 8, 50)
    assert (receipt.call.provider, receipt.call.model, receipt.outcome) == ("anthropic", "claude-small", "ok")
    assert model.name == "anthropic:claude-small"


BAD = {"another color": {"color": "green"}, "no color": {}, "words": "red, I think", "nothing": ""}


@pytest.mark.parametrize("given", BAD.values(), ids=BAD.keys())
def test_a_wrong_shape_is_asked_for_once_more(store: SqliteStore, given: Any) -> None:
    """With what was wrong; both calls are in the ledger, and a third there is not."""
    with running(Messages({"value": called(given)}, usual=RED)) as server:
        assert metered(store, server).complete("which?", SCHEMA) == RED
        server.script += [{"value": called(given)}, {"value": called(given)}]
        with pytest.raises(ProviderError, match="another shape"):
            metered(store, server).complete("which?", SCHEMA)
    assert "was not it" in server.asked[1]["messages"][2]["content"]
    assert server.asked[1]["messages"][1]["content"]
    assert outcomes(store) == ["bad answer", "ok", "bad answer", "bad answer"]


def test_words_that_are_the_answer_are_one(store: SqliteStore) -> None:
    """Some that speak this API know no tools."""
    with running(Messages(usual='Sure: {"color": "red"}')) as server:
        assert metered(store, server).complete("which?", SCHEMA) == RED


FAILING: dict[str, tuple[Answer, str, str]] = {
    "a refusal": ({"value": called("no", stop_reason="refusal")}, "claude-small declines to answer", "refused"),
    "a wrong key": ({"status": 401, "body": f"bad {KEY}".encode()}, r"401: bad \(key\); check the key", "refused"),
    "a redirect": ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, "redirects .* llm_url", "refused"),
    "a wrong model": ({"status": 404, "value": {"error": "model"}}, "refuses with 404", "refused"),
    "too many": ({"status": 429, "headers": {"Retry-After": "60"}}, "fails with 429", "failed"),
    "overloaded": ({"status": 529}, "fails with 529", "failed"),
    "silence": ({"close": True}, "does not answer", "failed"),
    "hanging": ({"hang_s": 20.0}, "does not answer", "timeout"),
    "dripping": ({"drip_s": 0.05}, "does not answer", "timeout"),
    "a page": ({"body": b"<html>hello</html>"}, "not answer as a language model; check llm_url", "bad answer"),
    "another object": ({"value": {"object": "list"}}, "not answer as a language model", "bad answer"),
    "a list": ({"value": [1]}, "not answer as a language model", "bad answer"),
    "a flood": ({"body": b" " * (40 << 20)}, "more than 32 MB", "refused"),
}


@pytest.mark.parametrize(("failure", "message", "outcome"), FAILING.values(), ids=FAILING.keys())
def test_a_failure_is_said_and_not_asked_for_again(
    store: SqliteStore, failure: Answer, message: str, outcome: str
) -> None:
    """One request, one receipt, one sentence without the key."""
    limit_s = 3.0 if "hang_s" in failure or "drip_s" in failure else 60.0
    with running(Messages(failure)) as server, pytest.raises(ProviderError, match=message) as raised:
        metered(store, server, limit_s).complete("which?", SCHEMA)
    assert len(server.asked) == 1
    assert KEY not in str(raised.value)
    assert str(raised.value).isprintable()
    assert outcomes(store) == [outcome]
    assert getattr(raised.value, "wait_s", 0.0) == (60.0 if "Retry-After" in failure.get("headers", {}) else 0.0)


@pytest.mark.parametrize("url", ["", "https://api.anthropic.com/", "https://api.anthropic.com/v1/messages"])
def test_its_address_is_the_apis_unless_another_is_set(url: str) -> None:
    """With or without the path."""
    assert AnthropicLanguageModel(url, "m", KEY).shown == f"{DEFAULT_URL}/v1/messages"
