"""Graduation with the real client: told by howcome, then by the client's own file alone, then taken out again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.client import say

if TYPE_CHECKING:
    from tests.client import Run
    from tests.e2e.desk import Desk

KEPT = "Berth readings are deduplicated by gauge and time with an upsert"
RULES = "# Harbour\n\nBe brief.\n"


def told(run: Run) -> tuple[int, bool]:
    """How often the first request of the model says it, and whether howcome does."""
    body = str(run.bodies("main")[0])
    return body.count(KEPT), any(KEPT in part and "</howcome" in part for part in body.split("<howcome")[1:])


def test_what_is_graduated_is_told_by_the_clients_file_alone(desk: Desk) -> None:
    """Before it by the briefing or the prompt; after it by CLAUDE.md; then as before, and the file is what it was."""
    desk.howcome("init", "--yes")
    rules = desk.write("CLAUDE.md", RULES)
    kept = desk.report("remember", KEPT, "--type", "decision")["id"]
    prompt = "how are berth readings deduplicated, by gauge and time with an upsert?"
    before = told(desk.ask(prompt, [say("By an upsert.")]))
    assert before[1]
    for _ in range(2):
        desk.howcome("show", kept)
    desk.howcome("graduate", "--yes")
    assert told(desk.ask(prompt, [say("By an upsert.")])) == (1, False)
    desk.howcome("graduate", "--remove", "--yes")
    assert rules.read_text() == RULES
    assert told(desk.ask(prompt, [say("By an upsert.")])) == before
