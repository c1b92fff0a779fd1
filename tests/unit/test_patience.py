"""Work that gives way: it rests while somebody is being answered, and ends at once when it must."""

from __future__ import annotations

import threading
import time

import pytest

from recollect.present.patience import Patience


def rested(one: Patience, seconds: float) -> tuple[bool, float]:
    """Whether the work may go on after a rest, and how long that was."""
    started = time.monotonic()
    return one.rest(seconds), time.monotonic() - started


def test_a_rest_is_as_long_as_was_asked() -> None:
    """And then the work goes on."""
    may_go_on, seconds = rested(Patience(), 0.05)
    assert may_go_on
    assert 0.05 <= seconds < 1


def test_nobody_works_while_somebody_is_answered() -> None:
    """The rest lasts until the last one has its answer, also when answering fails."""
    one = Patience()
    first, second = one.somebody_waits(), one.somebody_waits()
    first.__enter__()
    second.__enter__()
    threading.Timer(0.1, first.__exit__, (None, None, None)).start()
    threading.Timer(0.2, second.__exit__, (None, None, None)).start()
    assert rested(one, 0)[1] >= 0.15
    with pytest.raises(ValueError, match="failed"), one.somebody_waits():
        raise ValueError("failed")
    assert rested(one, 0)[1] < 0.1


def test_an_answer_that_never_ends_does_not_stop_the_work() -> None:
    """The work waits for so long and no longer."""
    one = Patience(max_wait_s=0.1)
    with one.somebody_waits():
        may_go_on, seconds = rested(one, 0)
    assert may_go_on
    assert 0.1 <= seconds < 1


def test_the_end_comes_in_the_middle_of_a_rest() -> None:
    """Whether it sleeps or gives way; and no later rest begins."""
    one = Patience()
    threading.Timer(0.05, one.stop).start()
    may_go_on, seconds = rested(one, 30)
    assert not may_go_on
    assert seconds < 5
    with one.somebody_waits():
        assert rested(one, 30)[1] < 1
    assert one.is_over
