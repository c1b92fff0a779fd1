"""What the index's binding raises becomes the store's own errors, in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from howcome.errors import IndexDamagedError, MachineError
from howcome.index.binding import guarded

PanicException = type("PanicException", (BaseException,), {})
"""As pyo3 names it: no module exports the real one."""


class Adapter:
    """Calls a binding that fails."""

    title = "index of tides"

    def __init__(self, error: BaseException, folder: Path) -> None:
        self.error, self.folder, self.was_given_up = error, str(folder), False

    def give_up(self) -> None:
        """Its files are damaged."""
        self.was_given_up = True

    @guarded
    def search(self, word: str, *, limit: int) -> int:  # noqa: ARG002 - what a search is called with
        """Never finds anything."""
        raise self.error


@pytest.mark.parametrize(
    "error",
    [
        PanicException("index out of bounds: the len is 4 but the index is 4"),
        ValueError("Data corrupted: 'a block'"),
        ValueError("Failed to open file for read: 'FileDoesNotExist(\"a.store\")'"),
        ValueError('IoError { io_error: Os { code: 2, kind: NotFound, message: "No such file or directory" } }'),
    ],
)
def test_damage_is_said_of_the_index_and_it_is_given_up(error: BaseException, tmp_path: Path) -> None:
    """Panics too, which are no `Exception`; the cause is kept."""
    adapter = Adapter(error, tmp_path)
    with pytest.raises(IndexDamagedError, match=r"the index of tides is damaged .*howcome import") as caught:
        adapter.search("ebb", limit=1)
    assert caught.value.__cause__ is error
    assert adapter.was_given_up


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("An IO error occurred: 'No space left on device (os error 28)'", "the disk is full"),
        ('OpenError(IoError { io_error: Os { code: 24, kind: Uncategorized, message: "" } })', "not open more files"),
        ("Cannot allocate memory (os error 12)", "too little memory"),
    ],
)
def test_what_the_system_refuses_is_no_damage(words: str, reason: str, tmp_path: Path) -> None:
    """An index that is whole must not be thrown away because a disk is full."""
    adapter = Adapter(ValueError(words), tmp_path)
    with pytest.raises(MachineError, match=reason) as caught:
        adapter.search("ebb", limit=1)
    assert not isinstance(caught.value, IndexDamagedError)
    assert not adapter.was_given_up


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3), UnicodeDecodeError("utf-8", b"", 0, 1, "")])
def test_what_is_not_the_bindings_passes(error: BaseException, tmp_path: Path) -> None:
    """Whoever interrupts a search ends it."""
    adapter = Adapter(error, tmp_path)
    with pytest.raises(type(error)):
        adapter.search("ebb", limit=1)
    assert not adapter.was_given_up
