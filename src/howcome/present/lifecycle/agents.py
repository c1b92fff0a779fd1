"""The agents table: what each agent is called, what wires it, and what its user should try then."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howcome.errors import UsageError
from howcome.present.lifecycle import claude_code, other_agents
from howcome.present.lifecycle.commands import howcome_home
from howcome.present.lifecycle.engine import PartState
from howcome.present.lifecycle.engine import inspect as inspect_parts
from howcome.present.lifecycle.install_record import Owner, Record, Records, owned_by
from howcome.present.lifecycle.json_entries import JsonEntries
from howcome.present.lifecycle.parts import Merged, Part, Whole
from howcome.present.lifecycle.toml_entries import TABLE, TomlEntries


@dataclass(frozen=True)
class Agent:
    """One agent that howcome can be connected to.

    Attributes:
        title: Its name for people.
        parts: What wires it: (scope, project root, options) → parts.
        found: Whether it is on this machine.
        try_this: What to do after `init`.
        scopes: The scopes it can be wired for.
        try_too: What else can be done in the user's scope.
    """

    title: str
    parts: Callable[[str, str, Mapping[str, str]], list[Part]]
    found: Callable[[], bool]
    try_this: str
    scopes: tuple[str, ...] = ("user",)
    try_too: str = ""

    def hint(self, scope: str) -> str:
        """What to do after `init` for a scope: the slash commands are the user's, and no project's."""
        return self.try_this + (self.try_too if scope == "user" else "")


AGENTS: Mapping[str, Agent] = {
    claude_code.AGENT: Agent(
        "Claude Code",
        claude_code.parts,
        claude_code.found,
        "start `claude` in a project and ask: what did we decide last week?",
        ("user", "project"),
        " Or type /howcome:recall",
    ),
    "codex": Agent(
        "Codex CLI",
        other_agents.codex_parts,
        other_agents.codex_found,
        "start `codex`, type /hooks and trust howcome's (Codex runs no hook before that); /mcp lists the tools",
    ),
    "gemini": Agent(
        "Gemini CLI", other_agents.gemini_parts, other_agents.gemini_found, "start `gemini`; /mcp lists the tools"
    ),
    "cursor": Agent(
        "Cursor", other_agents.cursor_parts, other_agents.cursor_found, "restart Cursor; its settings list the server"
    ),
    "opencode": Agent(
        "OpenCode", other_agents.opencode_parts, other_agents.opencode_found, "start `opencode` and ask what it knows"
    ),
}


def parts_of(owner: Owner) -> list[Part]:
    """What wires an agent in a scope.

    Raises:
        UsageError: The agent cannot be wired in that scope.
    """
    agent = AGENTS[owner.agent]
    if owner.scope not in agent.scopes:
        raise UsageError(
            f"{agent.title} has no settings of a project that are the user's own; leave --scope {owner.scope} out"
        )
    return agent.parts(owner.scope, owner.root, owner.options)


def recorded_owners(agents: Sequence[str] | None = None, *, with_gone: bool = False) -> list[Owner]:
    """For whom something is installed, by the records; projects that are gone since only `with_gone`."""
    owners = owned_by(Records(howcome_home()).all(), agents)
    known = [owner for owner in owners if owner.agent in AGENTS and owner.scope in AGENTS[owner.agent].scopes]
    return [owner for owner in known if with_gone or not owner.root or os.path.isdir(owner.root)]


def other_owners(owners: Sequence[Owner]) -> list[Owner]:
    """For whom something stays installed without some owners, by the records; agents that are not known here too."""
    return [owner for owner in owned_by(Records(howcome_home()).all()) if owner not in owners]


def title_of(owner: Owner) -> str:
    """An owner's name for people; the word of the record when a newer howcome wrote it."""
    return AGENTS[owner.agent].title if owner.agent in AGENTS else owner.agent


def inspect(agents: Sequence[str] | None = None) -> list[PartState]:
    """How the wiring of every recorded install stands (of some agents, or of all); nothing is written.

    Without any record, what `howcome init` would have installed is looked for: lost records show what is there.
    """
    owners = recorded_owners(agents) or ([Owner(claude_code.AGENT)] if agents in (None, [claude_code.AGENT]) else [])
    return [state for owner in owners for state in inspect_parts(owner, parts_of(owner), howcome_home())]


def wired_parts(owner: Owner) -> list[Part]:
    """What has to be looked through to undo an install: its parts, and files of its records that are elsewhere now."""
    parts = parts_of(owner)
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
    is_toml = any(entry.kind == TABLE for entry in entries)
    form = TomlEntries() if is_toml else JsonEntries(comments=True, grouped=owner.agent != "cursor")
    return Merged(Path(record.path), entries, form)
