"""Commands that are read without click: the same values, and only where nothing has to be said about the words."""

import subprocess
import sys

import pytest

from howcome.cli import reading, searching, status
from howcome.cli.declared import SECTIONS, command_of

DECLARED = {"search": searching.search, "show": reading.show, "timeline": reading.timeline, "status": status.status}
PLAIN = (
    "search queue", "search why did we", "search -n 3 queue --all-projects", "search --limit=3 queue",
    "search --type decision --type pattern queue", "search --by session --explain --json -- --queue -n",
    "search - queue", "show ev-1", "show --json mem-1", "timeline", "timeline abc --full", "timeline -n 5 --since 7d",
    "status", "status --json --check",
)  # fmt: skip
FOR_CLICK = (
    "search", "search --help", "search -n 0 queue", "search -n x queue", "search -n3 queue", "search --all queue",
    "search --by day queue", "search queue --limit", "search --json=1 queue", "show", "show one two", "timeline a b",
    "status now", "status --nothing",
)  # fmt: skip


@pytest.mark.parametrize("line", PLAIN)
def test_words_are_read_as_click_reads_them(line: str) -> None:
    """Every parameter has the value that click gives it."""
    name, *words = line.split()
    built = DECLARED[name].built()
    assert DECLARED[name].read(words) == built.make_context(name, list(words)).params


@pytest.mark.parametrize("line", FOR_CLICK)
def test_what_is_not_plain_is_left_to_click(line: str) -> None:
    """Help, mistakes, abbreviations."""
    name, *words = line.split()
    assert DECLARED[name].read(words) is None


def test_every_command_has_its_module() -> None:
    """The table names the module of each, and says something of it."""
    for name, (_, said) in ((name, row) for rows in SECTIONS.values() for name, row in rows.items()):
        assert getattr(command_of(name), "name", "") == name
        assert said.endswith(".") or "howcome" in said
        assert len(said) <= 80


HEAVY = {
    "click",
    "rich",
    "numpy",
    "asyncio",
    "email",
    "urllib.request",
    "importlib.metadata",
    "importlib.resources",
    "dataclasses",
    "subprocess",
    "howcome.redact.redactor",
}


@pytest.mark.parametrize("line", ["search queue", "timeline", "status"])
def test_a_command_that_reads_pays_for_no_expensive_import(line: str) -> None:
    """In a pipe: importing click alone takes as long as three Pythons."""
    code = "import sys; from howcome.cli.main import main; main(); print(*sys.modules, sep='\\n')"
    words = [sys.executable, "-c", code, *line.split()]
    loaded = subprocess.run(words, check=True, capture_output=True, text=True).stdout.split("\n")
    assert "howcome.cli.declared" in loaded
    assert set(loaded) & HEAVY == set()


def test_a_command_that_reads_ends_at_once() -> None:
    """Taking Python down takes as long as a Python that does nothing; all that was said is there."""
    code = "import atexit; atexit.register(print, 'taken down'); from howcome.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code, "status"], check=True, capture_output=True, text=True)
    assert done.stdout.startswith("store ")
    assert "taken down" not in done.stdout


def test_a_locale_that_cannot_show_a_letter_gets_the_rest() -> None:
    """Nothing is lost for one character."""
    code = "from howcome.present.terminal import echo; echo('caf\u00e9 … done')"
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, check=True, capture_output=True, env={"PYTHONIOENCODING": "latin-1"})
    assert done.stdout == b"caf\xe9 ? done\n"
