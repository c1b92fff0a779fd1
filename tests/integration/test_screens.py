"""What people see: each command for people on a terminal of 80 columns, with NO_COLOR, and in a pipe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len
from tests.screens import COMMANDS, arguments_of, in_a_pipe, on_a_terminal, prepared

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = 80
_STYLE = re.compile(r"\x1b\[[\d;]*m")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """A machine whose sessions are read."""
    folder: Path = tmp_path_factory.mktemp("screens")
    return prepared(folder)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_for_people_keeps_to_the_terminal(name: str, environment: dict[str, str]) -> None:
    """No line is wider; styles are for terminals only, and for those that want them."""
    arguments = arguments_of(name, environment)
    shown = on_a_terminal(arguments, environment, COLUMNS)
    plain = on_a_terminal(arguments, {**environment, "NO_COLOR": "1"}, COLUMNS)
    for line in [*_STYLE.sub("", shown).splitlines(), *plain.splitlines()]:
        assert cell_len(line) <= COLUMNS, line
    assert plain.strip()
    assert "\x1b" not in plain + in_a_pipe(arguments, environment)


def test_answers_stand_before_ids_and_times_are_local(environment: dict[str, str]) -> None:
    """The first line is what was said; the machine is two hours ahead of UTC; no id has 36 characters."""
    for name in ("search", "timeline", "show-event", "show-memory", "memories", "memories-why", "learnt"):
        shown = on_a_terminal(arguments_of(name, environment), {**environment, "NO_COLOR": "1"}, COLUMNS)
        first = shown.splitlines()[0]
        assert re.match(r"[A-Z]", first), (name, first)
        assert not re.search(r"\b(ev|mem)-\w{12}|\d\.\d\d", first), (name, first)
        assert not re.search(r"\dT\d\d:|\d{4}Z|[0-9a-f-]{36}", shown), name
    assert "Sep 14 10:14" in on_a_terminal(arguments_of("search", environment), environment, COLUMNS)


def test_each_sentence_of_an_answer_has_a_line_on_a_terminal(environment: dict[str, str]) -> None:
    """In a pipe a row is one line, for programs."""
    arguments = arguments_of("search", environment)
    shown = _STYLE.sub("", on_a_terminal(arguments, environment, 1000)).splitlines()
    piped = in_a_pipe(arguments, environment).splitlines()
    first = piped[0].split(" … ")
    assert len(first) > 2
    assert [line.strip().removesuffix(" …") for line in shown if line.strip()][: len(first)] == first


def test_words_that_were_searched_for_stand_out(environment: dict[str, str]) -> None:
    """In a colour, on a terminal."""
    assert "\x1b[1;31mRedis\x1b[0m" in on_a_terminal(arguments_of("search", environment), environment, COLUMNS)


def test_a_shown_event_has_its_prompt_branch_and_neighbours(environment: dict[str, str]) -> None:
    """Below its text, each with its id."""
    shown = in_a_pipe(arguments_of("show-event", environment), environment)
    assert "  branch main  " in shown
    for name in ("prompt", "before", "after"):
        assert re.search(rf"^    {name}: .+  ev-\w{{12}}$", shown, re.MULTILINE), name
