"""What the agents' own files say of howcome: hook commands, tool hooks, the server's entry, what is switched off."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from howcome import wiring as lifecycle
from howcome.clients.base import Client
from howcome.clients.registry import DEFAULT, clients, names
from howcome.clients.wiring import SERVER, SERVER_ENTRY, TABLE
from howcome.doctor.facts import edit, quoted
from howcome.wiring.atomic_files import decoded
from howcome.wiring.commands import LAUNCHERS, is_server, without_guard
from howcome.wiring.json_text import JsonText, value_at
from howcome.wiring.parts import Merged, Whole

TYPE_CHECKING = False
if TYPE_CHECKING:  # `status` reads who is wired without what a check needs
    from howcome.doctor.base import Machine


class ServerEntry(NamedTuple):
    """How an agent starts the MCP server."""

    path: str
    words: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


class Wiring:
    """What the files of one agent in one scope hold of howcome's; `settings` is the file in which its hooks stand."""

    def __init__(self, owner: lifecycle.Owner) -> None:
        self.owner, self.settings = owner, ""
        self.commands: dict[str, str] = {}
        self.tool_events: list[str] = []
        self.server: ServerEntry | None = None

    @property
    def is_connected(self) -> bool:
        """Whether anything of ours is there."""
        return bool(self.commands or self.tool_events or self.server)

    @property
    def events(self) -> list[str]:
        """The events with a hook of ours."""
        return sorted({*self.commands, *self.tool_events})


def remedy_of(owner: lifecycle.Owner) -> str:
    """What writes an agent's entries as they should be."""
    agent = "" if owner.agent == DEFAULT else f" --agent {owner.agent}"
    if owner.scope == "project":
        return f"cd {quoted(owner.root)} && howcome init{agent} --scope project"
    return f"howcome init{agent}"


def server_remedy(wiring: Wiring) -> str:
    """What puts the server's entry right: one that is somebody else's is left alone by `init`."""
    if wiring.server is None or is_server(wiring.server.words):
        return remedy_of(wiring.owner)
    return f"{edit(wiring.server.path)}  # take {SERVER} out; then {remedy_of(wiring.owner)}"


def read_wirings() -> list[Wiring]:
    """Every agent in the user's scope and in those where it was installed, as far as its files can be read."""
    users = [lifecycle.Owner(agent) for agent in names()]
    owners = {(owner.agent, owner.scope, owner.root): owner for owner in (*users, *lifecycle.recorded_owners())}
    return [_read(owner) for owner in owners.values()]


def _read(owner: lifecycle.Owner) -> Wiring:
    wiring = Wiring(owner)
    for part in lifecycle.parts_of(owner):
        if isinstance(part, Whole) and part.path.suffix == ".json":
            _read_hooks(str(part.path), _settings(str(part.path)), wiring)
        if isinstance(part, Merged):
            try:
                values = part.format.values(decoded(part.path.read_bytes())[1])
            except (OSError, ValueError, RecursionError):  # `lifecycle.inspect` names the place
                continue
            _read_hooks(str(part.path), values, wiring)
            for entry in part.entries:
                if entry.kind in (SERVER_ENTRY, TABLE):
                    wiring.server = _server_entry(str(part.path), value_at(values, entry.path)) or wiring.server
    return wiring


def _read_hooks(path: str, values: Mapping[str, object], wiring: Wiring) -> None:
    hooks = values.get("hooks")
    for event, entries in hooks.items() if isinstance(hooks, dict) else ():
        for handler in _objects(entries):
            command = handler.get("command")
            if isinstance(command, str) and any(launcher in command for launcher in LAUNCHERS):
                wiring.commands.setdefault(str(event), command)
                wiring.settings = path
            if handler.get("type") == "mcp_tool" and handler.get("server") == SERVER:
                wiring.tool_events.append(str(event))


def _objects(value: object) -> Iterator[dict[str, object]]:
    """Every object in a JSON value, outermost first."""
    if isinstance(value, dict):
        yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for item in inner:
        yield from _objects(item)


def _server_entry(path: str, entry: object) -> ServerEntry | None:
    """The server's entry, whichever agent's form it has."""
    if not isinstance(entry, dict):
        return None
    command, arguments = entry.get("command"), entry.get("args")
    words = command if isinstance(command, list) else [command, *(arguments if isinstance(arguments, list) else [])]
    variables = entry.get("env") or entry.get("environment")
    named = variables.items() if isinstance(variables, dict) else ()
    environment = tuple((str(name), str(value)) for name, value in named)
    return ServerEntry(path, tuple(str(word) for word in words if word), environment)


class Launch(NamedTuple):
    """What a hook's command starts, without its event and the end that hides its exit code."""

    environment: tuple[tuple[str, str], ...]
    words: tuple[str, ...]

    @property
    def interpreter(self) -> str:
        """The program."""
        return self.words[0]

    @property
    def script(self) -> str:
        """launch.py."""
        return self.words[-1]


def launch_of(command: str) -> Launch | None:
    """A hook's command taken apart; None when it is no command of ours."""
    try:
        words = without_guard(shlex.split(command))
    except ValueError:
        return None
    place = next((number for number, word in enumerate(words) if word.endswith(LAUNCHERS)), None)
    if place is None:
        return None
    first = next((number for number, word in enumerate(words) if "=" not in word.partition("/")[0]), 0)
    variables = tuple((name, value) for name, _, value in (word.partition("=") for word in words[:first]))
    return Launch(variables, tuple(words[first : place + 1])) if first < place else None


def disabling_files(machine: Machine, folder: str) -> list[tuple[str, str]]:
    """Settings files in effect in a folder that switch every hook of an agent off, and the setting that does."""
    found = ((path, client.wiring.off_switch) for client, path in _in_effect(machine, folder))
    return [(path, setting) for path, setting in found if says(path, setting)]


def enabled_plugins(machine: Machine, folder: str) -> dict[str, str]:
    """The agents that have howcome as a plugin in a folder, with the command that takes it out."""
    return {
        client.name: command
        for client, path in _in_effect(machine, folder)
        if (command := client.wiring.plugin_in(_settings(path)))
    }


def _in_effect(machine: Machine, folder: str) -> Iterator[tuple[Client, str]]:
    """Every settings file in effect in a folder, with its agent."""
    for client in clients():
        for path in client.wiring.settings_in_effect(machine.user_home, machine.environment, folder):
            yield client, path


def says(path: str, setting: str) -> bool:
    """Whether a settings file says that something is true; not for one that cannot be read."""
    return _settings(path).get(setting) is True


def _settings(path: str) -> dict[str, object]:
    """What a settings file says; nothing where it cannot be read."""
    try:
        with open(path, "rb") as stream:
            text = JsonText(decoded(stream.read())[1], comments=path.endswith(".jsonc")).plain
        values = json.loads(text)
    except (OSError, ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
