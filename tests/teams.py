"""Teams for tests: a real database with tables and tokens, and a real server before it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from psycopg.conninfo import make_conninfo
from tests.postgres_servers import drop_database, fresh_database
from tests.processes import COMMAND

from howcome.teams.admin import Admin
from howcome.teams.server_role import ROLE, connect, migrate

TYPE_CHECKING = False
if TYPE_CHECKING:
    import psycopg

APP, WEB = "github.com/acme/app", "github.com/acme/web"


@dataclass
class TeamDatabase:
    """A database with teams: `dsn` is its owner's, `server_dsn` the server's; tokens by what they were made for."""

    dsn: str
    owner: psycopg.Connection[Any]
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def server_dsn(self) -> str:
        """For the role that owns nothing."""
        return make_conninfo(self.dsn, user=ROLE)

    @property
    def admin(self) -> Admin:
        """Its administration."""
        return Admin(self.owner)

    def invite(
        self, team: str, person: str, *, may_write: bool = True, only: Sequence[str] = (), is_admin: bool = False
    ) -> str:
        """A token."""
        return self.admin.invite(team, person, may_write=may_write, repositories=only, days=9, is_admin=is_admin)


@contextmanager
def team_database(*teams: str, name: str = "pypi") -> Iterator[TeamDatabase]:
    """A database with some teams and nobody in them."""
    dsn = fresh_database(name)
    with connect(dsn) as owner:
        migrate(owner)
        found = TeamDatabase(dsn, owner)
        for team in teams:
            found.admin.create(team)
        yield found
    drop_database(dsn)


def record(key: str = "ab", text: str = "Uploads are retried five times", **changed: object) -> dict[str, object]:
    """A memory as it is sent; `key` is repeated until it is one."""
    return {
        "key": (str(key) * 16)[:32], "type": "decision", "status": "open", "created": "2026-11-24T02:31:02.796+00:00",
        "origin": "user", "repository": APP, "supersedes": None, "text": text, "withdrawn": False, **changed,
    }  # fmt: skip


@dataclass
class Server:
    """A running `howcome serve`."""

    process: subprocess.Popen[str]
    listening: str
    log: Path

    @property
    def host(self) -> str:
        """As the header says it."""
        return self.listening

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.listening.rpartition(":")[2])

    def ask(
        self,
        path: str,
        token: str = "",
        *,
        method: str = "",
        data: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> tuple[int, Any]:
        """The status of an answer, and what it says."""
        body = data if data is None or isinstance(data, bytes) else json.dumps(data).encode()
        given = {"Host": self.host, **({"Authorization": f"Bearer {token}"} if token else {})}
        if body is not None:
            given |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.putrequest(method or ("GET" if body is None else "POST"), path, skip_host=True)
            for name, value in {
                **given,
                **({"Content-Length": str(len(body))} if body is not None else {}),
                **(headers or {}),
            }.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            response: HTTPResponse = connection.getresponse()
            text = response.read().decode()
        finally:
            connection.close()
        return response.status, json.loads(text) if text.startswith(("{", "[")) else text

    def tool(self, name: str, token: str, **arguments: object) -> Any:
        """What an MCP tool answers: the value of its text, or the text where it is an error."""
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        status, answer = self.ask("/mcp", token, data=call)
        assert status == 200, answer
        result = answer["result"]
        text = result["content"][0]["text"]
        return text if result.get("isError") else json.loads(text)


@contextmanager
def served(database: TeamDatabase, log: Path, *options: str) -> Iterator[Server]:
    """A real server of a database, on a free port of this machine."""
    words = [*COMMAND, "serve", "--port", "0", "--json", "--database", database.server_dsn, *options]
    with log.open("w") as errors, subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("{"), log.read_text()
            yield Server(process, json.loads(line)["listening"], log)
        finally:
            process.terminate()
            process.wait(20)
