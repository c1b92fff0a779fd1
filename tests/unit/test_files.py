"""Files that are replaced in one step: under kills, errors, links and other writers."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from howcome.files import replacing, settle, sync, write_whole

OLD, NEW = b"old\n", b"new " * 50_000

PROGRAM = """
import os, sys
path, step, do = sys.argv[1], int(sys.argv[2]), os._exit
from howcome import files
def count(frame, event, called):
    global step
    if event in ("c_call", "c_return") and frame.f_code.co_filename == files.__file__:
        step -= 1
        if step == 0:
            do(9)
sys.setprofile(count)
files.write_whole(path, b"new " * 50_000)
sys.setprofile(None)
"""
"""Writes, and is gone before or after its n-th call into the system."""


def killed(path: Path, step: int) -> bool:
    """Whether the process was gone before it was done."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, path, str(step)], check=False, stderr=subprocess.PIPE)
    assert done.returncode in (0, 9), done.stderr.decode()
    return done.returncode == 9


def test_a_kill_between_any_two_steps_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    """And the next writer takes away what the killed ones left."""
    path, seen, step = tmp_path / "settings.json", set[bytes](), 1
    path.write_bytes(OLD)
    while killed(path, step):
        seen.add(path.read_bytes())
        step += 1
    assert seen == {OLD, NEW}
    assert os.listdir(tmp_path) == ["settings.json"]


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    """0600, whatever the old one had; the handler can see the part by its name."""
    path = tmp_path / "a"
    path.write_bytes(OLD)
    path.chmod(0o644)
    with replacing(str(path)) as stream:
        assert stat.S_IMODE(os.stat(stream.name).st_mode) == 0o600
        stream.write(NEW)
        settle(stream)
        assert (Path(stream.name).read_bytes(), path.read_bytes()) == (NEW, OLD)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (NEW, 0o600)


def test_who_raises_leaves_all_as_it_was(tmp_path: Path) -> None:
    """The old file, and nothing beside it."""
    (tmp_path / "a").write_bytes(OLD)

    def interrupted() -> None:
        with replacing(str(tmp_path / "a")) as stream:
            stream.write(NEW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {"a": OLD}


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """It is replaced; who wants its target names that."""
    (tmp_path / "target").write_bytes(OLD)
    (tmp_path / "a").symlink_to("target")
    write_whole(str(tmp_path / "a"), NEW)
    assert not (tmp_path / "a").is_symlink()
    assert (tmp_path / "target").read_bytes() == OLD


def test_only_what_killed_writers_of_the_same_file_left_is_taken_away(tmp_path: Path) -> None:
    """Not a living one's part, not another file's, not what only looks alike."""
    others = [f"a.{os.getpid()}-00ff00ff.part", "b.999999999-00ff00ff.part", "a.part", "a.download.part", "a.b.c"]
    for name in (*others, "a.999999999-00ff00ff.part"):
        (tmp_path / name).write_bytes(b"half")
    write_whole(str(tmp_path / "a"), NEW)
    assert sorted(os.listdir(tmp_path)) == sorted(["a", *others])


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    """The part's name says nothing to anybody."""
    with pytest.raises(FileNotFoundError) as caught:
        write_whole(str(tmp_path / "gone" / "a"), NEW)
    assert caught.value.filename == str(tmp_path / "gone")


def test_two_writers_at_once_each_write_all(tmp_path: Path) -> None:
    """Each has a part of its own: the last one's is there, whole."""
    path = str(tmp_path / "a")
    with replacing(path) as first:
        first.write(b"first")
        write_whole(path, NEW)
        assert Path(path).read_bytes() == NEW
    assert Path(path).read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["a"]


def test_names_of_a_folder_are_made_to_last(tmp_path: Path) -> None:
    """Of files and folders alike; what cannot be opened raises."""
    (tmp_path / "a").write_bytes(OLD)
    sync(str(tmp_path))
    sync(str(tmp_path / "a"))
    with pytest.raises(FileNotFoundError):
        sync(str(tmp_path / "gone"))
