"""What the owner of a team's database does: teams, people, tokens."""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from howcome.domain.team_records import TOKEN_PREFIX, repository_of
from howcome.errors import NotFoundError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    import psycopg

MAX_NAME_CHARS, HINT_CHARS = 90, 8


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is listed: without itself. Times are ISO 8601, None: never. `is_admin` is of the person."""

    number: int
    person: str
    hint: str
    scope: str
    repositories: list[str] | None
    created: str
    expires: str | None
    revoked: str | None
    last_used: str | None
    is_admin: bool


def key_of(token: str) -> str:
    """What is shown to the database in place of a token (hexadecimal); it keeps a digest of that."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


class Admin:
    """Administers the teams of a database, as its owner."""

    def __init__(self, owner: psycopg.Connection[Any]) -> None:
        self._owner = owner

    def create(self, team: str) -> None:
        """A new team.

        Raises:
            UsageError: there is one of that name, or it is no name.
        """
        if not self._rows(
            "INSERT INTO tenants (name) VALUES (%s) ON CONFLICT DO NOTHING RETURNING 1", _name(team, "a team's name")
        ):
            raise UsageError(f"there is a team {team!r} already: invite people to it")

    def invite(
        self, team: str, person: str, *, may_write: bool, repositories: Sequence[str], days: int | None, is_admin: bool
    ) -> str:
        """A new token for a person of a team, who is made if need be: it is never shown again.

        Args:
            team: The team's name.
            person: The person's, or what else a token is for.
            may_write: Whether memories may be added with it.
            repositories: The only ones that it is for; none: all.
            days: After so many it expires; None: never.
            is_admin: Whether this person may change what others wrote.

        Raises:
            NotFoundError: there is no such team; UsageError: a name is none.
        """
        tenant, name = self._tenant(team), _name(person, "a person's name")
        only = [repository_of(one) for one in repositories] or None
        token = TOKEN_PREFIX + secrets.token_urlsafe(32)
        digest = hashlib.sha256(bytes.fromhex(key_of(token))).digest()
        with self._owner.transaction():
            [(principal,)] = self._rows(
                "INSERT INTO principals AS known (tenant_id, name, is_admin) VALUES (%s, %s, %s)"
                " ON CONFLICT (tenant_id, name) DO UPDATE SET is_admin = known.is_admin OR excluded.is_admin"
                " RETURNING principal_id",
                tenant, name, is_admin,
            )  # fmt: skip
            self._rows(
                "INSERT INTO tokens (tenant_id, principal_id, digest, hint, may_write, repositories, expires)"
                " VALUES (%s, %s, %s, %s, %s, %s, now() + make_interval(days => %s)) RETURNING 1",
                tenant, principal, digest, token[: len(TOKEN_PREFIX) + HINT_CHARS], may_write, only, days,
            )  # fmt: skip
        return token

    def revoke(self, team: str, whom: str) -> list[Token]:
        """Ends a token (its number, or how it begins), or all of a person, at once; those that it ended.

        Raises:
            NotFoundError: there is no such team, or none that still holds.
        """
        tenant = self._tenant(team)
        found = [
            token.number
            for token in self.tokens(team)
            if token.revoked is None
            and (
                whom in (token.person, str(token.number))
                or (whom.startswith(TOKEN_PREFIX) and whom.startswith(token.hint))
            )
        ]
        if not found:
            raise NotFoundError(f"no token of {whom!r} that still holds: `howcome team status {team}` lists them")
        self._rows(
            "UPDATE tokens SET revoked = now() WHERE tenant_id = %s AND token_id = ANY(%s) RETURNING 1", tenant, found
        )
        return [token for token in self.tokens(team) if token.number in found]

    def teams(self) -> list[tuple[str, int, int]]:
        """Every team's name, with how many people and memories it has."""
        return self._rows(
            "SELECT name, (SELECT count(*) FROM principals p WHERE p.tenant_id = t.tenant_id),"
            " (SELECT count(*) FROM memories m WHERE m.tenant_id = t.tenant_id AND NOT is_withdrawn)"
            " FROM tenants t ORDER BY name"
        )

    def tokens(self, team: str) -> list[Token]:
        """A team's tokens, the oldest first.

        Raises:
            NotFoundError: there is no such team.
        """
        times = ", ".join(
            f"to_char({name} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
            for name in ("token.created", "expires", "revoked", "last_used")
        )
        rows = self._rows(
            "SELECT token_id, principal.name, hint, CASE WHEN may_write THEN 'write' ELSE 'read' END, repositories,"  # noqa: S608 - fixed names
            f" {times}, is_admin FROM tokens token JOIN principals principal USING (tenant_id, principal_id)"
            " WHERE tenant_id = %s ORDER BY token_id",
            self._tenant(team),
        )
        return [Token(*row) for row in rows]

    def _tenant(self, team: str) -> int:
        if not (found := self._rows("SELECT tenant_id FROM tenants WHERE name = %s", team)):
            raise NotFoundError(f"no team {team!r} in this database: `howcome team create {team}` makes one")
        return int(found[0][0])

    def _rows(self, statement: str, *values: object) -> list[Any]:
        return self._owner.execute(statement.encode(), values or None).fetchall()


def _name(text: str, what: str) -> str:
    if not text.strip() or text != text.strip() or len(text) > MAX_NAME_CHARS or not text.isprintable():
        raise UsageError(f"{what} is one line of at most {MAX_NAME_CHARS} characters, without blanks around it")
    return text
