"""The viewer in a real browser: keys, both themes, narrow screens, and what another page on this machine can do."""

from __future__ import annotations

import html
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests import chromium
from tests.chromium import ENTER, ESCAPE, Chromium
from tests.integration.test_viewer_process import COMMAND, started
from tests.viewing import fill, memories

from howcome.web.pages import PAGES

LIMIT_S = 60  # a browser of a busy machine takes its time; only a failure waits so long


@pytest.fixture(scope="module")
def window() -> Iterator[Chromium]:
    """One window for all tests."""
    with chromium.started() as found:
        yield found


@pytest.fixture
def root(window: Chromium, store_folder: Path) -> Iterator[str]:
    """The window came to the viewer by its link; the address of the first page."""
    fill(store_folder)
    with started([*COMMAND, "view", "--json"]) as (_, link):
        window.look("light", 1280)
        window.open(link)
        yield window.address
        window.open("about:blank")


def until(is_so: Callable[[], object]) -> bool:
    """Whether something is so, soon: a key's page takes its time."""
    ends = time.monotonic() + LIMIT_S
    while not is_so() and time.monotonic() < ends:
        time.sleep(0.02)
    return bool(is_so())


def test_every_page_fits_and_nothing_is_refused(window: Chromium, root: str) -> None:
    """In both themes, wide and narrow: no part is wider than the screen, the policy lets everything of ours through."""
    window.complaints()
    for theme, width in (("light", 1280), ("dark", 400), ("dark", 320)):
        window.look(theme, width)
        for name in [*(one for one, page in PAGES.items() if page.title), "session?id=1", "search?q=TidePoller"]:
            window.open(root + name)
            wide = "return [document.documentElement.scrollWidth, innerWidth]"
            assert max(window.run(wide)) == width, (name, width)
            ground = window.run("return getComputedStyle(document.body).backgroundColor")
            assert (sum(map(int, ground[4:-1].split(","))) < 3 * 128) == (theme == "dark")
    assert window.complaints() == []


def test_axe_finds_no_fault(window: Chromium, root: str) -> None:
    """On every page, in both themes, wide and narrow; it does find one that is put there."""
    axe = (Path(str(find_spec("axe_core_python").origin)).parent / "axe.min.js").read_text("utf-8")  # type: ignore[union-attr]
    run = "axe.run({resultTypes: ['violations']})"
    ask = f"const done = arguments[0]; {run}.then((all) => done(all.violations.map((one) => one.id)))"
    for theme, width in (("light", 1280), ("dark", 400)):
        window.look(theme, width)
        for name in [*(one for one, page in PAGES.items() if page.title), "session?id=1", "search?q=TidePoller&why=1"]:
            window.open(root + name)
            window.run(axe)
            assert window.wait(ask) == [], (theme, width, name)
    window.run("document.querySelector('main').append(new Image())")
    assert window.wait(ask) == ["image-alt"]


def test_keys_walk_open_search_and_go(window: Chromium, root: str) -> None:
    """Without a mouse; in a field they are letters."""
    window.open(root + "sessions")
    focus = "return [...document.querySelectorAll('main .item')].indexOf(document.activeElement)"
    seen = []
    for key in ("j", "j", "k"):
        window.press(key)
        seen.append(window.run(focus))
    assert seen == [0, 1, 0]
    window.press(ENTER)
    assert until(lambda: "/session?id=" in window.address)
    window.press("/", *"TidePoller?gm")
    assert window.run("return document.getElementById('q').value") == "TidePoller?gm"
    window.press(ESCAPE, "g", "m")
    assert until(lambda: window.address.endswith("/memories"))
    window.press("?")
    assert window.run("return document.getElementById('keys').open")
    window.press("/", *"TidePoller", ENTER)
    assert until(lambda: "/search?q=TidePoller" in window.address)
    assert window.run("return document.querySelectorAll('mark').length") > 0


def test_a_change_is_taken_back_by_a_key(window: Chromium, root: str) -> None:
    """The button forgets, `u` takes it back; the page stays where it was, and what was done is seen there."""

    def live() -> list[object]:
        return [one["text"] for one in memories() if one["state"] == "live"]

    def news() -> str:
        return str(window.run("return document.querySelector('.news')?.innerText"))

    before = live()
    window.look("light", 1280, 400)
    window.open(root + "review")
    button = "[...document.querySelectorAll(\"form[action$='/wrong'] button\")].at(-1)"
    window.run(f"{button}.scrollIntoView(); {button}.click()")
    assert until(lambda: "not learnt again" in news())
    assert len(live()) == len(before) - 1
    place = "const at = document.querySelector('.news').getBoundingClientRect(); return [scrollY, at.top, at.bottom]"
    scrolled, top, bottom = window.run(place)
    assert scrolled > 0 <= top < bottom < 400
    window.press("u")
    assert until(lambda: "Undone" in news())
    assert live() == before


def test_another_project_is_chosen(window: Chromium, root: str) -> None:
    """The same page, narrowed."""
    window.open(root + "memories?type=decision")
    window.run(
        "const s = document.querySelector('[data-keep]'); s.selectedIndex = 1; s.dispatchEvent(new Event('change'))"
    )
    assert until(lambda: "project=1" in window.address)
    assert "type=decision" in window.address


class _Other(BaseHTTPRequestHandler):
    """Another server on this machine: gives one page, and notes the cookies that it is sent."""

    def __init__(self, page: str, cookies: list[str], *rest: object) -> None:
        self._said, self._cookies = page.encode(), cookies
        super().__init__(*rest)  # type: ignore[arg-type]

    def do_GET(self) -> None:
        """The page."""
        self._cookies.append(self.headers.get("Cookie", ""))
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(self._said)

    def log_message(self, *_: object) -> None:
        """Nothing is said."""


def test_another_page_of_this_machine_gets_nothing(window: Chromium, root: str) -> None:
    """It is sent no cookie, reads nothing, frames nothing, and its forms change nothing."""
    before = memories()
    ident = before[0]["id"]
    page = f"""<form method=post action="{html.escape(root)}do/forget"><input name=id value={ident}></form>
        <iframe src="{html.escape(root)}"></iframe><img src="{html.escape(root)}style.css">"""
    cookies: list[str] = []
    # a thread each: the browser opens connections ahead, and says nothing on them for a minute
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Other, page, cookies)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        window.open(f"http://127.0.0.1:{server.server_port}/", has_style=False)
        read = "const done = arguments[0]; return fetch(done, {credentials: 'include'}).then(() => 1, () => 0)"
        assert window.run(read, root) == 0
        window.run("document.forms[0].submit()")
        assert until(lambda: window.address.endswith("/do/forget"))
        assert window.run("return document.body.innerText") == "wrong origin"
        server.shutdown()
    assert cookies
    assert "howcome" not in "".join(cookies)
    assert memories() == before
    window.complaints()
