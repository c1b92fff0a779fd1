"""Classifier: rows of the kind that the prompt's intent asks for, and of the files and subsystems that it is about.

A question about a decision wants turns that give reasons, a fix what failed and what was said after it. By rules, or by
what a language model says where one is configured. Measured, the rules add nothing to full text on the sessions at hand
(docs/evaluation.md), so the weight is 0 unless the settings say otherwise.
"""

from __future__ import annotations

import os
import re

from howcome.domain import bm25, events
from howcome.domain.bm25 import full_score
from howcome.retrieve.classify import BUILD, CHORE, DECIDE, EXPLAIN, FIX, RECALL, REVIEW, Tree, classify
from howcome.retrieve.code_files import files_meant
from howcome.retrieve.situation import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from howcome.domain.stored import Hit, StoredEvent
    from howcome.retrieve.classify import Ask, Classification
    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store

MAX_ROWS = 60
MAX_FAILED = 20
PLACE_SHARE = 0.5
"""A file or folder in question is worth at most so much of a score: what is said about it must agree."""

_SIGNS: Mapping[str, str] = {
    DECIDE: r"\b(?:because|chose|chosen|decid\w+|instead|rather than|reason|reject\w+|settled|trade-?off)\b",
    RECALL: r"\b(?:decid\w+|done|finished|fixed|merged|now|settled|we)\b",
    EXPLAIN: r"\b(?:because|calls|works by|happens|means|since|so that|stands for|uses)\b",
    BUILD: r"\b(?:added|created|implemented|introduced|now|wrote|written)\b",
    REVIEW: r"\b(?:found|issue|problem|review\w*|should|suggest\w*)\b",
    FIX: r"\b(?:cause[ds]?|culprit|fix\w*|root|solved|turned out|was that)\b",
}
"""What turns say that answer an intent."""


class ClassifierTier:
    """Finds history by what a prompt wants and by where in the project it is.

    Args:
        store: What is searched.
        ask: Who knows better than the rules (see `outside.Outside.classify`).
    """

    name = "classifier"

    def __init__(self, store: Store, ask: Ask | None = None) -> None:
        self._store, self._ask = store, ask
        self._trees: dict[int, Tree | None] = {}

    def candidates(self, situation: Situation) -> list[Candidate]:
        """Turns (and, for a fix, failed results with what followed), as a share of what the question could reach."""
        if not situation.terms:
            return []
        project = situation.wanted.scope.project_id
        found = classify(
            situation.text, self._tree(project), ask=self._ask, find=lambda name: self._in_graph(project, name)
        )
        if found.intent == CHORE:
            return []
        weights = {term: situation.weights.windows[term] for term in situation.terms}
        full = full_score(weights.values(), situation.weights.totals["events"])
        offered: dict[int, Candidate] = {}
        _keep_best(offered, self._of_places(situation, found))
        if found.intent in _SIGNS:
            _keep_best(offered, self._of_kind(situation, found, weights, full))
        if found.intent == FIX:
            _keep_best(offered, self._after_failures(situation, found.confidence, weights, full))
        return list(offered.values())

    def _in_graph(self, project: int | None, name: str) -> str | None:
        """The one file of a project's import graph that a name may mean."""
        meant = files_meant(self._store.code_graph, project, [name]).get(name, []) if project is not None else []
        return meant[0][1] if len(meant) == 1 else None

    def _tree(self, project: int | None) -> Tree | None:
        """The files of a project, where they are on this machine."""
        if project is None:
            return None
        if project not in self._trees:
            root = dict(self._store.projects.roots()).get(project, "")
            self._trees[project] = Tree(root) if os.path.isabs(root) and os.path.isdir(root) else None
        return self._trees[project]

    def _of_places(self, situation: Situation, found: Classification) -> Iterable[Candidate]:
        """Turns that name the files, or speak of the subsystems."""
        turns = situation.wanted.narrowed(events.TURN_KINDS)
        names = {name.lower() for path in found.files for name in (path, os.path.basename(path))}
        total, frequencies = self._store.index.name_frequencies(sorted(names), situation.wanted.scope)
        telling = {name: bm25.weight(count, total, is_generic=False) for name, count in frequencies.items() if count}
        terms = [term for name in found.subsystems for term in self._store.index.analyze(name)]
        places = self._store.index.weigh(terms, situation.wanted.scope).windows
        hits = self._store.index.search("names", telling, turns, MAX_ROWS)
        hits += self._store.index.search("events", places, turns, MAX_ROWS)
        full = bm25.SATURATION * (sum(telling.values()) + sum(places.values()))
        return [_candidate(hit, PLACE_SHARE * hit.score / full) for hit in hits] if full else []

    def _of_kind(
        self, situation: Situation, found: Classification, weights: Mapping[str, float], full: float
    ) -> Iterable[Candidate]:
        """Of the turns about the question those that say what the intent asks for."""
        turns = situation.wanted.narrowed(events.TURN_KINDS)
        hits = self._store.index.search("events", weights, turns, MAX_ROWS)
        texts = self._store.log.events([hit.row for hit in hits], with_text=True)
        signs = re.compile(_SIGNS[found.intent], re.IGNORECASE)
        for hit in hits:
            event = texts.get(hit.row)
            if event is not None and event.kind != events.USER_PROMPT and signs.search(event.text or event.excerpt):
                yield _candidate(hit, found.confidence * hit.score / full)

    def _after_failures(
        self, situation: Situation, confidence: float, weights: Mapping[str, float], full: float
    ) -> Iterable[Candidate]:
        """What the agent said last in the exchanges in which something like this failed, and the failures, too."""
        results = situation.wanted.narrowed((events.TOOL_RESULT,))
        hits = self._store.index.search("events", weights, results, MAX_ROWS)
        known = self._store.log.events([hit.row for hit in hits])
        failed = [hit for hit in hits if hit.row in known and known[hit.row].failed][:MAX_FAILED]
        for hit in failed:
            score = confidence * hit.score / full
            if situation.with_tools:
                yield _candidate(hit, score)
            for event in self._store.log.answers(hit.exchange, 1):
                if _may_answer(event, situation) and event.project == known[hit.row].project:
                    at_ms = event.ts_ms or hit.ts_ms
                    yield Candidate(event.row, hit.session_id, hit.exchange, at_ms, min(1.0, score), 0.0)


def _candidate(hit: Hit, score: float) -> Candidate:
    """A row as an offer; what a rule says of a prompt never makes howcome speak."""
    return Candidate(hit.row, hit.session_id, hit.exchange, hit.ts_ms, min(1.0, score), 0.0)


def _may_answer(event: StoredEvent, situation: Situation) -> bool:
    """Whether a row that no index was asked for is of what is wanted: its exchange is, it may be later or of a kind."""
    wanted = situation.wanted
    is_older = wanted.before_ms is None or event.order_ms < wanted.before_ms
    is_newer = wanted.since_ms is None or event.order_ms >= wanted.since_ms
    is_kind = wanted.kinds is None or event.kind in wanted.kinds
    return is_older and is_newer and is_kind and (wanted.origins is None or event.origin in wanted.origins)


def _keep_best(offered: dict[int, Candidate], more: Iterable[Candidate]) -> None:
    for candidate in more:
        known = offered.get(candidate.row)
        if known is None or known.score < candidate.score:
            offered[candidate.row] = candidate


if TYPE_CHECKING:
    _: type[Tier] = ClassifierTier
