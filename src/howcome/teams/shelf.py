"""The memories of teams as `serve` keeps them: every transaction first shows whose token it is for."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

import psycopg
from psycopg_pool import ConnectionPool, PoolTimeout

from howcome.domain.team_records import Record, record_of
from howcome.domain.text import with_extra_terms
from howcome.errors import HowcomeError, StoreError, UsageError
from howcome.log.terms import analyzer
from howcome.teams.server_role import problems

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

MAX_CONNECTIONS, WAIT_S, STATEMENT_MS = 8, 3.0, 10_000
MAX_CANDIDATES, MAX_TERMS = 500, 32
STORED, KNOWN, REFUSED = "stored", "known", "refused"
_OPTIONS = f"-c search_path=howcome_team,pg_catalog,pg_temp -c statement_timeout={STATEMENT_MS} -c lock_timeout=5000"
_COLUMNS = (
    "encode(key, 'hex'), type, status, created, origin, repository, encode(supersedes, 'hex'), text, is_withdrawn,"
    " position, name, stored, principal_id"
)
_FROM = (
    "FROM memories JOIN (SELECT tenant_id, principal_id, name FROM principals) author USING (tenant_id, principal_id)"
)


_HELD = "ARRAY(SELECT unnest(terms) INTERSECT SELECT unnest(%(asked)s::text[]))"
_SEARCH = (
    f"SELECT {_COLUMNS}, {_HELD} {_FROM} WHERE NOT is_withdrawn AND terms && %(asked)s::text[]"
    " AND (%(only)s::text IS NULL OR repository = %(only)s)"
    f" ORDER BY cardinality({_HELD}) DESC, position DESC LIMIT %(most)s"
)
_LATER = (
    f"SELECT repository, encode(supersedes, 'hex'), encode(key, 'hex'), name {_FROM}"
    " WHERE supersedes = ANY(%s::bytea[]) AND NOT is_withdrawn ORDER BY position"
)


class TokenError(HowcomeError):
    """A token that is unknown, expired or revoked."""


class AwayError(HowcomeError):
    """The database does not answer now."""


@dataclass(frozen=True, slots=True)
class Member:
    """Whom a token is for; `expires` is ISO 8601, None: never. `repositories`: the only ones, None: all."""

    team: str
    person: str
    may_write: bool
    repositories: list[str] | None
    expires: str | None


class Kept(NamedTuple):
    """A record with its place in the team's order, and who stored it when (ISO 8601).

    `later`: keys of what says that it takes its place, each with its author, where agents ask.
    """

    record: Record
    position: int
    author: str
    stored: str
    later: Mapping[str, str] = {}

    @property
    def value(self) -> dict[str, object]:
        """As JSON."""
        return {**self.record.value, "position": self.position, "author": self.author, "stored": self.stored}


class Shelf:
    """Memories of teams, by token. `dsn` is the database, with the role of `serve`."""

    def __init__(self, dsn: str) -> None:
        given = {"connect_timeout": 5, "application_name": "howcome serve", "options": _OPTIONS}
        self._pool = ConnectionPool(
            dsn, kwargs={**given, "prepare_threshold": None}, min_size=0, max_size=MAX_CONNECTIONS, timeout=WAIT_S,
            open=False, check=ConnectionPool.check_connection, reconnect_timeout=WAIT_S,
        )  # fmt: skip
        self._terms = analyzer()

    def open(self) -> None:
        """Connects, and makes sure that the database keeps teams apart.

        Raises:
            StoreError: it does not, or does not answer; the message lists what is wrong, with remedies.
        """
        self._pool.open()
        try:
            with self._pool.connection() as server:
                found = problems(server)
        except (psycopg.Error, PoolTimeout) as error:
            self.close()
            raise StoreError(f"the team's database cannot be used: {' '.join(str(error).split())}") from error
        if found:
            self.close()
            raise StoreError("the database does not keep teams apart, so nothing is served:\n- " + "\n- ".join(found))

    def close(self) -> None:
        """Ends every connection."""
        self._pool.close()

    @contextlib.contextmanager
    def _entered(self, key: str) -> Iterator[tuple[psycopg.Connection[Any], Member]]:
        """A transaction for whom a key is of; the only way to the tables."""
        try:
            with self._pool.connection() as server, server.transaction():
                server.execute("SELECT set_config('howcome_team.key', %s, true)", (key,))
                found = server.execute("SELECT team, person, may_write, repositories, expires FROM enter()").fetchall()
                if not found:
                    raise TokenError("this token is unknown, expired or revoked: ask who invited you for another")
                team, person, may_write, repositories, expires = found[0]
                yield server, Member(team, person, may_write, repositories, expires and _iso(expires))
        except (psycopg.OperationalError, PoolTimeout) as error:
            raise AwayError("the team's database does not answer now: try again later") from error

    def member(self, key: str) -> Member:
        """Whom a token is for.

        Raises:
            TokenError: nobody. AwayError: the database does not answer. So for every method.
        """
        with self._entered(key) as (_, member):
            return member

    def store(self, key: str, values: Sequence[object]) -> list[dict[str, object]]:
        """Keeps memories: of each its key, "stored", "known" or "refused", and for the latter the reason."""
        with self._entered(key) as (server, member):
            if not member.may_write:
                reason = "this token may only read: ask for one that may write"
                return [{"key": _key_in(value), "state": REFUSED, "reason": reason} for value in values]
            [(position, tenant)] = server.execute("SELECT position, tenant_id FROM tenants FOR UPDATE").fetchall()
            [(principal, is_admin)] = server.execute("SELECT principal_id, is_admin FROM me()").fetchall()
            results: list[dict[str, object]] = []
            last = position
            for value in values:
                try:
                    record = record_of(value)
                    if member.repositories is not None and record.repository not in member.repositories:
                        raise UsageError(f"repository: this token is for {', '.join(member.repositories)} only")
                    is_new = self._put(server, record, (tenant, principal, is_admin), last + 1)
                except HowcomeError as error:
                    results.append({"key": _key_in(value), "state": REFUSED, "reason": str(error)})
                else:
                    last += is_new
                    results.append({"key": record.key, "state": STORED if is_new else KNOWN})
            if last > position:
                server.execute("UPDATE tenants SET position = %s", (last,))
            return results

    def _put(self, server: psycopg.Connection[Any], record: Record, who: tuple[int, int, bool], position: int) -> bool:
        """Whether it is new, or says something new; what is another's stays as it is."""
        tenant, principal, is_admin = who
        where = "WHERE repository = %s AND key = decode(%s, 'hex')"
        known = server.execute(f"SELECT {_COLUMNS} {_FROM} {where}", (record.repository, record.key)).fetchall()
        if known and _kept(known[0]).record == record:
            return False
        if known and known[0][-1] != principal and not is_admin:
            raise UsageError(f"{known[0][10]} stored this memory: only they change it")
        stone = record.is_withdrawn
        terms = sorted({term for term in self._terms_of(record.text) if term}) if not stone else []
        values = (
            position, record.type, record.status, record.origin, datetime.fromtimestamp(record.created_ms / 1000, UTC),
            record.supersedes, record.text, stone, terms, record.repository, record.key,
        )  # fmt: skip
        names = "position, type, status, origin, created, supersedes, text, is_withdrawn, terms"
        marks = "%s, %s, %s, %s, %s, decode(%s, 'hex'), %s, %s, %s"
        if known:
            server.execute(f"UPDATE memories SET ({names}, stored) = ({marks}, now()) {where}", values)  # noqa: S608 - fixed text
        else:
            server.execute(
                f"INSERT INTO memories ({names}, repository, key, tenant_id, principal_id)"  # noqa: S608 - fixed text
                f" VALUES ({marks}, %s, decode(%s, 'hex'), %s, %s)",
                (*values, tenant, principal),
            )
        return True

    def after(self, key: str, repository: str, position: int, limit: int) -> tuple[list[Kept], bool]:
        """A repository's memories after a position, in its order, and whether there are more."""
        with self._entered(key) as (server, _):
            rows = server.execute(
                f"SELECT {_COLUMNS} {_FROM} WHERE repository = %s AND position > %s ORDER BY position LIMIT %s",
                (repository, position, limit + 1),
            ).fetchall()
        return [_kept(row) for row in rows[:limit]], len(rows) > limit

    def get(self, key: str, memory: str) -> list[Kept]:
        """The memories of a key, or of its beginning, in every repository that may be seen; ten at most."""
        with self._entered(key) as (server, _):
            rows = server.execute(
                f"SELECT {_COLUMNS} {_FROM} WHERE encode(key, 'hex') LIKE %s AND NOT is_withdrawn"
                " ORDER BY position DESC LIMIT 10",
                (f"{memory.removeprefix('mem-')}%",),
            ).fetchall()
            return _with_later(server, rows)

    def search(self, key: str, query: str, repository: str | None, limit: int) -> list[Kept]:
        """Memories that hold words of a question, best first; a rare word counts more than a common one.

        What its own author has put another text in the place of is left out.
        """
        asked = sorted({term for term in self._terms_of(query) if term})[:MAX_TERMS]
        with self._entered(key) as (server, _):
            values = {"asked": asked, "only": repository, "most": MAX_CANDIDATES}
            rows = server.execute(_SEARCH, values).fetchall()
            found = {one.position: one for one in _with_later(server, rows)}
        often: dict[str, int] = {}
        for row in rows:
            for term in row[-1]:
                often[term] = often.get(term, 0) + 1
        weights = {term: math.log(1 + len(rows) / count) for term, count in often.items()}
        rows.sort(key=lambda row: (-sum(weights[term] for term in row[-1]), -row[9]))
        ordered = [found[row[9]] for row in rows]
        return [one for one in ordered if one.author not in one.later.values()][:limit]

    def _terms_of(self, text: str) -> list[str]:
        return self._terms.analyze(with_extra_terms(text))


def _with_later(server: psycopg.Connection[Any], rows: Sequence[Sequence[Any]]) -> list[Kept]:
    later: dict[tuple[str, str], dict[str, str]] = {}
    for repository, old, key, author in server.execute(_LATER, ([bytes.fromhex(row[0]) for row in rows],)):
        later.setdefault((repository, old), {})[key] = author
    return [_kept(row)._replace(later=later.get((row[5], row[0]), {})) for row in rows]


def _kept(row: Sequence[Any]) -> Kept:
    key, kind, status, created, origin, repository, supersedes, text, is_withdrawn, position, author, stored = row[:12]
    record = Record(
        key, kind, status, round(created.timestamp() * 1000), origin, repository, supersedes, text, is_withdrawn
    )
    return Kept(record, position, author, _iso(stored))


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds")


def _key_in(value: object) -> str | None:
    key = value.get("key") if isinstance(value, dict) else None
    return key if isinstance(key, str) and len(key) <= MAX_TERMS * 2 else None
