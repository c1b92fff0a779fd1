"""What the lexical index's binding raises, as the store's own errors: the one place that knows its kinds.

Tantivy's complaints come as plain `ValueError`, what the system refused among them; on files that are not as they were
written it may also panic, which arrives as pyo3's `PanicException`, a `BaseException` that no module exports.
"""

from __future__ import annotations

from howcome.errors import IndexDamagedError
from howcome.log.faults import number_of, refusal, shortage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Concatenate, ParamSpec, Protocol, TypeVar

    from howcome.errors import StoreError

    P = ParamSpec("P")
    R = TypeVar("R")

    class Adapter(Protocol):
        """An object whose methods call the binding."""

        @property
        def folder(self) -> str:
            """Where its files are."""

        @property
        def title(self) -> str:
            """What it is called in messages."""

        def give_up(self) -> None:
            """Its files are damaged: nobody should ask them any more."""

    A = TypeVar("A", bound=Adapter)

MAX_REASON_CHARS = 200
"""Of a complaint that may quote a whole file."""


def guarded(method: Callable[Concatenate[A, P], R]) -> Callable[Concatenate[A, P], R]:
    """A method that calls the binding, with its errors converted; damage gives the index up.

    KeyboardInterrupt, SystemExit and everybody else's errors pass.
    """

    def call(self: A, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(self, *args, **kwargs)
        except BaseException as error:
            found = _converted(error, self)
            if found is None:
                raise
            if isinstance(found, IndexDamagedError):
                self.give_up()
            try:
                raise found from error
            finally:  # else it and this frame held each other, and with them the index's lock
                del found

    call.__name__, call.__doc__ = method.__name__, method.__doc__
    return call


def _converted(error: BaseException, adapter: Adapter) -> StoreError | None:
    """The store's own error; None for what is not the binding's. The machine is asked first."""
    is_binding = type(error).__name__ == "PanicException" or type(error) is ValueError
    if not is_binding and not isinstance(error, OSError | MemoryError):
        return None
    number = number_of(error) or (shortage(adapter.folder) if is_binding else None)
    if number is not None:
        return refusal(number)
    words = " ".join(str(error).split())
    why = words if len(words) <= MAX_REASON_CHARS else words[:MAX_REASON_CHARS] + "…"
    return damaged(adapter.title, why) if is_binding else None


def damaged(title: str, why: str) -> IndexDamagedError:
    """What is wrong with an index, and what becomes of it."""
    return IndexDamagedError(f"the {title} is damaged ({why}); `howcome import` builds it anew from the rows")
