"""Work that gives way: it rests while somebody is being answered, and ends at once when it must."""

from __future__ import annotations

import threading
import time
from contextlib import AbstractContextManager

import pytest

from howcome.present.patience import Patience


def rested(one: Patience, seconds: float) -> tuple[bool, float]:
    """Whether the work may go on after a rest, and how long that was."""
    started = time.monotonic()
    return one.rest(seconds), time.monotonic() - started


def test_a_rest_is_as_long_as_was_asked() -> None:
    """And then the work goes on."""
    may_go_on, seconds = rested(Patience(), 0.05)
    assert may_go_on
    assert 0.05 <= seconds < 30


def test_nobody_works_while_somebody_is_answered() -> None:
    """The rest lasts until the last one has its answer, also when answering fails."""
    one = Patience(max_wait_s=60)
    left = list[int]()

    def leave(number: int, waiting: AbstractContextManager[None]) -> None:
        left.append(number)
        waiting.__exit__(None, None, None)

    for number in (1, 2):
        waiting = one.somebody_waits()
        waiting.__enter__()
        threading.Timer(number / 10, leave, (number, waiting)).start()
    assert one.rest(0)
    assert sorted(left) == [1, 2]
    with pytest.raises(ValueError, match="failed"), one.somebody_waits():
        raise ValueError("failed")
    assert rested(one, 0)[1] < 30


def test_an_answer_that_never_ends_does_not_stop_the_work() -> None:
    """The work waits for so long and no longer."""
    one = Patience(max_wait_s=0.1)
    with one.somebody_waits():
        may_go_on, seconds = rested(one, 0)
    assert may_go_on
    assert 0.1 <= seconds < 30


def test_the_end_comes_in_the_middle_of_a_rest() -> None:
    """Whether it sleeps or gives way; and no later rest begins."""
    one = Patience()
    threading.Timer(0.05, one.stop).start()
    may_go_on, seconds = rested(one, 3600)
    assert not may_go_on
    assert seconds < 30
    with one.somebody_waits():
        assert rested(one, 3600)[1] < 30
    assert one.is_over
