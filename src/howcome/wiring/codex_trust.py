"""Trust in our hooks, given through Codex's own server: it runs no hook that nobody trusted, and says nothing.

Seen with 0.169: `codex app-server` speaks JSON-RPC in lines; it lists each hook with the hash of what it is now, and
keeps that hash as trusted when it is told to, as `/hooks` does.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import IO, Any

from howcome import __version__

LIMIT_S = 20.0
_ABOUT = {
    "clientInfo": {"name": "howcome", "title": "howcome", "version": __version__},
    "capabilities": {"experimentalApi": True},
}


def trust_hooks(server: Sequence[str], source: str, is_ours: Callable[[str], bool]) -> None:
    """Has Codex trust our hooks as they are now. Where it cannot be asked nothing happens: `/hooks` does the same.

    Args:
        server: The command line of its server.
        source: The file that our hooks stand in: a repository may have hooks, too, also such as look like ours.
        is_ours: Whether a hook's command there is ours, to the letter: whatever it is, it will be run.
    """
    import subprocess  # `status` loads this module, and starts nothing
    import threading

    with (
        suppress(OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration),
        subprocess.Popen(
            [*server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
    ):
        end = threading.Timer(LIMIT_S, process.kill)
        end.start()
        try:
            _trust(process.stdin, process.stdout, source, is_ours)
        finally:
            end.cancel()
            process.kill()


def _trust(to: IO[str] | None, by: IO[str] | None, source: str, is_ours: Callable[[str], bool]) -> None:
    if to is None or by is None:
        return

    def ask(number: int, method: str, params: object) -> Any:  # noqa: ANN401 - what the server answers
        to.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n")
        to.flush()
        return next(said for line in by if (said := json.loads(line)).get("id") == number)["result"]

    ask(1, "initialize", _ABOUT)
    listed = ask(2, "hooks/list", {"cwds": [os.path.dirname(source)]})["data"]
    hashes = {
        hook["key"]: {"trusted_hash": hook["currentHash"]}
        for hook in (hook for one in listed for hook in one["hooks"])
        if os.path.realpath(hook["sourcePath"]) == os.path.realpath(source) and is_ours(hook["command"] or "")
    }
    if hashes:
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": hashes}
        ask(3, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
