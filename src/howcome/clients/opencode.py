"""OpenCode: sessions in databases, and in JSON files before that (`opencode_store`); it runs no commands as hooks.

Built from its public sources and formats.
"""

from __future__ import annotations

import os

from howcome.clients.base import DATABASE_SUFFIXES, Client, History, Wiring, is_database, names_in, split_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import BinaryIO

    from howcome.clients.base import Status
    from howcome.clients.wiring import Install, Wired


class _History(History):
    reader = "opencode_records"
    reads = ("AGENTS.md",)

    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
        own, database = os.path.join(data, "opencode"), environment.get("OPENCODE_DB", "")
        return [own, *([os.path.join(own, database)] if database.endswith(DATABASE_SUFFIXES) else [])]

    def transcripts(self, root: str) -> Iterator[str]:
        """The databases in a data folder (one for each release channel), and the older session files; or `root`."""
        if is_database(root):
            yield root
            return
        names = names_in(root)
        yield from (os.path.join(root, name) for name in names if name.startswith("opencode") and is_database(name))
        if "storage" in names:
            for folder, _, files in os.walk(os.path.join(root, "storage", "session")):
                yield from (path for name in sorted(files) if _is_session_file(path := os.path.join(folder, name)))

    def may_be(self, path: str) -> bool:
        name = os.path.basename(path)
        return _is_session_file(path) or (name.startswith("opencode") and is_database(name))

    def wrote_document(self, path: str, head: bytes) -> bool:
        return head.startswith(b"SQLite format 3\0") or _is_session_file(path)

    def status(self, path: str) -> Status:
        from howcome.clients import opencode_store as store

        if is_database(path):
            return store.database_state(path)
        return store.session_file_state(path) if _is_session_file(path) else super().status(path)

    def holds_sessions(self, path: str) -> bool:
        return is_database(path)

    def sessions_in(self, path: str) -> list[tuple[str, Status]]:
        from howcome.clients.opencode_store import sessions_in

        return sessions_in(path)

    def open_lines(self, path: str, *, is_idle: bool = False) -> BinaryIO:
        import io

        from howcome.clients import opencode_store as store

        if member := split_member(path):
            return io.BytesIO(store.database_session(*member, is_idle=is_idle))
        if _is_session_file(path):
            return io.BytesIO(store.session_file(path, is_idle=is_idle))
        return super().open_lines(path, is_idle=is_idle)


def _is_session_file(path: str) -> bool:
    """Whether this is the name of an older session file."""
    parent = os.path.basename(os.path.dirname(os.path.dirname(path)))
    return parent == "session" and path.endswith(".json")


class _Wiring(Wiring):
    programs = ("opencode",)
    settings = ("XDG_CONFIG_HOME", "~/.config", "opencode")
    try_this = "start `opencode` and ask what it knows"

    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        """The server in the file of the two that is there."""
        from howcome.clients.wiring import SERVER, SERVER_ENTRY, Entry, SettingsFile

        with_comments = self.folder() / "opencode.jsonc"
        path = with_comments if with_comments.exists() else self.folder() / "opencode.json"
        value: dict[str, object] = {"type": "local", "command": list(install.server_words), "enabled": True}
        if install.server_environment:
            value["environment"] = dict(install.server_environment)
        return [SettingsFile(path, (Entry(SERVER_ENTRY, ("mcp", SERVER), value),), "jsonc")]


CLIENT = Client("opencode", "OpenCode", history=_History(), wiring=_Wiring())
