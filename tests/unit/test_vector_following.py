"""What follows a turn counts for it in conversations: which turn that is, and where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.vectors import open_index, turn, write

from howcome.domain.events import ASSISTANT_TEXT, KINDS, USER_PROMPT
from howcome.domain.stored import Filter, Scope
from howcome.index.vector_snapshot import AFTER_PLACES, AFTER_WEIGHT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from howcome.domain.stored import Turn

EVERYTHING = Filter(Scope.everything())
PROMPT, ANSWER = KINDS.index(USER_PROMPT), KINDS.index(ASSISTANT_TEXT)
OWN, OTHER, QUERY = np.eye(3)
"""What a turn says, what others do that do not matter here, and what is asked: only the turn after it says that."""

FOLLOWED = AFTER_WEIGHT / np.hypot(1, AFTER_WEIGHT)
"""The score of a turn that says nothing of the question before one that says nothing else."""


def talk(row: int, **fields: int) -> Turn:
    """A turn of one conversation in one project: prompts and answers in turn."""
    return turn(row, **{"session_id": 1, "project_id": 1, "kind": ANSWER if row % 2 else PROMPT, **fields})


def score(folder: Path, turns: Sequence[Turn], said: Sequence[np.ndarray], before_ms: int | None = None) -> float:
    """What the first turn scores; the same by search and by row."""
    index = open_index(folder, 3)
    write(index, turns, np.array(said))
    row = turns[0].row
    hits = index.search(QUERY, Filter(Scope.everything(), before_ms=before_ms), 99)
    [found] = [hit.score for hit in hits if hit.row == row]
    assert index.cosines(QUERY, [row], before_ms) == {row: found}
    return found


def test_the_next_turn_of_a_conversation_counts(tmp_path: Path) -> None:
    """Whoever said it, and whatever other sessions said between."""
    prompt, answer, elsewhere = talk(2), talk(7), talk(4, session_id=2)
    assert score(tmp_path / "1", [prompt, answer], [OWN, QUERY]) == pytest.approx(FOLLOWED, abs=1e-3)
    assert score(tmp_path / "2", [prompt, elsewhere, answer], [OWN, OTHER, QUERY]) == pytest.approx(FOLLOWED, abs=1e-3)
    assert score(tmp_path / "3", [prompt, elsewhere, answer], [OWN, QUERY, OTHER]) == 0
    turned = [talk(1), talk(2)]
    assert score(tmp_path / "4", turned, [OWN, QUERY]) == pytest.approx(FOLLOWED, abs=1e-3)


def test_only_the_very_next_turn_counts(tmp_path: Path) -> None:
    """Not the one after that, nor the one before."""
    turns = [talk(2), talk(3), talk(4)]
    assert score(tmp_path / "1", turns, [OWN, OTHER, QUERY]) == 0
    index = open_index(tmp_path / "2", 3)
    write(index, turns, np.array([QUERY, OWN, OTHER]))
    assert index.cosines(QUERY, [3, 4]) == {3: 0, 4: 0}


@pytest.mark.parametrize("hidden", [{"project_id": 2}, {"ts_ms": 5000}, {"ts_ms": 9000}])
def test_what_may_not_be_seen_counts_for_nothing(tmp_path: Path, hidden: dict[str, int]) -> None:
    """The next turn is another project's, or not older than what is asked for; no later one stands in for it."""
    turns = [talk(2), talk(3, **hidden), talk(4, ts_ms=4000)]
    assert score(tmp_path, turns, [OWN, QUERY, QUERY], before_ms=5000) == 0


def test_what_is_older_counts(tmp_path: Path) -> None:
    """By a millisecond."""
    turns = [talk(2), talk(3, ts_ms=4999)]
    assert score(tmp_path, turns, [OWN, QUERY], before_ms=5000) == pytest.approx(FOLLOWED, abs=1e-3)


@pytest.mark.parametrize(
    ("prompts", "answers", "is_conversation"), [(3, 5, True), (3, 6, False), (1, 1, True), (2, 9, False)]
)
def test_only_sessions_that_take_turns_are_conversations(
    tmp_path: Path, prompts: int, answers: int, *, is_conversation: bool
) -> None:
    """Three turns of eight are prompts there; other sessions' prompts do not help."""
    turns = [talk(row, kind=PROMPT if row <= prompts else ANSWER) for row in range(1, prompts + answers + 1)]
    turns += [talk(100 + row, session_id=2, kind=PROMPT) for row in range(9)]
    said = [OWN, QUERY] + [OTHER] * (len(turns) - 2)
    assert score(tmp_path, turns, said) == pytest.approx(FOLLOWED if is_conversation else 0, abs=1e-3)


def test_what_follows_is_looked_for_nearby(tmp_path: Path) -> None:
    """Among so many vectors; what is farther is not looked for."""
    for number, between in enumerate((AFTER_PLACES - 1, AFTER_PLACES)):
        others = [talk(3 + row, session_id=2) for row in range(between)]
        turns, said = [talk(2), *others, talk(99)], [OWN, *[OTHER] * between, QUERY]
        found = score(tmp_path / str(number), turns, said)
        assert found == pytest.approx(0 if number else FOLLOWED, abs=1e-3)


def test_the_last_turn_stands_for_itself(tmp_path: Path) -> None:
    """Of its session, and of all: nothing is behind the end, also when it is alone."""
    index = open_index(tmp_path / "1", 3)
    write(index, [talk(2), talk(3), talk(4, session_id=2)], np.array([QUERY, QUERY, QUERY]))
    assert index.cosines(QUERY, [3, 4]) == {3: 1, 4: 1}
    assert score(tmp_path / "2", [talk(2)], [OWN]) == 0


def test_hits_are_in_the_order_of_what_they_score_with_what_follows(tmp_path: Path) -> None:
    """Equal ones by row, also where they were not equal by themselves; the limit is cut before."""
    first = 1 / np.hypot(1, AFTER_WEIGHT) - 0.01  # by itself less than row 4 before row 5; before row 3 it is more
    index, near = open_index(tmp_path, 3), np.array([np.sqrt(1 - first * first), 0, first])
    turns = [talk(2), talk(3), talk(4, session_id=2), talk(5, session_id=2), talk(6, session_id=3)]
    write(index, turns, np.array([near, QUERY, QUERY, OWN, near]))
    hits = index.search(QUERY, EVERYTHING, 99)
    assert [hit.row for hit in hits] == [3, 2, 4, 6, 5]
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    assert [hit.row for hit in index.search(QUERY, EVERYTHING, 2)] == [3, 4]
    equal = open_index(tmp_path / "equal", 3)
    write(equal, [talk(row, session_id=9 - row // 2) for row in range(2, 6)], np.array([0 * OWN, QUERY, OWN, QUERY]))
    assert [hit.row for hit in equal.search(QUERY, EVERYTHING, 99)] == [2, 3, 5, 4]


def test_turns_that_say_nothing_are_no_error(tmp_path: Path) -> None:
    """Vectors without a direction, before one another."""
    assert score(tmp_path, [talk(2), talk(3)], [0 * OWN, 0 * OWN]) == 0
