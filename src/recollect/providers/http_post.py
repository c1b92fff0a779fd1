"""One POST of JSON to one address: http(s) only, no redirects, limits in time and size, the key never shown."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import IO
from urllib.parse import urlsplit

from recollect.errors import ProviderError

MAX_ANSWER_BYTES = 32 << 20
MAX_WAIT_S, MAX_SHOWN_CHARS, CHUNK_BYTES = 30.0, 200, 1 << 16
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RefusedError(ProviderError):
    """The endpoint will not answer this, now or later."""


class TryLaterError(ProviderError):
    """The endpoint does not answer now; `wait_s` is how long it asks to be left alone (0: it does not say)."""

    def __init__(self, message: str, wait_s: float = 0.0) -> None:
        super().__init__(message)
        self.wait_s = wait_s


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is sent is private: it goes to no address that the settings do not name."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: http.client.HTTPMessage,
        newurl: str,
    ) -> None:  # fmt: skip
        """None: the redirect is raised as an error."""


class Endpoint:
    """An address that JSON is posted to.

    Args:
        url: http or https, without a user's name in it.
        key: Sent as a bearer token when not empty.

    Raises:
        ProviderError: the address or the key cannot be used.
    """

    def __init__(self, url: str, key: str = "") -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ProviderError(f"embedding_url is no address: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise ProviderError(f"embedding_url has to begin with http:// or https:// and name a host, unlike {url!r}")
        if parts.username is not None or parts.query or not url.isascii() or not url.isprintable() or " " in url:
            raise ProviderError("embedding_url is a plain address; a key belongs in the variable of embedding_key_env")
        if not key.isascii() or not key.isprintable():
            raise ProviderError("the key in the variable of embedding_key_env is not one line of plain characters")
        self.shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
        self._url, self._key = url, key
        proxies = urllib.request.ProxyHandler({} if host in _LOOPBACK else None)
        self._opener = urllib.request.build_opener(_NoRedirect, proxies)

    def post(self, value: Mapping[str, object], deadline: float) -> bytes:
        """The whole answer to a value.

        Args:
            value: Sent as JSON.
            deadline: `time.monotonic()` by which the answer has to be here.

        Raises:
            RefusedError: it says no, redirects, or says more than 32 MB.
            TryLaterError: it is busy, fails, or does not answer in time.
        """
        headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "recollect"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        request = urllib.request.Request(self._url, json.dumps(value).encode(), headers, method="POST")  # noqa: S310 - http(s) by the constructor
        try:
            with self._opener.open(request, timeout=_left(deadline)) as answer:
                return self._read(answer, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._failure(error, deadline) from error
        except (OSError, http.client.HTTPException) as error:  # no connection, no answer in time, no HTTP
            reason = getattr(error, "reason", error)
            raise TryLaterError(f"{self.shown} does not answer ({reason or type(error).__name__})") from error

    def _read(self, answer: http.client.HTTPResponse | urllib.error.HTTPError, deadline: float) -> bytes:
        parts, size_bytes = [], 0
        while part := answer.read1(CHUNK_BYTES):
            parts.append(part)
            size_bytes += len(part)
            if size_bytes > MAX_ANSWER_BYTES:
                raise RefusedError(f"{self.shown} answers more than {MAX_ANSWER_BYTES >> 20} MB; check embedding_url")
            if time.monotonic() > deadline:
                raise TimeoutError("the answer takes too long")
        return b"".join(parts)

    def _failure(self, error: urllib.error.HTTPError, deadline: float) -> ProviderError:
        """What a status other than 200 means."""
        if 300 <= error.code < 400:
            target = error.headers.get("Location", "?")[:MAX_SHOWN_CHARS]
            return RefusedError(f"{self.shown} redirects to {target!r}; if that is right, set embedding_url to it")
        if error.code in (408, 425, 429) or error.code >= 500:
            return TryLaterError(f"{self.shown} fails with {error.code}", _wait_s(error.headers.get("Retry-After")))
        step = "check the key (embedding_key_env)" if error.code in (401, 403) else "check embedding_url and _model"
        return RefusedError(f"{self.shown} refuses with {error.code}: {self._said(error, deadline)}; {step}")

    def _said(self, error: urllib.error.HTTPError, deadline: float) -> str:
        """The beginning of what it says, in one line, without the key."""
        try:
            text = self._read(error, deadline).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, ProviderError):
            return "no reason given"
        if self._key:
            text = text.replace(self._key, "(key)")
        return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_SHOWN_CHARS]).split())


def _left(deadline: float) -> float:
    """Seconds that one step of a connection may take: 0 would mean without waiting."""
    return min(max(deadline - time.monotonic(), 0.05), MAX_WAIT_S)


def _wait_s(said: str | None) -> float:
    """Retry-After in seconds; its other form, a date, counts as not said."""
    return float(said) if said and said.isascii() and said.isdigit() else 0.0
