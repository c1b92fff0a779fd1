"""The team server's process: TLS or this machine only, clients that dawdle are let go, an end without leftovers."""

from __future__ import annotations

import ipaddress
import json
import logging
import signal
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from howcome.errors import UsageError
from howcome.teams.shelf import Shelf
from howcome.web.team_door import Door, now

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

HEADER_S, IDLE_S, GRACE_S = 10, 10, 5
"""So long a client may take to ask, may stay without asking, and a request may take when the server ends."""

MAX_HEADER_BYTES, MAX_CLIENTS = 16 << 10, 200


@dataclass(frozen=True, slots=True)
class Place:
    """Where the server listens: an address and a port (0: any), names it answers to, and files of a certificate."""

    address: str
    port: int
    names: Sequence[str] = ()
    certificate: str = ""
    key: str = ""


class _Log(logging.Handler):
    """What libraries say, as lines like those of requests; of an error only its kind, as it may quote what was said."""

    def __init__(self, log: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._log = log

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        facts = {"time": now(), "level": record.levelname.lower(), "said": record.getMessage(), "error": error}
        self._log(json.dumps(facts, ensure_ascii=False))


class _Impatient(H11Protocol):
    """Lets go who has connected, or begun to ask, and does not go on."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        super().connection_lost(exc)

    def _watch(self) -> None:
        is_asking = self.conn.their_state is h11.IDLE
        if is_asking and self._timer is None:
            self._timer = self.loop.call_later(HEADER_S, self.transport.close)
        elif not is_asking and self._timer is not None:
            self._timer.cancel()
            self._timer = None


def run(shelf: Shelf, place: Place, started: Callable[[str, str], None], log: Callable[[str], None]) -> None:
    """Serves a team until SIGTERM or Ctrl-C.

    Args:
        shelf: The memories; it is opened and closed here.
        place: Where to listen.
        started: Is told the server's URL, and the address and port that it listens on, when it can be asked.
        log: Is given a line of JSON for each request.

    Raises:
        UsageError: the address cannot be had, or nobody but this machine may be served there without TLS.
        StoreError: the database does not keep teams apart, or does not answer.
    """
    is_secure = bool(place.certificate)
    if not is_secure and not _is_loopback(place.address):
        raise UsageError(
            f"{place.address}: tokens would cross the network unencrypted. Give --cert and --key, or listen on"
            " 127.0.0.1 behind a proxy that has them (with --name)"
        )
    family = socket.AF_INET6 if ":" in place.address else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((place.address, place.port))
        except OSError as error:
            raise UsageError(f"{place.address}:{place.port} cannot be listened on: {error.strerror}") from error
        shelf.open()
        try:
            _serve(shelf, place, listening, started, log)
        finally:
            shelf.close()


def _serve(
    shelf: Shelf,
    place: Place,
    listening: socket.socket,
    started: Callable[[str, str], None],
    log: Callable[[str], None],
) -> None:
    scheme, port = "https" if place.certificate else "http", listening.getsockname()[1]
    address = f"[{place.address}]" if ":" in place.address else place.address
    hosts = [f"{address}:{port}", *([f"localhost:{port}"] if _is_loopback(place.address) else []), *place.names]
    config = uvicorn.Config(
        Door(shelf, hosts, scheme, log), http=_Impatient, ws="none", lifespan="on",
        log_config=None, log_level="error", access_log=False, server_header=False, date_header=False,
        proxy_headers=False, timeout_keep_alive=IDLE_S, timeout_graceful_shutdown=GRACE_S,
        limit_concurrency=MAX_CLIENTS,
        h11_max_incomplete_event_size=MAX_HEADER_BYTES,
        ssl_certfile=place.certificate or None, ssl_keyfile=place.key or None,
    )  # fmt: skip
    try:
        config.load()
    except (OSError, ssl.SSLError) as error:
        raise UsageError(f"the certificate cannot be used: {error}") from error
    logging.basicConfig(handlers=[_Log(log)], level=logging.WARNING)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a command ends with its reader; a client that goes ends nothing
    listening.listen()
    started(f"{scheme}://{(place.names or hosts)[0]}", f"{address}:{port}")
    uvicorn.Server(config).run(sockets=[listening])


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError as error:
        raise UsageError(f"{address}: an IP address is wanted, like 127.0.0.1 or 0.0.0.0") from error
