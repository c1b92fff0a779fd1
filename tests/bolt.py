"""A graph server as howcome may ask it: a real one, behind a door that notes what is asked and can fall silent."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import neo4j
from tests.bolt_server import DATABASE, PASSWORD

from howcome.providers.graph_neo4j import Neo4jGraph

USER, PASSWORD_VARIABLE = "root", "HOWCOME_TEST_GRAPH_PASSWORD"
START_S = 100
_HOLD = """
UNWIND $edges AS edge
MERGE (a:File {project: $project, path: edge[0]}) MERGE (b:File {project: $project, path: edge[1]})
MERGE (a)-[:IMPORTS]->(b)"""


@cache
def server_port() -> int:
    """The port of this process's server, which ends with it. It starts once, in some ten seconds."""
    folder = Path(mkdtemp(prefix="howcome-bolt-"))
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("bolt_server.py")), str(folder)], cwd=folder,
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    atexit.register(_end, process, folder)
    end = time.monotonic() + START_S
    while not (folder / "port").exists():
        assert time.monotonic() < end, "no Bolt server"
        time.sleep(0.1)
    port = int((folder / "port").read_text())
    graph = Neo4jGraph(f"bolt://127.0.0.1:{port}/{DATABASE}", USER, PASSWORD, lambda _: "/warm", START_S)
    hold(port, "/warm", [("a.py", "b.py")])
    graph.neighbours([row for row, _ in graph.files_called(1, ["a.py"], [])])  # Java's first time takes seconds
    return port


def _end(process: subprocess.Popen[bytes], folder: Path) -> None:
    process.kill()
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)


def hold(port: int, project: str, edges: Iterable[tuple[Any, Any]]) -> None:
    """Makes these edges all that the server holds."""
    with neo4j.GraphDatabase.driver(f"bolt://127.0.0.1:{port}", auth=(USER, PASSWORD)) as driver:
        driver.execute_query("MATCH (n) DETACH DELETE n", database_=DATABASE)
        driver.execute_query(_HOLD, project=project, edges=[list(edge) for edge in edges], database_=DATABASE)


class Neo4j:
    """Holds edges between files of one project; `most_bytes` is what each connection is answered before it is silence.

    With `is_closed` each connection ends at once. `asked` has what was sent through each of them.
    """

    def __init__(self, project: str, edges: Iterable[tuple[Any, Any]]) -> None:
        hold(server_port(), project, edges)
        self.asked: list[bytearray] = []
        self.most_bytes, self.is_closed = 1 << 30, False
        self._door = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = [self._door]

    def url(self, path: str = f"/{DATABASE}") -> str:
        """The address of its door."""
        return f"bolt://127.0.0.1:{self._door.getsockname()[1]}{path}"

    @property
    def settings(self) -> dict[str, str]:
        """The variables that name it."""
        return {
            "HOWCOME_GRAPH_URL": self.url(), "HOWCOME_GRAPH_USER": USER, PASSWORD_VARIABLE: PASSWORD,
            "HOWCOME_GRAPH_PASSWORD_ENV": PASSWORD_VARIABLE,
        }  # fmt: skip

    def serve(self) -> None:
        """Lets connections through, until the door is closed."""
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._door.accept()
                self.asked.append(bytearray())
                if self.is_closed:
                    client.close()
                    continue
                inner = socket.create_connection(("127.0.0.1", server_port()))
                self._open += client, inner
                for flow in ((client, inner, self.asked[-1], 1 << 30), (inner, client, bytearray(), self.most_bytes)):
                    threading.Thread(target=_pump, args=flow, daemon=True).start()

    def close(self) -> None:
        """Ends all connections."""
        for each in self._open:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()


def _pump(source: socket.socket, target: socket.socket, noted: bytearray, most_bytes: int) -> None:
    """Hands on up to so many bytes; what comes after them is taken and kept."""
    with contextlib.suppress(OSError):
        while data := source.recv(1 << 16):
            target.sendall(data[: max(0, most_bytes - len(noted))])
            noted += data
        target.shutdown(socket.SHUT_WR)


@contextlib.contextmanager
def serving(server: Neo4j) -> Iterator[Neo4j]:
    """Runs its door; the password is in the environment as the settings name it."""
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    before = os.environ.get(PASSWORD_VARIABLE)
    os.environ[PASSWORD_VARIABLE] = PASSWORD
    try:
        yield server
    finally:
        server.close()
        thread.join(10)
        os.environ.pop(PASSWORD_VARIABLE) if before is None else os.environ.update({PASSWORD_VARIABLE: before})
