"""What is proven enough to stand in a memory file that the client reads by itself: proposed, never written here."""

from __future__ import annotations

from collections.abc import Iterable

from howcome.domain.candidates import told
from howcome.domain.events import PUSHED_ORIGINS
from howcome.domain.memories import CLIENT, HAND, OPEN, Memory, MemoryFilter
from howcome.domain.ranking import STALE_READS
from howcome.domain.stored import Scope
from howcome.learn.in_step import INSTRUCTIONS, words_of
from howcome.store.base import Store

TYPES = ("decision", "pattern", "dependency")
"""What can be kept to; what failed, what is so and what is open is no rule."""

MAX_KNOWN, MOST = 100_000, 20
"""So many stand in a file at most: whatever stands there is read into every window."""


def proven(store: Store, scope: Scope, file_texts: Iterable[str]) -> list[Memory]:
    """Memories of a project that were said in three sessions, or kept by hand and used, and never contradicted.

    Whoever looks at what was only learnt looks at it, and does not say that it is right.

    What one of some files says in any case is left out; what was said last comes first.
    """
    wanted = MemoryFilter(status=OPEN, is_own_only=True)
    found = [one for one in store.memories.select(scope, wanted, MAX_KNOWN) if _may_stand(one)]
    sources, disputed = store.candidates.told_of(one.key for one in found), store.reviews.disputed()
    files = [words_of(text) for text in file_texts]
    kept = []
    for memory in sorted(found, key=lambda one: (one.said_ms or one.created_ms, one.row), reverse=True):
        source = sources.get(memory.key)
        is_used = memory.source == HAND and memory.access_count >= STALE_READS
        is_proven = is_used or (source is not None and source.is_standing)
        is_of_file = source is not None and source.source == INSTRUCTIONS
        said = words_of(told(memory.text)).partition("\n")[0]
        if is_proven and not is_of_file and memory.row not in disputed and not any(said in words for words in files):
            kept.append(memory)
    return kept[:MOST]


def _may_stand(memory: Memory) -> bool:
    is_ours = memory.agent is None and memory.source != CLIENT and not (memory.is_outside or memory.is_asleep)
    return is_ours and memory.type in TYPES and memory.origin in PUSHED_ORIGINS and not memory.contradicts
