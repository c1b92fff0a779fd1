"""Whose rows an index is made from, and how far: one line in a small file beside it, without which it is worth nothing.

The line is replaced before every commit of the index, so that nothing in the index is behind what it says; taking the
file away gives the index up, and whoever writes next makes it anew.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    MarkOf = Callable[[int], str]

NAME = "stamp"
_MAX_BYTES = 200


def is_stamped(folder: str, mark_of: MarkOf) -> bool:
    """Whether an index is of the rows at hand.

    Args:
        folder: Of the index.
        mark_of: The mark of a row, or of a change, in these rows; "" where there is none.
    """
    try:
        descriptor = os.open(os.path.join(folder, NAME), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        line = os.read(descriptor, _MAX_BYTES)
    finally:
        os.close(descriptor)
    last, _, mark = line.decode("ascii", "replace").rstrip("\n").partition(" ")
    return last.isdecimal() and bool(mark) and mark == (mark_of(int(last)) if len(last) < 19 else "")


def write_stamp(folder: str, last: int, mark_of: MarkOf) -> None:
    """Says that an index is of the rows at hand, and that nothing in it is behind one of them."""
    from howcome.files import write_whole  # not for a prompt, which only looks

    write_whole(os.path.join(folder, NAME), f"{last} {mark_of(last)}\n".encode(), must_last=True)


def give_up(folder: str) -> None:
    """Takes the stamp away; in a folder that cannot be written the index stays as it is."""
    try:
        os.unlink(os.path.join(folder, NAME))
    except OSError:
        return
