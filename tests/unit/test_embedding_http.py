"""Endpoints over HTTP, each a real server: both forms, and everything that one may do instead of answering."""

from __future__ import annotations

import socket
import time

import numpy as np
import pytest
from tests.endpoint import Answer, serving
from tests.hashing import HashingEmbedder

from howcome.errors import ProviderError
from howcome.providers.embed_http import BATCH_TEXTS, HttpEmbedder

KEY = "sk-planted-key-0123456789"
TEXTS = ["the queue is locked", "a race in the queue", "make tea"]


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1/embeddings", "/api/embed", "/openai/v1/embeddings"])
def test_both_forms_give_unit_rows_in_the_order_of_the_texts(path: str) -> None:
    """Whatever length and order the endpoint gives them."""
    with serving() as server:
        embedder = HttpEmbedder(server.url(path), "some/Model")
        rows = embedder.embed(TEXTS)
    assert rows.dtype == np.float32
    assert rows.flags.c_contiguous
    assert np.allclose(rows, HashingEmbedder(24).embed(TEXTS), atol=1e-6)
    assert embedder.dimensions == 24
    assert [asked["model"] for asked in server.asked] == ["some/Model"]


def test_many_texts_go_in_batches_and_odd_ones_in_a_form_that_is_accepted() -> None:
    """An empty text is refused elsewhere, a huge one too; half a surrogate is no Unicode."""
    texts = ["", "  \n", "x" * 100_000, "\ud800", *(f"text {number}" for number in range(2 * BATCH_TEXTS))]
    with serving() as server:
        rows = HttpEmbedder(server.url(), "m").embed(texts)
        assert HttpEmbedder(server.url(), "m").embed([]).shape == (0, 24)
    assert rows.shape == (len(texts), 24)
    sent = [text for asked in server.asked for text in asked["input"]]
    assert len(sent) == len(texts) + 1  # and one that asks for the dimensions
    assert max(len(asked["input"]) for asked in server.asked) == BATCH_TEXTS
    assert all(text.strip() and len(text) <= 4000 for text in sent)


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 429},
        {"status": 429, "headers": {"Retry-After": "1"}},
        {"status": 500},
        {"status": 503},
        {"close": True},
    ],
    ids=["429", "429 with a time", "500", "503", "no answer"],
)
def test_a_busy_endpoint_is_asked_again(failure: Answer) -> None:
    """After a pause, which it may set itself."""
    with serving(failure) as server:
        started = time.monotonic()
        assert HttpEmbedder(server.url(), "m").embed(TEXTS).shape == (3, 24)
    assert len(server.asked) == 2
    assert time.monotonic() - started >= (1 if "headers" in failure else 0.5)


@pytest.mark.parametrize("failure", [{"status": 503}, {"status": 429, "headers": {"Retry-After": "3600"}}])
def test_an_endpoint_that_goes_on_failing_is_given_up_within_the_limit(failure: Answer) -> None:
    """The time limit counts for all attempts; an hour's pause is not waited for."""
    with serving(*[failure] * 9) as server:
        started = time.monotonic()
        with pytest.raises(ProviderError, match=rf"fails with {failure['status']}; tried \d times"):
            HttpEmbedder(server.url(), "m", limit_s=3).embed(TEXTS)
    assert time.monotonic() - started < 30
    assert len(server.asked) <= 3


@pytest.mark.parametrize("silence", [{"hang_s": 60}, {"drip_s": 0.1}], ids=["hangs", "drips"])
def test_one_that_hangs_or_drips_is_left_at_the_limit(silence: Answer) -> None:
    """Also when each byte comes in time."""
    with serving(silence) as server:
        started = time.monotonic()
        with pytest.raises(ProviderError, match="does not answer"):
            HttpEmbedder(server.url(), "m", limit_s=2).embed(TEXTS)
        assert time.monotonic() - started < 30
    assert len(server.asked) == 1


def test_nobody_there_is_said() -> None:
    """A port that nobody listens at: two attempts are enough."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{held.getsockname()[1]}/api/embed"
        with pytest.raises(ProviderError, match=r"does not answer .*tried 2 times: is it running"):
            HttpEmbedder(url, "m", limit_s=20).embed(TEXTS)


REFUSED = {
    "no such path": ({"status": 404}, "refuses with 404.*check embedding_url"),
    "a wrong key": ({"status": 401, "body": f"bad key {KEY}\x1b[2J".encode()}, r"401: bad key \(key\).*check the key"),
    "a bad model": ({"status": 400, "body": b'{"error": "no such\\n model"}'}, "400.*no such"),
    "no JSON": ({"body": b"<html>hello</html>"}, "does not answer in JSON"),
    "no UTF-8": ({"body": b"\xff\xfe"}, "does not answer in JSON"),
    "deep JSON": ({"body": b"[" * 200_000}, "answers something else"),
    "another object": ({"value": {"error": "x"}}, "not answer as an embedder"),
    "a text": ({"value": "hello"}, "not answer as an embedder"),
    "a number": ({"value": 7}, "not answer as an embedder"),
    "no vectors": ({"value": {"data": []}}, "gave 0 vectors for 3"),
    "one too few": ({"value": {"embeddings": [[1, 2], [3, 4]]}}, "gave 2 vectors for 3"),
    "lengths that differ": ({"value": {"embeddings": [[1, 2], [3], [4, 5]]}}, "not answer as an embedder"),
    "empty vectors": ({"value": {"embeddings": [[], [], []]}}, "not answer as an embedder"),
    "words for numbers": ({"value": {"embeddings": [["a"], ["b"], ["c"]]}}, "not answer as an embedder"),
    "null": ({"value": {"embeddings": [[None, 1.0]] * 3}}, "without a direction"),
    "not a number": ({"body": b'{"embeddings": [[NaN, 1], [1, 1], [1, 1]]}'}, "without a direction"),
    "infinite": ({"body": b'{"embeddings": [[1e999, 1], [1, 1], [1, 1]]}'}, "without a direction"),
    "all zero": ({"value": {"embeddings": [[0, 0], [1, 1], [1, 1]]}}, "without a direction"),
    "matrices": ({"value": {"embeddings": [[[1, 2]], [[1, 2]], [[1, 2]]]}}, "not answer as an embedder"),
    "numbered twice": (
        {"value": {"data": [{"index": 0, "embedding": [1, 2]}] * 3}}, "not answer as an embedder"
    ),
    "numbered by words": (
        {"value": {"data": [{"index": 0, "embedding": [1]}, {"index": "1", "embedding": [1]}]}},
        "not answer as an embedder",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("answer", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_an_answer_that_cannot_be_used_is_said_and_not_asked_for_again(answer: Answer, said: str) -> None:
    """One request, one sentence; what it says is shown in one line, without the key."""
    with serving(answer) as server, pytest.raises(ProviderError, match=said) as raised:
        HttpEmbedder(server.url("/api/embed"), "m", KEY).embed(TEXTS)
    assert len(server.asked) == 1
    assert KEY not in str(raised.value)
    assert str(raised.value).isprintable()


def test_an_endless_answer_is_not_read_to_its_end() -> None:
    """More than 32 MB are no answer to 64 texts."""
    with serving({"body": b" " * (40 << 20)}) as server, pytest.raises(ProviderError, match="more than 32 MB"):
        HttpEmbedder(server.url(), "m").embed(TEXTS)


def test_another_model_behind_the_same_name_is_noticed() -> None:
    """The number of dimensions may not change."""
    with serving() as server:
        embedder = HttpEmbedder(server.url(), "m")
        embedder.embed(TEXTS)
        server.embedder = HashingEmbedder(48)
        with pytest.raises(ProviderError, match="48 dimensions, before it were 24"):
            embedder.embed(TEXTS)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_never_followed(status: int) -> None:
    """Neither text nor key reach another address, not even one of the same host."""
    with serving() as other, serving({"status": status, "headers": {"Location": other.url()}}) as server:
        with pytest.raises(ProviderError, match=r"redirects to .*set embedding_url"):
            HttpEmbedder(server.url(), "m", KEY).embed(TEXTS)
        assert (len(server.asked), other.asked) == (1, [])


def test_the_key_is_sent_and_only_there() -> None:
    """As a bearer token; without one no such header."""
    with serving() as server:
        embedder = HttpEmbedder(server.url(), "m", KEY)
        embedder.embed(TEXTS)
        HttpEmbedder(server.url(), "m").embed(TEXTS)
    assert [headers.get("Authorization") for headers in server.headers] == [f"Bearer {KEY}", None]
    assert KEY not in repr(vars(embedder)) + embedder.name


@pytest.mark.parametrize("key", ["two\r\nlines: x", "ключ", "tab\t", "\x7f"])
def test_a_key_that_is_none_is_refused_unseen(key: str) -> None:
    """The message does not repeat it."""
    with pytest.raises(ProviderError, match="embedding_key_env") as raised:
        HttpEmbedder("http://127.0.0.1:9/v1", "m", key)
    assert key not in str(raised.value)


@pytest.mark.parametrize(
    "url",
    [
        "", "localhost", "http://localhost:11434", "file:///etc/passwd/v1", "ftp://host/v1", "https:///v1", "//host/v1",
        "http://[::1/v1", "http://host:port/v1", "http://host:99999/v1", "http://me:word@host/v1", "http://host/a b/v1",
        "http://h\u00f6st/v1", "http://host/\r\nX: y/v1", "http://host/x?key=1/v1",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_refused_before_anything_is_sent(url: str) -> None:
    """Only http and https, with a host and nothing hidden."""
    with pytest.raises(ProviderError, match="embedding_url"):
        HttpEmbedder(url, "m")


def test_a_proxy_of_the_environment_is_not_asked_for_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts for a local server stay on the machine."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving() as server:
        assert HttpEmbedder(server.url(), "m").embed(TEXTS).shape == (3, 24)


def test_a_name_is_a_folders_name_and_tells_models_apart() -> None:
    """Whatever a model is called at its endpoint."""
    models = ["nomic-embed-text", "Nomic-Embed-Text", "a/b", "a-b", "a:b", "../../etc", ".", "x" * 300, "x" * 301]
    models.append("日本")
    names = [HttpEmbedder("http://127.0.0.1:9/v1", model).name for model in models]
    assert names[0] == "http-nomic-embed-text"
    assert len(set(names)) == len(models)
    for name in names:
        assert name.isascii()
        assert "/" not in name
        assert len(name) < 120
        assert name == name.lower()
    with pytest.raises(ProviderError, match="embedding_model"):
        HttpEmbedder("http://127.0.0.1:9/v1", "")
