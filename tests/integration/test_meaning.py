"""Search by meaning, from the rows to the answers: what has a vector, what it finds, what happens when it fails."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from tests.builders import CWD, Claude, write
from tests.hashing import HashingEmbedder, Synonyms

from howcome.app import App, open_app
from howcome.app.models import Models
from howcome.app.projects import Projects
from howcome.app.searching import Searching
from howcome.domain.stored import Filter, Scope
from howcome.errors import ProviderError
from howcome.index.vector_index import VectorIndex
from howcome.present.patience import Patience
from howcome.present.shared_embedder import SharedEmbedder
from howcome.retrieve.question import Question
from howcome.retrieve.ranking import MEANING
from howcome.retrieve.search import Searcher
from howcome.retrieve.vectors import EmbeddedTurns
from howcome.settings import read_settings
from howcome.worker.passes import CatchUp

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Hit
    from howcome.providers.base import FloatMatrix


class Failing(HashingEmbedder):
    """An endpoint that is down after some texts."""

    def __init__(self, after: int) -> None:
        super().__init__()
        self.left = after

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Vectors, until it is down.

        Raises:
            ProviderError: it is.
        """
        self.left -= len(texts)
        if self.left < 0:
            raise ProviderError("the endpoint does not answer; look whether it runs")
        return super().embed(texts)


TALKS = (
    ("the counter has a race condition", "I put a lock around the race condition."),
    ("paint the fence green", "The fence is green."),
    ("which lorry takes the cargo", "The blue lorry."),
)


def sessions(folder: Path) -> list[Path]:
    """A transcript a talk."""
    found = []
    for number, (asked, answered) in enumerate(TALKS):
        claude = Claude(f"talk-{number}", start=number * 1000)
        found.append(write(folder / f"{number}.jsonl", claude.user(asked), claude.text(answered)))
    return found


def opened(folder: Path, embedder: HashingEmbedder | None) -> App:
    """The façade with an embedder."""
    return open_app(read_settings({"HOWCOME_HOME": str(folder), "HOWCOME_EMBEDDING": "off"}), embedder=embedder)


def filled(folder: Path, embedder: HashingEmbedder | None) -> App:
    """The façade over the talks, searchable by words."""
    app = opened(folder, embedder)
    for path in sessions(folder.parent / "talks"):
        app.ingest.ingester().ingest_file(str(path), "claude-code")
    app.index.catch_up()
    app.store.index.release()
    return app


def best(app: App, text: str) -> str:
    """The excerpt of the best answer; '' when there is none."""
    found = app.search.find(Question(text, Scope.everything(), limit=3))
    event = found[0].event if found else None
    return event.excerpt if event else ""


def test_what_is_said_in_other_words_is_found(tmp_path: Path) -> None:
    """With vectors; without them, and before they are there, it is not."""
    with filled(tmp_path / "store", Synonyms()) as app:
        assert "race" not in best(app, "thread safety")
        assert app.index.embed() == 6
        assert "race condition" in best(app, "thread safety")
        assert best(app, "green fence paint") == "paint the fence green"
    with opened(tmp_path / "store", None) as app:
        assert "race" not in best(app, "thread safety")


def test_a_memory_in_other_words_is_found(tmp_path: Path) -> None:
    """What is kept by hand gets a vector with the turns; near alone is found, and never pushed."""
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
        kept = app.memories.add("thread safety: one writer", project=None)[0]
        question = Question("race condition", Scope.everything(), types=("context",))
        assert app.search.find(question) == []
        assert app.index.embed() == 1
        assert app.index.embed() == 0
        [hit] = app.search.find(question)
        assert (hit.id, hit.strength) == (kept.id, 0.0)
        assert app.search.find(question, by_words=True) == []
        app.memories.forget(kept.key.hex())
        assert app.search.find(question) == []


class Leaving(Models):
    """An embedder that cannot be had a second time."""

    asked = 0

    @property
    def vectors(self) -> EmbeddedTurns | None:
        """Vectors, once.

        Raises:
            ProviderError: it is the second time.
        """
        self.asked += 1
        if self.asked > 1:
            raise ProviderError("the endpoint does not answer; look whether it runs")
        return super().vectors


def test_a_question_is_as_it_was_where_its_second_round_fails(tmp_path: Path) -> None:
    """Projects left out make a search ask for more; the caller, who asks again by words, wants no more than before."""
    with filled(tmp_path / "store", Synonyms()) as app:
        settings = read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOWCOME_EXCLUDE": CWD})
        app.index.embed()
        search = Searching(
            app.store, settings, Leaving(app.store, settings, Synonyms()), Projects(app.store, settings, None), None
        )
        question = Question("race condition", Scope.everything(), limit=1)
        with pytest.raises(ProviderError):
            search.find(question)
        assert question.limit == 1
        assert search.find(question, by_words=True) == []


def test_words_and_meaning_of_a_memory_agree(tmp_path: Path) -> None:
    """Of two that share a word with the question, that one comes first which means it."""
    with filled(tmp_path / "store", Synonyms()) as app:
        near = app.memories.add("the truck: its load is weighed at the gate", project=None)[0]
        far = app.memories.add("the gate: its paint is dry by Monday noon", project=None)[0]
        app.index.embed()
        found = app.search.find(Question("lorry cargo at the gate", Scope.everything(), types=("context",)))
        assert [hit.id for hit in found] == [near.id, far.id]


def test_embedding_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """At a deadline, at an embedder that fails, in another process: each turn has one vector in the end."""
    with filled(tmp_path / "store", Failing(after=10)) as app:
        claude = Claude("long", start=9000)
        path = write(tmp_path / "long.jsonl", *claude.conversation(40))
        app.ingest.ingester().ingest_file(str(path), "claude-code")
        with pytest.raises(ProviderError):
            app.index.embed()
    turns = 0
    with opened(tmp_path / "store", Synonyms()) as app:
        while added := app.index.embed(time.monotonic()):
            turns += added
        rows = [turn.row for turn in app.store.log.turns_after(0, 1000)]
        assert app.models.vectors is not None
        hits = app.models.vectors.near("berth", everything(), 1000)
    assert sorted(hit.row for hit in hits) == rows
    assert 0 < turns <= len(rows)


def everything() -> Filter:
    """A filter that lets all through."""
    return Filter(Scope.everything())


def test_vectors_of_another_model_are_not_compared(tmp_path: Path) -> None:
    """A new name begins anew, with other dimensions too; the old ones stay for who goes back."""
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
    with opened(tmp_path / "store", Synonyms(dimensions=128, name="hashing-2")) as app:
        assert "race" not in best(app, "thread safety")
        assert app.index.embed() == 6
        assert "race condition" in best(app, "thread safety")
    with opened(tmp_path / "store", Synonyms()) as app:
        assert app.index.embed() == 0
        assert "race condition" in best(app, "thread safety")


def test_another_process_sees_new_vectors_after_a_refresh(tmp_path: Path) -> None:
    """As the server's tools do before every call."""
    with filled(tmp_path / "store", Synonyms()) as reader, opened(tmp_path / "store", Synonyms()) as writer:
        assert "race" not in best(reader, "thread safety")
        writer.index.embed()
        reader.refresh()
        assert "race condition" in best(reader, "thread safety")


def test_a_turn_holds_a_little_of_the_turn_before_it(tmp_path: Path) -> None:
    """An answer is found by what was asked, after what says it itself."""
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
        assert app.models.vectors is not None
        hits = app.models.vectors.near("which truck takes the load", everything(), 6)
        texts = app.store.log.events([hit.row for hit in hits])
        named = [texts[hit.row].excerpt for hit in hits]
    assert named[:2] == ["which lorry takes the cargo", "The blue lorry."]
    assert 0.1 < hits[1].score < hits[0].score


def test_what_is_written_holds_nothing_of_what_comes_later(tmp_path: Path) -> None:
    """A search adds that, as far as it may be seen."""
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
        assert app.models.vectors is not None
        [asked] = [row for row, event in app.store.log.events(range(1, 7)).items() if "lorry" in event.excerpt][:1]
        answered_ms = app.store.log.events([asked + 1])[asked + 1].ts_ms
        question = "which lorry takes the cargo"
        alone = app.models.vectors.cosines(question, [asked], answered_ms)[asked]
        answered = app.models.vectors.cosines(question, [asked], None)[asked]
    assert np.isclose(alone, 1, atol=0.01)
    assert 0.9 < answered < alone - 0.01


class Nobody(EmbeddedTurns):
    """Vectors among whose nearest nothing is: what the rest says is all there is."""

    def near(self, text: str, wanted: Filter, limit: int) -> list[Hit]:
        """None, as if others were all nearer."""
        return super().near(text, wanted, limit)[:0]


def test_rows_that_words_find_are_asked_what_they_mean(tmp_path: Path) -> None:
    """Also when they are not among the nearest; nor does what may not be seen count for them."""
    text = "which lorry takes the cargo"
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
        assert app.models.vectors is not None
        asked = next(row for row, event in app.store.log.events(range(1, 7)).items() if event.excerpt == text)
        index = VectorIndex(str(tmp_path / "store" / "index"), "hashing-1", 384)
        searcher = Searcher(app.store, vectors=Nobody(Synonyms(), index, str))
        for before_ms in (None, app.store.log.events([asked + 1])[asked + 1].ts_ms):
            wanted = Filter(Scope.everything(), before_ms=before_ms)
            found = searcher.search(searcher.situation(text, wanted), limit=10, now_ms=0)
            meant = app.models.vectors.cosines(text, [item.candidate.row for item in found], before_ms)
            assert found[0].candidate.row == asked
            assert {item.candidate.row: item.tiers[MEANING] for item in found} == meant


@pytest.mark.parametrize("damage", [b"", b"another"])
def test_damaged_vectors_say_nothing(tmp_path: Path, damage: bytes) -> None:
    """Neither which turns are near nor how near some are; words answer as before."""
    with filled(tmp_path / "store", Synonyms()) as app:
        app.index.embed()
    for path in (tmp_path / "store" / "index").glob("vectors-*/values-*"):
        path.write_bytes(damage)
    with opened(tmp_path / "store", Synonyms()) as app:
        assert app.models.vectors is not None
        assert app.models.vectors.near("the fence", everything(), 10) == []
        assert app.models.vectors.cosines("the fence", [1, 2, 3], None) == {}
        assert app.models.vectors.lone_sessions([1, 2, 3]) == set()
        assert best(app, "paint fence") == "paint the fence green"


def test_the_worker_embeds_what_it_reads_and_goes_on_without(tmp_path: Path, home: Path) -> None:
    """An embedder that fails is told of once and left alone; transcripts are read meanwhile."""
    settings = read_settings({"HOWCOME_HOME": str(tmp_path / "store")})
    folder = home / ".claude" / "projects" / "-talks"
    paths = sessions(folder)
    work = CatchUp(settings, Patience(), embedder=SharedEmbedder(lambda *_, **__: Failing(after=0)))
    with pytest.raises(ProviderError):
        work.scan()
    write(paths[0], Claude("later", cwd=CWD, start=9000).user("the thread is safe now"), append=True)
    assert work.scan()
    with opened(tmp_path / "store", None) as app:
        assert app.store.accounts.counts()["events"] == 7
        assert app.store.index.lag() == 0
    work._embed_due_s = 0.0
    work._embedder = SharedEmbedder(lambda *_, **__: Synonyms())
    assert work.scan()
    with opened(tmp_path / "store", Synonyms()) as app:
        assert app.models.vectors is not None
        assert len(app.models.vectors.near("anything", everything(), 100)) == 7
