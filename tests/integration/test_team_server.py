"""`howcome serve` as a process: who may ask, what becomes of nonsense, of dawdlers, of a database that goes away."""

from __future__ import annotations

import json
import random
import shlex
import signal
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from tests.processes import run
from tests.teams import APP, Server, TeamDatabase, record, served, team_database

from howcome.teams.server_role import ROLE, server_dsn

FUZZ = 400
EVERYWHERE = "0.0.0.0"  # noqa: S104 - what is tried
FINE = {200, 400, 401, 403, 404, 405, 408, 411, 413, 414, 415, 421, 422, 429, 431, 406, 202}


@pytest.fixture(scope="module")
def database() -> Iterator[TeamDatabase]:
    """One team with a writer and a reader."""
    with team_database("acme") as found:
        found.tokens = {"write": found.invite("acme", "Ann"), "read": found.invite("acme", "Bob", may_write=False)}
        yield found


@pytest.fixture(scope="module")
def server(database: TeamDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of it."""
    with served(database, tmp_path_factory.mktemp("serve") / "log", "--name", "team.example.org") as found:
        yield found


def test_what_one_stores_another_reads_and_finds(database: TeamDatabase, server: Server) -> None:
    """By position, by words over MCP, with the author that the server knows; said twice it is known."""
    write, read = database.tokens["write"], database.tokens["read"]
    sent = record("5a", "The gateway drops every third upload", author="Mallory")
    for state in ("stored", "known"):
        status, answer = server.ask("/v1/memories", write, data={"memories": [sent]})
        assert (status, answer["results"]) == (200, [{"key": "5a" * 16, "state": state}])
    status, answer = server.ask(f"/v1/memories?repository={APP}&after=0&limit=1", read)
    [one] = answer["memories"]
    assert (status, one["author"], one["text"]) == (200, "Ann", "The gateway drops every third upload")
    assert server.ask(f"/v1/memories?repository={APP}&after={answer['position']}", read)[1]["memories"] == []
    [hit] = server.tool("search_team_memory", read, query="why do uploads drop?")
    assert (hit["id"], hit["author"]) == ("mem-5a5a5a5a5a5a", "Ann")
    assert server.tool("get_team_memory", read, id=hit["id"]) == [hit]
    assert "limit" in server.tool("search_team_memory", read, query="x", limit=99)
    for odd in ("a\0b", "\u202e", "%", ""):
        assert server.tool("search_team_memory", read, query=odd) == []
        assert "hexadecimal" in server.tool("get_team_memory", read, id=f"ab{odd}zz")
    assert "host/owner/name" in server.tool("search_team_memory", read, query="x", repository="/etc")
    assert (
        "may only read"
        in server.ask("/v1/memories", read, data={"memories": [record("5b")]})[1]["results"][0]["reason"]
    )
    assert server.ask("/v1/me", read)[1]["scope"] == "read"


def test_agents_are_told_what_holds_of_a_chain(database: TeamDatabase, server: Server) -> None:
    """An author's newest text; what somebody else put in its place stands beside it, and each says so."""
    write, read, bob = database.tokens["write"], database.tokens["read"], database.invite("acme", "Bob")
    sent = [
        record("c1", "The evaluator keeps its queue in Redis"),
        record("c2", "The evaluator keeps its queue in SQLite", supersedes="c1" * 16),
        record("c3", "The evaluator keeps its queue in Postgres", supersedes="c2" * 16),
    ]
    server.ask("/v1/memories", write, data={"memories": sent})
    beside = record("c4", "The evaluator keeps its queue in Kafka", supersedes="c3" * 16)
    server.ask("/v1/memories", bob, data={"memories": [beside]})

    def found() -> dict[str, list[str]]:
        hits = server.tool("search_team_memory", read, query="evaluator queue")
        return {hit["text"].split()[-1]: hit["later"] for hit in hits}

    assert found() == {"Postgres": [f"mem-{'c4' * 6} of Bob"], "Kafka": []}
    [old] = server.tool("get_team_memory", read, id="c1c1")
    assert old["later"] == [f"mem-{'c2' * 6} of Ann"]
    server.ask("/v1/memories", bob, data={"memories": [record("c4", "", withdrawn=True)]})
    server.ask("/v1/memories", write, data={"memories": [record("c3", "", withdrawn=True)]})
    assert found() == {"SQLite": []}


HOSTS = {"": True, "localhost:{port}": True, "team.example.org": True, "team.example.org:443": False,
         "127.0.0.1": False,
         "evil.example": False, "127.0.0.1.evil.example:{port}": False}  # fmt: skip
ORIGINS = {None: True, "http://127.0.0.1:{port}": True, "http://team.example.org": True, "https://evil.example": False,
           "null": False, "https://127.0.0.1:{port}": False}  # fmt: skip


def test_host_origin_token_and_method_are_each_exact(database: TeamDatabase, server: Server) -> None:
    """The whole matrix; the first that is wrong decides."""
    port = server.port
    good = database.invite("acme", "Matrix")
    tokens = {good: True, "": False, "hct_wrong": False, good + "x": False, good.upper(): False, "x" * 5000: False}
    methods = {"GET": True, "POST": False, "PUT": False, "DELETE": False, "OPTIONS": False, "HEAD": False}
    for host, is_host in HOSTS.items():
        for origin, is_origin in ORIGINS.items():
            for token, is_token in tokens.items():
                for method, is_method in methods.items():
                    headers = {"Host": host.format(port=port)} if host else {}
                    headers |= {"Origin": origin.format(port=port)} if origin else {}
                    status, _ = server.ask("/v1/me", token, method=method, headers=headers)
                    wanted = 200 if is_token else 401
                    wanted = wanted if is_method else 405
                    wanted = wanted if is_origin else 403
                    wanted = wanted if is_host else 421
                    assert status == wanted or (status == 429 and wanted == 401), (host, origin, token, method)
            time.sleep(0.02)


def test_no_answer_lets_other_sites_read(database: TeamDatabase, server: Server) -> None:
    """No CORS, nothing cached."""
    connection = HTTPConnection(server.host)
    connection.request(
        "OPTIONS", "/v1/me", headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "GET"}
    )
    response = connection.getresponse()
    names = {name.lower() for name, _ in response.getheaders()}
    assert not any(name.startswith("access-control") for name in names)
    assert "cache-control" in names
    connection.close()
    assert database.tokens["write"] not in server.log.read_text()


def test_nonsense_is_refused_and_never_breaks_it(database: TeamDatabase, server: Server) -> None:
    """Bodies, queries, headers, methods and bytes that mean nothing: an answer of 2xx or 4xx, and no traceback."""
    chance = random.Random(11)
    token = database.invite("acme", "Fuzz")
    pieces = [
        None,
        True,
        -1,
        1e308,
        "",
        "x",
        "\ud800",
        [],
        {},
        [[[]]],
        {"memories": {}},
        record(),
        {"memories": [record(), 7, None]},
    ]
    paths = ["/v1/memories", "/mcp", "/v1/me", "/v1/memories?repository=%00", "/v1/memories?after=-1&repository=a.b/c",
             "/v1/memories?limit=99999999999999999999&repository=a.b/c", "/v1/health", "//",
             "/v1/../v1/me", "/%2e"]  # fmt: skip
    seen = set()
    for turn in range(FUZZ):
        if turn % 3 == 0:
            data = chance.randbytes(chance.randrange(200))
        elif turn % 3 == 1:
            data = ("[" * chance.choice((1, 50, 100_000))).encode()
        else:
            value = {"memories": [chance.choice(pieces) for _ in range(chance.randrange(4))]}
            data = json.dumps(
                {
                    "jsonrpc": "2.0",
                    "id": chance.choice(pieces),
                    "method": chance.choice(("tools/call", "x", "initialize")),
                    "params": chance.choice(pieces),
                    **value,
                }
            ).encode()
        status, _ = server.ask(
            chance.choice(paths), token, data=data, method=chance.choice(("POST", "POST", "GET", "PATCH"))
        )
        seen.add(status)
        time.sleep(0.04 if turn % 20 == 19 else 0)
    assert seen <= FINE
    port = server.port
    for raw in (b"\x16\x03\x01\x02", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"A" * 70_000 + b"\r\n\r\n",
                b"POST /v1/memories HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            client.sendall(raw)
            client.shutdown(socket.SHUT_WR)
            assert client.recv(100).split(b" ")[1:2] in ([], [b"400"], [b"421"], [b"431"], [b"413"])
    too_long = {"memories": [record(f"{number:04x}", "x" * 7000) for number in range(180)]}
    assert server.ask("/v1/memories", token, data=too_long)[0] == 413
    assert server.ask("/v1/health")[0] == 200
    assert "Traceback" not in server.log.read_text()


def test_who_dawdles_is_let_go_and_disturbs_nobody(database: TeamDatabase, server: Server) -> None:
    """Fifty who connect and say nothing, half a header, half a body: others are answered, and all are let go."""
    port = server.port
    token = database.tokens["write"]
    fields = [
        f"Host: {server.host}",
        f"Authorization: Bearer {token}",
        "Content-Type: application/json",
        "Content-Length: 50",
    ]
    head = "\r\n".join(["POST /v1/memories HTTP/1.1", *fields, ""])
    clients = []
    for number in range(60):
        client = socket.create_connection(("127.0.0.1", port), timeout=20)
        client.sendall((b"", head[:40].encode(), (head + "\r\n{").encode())[number % 3])
        clients.append(client)
    started = time.monotonic()
    assert server.ask("/v1/me", token)[0] == 200
    assert time.monotonic() - started < 3
    answers = [client.recv(1000) for client in clients]
    assert time.monotonic() - started < 15
    assert {answer.split(b" ")[1:2][0] if answer else b"" for answer in answers} == {b"", b"408"}
    for client in clients:
        client.close()


def test_many_requests_of_one_token_are_slowed_down(database: TeamDatabase, server: Server) -> None:
    """Others are not."""
    busy = database.invite("acme", "Busy")
    seen = [server.ask("/v1/me", busy)[0] for _ in range(300)]
    assert (seen[0], 429 in seen) == (200, True)
    assert server.ask("/v1/me", database.tokens["read"])[0] == 200


def test_a_database_that_goes_away_is_said_and_comes_back(database: TeamDatabase, server: Server) -> None:
    """503 while it is gone, and no restart of the server afterwards."""
    token = database.tokens["write"]
    name = database.owner.info.dbname
    database.owner.execute("ALTER ROLE howcome_team_server CONNECTION LIMIT 0")
    try:
        database.owner.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s"
            " AND usename = 'howcome_team_server'",
            (name,),
        )
        status, answer = server.ask("/v1/me", token)
        assert (status, "try again later" in answer["error"]) == (503, True)
    finally:
        database.owner.execute("ALTER ROLE howcome_team_server CONNECTION LIMIT -1")
    until = time.monotonic() + 20
    while server.ask("/v1/me", token)[0] != 200 and time.monotonic() < until:
        time.sleep(0.2)
    assert server.ask("/v1/me", token)[0] == 200


def test_its_log_says_who_and_what_and_no_contents(database: TeamDatabase, server: Server) -> None:
    """JSON lines; no token, no text, no query."""
    server.ask("/v1/memories?repository=secret.example/harbour", database.tokens["write"])
    server.ask("/quay/secret", database.tokens["write"])
    until = time.monotonic() + 10
    while time.monotonic() < until:  # a line is written after its answer
        lines = [json.loads(line) for line in server.log.read_text().splitlines()]
        if (lines[-1]["status"], lines[-1]["path"]) == (404, "?"):
            break
        time.sleep(0.01)
    asked = [line for line in lines if "path" in line]
    assert {"method", "path", "status", "ms", "person", "address", "time"} == set(asked[0])
    assert {"time", "level", "said", "error"} in [set(line) for line in lines]  # of the database that went away
    assert (lines[-2]["person"], lines[-2]["path"], lines[-1]["path"]) == ("Ann", "/v1/memories", "?")
    text = server.log.read_text()
    assert all(word not in text for word in ("secret", "gateway", "hct_", "quay"))


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_when_asked_and_leaves_nothing(database: TeamDatabase, tmp_path: Path, ending: signal.Signals) -> None:
    """In the middle of a request, too; its connections to the database are gone."""
    with served(database, tmp_path / "log") as server:
        asking = threading.Thread(target=server.ask, args=("/v1/me", database.tokens["write"]))
        asking.start()
        asking.join()
        server.process.send_signal(ending)
        assert server.process.wait(10) in (0, -ending, 128 + ending)
        with socket.socket() as tried:
            assert tried.connect_ex(("127.0.0.1", server.port))
    assert "Traceback" not in (tmp_path / "log").read_text()


def test_other_addresses_need_tls(database: TeamDatabase, tmp_path: Path) -> None:
    """Without a certificate it is refused; with one it is served encrypted."""
    plain = run("serve", "--address", EVERYWHERE, "--port", "0", "--database", database.server_dsn)
    assert (plain.returncode, "--cert and --key" in plain.stderr) == (2, True)
    assert run("serve", "--cert", "x", "--database", database.server_dsn).returncode == 2
    missing = run("serve", "--cert", "x", "--key", "y", "--port", "0", "--database", database.server_dsn)
    assert (missing.returncode, "certificate" in missing.stderr) == (2, True)
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-keyout", key,
         "-out", cert, "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    options = ("--address", EVERYWHERE, "--name", "localhost", "--cert", str(cert), "--key", str(key))
    with served(database, tmp_path / "log", *options) as server:
        token, context = database.tokens["read"], ssl.create_default_context(cafile=str(cert))
        with (
            socket.create_connection(("127.0.0.1", server.port)) as bare,
            context.wrap_socket(bare, server_hostname="localhost") as client,
        ):
            client.sendall(f"GET /v1/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\r\n".encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 200")


def test_teams_are_administered_from_the_command_line() -> None:
    """Created, invited, listed, revoked; the errors say what to do."""
    with team_database() as database:
        where = {"HOWCOME_TEAM_DATABASE": database.dsn}
        assert "howcome team create" in run("team", "status", environment=where).stdout
        database.owner.execute("DROP SCHEMA howcome_team CASCADE")
        assert "howcome team create" in run("team", "status", environment=where).stderr
        created = run("team", "create", "acme", environment=where)
        serve = next(line for line in created.stdout.splitlines() if line.endswith(" howcome serve"))
        database_of = shlex.split(serve)[0].removeprefix("HOWCOME_TEAM_DATABASE=")
        assert conninfo_to_dict(database_of) == conninfo_to_dict(database.server_dsn)
        assert "PGPASSWORD=" in serve
        assert run("team", "create", "acme", environment=where).returncode == 2
        assert "no team 'bolt'" in run("team", "invite", "bolt", "Ann", environment=where).stderr
        made = json.loads(run("team", "invite", "acme", "Ann", "--read-only", "--json", environment=where).stdout)
        assert (made["scope"], made["token"][:4], len(made["token"])) == ("read", "hct_", 47)
        [listed] = json.loads(run("team", "status", "acme", "--json", environment=where).stdout)["tokens"]
        assert (listed["person"], listed["last_used"], made["token"] in str(listed)) == ("Ann", None, False)
        assert "revoked" in run("team", "revoke", "acme", "Ann", environment=where).stdout
        assert run("team", "revoke", "acme", "Ann", environment=where).returncode == 1
        assert run("team", "invite", "acme", " Ann", environment=where).returncode == 2
        assert run("team", "invite", "acme", "Ann", "--repository", "app", environment=where).returncode == 2
        said = run("team", "invite", "acme", "Ann", "--admin", "--days", "9", environment=where).stdout
        assert "A token for Ann (read and write, admin, 9 days)" in said
        assert "has another" not in said, "that was revoked"
        again = run("team", "invite", "acme", "Ann", environment=where).stdout
        assert "Ann has another token that holds: `howcome team revoke acme 2` ends it" in again
        assert "write, admin, all repositories" in run("team", "status", "acme", environment=where).stdout
        listed = json.loads(run("team", "status", "acme", "--json", environment=where).stdout)["tokens"]
        assert [one["is_admin"] for one in listed] == [True] * 3, "it is of the person"
        assert "[TEAM]" in run("team", "status", "--help").stdout
        nobody = run("team", "status", environment={"HOWCOME_TEAM_DATABASE": "postgresql://nobody@127.0.0.1:1/x"})
        assert (nobody.returncode, "cannot be used" in nobody.stderr, "Traceback" in nobody.stderr) == (1, True, False)
        assert run("team", "status").returncode == 2


def test_an_invitation_says_what_the_person_has_already() -> None:
    """The right of an admin is the person's, so a plain one leaves it; a token that has expired holds no more."""
    with team_database("acme") as database:
        where = {"HOWCOME_TEAM_DATABASE": database.dsn}
        invite = ("team", "invite", "acme", "Zoe")
        run(*invite, "--admin", environment=where)
        database.owner.execute("UPDATE tokens SET expires = now() - interval '1 day'")
        again = run(*invite, environment=where).stdout
        assert ("(read and write, admin, " in again, "another token" in again) == (True, False)
        assert json.loads(run(*invite, "--json", environment=where).stdout)["is_admin"] is True


def test_the_server_gets_nothing_secret_of_the_owner() -> None:
    """What `team create` prints says where the database is, and no more."""
    dsn = "postgresql://own:pw@h:5433/acme?sslmode=require&sslpassword=a&sslkey=/k&sslcert=/c&passfile=/p"
    wanted = {"user": ROLE, "host": "h", "port": "5433", "dbname": "acme", "sslmode": "require"}
    assert conninfo_to_dict(server_dsn(dsn)) == wanted
