"""The agents by their names; each module is imported when its agent is asked for."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
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
