"""Patterns and words of English prose, from a data file (`prose_en.txt`): a section a module, a line `name: what`.

What begins with two blanks goes on with the line before it. A pattern is compiled when it is first asked for.
"""

from __future__ import annotations

import os
import re
from functools import cache

_FILE = os.path.join(os.path.dirname(__file__), "prose_en.txt")


@cache
def _sections() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    section, name = "", ""
    with open(_FILE, encoding="utf-8") as lines:
        for line in lines:
            told = line.rstrip("\n")
            if told.startswith("  "):
                found[section][name] += told[2:]
            elif told.startswith("["):
                section = told[1:-1]
                found[section] = {}
            elif told and not told.startswith("#"):
                name, _, told = told.partition(": ")
                found[section][name] = told
    return found


class Prose:
    """What a module (its section) looks for, by the names of its patterns."""

    def __init__(self, section: str) -> None:
        self._section = section

    def __getattr__(self, name: str) -> re.Pattern[str]:
        pattern = re.compile(_sections()[self._section][name])
        setattr(self, name, pattern)
        return pattern

    def words(self, name: str) -> frozenset[str]:
        """A list of words."""
        return frozenset(_sections()[self._section][name].split())
