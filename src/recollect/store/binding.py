"""What the lexical index's binding raises, as the store's own errors: the one place that knows its kinds.

Tantivy's complaints come as plain `ValueError`, what the system refused among them; on files that are not as they were
written it may also panic, which arrives as pyo3's `PanicException`, a `BaseException` that no module exports.
"""

from __future__ import annotations

import errno
import os
import re

from recollect.errors import IndexDamagedError, StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, Protocol, TypeVar

    P = ParamSpec("P")
    R = TypeVar("R")

    class Adapter(Protocol):
        """An object whose methods call the binding."""

        @property
        def title(self) -> str:
            """What it is called in messages."""
            ...

        def give_up(self) -> None:
            """Its files are damaged: nobody should ask them any more."""
            ...

    A = TypeVar("A", bound=Adapter)

MAX_REASON_CHARS = 200
"""Of a complaint that may quote a whole file."""

_SYSTEM = re.compile(r"(?:os error|code:) (\d+)")
_OF_FILES = frozenset({errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EINVAL})
"""What the system says of files that are gone or should not be there; all else is its own trouble (a full disk, no
descriptors), and no damage."""


def guarded(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, P], R]:
    """A method that calls the binding, with its errors converted; damage gives the index up.

    KeyboardInterrupt, SystemExit and everybody else's errors pass.
    """

    def call(self: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            found = _converted(error, self.title)
            if found is None:
                raise
            if isinstance(found, IndexDamagedError):
                self.give_up()
            raise found from error

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


def is_lock_busy(error: ValueError) -> bool:
    """Whether somebody else has the writer's lock; what is wrong with a file may quote all of it, with any words."""
    return str(error).startswith("Failed to acquire")


def _converted(error: BaseException, title: str) -> StoreError | None:
    """The store's own error; None for what is not the binding's."""
    if type(error).__name__ != "PanicException" and type(error) is not ValueError:
        return None
    words = " ".join(str(error).split())
    system = _SYSTEM.search(words)
    if system and int(system[1]) not in _OF_FILES:
        return StoreError(f"the {title} cannot be used now: {os.strerror(int(system[1]))}")
    return damaged(title, words if len(words) <= MAX_REASON_CHARS else words[:MAX_REASON_CHARS] + "…")


def damaged(title: str, why: str) -> IndexDamagedError:
    """What is wrong with an index, and what becomes of it."""
    return IndexDamagedError(f"the {title} is damaged ({why}); `recollect import` builds it anew from the rows")
