"""What subagents said is recalled as what it is, in whatever order their transcripts and their sessions' were read."""

from __future__ import annotations

import os
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import apsw
import pytest
from tests.builders import CWD, Claude, write

from howcome import log
from howcome.app import open_app
from howcome.clients.discover import known_transcripts
from howcome.settings import read_settings

if TYPE_CHECKING:
    from howcome.app import App

TASK = "Find out why the ostrich fence fails at the quay and report which paint the keeper used."
ANSWER = "The ostrich fence fails because the keeper used blue paint at the quay, which scares every ostrich."


def session_with_a_subagent(folder: Path) -> tuple[Path, Path]:
    """The transcripts of a session and of the subagent that it started."""
    claude = Claude("main")
    prompt = claude.user("why does the ostrich fence fail at the quay?")
    call = claude.call("Task", "toolu_1", description="look into it", prompt=TASK, subagent_type="general-purpose")
    agent = Claude("main", isSidechain=True, agentId="a17", start=claude.number)
    told = [agent.user(TASK), agent.text(ANSWER)]
    claude.number = agent.number
    end = [claude.result("toolu_1", ANSWER), claude.text("It was the blue paint; use red on the ostrich fence.")]
    path = write(folder / "main.jsonl", prompt, call, *end)
    return path, write(folder / "main" / "subagents" / "agent-a17.jsonl", *told)


def said_about(app: App, prompt: str) -> list[tuple[str, str]]:
    """What is pushed with a prompt: who said it, and what."""
    found = app.search.recall(prompt, cwd=CWD, session="other", recent=str)
    return [passage for reminder in found for passage in reminder.passages]


PROMPTS = pytest.mark.parametrize(
    "prompt", [TASK, "why did the ostrich fence fail?", "which paint did the keeper use?"], ids=["task", "why", "which"]
)


def store_of(folder: Path) -> App:
    """An empty store that speaks about anything."""
    return open_app(
        read_settings({"HOWCOME_HOME": str(folder), "HOWCOME_RECALL_THRESHOLD": "0.02", "HOWCOME_INJECT": "context"})
    )


@PROMPTS
def test_a_task_is_nobodys_answer(prompt: str, tmp_path: Path, home: Path) -> None:
    """The session first or its subagent first: the person's question is quoted, once, and never the task."""
    paths = session_with_a_subagent(home)
    for name, order in (("a", paths), ("b", paths[::-1])):
        with store_of(tmp_path / name) as app:
            for path in order:
                app.ingest.ingester().ingest_file(str(path), "claude-code")
                app.index.catch_up()
            said = said_about(app, prompt)
        assert said[0] == ("user", "why does the ostrich fence fail at the quay?")
        assert said[-1] == ("assistant", "It was the blue paint; use red on the ostrich fence.")
        assert len(set(said)) == len(said)
        assert TASK not in [text for _, text in said]


@PROMPTS
def test_the_ages_of_the_files_change_nothing(prompt: str, tmp_path: Path, home: Path) -> None:
    """Imported oldest first or caught up newest first, whichever of the two was written to last: the same is said."""
    paths = session_with_a_subagent(home / ".claude" / "projects" / "-p")
    said = []
    for number, (last, newest_first) in enumerate(product(paths, (False, True))):
        for path in paths:
            os.utime(path, (1_800_000_000 + (path == last), 1_800_000_000 + (path == last)))
        with store_of(tmp_path / str(number)) as app:
            for found in known_transcripts(str(home), {}, newest_first=newest_first):
                app.ingest.file(found)
                app.index.catch_up()
            said.append(said_about(app, prompt))
    assert said[1:] == said[:1] * 3


def test_a_session_is_read_before_its_subagents(home: Path) -> None:
    """Oldest first or newest first: what a subagent says is placed behind the prompt that it works for."""
    project = home / ".claude" / "projects" / "-p"
    path, agent = session_with_a_subagent(project)
    older, newer = (write(project / f"{name}.jsonl", *Claude(name).conversation(1)) for name in ("older", "newer"))
    for age_s, each in enumerate((newer, path, agent, older)):
        os.utime(each, (1_800_000_000 - age_s, 1_800_000_000 - age_s))
    listed = [found.path for found in known_transcripts(str(home), {})]
    assert listed == [str(each) for each in (older, path, agent, newer)]
    listed = [found.path for found in known_transcripts(str(home), {}, newest_first=True)]
    assert listed == [str(each) for each in (newer, path, agent, older)]


def make_older(database: apsw.Connection, version: int) -> None:
    """Takes away what later schemas added."""
    older, folder = apsw.Connection(":memory:"), Path(log.__file__).parent / "migrations"
    for script in sorted(folder.iterdir())[:version]:
        older.execute(script.read_text(encoding="utf-8"))
    indexes = "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"
    for (index,) in set(database.execute(indexes)) - set(older.execute(indexes)):
        database.execute(f"DROP INDEX {index}")
    triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    for (trigger,) in set(database.execute(triggers)) - set(older.execute(triggers)):
        database.execute(f"DROP TRIGGER {trigger}")
    tables = "SELECT name FROM sqlite_schema WHERE type = 'table'"
    for (table,) in database.execute(tables).fetchall():
        columns = [row[1] for row in older.execute(f"PRAGMA table_info({table})")]
        if not columns:
            database.execute(f"DROP TABLE {table}")
        for row in database.execute(f"PRAGMA table_info({table})").fetchall():
            if row[1] not in columns:
                database.execute(f"ALTER TABLE {table} DROP COLUMN {row[1]}")
    database.pragma("user_version", version)


def test_a_task_that_an_older_version_stored_is_not_pushed_either(tmp_path: Path, home: Path) -> None:
    """Opening its store tells tasks apart by their place; the index still knows them by the old origin."""
    with store_of(tmp_path / "store") as app:
        for path in session_with_a_subagent(home):
            app.ingest.ingester().ingest_file(str(path), "claude-code")
        database = apsw.Connection(app.store.path)
        database.execute("UPDATE events SET origin = 1 WHERE origin = 4")
        app.index.catch_up()
        assert database.execute("SELECT count(*) FROM events WHERE origin = 4").get == 0
        make_older(database, 2)
    with store_of(tmp_path / "store") as app:
        assert database.execute("SELECT excerpt FROM events WHERE origin = 4").fetchall() == [(TASK,)]
        assert TASK not in [text for _, text in said_about(app, TASK)]
    database.close()
