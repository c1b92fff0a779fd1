"""Session B: a migration that fails half-way, its cause, its fix, and the rule that follows."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.client.script import say
from tests.client.tidepool.dialogue import Session, Step, bash, edit, read, write
from tests.client.tidepool.project import MIGRATION_3

if TYPE_CHECKING:
    from pathlib import Path

MIGRATE_OLD = """        conn.executescript(path.read_text())
        conn.execute(f"PRAGMA user_version = {int(path.name[:4])}")
"""
MIGRATE_NEW = """        apply_one(conn, path)
"""
APPLY_OLD = """def migrate(conn: sqlite3.Connection) -> int:
"""
APPLY_NEW = '''def apply_one(conn: sqlite3.Connection, path: Path) -> None:
    """One transaction for the statements of a file and the version they lead to."""
    conn.execute("BEGIN IMMEDIATE")
    try:
        for statement in path.read_text().split(";"):
            if statement.strip():
                conn.execute(statement)
        conn.execute(f"PRAGMA user_version = {int(path.name[:4])}")
    except sqlite3.Error:
        conn.execute("ROLLBACK")
        raise
    conn.execute("COMMIT")


def migrate(conn: sqlite3.Connection) -> int:
'''
TEST_MIGRATE = """\
import sqlite3

import pytest

from tidepool import migrate as module


def test_a_failed_migration_leaves_nothing_behind(tmp_path, monkeypatch):
    (tmp_path / "0001_t.sql").write_text("CREATE TABLE t (a);")
    (tmp_path / "0002_bad.sql").write_text("ALTER TABLE t ADD COLUMN b; CREATE INDEX i ON t (nosuch);")
    monkeypatch.setattr(module, "FOLDER", tmp_path)
    conn = sqlite3.connect(":memory:")
    with pytest.raises(sqlite3.OperationalError, match="nosuch"):
        module.migrate(conn)
    assert conn.execute("PRAGMA user_version").fetchone() == (1,)
    assert [row[1] for row in conn.execute("PRAGMA table_info(t)")] == ["a"]
"""
CONTRIBUTING = """\
# Contributing

* Never call `executescript` in a migration. Always run statements one by one in the transaction that bumps
  `user_version` (`apply_one` in tidepool/migrate.py does).
* A migration that has been deployed is never edited; add the next number.
"""
APPLY = "python -m tidepool.migrate --db var/dev.db"
REPAIR = (
    "python -c \"import sqlite3; c = sqlite3.connect('var/dev.db'); "
    "c.execute('ALTER TABLE readings DROP COLUMN quality_flag'); c.commit()\""
)


def add_migration(project: Path) -> None:
    """Put the person's own new migration into the tree, with its typo."""
    (project / "tidepool/migrations/0003_quality_flag.sql").write_text(MIGRATION_3, encoding="utf-8")
    (project / "var").mkdir(exist_ok=True)


MIGRATION = Session(
    session_id="c41d7e96-2f58-4b0c-8e13-7a9f5d60b2c4",
    start=datetime(2026, 9, 29, 13, 47, 5, tzinfo=UTC),
    commit="Apply each migration in one transaction",
    prepare=add_migration,
    steps=[
        Step(
            "I added 0003_quality_flag.sql this morning and it dies on my dev database. Can you find out why?",
            [
                bash(APPLY, "Apply the migrations to the dev database", "Let me see it fail."),
                read("tidepool/migrations/0003_quality_flag.sql"),
                edit(
                    "tidepool/migrations/0003_quality_flag.sql",
                    "observed_ts",
                    "observed_at",
                    "The index names a column that does not exist: it is `observed_at`.",
                ),
                bash(APPLY, "Apply the migrations again"),
                read("tidepool/migrate.py", "A different error now, so the first attempt left a trace."),
                say(
                    "Two errors on top of each other. The first was a typo, `observed_ts` for `observed_at`. The "
                    "second, `duplicate column name: quality_flag`, is the real one: `executescript` commits "
                    "before it starts and runs outside any transaction, so the ALTER TABLE of the failed attempt "
                    "stayed while `user_version` was still 2. Every migration that fails in its second statement "
                    "leaves a database that cannot be migrated again.",
                    thinking="sqlite3.executescript issues COMMIT first; the with-block around it protects nothing.",
                ),
            ],
        ),
        Step(
            "Ugh. Fix migrate.py so that this cannot happen to anybody else.",
            [
                edit("tidepool/migrate.py", MIGRATE_OLD, MIGRATE_NEW),
                edit("tidepool/migrate.py", APPLY_OLD, APPLY_NEW),
                write("tests/test_migrate.py", TEST_MIGRATE),
                bash("pytest tests/test_migrate.py", "Run the new test"),
                say(
                    "`apply_one` now runs the statements of a file one by one inside BEGIN IMMEDIATE, and the "
                    "`user_version` bump is in the same transaction; a failure rolls both back. The new test "
                    "breaks a migration in its second statement and finds the table unchanged."
                ),
            ],
        ),
        Step(
            "And my dev database?",
            [
                bash(REPAIR, "Drop the column that the failed attempt left"),
                bash(APPLY, "Apply the migrations"),
                bash("pytest", "Run all tests"),
                say("Repaired: I dropped the stray quality_flag column, 0003 applied, and all tests pass."),
            ],
        ),
        Step(
            "Good. Rule for this repository from now on: never call executescript in a migration, always run "
            "statements one by one in the transaction that bumps user_version. Put it into CONTRIBUTING.md.",
            [
                write("CONTRIBUTING.md", CONTRIBUTING),
                say(
                    "Written to CONTRIBUTING.md. One limit to know: `apply_one` splits on semicolons, so a trigger "
                    "body in a migration needs a proper statement splitter first."
                ),
            ],
        ),
    ],
)
