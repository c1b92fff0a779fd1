"""Session C: other work, with a compaction in the middle."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.client.script import call, say
from tests.client.tidepool.dialogue import ROOT, Session, Step, bash, write

ROLLUP = '''\
"""Hourly levels for the harbour board."""

import sqlite3
from statistics import median


def hourly(conn: sqlite3.Connection, gauge_id: str) -> dict[str, float]:
    hours: dict[str, list[float]] = {}
    rows = conn.execute("SELECT observed_at, level_m FROM readings WHERE gauge_id = ?", (gauge_id,))
    for observed_at, level in rows:
        hours.setdefault(observed_at[:13], []).append(level)
    return {hour: round(median(levels), 3) for hour, levels in sorted(hours.items())}
'''
TEST_ROLLUP = """\
import sqlite3

from tidepool.migrate import migrate
from tidepool.rollup import hourly
from tidepool.store import Reading, ReadingStore


def test_one_wave_spike_does_not_move_the_hour():
    conn = sqlite3.connect(":memory:")
    migrate(conn)
    store = ReadingStore(conn)
    for minute, level in (("00", 2.40), ("05", 2.41), ("10", 9.99), ("15", 2.42), ("20", 2.43)):
        store.add(Reading("HBR-02", f"2026-08-11T04:{minute}:00Z", level))
    assert hourly(conn, "HBR-02") == {"2026-08-11T04": 2.42}
"""
EXPORT = '''\
"""Writes hourly levels as CSV."""

import csv
import sqlite3
from typing import TextIO

from tidepool.rollup import hourly


def export_csv(conn: sqlite3.Connection, gauge_id: str, out: TextIO) -> None:
    writer = csv.writer(out, lineterminator="\\n")
    writer.writerow(["hour", "level_m"])
    for hour, level in hourly(conn, gauge_id).items():
        writer.writerow([f"{hour}:00Z", f"{level:.3f}"])
'''
SUMMARY = """<analysis>The work on the hourly rollup, step by step.</analysis>
<summary>
1. Request: hourly levels per gauge for the harbour board, without storing a second table.
2. Done: tidepool/rollup.py with hourly(conn, gauge_id), the median of each hour; tests/test_rollup.py passes.
3. Decided: the median and not the mean, because one wave spike moves a mean by more than a metre.
4. Next: a CSV export in tidepool/export.py with the columns hour, level_m.
</summary>"""

HOURLY = Session(
    session_id="e8a3b7d1-94c2-4f6e-b05d-3c1f8e7a6b59",
    start=datetime(2026, 10, 12, 9, 3, 18, tzinfo=UTC),
    commit="Export hourly levels as CSV",
    steps=[
        Step(
            "The harbour board wants hourly levels per gauge. No second table please, compute it from readings.",
            [
                call("Grep", "I'll see who reads levels today.", pattern="def levels", path=ROOT),
                say(
                    "Only `ReadingStore.levels` does. I would add `tidepool/rollup.py` with `hourly(conn, "
                    "gauge_id)`, grouping on the first 13 characters of `observed_at`. One question: mean or "
                    "median? HBR-02 sits where the ferry turns, and a single wake gives readings near 10 m."
                ),
            ],
        ),
        Step(
            "Median then. A wake must not move the hour.",
            [
                write("tidepool/rollup.py", ROLLUP),
                write("tests/test_rollup.py", TEST_ROLLUP),
                bash("pytest tests/test_rollup.py", "Run the rollup test"),
                say(
                    "`hourly` uses the median and not the mean, because one ferry wake of 9.99 m moves a mean by "
                    "more than a metre and leaves the median where it is; test_rollup.py holds that."
                ),
            ],
        ),
        Step("/compact keep what was decided and what comes next", summary=SUMMARY),
        Step(
            "Now the CSV export. Three decimals, the hour in UTC with a Z.",
            [
                write("tidepool/export.py", EXPORT),
                bash(
                    'python -c "import sqlite3, sys; from tidepool.migrate import migrate; '
                    "from tidepool.export import export_csv; c = sqlite3.connect(':memory:'); migrate(c); "
                    "export_csv(c, 'HBR-02', sys.stdout)\"",
                    "Export an empty gauge",
                ),
                say(
                    "`export_csv` writes the header and one row an hour, `level_m` with three decimals. An empty "
                    "gauge gives only the header."
                ),
            ],
        ),
        Step(
            "Anything left for the next time?",
            [
                say(
                    "One thing. NWP-04 has a gap from 2026-09-20 to 2026-09-23 while its modem was swapped; once "
                    "the operator uploads the buffer, export those days again, since the board already has a file "
                    "with the gap in it."
                )
            ],
        ),
    ],
)
