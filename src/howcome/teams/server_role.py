"""Connections to a team's database: by its owner, who makes tables and tokens, and by the role that `serve` uses.

And whether the database keeps teams apart: what `serve` finds out before it serves, and refuses to serve otherwise.
"""

from __future__ import annotations

import re
import secrets
from importlib.resources import files
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from howcome.errors import StoreError

if TYPE_CHECKING:
    from typing import Any

_PLACE = (
    "service",
    "host",
    "hostaddr",
    "port",
    "dbname",
    "sslmode",
    "sslrootcert",
    "channel_binding",
    "target_session_attrs",
)
"""What says where a database is; the rest is the owner's own."""

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


def server_dsn(dsn: str) -> str:
    """The same database for the server's role, without a password or a key of its owner's."""
    parts = conninfo_to_dict(dsn)
    return make_conninfo("", user=ROLE, **{name: part for name, part in parts.items() if name in _PLACE})


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


_POLICY = re.compile(r"CREATE POLICY (\w+) ON (\w+) FOR (\w+)\s+(?:USING (.*?))?\s*(?:WITH CHECK (.*?))?;", re.DOTALL)
_SPELLING = re.compile(r"\bme\([a-z_, ]+\)|[\s()]+")
"""What differs between a policy as it is written and as the server says it: names of columns, blanks, parentheses."""

_AGAIN = "Restore the schema from a backup, or make the team in a new database"
_ROLE = "`serve` must log in as the role that `howcome team create` makes"

_OURS = "FROM pg_class WHERE relnamespace = %(schema)s::regnamespace"
_TABLES = f"SELECT relname {_OURS} AND relkind IN ('r', 'p') AND relname <> 'version'"
_QUESTIONS: dict[str, tuple[str, str]] = {
    "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolsuper": ("the role is a superuser", _ROLE),
    "SELECT 1 FROM pg_roles WHERE rolname = current_user AND rolbypassrls": ("the role bypasses row security", _ROLE),
    f"""SELECT 1 {_OURS} AND pg_has_role(relowner, 'MEMBER') UNION ALL
    SELECT 1 FROM pg_namespace WHERE oid = %(schema)s::regnamespace AND pg_has_role(nspowner, 'MEMBER')""": (  # noqa: S608 - fixed text
        "the role owns tables, or may become who does", _ROLE,
    ),
    f"{_TABLES} AND NOT relrowsecurity": (
        "row security is off", "ALTER TABLE howcome_team.… ENABLE ROW LEVEL SECURITY",
    ),
    f"{_TABLES} AND NOT relforcerowsecurity": (
        "row security is not forced", "ALTER TABLE howcome_team.… FORCE ROW LEVEL SECURITY",
    ),
    f"""SELECT relname {_OURS} AND relkind IN ('r', 'p', 'v', 'm', 'f') AND (
    (relname <> ALL(%(tables)s) AND has_any_column_privilege(oid, 'SELECT, INSERT, UPDATE, REFERENCES'))
    OR has_table_privilege(oid, 'TRUNCATE, DELETE, TRIGGER'))""": (
        "the role may touch what is not its own", "REVOKE ALL ON howcome_team.… FROM howcome_team_server, PUBLIC",
    ),
    """SELECT proname FROM pg_proc WHERE prosecdef AND has_function_privilege(oid, 'EXECUTE')
    AND pronamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
    AND NOT (pronamespace = %(schema)s::regnamespace AND proname IN ('enter', 'me') AND pronargs = 0)""": (
        "a function runs as its owner", "DROP FUNCTION …, or REVOKE ALL ON FUNCTION … FROM PUBLIC",
    ),
    """SELECT name FROM (SELECT 'tenants' AS name, count(*) FROM tenants
    UNION ALL SELECT 'principals', count(*) FROM principals
    UNION ALL SELECT 'memories', count(*) FROM memories) seen WHERE count > 0""": (
        "rows are seen without a token", _AGAIN,
    ),
}  # fmt: skip
"""Rows that must not be there, what they mean, and the remedy."""


def problems(server: psycopg.Connection[Any]) -> list[str]:
    """What lets somebody past the policies, as the role of `serve` sees it; none: it may serve."""
    found = []
    values = {"schema": SCHEMA, "tables": ["tenants", "principals", "memories"]}
    for question, (meaning, remedy) in _QUESTIONS.items():
        try:
            rows = [str(row[0]) for row in server.execute(question.encode(), values).fetchall()]
        except psycopg.Error as error:
            rows, meaning = [error.diag.message_primary or str(error)], f"cannot be asked whether {meaning}"  # noqa: PLW2901 - said of this question
        if rows:
            names = "" if rows == ["1"] else f" ({', '.join(sorted(set(rows)))})"
            found.append(f"{meaning}{names}. {remedy}.")
            if remedy == _ROLE:  # such a role passes every other check
                return found
    return found + _policy_problems(server)


def _policy_problems(server: psycopg.Connection[Any]) -> list[str]:
    """Policies that are missing, new, or ask something else; those of the owner concern the owner only."""
    schema = (files("howcome.teams") / "schema.sql").read_text(encoding="utf-8")
    wanted = {
        (table, name): (command, *map(_spelt, conditions))
        for name, table, command, *conditions in _POLICY.findall(schema)
    }
    rows = server.execute(
        "SELECT tablename, policyname, cmd, coalesce(qual, ''), coalesce(with_check, ''), permissive FROM pg_policies"
        " WHERE schemaname = %s AND (roles = '{public}' OR pg_has_role(roles[1], 'MEMBER'))",
        (SCHEMA,),
    ).fetchall()
    found = [
        f"a policy is not as it was made ({name} on {table}). {_AGAIN}."
        for table, name, command, using, check, kind in rows
        if kind == "PERMISSIVE" and wanted.get((table, name)) != (command, _spelt(using), _spelt(check))
    ]
    missing = sorted(f"{name} on {table}" for table, name in set(wanted) - {(row[0], row[1]) for row in rows})
    return found + ([f"a policy is missing ({', '.join(missing)}). {_AGAIN}."] if missing else [])


def _spelt(condition: str) -> str:
    return _SPELLING.sub("", condition)
