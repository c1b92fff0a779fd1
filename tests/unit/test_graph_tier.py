"""The graph tier finds what was said of files one import away, within the scope, and nothing without a graph."""

from __future__ import annotations

import pytest
from tests.batches import START_MS, Transcript

from howcome.domain import events
from howcome.domain.code import CodeFile, GraphChange
from howcome.domain.stored import Filter, Scope, Weights
from howcome.errors import NotFoundError, UsageError
from howcome.retrieve.code_files import files_meant, imports_of
from howcome.retrieve.situation import Situation
from howcome.retrieve.tiers.graph import GraphTier
from howcome.store.sqlite import SqliteStore

ROOT = "/home/mara/quay"
EDGES = (
    ("src/berth.py", "src/tidal_clock.py"), ("src/crane.py", "src/tidal_clock.py"), ("src/crane.py", "src/hub.py"),
    ("src/berth.py", "src/hub.py"), ("src/other.py", "src/hub.py"), ("src/third.py", "src/hub.py"),
    ("docs/berth.py", "src/third.py"),
)  # fmt: skip


def with_graph(store: SqliteStore, edges: tuple[tuple[str, str], ...] = EDGES) -> int:
    """The graph of the project that the transcripts are of."""
    paths = sorted({path for edge in edges for path in edge})
    files = {path: CodeFile(b"d", 1, 1, [], CodeFile.READ) for path in paths}
    return store.code_graph.write(ROOT, GraphChange(1, paths, files, edges, []), START_MS)


def asked(store: SqliteStore, text: str, wanted: Filter | None = None, **fields: object) -> list[int]:
    """The rows that the tier finds, best first."""
    scope = Scope.project(store.projects.of_root(ROOT))
    situation = Situation(text, [], wanted or Filter(scope), weights=Weights(), **fields)  # type: ignore[arg-type]
    found = GraphTier(store).candidates(situation)
    assert all(0 < one.score <= 1 and one.strength == 0 for one in found)
    return [one.row for one in sorted(found, key=lambda one: -one.score)]


def edit(talk: Transcript, path: str) -> events.Event:
    """A call that wrote a file."""
    full = f"{talk.cwd}/{path}"
    return talk.event("", events.TOOL_CALL, tool="Edit", file=full, input={"file_path": full})


@pytest.fixture
def talk(store: SqliteStore) -> Transcript:
    """One session: a prompt that names a neighbour, one in which a neighbour was edited, and others."""
    said = Transcript(store)
    said.add(
        said.prompt("why does berth.py round the median down?"),  # 1
        said.answer("Because the gauge reports in steps."),  # 2
        said.prompt("make the arm slower"),  # 3
        edit(said, "src/crane.py"),  # 4
        said.answer("Done."),  # 5
        said.prompt("and the document"),  # 6
        edit(said, "docs/berth.py"),  # 7
    )
    store.index.catch_up()
    return said


@pytest.mark.usefixtures("talk")
def test_without_a_graph_nothing_is_found(store: SqliteStore) -> None:
    """Nor in another project, nor for everything, nor for a prompt that names no file of it."""
    assert asked(store, "what uses src/tidal_clock.py?") == []
    with_graph(store)
    assert asked(store, "what uses src/tidal_clock.py?") != []
    for scope in (Scope.project(None), Scope.project(99), Scope.everything()):
        assert asked(store, "what uses src/tidal_clock.py?", Filter(scope)) == []
    assert asked(store, "what is the weather like in unknown_file.py?") == []


@pytest.mark.usefixtures("talk")
@pytest.mark.parametrize("text", ["src/tidal_clock.py", f"{ROOT}/src/tidal_clock.py", "`TidalClock`", "tidal_clock"])
def test_neighbours_are_found_however_the_file_is_called(store: SqliteStore, text: str) -> None:
    """The turn that names one, and the prompt of the exchange that edited another; not a namesake's edit."""
    with_graph(store)
    assert sorted(asked(store, f"what was {text} for?")) == [1, 3]


@pytest.mark.usefixtures("talk")
def test_a_file_of_a_worktree_is_the_same_file(store: SqliteStore) -> None:
    """By the end of its absolute path; a namesake elsewhere is none."""
    with_graph(store)
    assert sorted(asked(store, "what is /home/mara/quay-2/src/tidal_clock.py for?")) == [1, 3]
    assert asked(store, "what is /elsewhere/b.py for?") == []


@pytest.mark.usefixtures("talk")
def test_only_what_is_asked_for_answers(store: SqliteStore) -> None:
    """Tools only where tools are asked for; origins, kinds and times hold for prompts that a call led to."""
    project_id = with_graph(store)
    scope, text = Scope.project(project_id), "src/tidal_clock.py"
    assert sorted(asked(store, text, with_tools=True)) == [1, 4]
    assert asked(store, text, Filter(scope, origins=(events.ORIGIN_ASSISTANT,))) == []
    assert asked(store, text, Filter(scope, kinds=(events.ASSISTANT_TEXT,))) == []
    assert asked(store, text, Filter(scope, before_ms=START_MS + 2000)) == [1]
    assert asked(store, text, Filter(scope, since_ms=START_MS + 3500)) == []
    assert asked(store, text, Filter(scope, without=store.sessions.named("session-one"))) == []


def test_a_file_that_everything_imports_says_little(store: SqliteStore) -> None:
    """Of two neighbours the one with fewer edges weighs more."""
    with_graph(store, (("src/berth.py", "src/tide.py"), *(edge for edge in EDGES if edge[1] == "src/hub.py")))
    Transcript(store).say("what hub.py does", "fine", "what tide.py does", "fine")
    store.index.catch_up()
    assert asked(store, "src/berth.py") == [3, 1]


def test_a_name_of_many_files_says_none_of_them(store: SqliteStore) -> None:
    """`index.ts` is in every folder."""
    with_graph(store, tuple((f"{folder}/index.ts", f"{folder}/target.ts") for folder in "abcdefg"))
    Transcript(store).say("about target.ts")
    store.index.catch_up()
    assert asked(store, "index.ts") == []
    assert asked(store, "c/index.ts") == [1]


def test_a_name_means_the_files_that_end_with_it(store: SqliteStore) -> None:
    """By whole parts; the longest of those that a whole path ends with; without an ending by the stem."""
    project_id = with_graph(store)

    def meant(name: str) -> list[str]:
        return [path for _, path in files_meant(store.code_graph, project_id, [name]).get(name, [])]

    assert meant("berth.py") == ["docs/berth.py", "src/berth.py"]
    assert meant("src/berth.py") == meant("/x/src/berth.py") == meant("src/Berth") == ["src/berth.py"]
    assert meant("quay.src.berth") == ["docs/berth.py", "src/berth.py"]
    assert meant("erth.py") == meant("xsrc/berth.py") == meant("") == meant("/") == []


def test_a_file_is_shown_with_both_directions(store: SqliteStore) -> None:
    """A path from the current folder goes before a name; what is unclear or unknown is said."""
    with pytest.raises(NotFoundError, match="graph build"):
        imports_of(store, None, "a.py", ".")
    project_id = with_graph(store)
    found = imports_of(store, project_id, "berth.py", "docs")
    assert (found.path, found.imports, found.imported_by) == ("docs/berth.py", ["src/third.py"], [])
    found = imports_of(store, project_id, "TidalClock", ".")
    assert (found.path, found.imported_by) == ("src/tidal_clock.py", ["src/berth.py", "src/crane.py"])
    with pytest.raises(UsageError, match=r"docs/berth\.py, src/berth\.py"):
        imports_of(store, project_id, "berth.py", ".")
    with pytest.raises(NotFoundError, match=r"no source file .*'none\.py'"):
        imports_of(store, project_id, "none.py", ".")
