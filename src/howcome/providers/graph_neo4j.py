"""Import graphs that a Neo4j (5 or newer) holds, read with its own driver (extra `neo4j`); nothing is written there.

Nodes `(:File {project, path})`: `project` is the root folder of the repository, whole or its last part; `path` is
below it, with `/`. Relationships `(:File)-[:IMPORTS]->(:File)` from the file that imports to the one that it imports.
An index on `File.project` keeps questions fast.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from threading import Timer
from typing import TYPE_CHECKING, Any, LiteralString
from urllib.parse import urlsplit

from howcome.domain.code import Neighbour
from howcome.errors import MissingError, ProviderError
from howcome.providers.http_post import in_one_line

if TYPE_CHECKING:
    from neo4j import Driver

PACKAGE = "neo4j"
"""The package, and the extra of howcome that brings it."""

SCHEMES = ("bolt", "bolt+s", "bolt+ssc")
"""One server, plain or encrypted. Not `neo4j`: it goes on to the addresses that the server names."""

MAX_ROWS = 1000
MAX_PATH_CHARS = 1000

_CALLED = (
    "MATCH (f:File) WHERE f.project IN $projects AND f.path = toString(f.path)"
    " WITH f, toLower(last(split(f.path, '/'))) AS name"
    " WHERE name IN $names OR replace(replace(split(name, '.')[0], '_', ''), '-', '') IN $stems"
    " RETURN DISTINCT f.project, f.path ORDER BY f.path LIMIT $limit"
)
_NEIGHBOURS = (
    "UNWIND $files AS file MATCH (f:File {project: file[0], path: file[1]})-[:IMPORTS]-(n:File)"
    " WHERE n.project = f.project AND n <> f WITH DISTINCT f, n"
    " RETURN f.project, f.path, n.path, COUNT { (f)-[:IMPORTS]-() }, COUNT { (n)-[:IMPORTS]-() }"
    " ORDER BY f.path, n.path LIMIT $limit"
)


class Neo4jGraph:
    """Files and their neighbours, asked by names; for one thread. Row ids are given here and hold as long as this does.

    Args:
        url: `bolt://host:7687`, or with the database: `…/NAME`; else it is the user's home database.
        user: Who asks.
        password: Shown nowhere; '' where the server wants none.
        root_of: The root of a project, by its row id; '' when there is no such project.
        limit_s: How long one question may take.
    """

    def __init__(self, url: str, user: str, password: str, root_of: Callable[[int], str], limit_s: float = 2.0) -> None:
        self.shown, self._database = _place(url)
        if find_spec(PACKAGE) is None:
            raise MissingError(f"graph_url needs the package {PACKAGE}", f"pip install {PACKAGE}")
        self._user, self._password = user, password
        self._root_of, self._limit_s = root_of, limit_s
        self._rows: dict[tuple[str, str], int] = {}

    def files_called(self, project_id: int, names: Collection[str], stems: Collection[str]) -> list[tuple[int, str]]:
        """Files (row id, path) with one of these names or stems, in the order of their paths."""
        root = self._root_of(project_id).rstrip("/")
        if not root or not (names or stems):
            return []
        projects = list(dict.fromkeys((root, root.rpartition("/")[2])))
        found = self._ask(_CALLED, {"projects": projects, "names": list(names), "stems": list(stems)})
        return [(self._row(str(project), path), path) for project, path in found if _is_path(path)]

    def neighbours(self, rows: Iterable[int]) -> list[Neighbour]:
        """The files that these import, and those that import these, each pair once; rows are those given before."""
        known = list(self._rows)
        files = [list(known[row - 1]) for row in rows]
        if not files:
            return []
        near = []
        for project, of, path, degree_of, degree in self._ask(_NEIGHBOURS, {"files": files}):
            of_row = self._rows.get((str(project), str(of)))
            if of_row is not None and _is_path(path) and _is_count(degree_of) and _is_count(degree):
                near.append(Neighbour(of_row, self._row(str(project), path), path, degree_of, degree))
        return near

    def _row(self, project: str, path: str) -> int:
        """The row id of a file, given when it is first seen."""
        return self._rows.setdefault((project, path), len(self._rows) + 1)

    def _ask(self, statement: LiteralString, parameters: Mapping[str, object]) -> list[list[Any]]:
        """The rows of an answer."""
        from neo4j import Query, RoutingControl
        from neo4j.exceptions import AuthError, DriverError, Neo4jError

        try:
            with self._driver() as driver:
                question = Query(statement, timeout=self._limit_s)
                found = driver.execute_query(
                    question, {**parameters, "limit": MAX_ROWS}, routing_=RoutingControl.READ, database_=self._database
                ).records
        except AuthError as error:
            raise self._failure("refuses", error, "; check graph_user and graph_password_env") from error
        except Neo4jError as error:
            raise self._failure("says no", error) from error
        except (DriverError, OSError, ValueError) as error:
            raise self._failure("does not answer", error, "; check graph_url") from error
        return [list(row) for row in found]

    @contextmanager
    def _driver(self) -> Iterator[Driver]:
        """The driver, asked once and closed; by a clock where the server falls silent, in whatever state."""
        import neo4j

        logging.getLogger("neo4j").addHandler(logging.NullHandler())  # it would write to the error stream
        driver = neo4j.GraphDatabase.driver(
            self.shown, auth=(self._user, self._password) if self._password else None, user_agent="howcome",
            connection_timeout=self._limit_s, connection_acquisition_timeout=self._limit_s, max_connection_pool_size=1,
            max_transaction_retry_time=0, telemetry_disabled=True,
        )  # fmt: skip
        clock = Timer(self._limit_s, driver.close)
        clock.daemon = True
        clock.start()
        try:
            yield driver
        finally:
            clock.cancel()
            with suppress(neo4j.exceptions.DriverError, OSError):
                driver.close()

    def _failure(self, what: str, error: Exception, step: str = "") -> ProviderError:
        said = str(error)
        if self._password:
            said = said.replace(self._password, "(password)")
        return ProviderError(f"{self.shown} {what}: {in_one_line(said)}{step}")


def _is_path(value: object) -> bool:
    """Whether a value is a path below a root, as our own graphs have them."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATH_CHARS or not value.isprintable():
        return False
    return not value.startswith("/") and ".." not in value.split("/")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _place(url: str) -> tuple[str, str | None]:
    """The address of a server, and the name of the database in it, if it is named."""
    plain = url.strip().rstrip("/")
    try:
        parts = urlsplit(plain)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise ProviderError(f"graph_url is no address: {error}") from error
    database = parts.path.removeprefix("/")
    is_plain = plain.isascii() and plain.isprintable() and " " not in plain
    if parts.scheme not in SCHEMES or not host or "/" in database or not is_plain:
        raise ProviderError(f"graph_url is bolt://host:7687 or bolt+s://host:7687/NAME, unlike {url!r}")
    if parts.username is not None or parts.query or parts.fragment:
        raise ProviderError("graph_url is a plain address; a name belongs in graph_user, see graph_password_env")
    host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{host}{f':{port}' if port else ''}", database or None
