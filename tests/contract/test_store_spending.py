"""The ledger: both caps hold to the call, over processes, restarts, kills and clocks that move."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contract.postgres_stores import opening
from tests.hostile.scale import examples
from tests.processes import LIMIT_S

from howcome.domain.spending import DAY_MS, OVER_BUDGET, Call, Caps, Usage, day_of
from howcome.errors import StoreError
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from howcome.store.base import Store

NOON = 20_000 * DAY_MS + DAY_MS // 2
CAPS = Caps(3, 10_000)


def call(tokens: int = 1000, purpose: str = "distil") -> Call:
    """A call that somebody wants to make."""
    return Call(purpose, "http", "small", tokens)


def spend(store: Store, times: int, at_ms: int = NOON, caps: Caps = CAPS) -> int:
    """How many of so many calls were allowed."""
    return sum(bool(store.spending.reserve(call(), caps, at_ms)[0]) for _ in range(times))


def test_calls_are_allowed_up_to_the_cap(store: Store) -> None:
    """And not one more; what was refused is one receipt, with how often."""
    assert spend(store, 5) == 3
    assert store.spending.spent_on(NOON) == (3, 3000)
    refused, *made = store.spending.receipts(0)
    assert (refused.outcome, refused.times, refused.call.tokens) == (OVER_BUDGET, 2, 0)
    assert [each.outcome for each in made] == ["unsettled"] * 3
    problem = "all 3 calls of llm_daily_calls are spent until midnight UTC"
    assert store.spending.reserve(call(), CAPS, NOON) == (0, problem)


def test_tokens_are_reserved_before_and_corrected_after(store: Store) -> None:
    """What is not known stays as it was reserved; a row is settled once."""
    caps = Caps(100, 2500)
    first, second = (store.spending.reserve(call(), caps, NOON)[0] for _ in range(2))
    row, problem = store.spending.reserve(call(), caps, NOON)
    assert row == 0
    assert "500 of the 2500 tokens" in problem
    store.spending.settle(first, "ok", Usage(100, 20, 0.5), 120, 1500)
    store.spending.settle(first, "failed", Usage(), 9999, 1)
    store.spending.settle(second, "timeout", Usage(), 1000, 6000)
    assert store.spending.spent_on(NOON) == (2, 1120)
    assert store.spending.reserve(call(), caps, NOON)[0]
    done = store.spending.receipts(0)[-1]
    assert (done.usage.tokens_in, done.usage.tokens_out, done.usage.cost_usd, done.duration_ms) == (100, 20, 0.5, 1500)


@pytest.mark.parametrize("caps", [Caps(0, 10_000), Caps(3, 0), Caps(0, 0), Caps(3, 999)])
def test_both_caps_have_to_allow(store: Store, caps: Caps) -> None:
    """0 is nothing, not everything."""
    assert spend(store, 1, caps=caps) == 0


def test_a_new_day_has_its_own_budget(open_store: Callable[[], Store]) -> None:
    """From midnight UTC on, over restarts."""
    midnight = (day_of(NOON) + 1) * DAY_MS
    assert spend(open_store(), 5, midnight - 1) == 3
    again = open_store()
    assert spend(again, 1, midnight - 1) == 0
    assert spend(again, 5, midnight) == 3


def test_a_clock_that_is_put_back_gives_nothing_new(store: Store) -> None:
    """Not on the earlier day, and not when it is put right again."""
    assert spend(store, 5) == 3
    for back in (1, 3, 20_000):
        assert spend(store, 5, NOON - back * DAY_MS) == 0
    assert spend(store, 5) == 0
    assert spend(store, 5, NOON + DAY_MS) == 3


def test_what_is_spent_while_the_clock_is_behind_is_of_the_day_that_it_had_shown(store: Store) -> None:
    """A budget that is not used up is not filled up by putting the clock back and right again."""
    assert spend(store, 1) == 1
    assert spend(store, 1, NOON - DAY_MS) == 1
    assert spend(store, 5, NOON - 2 * DAY_MS) == 1
    assert spend(store, 5) == 0
    assert spend(store, 5, NOON - DAY_MS) == 0
    assert spend(store, 5, NOON + DAY_MS) == 3


def test_a_clock_that_was_years_ahead_locks_for_a_day_at_most(store: Store) -> None:
    """What was spent under it counts on the day on which it was put right, and no longer."""
    assert spend(store, 2) == 2
    assert spend(store, 5, NOON + 3650 * DAY_MS) == 3
    assert spend(store, 5) == 0
    assert spend(store, 5, NOON + DAY_MS - DAY_MS // 2 - 1) == 0
    assert spend(store, 5, NOON + DAY_MS) == 3
    assert spend(store, 5, NOON) == 0
    assert spend(store, 5, NOON + 3650 * DAY_MS) == 0


@settings(deadline=None, max_examples=examples(50))
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), max_size=30))
def test_no_day_is_ever_given_twice(tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[int, int]]) -> None:
    """However the clock moves: of each day that it ever shows, at most one budget; and midnight always opens one."""
    store = SqliteStore(str(tmp_path_factory.mktemp("ledger")))
    allowed: dict[int, int] = {}
    for day, times in moves:
        allowed[day] = allowed.get(day, 0) + spend(store, times, NOON + day * DAY_MS)
    assert all(count <= CAPS.calls for count in allowed.values())
    assert spend(store, 5, NOON + 7 * DAY_MS) == CAPS.calls
    store.close()


def test_the_switch_holds_for_everybody_at_once(open_store: Callable[[], Store]) -> None:
    """In the store, so also for processes that run already; nothing is written for a call that it stops."""
    store, other = open_store(), open_store()
    assert store.spending.stopped_ms() is None
    store.spending.stop(NOON)
    store.spending.stop(NOON + 1)
    row, problem = other.spending.reserve(call(), CAPS, NOON)
    assert (row, other.spending.stopped_ms()) == (0, NOON)
    assert "howcome spending --go" in problem
    assert store.spending.receipts(0) == []
    store.spending.resume()
    assert spend(other, 1) == 1


def test_without_a_receipt_nothing_is_spent(store: Store) -> None:
    """A store that cannot be written allows no call."""
    store.database.is_read_only = True
    with pytest.raises(StoreError, match="nothing may be spent"):
        store.spending.reserve(call(), CAPS, NOON)


def test_a_store_that_is_thrown_away_spends_from_another(store: Store, tmp_path: Path) -> None:
    """An evaluation has no budget of its own."""
    thrown_away = SqliteStore(str(tmp_path / "evaluation"))
    thrown_away.spending.spend_from(store.spending)
    row, _ = thrown_away.spending.reserve(call(), CAPS, NOON)
    thrown_away.spending.settle(row, "ok", Usage(10, 5), 15, 100)
    assert store.spending.spent_on(NOON) == (1, 15)
    assert thrown_away.spending.spent_on(NOON) == (0, 0)
    thrown_away.close()


SPENDER = """
import sys
from howcome.domain.spending import Call, Caps, Usage
calls, at_ms, allowed = int(sys.argv[1]), int(sys.argv[2]), 0
for number in range(calls):
    row, _ = store.spending.reserve(Call("distil", "http", "small", 1000), Caps(37, 10**9), at_ms)
    allowed += bool(row)
    if row and number % 2:
        store.spending.settle(row, "ok", Usage(1, 1), 2, 1)
print(allowed)
"""


def test_eight_processes_spend_exactly_the_cap(store: Store) -> None:
    """Each wants all of it."""
    words = [sys.executable, "-c", opening(store) + SPENDER, "37", str(NOON)]
    running = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(8)]
    allowed = [int(process.communicate(timeout=LIMIT_S)[0]) for process in running]
    assert sum(allowed) == 37
    assert store.spending.spent_on(NOON)[0] == 37
