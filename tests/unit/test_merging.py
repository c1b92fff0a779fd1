"""Records of a memory on several machines become one, whoever merges them and in whatever order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howcome.memory.merging import agreed, alike, is_stone, merged, stamped

NOW = 1_800_000_000_000
KEPT = 1_790_000_000_000
LINE: dict[str, Any] = {"key": "aa", "text": "gauges drift", "status": "open", "created_ms": KEPT}


def changed(**fields: Any) -> dict[str, Any]:
    """A line of the memory that says something else."""
    return {**LINE, **fields}


lives = st.builds(
    lambda times, deleted, pinned, status: {
        **LINE, "times": dict(zip(("life", "pin", "status", "place", "also"), times, strict=True)),
        **({"deleted_ms": deleted} if deleted else {}), **({"pinned_ms": pinned} if pinned else {}), "status": status,
    },
    st.tuples(*[st.integers(0, 3)] * 5), st.sampled_from([None, 1, 2]), st.sampled_from([None, 1]),
    st.sampled_from(["open", "resolved"]),
)  # fmt: skip
stones = st.just({"key": "aa", "purged_ms": 5, "created_ms": KEPT})


@given(st.lists(st.one_of(lives, lives, stones), min_size=3, max_size=3))
def test_any_order_gives_the_same(records: list[dict[str, Any]]) -> None:
    """Merging is associative and commutative, and merging twice is merging once."""
    found = []
    for one, other, third in permutations(records):
        found.append(merged(merged(one, other), third))
        found.append(merged(one, merged(other, third)))
    assert all(each == found[0] for each in found)
    assert merged(found[0], records[0]) == found[0]


def test_the_later_word_counts_and_a_restored_one_has_one_too() -> None:
    """Forgotten there, then restored here: what has no time of its own is said when it is seen."""
    forgotten = stamped(changed(deleted_ms=KEPT + 5), None, NOW)
    known = agreed(forgotten, forgotten)
    restored = stamped(LINE, known, NOW)
    assert "deleted_ms" not in merged(forgotten, restored)
    again = stamped(changed(deleted_ms=NOW + 9), agreed(restored, restored), NOW + 10)
    assert merged(restored, again)["deleted_ms"] == NOW + 9
    assert merged(again, forgotten) == merged(forgotten, again) == again


def test_without_anything_agreed_on_nothing_is_taken_back() -> None:
    """A machine that knows nothing of before does not restore, unpin or reopen what others forgot, pinned or closed."""
    there = stamped(changed(deleted_ms=KEPT + 5, pinned_ms=KEPT + 6, status="resolved", status_ms=KEPT + 7), None, NOW)
    assert merged(there, stamped(LINE, None, NOW)) == there


def test_what_cannot_be_done_here_is_not_taken_back_elsewhere() -> None:
    """It takes the place of one that is not here: the record still says so."""
    there = stamped(changed(supersedes="bb"), None, NOW)
    here = stamped(LINE, agreed(there, LINE), NOW + 5)
    assert merged(there, here) == there


@given(lives, lives)
def test_the_same_words_with_two_keys_say_the_same(one: dict[str, Any], other: dict[str, Any]) -> None:
    """All but their keys, whoever brings them together and how often."""
    one, other = {**one, "key": "aa"}, {**other, "key": "bb"}
    first, second = alike(one, other)
    assert (first["key"], second["key"]) == ("aa", "bb")
    assert {**first, "key": ""} == {**second, "key": ""}
    assert alike(second, one) == (second, first)


def test_what_one_lets_go_the_other_may_say_still() -> None:
    """A file no longer says it on one machine; on the other somebody kept it by hand. Nor does one purge the other."""
    kept = stamped(LINE, None, NOW)
    let_go = stamped(changed(deleted_ms=KEPT + 5, gone_ms=KEPT + 5), None, NOW)
    stone = changed(purged_ms=KEPT + 5)
    assert is_stone(stone)
    for gone in (let_go, stone):
        assert alike(kept, gone) == (kept, gone)
