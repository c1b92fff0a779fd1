"""A graph server, as real HTTP: what it holds is found as our own graph's, and nothing that it does is in the way."""

from __future__ import annotations

import base64
import time
from typing import Any

import pytest
from tests.endpoint import Answer, running
from tests.others import Neo4j

from howcome.errors import ProviderError
from howcome.providers.graph_neo4j import Neo4jGraph
from howcome.retrieve.code_files import files_meant

ROOT = "/home/mara/quay"
PASSWORD = "planted-word"
EDGES = (("src/berth.py", "src/tidal_clock.py"), ("web/Tidal-Clock.ts", "web/hub.ts"), ("src/crane.py", "src/berth.py"))


def opened(server: Neo4j, limit_s: float = 5.0) -> Neo4jGraph:
    """The adapter on a server; project 1 is there, no other."""
    return Neo4jGraph(server.url(""), "reader", PASSWORD, {1: ROOT}.__getitem__, limit_s)


@pytest.mark.parametrize("project", [ROOT, "quay"])
def test_files_and_neighbours_are_found_by_names(project: str) -> None:
    """Whatever a project is called there: its root, or the last part of it."""
    with running(Neo4j(project, EDGES)) as server:
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
    assert server.headers[0]["Authorization"] == "Basic " + base64.b64encode(f"reader:{PASSWORD}".encode()).decode()


def test_questions_hold_names_as_parameters_and_only_read() -> None:
    """A name that looks like Cypher stays a name."""
    name = "x'}) DETACH DELETE f //.py"
    with running(Neo4j(ROOT, EDGES)) as server:
        graph = opened(server)
        graph.files_called(1, [name], [])
        graph.neighbours([row for row, _ in graph.files_called(1, ["berth.py"], [])])
    for asked in server.asked:
        assert name not in asked["statement"]
        assert not {"CREATE", "MERGE", "SET", "DELETE", "REMOVE", "CALL", "LOAD"}.intersection(
            asked["statement"].split()
        )
    assert server.asked[0]["parameters"]["projects"] == [ROOT, "quay"]


def test_another_project_is_not_asked_for() -> None:
    """Nor one that has no root."""
    with running(Neo4j("/elsewhere", EDGES)) as server:
        assert opened(server).files_called(1, ["berth.py"], []) == []
        nowhere = Neo4jGraph(server.url(""), "reader", "", lambda _: "")
        assert nowhere.files_called(7, ["berth.py"], []) == []
    assert len(server.asked) == 1


def values(*rows: Any) -> Answer:
    """An answer of these rows."""
    return {"value": {"data": {"fields": [], "values": list(rows)}}}


def test_paths_that_lead_out_of_the_project_are_left_out() -> None:
    """As are those that are no text, or have no edges."""
    odd = ["/etc/passwd", "../x.py", "a/../../x.py", "", "a\nb.py", 7, None, "x" * 2000]
    with running(Neo4j(ROOT, (), values(*([ROOT, path] for path in [*odd, "a.py"])))) as server:
        graph = opened(server)
        ((row, path),) = graph.files_called(1, ["a.py"], [])
        assert path == "a.py"
        near = [[ROOT, "a.py", path, 1, 1] for path in odd]
        server.script.append(values(*near, [ROOT, "b.py", "c.py", 1, 1], [ROOT, "a.py", "c.py", 0, "1"]))
        assert graph.neighbours([row]) == []


FAILING: dict[str, tuple[Answer, str]] = {
    "an error": (
        {"value": {"errors": [{"code": "Neo.ClientError", "message": "no\x1b[2J"}]}},
        "says no: .*Neo.ClientError",
    ),
    "a bad statement": ({"status": 400, "value": {"errors": [{"code": "Neo.ClientError"}]}}, "refuses with 400"),
    "a wrong password": ({"status": 401, "body": PASSWORD.encode()}, r"401: \(key\); .*graph_password_env"),
    "a redirect": ({"status": 307, "headers": {"Location": "http://127.0.0.1:9"}}, "redirects .* set graph_url"),
    "down": ({"status": 503}, "fails with 503"),
    "silence": ({"close": True}, "does not answer"),
    "hanging": ({"hang_s": 60}, "does not answer"),
    "a page": ({"body": b"<html>"}, "not answer as a Neo4j; check graph_url"),
    "another object": ({"value": {"results": []}}, "not answer as a Neo4j"),
    "a list": ({"value": [1]}, "not answer as a Neo4j"),
    "rows of another width": (values(["a"]), "not answer as a Neo4j"),
    "rows that are none": (values("ab"), "not answer as a Neo4j"),
}


@pytest.mark.parametrize(("failure", "message"), FAILING.values(), ids=FAILING.keys())
def test_a_failure_is_said_in_one_line(failure: Answer, message: str) -> None:
    """One request, within the limit, without the password."""
    with running(Neo4j(ROOT, EDGES, failure)) as server:
        started = time.monotonic()
        with pytest.raises(ProviderError, match=message) as raised:
            opened(server, 2 if "hang_s" in failure else 60).files_called(1, ["berth.py"], [])
        assert time.monotonic() - started < 30
    assert len(server.asked) == 1
    assert PASSWORD not in str(raised.value)
    assert str(raised.value).isprintable()


@pytest.mark.parametrize("path", ["", "/", "/db/neo4j", "/db/neo4j/", "/db/neo4j/query/v2"])
def test_an_address_is_completed(path: str) -> None:
    """A server alone means its usual database."""
    with running(Neo4j(ROOT, EDGES)) as server:
        graph = Neo4jGraph(server.url(path), "neo4j", "", lambda _: ROOT)
        assert len(graph.files_called(1, ["berth.py"], [])) == 1


@pytest.mark.parametrize(
    "url", ["bolt://host:7687", "host:7474", "http://host/browser", "http://me:word@host", "http://[::1"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(ProviderError, match="graph_url"):
        Neo4jGraph(url, "neo4j", "", lambda _: ROOT)
