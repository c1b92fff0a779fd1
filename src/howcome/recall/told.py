"""What a session was told is noted, so that it is not told again, and let go of when its window lost it.

Failing at either must not lose the answer.
"""

from __future__ import annotations

from howcome.errors import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Reminder
    from howcome.domain.verdicts import Verdict
    from howcome.store.base import Store


def record_said(
    store: Store, session: str, hook: str, said: Sequence[Reminder], now_ms: int, verdict: Verdict, tokens: int
) -> None:
    """Remembers what was injected, and what held the rest back."""
    if store.is_read_only:
        return
    rows = [(row, item.score) for item in said if item.memory is None for row in item.rows]
    kept = [(row, item.score) for item in said if item.memory is not None for row in item.rows]
    try:
        store.injections.record(session, hook, now_ms, rows, kept, verdict.kept(said, tokens))
    except StoreError:
        return


def forget_said(store: Store, session: str) -> None:
    """Lets everything be said to a session again: its window lost it."""
    if store.is_read_only:
        return
    try:
        store.injections.forget(session)
    except StoreError:
        return
