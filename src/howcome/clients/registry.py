"""The agents by their names; each module is imported when its agent is asked for.

A prompt's hook asks this, too: nothing dear is imported here.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from howcome.clients.base import Client, History
    from howcome.clients.hook import Hook


DEFAULT = "claude-code"
"""Who is meant where nobody is named."""

_KNOWN = (DEFAULT, "codex", "gemini", "cursor", "opencode", "copilot")
"""The name of a client's module is its own, with `_` for `-`; the client in it is `CLIENT`."""

_clients: dict[str, Client] = {}


def names() -> list[str]:
    """Every agent."""
    return [*_KNOWN, *(name for name in _clients if name not in _KNOWN)]


def client_of(name: str) -> Client | None:
    """An agent by its name; None for one that is not known here."""
    if name in _KNOWN and name not in _clients:
        # Not by importlib: loading that costs a prompt 1 ms.
        _clients[name] = __import__(f"howcome.clients.{name.replace('-', '_')}", fromlist=("CLIENT",)).CLIENT
    return _clients.get(name)


def hook_of(name: str, event: str) -> Hook | None:
    """How an agent's event is served; None for one that nobody handles."""
    client = client_of(name)
    return client.hooks.get(event) if client else None


def clients() -> list[Client]:
    """Every agent, all their modules imported."""
    return [client for name in names() if (client := client_of(name))]


def histories() -> dict[str, History]:
    """The agents that leave transcripts, and where."""
    return {client.name: client.history for client in clients() if client.history is not None}


def history_of(name: str) -> History:
    """Where an agent's transcripts are.

    Raises:
        LookupError: it is not known here, or leaves none.
    """
    client = client_of(name)
    if client is None or client.history is None:
        raise LookupError(name)
    return client.history


def register(client: Client) -> None:
    """Makes another agent known to this process."""
    _clients[client.name] = client


def is_clients(path: str, others: Iterable[str] = (), agent: str = DEFAULT) -> bool:
    """Whether a path is a file of this user below a client's folder (or one of `others`), with no link leading out.

    Whoever starts a hook names the path: it could be any file, whose words would be kept and said. Where `agent` keeps
    its own is asked first: mostly no other client has to be known.
    """
    try:
        status = os.stat(path)
        if not os.path.isabs(path) or not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        real = os.path.realpath(path)
    except (OSError, ValueError):  # not there, or a name that no file system holds
        return False
    from itertools import chain

    rest = (root for name in names() if name != agent for root in _roots(name))
    folders = (os.path.realpath(os.path.expanduser(root)) for root in chain(_roots(agent), others, rest))
    return any(real.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _roots(name: str) -> list[str]:
    client = client_of(name)
    history = client.history if client else None
    return history.roots(os.path.expanduser("~"), os.environ) if history else []
