"""Secrets are not said either: errors quote what they were given, and reports name files and folders."""

from __future__ import annotations

import os
import re

from howcome.redact.gate import Gate

_GATE = Gate(lambda: os.urandom(32))
"""What it makes of a secret is only looked at: its key is this process's."""


_PATH = re.compile(r"(?<!\S)/[^\s:]+")


def without_secrets(text: str) -> str:
    """A text for people, line by line; a path in it is looked at part by part."""
    return "\n".join(_PATH.sub(lambda path: _GATE.text(path[0]), _GATE.text(line)) for line in text.split("\n"))


def values_without_secrets(value: object) -> object:
    """The same for what is printed as JSON."""
    return _GATE.value(value)
