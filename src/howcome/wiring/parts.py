"""What an agent's wiring is made of: entries in a file that is its user's, and whole files of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from howcome.clients.wiring import ALLOWED, BLOCK, HOOK, NEEDED, SERVER_ENTRY, TABLE, TRUST, Entry
from howcome.wiring.atomic_files import decoded, digest
from howcome.wiring.install_record import Record
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.text_block import TextBlock
from howcome.wiring.toml_entries import TomlEntries

KINDS = {
    HOOK: "hooks", SERVER_ENTRY: "MCP server", TABLE: "MCP server", ALLOWED: "permissions", NEEDED: "version",
    TRUST: "trust", BLOCK: "settled memories",
}  # fmt: skip
"""How each kind of entry is called to a user."""


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
        text = self.format.merged(text, self.entries, before, self._there_before(record))
        return mark + text.encode()

    def without_ours(self, data: bytes, record: Record | None, ours: Sequence[Entry]) -> bytes | None:
        """The file as it would be had howcome never been there; None: there would be no file."""
        mark, text = decoded(data)
        named = [entry for entry in self.entries if entry.place not in {one.place for one in ours}]
        if record is None and not self.format.has_hook(text, named):  # nothing says that these are ours
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
