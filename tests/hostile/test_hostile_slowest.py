"""No text takes redaction out of proportion: the worst that a search finds is bounded, and linear in its length."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hostile import scale
from tests.hostile.slowest import Search, described

if TYPE_CHECKING:
    from collections.abc import Callable

SECONDS = scale.rounds(3, 120)
MAX_MS_PER_MEGABYTE = scale.of(20_000, 2000)
MAX_RATIO = scale.of(4, 2.6)
"""When a text is doubled: 2 is linear, 4 is quadratic, the rest is the measure's."""


def test_no_text_takes_redaction_out_of_proportion(figure: Callable[[str, object], None]) -> None:
    """The worst of a hill climb of so many seconds."""
    search = Search(scale.SEED)
    *_, worst = search.run(SECONDS)
    figure("worst", described(search, worst))
    assert worst.ms_per_megabyte <= MAX_MS_PER_MEGABYTE
    assert search.doubled(worst.text) <= MAX_RATIO
