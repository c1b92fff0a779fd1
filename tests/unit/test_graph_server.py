"""A graph server, as a real one: what it holds is found as our own graph's, and nothing that it does is in the way."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.bolt import DATABASE, PASSWORD, USER, Neo4j, serving
from tests.endpoint import Embeddings, running

from howcome.errors import ProviderError
from howcome.providers import graph_neo4j
from howcome.providers.graph_neo4j import Neo4jGraph
from howcome.retrieve.code_files import files_meant

ROOT = "/home/mara/quay"
EDGES = (("src/berth.py", "src/tidal_clock.py"), ("web/Tidal-Clock.ts", "web/hub.ts"), ("src/crane.py", "src/berth.py"))
LIMIT_S = 60.0
SHORT_S = 2.0


def opened(server: Neo4j, limit_s: float = LIMIT_S, **named: Any) -> Neo4jGraph:
    """The adapter on a server; project 1 is there, no other."""
    given = {"url": server.url(), "user": USER, "password": PASSWORD, "root_of": {1: ROOT}.__getitem__, **named}
    return Neo4jGraph(**given, limit_s=limit_s)


@pytest.fixture
def quay() -> Iterator[Neo4j]:
    """A server that holds our edges."""
    with serving(Neo4j(ROOT, EDGES)) as server:
        yield server


@pytest.mark.parametrize("project", [ROOT, "quay"])
def test_files_and_neighbours_are_found_by_names(project: str) -> None:
    """Whatever a project is called there: its root, or the last part of it."""
    with serving(Neo4j(project, EDGES)) as server:
        graph = opened(server)
        meant = files_meant(graph, 1, ["TidalClock", "src/berth.py", "gone.py"])
        assert [path for _, path in meant["TidalClock"]] == ["src/tidal_clock.py", "web/Tidal-Clock.ts"]
        ((row, path),) = meant["src/berth.py"]
        assert (path, "gone.py" in meant) == ("src/berth.py", False)
        near = graph.neighbours([row])
        assert [(one.of, one.path, one.degree_of, one.degree) for one in near] == [
            (row, "src/crane.py", 2, 1), (row, "src/tidal_clock.py", 2, 1),
        ]  # fmt: skip
        assert graph.neighbours([]) == []
        assert graph.files_called(1, [], []) == []
        assert len(server.asked) == 2


def test_questions_hold_names_as_parameters_and_only_read(quay: Neo4j) -> None:
    """A name that looks like Cypher stays a name; a question that writes would be refused."""
    name = "x'}) DETACH DELETE f //.py"
    graph = opened(quay)
    assert graph.files_called(1, [name], []) == []
    assert len(graph.neighbours([row for row, _ in graph.files_called(1, ["berth.py"], [])])) == 2
    assert name.encode() in quay.asked[0]
    for statement in (graph_neo4j._CALLED, graph_neo4j._NEIGHBOURS):
        assert not {"CREATE", "MERGE", "SET", "DELETE", "REMOVE", "CALL", "LOAD"}.intersection(statement.split())


def test_another_project_is_not_asked_for() -> None:
    """Nor one that has no root."""
    with serving(Neo4j("/elsewhere", EDGES)) as server:
        assert opened(server).files_called(1, ["berth.py"], []) == []
        assert opened(server, root_of=lambda _: "").files_called(7, ["berth.py"], []) == []
        assert len(server.asked) == 1


def test_paths_that_lead_out_of_the_project_are_left_out() -> None:
    """As are those that are no text."""
    odd = ["/etc/a.py", "../a.py", "a/../../a.py", "b\na.py", "x" * 2000 + "/a.py"]
    with serving(Neo4j(ROOT, [("a.py", path) for path in ("b.py", 7, *odd)])) as server:
        graph = opened(server)
        ((row, path),) = graph.files_called(1, ["a.py", ""], [])
        assert path == "a.py"
        assert [(one.path, one.degree_of) for one in graph.neighbours([row])] == [("b.py", 7)]


@pytest.mark.parametrize("bytes_said", [0, 4, 40, 100, 200])
def test_a_server_that_falls_silent_is_waited_for_within_the_limit(quay: Neo4j, bytes_said: int) -> None:
    """In whatever state: before it greets, in its greeting, and in its answer."""
    quay.most_bytes = bytes_said
    started = time.monotonic()
    with pytest.raises(ProviderError, match=r"does not answer: .*; check graph_url"):
        opened(quay, SHORT_S).files_called(1, ["berth.py"], [])
    assert time.monotonic() - started < 20
    assert len(quay.asked) == 1


def failure_of(graph: Neo4jGraph) -> str:
    """What it says when it fails: one line without the password."""
    with pytest.raises(ProviderError) as raised:
        graph.files_called(1, ["berth.py"], [])
    assert PASSWORD not in str(raised.value)
    assert str(raised.value).isprintable()
    return str(raised.value)


def test_a_failure_is_said_in_one_line(quay: Neo4j) -> None:
    """With what to correct, and nobody is asked twice."""
    said = failure_of(opened(quay, password=f"{PASSWORD}s"))
    assert "refuses: " in said
    assert said.endswith("check graph_user and graph_password_env")
    assert "says no: " in failure_of(opened(quay, url=quay.url("/nowhere")))
    assert len(quay.asked) == 2
    quay.is_closed = True
    assert "does not answer: " in failure_of(opened(quay))
    with socket.socket() as taken:  # bound, and nobody listens
        taken.bind(("127.0.0.1", 0))
        assert "does not answer: " in failure_of(opened(quay, url=f"bolt://127.0.0.1:{taken.getsockname()[1]}"))
    with running(Embeddings()) as page:
        assert "does not answer: " in failure_of(opened(quay, SHORT_S, url=page.url("").replace("http", "bolt")))


def test_a_failure_says_nothing_on_the_error_stream(quay: Neo4j) -> None:
    """The driver would: a command's error stream is its own."""
    quay.most_bytes = 4
    script = (
        "import sys; from howcome.providers.graph_neo4j import Neo4jGraph\n"
        "try: Neo4jGraph(sys.argv[1], 'root', 'x', lambda _: '/r', 1.0).files_called(1, ['a.py'], [])\n"
        "except Exception as error: print(type(error).__name__)"
    )
    done = subprocess.run([sys.executable, "-c", script, quay.url()], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("ProviderError\n", "")


@pytest.mark.parametrize(
    ("url", "shown", "database"),
    [
        ("bolt://host:7687", "bolt://host:7687", None), (" bolt+s://host/ ", "bolt+s://host", None),
        ("bolt+ssc://[::1]:7687/code", "bolt+ssc://[::1]:7687", "code"),
    ],
)  # fmt: skip
def test_an_address_may_name_a_database(url: str, shown: str, database: str | None) -> None:
    """Without one it is the user's own."""
    graph = Neo4jGraph(url, "neo4j", "", lambda _: ROOT)
    assert (graph.shown, graph._database) == (shown, database)
    assert DATABASE == "code"


@pytest.mark.parametrize(
    "url",
    [
        "http://host:7474", "neo4j://host", "host:7687", "bolt://", "bolt://host/a/b", "bolt://me:word@host",
        "bolt://host?policy=x", "bolt://[::1", "bolt://host:port", "bolt://ho st",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent; nor does one count that sends on to others."""
    with pytest.raises(ProviderError, match="graph_url"):
        Neo4jGraph(url, "neo4j", "", lambda _: ROOT)
