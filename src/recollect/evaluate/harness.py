"""Data sets through the façade that the product uses: what they hold is imported, each question is asked there."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.app import App, open_app
from recollect.capture.discover import named_transcripts
from recollect.domain.stored import Scope
from recollect.domain.text import tokens
from recollect.evaluate.baseline import Baseline
from recollect.evaluate.datasets import Asked, Corpus, DataSet
from recollect.evaluate.metrics import coverage, score_ranking
from recollect.retrieve.question import Question
from recollect.settings import read_settings

if TYPE_CHECKING:
    from recollect.domain.stored import StoredEvent
    from recollect.retrieve.ranking import Ranking

RANKED = 50
SHOWN = 5
"""What an agent is shown of a search: so many passages are counted in tokens, and looked through for an answer that a
set gives in words."""

_EMBEDDING = "RECOLLECT_EMBEDDING"
"""The only settings of the environment that count: by which embedder, if any, is for the user to say."""

SESSION, TURN, ANSWER = "session", "turn", "answer"
LEVELS = (SESSION, TURN, ANSWER)
"""What can be right: the sessions, the turns, or the words of the first passages."""


@dataclass
class Measured:
    """One question's metrics by level, how long its search took, and how many tokens its first passages cost."""

    asked: Asked
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    time_ms: float = 0.0
    shown_tokens: int = 0


@dataclass(frozen=True)
class Pool:
    """A store that holds some sets.

    Attributes:
        home: Its RECOLLECT_HOME.
        is_pooled: Every question is asked of everything in the store, not of its own corpus alone.
    """

    home: str
    is_pooled: bool = False

    def load(self, sets: Sequence[DataSet], progress: Callable[[str], None]) -> None:
        """Imports what the sets hold, each corpus as a project of its own."""
        for data in sets:
            progress(f"{data.name}: reading")
            for corpus in data.corpora:
                with tempfile.TemporaryDirectory(prefix="recollect-eval-") as folder, self._open(_root(corpus)) as app:
                    for found in named_transcripts([str(path) for path in corpus.write(Path(folder))]):
                        app.ingest_file(found)
                    app.index_new_rows()
                    app.store.release_index()
        with self._open() as app:
            progress("embedding what was said")
            app.embed_new_turns(threads=os.cpu_count() or 1)

    def ask(
        self, data: DataSet, progress: Callable[[str], None], ranking: Ranking | None = None
    ) -> list[Measured]:
        """Every question of a set, measured, in their order; `ranking` instead of the one that ships."""
        progress(f"{data.name}: asking")
        with self._open(ranking=ranking) as app:
            return [_measure(app, *parts) for parts in self._questions(app, data)]

    def ask_baseline(self, data: DataSet, progress: Callable[[str], None]) -> list[Measured]:
        """The same questions to FTS5."""
        progress(f"{data.name}: asking the baseline")
        with self._open() as app:
            baseline = Baseline(app)
            return [
                _measure_baseline(baseline, corpus, asked, None if self.is_pooled else _root(corpus), before_ms)
                for corpus, asked, _, before_ms in self._questions(app, data)
            ]

    def _open(self, root: str | None = None, ranking: Ranking | None = None) -> App:
        chosen = {name: value for name, value in os.environ.items() if name.startswith(_EMBEDDING)}
        settings = read_settings({**chosen, "RECOLLECT_HOME": self.home, "HOME": self.home})
        return open_app(settings, fixed_root=root, ranking=ranking)

    def _questions(self, app: App, data: DataSet) -> Iterator[tuple[Corpus, Asked, Scope, int]]:
        """Each question with the scope and the time (exclusive) within which it may be answered."""
        newest = app.store.last_ms()
        for corpus in data.corpora:
            scope = Scope.everything() if self.is_pooled else Scope.project(app.store.project_of_root(_root(corpus)))
            for asked in corpus.questions:
                yield corpus, asked, scope, asked.before_ms or newest + 1


def _root(corpus: Corpus) -> str:
    return f"/{corpus.name}"


def _measure(app: App, corpus: Corpus, asked: Asked, scope: Scope, before_ms: int) -> Measured:
    measured = Measured(asked)
    started = time.perf_counter()
    found = app.search(Question(asked.text, scope, limit=RANKED, before_ms=before_ms))
    measured.time_ms = (time.perf_counter() - started) * 1000
    measured.shown_tokens = sum(tokens(item.passage) for item in found[:SHOWN])
    passages = [item.event for item in found if item.event is not None]
    if asked.sessions:
        limit = RANKED + bool(asked.asking)
        by_session = app.search(Question(asked.text, scope, limit=limit, by_session=True, before_ms=before_ms))
        ranked = [item.event.session for item in by_session if item.event is not None]
        measured.scores[SESSION] = _session_scores(asked, ranked)
    if asked.turns:
        times = [(event.session, event.ts_ms or 0) for event in passages]
        measured.scores[TURN] = _turn_scores(corpus, asked, times)
    elif asked.answer and not _has_evidence(corpus):
        measured.scores[ANSWER] = {f"coverage@{SHOWN}": coverage(asked.answer, _texts(app, passages[:SHOWN]))}
    return measured


def _has_evidence(corpus: Corpus) -> bool:
    """Whether a corpus says for any question what answers it: then one without evidence has no answer."""
    return any(asked.sessions for asked in corpus.questions)


def _texts(app: App, passages: Sequence[StoredEvent]) -> list[str]:
    found = app.store.events_by_row([event.row for event in passages], with_text=True)
    return [event.text or "" for event in found.values()]


def _measure_baseline(
    baseline: Baseline, corpus: Corpus, asked: Asked, project: str | None, before_ms: int
) -> Measured:
    measured = Measured(asked)
    started = time.perf_counter()
    found = baseline.ranked(asked.text, project, before_ms)
    measured.time_ms = (time.perf_counter() - started) * 1000
    if asked.sessions:
        measured.scores[SESSION] = _session_scores(asked, list(dict.fromkeys(session for session, _ in found)))
    if asked.turns:
        measured.scores[TURN] = _turn_scores(corpus, asked, found)
    return measured


def _session_scores(asked: Asked, ranked: Sequence[str]) -> dict[str, float]:
    return score_ranking([session for session in ranked if session != asked.asking][:RANKED], set(asked.sessions))


def _turn_scores(corpus: Corpus, asked: Asked, times: Sequence[tuple[str, int]]) -> dict[str, float]:
    turns = (corpus.turns.get(time, "") for time in times)
    return score_ranking([turn for turn in turns if turn][:RANKED], set(asked.turns))
