"""What other languages call a time, in the English that `domain/times` reads, and where it stands in a text."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    Piece = tuple[int, int, int, int]

FIXED = {
    "昨天": "yesterday", "昨日": "yesterday", "어제": "yesterday", "今天": "today", "今日": "today", "오늘": "today",
    "前天": "the day before yesterday", "一昨日": "the day before yesterday", "그저께": "the day before yesterday",
    "上周": "last week", "上週": "last week", "先週": "last week", "지난주": "last week", "上个月": "last month",
    "上個月": "last month", "先月": "last month", "지난달": "last month", "去年": "last year", "작년": "last year",
    "semana pasada": "last week", "mes pasado": "last month", "año pasado": "last year", "semana passada": "last week",
    "mês passado": "last month", "ano passado": "last year", "semaine dernière": "last week", "avant-hier":
    "the day before yesterday", "mois dernier": "last month", "année dernière": "last year",
    "прошлой неделе": "last week", "прошлом месяце": "last month", "прошлом году": "last year",
}  # fmt: skip
_SAID = {
    "yesterday": "gestern ayer ontem вчера", "today": "heute hoy hoje сегодня", "this": "diese diesen dieser dieses",
    "the day before yesterday": "vorgestern anteayer anteontem позавчера", "weeks": "wochen", "week": "woche",
    "last": "letzte letzten letzter letztes vorige vorigen voriges vergangene vergangenen", "weekend": "wochenende",
    "next": "nächste nächsten nächster nächstes", "every": "jede jeden jedes", "since": "seit", "in": "im",
    "by": "bis", "days": "tage tagen", "months": "monate monaten", "month": "monat", "years": "jahre jahren",
    "year": "jahr", "january": "januar", "february": "februar", "march": "märz", "may": "mai", "june": "juni",
    "july": "juli", "october": "oktober", "december": "dezember", "monday": "montag lunes lundi понедельник",
    "tuesday": "dienstag martes mardi вторник", "wednesday": "mittwoch miércoles mercredi среду",
    "thursday": "donnerstag jueves jeudi четверг", "friday": "freitag viernes vendredi пятницу",
    "saturday": "samstag sonnabend sábado samedi субботу", "sunday": "sonntag domingo dimanche воскресенье",
}  # fmt: skip
"""An English word, and what means it in other languages. French "hier" is not here: in German it is "here"."""
MEANINGS = {word: meaning for meaning, said in _SAID.items() for word in said.split()}

_LETTERS = re.compile(r"[^\W\d_]+")
_QUOTED = r"\"[^\"\n]+\"|“[^”\n]+”|„[^“”\n]+[“”]|«[^»\n]+»|「[^」\n]+」|`[^`\n]+`|(?<!\w)'[^'\n]+'(?!\w)"
_fixed: list[re.Pattern[str]] = []


def in_english(text: str) -> tuple[str, list[Piece]]:
    """A text in lower case with English words for times, and what was replaced: its ends here and there."""
    lowered = "".join(low if len(low := sign.lower()) == 1 else sign for sign in text)
    if not _fixed:  # of Chinese and Japanese nothing stands between two words
        every = sorted(FIXED, key=len, reverse=True)
        _fixed.append(
            re.compile("|".join(word if word >= "\u2e80" else rf"(?<!\w){re.escape(word)}(?!\w)" for word in every))
        )
    found = [(one.start(), one.end(), f" {FIXED[one[0]]} ") for one in _fixed[0].finditer(lowered)]
    rest = _fixed[0].sub(lambda one: "~" * len(one[0]), lowered) if found else lowered
    found += [(one.start(), one.end(), MEANINGS[one[0]]) for one in _LETTERS.finditer(rest) if one[0] in MEANINGS]
    said, pieces, at, length = [], [], 0, 0
    for start, end, meaning in sorted(found):
        said += [lowered[at:start], meaning]
        length += start - at + len(meaning)
        pieces.append((start, end, length - len(meaning), length))
        at = end
    return "".join((*said, lowered[at:])), pieces


def place_in(pieces: Sequence[Piece], place: int, *, is_end: bool = False) -> int:
    """Where a place of an English text (the end of something) stands in the one that it was made from."""
    moved = 0
    for start, end, new_start, new_end in pieces:
        if place <= new_start and (is_end or place < new_start):
            break
        if place < new_end or (is_end and place == new_end):
            return end if is_end else start
        moved = end - new_end
    return place + moved


def unquoted(text: str) -> str:
    """A text with marks in the place of what stands in quotation marks: that names a thing."""
    return re.sub(_QUOTED, lambda one: "~" * len(one[0]), text)
