"""Times as people write them: one moment (`7d`, `2026-10-01`), or the spans and relative dates of a sentence.

All times are UTC milliseconds, and so are days: who asks for yesterday late in the evening may mean the day before,
which is why spans only draw a score up (`nearness`), and fade out at their edges. Calendars are counted here: importing
`datetime` costs a prompt 2 ms, and patterns are compiled when a text first has a word that could be a date.
"""

from __future__ import annotations

import re

from howcome.domain.time_words import FIXED, MEANINGS, in_english, place_in, unquoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS
UNIT_MS = {
    "m": 60_000, "h": HOUR_MS, "d": DAY_MS, "w": 7 * DAY_MS, "f": 14 * DAY_MS, "month": 30 * DAY_MS,
    "q": 91 * DAY_MS, "y": 365 * DAY_MS,
}  # fmt: skip
"""Units by their first letter; a month by its name, because minutes begin so, too."""

MIN_FADE_MS = 12 * HOUR_MS
MAX_FADE_MS = 7 * DAY_MS
OPEN_FADE_MS = 2 * DAY_MS
"""Outside of a span its pull halves with every quarter of its length, within these limits; with a fixed time where it
has no length."""

MAX_SPANS = 4
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = {
    word: number for number, word in enumerate("zero one two three four five six seven eight nine ten eleven".split())
} | {"a": 1, "an": 1, "twelve": 12, "couple": 2, "few": 3, "several": 4, "half": 0.5}  # fmt: skip
_TRIGGERS = frozenset(
    word + ending
    for word in (
        "jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october"
        " nov november dec december monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur"
        " thurs fri sat sun yesterday today tonight tomorrow night morning afternoon evening minute hour day week"
        " weekend fortnight month quarter year"
    ).split()
    for ending in ("", "s")
)
"""A text without any of these words, and without a mark, speaks of no time: to compile patterns costs a prompt 10 ms.
Of 11,640 turns of a Go project 431 have one, and 154 speak of a time."""

_MARKS = ("19", "20", "q1", "q2", "q3", "q4")
"""Of years and quarters."""

_TRIGGERS |= {word for word, meaning in MEANINGS.items() if not _TRIGGERS.isdisjoint(meaning.split())}

_YEAR, _ORDINAL = r"((?:19|20)\d\d)", r"(\d{1,2})(?:st|nd|rd|th)?"
_MONTH = (
    r"(jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_DAYNAME = r"((?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\b(?![-.][^\W\d_]|,? \d{1,2} [^\W\d_]{3})"
_LED = r"(?<=\bsince )|(?<=\bafter )|(?<=\buntil )|(?<=\bbefore )"
_SHORT_DAY = rf"(?:\b(?:(last|past)|on|this) |{_LED})(mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b"
_COUNT = r"(\d{1,4}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|several|half an?"
_COUNT += r"|(?:an? )?(?:couple(?: of)?|few))"
_UNIT = r"(minutes?|hours?|days?|weeks?|fortnights?|months?|quarters?|years?)\b"
_NO_NOUN = r"(?![-.]?\w)(?! (?!(?:we|i|you|they|it|the|on|did|do|does|is|was|what|who|why|when|how)\b)[^\W_])"
_NO_VERB = r"(?!\d+ may (?!(?:19|20)\d\d)[^\W_])"
_PART = r"(?:(early|late|mid|(?:the )?(?:beginning|start|middle|end) of)[ -])?"

_BEFORE_MONTHS = frozenset("in last since until till before after during of from to between and".split())
"""Behind one of these a short name, or one that is a word, is a month."""

_LEADS = frozenset("since after before until till between from".split())

_LETTERS = re.compile(r"[^\W\d_]+")
_RELATIVE = r"\b(?:yesterday|today|tonight|ago|last|past|previous|this|other)\b"
_compiled: list[Form] = []


class Span:
    """A stretch of time that somebody spoke of; None is an end that is open."""

    __slots__ = ("before_ms", "since_ms")

    def __init__(self, since_ms: int | None, before_ms: int | None) -> None:
        self.since_ms, self.before_ms = since_ms, before_ms

    def __eq__(self, other: object) -> bool:
        """Equal when both ends are."""
        return isinstance(other, Span) and (self.since_ms, self.before_ms) == (other.since_ms, other.before_ms)

    def __hash__(self) -> int:
        """By both ends."""
        return hash((self.since_ms, self.before_ms))

    def __repr__(self) -> str:
        """Both ends as days."""
        return f"Span({iso_day(self.since_ms)}, {iso_day(self.before_ms)})"


Bounds = tuple[int, int] | None
if TYPE_CHECKING:
    BoundsOf = Callable[[re.Match[str], int], Bounds]
    Form = tuple[re.Pattern[str], BoundsOf]
    Found = tuple[int, int, tuple[int, int]]
    Told = tuple["Span", int, int, int]


# -- calendars ---------------------------------------------------------------------------------------------------------
def day_of(year: int, month: int, day: int) -> int | None:
    """Midnight of a date in UTC milliseconds; None when there is no such day."""
    if not (1 <= month <= 12 and 1 <= day <= _month_days(year, month) and year >= 1970):
        return None
    return _days(year, month, day) * DAY_MS


def date_of(ts_ms: int) -> tuple[int, int, int]:
    """Year, month and day of a moment (the proleptic Gregorian calendar, counted in eras of 400 years)."""
    days = ts_ms // DAY_MS + 719_468
    era, of_era = divmod(days, 146_097)
    year = (of_era - of_era // 1460 + of_era // 36_524 - of_era // 146_096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    place = (5 * of_year + 2) // 153
    month = place + 3 if place < 10 else place - 9
    return year + era * 400 + (month <= 2), month, of_year - (153 * place + 2) // 5 + 1


def iso_day(ts_ms: int | None) -> str:
    """A moment's date as ISO 8601 has it, `…` for none."""
    return "…" if ts_ms is None else "{:04}-{:02}-{:02}".format(*date_of(ts_ms))


def _days(year: int, month: int, day: int) -> int:
    shifted = year - (month <= 2)
    era, of_era = divmod(shifted, 400)
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    return era * 146_097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719_468


def _month_days(year: int, month: int) -> int:
    following = _days(year + month // 12, month % 12 + 1, 1)
    return following - _days(year, month, 1)


def _month_at(year: int, month: int) -> tuple[int, int]:
    """The ends of a month; its number may lie outside of 1 to 12."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    start = _days(year, month, 1)
    return start * DAY_MS, (start + _month_days(year, month)) * DAY_MS


def _midnight(now_ms: int) -> int:
    return now_ms - now_ms % DAY_MS


def _monday(now_ms: int) -> int:
    return _midnight(now_ms) - (now_ms // DAY_MS + 3) % 7 * DAY_MS


# -- one moment --------------------------------------------------------------------------------------------------------
def ago_ms(text: str, now_ms: int) -> int | None:
    """UTC milliseconds of `today`, `yesterday` (midnight), `7d`, `12h`, `3 weeks ago`; None for other words."""
    days = {"today": 0, "yesterday": 1}.get(text.strip().lower())
    if days is not None:
        return max(0, _midnight(now_ms) - days * DAY_MS)
    units = r"\s*(\d{1,5})\s*(m|min|h|d|w|y|hours?|days?|weeks?|months?|years?)\s*(?:ago)?\s*"
    found = re.fullmatch(units, text, re.IGNORECASE)
    return max(0, now_ms - int(found[1]) * _unit_ms(found[2])) if found else None


def _unit_ms(unit: str) -> int:
    unit = unit.lower()
    return UNIT_MS["month" if unit.startswith("month") else unit[0]]


# -- spans of a sentence -----------------------------------------------------------------------------------------------
def spans(text: str, now_ms: int) -> list[Span]:
    """The stretches of time that a text speaks of, in their order, at most MAX_SPANS; none that lies ahead.

    `text` is short (a sentence, a question): what is code or a log in it has been taken out.
    """
    return [span for span, *_ in _told(text, now_ms)]


def without(text: str, now_ms: int) -> str:
    """A text but for the times that it speaks of, with what leads and joins them ("since", "between … and")."""
    kept, at = [], 0
    for _, start, _, end in _told(text, now_ms):
        kept.append(text[at:start])
        at = end
    return " ".join("".join((*kept, text[at:])).split()).strip(" ,;:?!") if kept else text


def names_in(text: str, now_ms: int) -> list[str]:
    """The times that a text speaks of by a name or number, as it has them: other things may be called so, too."""
    named = (text[start:end].lower() for _, _, start, end in _told(text, now_ms))
    return [name for name in named if not re.search(_RELATIVE, in_english(name)[0])]


def _told(text: str, now_ms: int) -> list[Told]:
    """Spans with places in the text: where what leads a time begins, where the time does, and where it ends."""
    if not _may_speak_of_time(text):
        return []
    said, pieces = in_english(text)
    found = _joined(*_found(unquoted(said), now_ms, _forms()), now_ms)[:MAX_SPANS]
    return [
        (span, place_in(pieces, lead), place_in(pieces, start), place_in(pieces, end, is_end=True))
        for span, lead, start, end in found
    ]


def _found(rest: str, now_ms: int, forms: Sequence[Form]) -> tuple[str, list[Found]]:
    """Every time in a text, in order, and the text with marks in their place."""
    found: list[Found] = []
    for pattern, bounds_of in forms:
        for match in pattern.finditer(rest):
            bounds = bounds_of(match, now_ms)
            if bounds is not None:
                found.append((match.start(), match.end(), bounds))
            rest = f"{rest[: match.start()]}{'~' * (match.end() - match.start())}{rest[match.end() :]}"
    return rest, sorted(found)


def nearness(ts_ms: int, wanted: Iterable[Span]) -> float:
    """How near a moment is to what was spoken of: 1 inside, fading to 0 outside; 0 where no span is wanted."""
    return max((_nearness(ts_ms, span) for span in wanted), default=0.0)


def _nearness(ts_ms: int, span: Span) -> float:
    ahead = 0 if span.since_ms is None else max(0, span.since_ms - ts_ms)
    behind = 0 if span.before_ms is None else max(0, ts_ms - span.before_ms + 1)
    fade = OPEN_FADE_MS
    if span.since_ms is not None and span.before_ms is not None:
        fade = min(MAX_FADE_MS, max(MIN_FADE_MS, (span.before_ms - span.since_ms) // 4))
    return float(0.5 ** ((ahead + behind) / fade))


def _may_speak_of_time(text: str) -> bool:
    lowered = text.lower()
    return (
        not _TRIGGERS.isdisjoint(_LETTERS.findall(lowered))
        or any(mark in lowered for mark in _MARKS)
        or any(word in lowered for word in FIXED)
    )


def _forms() -> Sequence[Form]:
    """Every form of a time, the longest first: what one has taken the next ones do not see."""
    if not _compiled:
        forms: tuple[tuple[str, BoundsOf], ...] = (
            (rf"\b{_YEAR}[-/](\d\d?)[-/](\d\d?)(?!\d)", lambda m, _: _day(m[1], m[2], m[3])),
            (rf"\b(\d\d?)\.(\d\d?)\.{_YEAR}\b", lambda m, _: _day(m[3], m[2], m[1])),
            (rf"\b{_YEAR}-(0[1-9]|1[0-2])\b(?!-)", lambda m, _: _month_at(int(m[1]), int(m[2]))),
            (rf"\b{_MONTH} {_ORDINAL}(?![\d:])(?:,? {_YEAR})?", lambda m, now: _month_day(m[1], m[2], m[3], now)),
            (
                rf"\b{_NO_VERB}{_ORDINAL}\.? (?:of )?{_MONTH}(?:,? {_YEAR})?",
                lambda m, now: _month_day(m[2], m[1], m[3], now),
            ),
            (rf"\b{_COUNT} {_UNIT} ago\b", _ago),
            (rf"\b(?:last|past|previous) {_COUNT} {_UNIT}", lambda m, now: (now - _length(m[1], m[2]), now)),
            (r"\bthe day before yesterday\b", lambda _, now: _whole_day(now, 2)),
            (r"\b(?:yesterday|last night)\b", lambda _, now: _whole_day(now, 1)),
            (r"\b(?:today|tonight|this (?:morning|afternoon|evening))\b", lambda _, now: _whole_day(now, 0)),
            (r"\btomorrow\b", lambda _, now: _whole_day(now, -1)),
            (r"\bthe other day\b", lambda _, now: (_midnight(now) - 7 * DAY_MS, _midnight(now))),
            (r"\b(last|previous|this|next) (week|month|year)\b", _relative),
            (r"\b(last|past|previous|this) (weekend|week|month|quarter|year)\b", _relative),
            (rf"\b(?:(last|past|previous|this|next|coming) )?{_DAYNAME}", _weekday),
            (_SHORT_DAY, _weekday),
            (rf"\b{_PART}{_MONTH}(?:,? {_YEAR})?", _month),
            (rf"\bq([1-4])(?:(?: of)? {_YEAR})?\b", _quarter),
            (rf"\b(?:in|during) {_YEAR}\b{_NO_NOUN}", lambda m, _: _year(int(m[1]))),
            (rf"(?:\b(?:of|from) |{_LED}){_YEAR}\b{_NO_NOUN}", lambda m, _: _year(int(m[1]))),
        )
        _compiled.extend((re.compile(source), bounds_of) for source, bounds_of in forms)
    return _compiled


def _joined(text: str, found: Sequence[Found], now_ms: int) -> list[Told]:
    """Spans with what the words before them say (since, before, between … and), and where these and they stand."""
    told: list[Told] = []
    opened: tuple[int, int] | None = None
    for place, (start, end, (since, before)) in enumerate(found):
        lead = text[max(0, start - 12) : start].rstrip()
        lead = lead.removesuffix(" the").rsplit(" ", 1)[-1].strip("(\"',")
        if lead in ("next", "every", "each", "by"):
            continue
        if opened is not None and told and lead in ("and", "to", "until", "till", "-"):
            weeks_back = -(-max(0, opened[0] - since) // UNIT_MS["w"])  # "from Monday to Wednesday", said on a Monday
            told[-1] = (Span(opened[0] - weeks_back * UNIT_MS["w"], before), *told[-1][1:3], end)
            opened = None
            continue
        opened = (since, before) if lead in ("between", "from") and place + 1 < len(found) else None
        if since > now_ms:
            continue
        told.append((_led(lead, since, before), text.rindex(lead, 0, start) if lead in _LEADS else start, start, end))
    return told


def _led(lead: str, since: int, before: int) -> Span:
    if lead in ("since", "after"):
        return Span(since if lead == "since" else before, None)
    if lead == "before":
        return Span(None, since)
    return Span(None, before) if lead in ("until", "till") else Span(since, before)


# -- forms -------------------------------------------------------------------------------------------------------------
def _day(year: str, month: str, day: str) -> Bounds:
    start = day_of(int(year), int(month), int(day))
    return None if start is None else (start, start + DAY_MS)


def _whole_day(now_ms: int, back: int) -> Bounds:
    start = _midnight(now_ms) - back * DAY_MS
    return start, start + DAY_MS


def _month_day(month: str, day: str, year: str | None, now_ms: int) -> Bounds:
    number = _MONTHS.index(month[:3]) + 1
    wanted = int(year) if year else date_of(now_ms)[0]
    start = day_of(wanted, number, int(day))
    if start is not None and not year and start > now_ms:  # the last one that was
        start = day_of(wanted - 1, number, int(day))
    return None if start is None else (start, start + DAY_MS)


def _length(count: str, unit: str) -> int:
    word = count.removeprefix("a ").split(" ")[0]
    number = int(word) if word.isdigit() else _NUMBERS[word]
    return int(number * _unit_ms(unit))


def _ago(match: re.Match[str], now_ms: int) -> Bounds:
    """Around the moment, half a unit to both sides: "two weeks ago" is no day. Days are days."""
    moment, unit = now_ms - _length(match[1], match[2]), match[2]
    if unit.startswith("day"):
        return _midnight(moment), _midnight(moment) + DAY_MS
    half = max(HOUR_MS, min(_unit_ms(unit), now_ms - moment) // 2)
    return moment - half, min(now_ms, moment + half)


def _relative(match: re.Match[str], now_ms: int) -> Bounds:
    which, unit = match[1], match[2]
    monday, (year, month, _) = _monday(now_ms), date_of(now_ms)
    if which == "past":
        return now_ms - (3 * DAY_MS if unit == "weekend" else _unit_ms(unit)), now_ms
    back = {"this": 0, "next": -1}.get(which, 1)
    if unit == "weekend":
        return monday - 2 * DAY_MS, monday
    if unit == "week":
        return monday - 7 * DAY_MS * back, monday + 7 * DAY_MS * (1 - back)
    if unit == "month":
        return _month_at(year, month - back)
    if unit == "quarter":
        first = (month - 1) // 3 * 3 + 1 - 3 * back
        return _month_at(year, first)[0], _month_at(year, first + 2)[1]
    return _year(year - back)


def _weekday(match: re.Match[str], now_ms: int) -> Bounds:
    which, back = match[1], ((now_ms // DAY_MS + 3) % 7 - _WEEKDAYS.index(match[2][:3])) % 7
    if which in ("next", "coming"):
        return _whole_day(now_ms, back - 7 if back or which == "next" else 0)
    return _whole_day(now_ms, 7 if which in ("last", "past", "previous") and back == 0 else back)


def _is_led(match: re.Match[str]) -> bool:
    return match.string[max(0, match.start() - 10) : match.start()].rstrip().rsplit(" ", 1)[-1] in _BEFORE_MONTHS


def _month(match: re.Match[str], now_ms: int) -> Bounds:
    """A month by its name, or a part of it; "may" and "march" only where a word before says that it is one."""
    part, name, year = match[1], match[2], match[3]
    is_named = bool(part or year) or _is_led(match)
    if not is_named and (len(name) < 4 or name in ("march", "may")):
        return None
    number, this_year = _MONTHS.index(name[:3]) + 1, date_of(now_ms)[0]
    since, before = _month_at(int(year) if year else this_year, number)
    if not year and since > now_ms:
        since, before = _month_at(this_year - 1, number)
    third = (before - since) // 3
    if part is None:
        return since, before
    if "mid" in part:
        return since + third, before - third
    return (before - third, before) if part == "late" or "end" in part else (since, since + third)


def _quarter(match: re.Match[str], now_ms: int) -> Bounds:
    if not match[2] and not _is_led(match):  # other things are called Q4, too
        return None
    first, this_year = int(match[1]) * 3 - 2, date_of(now_ms)[0]
    year = int(match[2]) if match[2] else this_year - (_month_at(this_year, first)[0] > now_ms)
    return _month_at(year, first)[0], _month_at(year, first + 2)[1]


def _year(year: int) -> Bounds:
    return _month_at(year, 1)[0], _month_at(year, 12)[1]
