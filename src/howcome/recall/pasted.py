"""A failure that a prompt quotes, and what mended it before: who pastes an error wants it gone."""

from __future__ import annotations

from howcome.domain.memories import OPEN, RULES, MemoryFilter
from howcome.domain.query import errors_in, plain_words
from howcome.domain.stored import Reminder
from howcome.recall.bites import of_failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from howcome.recall.rules import Before
    from howcome.store.base import Store

FAILURE, NEWEST = "failure", 1000
MIN_WORDS, LOG_CHARS = 3, 8000
"""A complaint of fewer words ("exit 1") is many failures'. Of a long log the end is looked at, too."""


def mended(store: Store, before: Before, told: AbstractSet[int]) -> list[Reminder]:
    """The commands that failed with an error which a prompt quotes, and that worked after another one; the newest.

    Only commands are said, which the agent ran, and only what the ledger would say if the command failed again: what a
    tool said is not told. `told` are memories that the session knows.
    """
    wanted, prompt = before.wanted, before.prompt
    is_quoting = bool(errors_in(prompt) or errors_in(prompt[-LOG_CHARS:]))
    if wanted.scope.project_id is None or not is_quoting or before.holds_prompt():
        return []
    from howcome.domain.candidates import complaint_of, failed_and_worked  # these cost a prompt without an error 3 ms
    from howcome.domain.commands import MASK
    from howcome.recall.acting import Ledger

    said = plain_words(prompt)
    kept = MemoryFilter(type=FAILURE, source=RULES, status=OPEN, before_ms=wanted.then_ms)
    for memory in store.memories.select(wanted.scope, kept, NEWEST):
        complaint = complaint_of(memory.text)
        if memory.row in told or len(complaint.split()) < MIN_WORDS or plain_words(complaint) not in said:
            continue
        failed, _, fix = failed_and_worked(memory.text)
        if not fix or "…" in failed + fix or MASK in failed + fix:  # what is cut, or was a secret, runs nowhere
            continue
        counts = store.candidates.told_of([memory.key]).get(memory.key)
        if Ledger(store, wanted.scope, before.session, wanted.then_ms).after_failure(failed, complaint) is not None:
            text = of_failure(memory.text, counts.sessions if counts is not None else 1)
            return [Reminder(None, 1.0, [(memory.type, text)], [memory.row], memory)]
    return []
