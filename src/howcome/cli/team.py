"""`howcome team` and `howcome serve`: a team's memories on a PostgreSQL server of its own."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict

import click

from howcome.cli.arguments import require_extra
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.cli.sharing import join, leave, membership, pull, push, review
from howcome.errors import UsageError
from howcome.present.render import iso_time, json_line
from howcome.present.screen import report
from howcome.present.terminal import echo

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.teams.admin import Admin

DATABASE = "HOWCOME_TEAM_DATABASE"
PORT = 7420
_PARTS = ("mcp", "psycopg", "psycopg_pool", "starlette", "uvicorn")
_database = option(
    "--database",
    metavar="DSN",
    envvar=DATABASE,
    required=True,
    show_envvar=True,
    help="The team's database: postgresql://user@host/name. A password may stand in PGPASSWORD or ~/.pgpass.",
)
_CREATED = """The team {team} is there. Invite people: howcome team invite {team} NAME
Serve it as the role {role}, which sees only what a token may see:
  {environment}={database} PGPASSWORD={password} howcome serve"""
_INVITED = """A token for {person} ({scope}, {days} days), shown this once:
{token}
They run: howcome team join URL   (what `howcome serve` prints; then they paste the token)"""


@click.group()
def team() -> None:
    """Share memories with a team through its server: join it, push, pull; or make and administer one.

    Members need a token only: join, push, pull, review, leave. Who administers a team needs its PostgreSQL database and
    the extra `team`: create, invite, revoke. `howcome serve` is the server between. See docs/team.md.

    \b
    Examples:
      howcome team join https://team.example.org
      howcome team push
      export HOWCOME_TEAM_DATABASE=postgresql://postgres@localhost/acme
      howcome team create acme
      howcome team invite acme Ann --days 90
      howcome team status acme
      howcome team revoke acme Ann
    """


@click_command
def create(name: str = argument(), database: str = _database, as_json: bool = JSON) -> None:
    """Make a team, and the tables and the role of the server if they are missing.

    \b
    Examples:
      howcome team create acme --database postgresql://postgres@localhost/acme
    """
    with _admin(database, is_new=True) as (admin, password):
        admin.create(name)
    from howcome.teams.server_role import ROLE, server_dsn

    server = shlex.quote(server_dsn(database))
    facts = {"team": name, "role": ROLE, "password": password or "…", "database": server, "environment": DATABASE}
    said = [_CREATED.format_map(facts)]
    said += [f"The role's password, shown this once: {password}"] if password else []
    _say({"team": name, "role": ROLE, "password": password or None}, said, as_json=as_json)


@click_command
def invite(
    name: str = argument(metavar="TEAM"),
    person: str = argument(),
    read_only: bool = option(help="The token reads and adds nothing."),
    repositories: tuple[str, ...] = option(
        "--repository", multiple=True, metavar="HOST/OWNER/NAME", help="Only this one; repeat it."
    ),
    days: int = option(type=range(1, 3651), default=365, help="It expires after so many."),
    is_admin: bool = option("--admin", help="This person may change and withdraw what others wrote."),
    database: str = _database,
    as_json: bool = JSON,
) -> None:
    """Make a token for a person. It is shown once; the database keeps only a digest of it.

    \b
    Examples:
      howcome team invite acme Ann
      howcome team invite acme "Build server" --read-only --repository github.com/acme/app --days 30
    """
    with _admin(database) as (admin, _):
        may = {"may_write": not read_only, "is_admin": is_admin}
        token = admin.invite(name, person, repositories=repositories, days=days, **may)
        *before, new = [one for one in admin.tokens(name) if one.person == person]
    is_admin = new.is_admin  # also where an earlier invitation said so: the right is the person's
    now = iso_time(int(time.time() * 1000)) or ""
    held = [one.number for one in before if one.revoked is None and (one.expires is None or one.expires > now)]
    scope = f"{'read' if read_only else 'read and write'}{', admin' if is_admin else ''}"
    said = [_INVITED.format(person=person, scope=scope, days=days, token=token)]
    said += [f"{person} has another token that holds: `howcome team revoke {name} {one}` ends it" for one in held]
    kind = "read" if read_only else "write"
    facts = {"team": name, "person": person, "scope": kind, "is_admin": is_admin, "days": days, "token": token}
    _say(facts, said, as_json=as_json)


@click_command
def revoke(
    name: str = argument(metavar="TEAM"),
    whom: str = argument(metavar="PERSON|TOKEN|NUMBER"),
    database: str = _database,
    as_json: bool = JSON,
) -> None:
    """End a token (its number, or its beginning), or all of a person. It holds from the next request on.

    \b
    Examples:
      howcome team revoke acme Ann
      howcome team revoke acme 3
    """
    with _admin(database) as (admin, _):
        ended = admin.revoke(name, whom)
    said = [f"{one.hint}… of {one.person} is revoked" for one in ended]
    _say({"revoked": [asdict(one) for one in ended]}, said, as_json=as_json)


@click_command
def status(
    name: str | None = argument(metavar="[TEAM]", required=False),
    database: str | None = option(
        metavar="DSN", envvar=DATABASE, show_envvar=True, help="To administer: the team's database."
    ),
    as_json: bool = JSON,
) -> None:
    """Show this machine's team and how far it is; with a database its teams, or the tokens of one.

    \b
    Examples:
      howcome team status
      howcome team status acme --database postgresql://postgres@localhost/acme
    """
    if database is None:
        if name is not None:
            raise click.UsageError(f"the tokens of a team need --database, or {DATABASE}")
        membership(as_json=as_json)
        return
    with _admin(database) as (admin, _):
        if name is None:
            teams = [dict(zip(("team", "people", "memories"), row, strict=True)) for row in admin.teams()]
            said = [f"{one['team']}: {one['people']} people, {one['memories']} memories" for one in teams]
            _say({"teams": teams}, said or ["no team yet: howcome team create NAME"], as_json=as_json)
            return
        tokens = admin.tokens(name)
    said = []
    for one in tokens:
        ends = f"revoked {one.revoked}" if one.revoked else f"until {one.expires or 'revoked'}"
        where = ", ".join(one.repositories or ()) or "all repositories"
        used = f"last used {one.last_used}" if one.last_used else "never used"
        said.append(
            f"{one.number}  {one.person}  {one.hint}…  {one.scope}{', admin' * one.is_admin}, {where}  {ends}  {used}"
        )
    _say({"team": name, "tokens": [asdict(one) for one in tokens]}, said or ["no token yet"], as_json=as_json)


@click_command
def serve(
    address: str = option(default="127.0.0.1", help="The IP address to listen on."),
    port: int = option(type=range(65_536), default=PORT, help="0: any free one."),
    names: tuple[str, ...] = option(
        "--name", multiple=True, metavar="HOST[:PORT]", help="A name it is asked by; repeat it."
    ),
    cert: str | None = option(metavar="FILE", help="The certificate (PEM); without one only this machine is served."),
    key: str | None = option(metavar="FILE", help="The certificate's private key (PEM)."),
    database: str = _database,
    as_json: bool = JSON,
) -> None:
    """Serve a team's memories: what members' machines push and pull, and MCP at /mcp, with their tokens.

    It runs until Ctrl-C or SIGTERM. It first makes sure that the database keeps teams apart, and refuses to serve
    otherwise. Each request is a line of JSON on standard error: who, what, when, and nothing of what was said.

    \b
    Examples:
      howcome serve --database postgresql://howcome_team_server@localhost/acme
      howcome serve --name team.example.org          # behind a proxy on this machine that has the certificate
      howcome serve --address 0.0.0.0 --port 443 --cert fullchain.pem --key key.pem --name team.example.org
    """
    require_extra("team", "a team's server", *_PARTS)
    if bool(cert) != bool(key):
        raise UsageError("--cert and --key belong together")
    from howcome.teams.shelf import Shelf
    from howcome.web.team_process import Place, run

    def started(link: str, where: str) -> None:
        facts = {"url": link, "listening": where}
        echo(json_line(facts) if as_json else f"Serving {link}, on {where} (Ctrl-C ends it)")

    run(Shelf(database), Place(address, port, names, cert or "", key or ""), started, lambda line: echo(line, err=True))


@contextmanager
def _admin(database: str, *, is_new: bool = False) -> Iterator[tuple[Admin, str]]:
    """The administration of a database, and the password of the server's role where it was just made."""
    require_extra("team", "a team's server", *_PARTS)
    from howcome.teams.admin import Admin
    from howcome.teams.server_role import connect, migrate, require_tables

    with connect(database) as owner:
        password = migrate(owner) if is_new else require_tables(owner)
        yield Admin(owner), password


for _command in (create, invite, revoke, status, join, push, pull, review, leave):
    team.add_command(_command)


def _say(facts: Mapping[str, object], said: list[str], *, as_json: bool) -> None:
    report(facts, "\n".join(said).splitlines(), as_json=as_json)
