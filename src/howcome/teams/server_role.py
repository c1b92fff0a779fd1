"""Connections to a team's database: by its owner, who makes tables and tokens, and by the role that `serve` uses."""

from __future__ import annotations

import secrets
from importlib.resources import files
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from howcome.errors import StoreError

if TYPE_CHECKING:
    from typing import Any

SCHEMA, ROLE = "howcome_team", "howcome_team_server"
VERSION = 1
_LOCK = 0x686F77636F6D65 + 1  # who migrates a team's database holds this advisory lock
_GRANTS = """
GRANT USAGE ON SCHEMA howcome_team TO {role};
GRANT SELECT (tenant_id, name, position), UPDATE (position) ON tenants TO {role};
GRANT SELECT ON principals TO {role};
GRANT SELECT, INSERT, UPDATE ON memories TO {role};
GRANT EXECUTE ON FUNCTION me(), enter() TO {role};
"""


def connect(dsn: str) -> psycopg.Connection[Any]:
    """A connection that commits each statement by itself, with the team's schema in its path.

    Raises:
        StoreError: it cannot be had.
    """
    try:
        server = psycopg.connect(dsn, autocommit=True, connect_timeout=5, application_name="howcome team")
    except psycopg.Error as error:
        raise StoreError(f"the team's database cannot be used: {' '.join(str(error).split())}") from error
    server.execute("SET search_path = howcome_team, pg_catalog, pg_temp; SET client_min_messages = error")
    return server


def migrate(owner: psycopg.Connection[Any]) -> str:
    """Makes what is missing; safe to run again. The password of the role of `serve`, "" where it was there before.

    Raises:
        StoreError: a newer howcome made the tables, or this user may not.
    """
    try:
        with owner.transaction():
            owner.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            owner.execute("CREATE SCHEMA IF NOT EXISTS howcome_team; REVOKE ALL ON SCHEMA howcome_team FROM PUBLIC")
            owner.execute("CREATE TABLE IF NOT EXISTS version (version int PRIMARY KEY)")
            [(version,)] = owner.execute("SELECT coalesce(max(version), 0) FROM version").fetchall()
            if version > VERSION:
                raise StoreError(f"the team's database has version {version}, this howcome knows {VERSION}: upgrade it")
            if version < VERSION:
                owner.execute((files("howcome.teams") / "schema.sql").read_text(encoding="utf-8").encode())
                owner.execute("INSERT INTO version VALUES (%s)", (VERSION,))
            password = _make_role(owner)
            owner.execute(sql.SQL(_GRANTS).format(role=sql.Identifier(ROLE)))
            return password
    except psycopg.Error as error:
        raise StoreError(f"the team's database: {error.diag.message_primary or error}") from error


def require_tables(owner: psycopg.Connection[Any]) -> str:
    """Brings tables that are there up to date, and makes none; as `migrate`.

    Raises:
        StoreError: there are none.
    """
    if owner.execute("SELECT to_regclass('howcome_team.version')").fetchall() == [(None,)]:
        raise StoreError("there is no team in this database yet: howcome team create NAME")
    return migrate(owner)


def _make_role(owner: psycopg.Connection[Any]) -> str:
    if owner.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (ROLE,)).fetchall():
        return ""
    password = secrets.token_urlsafe(24)
    kept = owner.pgconn.encrypt_password(password.encode(), ROLE.encode(), b"scram-sha-256")  # no log sees the password
    owner.execute(
        sql.SQL("CREATE ROLE {} LOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE NOINHERIT PASSWORD {}").format(
            sql.Identifier(ROLE), sql.Literal(kept.decode())
        )
    )
    return password
