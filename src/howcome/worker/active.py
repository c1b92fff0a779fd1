"""Transcripts that somebody may be writing: looked at every second, so that others hear in mid-turn what is said."""

from __future__ import annotations

import os

from howcome.clients.discover import Found, entries
from howcome.clients.registry import history_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_FILES, MAX_FOLDERS = 32, 64
"""The newest so many: a second's look at all of them takes 0.5 ms."""

ACTIVE_NS = 12 * 3600 * 10**9
"""Who has been silent for longer is heard at the next scan."""


class Active:
    """What the last scan found newest, and what has begun beside it since."""

    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._folders: dict[str, tuple[str, int]] = {}
        self._unread: set[str] = set()

    def found(self, transcripts: Sequence[Found], now_ns: int) -> None:
        """Takes over what a scan found."""
        newest = sorted(transcripts, key=lambda item: -item.mtime_ns)
        self._files = {item.path: item.client for item in newest[:MAX_FILES] if item.mtime_ns > now_ns - ACTIVE_NS}
        folders: dict[str, str] = {}
        for item in newest:
            folders.setdefault(os.path.dirname(item.path), item.client)
        self._folders = {path: (client, _changed_ns(path)) for path, client in list(folders.items())[:MAX_FOLDERS]}

    def grown(self, is_unread: Callable[[Found], bool]) -> list[Found]:
        """Those that were unread a second ago, too: what is written at once is read at once."""
        looked = [item for path, client in self._files.items() for item in entries(path, client)]
        for folder, (client, seen_ns) in self._folders.items():
            changed_ns = _changed_ns(folder)
            if changed_ns != seen_ns:
                self._folders[folder] = client, changed_ns
                looked += [item for path in _transcripts(folder, client) for item in entries(path, client)]
        unread = {item.path: item for item in looked if is_unread(item)}
        due = [item for path, item in unread.items() if path in self._unread]
        self._unread = set(unread)
        self._files |= {path: item.client for path, item in unread.items()}
        return due


def _changed_ns(folder: str) -> int:
    """When something began or ended in a folder; 0 where there is none."""
    try:
        return os.stat(folder).st_mtime_ns
    except OSError:
        return 0


def _transcripts(folder: str, client: str) -> list[str]:
    try:
        paths = [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return []
    return [path for path in paths if history_of(client).may_be(path) and os.path.isfile(path)]
