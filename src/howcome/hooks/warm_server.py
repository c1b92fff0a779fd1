"""The other end of `warm_client`: a thread of the MCP server that answers prompts' hooks from a process that is warm.

The store is opened anew for each question: that costs 2 ms of 16, and nothing can be stale, whoever wrote, rebuilt or
replaced it. Who asks is checked by the kernel's word on the other end's user, and what was answered is recorded only
when the hook has taken it: a hook that lost patience answers by itself, and records that.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from contextlib import suppress

from howcome import __version__
from howcome.clients.registry import hook_of
from howcome.errors import ProviderError
from howcome.hooks.process import decode_payload
from howcome.present import warm_client
from howcome.present.guarded import guarded
from howcome.settings import SOCKET_NAME, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket as connection_type

    from howcome.hooks.handlers import Reply
    from howcome.present.patience import Patience
    from howcome.present.shared_embedder import SharedEmbedder

PATIENCE_S = warm_client.MAX_WAIT_S
"""No connection is listened to for longer: a hook is gone by then."""

_BACKLOG = 16


class WarmServer:
    """Answers hooks over the socket in `home`, one at a time; only whoever holds the worker's lock may run one.

    Args:
        home: Where the store is.
        patience: Who works beside it gives way.
        embedder: The process's; without it prompts are answered by words alone.
    """

    def __init__(self, home: str, patience: Patience, embedder: SharedEmbedder | None = None) -> None:
        self._home, self._patience, self._embedder = home, patience, embedder
        self._file: os.stat_result | None = None
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._wake, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._run, name="howcome-hooks", daemon=True)

    def start(self) -> bool:
        """Binds the socket and answers from now on; False where no socket can be (the hooks do without)."""
        path = os.path.join(self._home, SOCKET_NAME)
        try:
            with suppress(FileNotFoundError):
                os.unlink(path)  # its owner is dead: the lock is ours
            warm_client.at_socket(self._home, self._listener.bind)
            self._file = os.lstat(path)
            os.chmod(path, 0o600)
            self._listener.listen(_BACKLOG)
        except OSError:
            return False
        self._thread.start()
        return True

    def stop(self, timeout_s: float = 0.2) -> None:
        """Takes the socket away, unless another server's is in its place; an answer under way is finished."""
        if self._thread.is_alive():
            path = os.path.join(self._home, SOCKET_NAME)
            with suppress(OSError):
                if self._file is not None and os.path.samestat(self._file, os.lstat(path)):
                    os.unlink(path)
            self._wake.send(b".")
            self._thread.join(timeout_s)
        if not self._thread.is_alive():
            for each in (self._listener, self._wake, self._woken):
                each.close()

    def _run(self) -> None:
        with self._listener:  # whatever ends this thread: nobody waits for an answer that will not come
            while True:
                ready, _, _ = select.select([self._listener, self._woken], [], [])
                if self._woken in ready:
                    return
                guarded("socket", self._take_one, self._home)

    def _take_one(self) -> None:
        connection, _ = self._listener.accept()
        with connection, suppress(OSError, ValueError):  # gone, too slow, or not speaking this protocol: not answered
            if warm_client.peer_uid(connection) == os.geteuid():
                self._serve(connection, time.monotonic() + PATIENCE_S)

    def _serve(self, connection: connection_type, deadline: float) -> None:
        request = _read_request(connection, deadline)
        if request is None:
            return
        if request[0] == warm_client.EMBED:
            self._embed(connection, request[2], request[3], deadline)
            return
        with self._patience.somebody_waits():
            reply = guarded(request[0], lambda: self._reply(*request, deadline), self._home)
        if reply is None:
            return
        try:
            if _send(connection, reply.text.encode("utf-8", "replace"), deadline):
                reply.record()
        finally:
            reply.close()

    def _embed(self, connection: connection_type, variables: dict[str, str], payload: bytes, deadline: float) -> None:
        """Another server's question as a vector; nothing while the embedder is being loaded or busy."""
        settings = read_settings({**variables, "HOWCOME_HOME": self._home})
        if self._embedder is None or settings.disable or settings.embedding in ("off", "http"):
            return
        found = self._embedder.for_prompts(settings)
        answer = b""
        if found is not None:
            from howcome.present.shared_embedder import encoded

            with self._patience.somebody_waits(), suppress(ProviderError):
                answer = encoded(found.name, found.embed([payload.decode("utf-8", "replace")])[0])
        _send(connection, answer, deadline)

    def _reply(
        self, event: str, agent: str, variables: dict[str, str], payload: bytes, deadline: float
    ) -> Reply | None:
        """What this process would answer if it were the hook: under the hook's settings, not under its own."""
        from howcome.hooks.handlers import prepare

        settings = read_settings({**variables, "HOWCOME_HOME": self._home})
        decoded = decode_payload(payload)
        if decoded is None or settings.disable:  # half a payload, perhaps: the hook reads on
            return None
        return prepare(event, decoded, settings, deadline, agent, self._embedder)


def _send(connection: connection_type, answer: bytes, deadline: float) -> bool:
    """Whether an answer was taken."""
    warm_client.wait_until(connection, deadline)
    connection.sendall(b"%d\n%s" % (len(answer), answer))
    return connection.recv(1) == warm_client.ACK


def _read_request(connection: connection_type, deadline: float) -> tuple[str, str, dict[str, str], bytes] | None:
    """(event, agent, variables, payload); None when it is another version's, too large, or no request at all."""
    line, data = warm_client.read_line(connection, warm_client.MAX_HEADER_BYTES, deadline)
    words = line.decode("ascii", "replace").split(" ")
    if len(words) != 7 or words[:3] != ["howcome", str(warm_client.PROTOCOL), __version__]:
        return None
    event, agent, variables_bytes, payload_bytes = words[3], words[4], int(words[5]), int(words[6])
    if event != warm_client.EMBED and not warm_client.is_worth_asking(hook_of(agent, event)):
        return None
    if not 0 <= variables_bytes <= warm_client.MAX_VARIABLES_BYTES:
        return None
    if not 0 <= payload_bytes <= warm_client.MAX_PAYLOAD_BYTES:
        return None
    data = warm_client.read_exactly(connection, data, variables_bytes + payload_bytes, deadline)
    pairs = [os.fsdecode(pair).partition("=") for pair in data[:variables_bytes].split(b"\0") if pair]
    return event, agent, {name: value for name, _, value in pairs}, data[variables_bytes:]
