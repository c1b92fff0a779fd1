"""Rows for people: what each says first; below it when, who and which.

On a terminal they are wrapped to its width, the words that were searched for stand out, and what is longer than the
terminal is high goes through a pager. In a pipe, and with NO_COLOR, they are plain.
"""

from __future__ import annotations

import os
import re
import sys
from datetime import UTC, datetime
from itertools import zip_longest

from howcome.app.clock import now_ms
from howcome.domain.events import squeeze
from howcome.domain.text import title_of
from howcome.present.render import counted, json_line, plain, plain_line
from howcome.present.terminal import echo, echo_page, echo_text, screen_size
from howcome.present.views import kind_of, memory_marks, short_session

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.stored import SessionSummary
    from howcome.present.views import View

INDENT, GAP, MIN_ROOM = "  ", 2, 16
DIM, FOUND = "2", "1;31"
"""Styles, as a terminal knows them: only the eight standard colours, legible on dark and on light."""

WEEK_DAYS, YEAR_DAYS = 6, 300
TITLE_CHARS = 220
DAY_MS = 86_400_000


class Row:
    """One thing on the screen: what it says, and in further lines `details`.

    It is `about` when, who, which: short parts, the id last; an empty one is left out. The text keeps its lines when
    somebody asked for all of it (`is_whole`).
    """

    __slots__ = ("about", "details", "is_whole", "text")

    def __init__(
        self, text: str, about: Sequence[str] = (), details: Sequence[str] = (), *, is_whole: bool = False
    ) -> None:
        self.text, self.about, self.details, self.is_whole = text, about, details, is_whole


def session_row(one: SessionSummary, *, is_everywhere: bool) -> Row:
    """A session of a list: what it was about; when, who, how much, where and which."""
    where = one.project if is_everywhere else ""
    about = (local_time(one.last_ms, now_ms()), one.client, counted(one.count, "event"), where)
    return Row(squeeze(title_of(one.prompt), TITLE_CHARS), (*about, short_session(one.name)))


def is_terminal() -> bool:
    """Whether a person looks on: rows are wrapped and styled for a terminal only."""
    return sys.stdout is not None and sys.stdout.isatty()


def show_rows(rows: Sequence[Row], words: Iterable[str] = (), notes: Sequence[str] = ()) -> None:
    """Prints rows, then notes. `words` stand out on a terminal."""
    if not is_terminal():
        for row in rows:
            about = [f"{INDENT}{line}"] if (line := _about(row)) else []
            echo_text("\n".join([_text(row), *about, *(2 * INDENT + plain_line(line) for line in row.details)]))
        for note in notes:
            echo(note)
        return
    echo_page(rendered(rows, words, notes, width=screen_size()[0], is_colored=_is_colored()))


def say(*lines: str) -> None:
    """Prints sentences; on a terminal they break between words."""
    wide = is_terminal()
    for line in lines:
        for part in _wrapped(plain_line(line), screen_size()[0]) if wide else [line]:
            echo(part)


def report(facts: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Prints facts as JSON for a program, or lines for a person."""
    for line in [json_line(facts)] if as_json else lines:
        echo(line)


def report_rows(
    facts: object, rows: Iterable[Row], words: Iterable[str] = (), notes: Sequence[str] = (), *, as_json: bool
) -> None:
    """Prints facts as JSON for a program, or rows for a person; see `show_rows`."""
    if as_json:
        echo(json_line(facts))
    else:
        show_rows(list(rows), words, notes)


def show_table(
    cells: Sequence[Sequence[str]], widths: Sequence[int] = (), styles: Mapping[str, str] | None = None,
    notes: Sequence[str] = (), *, wraps: int = -1, err: bool = False,
) -> None:  # fmt: skip
    """Prints columns, then notes; the first columns are as wide as `widths` say, or wider, with the blanks behind them.

    On a terminal the column `wraps` has the room that the others leave, and a cell whose whole text has an entry in
    `styles` has that style. On standard error (`err`) it is printed as in a pipe.
    """
    rows = [[plain_line(cell) for cell in row] for row in cells]
    count = max(map(len, rows), default=0)
    least = [*widths, *[0] * count]
    wide = [max(least[at] - GAP, *(len(row[at]) for row in rows)) for at in range(count)]
    if err or not is_terminal():
        for row in rows:
            padded = [cell if at == wraps % count else cell.ljust(wide[at]) for at, cell in enumerate(row)]
            echo((" " * GAP).join(padded).rstrip(), err=err)
        for note in notes:
            echo(note, err=err)
        return
    page = _Page(screen_size()[0], is_colored=_is_colored())
    wide = [max(least[at] - GAP, *(_cells(row[at]) for row in rows)) for at in range(count)]
    if count:
        page.table(rows, wide, styles or {}, wraps % count)
    for note in notes:
        page.add(plain_line(note), DIM)
    echo_page(page.text())


def rendered(
    rows: Sequence[Row], words: Iterable[str], notes: Sequence[str] = (), *, width: int, is_colored: bool
) -> str:
    """Rows as a terminal of a width shows them: a blank line between two."""
    page, said = _Page(width, is_colored=is_colored), "|".join(re.escape(word) for word in words if word.strip())
    for number, row in enumerate(rows):
        page.add("") if number else None
        page.add(_text(row), sought=said)
        page.add(_about(row), DIM, INDENT) if any(row.about) else None
        for line in row.details:
            page.add(plain_line(line), indent=2 * INDENT)
    page.add("") if rows and notes else None
    for note in notes:
        page.add(plain_line(note), DIM)
    return page.text()


class _Page:
    """Lines of a width, with styles or without."""

    def __init__(self, width: int, *, is_colored: bool) -> None:
        self._width, self._is_colored = width, is_colored
        self._lines: list[str] = []

    def text(self) -> str:
        """All of them."""
        return "".join(f"{line}\n" for line in self._lines)

    def add(self, text: str, style: str = "", indent: str = "", sought: str = "") -> None:
        """A text, wrapped; what the pattern `sought` finds stands out."""
        for line in _wrapped(text, self._width - len(indent)):
            shown = self._styled(line, style)
            if sought and self._is_colored:
                shown = re.sub(sought, lambda found: self._styled(found[0], FOUND), line, flags=re.IGNORECASE)
            self._lines.append(indent + shown if line else "")

    def table(self, rows: Sequence[Sequence[str]], wide: list[int], styles: Mapping[str, str], wraps: int) -> None:
        """Columns of which one has the room that the others leave, and wraps; those behind it are dim."""
        taken = sum(wide) - wide[wraps] + GAP * (len(wide) - 1)
        widths = [*wide[:wraps], min(wide[wraps], max(MIN_ROOM, self._width - taken)), *wide[wraps + 1 :]]
        lefts = [sum(widths[:at]) + GAP * at for at in range(len(widths))]
        for row in rows:
            parts = [_wrapped(cell, widths[at]) if at == wraps else [cell] for at, cell in enumerate(row)]
            for pieces in zip_longest(*parts, fillvalue=""):
                line, shown = "", 0
                for at, piece in enumerate(pieces):
                    if piece:
                        style = styles.get(row[at], DIM if at > wraps else "")
                        line += " " * (lefts[at] - shown) + self._styled(piece, style)
                        shown = lefts[at] + _cells(piece)
                self._lines.append(line)

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self._is_colored else text


def _wrapped(text: str, width: int) -> list[str]:
    """The lines of a text, broken between words; a word that is wider than a line is broken anywhere."""
    lines = []
    for line in map(str.rstrip, text.expandtabs().split("\n")):
        start = 0
        while (end := _end(line, start, width)) < len(line):
            blank = line.rfind(" ", start, end + 1)
            end = blank if blank > start and not line[start:blank].isspace() else end
            lines.append(line[start:end].rstrip())
            start = end
            while line[start] == " ":
                start += 1
        lines.append(line[start:])
    return lines


def _end(line: str, start: int, width: int) -> int:
    """Where a line that begins at `start` is full."""
    if line[start : start + width + 1].isascii():
        return start + width
    for at in range(start, len(line)):
        width -= _cells(line[at])
        if width < 0:
            return max(at, start + 1)  # a letter that is wider than the line has one of its own
    return len(line)


def _cells(text: str) -> int:
    """How wide a text is on a terminal: letters of East Asia and pictures take two places, marks above letters none."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)


def _is_colored() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _text(row: Row) -> str:
    return plain(row.text) if row.is_whole else plain_line(row.text)


def _about(row: Row) -> str:
    return plain_line("  ".join(part for part in row.about if part))


def local_time(ts_ms: int | None, at_ms: int) -> str:
    """A moment as people say it where they are: today 16:43, yesterday 16:43, Fri 16:43, Feb 11 16:43, 2025-02-11."""
    if not ts_ms:
        return "undated"
    then, now = (datetime.fromtimestamp(ms / 1000, UTC).astimezone() for ms in (ts_ms, at_ms))
    days = (now.date() - then.date()).days
    if days in (0, 1):
        return f"{'yesterday' if days else 'today'} {then:%H:%M}"
    if 0 < days <= WEEK_DAYS:
        return f"{then:%a %H:%M}"
    return f"{then:%b} {then.day} {then:%H:%M}" if 0 < days <= YEAR_DAYS else f"{then:%Y-%m-%d}"


def memory_row(view: View, details: Sequence[str] = (), *, is_whole: bool = False) -> Row:
    """A memory: what it says, its type, its day, where it holds, what has become of it."""
    about = (view["type"], day(view["ts"]), *memory_marks(view), view["id"])
    return Row(view["text" if is_whole else "summary"], about, details, is_whole=is_whole)


def memory_brief(view: View) -> str:
    """The same on a line."""
    row = memory_row(view)
    return f"{row.text}  {_about(row)}"


def evidence_rows(evidence: Sequence[View]) -> list[Row]:
    """What bears a memory out."""
    heads = [
        (
            "of the words before" if view["is_earlier"] else "evidence",
            day(view["ts"]),
            kind_of(view),
            view["tool"] or "",
            view["id"],
        )
        for view in evidence
    ]
    return [Row(str(view["text"]), head, is_whole=True) for view, head in zip(evidence, heads, strict=True)]


def clocks(times: Sequence[str | None]) -> list[str]:
    """The moments of views in their order, by the clock; the date stands where another day begins."""
    found, before = [], ""
    for then in (datetime.fromisoformat(time).astimezone() if time else None for time in times):
        date = f"{then:%b} {then.day} " if then else before
        found.append(f"{date if before not in ('', date) else ''}{then:%H:%M}" if then else "")
        before = date
    return found


def day(time: str | None) -> str:
    """The moment of a view as people say it now."""
    return local_time(int(datetime.fromisoformat(time).timestamp() * 1000), now_ms()) if time else "undated"
