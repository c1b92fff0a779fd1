"""Who may look: one browser on this machine that came by the link; everybody else is refused before a page is made."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.hostile.scale import of
from tests.viewing import PORT, Browser, fill

from howcome.web.changes import CHANGES
from howcome.web.pages import PAGES

HOSTS = {
    f"127.0.0.1:{PORT}": True, f"localhost:{PORT}": False, "127.0.0.1": False, "127.0.0.1:80": False,
    "rebound.example": False, f"127.0.0.1:{PORT}.rebound.example": False, f"[::1]:{PORT}": False, "": False,
}  # fmt: skip
ORIGINS = {
    None: "GET", f"http://127.0.0.1:{PORT}": "both", f"https://127.0.0.1:{PORT}": "", f"http://localhost:{PORT}": "",
    "http://127.0.0.1:3000": "", "null": "", "https://rebound.example": "", "": "",
}  # fmt: skip
FUZZED = of(400, 10_000)
SEED = 17


@pytest.fixture
def browser(store_folder: Path) -> Iterator[Browser]:
    """A browser that looks at a store with something on each page."""
    fill(store_folder)
    found = Browser()
    yield found
    found.viewer.close()


def test_only_this_host_this_origin_and_this_cookie(browser: Browser) -> None:
    """Every combination, read and written; what is refused says nothing of what is stored."""
    keys, root = browser.keys, browser.keys.root
    cookies = {browser.client.cookies["howcome"]: True, keys.token: False, "": False, None: False}
    tried = itertools.product(("GET", "POST"), HOSTS, ORIGINS, cookies)
    for method, host, origin, cookie in tried:
        headers = {"Host": host} | ({} if origin is None else {"Origin": origin})
        headers |= {} if cookie is None else {"Cookie": f"howcome={cookie}"}
        path = f"{root}/do/stop" if method == "POST" else f"{root}/spending"
        answer = browser.stranger.request(method, path, headers=headers, content=f"form={keys.form}")
        may = HOSTS[host] and ORIGINS[origin] in (method, "both") and cookies[cookie]
        assert (answer.status_code < 400) == may, (method, host, origin, cookie, answer.status_code)
        assert may or "today" not in answer.text


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_server_on_this_machine_is_refused(site: str, browser: Browser) -> None:
    """Browsers say where a request comes from; another port is the same site to a cookie."""
    answer = browser.client.get(f"{browser.keys.root}/today", headers={"Sec-Fetch-Site": site})
    assert answer.status_code == 403


def test_the_link_gives_a_cookie_for_these_pages_only(browser: Browser) -> None:
    """Another server on this machine is not sent it; scripts cannot read it."""
    answer = browser.stranger.get(browser.keys.link)
    said = answer.headers["set-cookie"]
    assert f"Path={browser.keys.root}/" in said
    assert "HttpOnly" in said
    assert "SameSite=strict" in said
    assert browser.keys.token not in said
    assert answer.headers["location"] == f"{browser.keys.root}/"
    for wrong in ("", "?token=", f"?token={browser.keys.token[:-1]}", f"?token={browser.keys.token}x", "?token=%ff"):
        assert browser.stranger.get(f"{browser.keys.root}/enter{wrong}").status_code == 403
    assert browser.stranger.get(f"/enter?token={browser.keys.token}").status_code == 403


def test_every_answer_says_how_it_may_be_used(browser: Browser) -> None:
    """Also a refusal, an asset and a page that is not there."""
    for client, path in ((browser.client, "/today"), (browser.client, "/keys.js"), (browser.client, "/nowhere"),
                         (browser.stranger, "/today")):  # fmt: skip
        headers = client.get(browser.keys.root + path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
    nonces = {browser.client.get(f"{browser.keys.root}/today").headers["content-security-policy"] for _ in range(3)}
    assert len(nonces) == 3


def test_no_request_breaks_it(browser: Browser) -> None:
    """Thousands of addresses, questions, methods, headers and forms that nobody would type."""
    source = random.Random(SEED)
    odd = ["", "%00", "%ff%fe", "%ED%A0%80", "../..", "%2e%2e/", "mem-", "ev-", "ev-0", "mem-zz", "9" * 30, "-1", "1e9",
           "\u00e9", "'\"", "<script>", "{{7*7}}", "%",
           "%zz", "a" * 3000, "None", "🐙", "OR 1=1", "\\", "*", "(", "1"]  # fmt: skip
    names = [*PAGES, *(f"do/{name}" for name in CHANGES), "do/undo", "do/x", "style.css", "keys.js", "enter", "", "x/y"]
    keys = ("q", "id", "at", "page", "project", "type", "all", "token")
    for number in range(FUZZED):
        method = source.choices(("GET", "POST", "HEAD", "PUT", "OPTIONS"), (10, 6, 1, 1, 1))[0]
        query = "&".join(f"{source.choice(keys)}={source.choice(odd)}" for _ in range(source.randrange(4)))
        fields = {name: source.choice(odd) for name in ("id", "number", "keep", "text", "change", "back")}
        fields |= {"form": browser.keys.form} if source.random() < 0.9 else {}
        path = f"{browser.keys.root}/{source.choice(names)}" + (source.choice(odd) if source.random() < 0.1 else "")
        headers = {"Origin": browser.origin} if source.random() < 0.95 else {"Origin": "x", "Cookie": "a=b; howcome"}
        answer = browser.client.request(
            method, f"{path}?{query}", headers=headers, data=fields if method == "POST" else None
        )  # fmt: skip
        assert answer.status_code < 500, (number, method, path, query, fields)
