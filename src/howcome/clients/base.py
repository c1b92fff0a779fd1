"""What an agent is to howcome, as one object: its history, its hooks, its wiring.

A prompt's hook imports its own agent's module and this one: nothing dear is imported here (AGENTS.md, invariant 8), and
what a client needs for anything else it imports where it needs it.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod

from howcome.clients.hook import is_cursors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path
    from typing import BinaryIO

    from howcome.clients.hook import Called, Hook, Payload
    from howcome.clients.records import ReaderState, Record
    from howcome.clients.wiring import Install, Wired
    from howcome.domain.events import Event
    from howcome.domain.spending import Spent


LINES = (".jsonl", ".jsonl.gz")
DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")


class History(ABC):
    """Where a client's transcripts lie, and how they are read. By itself: files of lines, wherever below the roots.

    Attributes:
        reader: The module (beside this one) whose `read_record` makes events of its records: no prompt's hook loads it.
        fields: The only fields of a record (and theirs) that it looks at; none: it may look at any.
        reads: The files of a project that the agent reads into each window by itself.
        memory_files: Where the agent keeps memory files of its own, if it does: the folder that holds its projects'
            folders of transcripts, and the one beside the transcripts (`projects/memory`).
        tail: The form of its lines by `tail.BLOCKS`; none: the last words of its transcripts are not read.
    """

    reader = ""
    fields: Mapping[str, tuple[str, ...]] = {}
    reads: tuple[str, ...] = ()
    memory_files = ""
    tail = ""
    _read: Callable[[Record, ReaderState], list[Event] | None] | None = None

    @abstractmethod
    def roots(self, home: str, environment: Mapping[str, str]) -> list[str]:
        """The folders (or databases) in which transcripts are kept."""
        ...

    def transcripts(self, root: str) -> Iterator[str]:
        """The paths of the transcripts below a root."""
        return files_below(root, self.may_be)

    def may_be(self, path: str) -> bool:
        """Whether a file's name is one that the client gives to transcripts."""
        return path.endswith(LINES)

    def wrote_document(self, path: str, head: bytes) -> bool:
        """Whether a file that is not made of lines is the client's; `head` is how it begins."""
        return False

    def wrote_record(self, record: Record) -> bool:
        """Whether a line's record is the client's."""
        return False

    def status(self, path: str) -> Status:
        """How a source is on disk now, without reading it.

        Raises:
            TranscriptError: it is not there, or nothing that is read.
        """
        from howcome.clients.files import look_at

        status = look_at(path)
        return Status(status.st_size, status.st_mtime_ns)

    def holds_sessions(self, path: str) -> bool:
        """Whether a source is no transcript itself but a database of many."""
        return False

    def sessions_in(self, path: str) -> list[tuple[str, Status]]:
        """The sources in a database of many sessions, longest untouched first.

        Raises:
            TranscriptError: locked, damaged, or nobody's that is known.
        """
        return []

    def open_lines(self, path: str, *, is_idle: bool = False) -> BinaryIO:
        """A source as a stream of lines, whatever it is on disk.

        Args:
            path: The source.
            is_idle: Nobody has touched it for so long that what is not finished will not be any more.

        Raises:
            TranscriptError: it cannot be read (yet).
        """
        from howcome.clients.files import open_transcript

        return open_transcript(path)

    def spent_in(self, path: str) -> Iterator[Spent]:
        """What a transcript says that its answers cost, each request once; nothing where it says nothing.

        Raises:
            OSError: it is not there any more.
            TranscriptError: it cannot be read.
        """
        return iter(())

    def place_of(self, path: str) -> dict[str, str]:
        """What a source's place says that its records do not, as values of a reader's state."""
        return {}

    def read_record(self, record: Record, state: ReaderState) -> list[Event] | None:
        """The events of one record, [] when it is ignored by rule, None when its type is unknown."""
        if self._read is None:  # asked for once: the import statement's own look-up costs a third of a record's reading
            self._read = __import__(f"howcome.clients.{self.reader}", fromlist=("read_record",)).read_record
        found: list[Event] | None = self._read(record, state)
        return found

    def recent_text(self, path: str) -> str:
        """The last words of a running transcript, for prompts that only point at them."""
        if not self.tail:
            return ""
        from howcome.clients.tail import recent_text

        return recent_text(path, self.tail)

    def recent_calls(self, path: str) -> list[Called]:
        """The last tool calls of a running transcript that have a result, newest first."""
        return []


class Wiring(ABC):
    """How an agent is connected to its memory, and what is asked about that.

    Attributes:
        programs: Its programs on PATH, the one that says its version first.
        says_version: Whether that program only says its version when it is asked for it.
        scopes: Where it can be wired.
        is_grouped: Whether hooks stand in groups (`{"matcher", "hooks": [...]}`), not plainly in their event's list.
        try_this: What to do after `init`.
        try_too: What else can be done in the user's scope.
        ends_shells_only: Whether a hook's time limit ends its shell, and then waits for what the shell started: ours
            takes its place.
        off_switch: The setting that switches every hook off when it is true.
        trust_server: The command line of its server that is asked to trust our hooks, where it runs no other.
        why_no_hooks: The command that says why the agent runs none; `doctor` looks whether it did only where there is
            one.
        tool_hooks_since: The first version that knows hooks of the type `mcp_tool`; an older one drops the whole file
            for one.
        project_variable: What names the project's folder in the environment of the MCP server that it starts.
        session_variable: What names the session there.
        settings: The folder of its settings: the variable that names it (or one above it), the default, and what is
            below that.
    """

    programs: Sequence[str] = ()
    says_version = True
    scopes: Sequence[str] = ("user",)
    is_grouped = True
    try_this = ""
    try_too = ""
    ends_shells_only = False
    off_switch = ""
    trust_server: Sequence[str] = ()
    why_no_hooks = ""
    tool_hooks_since: tuple[int, ...] = ()
    project_variable = ""
    session_variable = ""
    settings: tuple[str, str, str] = ("HOME", "~", "")

    def folder(self) -> Path:
        """The folder of its settings.

        Raises:
            LifecycleError: the home folder is not known.
        """
        from howcome.clients.wiring import directory

        variable, default, below = self.settings
        return directory(variable, default) / below

    @abstractmethod
    def files(self, install: Install, scope: str, root: str, options: Mapping[str, str]) -> list[Wired]:
        """What is put where for a scope (`root` is the project's) and some options of `init`."""
        ...

    def is_here(self) -> bool:
        """Whether the agent is on this machine."""
        import shutil

        return self.folder().is_dir() or any(shutil.which(program) for program in self.programs)

    def hint(self, scope: str) -> str:
        """What to do after `init` for a scope: what is the user's is no project's."""
        return self.try_this + (self.try_too if scope == "user" else "")

    def require_form(self, form: str) -> None:  # noqa: B027 - most agents know every form
        """Refuse a form of hooks (an option of `init`) that the agent on PATH may not know.

        Raises:
            LifecycleError: it says what to do instead.
        """

    def local_file(self, root: str) -> Path | None:
        """The file of a project that names this machine, and has no place in its repository."""
        return None

    def settings_in_effect(self, home: str, environment: Mapping[str, str], folder: str) -> list[str]:
        """The settings files that count in a folder, where `off_switch` is looked for."""
        return []

    def plugin_in(self, settings: Mapping[str, object]) -> str:
        """The command that takes out our plugin, which these settings switch on; '' where they do not."""
        return ""

    def untrusted(self, is_ours: Callable[[str], bool]) -> list[str]:
        """The events whose hooks of ours the agent skips without a word, as nobody has said that they may run."""
        return []

    def hook_noted_ms(self, path: str, command: str) -> int:
        """When a transcript last notes that a hook with `command` in its own ran, in UTC ms; 0: it does not."""
        return 0


class Client:
    """One agent.

    Args:
        name: Its name in commands, in the store and in `--agent`.
        title: Its name for people.
        wiring: How it is connected.
        history: Where its transcripts are; None for an agent that leaves none, whose hooks are observed.
        hooks: Its event → how that is served, in the order in which `init` writes them.
    """

    def __init__(
        self,
        name: str,
        title: str,
        *,
        wiring: Wiring,
        history: History | None = None,
        hooks: Mapping[str, Hook] | None = None,
    ) -> None:
        self.name, self.title, self.wiring, self.history = name, title, wiring, history
        self.hooks: Mapping[str, Hook] = hooks or {}

    def wired_hooks(self) -> dict[str, Hook]:
        """The events that `init` installs."""
        return {event: hook for event, hook in self.hooks.items() if hook.is_wired}

    def is_called(self, environment: Mapping[str, str]) -> bool:
        """Whether it is the agent itself that runs a hook, by the hook's environment: others run its hooks, too."""
        return True

    def heard(self, event: str, payload: Payload) -> Payload | None:
        """A payload by the common names of its fields; None for one that is not this agent's, or of another event.

        They are `hook_event_name`, `session_id`, `transcript_path`, `cwd` and `prompt`.
        """
        return payload if payload.get("hook_event_name") == event and not is_cursors(payload) else None

    def observation(self, payload: Payload) -> dict[str, object]:
        """What a payload says, as an observation (`observed.check_observation`); {} for nothing."""
        return {}


# -- sources by their names: a transcript's path, or `<database>#<session>` --------------------------------------------
class Status:
    """What tells whether a source has changed since it was read: its size on disk in bytes, and its age.

    The size of a session within a database is the count of its rows: it is only ever compared. Where a client's session
    is no file of lines its source stands for the lines that it unfolds into (`History.open_lines`): offsets and byte
    accounts count those.
    """

    def __init__(self, size_bytes: int, mtime_ns: int) -> None:
        self.size_bytes, self.mtime_ns = size_bytes, mtime_ns


def files_below(root: str, is_wanted: Callable[[str], bool]) -> Iterator[str]:
    """The files in a folder and all that are in it, in the order of their names."""
    for folder, folders, names in os.walk(root):
        folders.sort()
        paths = (os.path.join(folder, name) for name in sorted(names))
        yield from (path for path in paths if is_wanted(path))


def names_in(folder: str) -> list[str]:
    """The names in a folder, in their order; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def is_database(path: str) -> bool:
    """Whether this is the name of a database: not of its log or a copy."""
    return path.endswith(DATABASE_SUFFIXES)


def split_member(path: str) -> tuple[str, str] | None:
    """The database and the session of `<database>#<session>`; None for any other path."""
    database, _, session = path.rpartition("#")
    return (database, session) if is_database(database) and "/" not in session else None


def is_plain(path: str) -> bool:
    """Whether a source's lines lie in its file as they are: only then do its offsets count bytes on disk."""
    return path.endswith(".jsonl") or not (path.endswith((".gz", ".json")) or is_database(path) or split_member(path))


def is_there(path: str) -> bool:
    """Whether the file behind a source exists; a session within a database counts as long as that is there."""
    member = split_member(path)
    return os.path.lexists(member[0] if member else path)
