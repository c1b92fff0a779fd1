"""Every command by section, and how words are read without click, which takes as long to import as three Pythons.

A command is a function: each parameter's default declares its option or argument, with click's words. `read`
understands them as people type them. What it does not understand (help, a mistake, an abbreviation) is click's to
answer, for which `built` makes the command.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    import click

    Body = Callable[..., None]
    How = dict[str, Any]
    Part = tuple[tuple[str, ...] | None, How]  # an option's names (an argument has none), and how it is read


def option(*names: str, **how: object) -> Any:  # noqa: ANN401 - it stands where a value will
    """As `click.option`, but a `bool` is a flag, a default is shown, and a `type` may be a tuple of choices or a range.

    Its long name is the parameter's where none is given.
    """
    return names, how


def argument(**how: object) -> Any:  # noqa: ANN401 - it stands where a value will
    """As `click.argument`."""
    return None, how


JSON = option("--json", help="Print JSON.")
ALL_PROJECTS = option(help="Of every project, not only this folder's.")
SINCE = option(
    metavar="TIME",
    help="Only what is not older than TIME: a date, a time, or how long ago (2026-10-01, 2026-10-01T12:00Z, 7d, 12h).",
)
PROJECT = option(metavar="PROJECT", help="Of this project: its folder, or its name.")


class Declared:
    """A command (as `click.command` makes, under the function's name): its options and arguments, and what it does."""

    def __init__(self, body: Body) -> None:
        self.name, self.run = body.__name__.strip("_").replace("_", "-"), body
        parameters = zip(body.__code__.co_varnames, body.__defaults__ or (), strict=False)
        self._parts = {key: _named(key, part, body.__annotations__[key] == "bool") for key, part in parameters}

    def read(self, words: Sequence[str]) -> dict[str, object] | None:
        """The values that words give; None where click has to look at them."""
        keys = {name: key for key, (names, _) in self._parts.items() for name in names}
        values: How = {
            key: () if how.get("multiple") else how.get("default", False if how.get("is_flag") else None)
            for key, (_, how) in self._parts.items()
        }
        loose: list[str] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                loose += rest
            elif word == "-" or not word.startswith("-"):
                loose.append(word)
            else:
                name, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
                if (key := keys.get(name)) is None:
                    return None
                how = self._parts[key][1]
                given = _value(how, text if equals else None, rest)
                if given is None:
                    return None
                values[key] = (*values[key], given) if how.get("multiple") else given
        return values if self._placed(loose, values) else None

    def _placed(self, loose: list[str], values: How) -> bool:
        """Whether what is no option fits the argument; it is among the values then."""
        for key, how in ((key, how) for key, (names, how) in self._parts.items() if not names):
            if how.get("nargs") == -1:
                values[key], loose = tuple(loose), []
            elif loose:
                values[key] = loose.pop(0)
            if how.get("required", True) and not values[key]:
                return False
        return not loose

    def built(self) -> click.Command:
        """The same for click, which writes the help and says what is wrong."""
        import click

        made: Any = self.run
        for key, (names, how) in reversed(self._parts.items()):
            typed = {"type": _clicks(how["type"])} if "type" in how else {}
            made = (click.option if names else click.argument)(key, *names, **how | typed)(made)
        return click.command(self.name)(made)


command = Declared


def click_command(body: Body) -> click.Command:
    """The same of what click reads in any case."""
    return Declared(body).built()


def _named(key: str, part: Part, is_flag: bool) -> tuple[tuple[str, ...], How]:
    """The names of a parameter's option (none: it is an argument), and how it is read."""
    names, how = part
    if names is None:
        return (), how
    if not any(name.startswith("--") for name in names):
        names = (f"--{key.replace('_', '-')}", *names)
    more = {"is_flag": True} if is_flag else {"show_default": how.get("default", "") != ""}
    return names, {**more, **how}


def _clicks(kind: Any) -> Any:  # noqa: ANN401 - what click takes
    import click

    if isinstance(kind, range):
        return click.IntRange(kind.start, kind.stop - 1)
    return click.Choice(kind) if isinstance(kind, tuple) else kind


def _value(how: How, text: str | None, rest: Iterator[str]) -> object:
    """What an option is given, with `=` or as the next word; None where it cannot be that."""
    if how.get("is_flag"):
        return True if text is None else None
    text = next(rest, None) if text is None else text
    kind = how.get("type")
    if isinstance(kind, (type, range)):
        is_number = text and text.isascii() and text.isdigit() and (isinstance(kind, type) or int(text) in kind)
        return int(text or 0) if is_number else None
    return text if kind is None or text in kind else None


SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Set up": {
        "init": ("lifecycle", "Connect agents to their memory, and read the sessions that are already there."),
        "upgrade": ("lifecycle", "Bring the store and every install up to this version of howcome."),
        "doctor": ("doctor", "Find what is wrong, and say the remedy."),
        "status": ("status", "Show what is stored, what is unread, what went wrong."),
        "compact": ("whole_store", "Make the database smaller; drop whole texts of old tool traffic."),
        "backup": ("whole_store", "Copy the database to a file, or put a copy back."),
        "migrate": ("whole_store", "Copy the store to a server, or from one back to this machine."),
        "uninstall": ("lifecycle", "Disconnect agents from their memory; it stays, unless --purge is given."),
        "config": ("config", "Show and change settings."),
    },
    "Read transcripts": {
        "import": ("importing", "Read transcripts into the store."),
        "observe": ("observing", "Take observations of agents without transcripts (JSON on stdin)."),
        "projects": ("projects", "List projects; join two that are one, or keep them apart."),
    },
    "Find and read": {
        "search": ("searching", "Search what was said and done, best first."),
        "show": ("reading", "Show one event or memory with its whole text."),
        "timeline": ("reading", "List the latest sessions, or what happened in one."),
        "rationale": ("distilling", "What was asked, what was done, and why."),
        "blame": ("reading", "Why a line of a file is there: howcome FILE:LINE."),
        "history": ("reading", "What became of a file: edits, plans, commits."),
        "view": ("doors", "Show all of it in a browser; take back what is wrong."),
    },
    "What was said": {
        "try": ("why", "See what a new session would be told with a prompt, and why."),
        "why": ("why", "Say why a prompt was told what it was told, and no more."),
        "stats": ("stats", "Count what sessions did, what it cost, what precedes rework."),
        "patterns": ("stats", "What goes wrong again and again, what it costs, what helps."),
        "receipt": ("receipt", "Say what was injected, its tokens, and how often it was used."),
    },
    "Memories": {
        "distil": ("distilling", "Turn what sessions taught into memories."),
        "consolidate": ("distilling", "Merge memories that say the same; let sleep what nobody used; undo it."),
        "graduate": ("carrying", "Propose what is proven for CLAUDE.md, AGENTS.md or MEMORY.md; take it out."),
        "learnt": ("memories", "List what sessions taught, newest first; take it back."),
        "memories": ("memories", "List memories, newest first; say why one is there; pin, review."),
        "remember": ("remembering", "Keep one thing that later sessions should know."),
        "update": ("remembering", "Correct a memory: the old one stays in its chain."),
        "forget": ("remembering", "Take a memory out of every search; it can be restored."),
        "restore": ("remembering", "Bring a forgotten memory back."),
        "purge": ("remembering", "Erase a memory's text from disk, for good."),
        "export": ("carrying", "Write memories as JSON Lines."),
        "import-memories": ("carrying", "Read exported memories into this store."),
        "share": ("sharing", "Write memories into the repository, for your team to review."),
        "sync": ("sharing", "Bring memories to your other machines, and theirs here."),
    },
    "A team": {
        "team": ("team", "Share memories through a team's server; make and administer a team."),
        "serve": ("team", "Serve a team's memories, over HTTPS and MCP."),
    },
    "Search by meaning": {"model": ("model", "Get, show, use or remove the model for search by meaning.")},
    "Code": {"graph": ("projects", "Which file of a project imports which.")},
    "Spend": {"spending": ("spending", "Show what the language model cost; stop and allow it.")},
    "Measure": {
        "eval": ("evaluate", "Measure retrieval and redaction on data sets."),
        "replay": ("why", "See what would have been said in your own sessions."),
    },
    "For agents": {
        "mcp": ("doors", "Serve an agent's tools over MCP (stdio)."),
        "hook": ("doors", "Answer an agent's hook (payload on stdin)."),
    },
}
"""Every command by section: its module, and what a list says of it. Only the module that is asked for is imported."""


def names() -> list[str]:
    """Of every command."""
    return [name for commands in SECTIONS.values() for name in commands]


def command_of(name: str) -> Declared | click.Command | None:
    """The command of a name; None where there is none."""
    for commands in SECTIONS.values():
        if name in commands:
            found = vars(__import__(f"howcome.cli.{commands[name][0]}", fromlist=("",))).values()
            command: Declared | click.Command = next(one for one in found if getattr(one, "name", "") == name)
            return command
    return None
