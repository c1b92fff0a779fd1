"""The port by which the texts of all rows are made what other rules want."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_MARK = re.compile(r"\[redacted:([a-z0-9-]+):")


class Progress:
    """How far it is: rows looked at and changed, and what was found in them, by rule."""

    def __init__(self, version: int, saved: str | None = None) -> None:
        values = json.loads(saved) if saved else {}
        values = values if values.get("version") == version else {}  # an older one's: from the beginning
        self.version = version
        self.table: str = values.get("table", "")
        self.last_row: int = values.get("last_row", 0)
        self.looked: int = values.get("looked", 0)
        self.changed: int = values.get("changed", 0)
        self.rules = Counter[str](values.get("rules", {}))

    def saved(self) -> str:
        """As it is kept."""
        return json.dumps(vars(self))

    def count(self, old: str, new: str) -> None:
        """What was found in a text that is changed."""
        self.rules.update(Counter(_MARK.findall(new)) - Counter(_MARK.findall(old)))


class Texts(Protocol):
    """What texts should be; all of it gives back what it gets where that may stay."""

    def text(self, table: str, column: str, text: str) -> str:
        """A text of a row."""
        ...

    def event(self, kind: int, tool: str | None, text: str, excerpt: str) -> tuple[str, str, bytes | str | None] | None:
        """The text, the excerpt and the payload of an event; None when they may stay."""
        ...

    def digest(self, text: str, type: str) -> bytes:
        """What equal memories have in common."""
        ...


class TextRows(Protocol):
    """Rows whose texts can be made others."""

    def rewrite(
        self, texts: Texts, version: int, on_change: Callable[[str, str], None]
    ) -> Iterator[tuple[Progress, int]]:
        """Makes every text of every row what it should be; how far that is, and of how many rows, step by step.

        Who was killed goes on from the last step when it is called again for the same version.
        """
        ...

    def rewrite_copy(self, path: str, texts_of: Callable[[bytes], Texts], version: int) -> bool:
        """The same for a database that is a copy of one, by its own key; whether anything in it changed."""
        ...

    def renew_indexes(self) -> None:
        """Writes the lexical indexes anew: of what is gone from the rows nothing is left in their files."""
        ...

    def finish(self, version: int, *, is_changed: bool) -> None:
        """Takes what is left of the old texts in unused parts of the database away, and notes the version."""
        ...
