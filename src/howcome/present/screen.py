"""Rows for people: what each says first; below it when, who and which.

On a terminal they are wrapped to its width, the words that were searched for stand out, and what is longer than the
terminal is high goes through a pager. In a pipe, and with NO_COLOR, they are plain.
"""

from __future__ import annotations

import os
import shutil
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from howcome.present.render import plain_line
from howcome.present.terminal import echo, echo_page
from howcome.present.views import memory_marks

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.present.views import View

INDENT = "  "
WEEK_DAYS, YEAR_DAYS = 6, 300
DAY_MS = 86_400_000


class Row(NamedTuple):
    """One thing on the screen.

    Attributes:
        text: What it says.
        about: When, who, which: short parts, the id last. An empty one is left out.
        details: Further lines.
    """

    text: str
    about: Sequence[str] = ()
    details: Sequence[str] = ()


def show_rows(rows: Sequence[Row], words: Iterable[str] = (), notes: Sequence[str] = ()) -> None:
    """Prints rows, then notes. `words` stand out on a terminal."""
    if not sys.stdout.isatty():
        for line in (line for row in rows for line in _plain(row)):
            echo(line)
        for note in notes:
            echo(note)
        return
    width = max(20, shutil.get_terminal_size().columns)
    echo_page(rendered(rows, words, notes, width=width, is_colored=not os.environ.get("NO_COLOR")))


def rendered(
    rows: Sequence[Row], words: Iterable[str], notes: Sequence[str] = (), *, width: int, is_colored: bool
) -> str:
    """Rows as a terminal of a width shows them."""
    from rich.console import Console  # 50 ms, which no pipe pays
    from rich.padding import Padding
    from rich.text import Text

    system: Literal["standard"] | None = "standard" if is_colored else None
    console = Console(
        width=width, force_terminal=is_colored, color_system=system, highlight=False, legacy_windows=False
    )
    said = [word for word in words if word.strip()]
    with console.capture() as shown:
        for row in rows:
            text = Text(plain_line(row.text))
            text.highlight_words(said, "bold red", case_sensitive=False)
            console.print(text)
            below = Text(_about(row), "dim")
            console.print(Padding(below, (0, 0, 0, len(INDENT))))
            for line in row.details:
                console.print(Padding(Text(plain_line(line)), (0, 0, 0, 2 * len(INDENT))))
        for note in notes:
            console.print(Text(plain_line(note), "dim"))
    lines = (line.rstrip() for line in shown.get().splitlines())
    return "".join(f"{line}\n" for line in lines)


def _plain(row: Row) -> list[str]:
    return [plain_line(row.text), f"{INDENT}{_about(row)}", *(2 * INDENT + plain_line(line) for line in row.details)]


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


def memory_row(view: View, now_ms: int, details: Sequence[str] = ()) -> Row:
    """A memory: what it says, its type, its day, where it holds, what has become of it."""
    return Row(view["summary"], (view["type"], day(view["ts"], now_ms), *memory_marks(view), view["id"]), details)


def day(time: str | None, now_ms: int) -> str:
    """The moment of a view as people say it."""
    return local_time(int(datetime.fromisoformat(time).timestamp() * 1000), now_ms) if time else "undated"
