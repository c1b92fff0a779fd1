"""Memories by hand: keep, change, forget, restore, purge."""

from __future__ import annotations

import os

import click

from howcome.app import App
from howcome.cli.arguments import clean_argument, confirm, memory_text, open_existing, open_store, root_of
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.domain import memories as words
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory
from howcome.errors import NotFoundError, StoreMissingError, UsageError
from howcome.log.place import is_live
from howcome.memory.remember import PurgeReport
from howcome.memory.text import cleaned, owner
from howcome.memory.wording import worded
from howcome.present.render import counted, json_line
from howcome.present.screen import is_terminal, memory_brief, memory_row, report, show_rows
from howcome.present.terminal import echo
from howcome.present.views import memory_view

_SHOWN_TRACES = 5

_UNTOLD = ", and with it the rest of the exchange that taught it: till then no session is told any of that unasked"

_ID = argument(metavar="ID")
_TYPE = option("--type", type=words.TYPES, help="What kind of memory it is.")
_STATUS = option("--status", type=words.STATUSES, help="Whether it is still to be done.")
_AS_IS = option("--as-is", help="Keep the words as they are, first person and feelings, too.")
_ALSO = option(metavar="DIR", multiple=True, help="It holds in DIR's project, too; may be repeated.")
_EVIDENCE = option(metavar="EV-ID", multiple=True, help="An event that bears it out; may be repeated.")
_OWNER = option("--agent", metavar="ID", help="Act as this agent: it may only change what it owns.")


def _open_to_keep(text: str, folders: tuple[str, ...], agent: str | None, evidence: tuple[str, ...]) -> App:
    """The store; where there is none it is made when the memory can be kept in it (HowcomeError: it cannot)."""
    try:
        return open_existing()
    except StoreMissingError:
        from howcome.redact.redactor import Redactor

        cleaned(text, Redactor(os.urandom(32)))
        owner(agent)
        if evidence:
            raise NotFoundError(f"no event {squeeze(evidence[0], 60)}: nothing is stored yet") from None
        if missing := [folder for folder in folders if not os.path.isdir(os.path.expanduser(folder))]:
            said = repr(squeeze(clean_argument(missing[0]), 60))
            raise UsageError(f"no project is called {said}: nothing is stored; name a folder that is there") from None
        return open_store()


@click_command
def remember(
    text: tuple[str, ...] = argument(nargs=-1),
    type: str | None = _TYPE,
    is_global: bool = option("--global", help="It holds in every project."),
    project: str | None = option(metavar="PROJECT", help="It holds in this project: its folder, or its name."),
    also: tuple[str, ...] = _ALSO,
    agent: str | None = option(metavar="ID", help="The agent that owns it: no other agent changes or forgets it."),
    evidence: tuple[str, ...] = _EVIDENCE,
    as_is: bool = _AS_IS,
    as_json: bool = JSON,
) -> None:
    """Keep TEXT (`-`: standard input) as a memory of this folder's project; secrets in it are redacted.

    Say one thing, with its reason, in 20 characters or more: "ok" is refused. What says the same as one that is there
    is known already, and that one is printed. What chooses the other way round ("RQ over Celery" after "Celery over
    RQ") supersedes it; what else contradicts one is kept beside it and put up for review. First person and feelings
    go where that is sure ("I think we should always pin" is "Always pin"). TYPE is decision, failure, pattern,
    dependency, context (the default) or discovery.

    \b
    Examples:
      howcome remember --type decision "Deduplicate by upsert: a cache is lost at a restart."
      howcome remember --global "Commit messages are imperative, without a prefix."
      howcome remember --also ../api "Readings are sent in UTC, with milliseconds."
      git log -1 --format=%B | howcome remember --evidence ev-3f9a -
    """
    if is_global and (project is not None or also):
        other = "--project" if project is not None else "--also: what is global holds in every project"
        raise click.UsageError(f"choose one of --global and {other}")
    given = worded(memory_text(text), as_is=as_is)
    with _open_to_keep(given, (*([project] if project is not None else ()), *also), agent, evidence) as app:
        root = None if is_global else root_of(app, project)
        memory, is_new = app.memories.add(
            given, type=type or words.DEFAULT_TYPE, project=root, also=[root_of(app, folder) for folder in also],
            agent=agent, evidence=evidence,
        )  # fmt: skip
        is_elsewhere = bool(app.settings.store)
        has_history = root is None or bool(app.events.recent_sessions(app.projects.scope_of(root), 1))
    redacted = words.taken_out(given, memory.text)
    if as_json:
        about = {"is_new": is_new, "redacted": redacted, "has_history": has_history}
        echo(json_line({**about, **memory_view(memory)}))
        return
    notes = _beside(memory) if is_new else []
    if project is not None or also:
        notes.append(f"in {', '.join(memory.roots)}{'' if has_history else ': no session of it is stored yet'}")
    notes += [_redacted(redacted)] if redacted else []
    notes += ["sessions are not told it: hooks use the embedded store, commands the server"] * is_elsewhere
    if is_terminal():
        kept = "kept" if is_new else "known already"
        show_rows([memory_row(memory_view(memory), is_whole=True)], notes=[", ".join([kept, *notes])])
        return
    echo(memory.id if is_new else _known(memory, given))
    for line in [f"kept as a {memory.type}: {memory.text}", *notes] if is_new else notes:
        echo(line, err=True)


def _known(memory: Memory, given: str) -> str:
    is_equal = words.normalized(memory.text) == words.normalized(given)
    return f"known already: {memory.id}" + ("" if is_equal else f"  {squeeze(memory.text, 220)}")


def _beside(memory: Memory) -> list[str]:
    lines = [f"it supersedes {memory.supersedes_id}"] if memory.supersedes_id else []
    both = f"it contradicts {', '.join(memory.contradicts)}: `howcome memories --review` settles it"
    return lines + ([both] if memory.contradicts else [])


def _redacted(rules: list[str]) -> str:
    was = "was" if len(rules) == 1 else "were"
    return f"{counted(len(rules), 'secret')} {was} taken out: {', '.join(dict.fromkeys(rules))}"


@click_command
def update(
    memory_id: str = _ID,
    text: tuple[str, ...] = argument(nargs=-1),
    type: str | None = _TYPE,
    status: str | None = _STATUS,
    also: tuple[str, ...] = _ALSO,
    not_in: tuple[str, ...] = option(metavar="DIR", multiple=True, help="It does not hold in DIR's project any more."),
    agent: str | None = _OWNER,
    as_is: bool = _AS_IS,
    as_json: bool = JSON,
) -> None:
    """Give the memory ID another TEXT (`-`: standard input), type, status, or other projects.

    Another text or type is a new memory that supersedes the old one and holds where that did; all else is set in place.
    TEXT is treated as `howcome remember` does.

    \b
    Examples:
      howcome update mem-3f9a "The queue is gone: one table with a lease."
      howcome update mem-3f9a --status resolved
      howcome update mem-3f9a --also ../api --not-in ../web
    """
    new = worded(memory_text(text), as_is=as_is) if text else None
    with open_existing() as app:
        old = app.memories.get(clean_argument(memory_id))
        memory = app.memories.update(
            old.key.hex(), text=new, type=type, status=status, agent=agent, is_person=agent is None,
            also=[root_of(app, folder) for folder in also], not_in=[root_of(app, folder) for folder in not_in],
        )  # fmt: skip
    supersedes = memory.supersedes == old.row
    line = f"{memory.id} supersedes {old.id}" if supersedes else f"{memory.id} is {memory.status}"
    if memory.roots != old.roots:
        line = f"{line if supersedes else memory.id} holds in {', '.join(memory.roots)}"
    if not supersedes and memory.row != old.row:
        line = f"known already: {memory.id}; {old.id} stays as it is"
    undo = [f"To undo it: howcome forget {memory.id} && howcome restore {old.id}"] if supersedes else []
    report({"superseded": old.id if supersedes else None, **memory_view(memory)}, [line, *undo], as_json=as_json)
    if supersedes and new and not as_json and (redacted := words.taken_out(new, memory.text)):
        echo(_redacted(redacted), err=True)


@click_command
def forget(
    memory_id: str = _ID,
    is_wrong: bool = option("--wrong", help="It is wrong: nothing that says the same is learnt again."),
    agent: str | None = _OWNER,
    as_json: bool = JSON,
) -> None:
    """Take the memory ID out of every search. `howcome restore ID` brings it back, `howcome purge ID` erases it.

    With --wrong it is remembered by its meaning: what sessions say the same, in whatever words, becomes no memory
    again, until you restore it. Nothing else of the exchange that taught it is told unasked till then.

    \b
    Examples:
      howcome forget mem-3f9a
      howcome forget --wrong mem-3f9a
    """
    with open_existing() as app:
        memory = app.memories.forget(clean_argument(memory_id), agent=agent, is_person=agent is None, is_wrong=is_wrong)
    is_never = memory.wrong_ms is not None
    said = f"{memory.id} is forgotten{' and not learnt again' * is_never}; `howcome restore {memory.id}` brings it back"
    said += _UNTOLD if is_never and memory.evidence else ""
    report(memory_view(memory), [said], as_json=as_json)


@click_command
def restore(memory_id: str = _ID, as_json: bool = JSON) -> None:
    """Bring the forgotten memory ID back.

    \b
    Example:
      howcome restore mem-3f9a
    """
    with open_existing() as app:
        memory = app.memories.restore(clean_argument(memory_id))
    report(memory_view(memory), [f"{memory.id} is {memory.state}"], as_json=as_json)


@click_command
def purge(memory_id: str = _ID, yes: bool = option("-y", help="Do not ask."), as_json: bool = JSON) -> None:
    """Erase the text and the words of the memory ID from the rows and their log, and look whether it is gone.

    Looked into are all files in HOWCOME_HOME, and the text of every event. What a session said in the same words is
    named and stays, and so do files that you shared in a repository. The agents' own transcripts stay, and what was
    exported. The id stays, too: no import brings the memory back. Nothing undoes this; `howcome forget ID` can be
    undone. Exit code 1: not erased, or not verified.

    \b
    Example:
      howcome purge mem-3f9a
    """
    with open_existing() as app:
        memory = app.memories.get(clean_argument(memory_id))
        if not yes and memory.purged_ms is None:
            echo(memory_brief(memory_view(memory)), err=as_json)
            confirm("Erase it for good", yes=yes, err=as_json)
        purged = app.memories.purge(memory.key.hex())
        shared = app.sharing.team().files_with(memory.text)
    names = ("id", "is_gone", "was_compacted", "events", "memories", "files", "unseen", "problem")
    unseen = [f"not looked into: {purged.unseen}"] if purged.unseen else []
    unseen += [f"{path} holds the words, too: git rm it, if you want; git's history keeps them" for path in shared]
    facts = {**{name: getattr(purged, name) for name in names}, "shared_files": shared}
    report(facts, [*_erased(purged), *unseen], as_json=as_json)
    if purged.is_gone is None or _strays(purged):
        raise click.exceptions.Exit(1)


def _erased(done: PurgeReport) -> list[str]:
    if done.is_gone:
        where = "in no table of the store" if done.unseen else "nowhere in the store's files"
        return [f"{done.id} is erased: its words are {where}; only the id is kept"]
    if done.is_gone is None:
        return [f"{done.id} is erased, but whether anything is left of it was not verified: {done.problem}"]
    lines = [f"{done.id} is erased, but the same words, or much of them, still stand in the store:"]
    if done.events:
        lines.append(f"  {_named(done.events, 'event')}: a session said them, and purge leaves what was said")
    if done.memories:
        lines.append(f"  {_named(done.memories, 'memory', 'memories')}: `howcome purge {done.memories[0]}`")
    if strays := _strays(done):
        lines.append(f"  {', '.join(strays)}: end the agents' sessions and purge it again; delete copies of yours")
    return lines


def _named(ids: list[str], one: str, many: str = "") -> str:
    more = ", …" if len(ids) > _SHOWN_TRACES else ""
    return f"{counted(len(ids), one, many)} ({', '.join(ids[:_SHOWN_TRACES])}{more})"


def _strays(done: PurgeReport) -> list[str]:
    """Files that hold the words although no event and no other memory does."""
    is_known = bool(done.events or done.memories)
    return [name for name in done.files if not (is_known and is_live(name))]
