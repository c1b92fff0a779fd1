"""What a store promises about import graphs: written whole, apart by project, asked by names, in old stores too."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.batches import Transcript, find

from howcome import log
from howcome.domain.code import CodeFile, GraphChange
from howcome.log.terms import offer_terms
from howcome.store import sqlite

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from howcome.store.base import Store

NOW_MS = 1_790_000_000_000


def change(*edges: tuple[str, str], paths: str = "") -> GraphChange:
    """A build of the files of some edges (and more), all of them new."""
    names = sorted({path for edge in edges for path in edge} | set(paths.split()))
    files = {name: CodeFile(b"d" * 16, 3, 7, ["import x", name], CodeFile.READ) for name in names}
    return GraphChange(1, names, files, edges, [])


def test_a_graph_is_what_the_last_build_found(store: Store) -> None:
    """Files and edges that are gone are gone; the others are as they were written."""
    assert store.code_graph.state(1) is None
    project_id = store.code_graph.write("/r", change(("a.py", "b.py"), ("b.py", "c.py")), NOW_MS)
    assert store.code_graph.edges(project_id) == [("a.py", "b.py"), ("b.py", "c.py")]
    file = store.code_graph.files(project_id)["a.py"]
    assert (file.digest, file.size_bytes, file.mtime_ns, file.imports) == (b"d" * 16, 3, 7, ["import x", "a.py"])
    again = GraphChange(2, ["a.py", "c.py"], {}, [("c.py", "a.py"), ("a.py", "gone.py")], ["files"])
    assert store.code_graph.write("/r", again, NOW_MS + 1) == project_id
    assert store.code_graph.edges(project_id) == [("c.py", "a.py")]
    assert list(store.code_graph.files(project_id)) == ["a.py", "c.py"]
    state = store.code_graph.state(project_id)
    assert state is not None
    assert (state.reader, state.built_ms, state.files, state.edges, state.limits) == (2, NOW_MS + 1, 2, 1, ["files"])


def test_graphs_of_projects_are_apart(store: Store) -> None:
    """The same paths in two projects are different files."""
    one = store.code_graph.write("/one", change(("a.py", "b.py")), NOW_MS)
    two = store.code_graph.write("/two", change(("b.py", "a.py"), paths="x.py"), NOW_MS)
    store.code_graph.write("/one", change(paths="a.py"), NOW_MS)
    assert (store.code_graph.edges(one), store.code_graph.edges(two)) == ([], [("b.py", "a.py")])
    assert [path for _, path in store.code_graph.files_called(two, ["a.py"], [])] == ["a.py"]
    assert store.code_graph.files_called(one, ["x.py"], ["x"]) == []


def test_files_are_found_by_name_and_stem(store: Store) -> None:
    """Whatever the case, and however the name is written."""
    paths = "src/Tidal_Clock.py web/tidal-clock.ts other.py"
    project_id = store.code_graph.write("/r", change(paths=paths), NOW_MS)

    def called(names: list[str], stems: list[str]) -> list[str]:
        return [path for _, path in store.code_graph.files_called(project_id, names, stems)]

    assert called(["tidal_clock.py"], []) == ["src/Tidal_Clock.py"]
    assert called([], ["tidalclock"]) == ["src/Tidal_Clock.py", "web/tidal-clock.ts"]
    assert called(["none.py"], ["none"]) == []


def test_neighbours_are_one_import_away_in_both_directions(store: Store) -> None:
    """With how many edges each of the two has; a pair that imports each other is one."""
    project_id = store.code_graph.write(
        "/r", change(("a.py", "hub.py"), ("b.py", "hub.py"), ("hub.py", "a.py"), ("c.py", "b.py")), NOW_MS
    )
    called = store.code_graph.files_called(project_id, ["a.py", "b.py", "c.py", "hub.py"], [])
    rows = {path: row for row, path in called}
    found = [(near.path, near.degree_of, near.degree) for near in store.code_graph.neighbours([rows["hub.py"]])]
    assert found == [("a.py", 3, 2), ("b.py", 3, 2)]
    assert store.code_graph.imports(rows["b.py"]) == (["hub.py"], ["c.py"])
    assert store.code_graph.neighbours([]) == []


def test_a_build_that_fails_leaves_the_graph_as_it_was(store: Store) -> None:
    """One transaction: an edge that cannot be written takes everything back."""
    project_id = store.code_graph.write("/r", change(("a.py", "b.py")), NOW_MS)
    broken = change(("c.py", "d.py"))
    broken.changed["c.py"].digest = object()  # type: ignore[assignment]
    with pytest.raises(TypeError):
        store.code_graph.write("/r", broken, NOW_MS)
    assert store.code_graph.edges(project_id) == [("a.py", "b.py")]


def test_two_builds_at_once_leave_one_whole_graph(open_store: Callable[[], Store]) -> None:
    """Each is one transaction: the graph is one of theirs, never a mix."""
    ours, theirs = open_store(), open_store()
    first, second = change(("a.py", "b.py"), ("b.py", "c.py")), change(("x.py", "y.py"))

    def write(store: Store, what: GraphChange) -> None:
        for _ in range(20):
            store.code_graph.write("/r", what, NOW_MS)

    threads = [threading.Thread(target=write, args=pair) for pair in ((ours, first), (theirs, second))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    project_id = ours.projects.of_root("/r")
    assert project_id is not None
    assert ours.code_graph.edges(project_id) in (sorted(first.edges), sorted(second.edges))


@pytest.mark.parametrize("version", range(1, sqlite.SCHEMA_VERSION))
def test_every_older_store_becomes_one_of_today(tmp_path: Path, version: int) -> None:
    """Its rows are there and found, and it holds graphs: the store brings itself up when it is opened."""
    folder = os.path.join(os.path.dirname(log.__file__), "migrations")
    connection = apsw.Connection(str(tmp_path / "howcome.db"))
    offer_terms(connection)
    for name in sorted(os.listdir(folder))[:version]:
        with open(os.path.join(folder, name), encoding="utf-8") as script:
            connection.execute(script.read())
    connection.execute("INSERT INTO meta (name, value) VALUES ('key', ?), ('created_ms', 1)", (b"k" * 32,))
    connection.execute("INSERT INTO projects (root, created_ms) VALUES ('/home/mara/quay', 1)")
    connection.pragma("user_version", version)
    connection.close()
    store = sqlite.SqliteStore(str(tmp_path))
    Transcript(store).say("the median it is")
    store.index.catch_up()
    assert (store.meta("key"), find(store, "median")) == (b"k" * 32, [1])
    assert store.code_graph.write("/home/mara/quay", change(("a.py", "b.py")), NOW_MS) == 1
    assert store.code_graph.edges(1) == [("a.py", "b.py")]
    assert store.connection.pragma("user_version") == sqlite.SCHEMA_VERSION
    store.close()
