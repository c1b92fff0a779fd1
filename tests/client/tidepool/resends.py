"""Session A: how resent readings are told apart, with a rejected alternative."""

from __future__ import annotations

from datetime import UTC, datetime

from tests.client.script import call, say
from tests.client.tidepool.dialogue import Session, Step, bash, edit, read, write

UPSERT_OLD = """            "INSERT INTO readings (gauge_id, observed_at, level_m, revision) VALUES (?, ?, ?, ?)",
            (reading.gauge_id, reading.observed_at, reading.level_m, reading.revision),
"""
UPSERT_NEW = """            "INSERT INTO readings (gauge_id, observed_at, level_m, revision) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (gauge_id, observed_at) "
            "DO UPDATE SET level_m = excluded.level_m, revision = excluded.revision "
            "WHERE excluded.revision > readings.revision",
            (reading.gauge_id, reading.observed_at, reading.level_m, reading.revision),
"""
MIGRATION_2 = "CREATE UNIQUE INDEX readings_identity ON readings (gauge_id, observed_at);\n"
TEST_STORE = """\
import sqlite3

import pytest

from tidepool.migrate import migrate
from tidepool.store import Reading, ReadingStore

AT = "2026-08-11T04:10:00Z"


@pytest.fixture
def store():
    conn = sqlite3.connect(":memory:")
    migrate(conn)
    return ReadingStore(conn)


def test_a_resent_reading_is_stored_once(store):
    store.add(Reading("HBR-02", AT, 2.434))
    store.add(Reading("HBR-02", AT, 2.434))
    assert store.levels("HBR-02") == [(AT, 2.434)]


def test_a_higher_revision_replaces_and_a_lower_one_does_not(store):
    store.add(Reading("NWP-04", AT, 1.92, revision=1))
    store.add(Reading("NWP-04", AT, 1.95, revision=2))
    store.add(Reading("NWP-04", AT, 1.92, revision=1))
    assert store.levels("NWP-04") == [(AT, 1.95)]
"""
DECISIONS = """\
# Decisions

## Resent readings (2026-09-14)

Readings are identified by (gauge_id, observed_at); `ReadingStore.add` upserts and keeps the higher `revision`.
Rejected: a Redis seen-set with a TTL. It is lost at a restart while HBR-02 resends up to 72 hours, and it cannot tell a
correction of NWP-04 from a repeat.
"""
SURVEY = call(
    "Agent",
    "Before proposing anything I want to know what the gauges really resend.",
    description="Survey gauge resends",
    subagent_type="general-purpose",
    run_in_background=False,
    prompt="Read docs/gauges.md and samples/outage.ndjson in this repository and report, per gauge, which "
    "readings come twice, how late, and whether `rev` changes between the copies. Report only, change nothing.",
)

RESENDS = Session(
    session_id="5f0c8a52-6b1e-4d3a-9a77-0e4b1c9d2a10",
    start=datetime(2026, 9, 14, 8, 12, 40, tzinfo=UTC),
    commit="Deduplicate resent readings by identity and revision",
    steps=[
        Step(
            "HBR-02 came back from its outage last night and now every level shows up twice in the morning "
            "report. Look at how ingest handles resends before you change anything.",
            [
                read("tidepool/ingest.py", "I'll read the ingest path and the store first."),
                read("tidepool/store.py"),
                SURVEY,
                say(
                    "Ingest has no notion of a resend: `ReadingStore.add` is a plain INSERT and `readings` has no "
                    "unique key, so every buffered message of HBR-02 becomes a second row. Two ways out:\n\n"
                    "1. A Redis seen-set in front of the store, keyed by message hash, with a TTL.\n"
                    "2. A unique key on (gauge_id, observed_at) and an upsert that looks at `revision`.\n\n"
                    "The second also settles the corrected values of NWP-04, which the hash of option 1 would let "
                    "through as new readings."
                ),
            ],
            [
                read("docs/gauges.md"),
                bash("sort samples/outage.ndjson | uniq -d", "List messages that occur twice"),
                say(
                    "HBR-02 repeats 4 of 6 messages byte for byte, `rev` stays 1; its buffer reaches back 72 h. "
                    "NWP-04 sends 2 of 4 timestamps again with `rev` 2 and a level 0.030 m higher. SLT-11 does "
                    "not occur and never resends according to docs/gauges.md."
                ),
            ],
        ),
        Step(
            "Redis would be quick to add, we already run it for the dashboards. Any reason not to?",
            [
                say(
                    "Yes, three. The seen-set is gone after a Redis restart, and HBR-02 resends up to 72 h, so a "
                    "restart within that window brings the duplicates back. A TTL of 72 h times 5 minutes times "
                    'every gauge is state we would have to size and watch. And it can only say "seen", not '
                    '"this is a correction", so NWP-04\'s `rev` 2 values need a second mechanism anyway.',
                    thinking="The dashboards' Redis has no persistence. That decides it.",
                )
            ],
        ),
        Step(
            "Convinced. Go with the upsert, and write the reasons down where the next person finds them.",
            [
                write("tidepool/migrations/0002_identity.sql", MIGRATION_2),
                edit("tidepool/store.py", UPSERT_OLD, UPSERT_NEW),
                write("tests/test_store.py", TEST_STORE),
                bash("pytest", "Run the tests"),
                write("docs/decisions.md", DECISIONS),
                say(
                    "Done and green. We decided to deduplicate readings on (gauge_id, observed_at) with an upsert "
                    "that keeps the higher revision, instead of a Redis seen-set, because the seen-set is lost at "
                    "a restart while HBR-02 resends up to 72 hours, and because it cannot tell a correction from "
                    "a repeat. The migration is 0002_identity.sql; the reasons are in docs/decisions.md."
                ),
            ],
        ),
        Step(
            "What happens to the duplicate rows that are already in production?",
            [
                say(
                    "0002_identity.sql would fail on them: `UNIQUE constraint failed: readings.gauge_id, "
                    "readings.observed_at`. They have to go first. Open point: run the clean-up query on the "
                    "production database before the deploy, keeping the row with the highest revision per "
                    "(gauge_id, observed_at)."
                )
            ],
        ),
    ],
)
