"""`--subsystem`: what is about one part of a project, a workspace package or a folder, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.stored import Scope
from howcome.errors import UsageError
from howcome.retrieve.question import Question
from howcome.retrieve.subsystem import folders_of
from howcome.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

API, WEB, ELSEWHERE = "the retry of the api", "the retry of the page", "the retry of the other checkout"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with two packages."""
    folder = tmp_path / "repository"
    manifests = {
        "packages/api/package.json": '{"name": "@harbour/server"}',
        "crates/tide/Cargo.toml": '[package]\nname = "tide-core"\n',
        "tools/go.mod": "module example.org/harbour/sweeper\n\ngo 1.22\n",
        "packages/broken/package.json": "{",
        "pyproject.toml": '[project]\nname = "harbour"\n',
    }
    for name, text in manifests.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / ".git").mkdir()
    return folder


@pytest.fixture
def app(tmp_path: Path, root: Path) -> Iterator[App]:
    """The façade over a session with an exchange in each part, and one in another checkout."""
    claude, told = Claude("parts", cwd=str(root)), []
    files = {API: f"{root}/packages/api/retry.ts", WEB: f"{root}/web/api.ts", ELSEWHERE: "/other/packages/api/x.ts"}
    for number, (said, file) in enumerate(files.items()):
        told += [claude.user(f"mend {said}"), claude.call("Read", f"toolu_{number}", file_path=file)]
        told += [claude.result(f"toolu_{number}", "text"), claude.text(f"Mended {said}.")]
    path = write(tmp_path / "parts.jsonl", *told)
    settings = {"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path), "HOWCOME_EMBEDDING": "off"}
    with open_app(read_settings(settings)) as opened:
        for found in named_transcripts([str(path)]):
            opened.ingest.file(found)
        opened.index.finish()
        yield opened


def answers(app: App, root: Path, subsystem: str | None, **options: object) -> set[str]:
    """The parts that answers speak of; memories begin with a star."""
    scope = app.projects.scope_of(str(root))
    found = app.search.find(Question("mend the retry", scope, limit=50, subsystem=subsystem, **options))  # type: ignore[arg-type]
    said = {("*" if item.memory else "") + item.passage for item in found}
    return {("*" if text[0] == "*" else "") + part for text in said for part in (API, WEB, ELSEWHERE) if part in text}


@pytest.mark.parametrize(
    "name", ["packages/api", "./packages/api/", "packages\\api", "@harbour/server", "server", "api"]
)
def test_events_of_one_part_answer(app: App, root: Path, name: str) -> None:
    """By its folder or by what its manifest calls it; a file of another checkout is told by its path."""
    assert answers(app, root, None) == {API, WEB, ELSEWHERE}
    assert answers(app, root, name) == {API, ELSEWHERE}
    assert answers(app, root, "web") == {WEB}
    (root / "empty").mkdir()
    assert answers(app, root, "empty") == set()
    assert answers(app, root, name, session="parts") == {API, ELSEWHERE}
    assert answers(app, root, name, by_session=True) > answers(app, root, "empty", by_session=True) == set()


def test_a_part_may_be_named_by_an_absolute_path_or_a_file(app: App, root: Path) -> None:
    """Of the project; a folder that is gone by what was done in it."""
    (root / "packages" / "api" / "retry.ts").write_text("retry()")
    for name in (root / "packages/api", root / "packages/api/retry.ts", "packages/api/retry.ts"):
        assert answers(app, root, str(name)) == {API, ELSEWHERE}
    assert answers(app, root, "web") == {WEB}  # nothing is there on disk


def test_a_part_that_is_none_says_which_there_are(app: App, root: Path) -> None:
    """Nothing, the whole project, and what nobody ever did anything in."""
    for name in ("", "/", ".", str(root), "nowhere", str(root.parent)):
        with pytest.raises(UsageError, match=r"no package or folder .*packages/api.*tools"):
            answers(app, root, name)


def test_memories_are_of_a_part_by_what_they_name_or_what_bears_them_out(app: App, root: Path) -> None:
    """One that names a file there, one that an exchange there bears out; not one that only speaks of it."""
    scope = app.projects.scope_of(str(root))
    [event] = [
        item.event
        for item in app.search.find(Question("mended the retry of the page", scope, limit=50))
        if item.event is not None and item.event.kind == "assistant_text" and WEB in item.passage
    ]
    app.memories.add(f"mend {API} in packages/api/retry.ts only", project=str(root))
    app.memories.add(f"mend {WEB} first", project=str(root), evidence=[event.id])
    app.memories.add(f"mend {ELSEWHERE}, not in my-packages/api/retry.ts", project=str(root))
    kinds = {"types": ("context",)}
    assert answers(app, root, None, **kinds) == {f"*{part}" for part in (API, WEB, ELSEWHERE)}
    assert answers(app, root, "packages/api", **kinds) == {f"*{API}"}
    assert answers(app, root, "web", **kinds) == {f"*{WEB}"}


@pytest.mark.parametrize(
    ("name", "folders"),
    [
        ("tide-core", ["crates/tide"]), ("tide", ["crates/tide"]), ("sweeper", ["tools"]),
        ("broken", ["packages/broken"]),
        ("harbour", ["harbour"]), ("tools", ["tools"]), ("crates", ["crates"]), ("docs", ["docs"]),
    ],
)  # fmt: skip
def test_a_part_is_known_by_its_manifest(root: Path, name: str, folders: list[str]) -> None:
    """Below the root: the root's own manifest is the whole project. What nobody knows is a folder that is gone."""
    assert folders_of(name, str(root)) == folders
    assert folders_of(name, None) == [name]


def test_a_part_of_everything_is_a_folder_of_any_project(app: App) -> None:
    """No project, no manifests."""
    found = app.search.find(Question("mend the retry", Scope.everything(), limit=50, subsystem="packages/api"))
    assert {part for item in found for part in (API, WEB, ELSEWHERE) if part in item.passage} == {API, ELSEWHERE}
