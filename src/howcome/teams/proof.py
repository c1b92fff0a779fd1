"""Whether the database keeps teams apart: what `serve` finds out before it serves, and refuses to serve otherwise."""

from __future__ import annotations

import re
from importlib.resources import files
from typing import TYPE_CHECKING

import psycopg

from howcome.teams.server_role import SCHEMA

if TYPE_CHECKING:
    from typing import Any

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
