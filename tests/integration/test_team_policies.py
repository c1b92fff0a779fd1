"""What keeps teams apart: row-level security of a real server, and the self-test that refuses one that does not."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from tests.hostile.scale import of
from tests.postgres_servers import NotHereError
from tests.teams import APP, WEB, TeamDatabase, record, team_database

from howcome.domain.team_records import record_of
from howcome.errors import HowcomeError, StoreError, UsageError
from howcome.teams import shelf as shelves
from howcome.teams.admin import key_of
from howcome.teams.server_role import ROLE, connect, migrate
from howcome.teams.shelf import Kept, Shelf, TokenError
from howcome.web.team_door import GET, SEARCH, asked

TEAMS = ("acme", "bolt", "acme|bolt")
HOSTILE = (
    "' OR true --",
    "acme|bolt",
    "%",
    "_",
    "\\",
    "ab" * 16,
    "github.com/acme/app' OR '1'='1",
    "🏴‍☠️",
    "a" * 500,
    "",
)
CALLS, REUSES = of(1_500, 5_000), 1_000  # on each of two servers


@pytest.fixture(scope="module", params=["pypi", "debian"])
def database(request: pytest.FixtureRequest) -> Iterator[TeamDatabase]:
    """Three teams, each with one who may do everything, one who reads one repository, and one who administers."""
    try:
        with team_database(*TEAMS, name=request.param) as found:
            for team in TEAMS:
                found.tokens[f"{team} all"] = found.invite(team, "Ann")
                found.tokens[f"{team} one"] = found.invite(team, "Bob", may_write=False, only=[APP])
                found.tokens[f"{team} two"] = found.invite(team, "Cy", only=[WEB])
                found.tokens[f"{team} admin"] = found.invite(team, "Dot", is_admin=True)
            yield found
    except NotHereError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def shelf(database: TeamDatabase) -> Iterator[Shelf]:
    """The memories, one secret word for each team and repository."""
    found = Shelf(database.server_dsn)
    found.open()
    for team in TEAMS:
        for place, repository in enumerate((APP, WEB)):
            values = [
                record(f"{number:02x}", f"harbour {team} {repository} number {number}", repository=repository)
                for number in range(place * 8, 8 + place * 8)
            ]
            assert {one["state"] for one in found.store(key_of(database.tokens[f"{team} all"]), values)} == {"stored"}
    yield found
    found.close()


def _anything(shelf: Shelf, key: str, repository: str, query: str, chance: random.Random) -> list[Kept]:
    """What some call finds."""
    kind = chance.randrange(4)
    if kind == 0:
        return shelf.search(key, query, repository if chance.random() < 0.5 else None, 20)
    if kind == 1:
        return shelf.after(key, repository, chance.randrange(-1, 20), chance.randrange(1, 30))[0]
    if kind == 2:
        return shelf.get(key, chance.choice((f"{chance.randrange(16):02x}" * 3, *HOSTILE)))
    return asked(shelf, key, chance.choice((SEARCH, GET, "x")), {"query": query, "id": query, "limit": 9})


def test_no_call_shows_another_teams_row(database: TeamDatabase, shelf: Shelf) -> None:
    """Every call with every kind of token, any parameters; connections are used again a thousand times."""
    chance = random.Random(7)
    names = list(database.tokens)
    seen = 0
    for _ in range(CALLS):
        name = chance.choice(names)
        team, kind = name.rsplit(" ", 1)
        repository = chance.choice((APP, WEB, *HOSTILE))
        query = chance.choice(("harbour", "harbour number", f"harbour {chance.choice(TEAMS)}", *HOSTILE))
        key = key_of(database.tokens[name])
        try:
            found = _anything(shelf, key, repository, query, chance)
        except (UsageError, psycopg.DataError):
            continue
        seen += len(found)
        for one in found:
            assert f" {team} " in one.record.text
            assert kind in ("all", "admin") or one.record.repository == (APP if kind == "one" else WEB)
    assert seen > CALLS


def test_no_store_reaches_another_teams_row_or_learns_of_it(database: TeamDatabase, shelf: Shelf) -> None:
    """A foreign key, a key of a repository that may not be seen, and a new one are answered alike."""
    outsider = key_of(database.tokens["bolt two"])
    new = [record("e7", "mine", repository=WEB), record("00", "mine, too", repository=WEB)]
    first, second = shelf.store(outsider, new)
    assert (first["state"], second["state"]) == ("stored", "stored")  # 00 is of another repository, and of other teams
    for name in ("acme all", "bolt all"):
        texts = [one.record.text for one in shelf.after(key_of(database.tokens[name]), APP, 0, 50)[0]]
        assert all("mine" not in text for text in texts)
    refused = shelf.store(outsider, [record("00", "theirs", repository=APP), record("e8", "none", repository=APP)])
    assert {one["state"] for one in refused} == {"refused"}
    assert len({one["reason"] for one in refused}) == 1
    assert [shelf.get(outsider, memory) for memory in ("01" * 16, "ee" * 16)] == [[], []]


def test_only_who_stored_a_memory_or_an_administrator_changes_it(database: TeamDatabase, shelf: Shelf) -> None:
    """And a token that reads adds nothing."""
    ann, reader, admin = (key_of(database.tokens[f"acme {kind}"]) for kind in ("all", "one", "admin"))
    cy = key_of(database.tokens["acme two"])
    shelf.store(cy, [record("c1", "Cy's", repository=WEB)])
    [changed] = shelf.store(ann, [record("c1", "Ann's", repository=WEB)])
    assert changed == {"key": "c1" * 16, "state": "refused", "reason": "Cy stored this memory: only they change it"}
    [changed] = shelf.store(reader, [record("c2")])
    assert (changed["state"], "may only read" in str(changed["reason"])) == ("refused", True)
    [changed] = shelf.store(admin, [record("c1", "", repository=WEB, withdrawn=True)])
    assert changed["state"] == "stored"
    [kept] = [one for one in shelf.after(ann, WEB, 0, 99)[0] if one.record.key == "c1" * 16]
    assert (kept.record.is_withdrawn, kept.record.text, kept.author) == (True, "", "Cy")


def test_a_connection_forgets_who_used_it(database: TeamDatabase, shelf: Shelf) -> None:
    """Used again after every end of a transaction, also by an error in the middle of it."""
    ann = key_of(database.tokens["acme all"])
    for turn in range(REUSES):
        with pytest.raises(TokenError):
            shelf.member(key_of(f"hct_{turn}"))
        if turn % 3 == 0:
            with pytest.raises(ZeroDivisionError), shelf._entered(ann):
                _ = 1 / 0
        if turn % 3 == 1:
            with pytest.raises(psycopg.Error), shelf._entered(ann) as (server, _):
                server.execute("SELECT broken")
        with shelf._pool.connection() as server:
            counts = [
                server.execute(f"SELECT count(*) FROM {name}".encode()).fetchall()  # noqa: S608 - fixed names
                for name in ("memories", "principals")
            ]
        assert counts == [[(0,)], [(0,)]]


def test_a_session_variable_alone_lets_nobody_in(database: TeamDatabase, shelf: Shelf) -> None:
    """Neither another's digest nor the text of a token, and tokens cannot be read."""
    [(digest,)] = database.owner.execute("SELECT encode(digest, 'hex') FROM tokens LIMIT 1").fetchall()
    with shelf._pool.connection() as server:
        for given in (digest, database.tokens["acme all"].encode().hex(), "", "00"):
            server.execute("SELECT set_config('howcome_team.key', %s, false)", (given,))
            assert server.execute("SELECT count(*) FROM memories").fetchall() == [(0,)]
        server.execute("SELECT set_config('howcome_team.key', '', false)")
        for statement in (
            "SELECT * FROM tokens",
            "DELETE FROM memories",
            "TRUNCATE memories",
            "UPDATE tenants SET name = ''",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege), server.transaction():
                server.execute(statement.encode())


def test_a_revoked_or_expired_token_ends_at_once(database: TeamDatabase, shelf: Shelf) -> None:
    """Also while the server runs."""
    tokens = [database.invite("bolt", f"Guest {number}") for number in range(2)]
    assert [shelf.member(key_of(token)).team for token in tokens] == ["bolt", "bolt"]
    database.admin.revoke("bolt", tokens[0])
    database.owner.execute(
        "UPDATE tokens SET expires = now() - interval '1 second' WHERE hint = left(%s, 12)", (tokens[1],)
    )
    for token in tokens:
        with pytest.raises(TokenError, match="expired or revoked"):
            shelf.member(key_of(token))


def test_writers_at_once_leave_no_gap_and_readers_miss_nothing(database: TeamDatabase, shelf: Shelf) -> None:
    """Eight writers, a reader that goes on from its position; a position is seen only when all before it are."""
    team = "bolt"
    tokens = [key_of(database.invite(team, f"Writer {number}")) for number in range(8)]
    [(before,)] = database.owner.execute("SELECT position FROM tenants WHERE name = %s", (team,)).fetchall()
    done, seen = threading.Event(), []

    def write(number: int) -> None:
        for turn in range(20):
            values = [record(f"{number:02x}{turn:02x}{part:02x}f1", f"w {number} {turn}") for part in range(3)]
            assert {one["state"] for one in shelf.store(tokens[number], values)} == {"stored"}

    def read() -> None:
        at = before
        while not (is_last := done.is_set()) or not is_last:
            found = shelf.after(tokens[0], APP, at, 7)[0]
            seen.extend(one.position for one in found)
            at = found[-1].position if found else at
            if is_last and not found:
                return

    writers = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    reader = threading.Thread(target=read)
    for thread in [reader, *writers]:
        thread.start()
    for thread in writers:
        thread.join()
    done.set()
    reader.join(20)
    while found := shelf.after(tokens[0], APP, seen[-1] if seen else before, 100)[0]:
        seen.extend(one.position for one in found)
    assert seen == list(range(before + 1, before + 1 + 8 * 20 * 3))


SABOTAGES = {
    "the role is a superuser": "ALTER ROLE {role} SUPERUSER",
    "the role bypasses row security": "ALTER ROLE {role} BYPASSRLS",
    "the role owns tables": "ALTER TABLE memories OWNER TO {role}",
    "row security is off (memories)": "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
    "row security is not forced (principals)": "ALTER TABLE principals NO FORCE ROW LEVEL SECURITY",
    "a policy is not as it was made (open on memories)": "CREATE POLICY open ON memories USING (true)",
    "is not as it was made (members_add on memories)": "ALTER POLICY members_add ON memories WITH CHECK (true)",
    "a policy is missing (authors_change on memories)": "DROP POLICY authors_change ON memories",
    "a function runs as its owner (leak)": (
        "CREATE FUNCTION leak() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM memories'"
    ),
    "the role may touch what is not its own (seen)": (
        "CREATE VIEW seen AS SELECT * FROM memories; GRANT SELECT ON seen TO {role}"
    ),
    "the role may touch what is not its own (memories)": "GRANT TRUNCATE ON memories TO {role}",
    "the role may touch what is not its own (tokens)": "GRANT SELECT ON tokens TO {role}",
}  # fmt: skip


@pytest.mark.parametrize("said", SABOTAGES)
def test_a_database_that_can_be_got_round_is_not_served(said: str) -> None:
    """Each is named, with what to do."""
    with team_database("acme") as database:
        Shelf(database.server_dsn).open()
        database.owner.execute(SABOTAGES[said].format(role=ROLE).encode())
        try:
            with pytest.raises(StoreError) as refused:
                Shelf(database.server_dsn).open()
        finally:
            database.owner.execute(f"ALTER ROLE {ROLE} NOSUPERUSER NOBYPASSRLS".encode())
            database.owner.execute(f"REASSIGN OWNED BY {ROLE} TO CURRENT_USER".encode())
        assert said in str(refused.value)


def test_an_owner_without_superuser_makes_a_team_that_can_be_served() -> None:
    """A managed database gives nobody superuser; the policies of the owner are for the owner only."""
    with team_database() as database:
        database.owner.execute("DROP SCHEMA howcome_team CASCADE")
        name = database.owner.info.dbname
        database.owner.execute(
            f"CREATE ROLE landlord LOGIN CREATEROLE; GRANT CREATE ON DATABASE {name} TO landlord".encode()
        )
        try:
            with connect(make_conninfo(database.dsn, user="landlord")) as owner:
                migrate(owner)
                again = TeamDatabase(database.dsn, owner)
                again.admin.create("acme")
                token = key_of(again.invite("acme", "Ann"))
            shelf = Shelf(database.server_dsn)
            shelf.open()
            assert shelf.store(token, [record()])[0]["state"] == "stored"
            assert shelf.member(token).person == "Ann"
            shelf.close()
        finally:
            database.owner.execute("DROP OWNED BY landlord CASCADE; DROP ROLE landlord")


BAD = {
    "type": [None, "", "opinion", 3], "status": ["done"], "origin": ["tool", "", None],
    "created": ["yesterday", 3, "2026-11-24", "9999-99-99T00:00:00+00:00"], "key": ["AB" * 16, "zz", None],
    "supersedes": ["x", 3], "repository": ["app", "", None, "a\nb/c", "/etc/passwd", "x" * 400, "a.b/\ud800"],
    "text": ["", "  ", None, 3, "x" * 8001, "a\0b", "\ud800"], "withdrawn": [True, "yes", 1],
}  # fmt: skip


@pytest.mark.parametrize(("field", "value"), [(field, value) for field, values in BAD.items() for value in values])
def test_a_record_that_is_none_is_refused_by_its_field(field: str, value: object) -> None:
    """Nothing of it reaches the database."""
    with pytest.raises(HowcomeError, match="text" if field == "withdrawn" and value is True else field):
        record_of(record(**{field: value}))


def test_what_is_sent_is_what_comes() -> None:
    """Every field, to the millisecond."""
    assert record_of(record()).value == record()
    assert shelves.STORED == "stored"
