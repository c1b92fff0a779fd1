"""A full disk, a read-only one, too few files, too little memory: said in a sentence, healed alone, nothing lost.

The limits are the kernel's own, set for real processes. What mounts a file system needs root.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, write
from tests.processes import (
    HOOK_FIELDS,
    WITH_LIMIT,
    WITHOUT_OVERRIDE,
    ask,
    assert_silent,
    hook,
    payload,
    python,
    run,
    started_hook,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
QUESTION = ("search", "--all-projects", "why does berth3 fail")
SAYS = {
    "RLIMIT_FSIZE": "`ulimit -f`", "RLIMIT_NOFILE": "`ulimit -n`", "RLIMIT_AS": "`ulimit -v`",
}  # fmt: skip
SEARCHES = {"RLIMIT_FSIZE": 0, "RLIMIT_NOFILE": 12, "RLIMIT_AS": 300_000_000}
"""The least with which a store that is there can be searched."""

LIMITS = [
    ("RLIMIT_FSIZE", 0), ("RLIMIT_FSIZE", 40_000), ("RLIMIT_NOFILE", 7), ("RLIMIT_NOFILE", 9), ("RLIMIT_NOFILE", 13),
    ("RLIMIT_NOFILE", 18), ("RLIMIT_AS", 200_000_000), ("RLIMIT_AS", 600_000_000),
]  # fmt: skip


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """A transcript that no store has read."""
    return write(tmp_path / "more" / "b.jsonl", *Claude("later").conversation(40, "crane"))


def index_folders(store: Path) -> dict[str, int]:
    """The folders of a store's indexes, and which folders they are."""
    return {found.name: found.stat().st_ino for found in (store / "index").iterdir()}


def assert_refused(done: subprocess.CompletedProcess[str], says: str) -> None:
    """One sentence that names the cause; exit 1."""
    assert done.returncode == 1, (done.returncode, done.stderr[-3000:])
    assert done.stderr.startswith("howcome: "), done.stderr[-3000:]
    assert done.stderr.count("\n") == 1
    assert says in done.stderr


@pytest.mark.usefixtures("past")
@pytest.mark.parametrize(("name", "limit"), LIMITS)
def test_under_a_limit_every_command_says_which(name: str, limit: int, more: Path, store_folder: Path) -> None:
    """No traceback, no abort, no healthy index thrown away; afterwards everything works without a word."""
    before, folders = python(WITH_LIMIT, name, str(limit)), index_folders(store_folder)
    for words in (QUESTION, ("status",), ("remember", "the berth counter is zero based"), ("import", str(more))):
        done = run(*words, before=before)
        if done.returncode or (done.stderr and not done.stderr.startswith("kept as ")):
            assert_refused(done, SAYS[name])
        assert index_folders(store_folder).items() >= folders.items(), words
        if words == QUESTION and limit >= SEARCHES[name]:
            assert "berth3" in done.stdout
    done = run("doctor", before=before)
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    ask("import", more)
    assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout


@pytest.mark.parametrize(("name", "limit"), [LIMITS[0], *LIMITS[3:6], LIMITS[-2]])
def test_under_a_limit_every_hook_is_silent(name: str, limit: int, past: Path, more: Path, store_folder: Path) -> None:
    """Exit 0 and not a word; with room again the next hook reads what is new."""
    before, folders = python(WITH_LIMIT, name, str(limit)), index_folders(store_folder)
    for event, fields in HOOK_FIELDS.items():
        done = started_hook(event, payload(event, more, "later", **fields), before=before)
        assert (done.returncode, done.stderr) == (0, b""), (event, done.stderr[-3000:])
        assert index_folders(store_folder).items() >= folders.items(), event
    if name == "RLIMIT_AS":
        assert "MachineError" in (log := (store_folder / "hook-errors.log").read_text())
        assert " ENOMEM " in log
    assert_silent(hook("Stop", payload("Stop", more, "later")))
    assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout
    assert past.exists()


HEALING = """
import resource, sys
from howcome.app import open_app
from howcome.clients.discover import Found
from howcome.errors import IndexDamagedError, MachineError
from howcome.settings import read_settings
import os
name, limit = getattr(resource, sys.argv[1]), int(sys.argv[2])
refused = 0
with open_app(read_settings(os.environ)) as app:
    app.ingest.file(Found(sys.argv[3], "claude-code", 0, 0))
    soft, hard = resource.getrlimit(name)
    if name == resource.RLIMIT_NOFILE:
        limit += max(map(int, os.listdir("/proc/self/fd")))
    resource.setrlimit(name, (limit, hard))
    for _ in range(2):
        try:
            app.index.catch_up()
            app.store.index.release()
        except MachineError:
            refused += 1
    resource.setrlimit(name, (soft, hard))
    app.index.catch_up()
    app.store.index.release()
    assert app.store.index.lag() == 0
    assert refused or name == resource.RLIMIT_NOFILE, "the limit was never felt"
"""


@pytest.mark.parametrize(("name", "limit"), [("RLIMIT_FSIZE", 0), ("RLIMIT_FSIZE", 3000), ("RLIMIT_NOFILE", 3)])
def test_a_process_that_goes_on_heals_alone(name: str, limit: int, past: Path, more: Path, store_folder: Path) -> None:
    """The worker's own case: the same open store indexes again when there is room, on the index that it had."""
    folders = index_folders(store_folder)
    done = subprocess.run(python(HEALING, name, str(limit), more), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr[-3000:]
    assert index_folders(store_folder).items() >= folders.items()
    assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout
    assert past.exists()


@contextlib.contextmanager
def mounted(folder: Path, *words: str) -> Iterator[None]:
    """A file system at a folder for a while; the test is skipped where none can be mounted."""
    folder.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *words, str(folder)], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_on_a_full_disk_searching_goes_on(tmp_path: Path, more: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that is full to the last byte: said, searched, and healed when there is room."""
    disk = tmp_path / "disk"
    path = write(tmp_path / "a.jsonl", *Claude("earlier").conversation(6))
    with mounted(disk, "-t", "tmpfs", "-o", "size=4m", "tmpfs"):
        monkeypatch.setenv("HOWCOME_HOME", str(disk / "store"))
        ask("import", path)
        with (disk / "ballast").open("wb", buffering=0) as stream, contextlib.suppress(OSError):
            while stream.write(bytes(4096)):
                pass
        folders = index_folders(disk / "store")
        assert "berth3" in run(*QUESTION).stdout
        assert_refused(run("import", more), "the disk is full")
        assert_refused(run("remember", "the berth counter is zero based"), "the disk is full")
        assert_silent(hook("Stop", payload("Stop", more, "later")))
        assert run("doctor").returncode == 1
        assert index_folders(disk / "store") == folders
        (disk / "ballast").unlink()
        assert_silent(hook("Stop", payload("Stop", more, "later")))
        assert "crane3" in run("search", "--all-projects", "why does crane3 fail").stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_on_a_read_only_disk_searching_goes_on(past: Path, more: Path, store_folder: Path) -> None:
    """A file system that was mounted read-only: the same."""
    with mounted(store_folder, "--bind", str(store_folder)):
        subprocess.run(["mount", "-o", "remount,ro,bind", str(store_folder)], check=True)
        assert "berth3" in run(*QUESTION).stdout
        assert_refused(run("import", more), "read-only")
        assert_refused(run("remember", "the berth counter is zero based"), "read-only")
        assert_silent(hook("Stop", payload("Stop", more, "later")))
        assert "Traceback" not in run("doctor").stderr
    ask("import", more)
    assert past.exists()


@pytest.mark.usefixtures("past")
def test_without_the_right_to_write_the_sentence_says_so(more: Path, store_folder: Path) -> None:
    """Not the owner, or modes that forbid it."""
    before = python(WITHOUT_OVERRIDE)
    (store_folder / "howcome.db").chmod(0o400)
    assert "berth3" in run(*QUESTION, before=before).stdout
    assert_refused(run("import", more, before=before), "may not write")
    assert_refused(run("remember", "the berth counter is zero based", before=before), "may not write")
