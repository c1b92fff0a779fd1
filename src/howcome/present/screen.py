"""Rows for people: what each says first; below it when, who and which.

On a terminal they are wrapped to its width, the words that were searched for stand out, and what is longer than the
terminal is high goes through a pager. In a pipe, and with NO_COLOR, they are plain.
"""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

from howcome.present.render import plain, plain_line
from howcome.present.terminal import echo, echo_page, echo_text
from howcome.present.views import kind_of, memory_marks

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Literal

    from rich.console import RenderableType

    from howcome.present.views import View

INDENT, GAP = "  ", 2
WEEK_DAYS, YEAR_DAYS = 6, 300
DAY_MS = 86_400_000


class Row:
    """One thing on the screen.

    Attributes:
        text: What it says.
        about: When, who, which: short parts, the id last. An empty one is left out.
        details: Further lines.
        is_whole: The text keeps its lines: somebody asked for all of it.
    """

    __slots__ = ("about", "details", "is_whole", "text")

    def __init__(
        self, text: str, about: Sequence[str] = (), details: Sequence[str] = (), *, is_whole: bool = False
    ) -> None:
        self.text, self.about, self.details, self.is_whole = text, about, details, is_whole


def is_terminal() -> bool:
    """Whether a person looks on: rows are wrapped and styled for a terminal only."""
    return sys.stdout is not None and sys.stdout.isatty()


def show_rows(rows: Sequence[Row], words: Iterable[str] = (), notes: Sequence[str] = ()) -> None:
    """Prints rows, then notes. `words` stand out on a terminal."""
    if not is_terminal():
        for line in (line for row in rows for line in _plain(row)):
            echo_text(line)
        for note in notes:
            echo(note)
        return
    echo_page(rendered(rows, words, notes, width=_width(), is_colored=_is_colored()))


def say(*lines: str) -> None:
    """Prints sentences; on a terminal they break between words."""
    if lines and is_terminal():
        from rich.text import Text

        echo_text(_page([Text(plain_line(line)) for line in lines], _width(), is_colored=False).rstrip("\n"))
        return
    for line in lines:
        echo(line)


def show_table(
    cells: Sequence[Sequence[str]], widths: Sequence[int] = (), styles: Mapping[str, str] | None = None,
    notes: Sequence[str] = (), *, wraps: int = -1, err: bool = False,
) -> None:  # fmt: skip
    """Prints columns, then notes; on a terminal one of them wraps, and what has an entry in `styles` has that style.

    Args:
        cells: What stands in each line.
        widths: How wide the first columns are at least, with the blanks behind them.
        styles: A cell's whole text to its style.
        notes: What is printed below.
        wraps: Which column has the room that the others leave.
        err: On standard error, as in a pipe.
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
    echo_page(_columns(rows, wide, styles or {}, notes, wraps % count if count else 0))


def _columns(
    rows: Sequence[Sequence[str]], wide: Sequence[int], styles: Mapping[str, str], notes: Sequence[str], wraps: int
) -> str:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, GAP, 0, 0))
    for at, most in enumerate(wide):
        table.add_column(
            width=None if at == wraps else most, no_wrap=at != wraps, overflow="fold", style="dim" if at > wraps else ""
        )
    for row in rows:
        table.add_row(*(Text(cell, styles.get(cell, "")) for cell in row))
    return _page([table, *(Text(plain_line(note), "dim") for note in notes)], _width(), is_colored=_is_colored())


def rendered(
    rows: Sequence[Row], words: Iterable[str], notes: Sequence[str] = (), *, width: int, is_colored: bool
) -> str:
    """Rows as a terminal of a width shows them: a blank line between two."""
    from rich.padding import Padding  # 50 ms, which no pipe pays
    from rich.text import Text

    said = [word for word in words if word.strip()]
    parts: list[RenderableType] = []
    for row in rows:
        text = Text(_text(row))
        text.highlight_words(said, "bold red", case_sensitive=False)
        parts.append(text)
        parts += [Padding(Text(about, "dim"), (0, 0, 0, len(INDENT)))] if (about := _about(row)) else []
        parts += [Padding(Text(plain_line(line)), (0, 0, 0, 2 * len(INDENT))) for line in row.details]
        parts.append("")
    parts += [Text(plain_line(note), "dim") for note in notes]
    return _page(parts if notes else parts[:-1], width, is_colored=is_colored)


def _page(parts: Sequence[RenderableType], width: int, *, is_colored: bool) -> str:
    from rich.console import Console

    system: Literal["standard"] | None = "standard" if is_colored else None
    console = Console(
        width=width, force_terminal=is_colored, color_system=system, highlight=False, legacy_windows=False
    )
    with console.capture() as shown:
        for part in parts:
            console.print(part)
    lines = (line.rstrip() for line in shown.get().splitlines())
    return "".join(f"{line}\n" for line in lines)


def _width() -> int:
    import shutil

    return max(20, shutil.get_terminal_size().columns)


def _is_colored() -> bool:
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _text(row: Row) -> str:
    return plain(row.text) if row.is_whole else plain_line(row.text)


def _plain(row: Row) -> list[str]:
    about = [f"{INDENT}{line}"] if (line := _about(row)) else []
    return [_text(row), *about, *(2 * INDENT + plain_line(line) for line in row.details)]


def _about(row: Row) -> str:
    return plain_line("  ".join(part for part in row.about if part))


def local_time(ts_ms: int | None, now_ms: int) -> str:
    """A moment as people say it where they are: today 16:43, yesterday 16:43, Fri 16:43, Feb 11 16:43, 2025-02-11."""
    if not ts_ms:
        return "undated"
    then, now = (datetime.fromtimestamp(ms / 1000, UTC).astimezone() for ms in (ts_ms, now_ms))
    days = (now.date() - then.date()).days
    if days in (0, 1):
        return f"{'yesterday' if days else 'today'} {then:%H:%M}"
    if 0 < days <= WEEK_DAYS:
        return f"{then:%a %H:%M}"
    return f"{then:%b} {then.day} {then:%H:%M}" if 0 < days <= YEAR_DAYS else f"{then:%Y-%m-%d}"


def memory_row(view: View, now_ms: int, details: Sequence[str] = (), *, is_whole: bool = False) -> Row:
    """A memory: what it says, its type, its day, where it holds, what has become of it."""
    about = (view["type"], day(view["ts"], now_ms), *memory_marks(view), view["id"])
    return Row(view["text" if is_whole else "summary"], about, details, is_whole=is_whole)


def memory_brief(view: View, now_ms: int) -> str:
    """The same on a line."""
    row = memory_row(view, now_ms)
    return f"{row.text}  {_about(row)}"


def evidence_rows(evidence: Sequence[View], now_ms: int) -> list[Row]:
    """What bears a memory out."""
    return [
        Row(str(view["text"]), ("evidence", day(view["ts"], now_ms), kind_of(view), view["tool"] or "", view["id"]),
            is_whole=True)
        for view in evidence
    ]  # fmt: skip


def clocks(times: Sequence[str | None]) -> list[str]:
    """The moments of views in their order, by the clock; the date stands where another day begins."""
    found, before = [], ""
    for then in (datetime.fromisoformat(time).astimezone() if time else None for time in times):
        date = f"{then:%b} {then.day} " if then else before
        found.append(f"{date if before not in ('', date) else ''}{then:%H:%M}" if then else "")
        before = date
    return found


def day(time: str | None, now_ms: int) -> str:
    """The moment of a view as people say it."""
    return local_time(int(datetime.fromisoformat(time).timestamp() * 1000), now_ms) if time else "undated"
