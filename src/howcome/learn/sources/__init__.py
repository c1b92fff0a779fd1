"""Sources of memories: small extractors that know nothing of each other, each with what it looks for in an exchange."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from howcome.domain import candidates
from howcome.domain.candidates import Distilled
from howcome.learn.base import LOOKAHEAD, LOOKBACK, Exchange
from howcome.learn.sources import (
    answers,
    choices,
    commits,
    directions,
    edits,
    failures,
    findings,
    instructions,
    open_ends,
    plans,
)
from howcome.learn.sources.seen import Draft, Seen, stems

Find = Callable[[Seen], list[Draft]]
SOURCES: dict[str, Find] = {
    "directions": directions.find, "choices": choices.find, "plans": plans.find, "instructions": instructions.find,
    "answers": answers.find, "findings": findings.find, "failures": failures.find, "edits": edits.find,
    "commits": commits.find, "open_ends": open_ends.find,
}  # fmt: skip
"""Every source by its name, in the order in which they are asked: what one says no later one says again."""


REPEATED_SHARE = 0.7
"""From so much of the shorter one's telling words on, two sources say the same of an exchange."""


class SourceDistiller:
    """Distils by sources; `off` names those that are not asked."""

    version = 24

    def __init__(self, off: Sequence[str] = ()) -> None:
        self._sources = {name: find for name, find in SOURCES.items() if name not in off}
        without = "".join(f" -{name}" for name in SOURCES if name in off)
        self.name = f"sources{without}"  # with another choice every session is distilled anew

    def distil(self, stream: Sequence[Exchange], place: int) -> Distilled:
        """What an exchange taught; a pure function of it, the `LOOKBACK` before it and the `LOOKAHEAD` after it."""
        later = [stream[at] for at in range(place + 1, min(place + 1 + LOOKAHEAD, len(stream)))]
        earlier = [stream[at] for at in range(max(0, place - LOOKBACK), place)]
        seen = Seen(stream[place], earlier, later)
        found = Distilled()
        told: list[tuple[str, set[str]]] = []
        for name, find in self._sources.items():
            for draft in find(seen):
                said = stems(draft.text)
                others = [other for source, other in told if source != name]
                if any(len(said & other) >= REPEATED_SHARE * min(len(said), len(other)) for other in others):
                    found.reject(candidates.REPEATED)
                    continue
                told.append((name, said))
                found.candidates.append(draft.candidate_of(name))
        return found
