"""What the agents' objects say of their wiring (`clients/`), as parts of files that the engine edits."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from howcome.clients.base import Client
from howcome.clients.registry import DEFAULT, client_of
from howcome.clients.wiring import BLOCK, TABLE, Form, OwnFile
from howcome.errors import UsageError
from howcome.wiring.codex_trust import trust_hooks
from howcome.wiring.commands import hook_command, howcome_home, install_for, is_hook
from howcome.wiring.engine import PartState
from howcome.wiring.engine import inspect as inspect_parts
from howcome.wiring.install_record import Owner, Record, Records, owned_by
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.parts import Format, Merged, Part, Whole
from howcome.wiring.text_block import TextBlock
from howcome.wiring.toml_entries import TomlEntries

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
    files = agent.wiring.files(install_for(owner.agent), owner.scope, owner.root, owner.options)
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
    agent = agent_of(owner)
    server, ours = agent.wiring.trust_server, {hook_command(event, agent.name) for event in agent.wired_hooks()}
    if server and shutil.which(server[0]) is not None:
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
