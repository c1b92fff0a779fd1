"""Import graphs that exist are kept up with the files: not more often than needed, with rests, never in the way."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.repositories import edges, git, write_tree

from howcome.codegraph import build as building
from howcome.codegraph import build as refreshing
from howcome.codegraph.build import REFRESH_MS, ProjectGraphs
from howcome.errors import ProviderError
from howcome.ingest.exclusion import Places
from howcome.store.sqlite import SqliteStore

FILES = {"shop/__init__.py": "", "shop/cart.py": "from shop import price\n", "shop/price.py": ""}
EDGES = [("shop/cart.py", "shop/price.py")]


class Yard:
    """A project with a graph, and a clock."""

    def __init__(self, root: Path, store: SqliteStore) -> None:
        self.root, self.store, self.rests = root, store, 0
        self.now_ms = time.time_ns() // 1_000_000
        self.places = Places()
        self.graphs().build(str(root), str(root))

    def graphs(self) -> ProjectGraphs:
        """As a new process would have them."""
        return ProjectGraphs(self.store, self.places, lambda: self.now_ms)

    def rest(self) -> bool:
        """A rest, counted."""
        self.rests += 1
        return True

    def refresh(self, rest: Callable[[], bool] | None = None) -> bool:
        """What the worker does after each scan."""
        return self.graphs().refresh(rest or self.rest)


@pytest.fixture
def yard(tmp_path: Path, store: SqliteStore) -> Yard:
    """A repository of three files whose graph was built just now."""
    root = write_tree(tmp_path / "yard", FILES)
    git(root, "init")
    return Yard(root, store)


def add(yard: Yard) -> None:
    """A new file that imports."""
    write_tree(yard.root, {"shop/desk.py": "import shop.cart\n"}, is_old=False)


NEWER = [*EDGES, ("shop/desk.py", "shop/cart.py")]


def test_a_graph_is_refreshed_when_it_is_old(yard: Yard) -> None:
    """Every ten minutes at most, whichever process did it last; also when its clock was put back."""
    add(yard)
    yard.now_ms += REFRESH_MS - 1
    assert yard.refresh()
    assert (edges(yard.store, yard.root), yard.rests) == (EDGES, 0)
    yard.now_ms += 1
    assert yard.refresh()
    assert edges(yard.store, yard.root) == NEWER
    assert yard.rests == 1
    assert yard.refresh()
    assert yard.rests == 1
    yard.now_ms -= 2 * REFRESH_MS
    assert yard.refresh()
    assert yard.rests == 2


def test_what_did_not_change_is_not_parsed_again(yard: Yard) -> None:
    """A refresh is a listing and a look at each file."""
    yard.now_ms += REFRESH_MS
    report = yard.graphs().build(str(yard.root), str(yard.root))
    assert (report.counts["parsed"], report.counts["unchanged"]) == (0, 3)


def test_projects_without_a_graph_get_none(yard: Yard, tmp_path: Path) -> None:
    """Only who asked for one has one."""
    other = write_tree(tmp_path / "other", FILES)
    yard.store.connection.execute("INSERT INTO projects (root, created_ms) VALUES (?, 1)", (str(other),))
    yard.now_ms += REFRESH_MS
    assert yard.refresh()
    assert [root for _, root, _ in yard.store.code_graph.states()] == [str(yard.root)]


def test_it_rests_between_pieces_and_ends_when_told(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun is left as it was, and is done at the next time."""
    add(yard)
    yard.now_ms += REFRESH_MS
    monkeypatch.setattr(refreshing, "PIECE_S", 0.0)
    assert not yard.refresh(lambda: False)
    assert edges(yard.store, yard.root) == EDGES
    assert yard.refresh()
    assert yard.rests == 4 + 1  # after each file, and at the end
    assert edges(yard.store, yard.root) == NEWER


def test_what_cannot_be_refreshed_is_left_alone_for_a_while(yard: Yard, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without its parser a changed file cannot be read: the others go on, the graph stays."""
    tried: list[str] = []

    def no_parser(*_: object) -> None:
        tried.append("grammar")
        raise ProviderError("no parser")

    add(yard)
    yard.now_ms += REFRESH_MS
    monkeypatch.setattr(building, "Grammar", no_parser)
    for _ in range(3):
        assert yard.refresh()
    assert (tried, edges(yard.store, yard.root)) == (["grammar"], EDGES)
    monkeypatch.undo()
    yard.now_ms += REFRESH_MS
    assert yard.refresh()
    assert edges(yard.store, yard.root) == NEWER


def test_a_project_that_is_gone_or_unwanted_keeps_its_graph(yard: Yard) -> None:
    """Another machine's disk may come back; what is excluded is not looked at."""
    yard.now_ms += REFRESH_MS
    add(yard)
    yard.places = Places([str(yard.root)])
    assert yard.refresh()
    yard.places = Places()
    os.rename(yard.root, yard.root.with_name("away"))
    assert yard.refresh()
    assert (edges(yard.store, yard.root), yard.rests) == (EDGES, 0)
    os.rename(yard.root.with_name("away"), yard.root)
    shutil.rmtree(yard.root / "shop")
    assert yard.refresh()
    assert edges(yard.store, yard.root) == []
