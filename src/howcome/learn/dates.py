"""Relative dates made absolute: what "yesterday" was on the day on which somebody said it."""

from __future__ import annotations

import re

from howcome.domain.times import DAY_MS, iso_day, relative_dates
from howcome.learn.quick import Words

_MAY_BE = Words(r"\b(?:yesterday|last|previous|today|tonight|tomorrow|this|next|coming|ago|\w{3,6}day)\b")
"""Every relative date has one of these."""

_LEAD = re.compile(
    r"(?:\b(on|in|during|since|until|till|by|before|after|from|as of|starting|every|each)\s+)?(\bthe\s+)?$",
    re.IGNORECASE,
)
_AHEAD = ("until", "till", "by", "before", "starting")
_POSSESSIVE = ("'s", "\u2019s")


def has_relative_date(text: str) -> bool:
    """Whether a text speaks of a time as seen from its own."""
    return _MAY_BE.found(text) and any(relative_dates(part, 0) for part in text.split("`")[::2])


def absolute(text: str, ts_ms: int) -> str:
    """`text` with its relative dates as dates of the calendar; what stands in code stays as it is."""
    if not _MAY_BE.found(text):
        return text
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        for start, end, date in reversed(_dates(parts[place], ts_ms)):
            parts[place] = parts[place][:start] + date + parts[place][end:]
    return "`".join(parts)


def day_spoken_of(text: str, ts_ms: int) -> str:
    """The first relative date of a text as a date of the calendar, "" when it has none."""
    found = next((date for part in text.split("`")[::2] for _, _, date in _dates(part, ts_ms)), "")
    return re.sub(r"^(?:on|in|since|until|by|from) ", "", found)


def _dates(text: str, ts_ms: int) -> list[tuple[int, int, str]]:
    """Where relative dates stand, with the words before and after that belong to them, and what to say instead."""
    found = []
    for start, end, kind, (since_ms, before_ms) in relative_dates(text, ts_ms):
        before, said = _LEAD.search(text[:start]), text[start:end].lower()
        lead, article = (before[1] or "").lower() if before else "", bool(before and before[2])
        if kind == "span" or lead in ("every", "each") or (kind == "weekday" and said.endswith("s")):
            continue
        moment_ms = (since_ms + before_ms) // 2
        is_coming = said.startswith("this ") or (lead in _AHEAD and not said.startswith("last "))
        if kind == "weekday" and is_coming and before_ms <= ts_ms:
            moment_ms += 7 * DAY_MS
        is_possessive = text[end:].startswith(_POSSESSIVE)
        if kind == "period":
            date = f"{'in' if lead in ('', 'on') else lead} {_period(said, since_ms)}"
        elif article or is_possessive:
            date = f"{lead} the {iso_day(moment_ms)}".lstrip()
        else:
            date = f"{lead or 'on'} {iso_day(moment_ms)}"
        found.append((before.start() if before else start, end + 2 * is_possessive, date))
    return found


def _period(said: str, since_ms: int) -> str:
    day = iso_day(since_ms)
    return f"the week of {day}" if said.endswith("week") else day[:7] if said.endswith("month") else day[:4]
