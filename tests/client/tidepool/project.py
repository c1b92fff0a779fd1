"""The files of `tidepool`, the invented project that the sample sessions work on."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

PYPROJECT = """\
[project]
name = "tidepool"
version = "0.6.0"
requires-python = ">=3.11"

[tool.pytest.ini_options]
testpaths = ["tests"]
addopts = "-q -p no:cacheprovider"
"""

README = """\
# tidepool

Ingests readings of tide gauges, keeps them in SQLite, and serves levels to the harbour board.

    python -m tidepool.migrate --db var/dev.db
    python -m tidepool.ingest --db var/dev.db samples/outage.ndjson
"""

GAUGES = """\
# Gauges

| gauge | place | sends | after an outage |
|---|---|---|---|
| HBR-02 | outer harbour | every 5 min | resends everything it buffered, up to 72 h |
| NWP-04 | north wharf | every 10 min | resends the last 24 h, corrected values carry `rev` 2 or more |
| SLT-11 | salt marsh | every 10 min | never resends |

`rev` starts at 1. The firmware raises it when the operator recalibrates the float.
"""

STORE = '''\
"""Readings in SQLite."""

import sqlite3
from dataclasses import dataclass


@dataclass(frozen=True)
class Reading:
    gauge_id: str
    observed_at: str
    level_m: float
    revision: int = 1


class ReadingStore:
    def __init__(self, conn: sqlite3.Connection) -> None:
        self.conn = conn

    def add(self, reading: Reading) -> None:
        self.conn.execute(
            "INSERT INTO readings (gauge_id, observed_at, level_m, revision) VALUES (?, ?, ?, ?)",
            (reading.gauge_id, reading.observed_at, reading.level_m, reading.revision),
        )

    def levels(self, gauge_id: str) -> list[tuple[str, float]]:
        rows = self.conn.execute(
            "SELECT observed_at, level_m FROM readings WHERE gauge_id = ? ORDER BY observed_at", (gauge_id,)
        )
        return list(rows)
'''

INGEST = '''\
"""Reads newline-delimited gauge messages into the store."""

import argparse
import json
import sqlite3
from collections.abc import Iterable

from tidepool.store import Reading, ReadingStore


def parse_message(line: str) -> Reading:
    raw = json.loads(line)
    return Reading(raw["gauge"], raw["t"], float(raw["level"]), int(raw.get("rev", 1)))


def ingest(store: ReadingStore, lines: Iterable[str]) -> int:
    count = 0
    for line in lines:
        store.add(parse_message(line))
        count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--db", required=True)
    parser.add_argument("source")
    options = parser.parse_args()
    conn = sqlite3.connect(options.db)
    with conn, open(options.source, encoding="utf-8") as lines:
        print(ingest(ReadingStore(conn), lines), "readings")


if __name__ == "__main__":
    main()
'''

MIGRATE = '''\
"""Applies the numbered SQL files of tidepool/migrations."""

import argparse
import sqlite3
from pathlib import Path

FOLDER = Path(__file__).parent / "migrations"


def pending(conn: sqlite3.Connection) -> list[Path]:
    done = conn.execute("PRAGMA user_version").fetchone()[0]
    return [path for path in sorted(FOLDER.glob("*.sql")) if int(path.name[:4]) > done]


def migrate(conn: sqlite3.Connection) -> int:
    files = pending(conn)
    for path in files:
        conn.executescript(path.read_text())
        conn.execute(f"PRAGMA user_version = {int(path.name[:4])}")
    return len(files)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--db", required=True)
    options = parser.parse_args()
    with sqlite3.connect(options.db) as conn:
        print(migrate(conn), "migrations applied")


if __name__ == "__main__":
    main()
'''

MIGRATION_1 = """\
CREATE TABLE readings (
  gauge_id TEXT NOT NULL,
  observed_at TEXT NOT NULL,
  level_m REAL NOT NULL,
  revision INTEGER NOT NULL DEFAULT 1
);
"""

MIGRATION_3 = """\
ALTER TABLE readings ADD COLUMN quality_flag TEXT NOT NULL DEFAULT 'raw';
CREATE INDEX readings_by_quality ON readings (quality_flag, observed_ts);
"""

TEST_INGEST = """\
import sqlite3

from tidepool.ingest import ingest, parse_message
from tidepool.migrate import migrate
from tidepool.store import ReadingStore

LINE = '{"gauge": "HBR-02", "t": "2026-08-11T04:05:00Z", "level": "2.417"}'


def test_parse_message_defaults_to_the_first_revision():
    assert parse_message(LINE).revision == 1


def test_ingest_counts_lines():
    conn = sqlite3.connect(":memory:")
    migrate(conn)
    assert ingest(ReadingStore(conn), [LINE]) == 1
"""

FILES = {
    "pyproject.toml": PYPROJECT,
    "README.md": README,
    "docs/gauges.md": GAUGES,
    "tidepool/__init__.py": "",
    "tidepool/store.py": STORE,
    "tidepool/ingest.py": INGEST,
    "tidepool/migrate.py": MIGRATE,
    "tidepool/migrations/0001_readings.sql": MIGRATION_1,
    "tests/test_ingest.py": TEST_INGEST,
    ".gitignore": "var/\n__pycache__/\n",
}


def outage_lines() -> str:
    """A short recording of two gauges around an outage, with late repeats and corrections."""
    start = datetime(2026, 8, 11, 4, 0, tzinfo=UTC)
    first = [_line("HBR-02", start + timedelta(minutes=5 * i), 2.40 + 0.017 * i, 1) for i in range(6)]
    wharf = [_line("NWP-04", start + timedelta(minutes=10 * i), 1.90 + 0.02 * i, 1) for i in range(4)]
    fixed = [_line("NWP-04", start + timedelta(minutes=10 * i), 1.93 + 0.02 * i, 2) for i in range(2)]
    return "\n".join(first + wharf + first[2:] + fixed) + "\n"


def _line(gauge: str, moment: datetime, level: float, revision: int) -> str:
    """Build one gauge message."""
    message = {"gauge": gauge, "t": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "level": f"{level:.3f}", "rev": revision}
    return json.dumps(message)


def build(root: Path) -> Path:
    """Write the project with its first commit and a `bin` folder of tools beside it; return the project."""
    project = root / "tidepool"
    for name, text in {**FILES, "samples/outage.ndjson": outage_lines()}.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _tools(root / "bin")
    commit(project, "Ingest gauge messages into SQLite", first=True)
    return project


def _tools(folder: Path) -> None:
    """Put `python` and `pytest` of this interpreter on a path of their own."""
    folder.mkdir()
    for name, module in (("python", ""), ("pytest", "-m pytest")):
        tool = folder / name
        tool.write_text(f'#!/bin/sh\nexec "{sys.executable}" {module} "$@"\n', encoding="utf-8")
        tool.chmod(0o755)


def commit(project: Path, message: str, *, first: bool = False) -> None:
    """Commit everything, as nobody in particular."""
    who = ["-c", "user.name=dev", "-c", "user.email=dev@example.invalid"]
    steps = [["init", "-q", "-b", "main"]] if first else []
    steps += [["add", "-A"], [*who, "commit", "-q", "-m", message]]
    for step in steps:
        subprocess.run(["git", *step], cwd=project, check=True, capture_output=True)
