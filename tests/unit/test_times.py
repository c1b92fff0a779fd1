"""Times as people write them: which span a sentence means, seen from a moment, and how near another moment is to it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.domain import times
from howcome.domain.times import DAY_MS, HOUR_MS, Span, ago_ms, date_of, day_of, iso_day, nearness, spans
from howcome.present.moments import moment_ms

NOW = 1_773_651_600_000
"""Monday, 2026-03-16, 09:00 UTC."""

MOMENTS = st.integers(min_value=0, max_value=4_102_444_800_000)
OPEN = "…"
WORDS = "last on since in before between and from to 3 2 March May Monday Friday week ago 2025-01-02 Q1 , the".split()


def told(text: str, now_ms: int = NOW) -> list[tuple[str, str]]:
    """The spans of a text as first day and the day after the last."""
    return [(iso_day(span.since_ms), iso_day(span.before_ms)) for span in spans(text, now_ms)]


@given(MOMENTS)
def test_the_calendar_is_the_calendar(ts_ms: int) -> None:
    """Dates are what `datetime` says they are, and back."""
    expected = datetime.fromtimestamp(ts_ms / 1000, UTC)
    assert date_of(ts_ms) == (expected.year, expected.month, expected.day)
    assert day_of(*date_of(ts_ms)) == ts_ms - ts_ms % DAY_MS


@pytest.mark.parametrize(
    ("year", "month", "day"), [(2026, 2, 29), (2026, 13, 1), (2026, 0, 1), (2025, 4, 31), (1969, 1, 1)]
)
def test_a_day_that_never_was_is_none(year: int, month: int, day: int) -> None:
    """The 30th of February is a slip, not the 2nd of March."""
    assert day_of(year, month, day) is None


@pytest.mark.parametrize(
    ("text", "since", "before"),
    [
        ("what did we decide yesterday?", "2026-03-15", "2026-03-16"),
        ("the day before yesterday", "2026-03-14", "2026-03-15"),
        ("what did I ask today", "2026-03-16", "2026-03-17"),
        ("last night's run", "2026-03-15", "2026-03-16"),
        ("last Thursday", "2026-03-12", "2026-03-13"),
        ("on Monday", "2026-03-16", "2026-03-17"),
        ("last Monday", "2026-03-09", "2026-03-10"),
        ("on tue", "2026-03-10", "2026-03-11"),
        ("Friday's outage", "2026-03-13", "2026-03-14"),
        ("last week", "2026-03-09", "2026-03-16"),
        ("this week", "2026-03-16", "2026-03-23"),
        ("the past week", "2026-03-09", "2026-03-16"),
        ("last weekend", "2026-03-14", "2026-03-16"),
        ("last month", "2026-02-01", "2026-03-01"),
        ("last quarter", "2025-10-01", "2026-01-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("the last 3 days", "2026-03-13", "2026-03-16"),
        ("3 days ago", "2026-03-13", "2026-03-14"),
        ("two weeks ago", "2026-02-26", "2026-03-05"),
        ("a couple of weeks ago", "2026-02-26", "2026-03-05"),
        ("a month ago", "2026-01-30", "2026-03-01"),
        ("in March", "2026-03-01", "2026-04-01"),
        ("in may", "2025-05-01", "2025-06-01"),
        ("November's release", "2025-11-01", "2025-12-01"),
        ("mid January", "2026-01-11", "2026-01-21"),
        ("at the end of January", "2026-01-21", "2026-02-01"),
        ("early December 2024", "2024-12-01", "2024-12-11"),
        ("March 2nd", "2026-03-02", "2026-03-03"),
        ("on 24 December", "2025-12-24", "2025-12-25"),
        ("the 3rd of June, 2024", "2024-06-03", "2024-06-04"),
        ("2026-03-02", "2026-03-02", "2026-03-03"),
        ("2026/03/02", "2026-03-02", "2026-03-03"),
        ("02.03.2026", "2026-03-02", "2026-03-03"),
        ("2026-02", "2026-02-01", "2026-03-01"),
        ("in Q4 2025", "2025-10-01", "2026-01-01"),
        ("in Q4", "2025-10-01", "2026-01-01"),
        ("in 2024", "2024-01-01", "2025-01-01"),
        ("since March 1", "2026-03-01", OPEN),
        ("after 2026-03-02", "2026-03-03", OPEN),
        ("before December", OPEN, "2025-12-01"),
        ("before yesterday", OPEN, "2026-03-15"),
        ("since this Friday", "2026-03-13", OPEN),
        ("前天", "2026-03-14", "2026-03-15"),
        ("until last week", OPEN, "2026-03-16"),
        ("between March 2 and March 5", "2026-03-02", "2026-03-06"),
        ("from Tuesday to Thursday", "2026-03-10", "2026-03-13"),
        ("from Friday to Monday", "2026-03-13", "2026-03-17"),
        ("昨天的导入为什么失败", "2026-03-15", "2026-03-16"),
        ("先週のエラー", "2026-03-09", "2026-03-16"),
        ("지난달 배포", "2026-02-01", "2026-03-01"),
        ("was habe ich gestern gemacht", "2026-03-15", "2026-03-16"),
        ("letzte Woche", "2026-03-09", "2026-03-16"),
        ("was war letzten Dienstag?", "2026-03-10", "2026-03-11"),
        ("im Dezember", "2025-12-01", "2026-01-01"),
        ("seit März", "2026-03-01", OPEN),
        ("vorgestern", "2026-03-14", "2026-03-15"),
        ("am 5. November", "2025-11-05", "2025-11-06"),
        ("den 2. März", "2026-03-02", "2026-03-03"),
        ("¿qué hicimos ayer?", "2026-03-15", "2026-03-16"),
        ("la semana pasada", "2026-03-09", "2026-03-16"),
        ("le mois dernier", "2026-02-01", "2026-03-01"),
        ("no mês passado", "2026-02-01", "2026-03-01"),
        ("что мы делали на прошлой неделе", "2026-03-09", "2026-03-16"),
        ("since wed", "2026-03-11", OPEN),
        ("until fri", OPEN, "2026-03-14"),
        ("2nd may", "2025-05-02", "2025-05-03"),
        ("2 may 2025", "2025-05-02", "2025-05-03"),
        ("what was on 2 may?", "2025-05-02", "2025-05-03"),
        ("since 2024 we use redis", "2024-01-01", OPEN),
        ("the user's crane, friday's fuse", "2026-03-13", "2026-03-14"),
    ],
)
def test_a_time_is_understood_from_now(text: str, since: str, before: str) -> None:
    """As it was meant on Monday, the 16th of March 2026."""
    assert told(text) == [(since, before)]


@pytest.mark.parametrize(
    "text",
    [
        "before the release", "the last line of the file", "next Friday", "every Monday", "by Friday", "may I do it",
        "march on", "in 3 days", "a second look", "version 2026.3", "port 2026", "30 February 2025", "the sun is out",
        "sat down", "tomorrow", "decimal", "Maya", "monitor", "the third option", "in 20 minutes", "12:30", "",
        "nächste Woche", "jeden Montag", "bis Freitag", "diese Tage hier", "next week", "next month",
        "coming Tuesday", "tomorrow's run",
        "for 2 days", "2026-13-40", "augment the marker", "the first of many", "on 2027-05-03", "in June 2026",
        "march past the gate", "version 5.11", "app/5/11/sync.kt",
        "phase 1 may need redis", "a cookie of 2020 bytes", "since 2000 rows were lost", "from 2000 to 2048 bytes",
        "Monday.com", "the friday-board", 'the label "last week"', "the tab “today” is wrong",
        "`march` in `2025-01-02`",
        "the label 'last week' is wrong", "Feld „letzte Woche“", "「昨天」的标签",
        "the Q4 quantisation", "it may sync",
        "a retry in 2000 ms", "the build fails in 2025.1", "lundi 9 novembre",
    ],
)  # fmt: skip
def test_what_is_no_time_that_was_is_none(text: str) -> None:
    """Words that look like one, what lies ahead, and what comes again and again."""
    assert told(text) == []


def test_words_that_only_begin_as_a_time_does_compile_no_pattern() -> None:
    """The patterns of times cost a prompt 10 ms; most prompts have "the", "this" or a q."""
    times._compiled.clear()
    assert spans("Is this the previous queue? Complete the quick marker, and the next decision is yes.", NOW) == []
    assert not times._compiled
    assert spans("What did we say the other day?", NOW)
    assert times._compiled


def test_what_a_text_says_beside_its_times() -> None:
    """Its own words, in their case."""
    assert times.without("What did we do about TrackSync last week?", NOW) == "What did we do about TrackSync"
    assert times.without("letzten Dienstag", NOW) == ""
    assert times.without("Fehler 5 am 5. Dezember", NOW) == "Fehler 5 am"
    assert times.without("Redis", NOW) == "Redis"
    assert times.without("Why Redis since Monday?", NOW) == "Why Redis"
    assert times.without("since the 2nd of March", NOW) == times.without("seit Montag", NOW) == ""
    assert times.without("tides between Monday and Wednesday", NOW) == "tides"
    assert times.without("until last week we sync and test", NOW) == "we sync and test"
    assert times.without("Über昨天的导入为什么失败", NOW) == "Über 的导入为什么失败".replace(" ", "")
    assert times.without("지난주에 배포", NOW) == "에 배포"
    assert times.without("Ware: İ Märzfeld vorgestern Kai", NOW) == "Ware: İ Märzfeld Kai"


def test_what_a_time_is_called_may_be_the_name_of_a_thing() -> None:
    """As October is of a product; yesterday is of none."""
    assert times.names_in("since October CMS", NOW) == ["october"]
    assert times.names_in("version 2026-02-01?", NOW) == ["2026-02-01"]
    assert times.names_in("yesterday, last Friday or letzte Woche", NOW) == []


def test_a_long_text_is_read_in_time() -> None:
    """Its words are not compared with each other."""
    started = time.process_time()
    times.without("yesterday " + " ".join(f"w{number}" for number in range(60_000)), NOW)
    assert time.process_time() - started < 10


def test_several_times_are_all_told_in_their_order() -> None:
    """At most four of them."""
    assert told("on 3 May 2025 and on 27 January 2025") == [("2025-05-03", "2025-05-04"), ("2025-01-27", "2025-01-28")]
    assert len(spans(", ".join(f"{day} January 2026" for day in range(1, 20)), NOW)) == 4


@given(st.text(max_size=300), MOMENTS)
def test_any_text_is_read_and_no_span_lies_ahead(text: str, now_ms: int) -> None:
    """Nothing that people write is an error, and spans have their ends in order."""
    for span in spans(text, now_ms):
        assert span.since_ms is None or span.before_ms is None or span.since_ms < span.before_ms
        assert span.since_ms is None or span.before_ms is None or span.since_ms <= now_ms


@given(st.lists(st.sampled_from(WORDS), max_size=12), MOMENTS)
def test_words_of_time_in_any_order_make_spans_in_order(words: list[str], now_ms: int) -> None:
    """However they are thrown together."""
    for span in spans(" ".join(words), now_ms):
        assert span.since_ms is None or span.before_ms is None or span.since_ms < span.before_ms
        assert span.since_ms is None or span.before_ms is None or span.since_ms <= now_ms


@given(st.integers(min_value=0, max_value=4000), st.integers(min_value=1, max_value=500))
def test_nearness_fades_outside_and_is_one_inside(away_hours: int, width_hours: int) -> None:
    """Never a cut: what is further away is less near, on both sides alike."""
    span = Span(NOW, NOW + width_hours * HOUR_MS)
    assert nearness(NOW, [span]) == nearness(NOW + width_hours * HOUR_MS - 1, [span]) == 1.0
    behind = nearness(NOW + (width_hours + away_hours) * HOUR_MS - 1, [span])
    assert behind == pytest.approx(nearness(NOW - away_hours * HOUR_MS, [span]))
    assert behind >= nearness(NOW - (away_hours + 1) * HOUR_MS, [span]) >= 0


def test_the_nearest_of_several_spans_counts_and_none_is_no_pull() -> None:
    """Two dates are two chances."""
    first, second = Span(NOW - 9 * DAY_MS, NOW - 8 * DAY_MS), Span(NOW, NOW + DAY_MS)
    assert nearness(NOW + HOUR_MS, [first, second]) == 1.0
    assert nearness(NOW, []) == 0.0
    assert nearness(NOW - 30 * DAY_MS, [Span(None, NOW)]) == nearness(NOW, [Span(NOW, None)]) == 1.0
    assert 0 < nearness(NOW - DAY_MS, [Span(NOW, None)]) < 1


@pytest.mark.parametrize(
    ("text", "ago"),
    [("7d", timedelta(days=7)), ("3 weeks ago", timedelta(weeks=3)), ("12h", timedelta(hours=12)),
     ("30m", timedelta(minutes=30)), ("2 months ago", timedelta(days=60)), ("1y", timedelta(days=365))],
)  # fmt: skip
def test_how_long_ago_is_a_moment(text: str, ago: timedelta) -> None:
    """Units as they are typed at an option."""
    assert ago_ms(text, NOW) == NOW - int(ago.total_seconds() * 1000)


def test_other_words_are_no_moment() -> None:
    """They are left to whoever reads ISO 8601."""
    assert ago_ms("today", NOW) == NOW - NOW % DAY_MS
    assert ago_ms("yesterday", NOW) == NOW - NOW % DAY_MS - DAY_MS
    for text in ("2026-10-01", "soon", "", "7", "d7"):
        assert ago_ms(text, NOW) is None


def test_a_persons_days_begin_where_the_person_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two hours ahead of UTC, midnight is at ten in the evening; a time without a zone is theirs."""
    monkeypatch.setenv("TZ", "Etc/GMT-2")
    time.tzset()
    try:
        noon = int(datetime(2026, 3, 20, 12, tzinfo=UTC).timestamp() * 1000)
        midnight = int(datetime(2026, 3, 19, 22, tzinfo=UTC).timestamp() * 1000)
        assert moment_ms("today", "--since", noon, is_local=True) == midnight
        assert moment_ms("yesterday", "--since", noon, is_local=True) == midnight - DAY_MS
        assert moment_ms("2026-03-20", "--since", noon, is_local=True) == midnight
        assert moment_ms("2026-03-20T00:00+02:00", "--since", noon, is_local=True) == midnight
        assert moment_ms("7d", "--since", noon, is_local=True) == moment_ms("7d", "--since", noon) == noon - 7 * DAY_MS
        assert moment_ms("last week", "--since", noon, is_local=True) == midnight - 11 * DAY_MS
        assert moment_ms("march 12", "--since", noon, is_local=True) == midnight - 8 * DAY_MS
        assert moment_ms("today", "since", noon) == midnight + 2 * HOUR_MS
        assert moment_ms("2026-03-20", "since", noon) == midnight + 2 * HOUR_MS
    finally:
        monkeypatch.undo()
        time.tzset()


@pytest.mark.parametrize("text", ["el tamaño pasado a la función", "o plano passado ao cliente", "el daño pasado"])
def test_a_time_is_no_part_of_a_word(text: str) -> None:
    """As a year is one of "tamaño"."""
    assert spans(text, NOW) == []
