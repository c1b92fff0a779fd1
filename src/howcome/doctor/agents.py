"""The agents: is howcome in their files as this install would write it, is it switched off there, do hooks run."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from collections.abc import Iterable

from howcome import wiring as lifecycle
from howcome.app import App, now_ms
from howcome.clients.base import Client
from howcome.clients.discover import Found
from howcome.clients.registry import DEFAULT, clients
from howcome.clients.wiring import SERVER
from howcome.doctor.base import Finding, Level, Machine, of_store
from howcome.doctor.facts import edit, last_hook_ms, unread_transcripts
from howcome.doctor.programs import client_version, numbers
from howcome.doctor.transcripts import QUIET_S
from howcome.doctor.wiring import disabling_files, enabled_plugins, read_wirings, remedy_of
from howcome.present.render import counted
from howcome.present.screen import local_time
from howcome.wiring.commands import is_hook
from howcome.wiring.engine import PartState, inspect

MISSED_SESSIONS = 2
"""One unread session may have been killed; the start of the next one would have read it."""

MAX_NAMES = 6

_ESSENTIAL = ("hooks", "MCP server")
"""Without these parts there is no memory; permissions, skills and commands are a convenience."""

_ENTRIES = (*_ESSENTIAL, "permissions", "version")
"""Parts that are entries in a file of the user's; the others are files of ours."""


def check_connections(machine: Machine) -> list[Finding]:
    """Every part of every install is there, as this install would write it; a plugin is not there beside one."""
    owners = lifecycle.recorded_owners() or [wiring.owner for wiring in read_wirings() if wiring.is_connected]
    wired = {owner.agent for owner in owners if owner.scope == "user"}
    silent = "its plugin is there beside what `howcome init` wired: that acts, and the plugin is silent"
    by_plugin = [
        Finding("note", "agents", f"{agent}: {silent}", f"{command}  # or: howcome uninstall")
        if agent in wired
        else Finding("ok", "agents", f"{agent}: connected by its plugin")
        for agent, command in enabled_plugins(machine, os.getcwd()).items()
    ]
    if owners or by_plugin:
        return [finding for owner in owners for finding in _check_owner(owner)] + by_plugin
    invalid = [finding for finding in _check_owner(lifecycle.Owner(DEFAULT)) if "cannot be read" in finding.what]
    return invalid or [Finding("error", "agents", "no agent is connected to its memory", "howcome init")]


def _check_owner(owner: lifecycle.Owner) -> list[Finding]:
    states = inspect(owner, lifecycle.parts_of(owner), lifecycle.howcome_home())
    groups = defaultdict[tuple[str, str, bool], list[PartState]](list)
    for state in states:
        if state.state != "ok":
            groups[state.state, os.path.dirname(state.path), state.what.startswith(_ESSENTIAL)].append(state)
    name = owner.agent if owner.scope == "user" else f"{owner.agent} in {owner.root}"
    if all(state.state == "missing" for state in states):
        what = f"{name}: was connected, and nothing of it is there any more"
        return [Finding("error", "agents", what, remedy_of(owner))]
    findings = [_finding_of(owner, name, group) for group in groups.values()]
    wiring = lifecycle.agent_of(owner).wiring
    if skipped := wiring.untrusted(is_hook):
        what = f"{name}: runs none of its hooks before you trust them: {_shortened(skipped)}"
        findings.append(Finding("warning", "agents", what, f"{wiring.programs[0]}  # type /hooks"))
    return findings or [Finding("ok", "agents", f"{name}: {counted(len(states), 'part')}, all in place")]


def _finding_of(owner: lifecycle.Owner, name: str, group: list[PartState]) -> Finding:
    """One finding for parts that stand alike in one folder."""
    first = group[0]
    parts = _listed(state.what for state in group)
    essential: Level = "error" if first.what.startswith(_ESSENTIAL) else "warning"
    match first.state:
        case "invalid":
            reason = first.detail.partition(" Nothing was written")[0]
            what = f"{name}: {first.path} cannot be read, the agent drops the whole file: {reason}"
            return Finding("error", "agents", what, edit(str(first.path)))
        case "missing":
            return Finding(essential, "agents", f"{name}: missing from {first.path}: {parts}", remedy_of(owner))
        case "edited" if first.what.startswith(_ENTRIES):
            return Finding("ok", "agents", f"{name}: changed by hand, and works: {parts}")
        case "edited":
            what = f"{name}: changed by hand, and left so: {parts} ({first.path})"
            return Finding("note", "agents", what, f"{remedy_of(owner)} --force")
        case "foreign":
            what = f"{name}: {first.path} holds somebody else's: {parts} ({first.detail})"
            remedy = f"{remedy_of(owner)} --force"  # a file gives way to it, an entry has to be taken out
            if first.what.startswith(_ESSENTIAL):
                remedy = f"{edit(str(first.path))}  # take {SERVER} out; then {remedy_of(owner)}"
            return Finding(essential, "agents", what, remedy)
        case state:
            what = f"{name}: {state} in {first.path}: {parts}" + (f" ({first.detail})" if first.detail else "")
            return Finding("warning", "agents", what, remedy_of(owner))


def _listed(parts: Iterable[str]) -> str:
    """`hooks Stop, SessionEnd; MCP server howcome`, long lists shortened."""
    kinds = defaultdict[str, list[str]](list)
    for kind, _, name in (part.rpartition(" ") for part in parts):
        kinds[kind].append(name)
    return "; ".join(f"{kind} {_shortened(names)}".lstrip() for kind, names in kinds.items())


def _shortened(names: list[str]) -> str:
    rest = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {rest} more" if rest > 0 else "")


def check_switched_off(machine: Machine) -> list[Finding]:
    """Nothing in an agent's settings keeps hooks from running here."""
    return [
        Finding("error", "agents", f"{path} says `{setting}`", f'in {path}: "{setting}": false')
        for path, setting in disabling_files(machine, os.getcwd())
    ]


def check_tool_hooks(machine: Machine) -> list[Finding]:
    """A hook of type mcp_tool makes an older client drop the whole settings file."""
    findings = []
    for wiring in read_wirings():
        agent = lifecycle.agent_of(wiring.owner)
        since = agent.wiring.tool_hooks_since
        version = client_version(machine, agent.wiring.programs[0]) if wiring.tool_events and since else ""
        if version and numbers(version) < since:
            what = f"{agent.name} {version} knows no mcp_tool hooks: it drops the whole settings file"
            findings.append(Finding("error", "agents", what, f"{remedy_of(wiring.owner)} --hook-form command"))
    return findings


@of_store
def check_alive(machine: Machine, app: App) -> list[Finding]:
    """Hooks ran: sessions that ended after the install are read."""
    asked = {client.name: client for client in clients() if client.wiring.why_no_hooks}
    settings = {wiring.owner.agent: wiring.settings for wiring in reversed(read_wirings()) if wiring.settings}
    return [_is_alive(machine, app, asked[agent], path) for agent, path in settings.items() if agent in asked]


def _is_alive(machine: Machine, app: App, agent: Client, settings: str) -> Finding:
    age_s = time.time() - os.stat(settings).st_mtime
    since = [found for found in machine.transcripts if found.client == agent.name and _age_s(found) < age_s]
    unread = {found.path for found, _ in unread_transcripts(app, machine.transcripts)}
    missed = [found for found in since if found.path in unread and _age_s(found) > QUIET_S]
    if len(missed) >= MISSED_SESSIONS:
        what = f"{counted(len(missed), 'session')} ended since the hooks are there, and none read them"
        remedy = f"{agent.wiring.why_no_hooks}  # says why it runs none; then howcome import"
        return Finding("warning", "hook", what, remedy)
    what = f"{counted(len(since), 'session')} since they were installed, none missed"
    if last_ms := last_hook_ms(app, machine.home, machine.transcripts):
        what = f"last seen {local_time(last_ms, now_ms())}"
    return Finding("ok", "hook", what)


def _age_s(found: Found) -> float:
    return time.time() - found.mtime_ns / 1e9
