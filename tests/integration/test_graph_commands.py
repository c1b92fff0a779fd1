"""`howcome graph`: a real repository, real processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import LIMIT_S, python
from tests.repositories import git, write_tree

FILES = {"src/shop/__init__.py": "", "src/shop/cart.py": "from shop import price\n", "src/shop/price.py": ""}
MAIN = "import sys; from howcome.cli.main import main; sys.argv[0] = 'howcome'; sys.exit(main())"


def graph(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a folder."""
    command = [*python(MAIN, "graph", *words)]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=LIMIT_S, stdin=subprocess.DEVNULL
    )


@pytest.fixture
def repository(tmp_path: Path, store_folder: Path) -> Path:  # noqa: ARG001 - sets where the store is
    """A repository with two files that import each other."""
    root = write_tree(tmp_path / "shop", FILES)
    git(root, "init")
    return root


def test_a_graph_is_built_and_shown(repository: Path) -> None:
    """From any folder of the project; the second time nothing is parsed."""
    done = graph(repository / "src", "build")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("3 files, 1 import between them")
    assert '"parsed": 0, "unchanged": 3' in graph(repository, "build", "--json").stdout
    shown = graph(repository / "src" / "shop", "show", "price.py")
    assert shown.stdout.splitlines()[:4] == [
        "src/shop/price.py", "imports 0 files", "imported by 1 file:", "  src/shop/cart.py",
    ]  # fmt: skip
    assert '"imports": ["src/shop/price.py"]' in graph(repository, "show", "cart", "--json").stdout


def test_a_worktree_shares_its_repositorys_graph(repository: Path, tmp_path: Path) -> None:
    """It is built from the files of the worktree, and is the project's."""
    git(repository, "add", ".")
    git(repository, "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-m", "all")
    git(repository, "worktree", "add", str(tmp_path / "other"))
    write_tree(tmp_path / "other", {"src/shop/new.py": "import shop.cart\n"})
    assert graph(tmp_path / "other", "build").returncode == 0
    assert "src/shop/new.py" in graph(repository, "show", "cart.py").stdout


def test_what_cannot_be_done_is_said(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No store, no graph, no file, an excluded folder, a folder that is none: each with its next step."""
    assert "howcome init" in graph(repository, "show", "cart.py").stderr
    assert graph(repository, "build", "nowhere").returncode == 2
    assert "name the file" in graph(repository, "show").stderr
    write_tree(repository, {".howcome.toml": "capture = false\n"})
    assert "nothing of this folder is kept" in graph(repository, "build").stderr
    repository.joinpath(".howcome.toml").unlink()
    monkeypatch.setenv("HOWCOME_EXCLUDE", str(repository))
    assert "nothing of this folder is kept" in graph(repository, "build").stderr
    monkeypatch.delenv("HOWCOME_EXCLUDE")
    assert graph(repository, "build").returncode == 0
    assert "no source file" in graph(repository, "show", "none.py").stderr


def test_without_the_parsers_it_says_what_to_install(repository: Path) -> None:
    """The rest of howcome does not need them."""
    script = "import sys; sys.modules['tree_sitter'] = None; " + MAIN.removeprefix("import sys; ")
    words = [sys.executable, "-c", script, "graph", "build"]
    done = subprocess.run(words, cwd=repository, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert (done.returncode, "extra `graph`" in done.stderr) == (1, True), done.stderr
