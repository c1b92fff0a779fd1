"""What is known of branches: real repositories, merged in every way that git and its servers have."""

import time
from pathlib import Path

import pytest
from tests.repositories import DAY_S, Dated

from howcome.clients.git import Branches


class Repository(Dated):
    """One that tells what is known of its branches."""

    def unmerged(self, at: Path | None = None, *, is_asked: bool = True) -> dict[str, int]:
        """What a prompt reads after git was asked."""
        Branches(str(self.home), str(at or self.folder)).meet(lambda name: "hunter2" not in name, is_asked=is_asked)
        return self.read(at)

    def read(self, at: Path | None = None) -> dict[str, int]:
        """What a prompt reads."""
        return Branches(str(self.home), str(at or self.folder)).unmerged()


@pytest.fixture
def quay(tmp_path: Path) -> Repository:
    """A trunk with a commit, and two branches: one that is merged in each test, and one that is not."""
    folder, home = tmp_path / "quay", tmp_path / "home"
    home.mkdir()
    made = Repository(folder, home)
    made.branch("dock/west")
    made.branch("mole")
    return made


def test_a_branch_with_commits_of_its_own_is_not_merged(quay: Repository) -> None:
    """It is known since it forked, also in a subfolder; nothing is known before git is asked, and outside."""
    assert quay.read() == {}
    found = quay.unmerged()
    assert set(found) == {"dock/west", "mole"}
    assert time.time() - 2 * DAY_S < found["mole"] / 1000 < time.time() - DAY_S
    (quay.folder / "src").mkdir()
    assert quay.read(quay.folder / "src") == found
    assert quay.unmerged(quay.home) == {}


@pytest.mark.parametrize(
    "merging",
    [
        [["merge", "-q", "--no-ff", "mole"]],
        [["merge", "-q", "--ff-only", "mole"]],
        [["merge", "-q", "--squash", "mole"], ["commit", "-qm", "squashed"]],
        [["cherry-pick", "mole"]],
        [["branch", "-qD", "mole"]],
        [["branch", "-qm", "mole", "pier"]],
    ],
    ids=["merge", "fast-forward", "squash", "pick", "delete", "rename"],
)
def test_what_is_merged_or_may_be_or_is_gone_is_not_said(quay: Repository, merging: list[list[str]]) -> None:
    """Neither at once, by what git was asked before, nor after it is asked again."""
    assert "mole" in quay.unmerged()
    for words in merging:
        quay.git(*words)
    branches = Branches(str(quay.home), str(quay.folder))
    assert not [name for name in branches.unmerged() if name == "mole" and branches.is_there(name)]
    assert "mole" not in quay.unmerged() or not branches.is_there("mole")
    assert "dock/west" in quay.unmerged()


def test_a_squash_whose_lines_were_changed_since_is_still_one(quay: Repository) -> None:
    """Two thirds of them."""
    quay.git("merge", "-q", "--squash", "mole")
    quay.git("commit", "-qm", "squashed")
    path = quay.folder / "mole.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:10]) + "all else was dredged away\n")
    quay.git("commit", "-qam", "dredged")
    assert set(quay.unmerged()) == {"dock/west"}


def test_what_a_few_lines_say_is_too_little(quay: Repository) -> None:
    """They could have been squashed and changed."""
    quay.git("switch", "-qc", "small")
    quay.commit("small.txt", lines=3)
    quay.git("switch", "-q", "master")
    assert "small" not in quay.unmerged()


def test_a_worktree_has_its_own_answer(quay: Repository) -> None:
    """What is checked out there is no other branch; who merges elsewhere ends what was known here."""
    worktree = quay.home / "tree"
    quay.git("worktree", "add", "-q", str(worktree), "mole")
    assert set(quay.unmerged(worktree)) == {"dock/west"}
    assert set(quay.unmerged()) == {"dock/west", "mole"}
    quay.git("merge", "-q", "--no-ff", "dock/west")
    assert quay.read(worktree) == {}
    assert quay.unmerged(worktree) == {}


def test_the_trunk_is_never_called_not_merged(quay: Repository) -> None:
    """Nor what is merged there, on a branch that is behind it; on a detached HEAD nothing is known."""
    quay.git("switch", "-q", "mole")
    quay.git("switch", "-q", "master")
    quay.git("merge", "-q", "--no-ff", "dock/west")
    quay.commit("crane.txt")
    quay.git("switch", "-q", "mole")
    assert quay.unmerged() == {}
    quay.git("switch", "-q", "--detach", "master")
    assert quay.unmerged() == {}


def test_a_remote_names_the_trunk(quay: Repository, tmp_path: Path) -> None:
    """Whatever it is called; without one, and without git's own default, there is none."""
    quay.git("branch", "-qm", "master", "harbour")
    assert quay.unmerged() == {}
    clone = tmp_path / "clone"
    quay.git("clone", "-q", str(quay.folder), str(clone))
    quay.git("switch", "-q", "mole", at=clone)
    quay.git("switch", "-q", "harbour", at=clone)
    assert set(quay.unmerged(clone)) == {"mole"}


def test_packed_branches_are_there_and_names_with_secrets_are_not_kept(quay: Repository) -> None:
    """The file in the memory's folder holds none."""
    quay.branch("hunter2")
    quay.git("pack-refs", "--all")
    quay.commit("crane.txt")
    found, branches = quay.unmerged(), Branches(str(quay.home), str(quay.folder))
    assert set(found) == {"dock/west", "mole"}
    assert branches.is_there("mole")
    assert not branches.is_there("west")
    assert "hunter2" not in (quay.home / "branches.json").read_text()


@pytest.mark.parametrize("content", ["", "[1]", "{", "null"])
def test_a_damaged_file_is_none(quay: Repository, content: str) -> None:
    """And is written anew."""
    (quay.home / "branches.json").write_text(content)
    assert quay.read() == {}
    assert "mole" in quay.unmerged()


def test_what_was_met_is_asked_about_later(quay: Repository) -> None:
    """A hook has no time for git."""
    assert quay.unmerged(is_asked=False) == {}
    assert Branches(str(quay.home), "").met() == [str(quay.folder)]
    written = (quay.home / "branches.json").stat().st_mtime_ns
    quay.commit("crane.txt")
    assert quay.unmerged(is_asked=False) == {}
    assert (quay.home / "branches.json").stat().st_mtime_ns == written
    assert set(quay.unmerged()) == {"dock/west", "mole"}
