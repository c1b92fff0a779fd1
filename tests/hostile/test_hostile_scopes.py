"""One project's words never answer another's question, whatever is asked and however it is narrowed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.hostile import scale

from howcome.app import open_app
from howcome.retrieve.question import TYPES, Question
from howcome.settings import read_settings

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.hostile.stage import Stage

    from howcome.app import App

QUESTIONS = scale.rounds(300, 10_000)
WORDS = (
    "berth3", "crane3", "berth", "crane", "why", "fail", "fixture", "stale", "regenerate", "quay", "winch", "assertion",
    "make", "check-berth1", "check-crane1", "yesterday", "not", "OR", "*", '"', "/gone/harbour", "/gone/dike", "berht3",
)  # fmt: skip
FOREIGN = {"/gone/harbour": ("crane", "/gone/dike"), "/gone/dike": ("berth", "winch", "/gone/harbour")}
"""What no answer of a project holds: the words of the other one."""


def question(app: App, folder: str, choice: random.Random) -> Question:
    """A question of a project, narrowed in any way."""
    text = " ".join(choice.choices(WORDS, k=choice.randrange(1, 6)))
    return Question(
        [text, choice.choice(WORDS)] if choice.random() < 0.1 else text, app.projects.scope_of(folder),
        limit=choice.choice((1, 5, 50)), by_session=choice.random() < 0.2,
        types=choice.sample(TYPES, choice.randrange(3)), agent=choice.choice((None, None, None, "claude-code")),
        session=choice.choice((None, None, None, "hostile-a", "hostile-b")),
        before_ms=choice.choice((None, None, 1_772_442_100_000)), explained=choice.random() < 0.1,
    )  # fmt: skip


def told(app: App, folder: str, choice: random.Random) -> list[str]:
    """Everything that a prompt in a folder is told."""
    prompt = " ".join(choice.choices(WORDS, k=4))
    found = app.search.recall(prompt, cwd=folder, session=f"new {choice.random()}", recent=lambda: "")
    return [text for reminder in found for _, text in reminder.passages]


def test_no_answer_is_another_projects(stage: Stage, figure: Callable[[str, object], None]) -> None:
    """Thousands of questions and prompts, asked in either project."""
    choice, answers = scale.chooser("scopes"), 0
    with open_app(read_settings({"HOWCOME_HOME": str(stage.home)})) as app:
        for number in range(QUESTIONS):
            folder = choice.choice(tuple(FOREIGN))
            asked = question(app, folder, choice)
            texts = (
                told(app, folder, choice) if number % 10 == 0 else [found.passage for found in app.search.find(asked)]
            )
            answers += len(texts)
            foreign = [text for text in texts for word in FOREIGN[folder] if word in text]
            assert not foreign, f"question {number} in {folder}, {asked.concepts}: {foreign[0][:300]}"
    figure("questions", f"{QUESTIONS}, {answers} answers")
    assert answers > QUESTIONS / 2  # most questions are of words that nothing answers
