"""JSON to and from one address: http(s) only, no redirects, limits in time and size, the key never shown."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from howcome.errors import ProviderError

MAX_ANSWER_BYTES = 32 << 20
CLOSE_S = 0.05
MAX_SHOWN_CHARS, CHUNK_BYTES, MAX_LENGTH_DIGITS = 200, 1 << 16, 19
CONNECT_LIMIT_S = 10.0
"""Who is there takes a connection at once; the answer may take all the time that there is."""

_CONTEXT = re.compile(r"context (?:size|length|window)|prompt is too long", re.IGNORECASE)
"""How endpoints say that a question is longer than the model can read (llama.cpp; OpenAI, vLLM; Anthropic)."""

LOOPBACK = ("localhost", "127.0.0.1", "::1")


class RefusedError(ProviderError):
    """The endpoint will not answer this, now or later; `status` is the one of HTTP (0: it is not about that)."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class TooLongError(RefusedError):
    """The question is longer than the model's context: in another form it would be, too."""


class TryLaterError(ProviderError):
    """The endpoint does not answer now; `wait_s` is how long it asks to be left alone (0: it does not say).

    `is_absent`: nobody listens there, or there is no such host.
    """

    def __init__(self, message: str, wait_s: float = 0.0, *, is_absent: bool = False) -> None:
        super().__init__(message)
        self.wait_s, self.is_absent = wait_s, is_absent


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """What is sent is private: it goes to no address that the settings do not name."""

    def redirect_request(self, *_: object) -> None:
        """None: the redirect is raised as an error."""


class _Response(http.client.HTTPResponse):
    """Knows its socket, so that each wait can be bounded by what is left of the time."""

    def __init__(self, sock: socket.socket, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - as the base
        super().__init__(sock, *arguments, **named)
        self.socket = sock


class _Connection(http.client.HTTPConnection):
    """Waits less for a connection than for an answer."""

    response_class = _Response

    def connect(self) -> None:
        """Connects within CONNECT_LIMIT_S."""
        whole_s = self.timeout or CONNECT_LIMIT_S
        self.timeout = min(whole_s, CONNECT_LIMIT_S)
        super().connect()
        self.timeout = whole_s
        self.sock.settimeout(whole_s)


class _SecureConnection(_Connection, http.client.HTTPSConnection):
    """The same, encrypted."""


class _Handler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_Connection, req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_SecureConnection, req)


class Endpoint:
    """An address that JSON is posted to.

    Args:
        url: http or https, without a user's name in it.
        key: Sent as a bearer token when not empty, unless `headers` say how; shown nowhere.
        setting: What the settings begin with that name the endpoint, for messages: `<setting>_url` and so on.
        headers: What is sent with each question instead.
    """

    def __init__(
        self, url: str, key: str = "", *, setting: str = "embedding", headers: Mapping[str, str] | None = None
    ) -> None:
        self._setting, self._key_setting = setting, f"{setting}_key_env"
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise ProviderError(f"{setting}_url is no address: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise ProviderError(f"{setting}_url has to begin with http:// or https:// and name a host, unlike {url!r}")
        if parts.username is not None or parts.query or not url.isascii() or not url.isprintable() or " " in url:
            where = f"the variable of {self._key_setting}"
            raise ProviderError(f"{setting}_url is a plain address; a key belongs in {where}")
        if not key.isascii() or not key.isprintable():
            raise ProviderError(f"what is in the variable of {self._key_setting} is not one line of plain characters")
        self.shown = f"{parts.scheme}://{host}{f':{port}' if port else ''}{parts.path}"
        self._url, self._key = url, key
        bearer = {"Authorization": f"Bearer {key}"} if key else {}
        self._headers = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "howcome"}
        self._headers |= bearer if headers is None else headers
        proxies = urllib.request.ProxyHandler({} if host in LOOPBACK else None)
        self._opener = urllib.request.build_opener(_NoRedirect, _Handler, proxies)

    def ask(self, value: Mapping[str, object] | None, deadline: float, query: str = "") -> bytes:
        """The whole answer to a value that is posted, or (None) to a query (`a=b&c=d`, or nothing).

        Raises:
            RefusedError: it says no, redirects, or says more than 32 MB.
            TryLaterError: it is busy, fails, cannot be reached, or does not answer in time: the message says which.
        """
        started, url = time.monotonic(), f"{self._url}?{query}" if query else self._url
        data = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(url, data, self._headers)  # noqa: S310 - http(s) by the constructor
        try:
            with self._opener.open(request, timeout=seconds_left(deadline)) as answer:
                return self._read(answer, deadline)
        except urllib.error.HTTPError as error:
            with error:
                raise self._failure(error, deadline) from error
        except (OSError, http.client.HTTPException) as error:  # no connection, no answer in time, no HTTP
            reason = getattr(error, "reason", error)
            is_absent = isinstance(reason, (ConnectionRefusedError, socket.gaierror))
            if isinstance(reason, TimeoutError) and time.monotonic() >= deadline - CLOSE_S:
                reason = f"it was given {deadline - started:.0f} s"
            said = f"{self.shown} does not answer ({reason or type(error).__name__})"
            raise TryLaterError(said, is_absent=is_absent) from error

    def _read(self, answer: http.client.HTTPResponse | urllib.error.HTTPError, deadline: float) -> bytes:
        parts, size_bytes = [], 0
        response = answer.fp if isinstance(answer, urllib.error.HTTPError) else answer
        while part := answer.read1(CHUNK_BYTES):
            if isinstance(response, _Response):
                response.socket.settimeout(seconds_left(deadline))
            parts.append(part)
            size_bytes += len(part)
            if size_bytes > MAX_ANSWER_BYTES:
                what = f"{self.shown} answers more than {MAX_ANSWER_BYTES >> 20} MB"
                raise RefusedError(f"{what}; check {self._setting}_url")
            if time.monotonic() > deadline:
                raise TimeoutError("the answer takes too long")
        said = "" if answer.headers.get("Transfer-Encoding") else answer.headers.get("Content-Length", "").strip()
        is_number = said.isascii() and said.isdigit() and len(said) < MAX_LENGTH_DIGITS
        if is_number and size_bytes < int(said):  # `read1` takes an early end for the end; chunks tell theirs
            raise ConnectionResetError("the connection ended in mid-answer")
        return b"".join(parts)

    def _failure(self, error: urllib.error.HTTPError, deadline: float) -> ProviderError:
        """What a status of 300 and more means."""
        status, headers, shown, setting = error.code, error.headers, self.shown, self._setting
        said = "" if status < 400 else self._said(error, deadline)
        if 300 <= status < 400:
            target = headers.get("Location", "?")[:MAX_SHOWN_CHARS]
            return RefusedError(f"{shown} redirects to {target!r}; if that is right, set {setting}_url to it", status)
        if status in (408, 425, 429) or status >= 500:
            reason = f": {said}" if said and not said.startswith(("<", "{")) else ""  # no page, and nothing in JSON
            wait = headers.get("Retry-After", "")  # its other form, a date, counts as not said
            wait_s = float(wait) if wait.isascii() and wait.isdigit() else 0.0
            return TryLaterError(f"{shown} fails with {status}{reason}", wait_s)
        if status in (400, 413) and _CONTEXT.search(said):
            return TooLongError(f"{shown} refuses with {status}: {said}; the model needs a larger context", status)
        is_key = status in (401, 403)
        step = f"check the key ({self._key_setting})" if is_key else f"check {setting}_url and what belongs to it"
        return RefusedError(f"{shown} refuses with {status}: {said}; {step}", status)

    def _said(self, error: urllib.error.HTTPError, deadline: float) -> str:
        """The beginning of what it says, in one line, without the key."""
        try:
            text = self._read(error, deadline).decode("utf-8", "replace")
        except (OSError, http.client.HTTPException, ProviderError):
            return "no reason given"
        if self._key:
            text = text.replace(self._key, "(key)")
        return in_one_line(_reason_in(text))


def _reason_in(text: str) -> str:
    """The sentence in an error's JSON (OpenAI's form and its kin), or all of it where there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message"):
        found = found.get(name, found) if isinstance(found, dict) else found
    return found if isinstance(found, str) and found.strip() else text


def secret_in(variable: str, setting: str) -> str:
    """What a variable holds; '' when none is named.

    Raises:
        ProviderError: it is named, and holds nothing.
    """
    found = os.environ.get(variable, "").strip()
    if variable and not found:
        raise ProviderError(f"the variable {variable}, which {setting} names, is not set here: export it")
    return found


def completed(url: str, problem: str, tail: str, *others: str) -> str:
    """The whole address of an endpoint: as it is where it ends in one of these, with the tail where it ends in `/v1`.

    Raises:
        ProviderError: it is neither; the message is the problem.
    """
    plain = url.strip().rstrip("/")
    if plain.endswith((tail, *others)):
        return plain
    if plain.endswith("/v1"):
        return plain + tail
    raise ProviderError(problem)


def in_one_line(text: str) -> str:
    """The beginning of what somebody else says, in one line of plain characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text[:MAX_SHOWN_CHARS]).split())


def seconds_left(deadline: float) -> float:
    """Seconds that one step of a connection may take: 0 would mean without waiting."""
    return max(deadline - time.monotonic(), CLOSE_S)
