"""What the viewer shows and changes, each page and each change, through the pages themselves."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.builders import Shell, write
from tests.processes import run
from tests.viewing import CWD, DECIDED, KEPT, OUTSIDE, QUESTION, Browser, fill, memories

from howcome.app import open_app
from howcome.settings import read_settings
from howcome.web.pages import PAGES
from howcome.web.viewer import labels_of

FIRST = [name for name, page in PAGES.items() if page.title]


@pytest.fixture
def browser(store_folder: Path) -> Iterator[Browser]:
    """A browser that looks at a store with something on each page."""
    fill(store_folder)
    found = Browser()
    yield found
    found.viewer.close()


@pytest.fixture
def nothing(store_folder: Path) -> Iterator[Browser]:
    """A browser that looks at an empty store."""
    open_app(read_settings({"HOWCOME_HOME": str(store_folder)})).close()
    found = Browser()
    yield found
    found.viewer.close()


def id_of(text: str) -> str:
    """The id of a memory."""
    return next(str(one["id"]) for one in memories() if one["text"] == text)


def pair(reason: str) -> str:
    """The number of a pair that waits for review."""
    waiting = json.loads(run("memories", "--review", "--all-projects", "--json").stdout)["reviews"]
    return next(str(one["number"]) for one in waiting if one["reason"] == reason)


SHOWN = {
    "today": ["What did we decide", "used", "to review", DECIDED.split(",", maxsplit=1)[0]],
    "sessions": ["why does berth0 fail?", "quay", "claude-code"],
    "search?q=TidePoller": ["retry a", "TidePoller", "How sure", "fulltext"],
    "search?q=TidePoller&why=1": ["“TidePoller”", "here, weight"],
    "search?q=xyzzyplugh": ["Nothing found"],
    "search?q=what+did+we+do+in+2026": ["The sessions of 2026-01-01 to 2026-12-31.", "why does berth0 fail?"],
    "memories": ["Decision", *KEPT, OUTSIDE, "from outside"],
    "memories?by=topic": ["poller retries", *KEPT],
    "review": ["They name different numbers.", *KEPT, OUTSIDE, "Accept", "Refuse", "Wrong, never again", "Both hold"],
    "injections": [QUESTION, "prompts", "said: a memory with enough of the prompt's words", "1 used"],
    "injections?all=1": [QUESTION, "Only those that were told something"],
    "stats": ["reads for each edit", "Failed calls:", "Figures"],
    "patterns": ["Read: File does not exist there.", "2 times in 2 sessions", "find it with `Glob` first"],
    "commands": ["git comit", "then worked: git commit", "failed 2 times in 2 sessions"],
    "spending": ["calls today", "None is set"],
    "health": ["events", "howcome init", "no agent is connected"],
    "session?id=1": ["let's talk about", "git comit", "failed", "poll.py", "-a", "+b", DECIDED],
}  # fmt: skip


def test_each_page_shows_what_it_is_for(browser: Browser) -> None:
    """And no page of the menu is missing here."""
    assert set(FIRST) <= {name.partition("?")[0] for name in SHOWN}
    for name, words in SHOWN.items():
        text = browser.shows(name)
        assert [word for word in words if word not in text] == [], name


def test_weeks_without_anything_are_a_gap_and_no_row(browser: Browser) -> None:
    """The plot begins and ends with weeks in which something was done."""
    counts = re.findall(r"<title>\d{4}-W\d\d: (\d+)</title>", browser.page("stats"))
    assert counts
    assert "0" not in counts


def test_a_command_that_failed_once_and_has_no_fix_is_no_row(browser: Browser) -> None:
    """Nobody can learn from it."""
    assert "ls berths" not in browser.shows("commands")


def test_a_session_shows_what_it_was_told(browser: Browser) -> None:
    """Lines and tokens, with what was considered."""
    page = browser.page("injections")
    [address] = set(re.findall(r'href="[^"]*/(session\?at=[^"#]*)[^"]*">session ', page))
    text = browser.shows(address)
    assert re.search(r"What howcome told it: \d lines?, \d+ tokens", text)
    assert "said: a memory with enough of the prompt's words" in text
    name = re.findall(r"Session (\S+)", text)[0]
    assert "What howcome told it" in browser.shows(f"session?name={name}")


def test_every_link_leads_to_a_page(browser: Browser) -> None:
    """From the first page on, each address once."""
    todo, done = {f"{browser.keys.root}/"}, set()
    while todo:
        done.add(address := todo.pop())
        answer = browser.client.get(address)
        assert answer.status_code == 200, address
        found = re.findall(r'(?:href|src)="(/[^"#]*)', answer.text)
        todo |= {html.unescape(one) for one in found} - done
    assert len(done) > 40


def test_a_memory_has_its_chain_its_evidence_and_the_words(browser: Browser) -> None:
    """Also those of what took its place."""
    learnt = next(one for one in memories() if one["evidence"])
    text = browser.shows(f"memory?id={learnt['id']}")
    assert "Evidence" in text
    assert str(learnt["evidence"][0]) in text  # type: ignore[index]
    assert "When sessions said it" in text
    browser.do("correct", id=id_of(KEPT[0]), text="The poller retries a request 7 times, then gives up on a buoy.")
    text = browser.shows(f"memory?id={id_of(KEPT[0])}")
    assert "Chain" in text
    assert "7 times" in text


@pytest.mark.parametrize("name", FIRST)
def test_where_there_is_nothing_a_page_says_what_to_do(name: str, nothing: Browser) -> None:
    """A command or a next step; the page is there."""
    assert any(said in nothing.page(name) for said in ('class="empty"', '<pre tabindex="0">howcome '))


CHANGES: dict[str, Callable[[Browser], str]] = {
    "forget": lambda browser: browser.do("forget", id=id_of(KEPT[0])),
    "wrong": lambda browser: browser.do("wrong", id=id_of(KEPT[0])),
    "pin": lambda browser: browser.do("pin", id=id_of(KEPT[0])),
    "correct": lambda browser: browser.do("correct", id=id_of(KEPT[0]), text="A poller retries 9 times, no more."),
    "keep the older": lambda browser: browser.do("settle", number=pair("number"), keep="older"),
    "keep the newer": lambda browser: browser.do("settle", number=pair("number"), keep="newer"),
    "keep both": lambda browser: browser.do("settle", number=pair("number"), keep="both"),
    "accept": lambda browser: browser.do("settle", number=pair("imported"), keep="newer"),
    "refuse": lambda browser: browser.do("settle", number=pair("imported"), keep="older"),
}  # fmt: skip


def state() -> dict[str, object]:
    """What people see of memories and pairs; of none that only a change has added and its undoing has taken away."""
    hidden = ("access_count",)
    kept = [{name: one[name] for name in one if name not in hidden} for one in memories()]
    reviews = json.loads(run("memories", "--review", "--all-projects", "--json").stdout)["reviews"]
    return {"memories": [one for one in kept if "9 times" not in str(one["text"])], "pairs": [
        (one["number"], one["older"]["id"], one["newer"]["id"]) for one in reviews
    ]}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_made_said_and_taken_back(change: Callable[[Browser], str], browser: Browser) -> None:
    """After the undoing all is as before; a second one is refused."""
    before = state()
    page = change(browser)
    assert state() != before
    [(number,)] = [found for found in re.findall(r'name="change" value="(\d+)"', page) for found in [(found,)]]
    assert "Undone: “" in browser.do("undo", change=number)
    assert state() == before
    assert "taken back already" in browser.do("undo", 400, change=number)


def test_what_was_forgotten_comes_back(browser: Browser) -> None:
    """By its own button; that is a change, too."""
    browser.do("forget", id=id_of(KEPT[0]))
    assert "Bring back" in browser.shows(f"memory?id={id_of(KEPT[0])}")
    assert "is live again" in browser.do("restore", id=id_of(KEPT[0]))
    assert "has changed" in browser.do("restore", 400, id=id_of(KEPT[0]))


def test_a_correction_is_taken_back_on_its_page(browser: Browser) -> None:
    """Also later: what stands in its place is forgotten. The same words change nothing."""
    old = id_of(KEPT[0])
    assert "the words are the same" in browser.do("correct", 400, id=old, text=f" {KEPT[0]} ")
    page = browser.do("correct", id=old, text=f"{KEPT[0]} This is new.")
    [new] = [str(one["id"]) for one in memories() if "This is new." in str(one["text"])]
    assert f'id={new}">{new}</a> takes the place of' in page
    assert f"<small>{new}</small>" in page
    assert "Bring back the words before" in page
    assert "Bring back, and forget what took its place" in browser.shows(f"memory?id={old}")
    assert f"{old}</a> is live again." in browser.do("restore", id=old)
    states = {one["id"]: one["state"] for one in memories()}
    assert (states[old], states.get(new, "forgotten")) == ("live", "forgotten")
    browser.do("undo", change=1)
    assert {one["id"]: one["state"] for one in memories()}[new] == "live"


def test_a_correction_that_is_undone_leads_to_the_words_before(browser: Browser) -> None:
    """Not to those that were taken back."""
    old = id_of(KEPT[0])
    browser.do("correct", id=old, text=f"{KEPT[0]} This is new.")
    page = browser.do("undo", change=0)
    assert f"{old}</a> stands again." in page
    assert f"<small>{old}</small>" in page


def test_an_address_without_a_page_says_so(browser: Browser) -> None:
    """With the menu, and a way back."""
    answer = browser.client.get(f"{browser.keys.root}/nonsense")
    page = answer.text
    assert answer.status_code == 404
    assert "<h1>Not found</h1>" in page
    assert "Back to today" in page


def test_a_chain_is_as_it_was_before(browser: Browser) -> None:
    """What gave back a place takes it again; the last change has to be taken back first."""
    for text in (
        "Celery over RQ for the poller, since it retries.",
        "RQ over Celery for the poller, since it is small.",
    ):
        assert run("remember", "--project", CWD, "--type", "decision", text).returncode == 0
    newer, older = (str(one["id"]) for one in memories() if "Celery" in str(one["text"]))
    before = state()
    browser.do("forget", id=newer)
    browser.do("restore", id=older)
    assert {one["id"]: one["state"] for one in memories()}[older] == "live"
    assert "somebody has changed it since" in browser.do("undo", 400, change=0)
    browser.do("undo", change=1)
    browser.do("undo", change=0)
    assert state() == before


def test_what_somebody_changed_since_is_not_taken_back(browser: Browser) -> None:
    """The undoing would undo that, too."""
    browser.do("forget", id=id_of(KEPT[0]))
    assert run("restore", id_of(KEPT[0])).returncode == 0
    assert "somebody has changed it since" in browser.do("undo", 400, change="0")
    assert next(one for one in memories() if one["text"] == KEPT[0])["state"] == "live"


def test_spending_is_stopped_and_allowed_again(browser: Browser) -> None:
    """And taken back."""
    browser.do("stop")
    assert "Stopped since" in browser.shows("spending")
    browser.do("undo", change="0")
    assert "Stopped since" not in browser.shows("spending")


def test_words_of_others_are_only_shown(browser: Browser) -> None:
    """Scripts, markup, templates and terminal codes of a transcript are text, on every page that has them."""
    for name in ("session?id=1", "search?q=alert+turned", "today", "injections"):
        page = browser.page(name)
        assert "<script>alert" not in page
        assert "onclick=x>" not in page.replace("&gt;", "")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e]", page)
        assert len(re.findall("<script", page)) == 1
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in browser.page("session?id=1")
    assert "{{ 7*7 }}" in browser.page("session?id=1")


@pytest.mark.parametrize(
    "back", ["//elsewhere.example/", "https://elsewhere.example/", "/\\elsewhere", "", "/x\r\ny: z"]
)
def test_a_change_leads_to_a_page_of_ours(back: str, browser: Browser) -> None:
    """Whatever the form says."""
    form = {"form": browser.keys.form, "back": back, "id": id_of(KEPT[0])}
    answer = browser.client.post(f"{browser.keys.root}/do/pin", data=form, headers={"Origin": browser.origin})
    assert answer.headers["location"] == f"{browser.keys.root}/"


def test_a_form_of_another_page_changes_nothing(browser: Browser) -> None:
    """The secret of this viewer's forms is missing, wrong, or the form is far too large."""
    before = state()
    for secret in ("", "x", browser.keys.token, browser.keys.cookie):
        assert "another viewer" in browser.do("forget", 400, form=secret, id=id_of(KEPT[0]))
    assert "too large" in browser.do("correct", 400, id=id_of(KEPT[0]), text="x" * 100_000)
    assert state() == before


@pytest.mark.parametrize(
    ("name", "fields", "status"),
    [("forget", {"id": "mem-0000"}, 404), ("forget", {}, 404), ("settle", {"number": "77", "keep": "older"}, 400),
     ("correct", {"text": "ok"}, 400), ("undo", {"change": "9"}, 400), ("undo", {"change": "-1"}, 400),
     ("purge", {}, 404)],
)  # fmt: skip
def test_what_cannot_be_done_is_said(name: str, fields: dict[str, str], status: int, browser: Browser) -> None:
    """With a page that leads back."""
    assert "Back to today" in browser.do(
        name, status, **({"id": id_of(KEPT[0])} if name == "correct" else {}), **fields
    )


@pytest.mark.usefixtures("browser")
def test_it_begins_with_the_project_of_its_folder(tmp_path: Path) -> None:
    """And goes on with the one that was chosen last."""
    elsewhere = Shell("elsewhere", cwd="/home/mara/pier")
    write(tmp_path / "two.jsonl", *elsewhere.exchange("pier"))
    assert run("import", str(tmp_path)).returncode == 0
    for folder, chosen in ((CWD, "1"), ("/", "")):
        here = Browser(folder)
        here.viewer.prepare()
        here.client.head(f"{here.keys.root}/sessions?project=2")
        here.page("memory?id=mem-0000&project=2", 404)
        for name, now in (("today", chosen), ("sessions?project=2", "2"), ("memories", "2"), ("review?project=", "")):
            selected = re.findall(r'<option value="(\d*)"[^>]* selected', here.page(name))
            assert selected == [now] * bool(now), name
        here.viewer.close()


def test_projects_of_one_name_are_told_apart() -> None:
    """By as many of their last folders as it takes."""
    roots = ["/srv/quay", "/srv/cli", "/opt/harbour/cli", "/opt/cli"]
    assert list(labels_of(roots).values()) == ["quay", "srv/cli", "harbour/cli", "opt/cli"]
