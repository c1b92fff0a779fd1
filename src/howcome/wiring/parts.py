"""What an agent's wiring is made of: entries in a file that is its user's, and whole files of ours.

A text file has one block of ours between two marks: put at its end, refreshed where it stands, cut.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from howcome.clients.wiring import ALLOWED, BLOCK, HOOK, NEEDED, SERVER_ENTRY, TABLE, TRUST, Entry
from howcome.wiring.atomic_files import decoded, digest
from howcome.wiring.install_record import Record, State
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.toml_entries import TomlEntries

KINDS = {
    HOOK: "hooks", SERVER_ENTRY: "MCP server", TABLE: "MCP server", ALLOWED: "permissions", NEEDED: "version",
    TRUST: "trust", BLOCK: "settled memories",
}  # fmt: skip
"""How each kind of entry is called to a user."""


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

    def state(self, text: str, _entry: Entry, _before: Sequence[Entry]) -> tuple[State, str]:
        """Whether the block is there."""
        return ("ok", "") if BEGIN in text else ("missing", "")


Format = JsonEntries | TomlEntries | TextBlock
"""How entries are read and written in one kind of file."""


class Merged(NamedTuple):
    """Entries of ours in one file of the user's."""

    path: Path
    entries: tuple[Entry, ...]
    format: Format = JsonEntries()

    @property
    def what(self) -> str:
        """What is put there, in a user's words."""
        return ", ".join(dict.fromkeys(KINDS[entry.kind] for entry in self.entries if entry.kind != NEEDED))

    def with_ours(self, data: bytes | None, record: Record | None, before: Sequence[Entry]) -> bytes:
        """The file with our entries; `before` are those that were put there for the same owner."""
        mark, text = decoded(data or b"")
        return mark + self.format.merged(text, self.entries, before, self._there_before(record)).encode()

    def without(self, data: bytes, entries: Sequence[Entry], record: Record) -> bytes:
        """The file without some entries of ours."""
        mark, text = decoded(data)
        return mark + self.format.stripped(text, entries, self._there_before(record)).encode()

    def without_ours(self, data: bytes, record: Record | None, ours: Sequence[Entry]) -> bytes | None:
        """The file as it would be had howcome never been there; None: there would be no file."""
        mark, text = decoded(data)
        named = [entry for entry in self.entries if entry.place not in {one.place for one in ours}]
        if record is None and isinstance(self.format, JsonEntries) and not self.format.has_hook(text, named):
            # nothing says that these are ours
            named = [entry for entry in named if entry.kind != ALLOWED]
        text = self.format.stripped(text, [*ours, *named], self._there_before(record))
        needed = {entry.path[0] for entry in self.entries if entry.kind == NEEDED}
        nothing_left = record is not None and not record.existed and not set(self.format.values(text)) - needed
        return None if nothing_left else mark + text.encode()

    def _there_before(self, record: Record | None) -> Mapping[str, object]:
        return self.format.values(decoded(record.original)[1]) if record and record.original else {}


class Whole(NamedTuple):
    """A file that is ours from its first byte to its last."""

    path: Path
    content: bytes
    what: str

    entries: tuple[Entry, ...] = ()

    def is_edited(self, data: bytes | None, record: Record | None) -> bool:
        """Whether the file is there with other words than ours: its user's."""
        return data is not None and data != self.content and not (record and digest(data) in record.written_sha256)


Part = Merged | Whole
