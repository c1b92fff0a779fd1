"""Relative dates made absolute: what "yesterday" was on the day on which somebody said it."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re

from howcome.domain.times import DAY_MS, UNIT_MS, date_of, iso_day
from howcome.ingest.distil.quick import Words

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NUMBERS = {
    "a": 1,
    "an": 1,
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "a couple of": 2,
    "couple of": 2,
}
_RELATIVE = re.compile(
    r"\b(?P<lead>(?:on|since|until|till|by|before|after|from|as of|starting)\s+)?(?:"
    r"(?P<day>the day before yesterday|yesterday|last night|today|tonight|this (?:morning|afternoon"
    r"|evening)|tomorrow)"
    rf"|(?P<which>(?:last|next|this|coming)\s+)?(?P<name>{_DAY})"
    r"|(?P<count>\d{1,3}|an?|one|two|three|four|five|six|(?:a )?couple of)\s+(?P<unit>hour|day|week|month"
    r"|year)s?\s+ago"
    r"|(?P<side>last|this|next)\s+(?P<span>week|month|year|quarter|sprint)"
    r")(?P<whose>['’]s)?\b(?! ?`)",
    re.IGNORECASE,
)
_MAY_BE = Words(r"\b(?:yesterday|last|today|tonight|tomorrow|this|next|coming|ago|\w{3,6}day)\b")
"""Every relative date has one of these."""

_BACK = {"the day before yesterday": 2, "yesterday": 1, "last night": 1, "tomorrow": -1}
_AHEAD = ("until", "till", "by", "before", "starting")


def has_relative_date(text: str) -> bool:
    """Whether a text speaks of a time as seen from its own."""
    return _MAY_BE.found(text) and _RELATIVE.search(text) is not None


def absolute(text: str, ts_ms: int) -> str:
    """`text` with its relative dates as dates of the calendar; what stands in code stays as it is."""
    if not _MAY_BE.found(text):
        return text
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        parts[place] = _RELATIVE.sub(lambda match: _date(match, ts_ms), parts[place])
    return "`".join(parts)


def day_spoken_of(text: str, ts_ms: int) -> str:
    """The first relative date of a text as a date of the calendar, "" when it has none."""
    match = _RELATIVE.search(text)
    return re.sub(r"^(?:on|in|since|until|by|from) ", "", _date(match, ts_ms)) if match else ""


def _date(match: re.Match[str], ts_ms: int) -> str:
    lead, said = (match["lead"] or "").lower(), match
    if said["span"]:
        date = _span(said["side"].lower(), said["span"].lower(), ts_ms)
        return said[0] if not date else f"{lead}{date}" if lead.strip() not in ("", "on") else f"in {date}"
    if said["day"]:
        moment = ts_ms - _BACK.get(said["day"].lower(), 0) * DAY_MS
    elif said["name"]:
        moment = _weekday(said["name"].lower(), (said["which"] or "").strip().lower(), lead.strip(), ts_ms)
    else:
        count = said["count"].lower()
        unit = said["unit"].lower()
        moment = (
            ts_ms
            - (int(count) if count.isdigit() else _NUMBERS[count]) * UNIT_MS["month" if unit == "month" else unit[0]]
        )
    if said["whose"]:
        return f"{lead}the {iso_day(moment)}"
    return f"{lead or 'on '}{iso_day(moment)}"


def _weekday(name: str, which: str, lead: str, ts_ms: int) -> int:
    """The last such day, or the coming one where the words before it look ahead."""
    ahead = (_DAYS.index(name[:3]) - (ts_ms // DAY_MS + 3)) % 7
    if which in ("next", "coming") or lead in _AHEAD or which == "this":
        return ts_ms + (ahead or (7 if which == "next" else 0)) * DAY_MS
    back = (7 - ahead) % 7
    return ts_ms - (7 if which == "last" and back == 0 else back) * DAY_MS


def _span(side: str, unit: str, ts_ms: int) -> str:
    step = {"last": -1, "this": 0, "next": 1}[side]
    year, month, _ = date_of(ts_ms)
    if unit == "week":
        monday = ts_ms - (ts_ms // DAY_MS + 3) % 7 * DAY_MS + step * 7 * DAY_MS
        return f"the week of {iso_day(monday)}"
    if unit == "year":
        return str(year + step)
    if unit == "month":
        years, place = divmod(month - 1 + step, 12)
        return f"{year + years:04}-{place + 1:02}"
    return ""
