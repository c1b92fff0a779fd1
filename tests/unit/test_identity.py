"""What tells that two repositories are one: rules, remotes, and what git shows, with real repositories."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.test_projects import git

from howcome.domain.identity import DOUBT, OTHER, SAME, Repository, compare, normal_remote
from howcome.ingest.identity import read_repository, remote_of

URL = "github.com/mara/harbour"


@pytest.mark.parametrize(
    "url",
    [
        "https://github.com/mara/harbour.git", "https://github.com/mara/harbour/", "git@github.com:mara/harbour.git",
        "ssh://git@github.com:22/mara/harbour", "https://mara:hunter2@GitHub.com/mara/harbour", "git://github.com/mara/harbour",
        "https://token@github.com/mara/harbour.git?access_token=abc", "github.com:mara/harbour",
    ],
)  # fmt: skip
def test_a_remote_is_one_however_it_is_reached(url: str) -> None:
    """No scheme, no port, and never who asks or by which key."""
    assert normal_remote(url) == URL


@pytest.mark.parametrize(
    ("url", "normal"),
    [("/srv/git/harbour.git", "/srv/git/harbour"), ("../harbour", "/../harbour"), ("", ""), ("  ", "")],
)
def test_a_remote_that_is_a_folder(url: str, normal: str) -> None:
    """It has no host."""
    assert normal_remote(url) == (normal if not url.startswith("/") else "/" + normal)


def shown(commits: str = "a", remote: str = URL, *, is_shallow: bool = False) -> Repository:
    """What a repository shows."""
    return Repository("/x", tuple(commits.split()), remote, is_shallow=is_shallow)


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        (shown(), shown(), SAME), (shown("a b"), shown("a b"), SAME),
        (shown(), shown(remote="github.com/other/fork"), DOUBT), (shown(remote=""), shown(remote=""), DOUBT),
        (shown(), shown(remote=""), DOUBT), (shown("a"), shown("a b"), DOUBT),
        (shown("", is_shallow=True), shown(), DOUBT), (shown(""), shown(), DOUBT),
        (shown("b"), shown("a"), OTHER), (shown("", ""), shown("", ""), OTHER),
        (shown("", "", is_shallow=True), shown(), OTHER),
    ],
)  # fmt: skip
def test_when_two_are_one(one: Repository, other: Repository, verdict: str) -> None:
    """Both the first commits and the remote, or it is asked; neither, and it is not."""
    assert compare(one, other) == compare(other, one) == verdict


def make(folder: Path, remote: str = f"https://mara:hunter2@{URL}.git", message: str = "start") -> Path:
    """A repository with a commit and a remote."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def test_what_git_shows(tmp_path: Path) -> None:
    """Commits and remote of a repository; of a shallow clone no commits; of a plain folder nothing."""
    one = make(tmp_path / "one")
    git(one, "commit", "-q", "--allow-empty", "-m", "more")
    found = read_repository(str(one), 10)
    assert found is not None
    assert (len(found.commits), found.remote, found.is_shallow) == (1, URL, False)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{one}", "shallow")
    shallow = read_repository(str(tmp_path / "shallow"), 10)
    assert shallow is not None
    assert (shallow.commits, shallow.is_shallow) == ((), True)
    (tmp_path / "plain").mkdir()
    assert read_repository(str(tmp_path / "plain"), 10) is None
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    empty = read_repository(str(tmp_path / "empty"), 10)
    assert empty is not None
    assert (empty.commits, empty.remote) == ((), "")
    assert read_repository(str(one), 0.0).commits == ()  # type: ignore[union-attr]


def test_the_only_remote_stands_for_origin(tmp_path: Path) -> None:
    """Of several without an origin none does."""
    one = make(tmp_path / "one", "")
    git(one, "remote", "add", "upstream", f"git@{URL.replace('/', ':', 1)}.git")
    assert remote_of(str(one)) == URL
    git(one, "remote", "add", "second", "git@example.invalid:x/y.git")
    assert remote_of(str(one)) == ""
