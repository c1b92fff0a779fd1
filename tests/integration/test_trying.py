"""`howcome try` shows what a new session would be told with a prompt, and leaves no trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.integration.test_bites import CWD, decided, said
from tests.processes import run

__all__ = ["decided"]
QUESTION = "What did we decide about the retry limit of the poller?"


def test_a_prompt_is_tried_as_its_hook_answers_it(decided: Path) -> None:
    """The same lines with their cost; a session that asks then is told them, too, and no receipt counts the try."""
    done = run("try", QUESTION, "--project", CWD, "--json")
    assert done.returncode == 0, done.stderr
    tried = json.loads(done.stdout)
    assert "five times" in tried["told"]
    assert tried["tokens"] > 0
    assert len(tried["said"]) >= 1
    shown = run("try", *QUESTION.split(), "--project", CWD).stdout
    assert shown.startswith("[")
    assert f"{tried['tokens']} tokens" in shown
    assert json.loads(run("receipt", "--all-projects", "--json").stdout)["receipt"] == []
    assert "five times" in said(decided, QUESTION, "7f3a-new")


def test_what_is_held_back_says_why(decided: Path) -> None:
    """What is found is named with the rule; who names no prompt, or no project of that name, is told so."""
    assert decided.parent.is_dir()
    shown = run("try", "run the tests again please", "--project", CWD).stdout
    assert "told nothing" in shown
    assert "Held back:" in shown
    assert "  too-weak  ev-" in shown
    assert "too-weak: it holds too few" in shown
    assert run("try").returncode == 2
    assert run("try", "what was it?", "--project", "nowhere").returncode == 2


@pytest.mark.usefixtures("decided")
def test_a_folder_of_which_nothing_is_stored_is_said(tmp_path: Path) -> None:
    """No traceback."""
    done = run("try", "why NATS?", "--project", str(tmp_path))
    assert done.returncode == 2
    assert "Nothing is stored of this project yet" in done.stderr
