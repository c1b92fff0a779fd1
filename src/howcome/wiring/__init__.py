"""Connecting agents to their memory, and disconnecting them without a trace.

Settings files belong to their users. So they are edited as text: entries are inserted and cut, everything else keeps
its bytes. The agents' objects (`clients/`) say what is put where, `engine` puts it there and takes it out,
`install_record` keeps what was there before, and the rest knows one kind of file or entry each.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from howcome import __version__
from howcome.clients.base import Client
from howcome.clients.registry import DEFAULT, client_of
from howcome.clients.wiring import BLOCK, TABLE, Form, Install, OwnFile
from howcome.errors import UsageError
from howcome.wiring.commands import (
    hook_command,
    hook_interpreter,
    howcome_home,
    is_hook,
    server_environment,
    server_words,
)
from howcome.wiring.engine import FileReport, PartState, install, uninstall
from howcome.wiring.engine import inspect as inspect_parts
from howcome.wiring.install_record import Owner, Record, Records, owned_by
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.parts import Format, Merged, Part, TextBlock, Whole
from howcome.wiring.toml_entries import TomlEntries

__all__ = [
    "FileReport", "Owner", "PartState", "hook_command", "hook_interpreter", "howcome_home", "install", "server_words",
    "uninstall",
]  # fmt: skip
"""What is of other modules here, beside what stands below."""

GRADUATED = "graduated memories"
"""The owner of blocks in memory files: no agent."""


def agent_of(owner: Owner) -> Client:
    """The agent that something is wired for."""
    client = client_of(owner.agent)
    if client is None:
        raise UsageError(f"{owner.agent}: this howcome knows no such agent")
    return client


def parts_of(owner: Owner) -> list[Part]:
    """What wires an agent in a scope."""
    agent = agent_of(owner)
    if owner.scope not in agent.wiring.scopes:
        raise UsageError(
            f"{agent.title} has no settings of a project that are the user's own; leave --scope {owner.scope} out"
        )
    started = Install(lambda event: hook_command(event, owner.agent), server_words(), server_environment(), is_hook)
    files = agent.wiring.files(started, owner.scope, owner.root, owner.options)
    return [
        Whole(file.path, file.content, file.what)
        if isinstance(file, OwnFile)
        else Merged(file.path, file.entries, _format(agent, file.form))
        for file in files
    ]


def _format(agent: Client | None, form: Form) -> Format:
    is_grouped = agent is None or agent.wiring.is_grouped
    if form == "toml":
        return TomlEntries()
    return JsonEntries(comments=form != "json", grouped=is_grouped, trailing_commas=form == "jsonc")


def is_distrusted(owner: Owner) -> bool:
    """Whether an agent skips hooks of ours until somebody trusts them."""
    return bool(agent_of(owner).wiring.untrusted(is_hook))


def trust(owner: Owner) -> bool:
    """Has an agent that asks for it trust our hooks as they are now; False where its user has to do that."""
    from shutil import which

    agent = agent_of(owner)
    server, ours = agent.wiring.trust_server, {hook_command(event, agent.name) for event in agent.wired_hooks()}
    if server and which(server[0]) is not None:
        trust_hooks(server, str(agent.wiring.folder() / "hooks.json"), ours.__contains__)
    return not is_distrusted(owner)


def recorded_owners(agents: Sequence[str] | None = None, *, with_gone: bool = False) -> list[Owner]:
    """For whom something is installed, by the records; projects that are gone since only `with_gone`."""
    owners = owned_by(Records(howcome_home()).all(), agents)
    known = [owner for owner in owners if (agent := client_of(owner.agent)) and owner.scope in agent.wiring.scopes]
    return [owner for owner in known if with_gone or not owner.root or os.path.isdir(owner.root)]


def graduated_owners() -> list[Owner]:
    """The projects in whose memory files a block of ours stands, by the records."""
    return owned_by(Records(howcome_home()).all(), [GRADUATED])


def other_owners(owners: Sequence[Owner]) -> list[Owner]:
    """For whom something stays installed without some owners, by the records; agents that are not known here too."""
    return [owner for owner in owned_by(Records(howcome_home()).all()) if owner not in owners]


def title_of(owner: Owner) -> str:
    """An owner's name for people; the word of the record when a newer howcome wrote it."""
    agent = client_of(owner.agent)
    return agent.title if agent else owner.agent


def inspect(agents: Sequence[str] | None = None) -> list[PartState]:
    """How the wiring of every recorded install stands (of some agents, or of all); nothing is written.

    Without any record, what `howcome init` would have installed is looked for: lost records show what is there.
    """
    owners = recorded_owners(agents) or ([Owner(DEFAULT)] if agents in (None, [DEFAULT]) else [])
    return [state for owner in owners for state in inspect_parts(owner, parts_of(owner), howcome_home())]


def wired_parts(owner: Owner) -> list[Part]:
    """What has to be looked through to undo an install: its parts, and files of its records that are elsewhere now."""
    parts = [] if owner.agent == GRADUATED else parts_of(owner)
    here = {os.path.abspath(part.path) for part in parts}
    records = [record for record in Records(howcome_home()).all() if owner in record.owners]
    return parts + [recorded_part(owner, record) for record in records if record.path not in here]


def elsewhere(owner: Owner) -> list[str]:
    """Where an install is when none of its files is where the agent's settings are now: the paths of its records.

    Its folder was named by a variable then (such as CLAUDE_CONFIG_DIR) that says something else now.
    """
    recorded = [record.path for record in Records(howcome_home()).all() if owner in record.owners]
    here = {os.path.abspath(part.path) for part in parts_of(owner)}
    return [] if here & set(recorded) else recorded


def recorded_part(owner: Owner, record: Record) -> Part:
    """What an owner has in one file, by its record alone."""
    entries = record.entries(owner)
    if not entries:
        return Whole(Path(record.path), b"", "file")
    if any(entry.kind == BLOCK for entry in entries):
        return Merged(Path(record.path), entries, TextBlock())
    form: Form = "toml" if any(entry.kind == TABLE for entry in entries) else "jsonc"
    return Merged(Path(record.path), entries, _format(client_of(owner.agent), form))


# -- trust: Codex runs no hook that nobody trusted, and says nothing ------------------------------------------------
TRUST_LIMIT_S = 20.0
_ABOUT_US = {
    "clientInfo": {"name": "howcome", "title": "howcome", "version": __version__},
    "capabilities": {"experimentalApi": True},
}


def trust_hooks(server: Sequence[str], source: str, is_ours: Callable[[str], bool]) -> None:
    """Has Codex trust our hooks as they are now. Where it cannot be asked nothing happens: `/hooks` does the same.

    Seen with 0.169: `codex app-server` (`server`) speaks JSON-RPC in lines; it lists each hook with the hash of what it
    is now, and keeps that hash as trusted when it is told to, as `/hooks` does. A repository may have hooks, too, also
    such as look like ours: only those count that stand in `source` and are ours to the letter.
    """
    import subprocess  # `status` loads this module, and starts nothing
    import threading

    with (
        suppress(OSError, ValueError, LookupError, TypeError, AttributeError, StopIteration),
        subprocess.Popen(
            [*server], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
    ):
        end = threading.Timer(TRUST_LIMIT_S, process.kill)
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

    ask(1, "initialize", _ABOUT_US)
    listed = ask(2, "hooks/list", {"cwds": [os.path.dirname(source)]})["data"]
    hashes = {
        hook["key"]: {"trusted_hash": hook["currentHash"]}
        for hook in (hook for one in listed for hook in one["hooks"])
        if os.path.realpath(hook["sourcePath"]) == os.path.realpath(source) and is_ours(hook["command"] or "")
    }
    if hashes:
        edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": hashes}
        ask(3, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
