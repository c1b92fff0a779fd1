"""What an agent's wiring is made of: entries in files that are its user's, and whole files of ours, as plain data.

`wiring` writes them, looks for them and takes them out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from howcome.clients.hook import Hook
from howcome.errors import LifecycleError

SERVER = "howcome"
"""The name of the MCP server in every agent's settings."""

READ_ONLY_TOOLS = (
    "search_memory", "get_context", "get_memories", "replay_session", "get_timeline", "expand_memory", "list_stale",
    "memory_status",
)  # fmt: skip
"""Tools that change nothing, which the client may call without asking; the others ask each time."""

HOOK, SERVER_ENTRY, ALLOWED, NEEDED, TABLE, TRUST = "hook", "server", "allowed", "needed", "table", "trust"
BLOCK = "block"
"""Kinds of entries: a hook in groups or plainly in its event's list (`path` = hooks, event), a server (`path` ends with
its name), an element of a list, a member that the file must have whoever uses it, a table of a TOML file (`path` =
the keys of its header), such a table in which the agent itself keeps that it may run our hooks, and a block of lines in
a text."""

HOOK_FORMS = ("auto", "command", "mcp")
"""How hooks are answered, as `init` is told: by a command, or by the running MCP server."""

Form = Literal["json", "commented", "jsonc", "toml"]
"""What a settings file is: JSON, JSON whose reader allows comments, one that allows trailing commas, too, or TOML."""


class Entry(NamedTuple):
    """One thing of ours in a file: its kind, its path of keys, and the value that was written there.

    `matcher`: of a hook in a group, which tools it is for.
    """

    kind: str
    path: tuple[str, ...]
    value: object
    matcher: str = ""

    @property
    def place(self) -> tuple[str, ...]:
        """What makes two entries the same entry: an element of a list is what it says, all else is where it stands."""
        return (self.kind, *self.path, *([self.value] if isinstance(self.value, str) else []))


class SettingsFile(NamedTuple):
    """A file of the user's, and what of ours stands in it."""

    path: Path
    entries: tuple[Entry, ...]
    form: Form = "json"


class OwnFile(NamedTuple):
    """A file that is ours from its first byte to its last; `what` names it to a user."""

    path: Path
    content: bytes
    what: str


Wired = SettingsFile | OwnFile


class Install(NamedTuple):
    """How an agent starts this install of howcome.

    Attributes:
        hook_command: An event → the shell command of its hook.
        server_words: The command line of the MCP server.
        server_environment: What the server's environment must say.
        is_hook: Whether a shell command is a hook of some install of ours.
    """

    hook_command: Callable[[str], str]
    server_words: Sequence[str]
    server_environment: Mapping[str, str]
    is_hook: Callable[[str], bool] = lambda _command: False

    def hooks(self, hooks: Mapping[str, Hook]) -> list[Entry]:
        """Hooks in the shape that most agents read."""
        found = []
        for event, hook in hooks.items():
            value = {"type": "command", "command": self.hook_command(event), "timeout": hook.timeout}
            found.append(Entry(HOOK, ("hooks", event), value, hook.matcher))
        return found

    def server(self, *path: str, kind: str = SERVER_ENTRY, type: str = "", **more: object) -> Entry:
        """The MCP server in the shape that most agents read, in the object at `path`; some want a `type` and `more`."""
        command, *arguments = self.server_words
        value: dict[str, object] = {"type": type} if type else {}
        value |= {"command": command, "args": arguments}
        if self.server_environment or type:
            value["env"] = dict(self.server_environment)
        return Entry(kind, (*path, SERVER), value | more)


def directory(variable: str, default: str) -> Path:
    """The directory that a variable names, or the default one."""
    try:
        return Path(os.environ.get(variable) or default).expanduser().absolute()
    except RuntimeError as error:  # neither $HOME nor an entry in the user database
        raise LifecycleError(f"Your home directory is not known: set HOME, or {variable}.") from error
