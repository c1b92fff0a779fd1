"""Rows as people see them."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import pytest

from howcome.present.screen import Row, local_time, rendered, show_rows

ROWS = [
    Row("The poller asks each gauge once a minute, because the buoy's modem sleeps in between.", ("today", "ev-1f")),
    Row("The lantern\x1b[2J is dark.", ("", "ev-2e"), ["agent: it blinks"]),
]
PROGRAM = """
from howcome.present.screen import Row, show_rows
show_rows([Row("The poller sleeps.", ("today", "ev-1f"))] * {count}, ["poller"])
"""


def test_a_terminal_wraps_and_lets_words_stand_out() -> None:
    """To its width; what was stored cannot clear it."""
    shown = rendered(ROWS, ["POLLER"], width=40, is_colored=True)
    lines = re.sub(r"\x1b\[[\d;]*m", "", shown).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[0] == "The poller asks each gauge once a"
    assert "\x1b[1;31mpoller\x1b[0m" in shown
    assert "\x1b[2J" not in shown
    assert "    agent: it blinks" in lines


def test_without_color_nothing_is_styled() -> None:
    """As NO_COLOR asks for."""
    assert "\x1b" not in rendered(ROWS, ["poller"], ["more"], width=80, is_colored=False)


def test_a_pipe_gets_whole_lines(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is wrapped or styled there."""
    show_rows(ROWS, ["poller"], ["That is all."])
    assert capsys.readouterr().out == (
        "The poller asks each gauge once a minute, because the buoy's modem sleeps in between.\n  today  ev-1f\n"
        "The lantern[2J is dark.\n  ev-2e\n    agent: it blinks\nThat is all.\n"
    )


@pytest.mark.parametrize(
    ("then", "said"),
    [
        ("2026-03-20T08:05", "today 08:05"),
        ("2026-03-19T23:59", "yesterday 23:59"),
        ("2026-03-16T10:00", "Mon 10:00"),
        ("2026-02-01T10:00", "Feb 1 10:00"),
        ("2024-03-20T10:00", "2024-03-20"),
        ("2026-03-21T00:30", "2026-03-21"),
    ],
)
def test_times_are_said_as_people_say_them(then: str, said: str) -> None:
    """In their own zone; what lies ahead by its date."""
    now_ms, then_ms = (int(datetime.fromisoformat(at).timestamp() * 1000) for at in ("2026-03-20T12:00", then))
    assert local_time(then_ms, now_ms) == said


def test_wide_letters_and_long_words_keep_to_the_width() -> None:
    """A letter of East Asia takes two places, a mark above a letter none; a word without blanks is broken anywhere."""
    marked, wide = "e\u0301", "\u8868"
    shown = rendered([Row("x" * 45), Row(f"{marked} {marked} " * 4 + f"{wide} " * 11)], [], width=20, is_colored=False)
    assert shown.splitlines() == [
        "x" * 20, "x" * 20, "x" * 5, "", " ".join([marked] * 8 + [wide]), " ".join([wide] * 7), " ".join([wide] * 3)
    ]  # fmt: skip


@pytest.mark.parametrize(("count", "paged"), [(1, False), (200, True)])
def test_what_is_longer_than_the_terminal_goes_through_a_pager(tmp_path: Path, count: int, *, paged: bool) -> None:
    """A real terminal; the pager is whatever PAGER names, and may show colours."""
    pager = tmp_path / "pager"
    pager.write_text("#!/bin/sh\ncat >/dev/null\necho PAGED $LESS\n")
    pager.chmod(0o755)
    shown = _shown(str(pager), count)
    assert (b"PAGED -R" in shown) is paged
    assert (b"poller" in shown) is not paged


def test_without_a_pager_all_is_printed(tmp_path: Path) -> None:
    """PAGER names nothing that is there."""
    assert _shown(str(tmp_path / "nothing"), 200).count(b"poller") == 200


def _shown(pager: str, count: int) -> bytes:
    leader, follower = pty.openpty()
    env = {**os.environ, "PAGER": pager, "TERM": "xterm"}
    program = [sys.executable, "-c", PROGRAM.format(count=count)]
    started = subprocess.Popen(program, stdin=follower, stdout=follower, stderr=follower, env=env)
    os.close(follower)
    shown, end = b"", time.monotonic() + 20
    while time.monotonic() < end and select.select([leader], [], [], 0.2 if started.poll() is not None else 20)[0]:
        try:
            shown += os.read(leader, 4096)
        except OSError:  # the other side is closed
            break
    assert started.wait(10) == 0
    os.close(leader)
    return shown


def test_wide_letters_have_their_room_and_the_end_is_reached() -> None:
    """A letter of East Asia takes two places, also where a line has one."""
    assert rendered([Row("日本語", ())], (), width=1, is_colored=False).split() == ["日", "本", "語"]
