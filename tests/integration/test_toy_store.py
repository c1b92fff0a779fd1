"""Another log and another index under the whole product: import, search and a prompt work without the database's."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.contract.toys import ToyIndex, ToyLog, open_toys

from howcome.app import App
from howcome.clients.discover import named_transcripts
from howcome.retrieve.question import Question
from howcome.settings import read_settings

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PROJECT = "/home/dev/tidepool"
RESENDS = "5f0c8a52"


@pytest.fixture
def toys(tmp_path: Path) -> App:
    """The façade over toys that have read the sample sessions."""
    app = App(open_toys(tmp_path), read_settings({"HOWCOME_HOME": str(tmp_path), "HOME": str(tmp_path)}))
    with app.ingest.ingester().in_bulk():
        for found in named_transcripts([str(SAMPLES)]):
            app.ingest.file(found)
    app.index.catch_up()
    return app


def test_everything_is_read_searched_and_said(toys: App) -> None:
    """The rows are in the toys and not in the database, and what is asked is answered from them."""
    assert isinstance(toys.store.log, ToyLog)
    assert isinstance(toys.store.index, ToyIndex)
    assert toys.store.log.last_position() > 100
    assert list(toys.store.connection.execute("SELECT count(*) FROM events")) == [(0,)]
    question = Question("why not redis for duplicates", toys.projects.scope_of(PROJECT), limit=5)
    found = [item.event.session for item in toys.search.find(question) if item.event]
    assert found[0].startswith(RESENDS)
    told = toys.search.recall(
        "why did we not use redis for the resends?", cwd=PROJECT, session="new", recent=lambda: ""
    )
    assert any("redis" in text.lower() for item in told for _, text in item.passages)
    toys.search.record_said("new", "UserPromptSubmit", told)
    again = toys.search.recall(
        "why did we not use redis for the resends?", cwd=PROJECT, session="new", recent=lambda: ""
    )
    assert not {row for item in told for row in item.rows} & {row for item in again for row in item.rows}
    toys.close()


def test_reading_again_adds_nothing(toys: App) -> None:
    """The cursors are the log's."""
    before = toys.store.log.last_position()
    for found in named_transcripts([str(SAMPLES)]):
        toys.ingest.file(found)
    assert toys.store.log.last_position() == before
    assert toys.store.index.lag() == 0
    toys.close()
