"""A failure that a prompt quotes, and what mended it before: who pastes an error wants it gone."""

from __future__ import annotations

from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import OPEN, RULES, MemoryFilter
from howcome.domain.query import errors_in
from howcome.domain.stored import Reminder
from howcome.recall.bites import of_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from howcome.recall.rules import Before
    from howcome.store.base import Store

FAILURE, NEWEST = "failure", 1000
MIN_TERMS = 3
"""A complaint of fewer words ("exit 1") is many failures'. All of its words have to stand in the prompt."""


def mended(store: Store, before: Before, told: AbstractSet[int]) -> list[Reminder]:
    """The commands that failed with an error which a prompt quotes, and that worked then: one such failure, the newest.

    Only commands are said, which the agent ran: what a tool said is not. `told` are memories that the session knows.
    """
    wanted = before.wanted
    if wanted.scope.project_id is None or not errors_in(before.prompt) or before.holds_prompt():
        return []
    from howcome.domain.candidates import complaint_of  # these cost a prompt without an error 3 ms
    from howcome.domain.commands import MASK

    said = set(store.index.analyze(before.prompt))
    kept = MemoryFilter(type=FAILURE, source=RULES, status=OPEN, before_ms=wanted.then_ms)
    for memory in store.memories.select(wanted.scope, kept, NEWEST):
        terms = set(store.index.analyze(complaint_of(memory.text)))
        if memory.row in told or len(terms) < MIN_TERMS or not terms <= said or memory.origin in PUSHED_ORIGINS:
            continue
        if {*store.sessions.of_memory(memory.row).values()} == {before.session}:
            continue  # it stands in this session's window
        counts = store.candidates.told_of([memory.key]).get(memory.key)
        text = of_failure(memory.text, counts.sessions if counts is not None else 1)
        if text and "…" not in text and MASK not in text:  # what is cut, or was a secret, runs nowhere
            return [Reminder(None, 1.0, [(memory.type, text)], [memory.row], memory)]
    return []
