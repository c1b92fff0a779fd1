"""The SQLite driver: nothing is written that has not been through the gate, and its errors are the store's own."""

from __future__ import annotations

import contextlib
import errno

import apsw

from howcome.errors import StoreDamagedError, StoreError, StoreLockedError
from howcome.log.faults import number_of, refusal, shortage
from howcome.log.terms import offer_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any


class Kept(str):
    """A text whose parts have been through the gate one by one, such as the JSON of gated values: bound as it is."""

    __slots__ = ()


class GatedConnection(apsw.Connection):
    """A connection whose statements get texts as they may rest on disk; `gate` None lets all through (a bare store)."""

    gate: Callable[[str], str] | None = None

    def __init__(self, *args: Any, **named: Any) -> None:  # noqa: ANN401 - the driver's own
        super().__init__(*args, **named)
        offer_terms(self)

    def execute(self, statements: str, bindings: Sequence[Any] | None = None) -> apsw.Cursor:  # type: ignore[override]
        """Runs statements; every text that is bound goes through the gate."""
        return super().execute(statements, self._gated(bindings) if bindings else bindings)

    def executemany(self, statements: str, sequenceofbindings: Iterable[Sequence[Any]]) -> apsw.Cursor:  # type: ignore[override]
        """Runs a statement for each row; every text that is bound goes through the gate."""
        return super().executemany(statements, [self._gated(row) for row in sequenceofbindings])

    def execute_gated(self, statements: str, bindings: Sequence[Any]) -> apsw.Cursor:
        """Runs statements with what has been through the gate already, or is only looked for."""
        return super().execute(statements, bindings)

    def as_kept(self, bindings: Sequence[Any]) -> Sequence[Any] | None:
        """What is bound as the store would hold it; None when that is the same."""
        gated = self._gated(bindings)
        return gated if gated != bindings else None

    def _gated(self, bindings: Sequence[Any]) -> Sequence[Any]:
        gate = self.gate
        if gate is None:
            return bindings
        return tuple([gate(value) if type(value) is str else value for value in bindings])


_BROKEN_SCHEMA = ("malformed database schema", "unsupported file format")
_MACHINE = (apsw.FullError, apsw.IOError, apsw.CantOpenError, apsw.NoMemError, apsw.ReadOnlyError)
_NUMBERS = {
    apsw.FullError: errno.ENOSPC, apsw.NoMemError: errno.ENOMEM, apsw.IOError: errno.EIO,
    apsw.ReadOnlyError: errno.EACCES,
}  # fmt: skip
"""What it is when nothing else is found to be short. SQLite tells the kind of failure, not the system's number."""


@contextlib.contextmanager
def driver_errors(folder: str) -> Iterator[None]:
    """The driver's errors as the store's own, with their cause kept."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLockedError("the store is locked by another process; nothing was written, try again") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
    except apsw.SQLError as error:
        if any(words in str(error) for words in _BROKEN_SCHEMA):
            raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
        raise StoreError(f"the store failed: {error}") from error
    except apsw.Error as error:
        raise refused(error, folder) or StoreError(f"the store failed: {error}") from error


def refused(error: apsw.Error, folder: str) -> StoreError | None:
    """The machine's refusal behind a driver's error; None when it is something else."""
    if not isinstance(error, _MACHINE):
        return None
    number = number_of(error) or shortage(folder) or _NUMBERS.get(type(error))
    return refusal(number) if number is not None else None


def rows_of(connection: GatedConnection, sql: str, values: Sequence[object]) -> list[Any]:
    """What a query selects. Text that is no UTF-8 comes with marks where it is none: one such row must not hide others.

    The driver gives up at the first such value, so the query is asked again with its texts as bytes.
    """
    try:
        return list(connection.execute_gated(sql, values))
    except UnicodeDecodeError:
        from apsw.ext import query_info

        names = [f"c{number}" for number in range(len(query_info(connection, sql).description))]
        one = "typeof({0}), iif(typeof({0}) = 'text', CAST({0} AS BLOB), {0})"
        as_bytes = ", ".join(map(one.format, names))
        again = f"WITH asked ({', '.join(names)}) AS ({sql}) SELECT {as_bytes} FROM asked"  # noqa: S608 - fixed names
        return [tuple(map(_decoded, row[::2], row[1::2])) for row in connection.execute_gated(again, values)]


def _decoded(kind: str, value: Any) -> Any:  # noqa: ANN401 - whatever the query selects
    return value.decode("utf-8", "replace") if kind == "text" else value
