"""Language models over HTTP, each a real server: the shape of answers, and everything that one may do instead."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path
from typing import Any

import pytest
from tests.endpoint import Answer, running
from tests.others import Chat, said

from howcome.domain.spending import CLASSIFY, Caps
from howcome.errors import ProviderError, SettingsError
from howcome.providers.llm import open_model
from howcome.providers.llm_http import HttpLanguageModel
from howcome.providers.schema import problem_with
from howcome.providers.spending import MeteredModel
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

KEY = "sk-planted-key-0123456789"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "color": {"type": "string", "enum": ["red", "blue"]},
        "share": {"type": "number", "minimum": 0, "maximum": 1},
        "names": {"type": "array", "items": {"type": "string", "maxLength": 5}, "maxItems": 2},
        "count": {"type": "integer"},
        "is_dark": {"type": "boolean"},
    },
    "required": ["color"],
    "additionalProperties": False,
}
CAPS = Caps(100, 1_000_000)
GOOD = {"color": "red", "share": 0.5, "names": ["a", "b"]}


def metered(store: SqliteStore, url: str, name: str, key: str = "", *, timeout_s: float = 60.0) -> MeteredModel:
    """The model at an endpoint, with a budget that nobody exhausts here."""
    return MeteredModel(HttpLanguageModel(url, name, key), store.spending, CLASSIFY, CAPS, timeout_s)


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/chat/completions", "/openai/v1"])
def test_an_answer_has_the_shape_that_was_asked_for(store: SqliteStore, path: str) -> None:
    """The schema is in the request where endpoints look for it, and in the words, for those that do not."""
    with running(Chat(usual=GOOD)) as server:
        model = metered(store, server.url(path), "some/Model", KEY)
        assert model.complete("which color? \ud800", SCHEMA) == GOOD
    (asked,) = server.asked
    assert asked["model"] == "some/Model"
    assert asked["response_format"]["json_schema"]["schema"] == SCHEMA
    assert '"enum": ["red", "blue"]' in asked["messages"][0]["content"]
    assert asked["messages"][1] == {"role": "user", "content": "which color? ?"}
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert model.name == "http:some/Model"
    assert KEY not in repr(vars(model)) + model.name


@pytest.mark.parametrize(
    "words",
    [
        '```json\n{"color": "red"}\n```', '<think>{"color": 7}? no.</think>\n{"color": "red"}',
        'Sure: {"color": "red"}.',
    ],
    ids=["a fence", "thoughts", "politeness"],
)  # fmt: skip
def test_what_stands_around_an_answer_is_not_part_of_it(store: SqliteStore, words: str) -> None:
    """Small models like to talk."""
    with running(Chat(usual=words)) as server:
        assert metered(store, server.url("/v1"), "m").complete("which?", SCHEMA) == {"color": "red"}
    assert len(server.asked) == 1


BAD: dict[str, Any] = {
    "no JSON": "red, I think", "half of it": '{"color": "red", "names": ["a"', "a list": '["red"]', "nothing": None,
    "another color": {"color": "green"}, "no color": {"share": 0.5}, "more": {"color": "red", "mood": "good"},
    "a wrong type": {"color": "red", "share": "half"}, "deep": '{"color": ' + "[" * 100_000 + "]" * 100_000 + "}",
}  # fmt: skip


@pytest.mark.parametrize("words", BAD.values(), ids=BAD.keys())
def test_a_wrong_shape_is_asked_for_once_more(store: SqliteStore, words: Any) -> None:
    """With what was wrong; the second answer counts."""
    with running(Chat({"value": said(words)}, usual=GOOD)) as server:
        assert metered(store, server.url("/v1"), "m").complete("which?", SCHEMA) == GOOD
    first, second = server.asked
    assert second["messages"][:2] == first["messages"]
    assert "was not it" in second["messages"][3]["content"]


def test_a_model_that_twice_answers_in_another_shape_is_given_up(store: SqliteStore) -> None:
    """Two calls, one sentence, nothing of what it said in it."""
    words = {"color": "the words of the prompt"}
    with running(Chat(usual=words)) as server, pytest.raises(ProviderError, match=r"another shape.*color") as raised:
        metered(store, server.url("/v1"), "m").complete("which?", SCHEMA)
    assert len(server.asked) == 2
    assert "words" not in str(raised.value)


def test_an_endpoint_that_knows_no_response_format_is_asked_without(store: SqliteStore) -> None:
    """From then on at once; a refusal that is about something else is not mistaken for it."""
    refusal = {"status": 400, "value": {"error": "response_format is not supported"}}
    with running(Chat(refusal, usual=GOOD)) as server:
        model = metered(store, server.url("/v1"), "m")
        assert model.complete("which?", SCHEMA) == GOOD
        assert model.complete("and now?", SCHEMA) == GOOD
    assert ["response_format" in asked for asked in server.asked] == [True, False, False]
    assert [each.outcome for each in store.spending.receipts(0)] == ["ok", "ok", "refused"]
    assert store.spending.receipts(0)[-1].call.tokens == 0
    with running(Chat(refusal, refusal, usual=GOOD)) as server:
        model = metered(store, server.url("/v1"), "m")
        with pytest.raises(ProviderError, match="refuses with 400"):
            model.complete("which?", SCHEMA)
        assert model.complete("and now?", SCHEMA) == GOOD
    assert "response_format" in server.asked[-1]


FAILING: dict[str, tuple[Answer, str]] = {
    "a refusal": ({"value": said(None, refusal="I will\n not do that")}, "m declines to answer: I will not do that"),
    "a filter": (
        {"value": {"choices": [{"finish_reason": "content_filter", "message": {"content": ""}}]}},
        "m declines",
    ),
    "a wrong key": ({"status": 401, "body": f"bad {KEY}".encode()}, r"401: bad \(key\); check the key \(llm_key_env\)"),
    "a redirect": ({"status": 302, "headers": {"Location": "http://127.0.0.1:9/"}}, "redirects .* set llm_url"),
    "too many": ({"status": 429, "headers": {"Retry-After": "60"}}, "fails with 429"),
    "an error": ({"status": 500}, "fails with 500"),
    "loading": (
        {"status": 503, "value": {"error": {"message": f"Loading model {KEY}", "code": 503}}},
        r"fails with 503: Loading model \(key\)$",
    ),
    "a gateway's page": ({"status": 502, "body": b"<html>Bad Gateway</html>"}, "fails with 502$"),
    "silence": ({"close": True}, "does not answer"),
    "half an answer": (
        {"headers": {"Content-Length": "9999", "Connection": "close"}},
        r"does not answer \(.* ended in mid-answer\)$",
    ),
    "hanging": ({"hang_s": 60}, "does not answer"),
    "dripping": ({"drip_s": 0.3}, "does not answer"),
    "a page": ({"body": b"<html>hello</html>"}, "not answer as a language model; check llm_url"),
    "no choices": ({"value": {"choices": []}}, "not answer as a language model"),
    "another object": ({"value": {"object": "list"}}, "not answer as a language model"),
    "a list": ({"value": [1]}, "not answer as a language model"),
    "no message": ({"value": {"choices": [{"message": "red"}]}}, "not answer as a language model"),
    "a flood": ({"body": b" " * (40 << 20)}, "more than 32 MB; check llm_url"),
}


@pytest.mark.parametrize(("failure", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_failure_is_said_and_not_asked_for_again(store: SqliteStore, failure: Answer, message: str) -> None:
    """One request, one sentence without the key, within the time limit."""
    limit_s = 2 if "hang_s" in failure or "drip_s" in failure else 20.0
    with running(Chat(failure)) as server:
        started = time.monotonic()
        with pytest.raises(ProviderError, match=message) as raised:
            metered(store, server.url("/v1"), "m", KEY, timeout_s=limit_s).complete("which?", SCHEMA)
        assert time.monotonic() - started < 30
    assert len(server.asked) == 1
    assert KEY not in str(raised.value)
    assert str(raised.value).isprintable()


def test_both_attempts_have_one_time_limit(store: SqliteStore) -> None:
    """A second answer that would come too late is not waited for."""
    slow, took = {"hang_s": 1.5, "value": said("no JSON")}, []
    for _ in range(3):  # with a limit for each it would be 3.5 s, always
        with running(Chat(slow, {"hang_s": 60})) as server:
            started = time.monotonic()
            with pytest.raises(ProviderError, match="does not answer"):
                metered(store, server.url("/v1"), "m", timeout_s=2).complete("which?", SCHEMA)
            took.append(time.monotonic() - started)
        if took[-1] < 3:
            break
    assert min(took) < 3


def test_nobody_there_is_said(store: SqliteStore) -> None:
    """A port that nobody listens at."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/v1"
        with pytest.raises(ProviderError, match="does not answer"):
            metered(store, url, "m", timeout_s=20).complete("which?", SCHEMA)


@pytest.mark.parametrize(
    "url", ["", "http://localhost:11434", "file:///v1", "http://me:word@host/v1", "http://host/api"]
)
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    """The message names the setting."""
    with pytest.raises(ProviderError, match="llm_url"):
        HttpLanguageModel(url, "m")


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (GOOD, ""), ({"color": "red", "is_dark": True, "count": 3}, ""), ([], "Expected `object`, got `array`"),
        ({}, "Object missing required field `color`"),
        ({"color": "my `word` - at"}, "Invalid enum value - at `$.color`"),
        ({"color": "red", "my `word`\n": 1}, "Object contains unknown field"),
        ({"color": "red", "share": 2}, "Expected `float` <= 1.0 - at `$.share`"),
        ({"color": "red", "share": True}, "Expected `float`, got `bool` - at `$.share`"),
        ({"color": "red", "share": float("nan")}, "Expected `float` >= 0.0 - at `$.share`"),
        ({"color": "red", "count": 1.5}, "Expected `int`, got `float` - at `$.count`"),
        ({"color": "red", "is_dark": 1}, "Expected `bool`, got `int` - at `$.is_dark`"),
        ({"color": "red", "names": ["a", "b", "c"]}, "Expected `array` of length <= 2 - at `$.names`"),
        ({"color": "red", "names": ["a", 1]}, "Expected `str`, got `int` - at `$.names[1]`"),
        ({"color": "red", "names": ["abcdef"]}, "Expected `str` of length <= 5 - at `$.names[0]`"),
    ],
)  # fmt: skip
def test_a_shape_is_checked_by_the_words_that_schemas_use(value: Any, problem: str) -> None:
    """What is wrong is said without the texts of the value."""
    assert problem_with(value, SCHEMA) == problem


def test_the_settings_open_it_or_say_what_is_missing(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Off by default; what a provider needs is asked for by its settings' names."""

    def opened(**chosen: str) -> MeteredModel | None:
        named = {f"HOWCOME_LLM{name.upper()}": text for name, text in chosen.items()}
        return open_model(read_settings({"HOWCOME_HOME": str(tmp_path), **named}), store.spending, CLASSIFY)

    assert opened() is None
    assert opened(_url="nonsense", _model="m") is None
    with pytest.raises(SettingsError, match="HOWCOME_LLM"):
        opened(**{"": "gpt"})
    for provider in ("http", "anthropic"):
        with pytest.raises(ProviderError, match="llm_model"):
            opened(**{"": provider}, _url="http://127.0.0.1:9/v1")
    with pytest.raises(ProviderError, match="llm_url"):
        opened(**{"": "http"}, _model="m")
    with pytest.raises(ProviderError, match="llm_key_env"):
        opened(**{"": "anthropic"}, _model="m")
    with pytest.raises(ProviderError, match=r"'/no/such/claude'.*llm_command"):
        opened(**{"": "claude"}, _command="/no/such/claude")
    chosen = {"_url": "http://127.0.0.1:9/v1", "_model": "m", "_key_env": "MY_KEY"}
    assert "MY_KEY" not in os.environ
    with pytest.raises(ProviderError, match="the variable MY_KEY, which llm_key_env names"):
        opened(**{"": "http"}, **chosen)
    monkeypatch.setenv("MY_KEY", KEY)
    for provider in ("http", "anthropic"):
        model = opened(**{"": provider}, **chosen)
        assert model is not None
        assert model.name == f"{provider}:m"
    monkeypatch.setenv("HOWCOME_ACTIVE", "1")  # within an agent that howcome itself started
    assert opened(**{"": "http"}, **chosen) is None
