"""What stands beside words that somebody wants kept: a memory that says the same, those that say otherwise.

They are weighed as what sessions say is (`reconcile`): by the vectors of an embedder, where one is open, and by words.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from howcome.domain import memories
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import Memory, NewMemory
from howcome.domain.reconciliation import Beside, Known, Plan, StoredCandidate
from howcome.learn.likeness import RELATED, Statement
from howcome.learn.meaning import Meaning
from howcome.learn.reconcile import reconcile
from howcome.learn.taking_back import Stand

LIMIT_S = 1.0
"""Who keeps something waits so long for vectors that nobody has made yet; what has none is compared by words."""


def beside(new: NewMemory, kept: Sequence[Memory], meaning: Meaning | None) -> Beside:
    """What of the memories of its scope a new one (its text is clean) repeats, supersedes and contradicts."""
    near: dict[bytes, float] = {}
    if meaning is not None:
        end_s = time.monotonic() + LIMIT_S
        near = meaning.cosines(new.text, {one.key: one.text for one in kept}, lambda: time.monotonic() < end_s)
    said, stand = Statement(new.text), Stand(new.text)
    texts = {one.key: one.text.casefold().replace("\u2019", "'") for one in kept}
    kept = [one for one in kept if one.key in near or _may_matter(said, stand, texts[one.key])]
    by_key = {one.key: one for one in kept}
    plan = _plan(new, kept, near)
    same = by_key.get(plan.same.get(new.key, b""))
    if same is not None and not _stands_for(same, new):
        same, plan = None, _plan(new, [one for one in kept if _stands_for(one, new)], near)
        same = by_key.get(plan.same.get(new.key, b""))
    differs = [(*pair, reason) for pair, reason in plan.reviews.items() if new.key in pair]
    return Beside(same, plan.taken if same is None else (), differs if same is None else ())


def _plan(new: NewMemory, kept: Sequence[Memory], near: dict[bytes, float]) -> Plan:
    kind = memories.TYPES[0] if new.type == memories.DEFAULT_TYPE else new.type  # nobody chose it: it may contradict
    one = StoredCandidate(new.key, kind, new.text, origin=new.origin, ts_ms=new.created_ms, subject=new.subject)
    known = Known(0, [one], kept=kept, is_everywhere=new.project is None)
    return reconcile(known, lambda key: near.items() if key == new.key else ())


def _may_matter(said: Statement, stand: Stand, text: str) -> bool:
    """Whether a text could share words enough with a statement, or be taken back by it: at a glance."""
    if any(word in text for parting in stand.partings for word in parting.left):
        return True
    return sum(word in text for word in said.words) >= RELATED**2 * len(said.words)


def _stands_for(memory: Memory, new: NewMemory) -> bool:
    """Whether a memory does for a new one: it is the same one's, holds as far, and is trusted as much.

    What was called wrong is wrong whoever says it.
    """
    if memory.wrong_ms is not None:
        return True
    is_wide = memory.project is None or new.project is not None
    is_trusted = memory.origin in PUSHED_ORIGINS or memory.origin == new.origin
    return memory.agent == new.agent and is_wide and is_trusted and memory.is_live
