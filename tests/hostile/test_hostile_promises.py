"""The table of promises in docs/security.md names tests and programs that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SECTION = "## What is promised, and what holds it"
PROMISES = 18


def table() -> dict[str, str]:
    """The rows of the table by their numbers."""
    text = ROOT.joinpath("docs", "security.md").read_text(encoding="utf-8").partition(SECTION)[2]
    return {row.split("|")[1].strip(): row for row in text.splitlines() if re.match(r"\| F\d+ \|", row)}


def named_tests(row: str) -> list[tuple[str, str]]:
    """The files of tests that a row names, each with a test in it or ''; `::name` is of the file before it."""
    found: list[tuple[str, str]] = []
    for file, name in re.findall(r"`(test_\w+\.py)?(?:::(test_\w+))?`", row):
        if file or name:
            found.append((file or found[-1][0], name))
    return found


def test_every_promise_is_in_the_table() -> None:
    """None is left out."""
    assert list(table()) == [f"F{number}" for number in range(1, PROMISES + 1)]


@pytest.mark.parametrize("promise", [f"F{number}" for number in range(1, PROMISES + 1)])
def test_what_holds_a_promise_is_there(promise: str) -> None:
    """A row names at least one test, or a limit of the benchmarks; every one exists."""
    row = table()[promise]
    named = named_tests(row)
    assert named or "benchmarks/" in row
    for file, name in named:
        [path] = (ROOT / "tests").rglob(file)
        assert f"def {name}" in path.read_text(encoding="utf-8"), f"{file}::{name}"
    for file in re.findall(r"benchmarks/\w+\.py", row):
        assert (ROOT / file).exists(), file
