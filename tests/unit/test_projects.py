"""Which project a folder belongs to, with real repositories made by git."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.cost import costs_less

from howcome.clients.projects import branch_of, fold_worktree, is_inside, project_root
from howcome.ingest.exclusion import Places


def git(folder: Path, *arguments: str) -> None:
    """Runs git without the caller's settings."""
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always",
        **{f"GIT_{who}_{what}": "mara@x.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }  # fmt: skip
    subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "harbour"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def root_of(path: Path) -> str:
    """The project of a folder, as a text."""
    return project_root(str(path))


@pytest.mark.parametrize("kind", ["fifo", "null"])
def test_a_git_that_is_no_file_and_no_folder_is_none(repository: Path, kind: str) -> None:
    """A pipe or a device of that name makes no repository, and nobody waits for it."""
    inner = repository / "inner"
    inner.mkdir()
    os.mkfifo(inner / ".git") if kind == "fifo" else (inner / ".git").symlink_to(os.devnull)
    assert root_of(inner) == str(repository)


def test_every_folder_of_a_repository_is_the_repository(repository: Path) -> None:
    """A subfolder, a path with dots, a trailing slash and a symlink all lead to the same root."""
    inner = repository / "src" / "deep"
    inner.mkdir(parents=True)
    link = repository.parent / "link"
    link.symlink_to(inner)
    names = [str(inner), f"{inner}/", f"{inner}/../deep", str(link), str(repository)]
    assert {project_root(name) for name in names} == {str(repository)}


@pytest.mark.parametrize("place", ["../elsewhere", ".worktrees/a", ".claude/worktrees/a", "../harbour-a/b"])
def test_a_worktree_is_its_repository(repository: Path, place: str) -> None:
    """A real worktree belongs to the repository that it was made from, wherever it is."""
    folder = (repository / place).resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    git(repository, "worktree", "add", "-q", str(folder))
    (folder / "src").mkdir()
    assert root_of(folder) == root_of(folder / "src") == str(repository)


def test_a_worktree_of_a_bare_repository_is_that_repository(repository: Path) -> None:
    """The common folder of a bare repository stands for it."""
    bare = repository.parent / "harbour.git"
    git(repository, "clone", "-q", "--bare", str(repository), str(bare))
    git(bare, "worktree", "add", "-q", str(repository.parent / "tree"))
    assert root_of(repository.parent / "tree") == str(bare)


def test_a_submodule_is_a_project_of_its_own(repository: Path) -> None:
    """A submodule, and a repository whose git folder is elsewhere, stand for themselves."""
    outer = repository.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(repository), "lib/harbour")
    assert root_of(outer / "lib" / "harbour") == str(outer / "lib" / "harbour")
    assert root_of(outer / "lib") == str(outer)
    apart = repository.parent / "apart"
    git(repository, "clone", "-q", f"--separate-git-dir={repository.parent / 'store.git'}", str(repository), str(apart))
    assert root_of(apart) == str(apart)


def test_a_submodule_of_a_worktree_is_a_project_of_its_own(repository: Path) -> None:
    """The submodule's own git file decides, not the worktree around it."""
    outer = repository.parent / "outer"
    outer.mkdir()
    git(outer, "init", "-q")
    git(outer, "submodule", "add", "-q", str(repository), "lib")
    git(outer, "commit", "-q", "-m", "lib")
    git(outer, "worktree", "add", "-q", str(repository.parent / "tree"))
    git(repository.parent / "tree", "submodule", "update", "-q", "--init")
    assert root_of(repository.parent / "tree" / "lib") == str(repository.parent / "tree" / "lib")


def test_a_folder_cannot_claim_to_be_another_project(repository: Path) -> None:
    """A git file that the named repository does not know of is not believed: its words would leak into this folder."""
    git(repository, "worktree", "add", "-q", str(repository.parent / "real"))
    for name, target in {
        "borrowed": (repository / ".git" / "worktrees" / "real"),
        "forged": repository.parent / "forged" / "fake",
    }.items():
        folder = repository.parent / name
        folder.mkdir()
        (folder / "fake").mkdir()
        (folder / "fake" / "commondir").write_text(f"{repository}/.git\n")
        (folder / "fake" / "gitdir").write_text(f"{folder}/.git\n")
        (folder / ".git").write_text(f"gitdir: {target}\n")
        assert root_of(folder) == str(folder)


@pytest.mark.parametrize(
    "content",
    [b"", b"nonsense", b"gitdir:", b"gitdir: \0/x", b"gitdir: " + b"x" * 9000, b"\xff\xfe", b"gitdir: /nowhere/at/all"],
)
def test_a_damaged_git_file_leaves_the_folder_to_itself(content: bytes, tmp_path: Path) -> None:
    """Whatever a .git file says, the answer is the folder."""
    (tmp_path / ".git").write_bytes(content)
    assert root_of(tmp_path) == str(tmp_path)


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    """No repository above: the folder's real path."""
    assert root_of(tmp_path) == os.path.realpath(tmp_path)


@pytest.mark.parametrize(
    ("path", "root"),
    [("/gone/harbour/.worktrees/a", "/gone/harbour"), ("/gone/harbour/.worktrees/a/src/x", "/gone/harbour"),
     ("/gone/harbour/.claude/worktrees/b", "/gone/harbour"), ("/gone/harbour/worktrees/b", "/gone/harbour/worktrees/b"),
    ("/home/mara/.claude/worktrees/b", "/home/mara/.claude/worktrees/b"),
    ("/home/mara/.codex/worktrees/ab12/shop", "/home/mara/.codex/worktrees/ab12/shop"),
     ("/gone/harbour.worktrees/b", "/gone/harbour"), ("/gone/harbour-worktrees/b/c", "/gone/harbour"),
     ("/gone/harbour/.worktrees", "/gone/harbour/.worktrees"), ("/gone/harbour", "/gone/harbour"),
     ("/gone/a/../harbour/./x/", "/gone/harbour/x"), ("/gone/myworktrees/b", "/gone/myworktrees/b")],
)  # fmt: skip
def test_a_path_that_is_gone_stands_for_itself_or_its_repository(path: str, root: str) -> None:
    """A deleted worktree in a usual place is folded into its repository; any other path is itself."""
    assert project_root(path) == root


HOSTILE = [
    "", ".", "relative/path", "../../x", "-rf", "/", "//x", "/a\nb", "/a\0b", "/a\u202eb", "/" + "x" * 5000, "/%00",
    "/a|b",
    "/" + "y/" * 3000, "C:\\work", "~", "$HOME", "/\U0001f600", "/.git", "/dev/null", "/dev/fd/0/x", "/a\udc80b",
]  # fmt: skip


@pytest.mark.parametrize("cwd", HOSTILE, ids=lambda cwd: repr(cwd)[:20])
def test_a_hostile_folder_name_is_only_data(cwd: str) -> None:
    """Any text has a project, and asking again gives the same."""
    root, _ = Places().root_of(cwd)
    assert root == Places().root_of(cwd)[0]
    assert len(root) <= 4096
    assert root.startswith("/") or not cwd.startswith("/")


def test_a_name_made_to_be_slow_is_folded_at_once() -> None:
    """The work is bounded whatever the length of the name."""
    for name in ("/a" + "/worktrees/x" * 60_000 + "\n/y", "/a" * 200_000 + "\n", "/-worktrees/" * 60_000 + "\n"):
        assert costs_less(1, lambda name=name: (fold_worktree(name), Places().root_of(name)))


def test_inside_is_by_whole_names() -> None:
    """A folder is inside itself and its parents, not inside one whose name merely begins the same."""
    assert is_inside("/a/b", "/a/b")
    assert is_inside("/a/b/c", "/a/b/")
    assert is_inside("/a", "/")
    assert not is_inside("/a/bc", "/a/b")


def test_a_folder_is_on_the_branch_of_its_own_checkout(repository: Path, tmp_path: Path) -> None:
    """Below it too, in a worktree its own; none on a bare commit, outside of a repository, or where nothing is."""
    git(repository, "checkout", "-q", "-b", "tides/utc")
    (repository / "src").mkdir()
    git(repository, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "beside"))
    assert [branch_of(str(path)) for path in (repository, repository / "src")] == ["tides/utc"] * 2
    assert branch_of(str(tmp_path / "beside")) == "fix"
    git(repository, "checkout", "-q", "--detach")
    assert [branch_of(path) for path in (str(repository), "/", "/gone/away", "\0")] == [""] * 4
