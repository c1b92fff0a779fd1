"""The SQLite driver's errors as the store's own."""

from __future__ import annotations

import contextlib

import apsw

from recollect.errors import StoreDamagedError, StoreError, StoreLockedError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def driver_errors() -> Iterator[None]:
    """The driver's errors as the store's own, with their cause kept."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise StoreLockedError("the store is locked by another process; nothing was written, try again") from error
    except (apsw.NotADBError, apsw.CorruptError) as error:
        raise StoreDamagedError(f"the store is damaged ({error}); it was left as it is") from error
    except apsw.Error as error:
        raise StoreError(f"the store failed: {error}") from error
