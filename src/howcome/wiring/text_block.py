"""One block of ours in a text file of the user's, between two marks: put at its end, refreshed where it stands, cut."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from howcome.clients.wiring import BLOCK, Entry
from howcome.wiring.install_record import State

MARK = "howcome"
BEGIN = f"<!-- {MARK}: begin. Written by `howcome graduate`, which also keeps it in step and takes it out. -->"
END = f"<!-- {MARK}: end -->"
HEAD = "## Settled in earlier sessions"
ENTRY = Entry(BLOCK, (MARK,), "")
_CORE = rf"^<!-- {MARK}: begin\b[^\n]*-->\r?\n(?:(?!<!-- {MARK}: begin\b).)*?^{re.escape(END)}"
_BLOCK = re.compile(rf"(?:\r\n)?{_CORE}\r\n|\n?{_CORE}\n?", re.DOTALL | re.MULTILINE)
"""Marks are whole lines, and no second one begins between them: a mark that is quoted, or alone, bounds nothing."""


def block(lines: Sequence[str]) -> str:
    """The block with some lines, "" for none."""
    return "\n".join([BEGIN, HEAD, "", *(f"- {line}" for line in lines), END]) if lines else ""


def found_in(text: str) -> str:
    """The block that a text has, without the line ends around it; "" where it has none."""
    found = _BLOCK.search(text)
    return found[0].strip("\r\n").replace("\r\n", "\n") if found is not None else ""


class TextBlock(NamedTuple):
    """The text side of a file part; its one entry is the block, whatever it says.

    Before the block comes a line's end where the file is not empty, and one behind it: so much is cut with it.
    """

    content: str = ""

    def values(self, text: str) -> dict[str, object]:
        """What there is beside nothing."""
        return {"text": text} if text.strip() else {}

    def merged(self, text: str, _wanted: Sequence[Entry], _before: Sequence[Entry], _then: Mapping[str, object]) -> str:
        """The text with the block."""
        found = _BLOCK.search(text)
        end = "\r\n" if "\r\n" in (text if found is None else found[0][-2:]) else "\n"
        ours = self.content.replace("\n", end) + end
        if found is None:
            return text + (end if text else "") + ours
        lead = found[0][: found[0].index("<")]
        return text[: found.start()] + lead + ours + text[found.end() :]

    def stripped(self, text: str, _ours: Sequence[Entry], _then: Mapping[str, object]) -> str:
        """The text without the block."""
        return _BLOCK.sub("", text, count=1)

    def has_hook(self, _text: str, _ours: Sequence[Entry]) -> bool:
        """No hooks stand in such a file."""
        return False

    def state(self, text: str, _entry: Entry, _before: Sequence[Entry]) -> tuple[State, str]:
        """Whether the block is there."""
        return ("ok", "") if BEGIN in text else ("missing", "")
