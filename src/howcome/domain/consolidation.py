"""What consolidation does to memories: one takes another's place, or one sleeps."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.memories import Memory

MERGED, RESOLVED, ASLEEP = "merged", "resolved", "asleep"
"""One that says what another says, too, takes its place; the user's last word does; or one is not said unasked."""


class Step:
    """One of them: to which memory, and which stands in its place (itself: it sleeps)."""

    __slots__ = ("kept", "memory", "what")

    def __init__(self, what: str, memory: Memory, kept: Memory) -> None:
        self.what, self.memory, self.kept = what, memory, kept
