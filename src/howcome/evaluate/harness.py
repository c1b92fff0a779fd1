"""Data sets through the façade that the product uses: what they hold is imported, each question is asked there."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import apsw

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain import events
from howcome.domain.memories import MemoryFilter
from howcome.domain.stored import Found, Scope, StoredEvent
from howcome.domain.text import STOP_WORDS, tokens
from howcome.errors import ProviderError
from howcome.evaluate.datasets import Asked, Corpus, DataSet
from howcome.evaluate.metrics import coverage, score_ranking
from howcome.learn.run import DistilReport
from howcome.providers.embed import embedding_status
from howcome.providers.minilm_places import models_folder
from howcome.retrieve.question import Question
from howcome.retrieve.ranking import Ranking
from howcome.settings import FIELDS, home_folder, read_settings

SCOPES = OWN_PROJECT, EVERYTHING, FROM_NOWHERE = "own project", "everything", "everything from nowhere"
"""Of what a question may be asked: of its own project, of everything there, of everything in no project."""

RANKED = 50
REMOVALS, REMOVAL_PAUSE_S = 20, 0.1
MAX_LISTED = 1_000_000
ROWS_A_STEP = 5000
_WORD = re.compile(r"\w+")
SHOWN = 5
"""What an agent is shown of a search: so many passages are counted in tokens, and looked through for an answer that a
set gives in words."""

_CHOSEN = (
    "HOWCOME_EMBEDDING", "HOWCOME_LLM", "HOWCOME_DISTILLER", "HOWCOME_INJECT", "HOWCOME_BRIEFING",
)  # fmt: skip
"""What the only settings of the environment that count begin with: by which models, and what is said, is for the user
to choose."""

_WARM_UP = "what was said"
"""Asked before the clock runs: what a process loads once is no part of a search's time."""

SESSION, TURN, ANSWER = "session", "turn", "answer"
LEVELS = (SESSION, TURN, ANSWER)
"""What can be right: the sessions, the turns, or the words of the first passages."""


@dataclass
class Measured:
    """One question's metrics by level, how long its search took, and how many tokens its first passages cost.

    `work_ms` is the processor's time of that search: what a machine that is busy with other things changes little.
    """

    asked: Asked
    scores: dict[str, dict[str, float]] = field(default_factory=dict)
    time_ms: float = 0.0
    work_ms: float = 0.0
    shown_tokens: int = 0


@contextmanager
def throwaway_home() -> Iterator[str]:
    """A HOWCOME_HOME that goes away; an index that is closed may still be merging files of it for a moment."""
    home = tempfile.mkdtemp(prefix="howcome-eval-")
    try:
        yield home
    finally:
        for _ in range(REMOVALS):
            shutil.rmtree(home, ignore_errors=True)
            if not os.path.exists(home):
                break
            time.sleep(REMOVAL_PAUSE_S)


def every_event(app: App) -> Iterator[StoredEvent]:
    """All events of a store, in the order of their rows, with their texts."""
    for first in range(0, app.events.last_row() + 1, ROWS_A_STEP):
        yield from app.events.of_rows(range(first, first + ROWS_A_STEP)).values()


class Put(NamedTuple):
    """A question as it is put: to which project, and within which scope and time (exclusive) it may be answered."""

    corpus: Corpus
    asked: Asked
    root: str
    scope: Scope
    before_ms: int


@dataclass(frozen=True)
class Pool:
    """A store that holds some sets; `home` is its HOWCOME_HOME, and `progress` is told what is done."""

    home: str
    progress: Callable[[str], None] = lambda _: None

    def load(self, sets: Sequence[DataSet], *, is_searched: bool = True) -> None:
        """Imports what the sets hold, each corpus as a project of its own; what searches read only where they do."""
        for data in sets:
            self.progress(f"{data.name}: reading")
            for corpus in data.corpora:
                root = _root(data, corpus)
                with tempfile.TemporaryDirectory(prefix="howcome-eval-") as folder, self.open(root) as app:
                    for found in named_transcripts([str(path) for path in corpus.write(Path(folder))]):
                        app.ingest.file(found)
                    if is_searched:
                        app.index.finish()
        if is_searched:
            with self.open() as app:
                self.progress("embedding what was said")
                app.index.embed(threads=os.cpu_count() or 1)

    def ask(
        self, data: DataSet, how: Callable[[App, Put], Measured], ranking: Ranking | None = None, *,
        of: str = OWN_PROJECT, asked_ms: int | None = None, what: str = "",
    ) -> list[Measured]:  # fmt: skip
        """Every question of a set that the store holds, measured, in their order.

        Those without a time of their own are asked at `asked_ms` (None: when the newest event was), `of` one of SCOPES.
        """
        self.progress(f"{data.name}: asking{what}")
        with self.open(ranking=ranking) as app:
            app.search.find(Question(_WARM_UP, Scope.everything(), limit=1))
            asked_ms = app.events.last_ms() if asked_ms is None else asked_ms
            return [how(app, put) for put in _questions(app, data, asked_ms, of)]

    def distil(self) -> DistilReport:
        """Makes memories of what the store holds, as the settings' distiller does."""
        with self.open() as app:
            if app.learn.distillation is None:
                raise ProviderError("nothing distils here: set distiller to rules (HOWCOME_DISTILLER=rules)")
            return app.learn.distillation.run()

    def memory_types(self) -> dict[str, int]:
        """How many memories there are of each type, most first."""
        with self.open() as app:
            found = app.memories.listed(Scope.everything(), MemoryFilter(), MAX_LISTED)
        return dict(Counter(memory.type for memory in found).most_common())

    def last_ms(self) -> int:
        """The time of the newest event."""
        with self.open() as app:
            return app.events.last_ms()

    def model(self) -> tuple[str, str]:
        """The embedder that is asked, with its version, and how is searched; '' and why by words when there is none."""
        with self.open() as app:
            if app.models.vectors is not None and app.models.embedder is not None:
                return app.models.embedder.name, f"by words and by meaning ({app.models.embedder.name})"
            return "", f"by words alone: {embedding_status(app.settings).what}"

    def open(self, root: str | None = None, ranking: Ranking | None = None) -> App:
        """The façade over the store, with the user's choice of models and nothing else of his."""
        chosen = {name: value for name, value in os.environ.items() if name.startswith(_CHOSEN)}
        own = read_settings(os.environ)  # an evaluation has a home of its own, and not its own models
        embedding = {one.variable: str(getattr(own, one.name)) for one in FIELDS if one.name.startswith("embedding")}
        installed, lent = models_folder(home_folder(os.environ)), models_folder(self.home)
        if os.path.isdir(installed) and not os.path.lexists(lent):
            os.symlink(installed, lent)
        settings = read_settings({**embedding, **chosen, "HOWCOME_HOME": self.home, "HOME": self.home})
        app = open_app(settings, fixed_root=root, ranking=ranking)
        if settings.llm != "off":  # what an evaluation spends is spent of the user's budget: its own store goes away
            app.spending.spend_from(open_app(read_settings(os.environ)).spending)
        return app


def _root(data: DataSet, corpus: Corpus) -> str:
    return f"/{data.name}/{corpus.name}"


def _questions(app: App, data: DataSet, asked_ms: int, of: str) -> Iterator[Put]:
    for corpus in data.corpora:
        root = _root(data, corpus)
        project = app.projects.of_root(root)
        everything = Scope.everything(project if of == EVERYTHING else None)
        scope = Scope.project(project) if of == OWN_PROJECT else everything
        for asked in corpus.questions:
            yield Put(corpus, asked, root, scope, asked.before_ms or asked_ms + 1)


def searched(app: App, put: Put) -> Measured:
    """A question by its search; sessions are ranked by a search of their own."""
    asked, scope, before_ms = put.asked, put.scope, put.before_ms
    measured, found = _timed(app, put, Question(asked.text, scope, limit=RANKED, before_ms=before_ms, by_row=True))
    passages, sessions = [item.event for item in found if item.event is not None], list[str]()
    if asked.sessions:
        limit = RANKED + bool(asked.asking)
        by_session = app.search.find(Question(asked.text, scope, limit=limit, by_session=True, before_ms=before_ms))
        sessions = [item.event.session for item in by_session if item.event is not None]
    times = [(event.session, event.ts_ms or 0) for event in passages]
    measured.scores = _scores(app, put, sessions, times, [event.row for event in passages[:SHOWN]])
    return measured


def shown(types: Sequence[str], app: App, put: Put) -> Measured:
    """A question by what a search shows, one list of events and memories; a memory stands for what it cites.

    Sessions are ranked as they come up in that list, not by a search of their own.
    """
    question = Question(put.asked.text, put.scope, limit=RANKED, before_ms=put.before_ms, types=types)
    measured, found = _timed(app, put, question)
    meant = [event for item in found for event in events_behind(app, item)]
    sessions = list(dict.fromkeys(event.session for event in meant))
    times = list(dict.fromkeys((event.session, event.ts_ms or 0) for event in meant))
    rows = [item.event.row for item in found[:SHOWN] if item.event is not None]
    said = [item.memory.text for item in found[:SHOWN] if item.memory is not None]
    measured.scores = _scores(app, put, sessions, times, rows, said)
    return measured


class Baseline:
    """Every turn of a store in an FTS5 table in memory; any telling word of a question may match."""

    def __init__(self, app: App) -> None:
        self._database = apsw.Connection(":memory:")
        self._database.execute(
            "CREATE TABLE turns (id INTEGER PRIMARY KEY, session TEXT, project TEXT, order_ms INTEGER, ts_ms INTEGER);"
            "CREATE VIRTUAL TABLE words USING fts5 (text, tokenize = 'porter unicode61', content = '')"
        )
        with self._database:
            for event in (event for event in every_event(app) if event.kind in events.TURN_KINDS):
                values = (event.row, event.session, event.project, event.order_ms, event.ts_ms or 0)
                self._database.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", values)
                self._database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (event.row, event.text))

    def measured(self, app: App, put: Put) -> Measured:
        """A question of its own project to FTS5."""
        measured, started = Measured(put.asked), time.perf_counter()
        words = [word for word in dict.fromkeys(_WORD.findall(put.asked.text.lower())) if word not in STOP_WORDS]
        query = " OR ".join(f'"{word}"' for word in words)
        ranked = (
            ()
            if not words
            else self._database.execute(
                "SELECT turns.id, session, ts_ms FROM words JOIN turns ON turns.id = words.rowid WHERE words MATCH ?"
                " AND project = ? AND order_ms < ? ORDER BY bm25(words)",
                (query, put.root, put.before_ms),
            )
        )
        found = [(int(row), str(session), int(ts_ms)) for row, session, ts_ms in ranked]
        measured.time_ms = (time.perf_counter() - started) * 1000
        sessions = list(dict.fromkeys(session for _, session, _ in found))
        times, rows = [(session, ts_ms) for _, session, ts_ms in found], [row for row, _, _ in found[:SHOWN]]
        measured.scores = _scores(app, put, sessions, times, rows)
        return measured


def _timed(app: App, put: Put, question: Question) -> tuple[Measured, list[Found]]:
    measured = Measured(put.asked)
    started, worked = time.perf_counter(), time.process_time()
    found = app.search.find(question)
    measured.time_ms, measured.work_ms = (time.perf_counter() - started) * 1000, (time.process_time() - worked) * 1000
    measured.shown_tokens = sum(tokens(item.passage) for item in found[:SHOWN])
    return measured, found


def _scores(
    app: App, put: Put, sessions: Sequence[str], times: Sequence[tuple[str, int]], rows: Sequence[int],
    said: Sequence[str] = (),
) -> dict[str, dict[str, float]]:  # fmt: skip
    """The scores of a question: by the sessions that came up, the times of turns, or the words of what is shown."""
    asked, scores = put.asked, dict[str, dict[str, float]]()
    if asked.sessions:
        others = [session for session in sessions if session != asked.asking]
        scores[SESSION] = score_ranking(others[:RANKED], set(asked.sessions))
    if asked.turns:
        turns = [turn for turn in (put.corpus.turns.get(time, "") for time in times) if turn]
        scores[TURN] = score_ranking(turns[:RANKED], set(asked.turns))
    elif asked.answer and not any(one.sessions for one in put.corpus.questions):  # else it has no answer
        texts = [*said, *(event.text or "" for event in app.events.of_rows(rows).values())]
        scores[ANSWER] = {f"coverage@{SHOWN}": coverage(asked.answer, texts)}
    return scores


def events_behind(app: App, item: Found) -> list[StoredEvent]:
    """The events that an answer leads to."""
    if item.event is not None:
        return [item.event]
    return app.events.cited(item.memory.evidence if item.memory is not None else [])
