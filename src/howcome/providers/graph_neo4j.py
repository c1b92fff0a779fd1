"""Import graphs that a Neo4j (5.25 or newer) holds, read over its HTTP query API; nothing is ever written there.

Nodes `(:File {project, path})`: `project` is the root folder of the repository, whole or its last part; `path` is
below it, with `/`. Relationships `(:File)-[:IMPORTS]->(:File)` from the file that imports to the one that it imports.
An index on `File.project` keeps questions fast.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from howcome.domain.code import Neighbour
from howcome.errors import ProviderError
from howcome.providers.http_post import Endpoint, in_one_line

DATABASE = "neo4j"
MAX_ROWS = 1000
MAX_PATH_CHARS = 1000

_CALLED = (
    "MATCH (f:File) WHERE f.project IN $projects"
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
        url: `http://host:7474`, or with the database: `…/db/NAME`.
        user: Who asks.
        password: Shown nowhere.
        root_of: The root of a project, by its row id; '' when there is no such project.
        limit_s: How long one question may take.

    Raises:
        ProviderError: the address or the password cannot be used.
    """

    def __init__(self, url: str, user: str, password: str, root_of: Callable[[int], str], limit_s: float = 2.0) -> None:
        self._endpoint = Endpoint(_complete(url), password, user=user, setting="graph")
        self._root_of, self._limit_s = root_of, limit_s
        self._rows: dict[tuple[str, str], int] = {}
        self._files: list[tuple[str, str]] = []

    def files_called(self, project_id: int, names: Collection[str], stems: Collection[str]) -> list[tuple[int, str]]:
        """Files (row id, path) with one of these names or stems, in the order of their paths.

        Raises:
            ProviderError: the server does not answer, or something else.
        """
        root = self._root_of(project_id).rstrip("/")
        if not root or not (names or stems):
            return []
        projects = list(dict.fromkeys((root, root.rpartition("/")[2])))
        found = self._ask(_CALLED, {"projects": projects, "names": list(names), "stems": list(stems)}, 2)
        files = [(str(project), path) for project, path in found if _is_path(path)]
        return [(self._row(project, path), path) for project, path in files]

    def neighbours(self, rows: Iterable[int]) -> list[Neighbour]:
        """The files that these import, and those that import these, each pair once; rows are those given before.

        Raises:
            ProviderError: the server does not answer, or something else.
        """
        files = [list(self._files[row - 1]) for row in rows]
        if not files:
            return []
        near = []
        for project, of, path, degree_of, degree in self._ask(_NEIGHBOURS, {"files": files}, 5):
            of_row = self._rows.get((str(project), str(of)))
            if of_row is not None and _is_path(path) and _is_count(degree_of) and _is_count(degree):
                near.append(Neighbour(of_row, self._row(str(project), path), path, degree_of, degree))
        return near

    def _row(self, project: str, path: str) -> int:
        """The row id of a file, given when it is first seen."""
        row = self._rows.get((project, path))
        if row is None:
            self._files.append((project, path))
            row = self._rows[project, path] = len(self._files)
        return row

    def _ask(self, statement: str, parameters: Mapping[str, object], columns: int) -> list[list[Any]]:
        """The rows of an answer, each of so many values.

        Raises:
            ProviderError: the server does not answer, says no, or says something else.
        """
        question = {"statement": statement, "parameters": {**parameters, "limit": MAX_ROWS}}
        answer = self._endpoint.post(question, time.monotonic() + self._limit_s)
        try:
            said = json.loads(answer)
            if said.get("errors"):
                raise ProviderError(f"{self._endpoint.shown} says no: {in_one_line(json.dumps(said['errors']))}")
            return [_row_of(row, columns) for row in said["data"]["values"]]
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise ProviderError(f"{self._endpoint.shown} does not answer as a Neo4j; check graph_url") from error


def _row_of(values: list[Any], columns: int) -> list[Any]:
    """A row of so many values.

    Raises:
        ValueError: it has another width.
    """
    if not isinstance(values, list) or len(values) != columns:
        raise ValueError("a row of another width")
    return values


def _is_path(value: object) -> bool:
    """Whether a value is a path below a root, as our own graphs have them."""
    if not isinstance(value, str) or not 0 < len(value) <= MAX_PATH_CHARS or not value.isprintable():
        return False
    return not value.startswith("/") and ".." not in value.split("/")


def _is_count(value: object) -> bool:
    return isinstance(value, int) and value > 0


def _complete(url: str) -> str:
    """The whole address of the query API."""
    plain = url.strip().rstrip("/")
    if plain.endswith("/query/v2"):
        return plain
    try:
        path = urlsplit(plain).path
    except ValueError:
        return plain  # the endpoint says what is wrong with it
    if not path:
        return f"{plain}/db/{DATABASE}/query/v2"
    if path.startswith("/db/") and path.count("/") == 2:
        return f"{plain}/query/v2"
    raise ProviderError(f"graph_url is http://host:7474 or http://host:7474/db/NAME, unlike {url!r}")
