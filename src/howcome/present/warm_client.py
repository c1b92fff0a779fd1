"""How a prompt's hook asks a process that is warm already: over a Unix socket in HOWCOME_HOME.

A request is one line `howcome PROTOCOL VERSION EVENT AGENT VARIABLES_BYTES PAYLOAD_BYTES`, then the hook's
HOWCOME_* variables (`NAME=value`, each ended by NUL), then the payload as it came in: nothing of it is decoded here,
because loading a JSON decoder costs a hook as much as the rest of it. An answer is one line `SIZE_BYTES`, then so many
bytes. The hook takes it by sending ACK, and only what was taken is recorded as said. Whatever is odd, late or missing
means None, and the hook does the work itself.
"""

from __future__ import annotations

import os
import sys
import time

from howcome import __version__
from howcome.clients.hook import PROMPTS
from howcome.settings import SOCKET_NAME

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable

    from howcome.clients.hook import Hook

PROTOCOL = 1
EMBED = "embed"
"""Stands for the event when another server wants the vector of a text (`shared_embedder`)."""

ACK = b"+"
MAX_WAIT_S = 0.5
"""How long a prompt waits for the warm process: its 16 ms of work take that long where many want the processor."""

EMBED_WAIT_S = 0.15
"""How long a server waits for another's vector: it can do without."""

MAX_HEADER_BYTES = 256
MAX_VARIABLES_BYTES = 64 << 10
MAX_PAYLOAD_BYTES = 1 << 20
MAX_ANSWER_BYTES = 256 << 10
_MAX_PATH_BYTES = 103
"""macOS's limit for a socket's name; Linux has 107."""

_PREFIX = "HOWCOME_"


def is_worth_asking(hook: Hook | None) -> bool:
    """Whether a person waits for the answer to an event."""
    return hook is not None and hook.handler in PROMPTS


def ask(home: str, event: str, agent: str, payload: bytes, limit_s: float) -> bytes | None:
    """The warm process's answer (b'' for nothing to say) within min(`limit_s`, MAX_WAIT_S); None when there is none."""
    if len(payload) > MAX_PAYLOAD_BYTES:
        return None
    import _socket

    deadline = time.monotonic() + min(limit_s, MAX_WAIT_S)
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        wait_until(connection, deadline)
        at_socket(home, connection.connect)
        if peer_uid(connection) != os.geteuid():
            return None
        connection.sendall(_request(event, agent, payload))
        line, data = read_line(connection, 16, deadline)
        if not 0 <= (size := int(line)) <= MAX_ANSWER_BYTES:
            return None
        answer = read_exactly(connection, data, size, deadline)
        connection.sendall(ACK)
    except (OSError, ValueError):  # nobody there, too late, gone in the middle, or not speaking this protocol
        return None
    finally:
        connection.close()
    return answer


def _request(event: str, agent: str, payload: bytes) -> bytes:
    variables = b"".join(
        os.fsencode(f"{name}={value}") + b"\0" for name, value in os.environ.items() if name.startswith(_PREFIX)
    )
    header = f"howcome {PROTOCOL} {__version__} {event} {agent} {len(variables)} {len(payload)}\n"
    return header.encode() + variables + payload


def read_line(connection: socket, limit: int, deadline: float) -> tuple[bytes, bytes]:
    """A connection's first line, of at most `limit` bytes (ValueError: there is none), and what came behind it.

    Raises OSError here and below: too late, or the connection failed.
    """
    data = b""
    while b"\n" not in data[:limit]:
        wait_until(connection, deadline)
        part = connection.recv(1 << 16)
        if not part or len(data) >= limit:
            raise ValueError("no line")
        data += part
    line, _, rest = data.partition(b"\n")
    return line, rest


def read_exactly(connection: socket, data: bytes, size: int, deadline: float) -> bytes:
    """`data` and what follows it on a connection, `size` bytes in all (ValueError: it is less, or more)."""
    parts, missing = [data], size - len(data)
    while missing > 0:
        wait_until(connection, deadline)
        part = connection.recv(min(missing, 1 << 16))
        if not part:
            raise ValueError("it ended early")
        parts.append(part)
        missing -= len(part)
    if missing:
        raise ValueError("too much")
    return b"".join(parts)


def wait_until(connection: socket, deadline: float) -> None:
    """Lets the next step on a connection take no longer than until `deadline` (`time.monotonic()`)."""
    connection.settimeout(max(0.0001, deadline - time.monotonic()))


def at_socket(home: str, use: Callable[[bytes], object]) -> None:
    """Calls `use` (bind or connect) with the socket's address; a path that is too long for one goes by its folder."""
    path = os.fsencode(os.path.join(home, SOCKET_NAME))
    if len(path) <= _MAX_PATH_BYTES:
        use(path)
        return
    folder = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        use(f"/proc/self/fd/{folder}/{SOCKET_NAME}".encode())
    finally:
        os.close(folder)


def peer_uid(connection: socket) -> int:
    """The user id of the process at the other end (OSError: this system does not say)."""
    import _socket

    if hasattr(_socket, "SO_PEERCRED"):  # Linux: struct ucred, pid uid gid
        credentials = connection.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12)
    else:  # macOS: SOL_LOCAL, LOCAL_PEERCRED: struct xucred, version uid …
        credentials = connection.getsockopt(0, 1, 76)
    return int.from_bytes(credentials[4:8], sys.byteorder)
