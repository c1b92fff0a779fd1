"""Progress bars, without the thread that looks after them: there may be none to have, and nobody needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

from tqdm import tqdm

__all__ = ["progress", "tqdm"]

tqdm.monitor_interval = 0


@contextmanager
def progress(unit: str, what: str, total: int | None = None, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar while something is done; it is told how much is done, and of how much where that is not known before."""
    bar: tqdm[NoReturn]
    with tqdm(total=total, unit=f" {unit}", desc=what, disable=quiet or None) as bar:

        def advance(number: int, of: int | None = total) -> None:
            bar.total = of
            bar.update(number - bar.n)

        yield advance
