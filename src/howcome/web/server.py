"""The viewer's process: a random port on this machine only, and an end with the terminal or when nobody looks."""

from __future__ import annotations

import asyncio
import os
import select
import signal
import socket
import time
from typing import TYPE_CHECKING

import uvicorn

from howcome.web.guard import ADDRESS, Keys
from howcome.web.viewer import Viewer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LOOK_S = 0.5
"""How often it looks whether its terminal and its starter are there."""

GRACE_S = 2


def serve(environment: Mapping[str, str], folder: str, idle_s: float, started: Callable[[str], None]) -> str:
    """Shows pages until the terminal, whoever started this or the interest is gone; why it ended.

    Args:
        environment: Variables of the user's shell.
        folder: Where the user is.
        idle_s: So long nobody may look.
        started: Is told the link as soon as it can be opened.
    """
    with socket.socket(
        socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP
    ) as listening:  # else asyncio delays answers
        listening.bind((ADDRESS, 0))
        keys = Keys(listening.getsockname()[1])
        viewer = Viewer(environment, folder, keys)
        config = uvicorn.Config(
            viewer.answers, lifespan="off", ws="none", http="h11", log_config=None, log_level="error",
            access_log=False, server_header=False, date_header=False, proxy_headers=False,
            timeout_graceful_shutdown=GRACE_S,
        )  # fmt: skip
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C: the store is closed before the end
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a browser that goes away ends nothing
        try:
            viewer.prepare()
            listening.listen()
            started(keys.link)
            return asyncio.run(_serve(uvicorn.Server(config), listening, viewer, idle_s))
        except KeyboardInterrupt:
            return "interrupted"
        finally:
            viewer.close()


async def _serve(server: uvicorn.Server, listening: socket.socket, viewer: Viewer, idle_s: float) -> str:
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:
        asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, setattr, server, "should_exit", True)
    ends = asyncio.create_task(_end(server, viewer, idle_s))
    await server.serve(sockets=[listening])
    ends.cancel()
    return ends.result() if ends.done() and not ends.cancelled() else "stopped"


async def _end(server: uvicorn.Server, viewer: Viewer, idle_s: float) -> str:
    """Waits until there is a reason to end, and ends the server."""
    parent, terminal = os.getppid(), select.poll()
    terminal.register(0, 0)
    reason = ""
    while not reason:
        await asyncio.sleep(LOOK_S)
        if os.getppid() != parent:
            reason = "whoever started it is gone"
        elif any(state & (select.POLLHUP | select.POLLERR) for _, state in terminal.poll(0)):
            reason = "its terminal is gone"
        elif time.monotonic() - viewer.looked_s > idle_s:
            reason = "nobody looked"
    server.should_exit = True
    return reason
