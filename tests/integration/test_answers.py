"""Answers to questions that name a time, by words alone: those of it stand first, and no other one is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from tests.builders import Claude, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.stored import Scope
from howcome.present import answers as told
from howcome.present.answers import Answers, answers
from howcome.retrieve.question import Question
from howcome.settings import read_settings

LAST_YEAR = datetime.now(UTC).year - 1
LATE = datetime.now(UTC).replace(day=1, hour=12) - timedelta(days=1)
MONTH = (LATE if LATE.month not in (3, 5) else LATE.replace(day=1) - timedelta(days=1)).replace(day=1)
"""The last month, but none whose name is a word."""

NAME = f"{MONTH:%B}"
CMS = f"We take {NAME} CMS over WordPress, because the editors want Twig templates."
PARTS = "header footer sidebar gallery menu search login banner".split()
ORM = "We take Friday as the ORM, because it keeps queries typed."
API = "The Stripe API version is 2023-06-01, because later ones drop the charges list."
QUAY = "/home/mara/quay"


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Makes a store of sessions: when, what was asked and what was said, and in which folder."""
    apps: list[App] = []

    def make(*sessions: tuple[datetime, str, str, str], exclude: str = "") -> App:
        for number, (when, prompt, reply, cwd) in enumerate(sessions):
            claude = Claude(f"{number:08d}-0000-4000-8000-00000000aaaa", cwd=cwd)
            records = [
                record | {"timestamp": (when + timedelta(minutes=after)).isoformat(timespec="milliseconds")}
                for after, record in enumerate((claude.user(prompt), claude.text(reply)))
            ]
            write(tmp_path / "logs" / f"{claude.session}.jsonl", *records)
        home = {"HOWCOME_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "HOWCOME_EMBEDDING": "off"}
        app = open_app(read_settings(home))
        for found in named_transcripts([str(tmp_path / "logs")]):
            app.ingest.file(found)
        app.index.catch_up()
        app.store.index.release()
        apps.append(app)
        if not exclude:
            return app
        apps.append(open_app(read_settings(home | {"HOWCOME_EXCLUDE": exclude})))
        return apps[-1]

    yield make
    for app in reversed(apps):
        app.close()


def at(month: int, day: int, year: int = LAST_YEAR) -> datetime:
    """Noon of a day."""
    return datetime(year, month, day, 12, tzinfo=UTC)


def ask(app: App, text: str, limit: int = 10) -> Answers:
    """Of every project."""
    return answers(app, Question(text, Scope.everything(), limit=limit, with_near=True))


def days(found: Answers) -> list[str]:
    """Of its events."""
    return [datetime.fromtimestamp(one.event.ts_ms / 1000, UTC).date().isoformat() for one in found.found if one.event]


def test_a_name_that_is_a_time_is_found_beside_answers_of_that_time(opened: Callable[..., App]) -> None:
    """However many of that time there are: a third of the rows is for what is called so."""
    built = (
        (MONTH + timedelta(days=day), f"the cms {part} is broken", f"The cms {part} broke by its {part}.css.", QUAY)
        for day, part in enumerate(PARTS)
    )
    long_ago, before = MONTH - timedelta(days=70), MONTH - timedelta(days=40)
    app = opened(
        (long_ago, "which cms for the site?", CMS, QUAY), (before, "is the cms up?", "The cms is up.", QUAY), *built
    )
    for limit in (1, 3, 6, 20):
        found = ask(app, f"{NAME} CMS", limit)
        said = days(found)
        assert said[0][:7] == f"{MONTH:%Y-%m}", limit
        assert len({one.id for one in found.found}) == len(found.found) <= limit
        assert (f"{long_ago:%Y-%m-%d}" in said) == (limit > 1)
        first, _, last = found.notes[0].removeprefix("First: of ").partition(" to ")
        assert (first, last[:7]) == (f"{MONTH:%Y-%m-%d}", first[:7])


def test_what_is_called_as_a_time_answers_where_nothing_else_is_asked(opened: Callable[..., App]) -> None:
    """Not the sessions of that time, nor their absence."""
    app = opened((at(9, 2), "which orm shall we take?", ORM, QUAY), (at(7, 1), "which version?", API, QUAY))
    for text, said in (("why friday?", ORM), ("why did we use 2023-06-01?", API), ("2023-06-01", API)):
        found = ask(app, text)
        assert said in found.found[0].passage, text
        assert (found.sessions, found.is_told, found.notes) == ([], False, [])
    nothing = ask(app, "what did we do on 2019-03-01?")
    assert (nothing.found, nothing.notes) == ([], ["No session is of 2019-03-01."])


def test_near_answers_of_a_time_do_not_hide_sure_ones(opened: Callable[..., App]) -> None:
    """They are of no use where the question is answered elsewhere."""
    sure = "The tide gauge batch is limited to two thousand rows, because the driver times out above that."
    app = opened(
        (at(5, 4), "limit of the tide gauge batch rows?", sure, QUAY),
        (at(6, 3), "paint the lift, please", "The driver of the lift is painted, and the yard is swept.", QUAY),
        *((at(4, day), f"chore {day}", f"Chore {day} is done, the ropes are dry.", QUAY) for day in range(1, 20)),
    )
    asked = "tide batch limited driver above thousand times lift"
    within = Question(asked, Scope.everything(), with_near=True)
    within.since_ms = int(at(6, 1).timestamp() * 1000)
    assert [one.is_near for one in app.search.find(within)][:1] == [True]
    found = ask(app, f"{asked} on {LAST_YEAR}-06-03")
    assert days(found)[0] == f"{LAST_YEAR}-05-04"
    assert found.notes == [f"None of these is of {LAST_YEAR}-06-03."]


def test_sessions_of_a_time_leave_out_excluded_projects_and_say_that_there_are_more(
    opened: Callable[..., App], tmp_path: Path
) -> None:
    """As a search of everything does."""
    secret = str(tmp_path / "secret")
    app = opened(
        *((at(6, 3), f"dredge the basin, part {part}", "Done.", QUAY) for part in range(3)),
        (at(6, 3) + timedelta(hours=1), "open the vault", "Open.", secret),
        exclude=secret,
    )
    found = ask(app, f"what did we do on {LAST_YEAR}-06-03?")
    assert [one.project for one in found.sessions] == [QUAY] * 3
    assert found.notes == [f"The sessions of {LAST_YEAR}-06-03."]
    cut = ask(app, f"what did we do on {LAST_YEAR}-06-03?", 2)
    assert len(cut.sessions) == 2
    more = f"howcome timeline --since {LAST_YEAR}-06-03 --before {LAST_YEAR}-06-04 --all-projects"
    assert cut.notes == [f"The sessions of {LAST_YEAR}-06-03.", f"There are more: `{more}`."]


@pytest.mark.parametrize("zone", ["Asia/Tokyo", "Australia/Sydney", "Europe/Berlin", "America/Los_Angeles"])
def test_a_day_begins_by_the_clock_of_where_one_is(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also on the days on which clocks are changed."""
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        for month, day in ((3, 8), (3, 9), (3, 29), (4, 5), (4, 6), (10, 4), (10, 5), (10, 25), (11, 1), (11, 2)):
            shown = int(datetime(2026, month, day, tzinfo=UTC).timestamp() * 1000)
            meant = int(datetime(2026, month, day).astimezone().timestamp() * 1000)
            assert told._utc_ms(shown) == meant, (month, day)
    finally:
        monkeypatch.undo()
        time.tzset()
