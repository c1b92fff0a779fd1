"""Who may ask: one browser on this machine, which came by the link. Everything else is refused before a page is made.

Cookies know no ports: a browser sends those of one server on this machine to every other one. So all pages stand below
a folder of a random name, and the cookie is for that folder only.
"""

from __future__ import annotations

import hmac
import secrets
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from starlette.responses import PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ADDRESS, COOKIE, ENTRY = "127.0.0.1", "howcome", "/enter"
MAX_FORM_BYTES = 64 << 10
USE_LINK = "Open the link that `howcome view` prints, in a new tab."
_OWN_SITE = (b"same-origin", b"none")
_POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'nonce-{}'; img-src data:; form-action 'self'; base-uri 'none';"
    " frame-ancestors 'none'"
)
HEADERS = {
    "Cache-Control": "no-store", "Referrer-Policy": "same-origin", "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY", "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin", "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}  # fmt: skip
"""Of every answer. With `no-referrer` a browser would send the origin `null` with a form."""


class Keys:
    """The secrets of one viewer: they end with it."""

    def __init__(self, port: int) -> None:
        self.root = f"/{secrets.token_urlsafe(9)}"
        self.token, self.cookie, self.form = (secrets.token_urlsafe(32) for _ in range(3))
        self.host = f"{ADDRESS}:{port}"

    @property
    def link(self) -> str:
        """Whoever opens it may look."""
        return f"http://{self.host}{self.root}{ENTRY}?token={self.token}"


def same(given: str, known: str) -> bool:
    """Whether somebody knows a secret; how long this takes says nothing about it."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), known.encode())


class Guard:
    """Stands before the pages; `looked` is called with each request that is let through."""

    def __init__(self, pages: ASGIApp, keys: Keys, looked: Callable[[], None]) -> None:
        self._pages, self._keys, self._looked = pages, keys, looked

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers a request, or lets it through."""
        if scope["type"] != "http":
            return
        scope["nonce"] = secrets.token_urlsafe(16)
        extra = {**HEADERS, "Content-Security-Policy": _POLICY.format(scope["nonce"])}

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = [(name.lower().encode(), value.encode()) for name, value in extra.items()]
                message["headers"] = [*message.get("headers", ()), *own]
            await send(message)

        await (self._refusal(scope) or self._pages)(scope, receive, answer)

    def _refusal(self, scope: Scope) -> Response | None:
        keys, headers = self._keys, scope["headers"]
        given = {name: [value for key, value in headers if key == name] for name in (b"host", b"origin")}
        if given[b"host"] != [keys.host.encode()]:
            return PlainTextResponse("wrong host", 421)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("wrong method", 405)
        is_form = scope["method"] == "POST"
        if given[b"origin"] != [f"http://{keys.host}".encode()] and (is_form or given[b"origin"]):
            return PlainTextResponse("wrong origin", 403)
        path = scope["path"]
        if path == keys.root + ENTRY and not is_form:
            return self._enter(scope)
        if any(key == b"sec-fetch-site" and value not in _OWN_SITE for key, value in headers):
            return PlainTextResponse(USE_LINK, 403)
        if not path.startswith(f"{keys.root}/") or not self._has_cookie(scope):
            return PlainTextResponse(USE_LINK, 403)
        self._looked()
        return None

    def _enter(self, scope: Scope) -> Response:
        """Takes the token of the link for a cookie."""
        [token, *_] = parse_qs(scope["query_string"].decode("latin-1")).get("token") or [""]
        if not same(token, self._keys.token):
            return PlainTextResponse(USE_LINK, 403)
        self._looked()
        root = f"{self._keys.root}/"
        response = RedirectResponse(root, 303)
        response.set_cookie(COOKIE, self._keys.cookie, path=root, httponly=True, samesite="strict")
        return response

    def _has_cookie(self, scope: Scope) -> bool:
        for name, value in scope["headers"]:
            try:
                found = SimpleCookie(value.decode("latin-1")) if name == b"cookie" else {}
            except CookieError:
                continue
            if COOKIE in found and same(found[COOKIE].value, self._keys.cookie):
                return True
        return False
