"""What is published: built twice the same, complete, and installed by each installer in an empty home (`make dist`)."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from howcome import __version__

ROOT = Path(__file__).resolve().parents[2]
TOOLS = Path(sys.executable).parent
LIMIT_S = 300

pytestmark = pytest.mark.timeout(LIMIT_S)


def do(*words: str | Path, home: Path | None = None, folder: Path = ROOT) -> str:
    """A command to its end; it must succeed. With a home it gets nothing else of this machine but its certificates."""
    kept = {name: value for name, value in os.environ.items() if name.endswith(("CERT_FILE", "_INDEX_URL"))}
    clean = {**kept, "HOME": str(home), "PATH": f"{home}/.local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
    done = subprocess.run(
        list(map(str, words)), cwd=folder, env=clean if home else None, capture_output=True, text=True, check=False,
        timeout=LIMIT_S,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def tracked() -> set[str]:
    """Every file of the repository."""
    return set(do("git", "ls-files", "--cached", "--others", "--exclude-standard").splitlines())


def digests(folder: Path) -> dict[str, str]:
    """Files of a folder, with their digests."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source archive, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    do(sys.executable, "-m", "build", "--outdir", folder)
    return folder


@pytest.fixture
def wheel(built: Path) -> Path:
    """The wheel."""
    (found,) = built.glob("*.whl")
    return found


def test_a_build_is_reproducible(built: Path, tmp_path: Path) -> None:
    """The same bytes from a copy elsewhere, at another time, with other modes; and without the archive between."""
    copy = tmp_path / "copy"
    for name in tracked():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name, follow_symlinks=False)
    for path in copy.rglob("*.py"):
        path.chmod(0o600)
    do(sys.executable, "-m", "build", "--outdir", tmp_path / "again", folder=copy)
    do(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path / "straight", folder=copy)
    assert digests(tmp_path / "again") == digests(built)
    assert digests(tmp_path / "straight").items() <= digests(built).items()


def test_nothing_is_missing(built: Path, wheel: Path) -> None:
    """The archive is the repository (the link of the plugin aside), the wheel the package with its manual page."""
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        inside = {name.partition("/")[2] for name in opened.getnames()}
    assert inside == (tracked() | {"PKG-INFO"}) - {"plugin/src"}
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/")}
    about = f"howcome-{__version__}"
    assert names >= package | {f"{about}.data/data/share/man/man1/howcome.1", f"{about}.dist-info/licenses/LICENSE"}
    assert {name.partition("/")[0] for name in names} == {"howcome", f"{about}.dist-info", f"{about}.data"}


def test_the_metadata_are_valid(built: Path) -> None:
    """As the package index checks them."""
    do(TOOLS / "twine", "check", "--strict", *built.iterdir())


@pytest.mark.parametrize("installer", [("pipx", "install"), ("uv", "tool", "install")], ids=" ".join)
def test_it_is_installed_in_an_empty_home(wheel: Path, tmp_path: Path, installer: tuple[str, ...]) -> None:
    """The command is there, connects an agent and finds nothing to complain about; the manual page came along."""
    program, *words = installer
    do(TOOLS / program, *words, wheel, home=tmp_path)
    assert do("howcome", "--version", home=tmp_path).strip() == f"howcome, version {__version__}"
    do("howcome", "init", "--yes", home=tmp_path)
    do("howcome", "doctor", home=tmp_path)
    assert list(tmp_path.glob(".local/share/**/man1/howcome.1"))
    do("howcome", "uninstall", "--yes", "--purge", home=tmp_path)
    assert {path.name for path in tmp_path.iterdir()} <= {".cache", ".local"}


def test_it_runs_without_being_installed(wheel: Path, tmp_path: Path) -> None:
    """By `uvx`, from the wheel."""
    shown = do(TOOLS / "uvx", "--from", wheel, "howcome", "--version", home=tmp_path)
    assert shown.strip() == f"howcome, version {__version__}"
