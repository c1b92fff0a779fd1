"""The search index: derived of a log, caught up by position, rebuildable by anybody at any time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from howcome.domain.stored import Filter, Hit, Scope, Weights

Search: TypeAlias = Literal["events", "exchanges", "names", "fuzzy", "holding"]
"""One of `domain.stored.SEARCHES`."""


class SearchIndex(Protocol):
    """Words of events.

    Raw scores are comparable within one search only; order is best first. Every search takes a `Filter`, whose scope is
    mandatory. `catch_up` may be interrupted anywhere and run again by anybody; an index of another log finds nothing.
    """

    def analyze(self, text: str) -> list[str]:
        """The terms of a question."""

    def weigh(self, terms: Sequence[str], scope: Scope | None = None) -> Weights:
        """What a question's terms are worth in a scope (None: everywhere)."""

    def search(
        self,
        what: Search,
        weights: Mapping[str, float],
        wanted: Filter,
        limit: int,
        required: Sequence[Sequence[str]] = (),
    ) -> list[Hit]:
        """The best hits of one of `domain.stored.SEARCHES`, with every required term: BM25 with the weights as idf."""

    def name_frequencies(self, names: Sequence[str], scope: Scope) -> tuple[int, dict[str, int]]:
        """How many events a scope has, and how many of them mention each name."""

    def similar_terms(self, term: str, scope: Scope, limit: int = 8) -> list[tuple[str, int]]:
        """Terms known in a scope that begin like an unknown one, each with how often it occurs."""

    def catch_up(self, texts: Mapping[int, str] | None = None, *, deadline: float | None = None) -> int | None:
        """Makes new events searchable (`texts`: search texts at hand); how many, None when another process is at it."""

    def rebuild(self) -> int:
        """Builds the index anew from the log; how many events it holds."""

    def lag(self) -> int:
        """How many positions the index has not seen yet; all where it is of another log."""

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""

    def release(self) -> None:
        """Lets other processes write the index."""
