"""Which rules for secrets the stored texts have been through, and bringing them up to the rules of now.

Keys of events are made of what was said, before anything is taken out of it: reading a transcript again after its rows
were redacted again adds nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.store.base import Store

RULES_VERSION = 7
"""Raised with every change of the rules that finds more: what is stored by older ones is then redacted again."""

BEFORE_VERSIONS = 1
"""What a store counts as that says nothing of it."""


def rules_of(store: Store) -> int:
    """The version of the rules that everything in a store has been through."""
    found = store.meta("rules_version")
    return found if isinstance(found, int) else BEFORE_VERSIONS


def is_due(store: Store) -> bool:
    """Whether what is stored has to be redacted again."""
    return rules_of(store) < RULES_VERSION
