"""Trust in our hooks, given through Codex's own server: it runs no hook that nobody trusted, and says nothing.

Seen with 0.169: `codex app-server` speaks JSON-RPC in lines; it lists each hook with the hash of what it is now, and
keeps that hash as trusted when it is told to, as `/hooks` does.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from howcome import __version__

LIMIT_S = 20.0
_ABOUT = {
    "clientInfo": {"name": "howcome", "title": "howcome", "version": __version__},
    "capabilities": {"experimentalApi": True},
}


def trust_hooks(server: Sequence[str], folder: str, is_ours: Callable[[str], bool]) -> int:
    """Has Codex trust our hooks as they are now; how many. 0 where it cannot be asked: `/hooks` does the same.

    Args:
        server: The command line of its server.
        folder: The folder whose hooks it lists.
        is_ours: Whether a hook's command is ours.
    """
    import subprocess  # `status` loads this module, and starts nothing

    with (
        suppress(OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration),
        subprocess.Popen(
            [*server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
    ):
        end = threading.Timer(LIMIT_S, process.kill)
        end.start()
        try:
            return _trusted(process.stdin, process.stdout, folder, is_ours)
        finally:
            end.cancel()
            process.kill()
    return 0


def _trusted(to: IO[str] | None, by: IO[str] | None, folder: str, is_ours: Callable[[str], bool]) -> int:
    if to is None or by is None:
        return 0

    def ask(number: int, method: str, params: object) -> Any:  # noqa: ANN401 - what the server answers
        to.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        to.flush()
        return next(said for line in by if (said := json.loads(line)).get("id") == number)["result"]

    ask(1, "initialize", _ABOUT)
    listed = [hook for one in ask(2, "hooks/list", {"cwds": [folder]})["data"] for hook in one["hooks"]]
    hashes = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in listed if is_ours(hook["command"] or "")}
    if hashes:
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": hashes}
        ask(3, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
    return len(hashes)
