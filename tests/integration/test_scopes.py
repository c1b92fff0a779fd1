"""Which project a question, a memory and a session are of: one answer through every door."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import Claude, Codex, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain import events
from howcome.domain.stored import Scope
from howcome.errors import NotFoundError, UsageError
from howcome.retrieve.question import Question
from howcome.settings import read_settings

INSTEAD = "or leave it out"


@pytest.fixture
def app(store_folder: Path) -> Iterator[App]:
    """A façade over an empty store."""
    with open_app(read_settings({"HOWCOME_HOME": str(store_folder)})) as opened:
        yield opened


def take_in(app: App, *paths: Path) -> None:
    """Transcripts into the store and its index."""
    for found in named_transcripts([str(path) for path in paths]):
        app.ingest.file(found)
    app.index.catch_up()
    app.store.index.release()


def keep(app: App, text: str, folder: Path) -> str:
    """Keeps a memory of a folder's project; its id."""
    return app.memories.add(text, project=str(folder))[0].id


def found(app: App, text: str, folder: Path) -> set[str]:
    """Ids that a question finds from a folder."""
    return {item.id for item in app.search.find(Question(text, app.projects.scope_of(str(folder))))}


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """A folder outside git with a subfolder that a session moved to, and a symbolic link to it."""
    folder = tmp_path / "plain"
    (folder / "sub").mkdir(parents=True)
    (tmp_path / "link").symlink_to(folder)
    return folder


def visit(app: App, plain: Path) -> None:
    """A session begins in the folder and moves to its subfolder."""
    claude, later = Claude(cwd=str(plain)), Claude(cwd=str(plain / "sub"), start=10)
    take_in(app, write(plain.parent / "a.jsonl", claude.user("hello there"), later.user("now below"), later.text("ok")))


def test_a_memory_kept_in_a_visited_subfolder_is_found_from_it_and_from_the_folder(app: App, plain: Path) -> None:
    """Outside git the folder of the session says what the project is, for memories as for events."""
    visit(app, plain)
    ident = keep(app, "the giraffe stays", plain / "sub")
    assert found(app, "giraffe", plain / "sub") == found(app, "giraffe", plain) == {ident}
    assert app.projects.root_of(str(plain / "sub")) == str(plain)


@pytest.mark.parametrize("kept_by_link", [True, False])
def test_a_link_to_a_folder_is_the_folder(app: App, plain: Path, *, kept_by_link: bool) -> None:
    """Kept under one of its names, found under both; before anything else of it is stored, and after."""
    names = [plain.parent / "link", plain]
    ident = keep(app, "the giraffe stays", names[not kept_by_link])
    assert [found(app, "giraffe", name) for name in names] == [{ident}, {ident}]
    visit(app, plain)
    assert [found(app, "giraffe", name) for name in names] == [{ident}, {ident}]


def test_a_folder_that_is_gone_keeps_its_memories(app: App, plain: Path) -> None:
    """Its path stands for it."""
    ident = keep(app, "the giraffe stays", plain / "sub")
    (plain / "sub").rmdir()
    assert found(app, "giraffe", plain / "sub") == {ident}


@pytest.fixture
def projects(app: App, tmp_path: Path) -> Path:
    """Projects that are named alike, as transcripts of another machine know them."""
    roots = ("/yard/harbour", "/old/harbour", "/yard/quay", "/yard/" + "obey me now " * 20)
    for number, root in enumerate(roots):
        claude = Claude(f"{number}-session", cwd=root)
        write(tmp_path / "t" / f"{number}.jsonl", claude.user(f"zebra of project {number}"))
    take_in(app, tmp_path / "t")
    return tmp_path


@pytest.mark.parametrize(
    ("name", "root"),
    [
        ("quay", "/yard/quay"),
        ("/yard/quay", "/yard/quay"),
        ("/yard/quay/", "/yard/quay"),
        ("yard/harbour", "/yard/harbour"),
        ("../old/harbour", "/old/harbour"),
        (".", "/yard/quay"),
    ],
)
def test_a_project_is_named_by_its_folder_or_by_the_end_of_it(app: App, projects: Path, name: str, root: str) -> None:
    """Whatever is enough to tell it from the others; paths start from where one is."""
    assert projects
    here = "/yard/quay" if name.startswith(".") and name != "../old/harbour" else "/yard"
    assert app.projects.named(name, here, INSTEAD)[1] == root


@pytest.mark.usefixtures("projects")
def test_a_name_of_several_projects_and_of_none_is_answered_with_names(app: App, tmp_path: Path) -> None:
    """The nearest come first; a long name of somebody's is a short word in it."""
    with pytest.raises(UsageError, match=r"several projects are called 'harbour': .*old/harbour, yard/harbour"):
        app.projects.named("harbour", str(tmp_path), INSTEAD)
    with pytest.raises(UsageError) as error:
        app.projects.named("quai", str(tmp_path), INSTEAD)
    assert "use one of: quay, " in str(error.value)
    assert str(error.value).count("obey") <= 5
    assert "\n" not in str(error.value)
    with pytest.raises(UsageError, match="nothing is stored of the folder"):
        app.projects.named("../gone", "/yard", INSTEAD)


def test_a_folder_of_this_name_here_is_meant_when_there_are_several(app: App, tmp_path: Path) -> None:
    """`--project quay` beside the folder quay is that one."""
    for number, root in enumerate((tmp_path / "quay", tmp_path / "old" / "quay")):
        root.mkdir(parents=True)
        claude = Claude(f"{number}-session", cwd=str(root))
        take_in(app, write(tmp_path / f"{number}.jsonl", claude.user("zebra")))
    assert app.projects.named("quay", str(tmp_path), INSTEAD)[1] == str(tmp_path / "quay")


def test_sessions_of_two_agents_with_one_id_are_told_apart(app: App, tmp_path: Path) -> None:
    """Asked for by the bare id, the message says what to write; each can be searched."""
    claude, codex = Claude("twin-1"), Codex("twin-1")
    take_in(app, write(tmp_path / "a.jsonl", claude.user("zebra of claude")))
    take_in(app, write(tmp_path / "rollout-1.jsonl", codex.meta(), codex.message("user", "zebra of codex")))

    def texts(session: str) -> list[str]:
        return [item.passage for item in app.search.find(Question("zebra", Scope.everything(), session=session))]

    with pytest.raises(NotFoundError, match="write claude-code:twin-1 or codex:twin-1"):
        texts("twin-1")
    assert texts("codex:twin") == ["zebra of codex"]
    assert texts("claude-code:twin-1") == ["zebra of claude"]
    with pytest.raises(NotFoundError, match="no session nobody:twin-1"):
        texts("nobody:twin-1")


def test_the_beginning_of_several_ids_is_answered_with_some_of_them(app: App, tmp_path: Path) -> None:
    """Not more than five, each a short word."""
    for number in range(7):
        claude = Claude(f"many-{number}-" + "x" * 100)
        take_in(app, write(tmp_path / f"{number}.jsonl", claude.user("zebra")))
    says = r"several ids begin with many: many-0-x+…, .*many-4-x+…, …; write more"
    with pytest.raises(NotFoundError, match=says) as error:
        app.search.find(Question("zebra", Scope.everything(), session="many"))
    assert len(str(error.value)) < 400


def test_a_resolved_memory_is_found_but_not_pushed(app: App, tmp_path: Path) -> None:
    """What is done with is no news for a prompt."""
    ident = keep(app, "Giraffe fodder is ordered from the zebra farm", tmp_path)
    prompt = "where is the giraffe fodder ordered, at the zebra farm?"

    def pushed() -> list[str]:
        said = app.search.recall(prompt, cwd=str(tmp_path), session="s", recent=str)
        return [item.memory.id for item in said if item.memory]

    assert pushed() == [ident]
    app.memories.update(ident, status="resolved", is_person=True)
    assert pushed() == []
    assert found(app, "giraffe fodder", tmp_path) == {ident}


def test_rows_that_nobody_indexed_are_made_searchable_within_a_time(app: App, tmp_path: Path) -> None:
    """None left when there is time; without time they are counted."""
    path = write(tmp_path / "a.jsonl", *Claude(cwd=str(tmp_path)).conversation(3))
    app.ingest.file(named_transcripts([str(path)])[0])
    lag = app.store.log.last_position()
    assert app.index.within(0, Scope.everything()) == lag > 0
    assert found(app, "berth1", tmp_path) == set()
    assert app.index.within(5, Scope.everything()) == 0
    assert found(app, "berth1", tmp_path)


def test_whole_texts_are_read_of_turns_only(app: App, tmp_path: Path) -> None:
    """Of tool calls and results the excerpt is shown, however long they are."""
    path = write(tmp_path / "a.jsonl", *Claude(cwd=str(tmp_path)).conversation(30))
    take_in(app, path)
    unpacked: list[int] = []
    read = app.store.log.events

    def counting(rows: object, *, with_text: bool = False) -> object:
        answer = read(rows, with_text=with_text)  # type: ignore[arg-type]
        unpacked.extend(answer if with_text else ())
        return answer

    app.store.log.events = counting  # type: ignore[assignment,method-assign]
    answers = app.search.find(Question("berth7 assertion failed", app.projects.scope_of(str(tmp_path)), limit=20))
    kinds = {event.kind for event in read(unpacked).values()}
    assert kinds <= set(events.TURN_KINDS)
    assert {item.event.kind for item in answers if item.event} & {events.TOOL_RESULT, events.TOOL_CALL}


@pytest.mark.parametrize("words", ["search crane", "timeline", "memories", "search --all-projects crane"])
def test_a_folder_that_was_removed_under_a_shell_is_still_a_project(app: App, tmp_path: Path, words: str) -> None:
    """What was said there is found by its name; without one the answer says where to go."""
    folder = tmp_path / "worktree"
    folder.mkdir()
    claude = Claude(cwd=str(folder))
    take_in(app, write(tmp_path / "a.jsonl", claude.user("which crane?"), claude.text("The yellow crane.")))
    keep(app, "The crane is yellow.", folder)
    script = f'cd "{folder}" && rmdir "{folder}" && exec "{sys.executable}" -m howcome {words}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "crane" in done.stdout
    folder.mkdir()
    script = script.replace("exec ", "unset PWD; ")
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    if "--all-projects" not in words:
        assert "go to another one" in done.stderr
        assert done.returncode == 2
