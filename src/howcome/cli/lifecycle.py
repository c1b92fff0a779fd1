"""`howcome init`, `upgrade` and `uninstall`: connect agents to their memory, keep it current, undo it all."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import click

from howcome import wiring as lifecycle
from howcome.app import open_app
from howcome.app.redacting import Redacted
from howcome.cli.arguments import confirm
from howcome.cli.declared import click_command, option
from howcome.cli.distilling import first_memories
from howcome.cli.importing import announce_histories, first_import, histories_here
from howcome.cli.offering import announce_others, completion, offer_model, question_that_finds, trusted
from howcome.clients.projects import project_root
from howcome.clients.registry import DEFAULT, clients, names
from howcome.clients.wiring import HOOK_FORMS
from howcome.doctor.wiring import says
from howcome.errors import LifecycleError, UsageError
from howcome.log.place import has_database
from howcome.present.own_files import RECORDS
from howcome.present.render import counted, in_units, json_line
from howcome.present.screen import say, show_table
from howcome.present.terminal import echo, echo_text
from howcome.settings import CONFIG_NAME, read_settings
from howcome.wiring import FileReport, Owner
from howcome.wiring.parts import Merged
from howcome.wiring.purge import Purge, plan_purge, purge, require_deletable, what_is_kept

_PLANNED = {
    "created": "new file", "changed": "added to", "unchanged": "in place", "kept": "yours, kept",
    "replaced": "yours, replaced", "restored": "as it was before", "removed": "removed", "edited": "ours cut out",
    "nothing": "nothing there",
}  # fmt: skip
_SHOWN = 5
_UNCHANGED = ("unchanged", "kept", "nothing")
Reports: TypeAlias = Sequence[FileReport]
_shown = click.format_filename
_FORMS = "How Claude Code's prompt and tool hooks are answered: by a command, or by the running MCP server (2.1.118+)."
_FORCE = option(help="Replace howcome's own files that you edited (a backup is kept).")
_DRY_RUN = option(help="Show what would be done, file by file, and do nothing.")
_YES = option("-y", help="Do not ask for confirmation.")
_JSON = option("--json", help="Print the report as JSON on standard output.")


def _agents(default: str) -> Any:  # noqa: ANN401 - as `option`
    choice = (*names(), "all")
    return option("--agent", type=choice, multiple=True, help=f"May be repeated.  [default: {default}]")


@click_command
def init(
    agents: tuple[str, ...] = _agents(f"{DEFAULT}, or those that are here without it; all = those that are here"),
    scope: str = option(
        type=("user", "project"), default="user", help="Every project of yours, or only the one that you are in."
    ),
    hook_form: str = option(type=HOOK_FORMS, default="auto", help=_FORMS),
    no_permissions: bool = option(help="Let the agent ask before each search of memory."),
    no_import: bool = option(help="Do not read the sessions that are already there."),
    force: bool = _FORCE,
    dry_run: bool = _DRY_RUN,
    yes: bool = _YES,
    as_json: bool = _JSON,
) -> None:
    """Connect agents to their memory, and read the sessions that are already there.

    Hooks, the MCP server, permission to search without asking, a skill and slash commands go into the agent's own
    files. Everything else in them stays as it is, and `howcome uninstall` puts them back byte for byte. Running it
    again changes nothing.

    \b
    Examples:
      howcome init
      howcome init --agent claude-code --agent codex
      howcome init --scope project --no-import --dry-run
    """
    lifecycle.agent_of(Owner(DEFAULT)).wiring.require_form(hook_form)  # whose option it is
    options = {"hook_form": hook_form, "permissions": "no" if no_permissions else "yes"}
    root = project_root(os.getcwd()) if scope == "project" else ""
    owners = [Owner(agent, scope, root, options) for agent in _chosen(agents, scope)]
    home = lifecycle.howcome_home()
    planned = _install(owners, home, force=force, dry_run=True)
    histories = {} if no_import else histories_here()
    _announce("howcome will connect", owners, planned, home, err=as_json)
    announce_histories(histories, err=as_json)
    announce_others({owner.agent for owner in owners}, err=as_json)
    if dry_run:
        if not as_json:
            _say_entries(owners)
        _finish(as_json, planned, home, dry_run=True)
        return
    confirm(*_if_any(planned, f"Connect {_named(owners)}"), yes=yes, err=as_json)
    reports, said, is_trusted = _connect(owners, home, planned, force=force)
    notes = [*_notes(reports, owners), *said]
    if not as_json:
        _say_installed(reports, notes, is_trusted=is_trusted)
    imported = None if no_import else first_import(histories, as_json=as_json)
    if imported and imported.get("accepted"):
        imported |= first_memories(quiet=as_json)
    if as_json:
        _finish(as_json, reports, home, notes=notes, imported=imported)
        return
    if not yes:
        offer_model()
    echo()
    echo("Now try:")
    for owner in owners:
        say(f"  {lifecycle.title_of(owner)}: {lifecycle.agent_of(owner).wiring.hint(scope)}")
    question = question_that_finds()
    echo(f'  howcome search --all-projects "{question}"' if question else "  howcome status")
    echo(f"  {completion(os.environ)}")


@click_command
def upgrade(force: bool = _FORCE, dry_run: bool = _DRY_RUN, yes: bool = _YES, as_json: bool = _JSON) -> None:
    """Bring the store and every install up to this version of howcome.

    Migrates the store, redacts again what older rules for secrets let through (it goes on where it was stopped), makes
    what is missing from its index searchable, and refreshes the commands and files of every agent that `howcome init`
    connected. Files of ours that you edited stay as they are.

    \b
    Example:
      howcome upgrade --yes
    """
    home = lifecycle.howcome_home()
    recorded = {owner: lifecycle.elsewhere(owner) for owner in lifecycle.recorded_owners()}
    owners = [_portable(owner) for owner, places in recorded.items() if not places]
    notes = [_elsewhere(owner, Path(places[0])) for owner, places in recorded.items() if places]
    planned = _install(owners, home, force=force, dry_run=True)
    _announce("howcome will bring up to date", owners, planned, home, err=as_json)
    if dry_run:
        _finish(as_json, planned, home, dry_run=True)
        return
    confirm(*_if_any(planned, "Bring this up to date"), yes=yes, err=as_json)
    has_store = has_database(str(home))
    indexed, redacted = _upgrade_store(quiet=as_json) if has_store else (0, None)
    reports, said, is_trusted = _connect(owners, home, planned, force=force)
    notes += said
    if as_json:
        _finish(as_json, reports, home, indexed=indexed, redacted=redacted and asdict(redacted), notes=notes)
        return
    rows = "another process is at its index" if indexed is None else f"{indexed} rows were made searchable"
    echo(f"The store is of this version; {rows}." if has_store else "There is no memory yet.")
    if redacted:
        _print_redacted(redacted)
    _say_installed(reports, notes, is_trusted=is_trusted)
    if not recorded:
        echo("No agent is connected: howcome init")


@click_command
def uninstall(
    agents: tuple[str, ...] = _agents("every agent that was connected"),
    with_data: bool = option("--purge", help="Delete the memory too, after a second question."),
    dry_run: bool = _DRY_RUN,
    yes: bool = _YES,
    as_json: bool = _JSON,
) -> None:
    """Disconnect agents from their memory; the memory itself stays, unless --purge is given.

    A file that nobody else changed gets its original bytes back, or is gone when there was none; otherwise exactly
    howcome's entries are taken out.

    \b
    Examples:
      howcome uninstall --yes
      howcome uninstall --agent codex
      howcome uninstall --purge
    """
    home = lifecycle.howcome_home()
    owners = _connected(agents)
    wired = [(owner, lifecycle.wired_parts(owner)) for owner in owners]
    planned = [report for report in lifecycle.uninstall(wired, home, dry_run=True) if report.outcome != "nothing"]
    others = lifecycle.other_owners(owners)
    doomed = plan_purge(home, for_others=bool(others)) if with_data else None
    _announce("howcome will disconnect", owners, planned, None, err=as_json)
    _announce_memory(home, doomed, others, err=as_json)
    if dry_run:
        files = {} if doomed is None else {"purged": [os.path.relpath(path, home) for path in doomed.files]}
        _finish(as_json, planned, home, dry_run=True, **files)
        return
    questions = _if_any(planned, f"Disconnect {_named(owners)}")
    if doomed:
        require_deletable(doomed)
        what = "the whole memory" if doomed.memory else "the backups of your files" if doomed.backups else ""
        questions += [f"Delete {what} in {_shown(home)}, with no way back"] if what else []
    confirm(*questions, yes=yes, err=as_json)
    reports = [report for report in lifecycle.uninstall(wired, home) if report.outcome != "nothing"]
    if with_data and not others:  # the backups go too
        reports = [report._replace(backup=None) for report in reports]
    if not as_json:
        _say_uninstalled(reports, is_purge=with_data)
    if doomed is None:
        _finish(as_json, reports, home)
        if not as_json and has_database(str(home)):
            echo(f"Your memory stays in {_shown(home)}. `howcome uninstall --purge` deletes it.")
        return
    keeps_settings = doomed.keeps_settings  # asked before they go
    purged = purge(plan_purge(home, for_others=doomed.for_others))
    _finish(as_json, reports, home, purged=purged)
    if not as_json:
        _say_purged(home, purged, others, keeps_settings=keeps_settings)


def _chosen(agents: Sequence[str], scope: str) -> list[str]:
    found = [client for client in clients() if client.wiring.is_here()]
    if "all" not in agents:
        able = [client.name for client in found if scope in client.wiring.scopes]
        return list(dict.fromkeys(agents)) or ([DEFAULT] if DEFAULT in able else able or [DEFAULT])
    if found:
        return [client.name for client in found]
    raise UsageError(f"no agent was found on this machine; name one: --agent {' | '.join(names())}")


def _connect(owners: Sequence[Owner], home: Path, planned: Reports, *, force: bool) -> tuple[Reports, list[str], bool]:
    """Puts all in place. What is said of agents that ask for trust, and whether they were told to trust our hooks."""
    reports = _install(owners, home, force=force)
    said = trusted(owners, _changed(planned))
    if said:
        _install(owners, home)  # records what they keep of our hooks: it stays where it is when those are moved
    return reports, said, bool(said) and not any(map(lifecycle.is_distrusted, owners))


def _install(owners: Sequence[Owner], home: Path, *, force: bool = False, dry_run: bool = False) -> list[FileReport]:
    return [
        report
        for owner in owners
        for report in lifecycle.install(owner, lifecycle.parts_of(owner), home, force=force, dry_run=dry_run)
    ]


def _portable(owner: Owner) -> Owner:
    """An owner whose hooks the client on PATH knows: the form `mcp` gives way where that is not sure."""
    try:
        lifecycle.agent_of(Owner(DEFAULT)).wiring.require_form(owner.options.get("hook_form", "auto"))
    except LifecycleError:
        return Owner(owner.agent, owner.scope, owner.root, {**owner.options, "hook_form": "auto"})
    return owner


def _upgrade_store(*, quiet: bool) -> tuple[int | None, Redacted | None]:
    """Migrates the store (opening it does), redacts it again where that is due, and catches its index up.

    How many rows were added to the index, None when another process is at it; and what was redacted.
    """
    said = -1

    def on_progress(looked: int, total: int) -> None:
        nonlocal said
        share = min(10, 10 * looked // max(1, total))  # said at every tenth
        if share > said and not quiet:
            said = share
            echo(f"redacting again: {looked} of {counted(total, 'row')}")

    with open_app(read_settings(os.environ), create=False, is_embedded=True) as app:
        redacted = app.health.redact_again(on_progress)
        added = app.index.finish()
    return added, redacted


def _print_redacted(done: Redacted) -> None:
    looked = counted(done.looked, "row")
    echo(f"Redacted again: {looked} looked at, {done.changed} changed, {len(done.files)} other files.")
    for name, number in sorted(done.rules.items()):
        echo(f"  {number:>6}  {name}")
    for path in done.left:
        echo(f"Some of it is still in {path}: look there, and change the secret.")


def _connected(agents: Sequence[str]) -> list[Owner]:
    """Who is to be disconnected: by the records; without any record, whoever is named, else Claude Code."""
    is_all = not agents or "all" in agents
    owners = lifecycle.recorded_owners(None if is_all else agents, with_gone=True)
    named = [agent for agent in agents if agent != "all"] or ([] if owners else [DEFAULT])
    owners += [Owner(agent) for agent in named if agent not in {owner.agent for owner in owners}]
    return owners + (lifecycle.graduated_owners() if is_all else [])


def _changed(planned: Reports) -> set[str]:
    return {report.agent for report in planned if report.outcome not in _UNCHANGED}


def _if_any(planned: Reports, question: str) -> list[str]:
    return [question] if _changed(planned) else []


def _notes(reports: Reports, owners: Sequence[Owner]) -> list[str]:
    """What the user should know about the files that were written."""
    notes, wirings = [], {owner.agent: lifecycle.agent_of(owner).wiring for owner in owners}
    for report in reports:
        switch = wirings[report.agent].off_switch if report.agent in wirings else ""
        if report.outcome == "kept":
            notes.append(f"{_shown(report.path)} has words of yours, so it stays as it is (--force replaces it).")
        if switch and report.path.suffix in (".json", ".jsonc") and says(str(report.path), switch):
            notes.append(f"{_shown(report.path)} says `{switch}`, so the agent will not run the hooks.")
    local = [wirings[owner.agent].local_file(owner.root) for owner in owners if owner.root]
    notes += [f"Keep {_shown(path)} out of git: it names this machine." for path in local if path]
    return notes


def _elsewhere(owner: Owner, path: Path) -> str:
    remedy = "To refresh it, set the variable that named its folder (CLAUDE_CONFIG_DIR, CODEX_HOME, …) as it was."
    return f"{_shown(path)} is not where {lifecycle.title_of(owner)} looks now. {remedy}"


def _named(owners: Sequence[Owner]) -> str:
    """`Claude Code, Codex CLI and Cursor`."""
    names = list(dict.fromkeys(lifecycle.title_of(owner) for owner in owners))
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names) or "no agent"


def _announce(does: str, owners: Sequence[Owner], planned: Reports, home: Path | None, *, err: bool) -> None:
    """Say what will be done; on standard error when a report follows on standard output."""
    echo(f"{does} {_named(owners)}:", err=err)
    cells = [(f"  {_PLANNED[report.outcome]}", f"{_shown(report.path)}  ({report.what})") for report in planned]
    cells = cells or [("  nothing to do", "")]
    if home is not None:
        trusting = dict.fromkeys(owner.agent for owner in owners if lifecycle.agent_of(owner).wiring.trust_server)
        cells += [("  trusted", f"these hooks, by {name}: it runs no others") for name in trusting]
        cells.append(("  memory", _shown(home)))
    show_table(cells, widths=(20,), err=err)


def _announce_memory(home: Path, doomed: Purge | None, others: Sequence[Owner], *, err: bool) -> None:
    if doomed is None:
        if has_database(str(home)):
            echo(f"  {'memory, stays':<17} {_shown(home)}", err=err)
        return
    backups = "the backups of your files from before" if doomed.backups else ""
    if doomed.memory:
        size = f"{counted(len(doomed.memory), 'file')}, {in_units(doomed.size_bytes)}"
        echo(f"  {'memory, deleted':<17} {_shown(home)}  ({size}{backups and f', with {backups}'})", err=err)
    else:
        echo(f"  {'memory':<17} none in {_shown(home)}{backups and f' ({backups} are deleted)'}", err=err)
    if str(home / "team.json") in doomed.paths:
        echo(
            "  What you pushed stays on the team's server: `howcome forget ID`, then `team push` withdraws it.", err=err
        )
    if others:
        settings = f" with the settings in {CONFIG_NAME}" if doomed.keeps_settings else ""
        echo(f"  {_named(others)} would stay connected, and begin an empty memory{settings}.", err=err)


def _say_entries(owners: Sequence[Owner]) -> None:
    """What would stand in the agents' own files, entry by entry."""
    for part in (part for owner in owners for part in lifecycle.parts_of(owner) if isinstance(part, Merged)):
        echo(f"In {_shown(part.path)}:")
        for entry in part.entries:
            value: Any = entry.value
            if isinstance(value, dict) and isinstance(value.get("command"), str):
                value = " ".join((value["command"], *map(str, value.get("args") or ())))
            where = f"{'.'.join(entry.path)} ({entry.matcher})" if entry.matcher else ".".join(entry.path)
            say(f"  {where}: {value if isinstance(value, str) else json_line(value)}")


def _say_installed(reports: Reports, notes: Sequence[str], *, is_trusted: bool) -> None:
    changed = [report for report in reports if report.outcome in ("created", "changed", "replaced")]
    echo("Connected." if changed or is_trusted else "It was connected already; nothing was changed.")
    if backup := next((report.backup for report in changed if report.backup), None):
        echo(f"The originals are kept in {_shown(backup.parent)}.")
    for note in notes:
        say(f"Note: {note}")


def _say_uninstalled(reports: Reports, *, is_purge: bool) -> None:
    if not reports:
        echo("No agent was connected." if is_purge else "Nothing was installed; nothing was changed.")
    for report in reports:
        if report.outcome == "kept":
            echo(f"You edited {_shown(report.path)}, so it stays. Delete it if you do not want it any more.")
        if report.backup:
            echo(f"{_shown(report.path)} from before howcome: {_shown(report.backup)}")
    if any(report.outcome != "kept" for report in reports):
        echo("Disconnected.")


def _say_purged(home: Path, purged: Sequence[str], others: Sequence[Owner], *, keeps_settings: bool) -> None:
    memory = [name for name in purged if not name.startswith(RECORDS + os.sep)]
    echo(f"{counted(len(memory), 'file')} of the memory deleted." if memory else "There was no memory.")
    if stays := what_is_kept(home):
        echo(f"Not howcome's, so it stays: {', '.join(stays[:_SHOWN])} in {_shown(home)}.")
    if others:
        settings = f", and {CONFIG_NAME} stays for it" if keeps_settings else ""
        echo(f"{_named(others)} stays connected{settings}: `howcome uninstall` disconnects it.")


def _finish(as_json: bool, reports: Reports, home: Path, **more: object) -> None:
    if as_json:
        changed = any(report.outcome not in _UNCHANGED for report in reports)
        value = {"home": home, "changed": changed, "files": [report._asdict() for report in reports], **more}
        echo_text(json_line(value, indent=2))
