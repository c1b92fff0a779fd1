"""The tables of a PostgreSQL store: numbered migrations, and events in parts by time as the server can have them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import psycopg

from howcome.errors import StoreError, StoreMissingError, StoreNewerError

if TYPE_CHECKING:
    from typing import Any

SCHEMA = "howcome"
"""The schema of the database that all tables are in."""

POSTGRES_VERSION = 5
_MIGRATIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "postgres_migrations")
_LOCK = 0x686F77636F6D65
"""Who migrates holds this advisory lock ("howcome")."""

LEAST_SERVER = 130000
"""The oldest PostgreSQL that knows `anycompatible` and `gen_random_uuid`."""

NONE, APACHE, TIMESCALE = "", "apache", "timescale"
_PARTITIONED, _MARKED = " PARTITION BY RANGE (ts)", " /* PARTITIONED */"
_MONTHS = (
    "CREATE TABLE events_before PARTITION OF events FOR VALUES FROM (MINVALUE) TO ('2020-01-01 00:00Z')",
    "CREATE TABLE events_later PARTITION OF events FOR VALUES FROM ('2100-01-01 00:00Z') TO (MAXVALUE)",
    """CREATE FUNCTION add_events_of(month date) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
    SET search_path = pg_catalog AS $$
    DECLARE name text := 'events_' || to_char(month, 'YYYY_MM');
    BEGIN
        IF to_regclass('howcome.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE howcome.%I (LIKE howcome.events INCLUDING ALL)', name);
            EXECUTE format('ALTER TABLE howcome.events ATTACH PARTITION howcome.%I FOR VALUES FROM (%L) TO (%L)', name,
                month::timestamp AT TIME ZONE 'UTC', (month + interval '1 month') AT TIME ZONE 'UTC');
        END IF;
    END $$""",
)
"""Made apart and attached: nobody's reading waits for that. Clocks that are decades off share two parts."""

_HYPERTABLE = (
    """SELECT create_hypertable('howcome.events', 'ts', chunk_time_interval => interval '7 days',
    create_default_indexes => FALSE)""",
)
_COMPRESSION = (
    """ALTER TABLE howcome.events SET (timescaledb.compress, timescaledb.compress_segmentby = 'session_id',
    timescaledb.compress_orderby = 'order_ms, id')""",
    "SELECT add_compression_policy('howcome.events', interval '30 days')",
)


def partitioning(license_name: str) -> tuple[str, ...]:
    """What makes the parts of the table of events: by TimescaleDB where it is there, else months of our own.

    Args:
        license_name: What TimescaleDB says of its licence; NONE where there is none. `apache` compresses nothing.
    """
    if license_name == NONE:
        return _MONTHS
    return _HYPERTABLE if license_name == APACHE else _HYPERTABLE + _COMPRESSION


def timescale_license(server: psycopg.Connection[Any]) -> str:
    """TimescaleDB's licence on a server; NONE where it is not there, or cannot be had by this user."""
    sql = "SELECT 1 FROM pg_available_extensions WHERE name = 'timescaledb'"
    if not server.execute(sql).fetchall():
        return NONE
    try:
        server.execute("CREATE EXTENSION IF NOT EXISTS timescaledb")
        return str(server.execute("SHOW timescaledb.license").fetchall()[0][0])
    except psycopg.Error:  # not loaded by this server, or not this user's to have
        return NONE


def version_of(server: psycopg.Connection[Any]) -> int:
    """The version of the schema; 0 where there is none."""
    if server.execute("SELECT to_regclass('howcome.schema_version')").fetchall() == [(None,)]:
        return 0
    return int(server.execute("SELECT max(version) FROM howcome.schema_version").fetchall()[0][0])


def migrate(server: psycopg.Connection[Any], *, create: bool) -> bool:
    """Brings the tables up to this version, of several clients at once one; whether they were made now.

    Raises:
        StoreMissingError: there are none, and they must not be made; StoreNewerError: a newer howcome made them.
    """
    if (version := version_of(server)) == POSTGRES_VERSION:
        return False
    if not version and not create:
        raise StoreMissingError("there is no memory on that server: run `howcome import`")
    if server.info.server_version < LEAST_SERVER:
        raise StoreError(f"PostgreSQL {server.info.server_version // 10000} is too old: 13 or newer is needed")
    if server.info.parameter_status("server_encoding") != "UTF8":
        raise StoreError("the database's encoding is not UTF8: make another one (`createdb -E UTF8 -T template0`)")
    license_name = NONE if version else timescale_license(server)
    with server.transaction():
        server.execute("SET LOCAL lock_timeout = 0")
        server.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        if (version := version_of(server)) > POSTGRES_VERSION:
            raise StoreNewerError(f"the store has schema {version}, this howcome knows {POSTGRES_VERSION}: upgrade it")
        _apply(server, version, license_name)
    return not version


def _apply(server: psycopg.Connection[Any], version: int, license_name: str) -> None:
    if not version:
        server.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
        server.execute("CREATE TABLE IF NOT EXISTS schema_version (version bigint PRIMARY KEY)")
    for name in sorted(os.listdir(_MIGRATIONS)):
        number = int(name.split("_")[0]) if name.endswith(".sql") else 0
        if number > version:
            with open(os.path.join(_MIGRATIONS, name), encoding="utf-8") as script:
                text = script.read().replace(_MARKED, "" if license_name else _PARTITIONED)
            server.execute(text)
            server.execute("INSERT INTO schema_version VALUES (%s)", (number,))
    if not version:
        for statement in partitioning(license_name):
            server.execute(statement)
