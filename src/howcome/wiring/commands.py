"""How an agent starts howcome: a hook's shell command, the words of the MCP server, and how to know them again."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from howcome.clients.registry import DEFAULT, client_of
from howcome.clients.wiring import Entry, directory
from howcome.wiring.install_record import State

LAUNCHERS = ("howcome/launch.py", "howcome/present/launch.py")
"""By these parts of a command it is known as one of ours: where the script is, and where it was."""

_ISOLATED = ["-I", "-S", "-E"]
_QUIET = "2>/dev/null"
_HARMLESS = [_QUIET, "||", "true"]
"""Python exits 2 when its script is gone, and 2 blocks the user's prompt; this end makes a leftover hook harmless."""

_REPLACED = ["||", "exit", "0;"]
"""The same where the hook takes its shell's place: `test -f SCRIPT || exit 0; exec …`."""

IDENTITY = ("type", "command", "args", "server", "tool", "input")
"""What makes an entry start this howcome; all else is its user's to change."""
ENVIRONMENTS = ("env", "environment")


def hook_command(event: str, agent: str = DEFAULT) -> str:
    """The shell command of one hook: quick to start, always exit 0, harmless once howcome is gone."""
    words = [*_launcher(), event, *([] if agent == DEFAULT else ["--agent", agent])]
    home = server_environment().get("HOWCOME_HOME")
    where = [] if home is None else [f"HOWCOME_HOME={shlex.quote(home)}"]
    client = client_of(agent)
    if client is not None and client.wiring.ends_shells_only:
        guard = ["test", "-f", shlex.quote(_script()), *_REPLACED]
        return " ".join([*guard, *where, "exec", shlex.join(words), _QUIET])
    return " ".join([*where, shlex.join(words), *_HARMLESS])


def server_words() -> list[str]:
    """The command line of the MCP server."""
    return [*_launcher(), "mcp"]


def server_environment() -> dict[str, str]:
    """What the MCP server's environment must say: where the store is, when that is not the default place."""
    home = howcome_home()
    is_default = not os.environ.get("HOWCOME_HOME") or home == Path("~/.howcome").expanduser()
    return {} if is_default else {"HOWCOME_HOME": str(home)}


def howcome_home() -> Path:
    """The directory that holds everything howcome keeps."""
    return directory("HOWCOME_HOME", "~/.howcome")


def is_hook(command: str, event: str | None = None) -> bool:
    """Whether a shell command has the shape of our hooks' (of one event's, or of any)."""
    words = _shell_words(command) if any(launcher in command for launcher in LAUNCHERS) else []
    if words[-3:] == _HARMLESS:
        words = words[:-3]
    elif words[-1:] == [_QUIET] and words[3:6] == _REPLACED:
        words = words[:-1]
    else:
        return False
    words = words[:-2] if words[-2:-1] == ["--agent"] else words
    is_event = bool(words) and event in (None, words[-1])
    return is_event and words[-5:-2] == _ISOLATED and words[-2].endswith(LAUNCHERS)


def without_guard(words: list[str]) -> list[str]:
    """A hook's words without what stands before one that takes its shell's place."""
    return [word for word in words[6:] if word != "exec"] if words[3:6] == _REPLACED else words


def is_server(words: Sequence[object]) -> bool:
    """Whether words are our MCP server's command line."""
    launcher = words[-2] if len(words) > 1 else ""
    return isinstance(launcher, str) and launcher.endswith(LAUNCHERS) and words[-1] == "mcp"


def is_our_server(value: object, entry: Entry, known: Sequence[Entry]) -> bool:
    """Whether we wrote this server: by our record, or by what it starts."""
    if any(value == one.value for one in known if one.place == entry.place):
        return True
    if not isinstance(value, dict):
        return False
    command, arguments = value.get("command"), value.get("args", [])
    words = command if isinstance(command, list) else [command]
    return is_server([*words, *(arguments if isinstance(arguments, list) else [])])


def fits(actual: object, wanted: object) -> bool:
    """Whether an entry starts this howcome, whatever else its user changed in it."""
    if not isinstance(actual, dict) or not isinstance(wanted, dict):
        return actual == wanted
    if any(actual.get(key) != wanted.get(key) for key in IDENTITY):
        return False
    pairs = ((actual.get(key), wanted.get(key)) for key in ENVIRONMENTS)
    return all(not needed or (isinstance(has, dict) and has.items() >= needed.items()) for has, needed in pairs)


def standing(ours: Sequence[object], other: object, wanted: object) -> tuple[State, str]:
    """How an entry stands: by the values that are ours, else by what is in its place; and why."""
    if not ours:
        return ("missing", "") if other is None else ("foreign", "another server has this name")
    if wanted in ours:
        return "ok", ""
    if any(fits(one, wanted) for one in ours):
        return "edited", "changed by hand, and kept so"
    return "outdated", "does not start this howcome"


def hook_interpreter(command: str) -> str | None:
    """The interpreter that a hook command of ours starts; None when it is no such command."""
    if not is_hook(command):
        return None
    words = without_guard(_shell_words(command))
    return next((word for word in words if "=" not in word.split("/", 1)[0]), None)


def _shell_words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # no words that a shell would accept
        return []


def _launcher() -> list[str]:
    return [_interpreter(), *_ISOLATED, _script()]


def _script() -> str:
    return str(Path(__file__).absolute().parents[1] / "launch.py")


def _interpreter() -> str:
    """The running interpreter; links stay (a venv is found by them), a shim script gives way to what it starts."""
    path = os.path.abspath(sys.executable)
    with open(path, "rb") as file:
        is_script = file.read(2) == b"#!"
    return os.path.join(sys.prefix, "bin", f"python3.{sys.version_info.minor}") if is_script else path
