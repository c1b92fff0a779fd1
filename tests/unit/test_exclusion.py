"""Folders that nobody wants remembered: by the user's settings, and by a repository's own file."""

import os
from pathlib import Path

import pytest

from howcome.ingest.exclusion import Places


def repository(folder: Path, content: bytes | None = None) -> Path:
    """A repository (as far as its project is concerned), perhaps with a file of its own."""
    (folder / ".git").mkdir(parents=True)
    if content is not None:
        (folder / ".howcome.toml").write_bytes(content)
    return folder


def test_a_folder_is_excluded_with_all_below_it(tmp_path: Path) -> None:
    """The folder, what is below it, and nothing that merely begins the same."""
    secret = repository(tmp_path / "secret")
    places = Places([f"{secret}/"])
    assert places.is_excluded(str(secret))
    assert places.is_excluded(f"{secret}/src")
    assert places.is_excluded(f"{secret}/gone/long/ago")
    assert places.is_excluded(f"{tmp_path}/other/../secret/x")
    assert not places.is_excluded(f"{secret}-not")
    assert not places.is_excluded(str(tmp_path))


def test_excluding_a_repository_excludes_its_worktrees(tmp_path: Path) -> None:
    """A worktree belongs to its repository, also one that is gone."""
    secret = repository(tmp_path / "secret")
    assert Places([str(secret)]).is_excluded(f"{tmp_path}/secret.worktrees/a")


def test_excluding_a_subfolder_leaves_the_rest_of_its_repository(tmp_path: Path) -> None:
    """The exclusion goes by the folder of the session, not only by its project."""
    inner = repository(tmp_path / "work") / "private"
    inner.mkdir()
    places = Places([str(inner)])
    assert places.is_excluded(str(inner))
    assert not places.is_excluded(str(tmp_path / "work"))


def test_an_excluded_folder_is_known_by_every_name(tmp_path: Path) -> None:
    """Clients write real paths: a folder excluded by its symlink is excluded, and the other way round."""
    secret = repository(tmp_path / "secret")
    link = tmp_path / "link"
    link.symlink_to(secret)
    assert Places([str(link)]).is_excluded(str(secret / "src"))
    assert Places([str(secret)]).is_excluded(str(link))


def test_the_home_folder_may_be_written_as_a_tilde(home: Path) -> None:
    """`~/secret` means the user's."""
    assert Places(["~/secret"]).is_excluded(str(home / "secret" / "x"))


@pytest.mark.parametrize(
    ("content", "is_excluded"),
    [(b"capture = false\n", True), (b"capture = true\n", False), (b"", False), (b"[other]\ncapture = false\n", False),
     (b"capture = 0\n", False), (b"capture = false\nhome = '/tmp/stolen'\nexclude = []\n", True),
     (b"capture = fal", True), (b"\xff\xfe broken", True), (b"x = " + b"[" * 5000, True), (b"\0", True)],
)  # fmt: skip
def test_a_repository_may_keep_itself_out(tmp_path: Path, content: bytes, is_excluded: bool) -> None:
    """`capture = false` is honoured, a file that cannot be read counts as one, nothing else in it means anything."""
    folder = repository(tmp_path / "work", content)
    (folder / "src").mkdir()
    assert Places().is_excluded(str(folder / "src")) is is_excluded


def test_a_repositorys_file_that_is_none_is_not_waited_for(tmp_path: Path) -> None:
    """A FIFO or a folder of that name says nothing."""
    fifo, folder = repository(tmp_path / "fifo"), repository(tmp_path / "folder")
    os.mkfifo(fifo / ".howcome.toml")
    (folder / ".howcome.toml").mkdir()
    assert not Places().is_excluded(str(fifo))
    assert not Places().is_excluded(str(folder))


def test_evaluation_sees_one_project_and_excludes_nothing(tmp_path: Path) -> None:
    """With a fixed root, repositories' own files have no say."""
    folder = repository(tmp_path / "work", b"capture = false\n")
    places = Places((), "/fixed")
    assert places.root_of(str(folder)) == ("/fixed", True)
    assert not places.is_excluded(str(folder))
