"""Memories by hand: keep, list, change, forget, purge, and carry them from one store to another."""

from __future__ import annotations

import os
import shlex
import tempfile
from itertools import chain, islice

import click

from howcome.app import App, open_app
from howcome.cli.arguments import check_scope, clean_argument, memory_text, root_of, scope_of
from howcome.cli.asking import confirm
from howcome.domain import memories as words
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory
from howcome.errors import StoreMissingError, UsageError
from howcome.log.place import is_live
from howcome.memory.importing import require_head
from howcome.memory.reports import ImportReport, PurgeReport
from howcome.memory.text import require_first
from howcome.memory.wording import worded
from howcome.present.memory_files import read_export, write_export
from howcome.present.render import counted, json_line
from howcome.present.terminal import echo, echo_text
from howcome.present.views import memory_line, memory_view
from howcome.settings import read_settings

_SHOWN_PROBLEMS = 20
_SHOWN_TRACES = 5

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_ID = click.argument("memory_id", metavar="ID")
_TYPE = click.option("--type", type=click.Choice(words.TYPES), help="What kind of memory it is.")
_STATUS = click.option("--status", type=click.Choice(words.STATUSES), help="Whether it is still to be done.")
_AS_IS = click.option("--as-is", is_flag=True, help="Keep the words as they are, first person and feelings, too.")
_OWNER = click.option("--agent", metavar="ID", help="Act as this agent: it may only change what it owns.")


def _open(*, create: bool = False) -> App:
    """Only what keeps something makes a store where there is none."""
    return open_app(read_settings(os.environ), create=create)


def _open_to_keep(text: str, project: str | None, agent: str | None, evidence: tuple[str, ...]) -> App:
    """The store; where there is none it is made when the memory can be kept in it.

    Raises:
        HowcomeError: it cannot.
    """
    try:
        return _open()
    except StoreMissingError:
        require_first(text, agent=agent, evidence=evidence)
        if project is not None and not os.path.isdir(os.path.expanduser(project)):
            said = repr(squeeze(clean_argument(project), 60))
            raise UsageError(f"no project is called {said}: nothing is stored; name a folder that is there") from None
        return _open(create=True)


def _open_to_import(*, is_trial: bool) -> App:
    """The store, made where there is none; a trial is then one over an empty store elsewhere."""
    if not is_trial:
        return _open(create=True)
    try:
        return _open()
    except StoreMissingError:
        with tempfile.TemporaryDirectory() as folder:  # what is open can still be used when the folder is gone
            return open_app(read_settings({**os.environ, "HOWCOME_HOME": folder}))


@click.command(short_help="Keep one thing that later sessions should know.")
@click.argument("text", nargs=-1)
@_TYPE
@click.option("--global", "is_global", is_flag=True, help="It holds in every project.")
@click.option("--project", metavar="PROJECT", help="It holds in this project: its folder, or its name.")
@click.option("--agent", metavar="ID", help="The agent that owns it: no other agent changes or forgets it.")
@click.option("--evidence", metavar="EV-ID", multiple=True, help="An event that bears it out; may be repeated.")
@_AS_IS
@_JSON
def remember(
    text: tuple[str, ...],
    type: str | None,
    *,
    is_global: bool,
    project: str | None,
    agent: str | None,
    evidence: tuple[str, ...],
    as_is: bool,
    as_json: bool,
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
      git log -1 --format=%B | howcome remember --evidence ev-3f9a -
    """
    if is_global and project is not None:
        raise click.UsageError("choose one of --global and --project")
    said = memory_text(text)
    given = worded(said, as_is=as_is)
    with _open_to_keep(given, project, agent, evidence) as app:
        root = None if is_global else root_of(app, project)
        memory, is_new = app.memories.add(
            given, type=type or words.DEFAULT_TYPE, project=root, agent=agent, evidence=evidence
        )
        has_history = root is None or bool(app.events.recent_sessions(app.projects.scope_of(root), 1))
    redacted = words.taken_out(given, memory.text)
    if as_json:
        about = {"is_new": is_new, "redacted": redacted, "has_history": has_history}
        echo(json_line({**about, **memory_view(memory)}))
        return
    echo(memory.id if is_new else _known(memory, given))
    for line in _beside(memory, said) if is_new else ():
        echo(line, err=True)
    if project is not None:
        echo(f"in {memory.project}{'' if has_history else ': no session of it is stored yet'}", err=True)
    if redacted:
        echo(_redacted(redacted), err=True)


def _known(memory: Memory, given: str) -> str:
    """Which memory is there, and in which words, if they are others."""
    is_equal = words.normalized(memory.text) == words.normalized(given)
    return f"known already: {memory.id}" + ("" if is_equal else f"  {squeeze(memory.text, 220)}")


def _beside(memory: Memory, said: str) -> list[str]:
    """What was made of the words, and what keeping them did to other memories."""
    lines = [] if words.taken_out(said, memory.text) or said.strip() == memory.text else [f"kept as: {memory.text}"]
    lines += [f"it supersedes {memory.supersedes_id}"] if memory.supersedes_id else []
    both = f"it contradicts {', '.join(memory.contradicts)}: `howcome memories --review` settles it"
    return lines + ([both] if memory.contradicts else [])


def _redacted(rules: list[str]) -> str:
    was = "was" if len(rules) == 1 else "were"
    return f"{counted(len(rules), 'secret')} {was} taken out: {', '.join(dict.fromkeys(rules))}"


@click.command(short_help="Correct a memory: the old one stays in its chain.")
@_ID
@click.argument("text", nargs=-1)
@_TYPE
@_STATUS
@_OWNER
@_AS_IS
@_JSON
def update(
    memory_id: str,
    text: tuple[str, ...],
    type: str | None,
    status: str | None,
    agent: str | None,
    *,
    as_is: bool,
    as_json: bool,
) -> None:
    """Give the memory ID another TEXT (`-`: standard input), type or status.

    Another text or type is a new memory that supersedes the old one; a status is set in place. TEXT is treated as
    `howcome remember` does.

    \b
    Examples:
      howcome update mem-3f9a "The queue is gone: one table with a lease."
      howcome update mem-3f9a --status resolved
    """
    new = worded(memory_text(text), as_is=as_is) if text else None
    with _open() as app:
        old = app.memories.get(clean_argument(memory_id))
        memory = app.memories.update(
            old.key.hex(), text=new, type=type, status=status, agent=agent, is_person=agent is None
        )
    supersedes = memory.supersedes == old.row
    line = f"{memory.id} supersedes {old.id}" if supersedes else f"{memory.id} is {memory.status}"
    if not supersedes and memory.row != old.row:
        line = f"known already: {memory.id}; {old.id} stays as it is"
    if as_json:
        echo(json_line({"superseded": old.id if supersedes else None, **memory_view(memory)}))
        return
    echo(line)
    if redacted := words.taken_out(new or "", memory.text) if supersedes and new else []:
        echo(_redacted(redacted), err=True)


@click.command(short_help="Take a memory out of every search; it can be restored.")
@_ID
@click.option("--wrong", "is_wrong", is_flag=True, help="It is wrong: nothing that says the same is learnt again.")
@_OWNER
@_JSON
def forget(memory_id: str, agent: str | None, *, is_wrong: bool, as_json: bool) -> None:
    """Take the memory ID out of every search. `howcome restore ID` brings it back, `howcome purge ID` erases it.

    With --wrong it is remembered by its meaning: what sessions say the same, in whatever words, becomes no memory
    again, until you restore it.

    \b
    Examples:
      howcome forget mem-3f9a
      howcome forget --wrong mem-3f9a
    """
    with _open() as app:
        memory = app.memories.forget(clean_argument(memory_id), agent=agent, is_person=agent is None, is_wrong=is_wrong)
    never = " and not learnt again" if memory.wrong_ms is not None else ""
    _say(memory, f"{memory.id} is forgotten{never}; `howcome restore {memory.id}` brings it back", as_json=as_json)


@click.command(short_help="Bring a forgotten memory back.")
@_ID
@_JSON
def restore(memory_id: str, *, as_json: bool) -> None:
    """Bring the forgotten memory ID back.

    \b
    Example:
      howcome restore mem-3f9a
    """
    with _open() as app:
        memory = app.memories.restore(clean_argument(memory_id))
    _say(memory, f"{memory.id} is {memory.state}", as_json=as_json)


@click.command(short_help="Erase a memory's text from disk, for good.")
@_ID
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@_JSON
def purge(memory_id: str, *, yes: bool, as_json: bool) -> None:
    """Erase the text and the words of the memory ID from the rows and their log, and look whether it is gone.

    Looked into are all files in HOWCOME_HOME, and the text of every event. What a session said in the same words is
    named and stays, and so do the agents' own transcripts and what was exported. The id stays, too: no import brings
    the memory back. Nothing undoes this; `howcome forget ID` can be undone. Exit code 1: not erased, or not verified.

    \b
    Example:
      howcome purge mem-3f9a
    """
    with _open() as app:
        memory = app.memories.get(clean_argument(memory_id))
        if not yes and memory.purged_ms is None:
            echo(memory_line(memory_view(memory)), err=as_json)
            confirm("Erase it for good", yes=yes, err=as_json)
        report = app.memories.purge(memory.key.hex())
    if as_json:
        names = ("id", "is_gone", "was_compacted", "events", "memories", "files", "problem")
        echo(json_line({name: getattr(report, name) for name in names}))
    else:
        echo_text(_erased(report))
    if report.is_gone is None or _strays(report):
        raise click.exceptions.Exit(1)


@click.command(short_help="Write memories as JSON Lines.")
@click.argument("file", required=False, type=click.Path())
@click.option("--project", metavar="PROJECT", help="Those of this project: its folder, or its name.")
@click.option("--all-projects", is_flag=True, help="Those of every project.")
@click.option("--force", is_flag=True, help="Replace FILE even if it is no earlier export.")
@click.option("--json", "as_json", is_flag=True, help="Print the report on FILE as JSON.")
def export(file: str | None, project: str | None, *, all_projects: bool, force: bool, as_json: bool) -> None:
    """Write memories to FILE (`-` or nothing: standard output), oldest first, forgotten and superseded ones too.

    Those of this folder's project and those that hold everywhere. Each line is one JSON object, the first says which
    format it is; `howcome import-memories` reads it. Of purged ones only the mark is in it that they were; access
    counts are not.

    \b
    Examples:
      howcome export memories.jsonl
      howcome export --all-projects | gzip > memories.jsonl.gz
    """
    check_scope(project, all_projects=all_projects)
    with _open() as app:
        lines = list(app.memories.export(scope_of(app, project, all_projects=all_projects)))
    write_export(file, lines, force=force)
    count = sum("text" in line for line in lines)
    if file not in (None, "-"):
        report, name = {"memories": count, "file": file}, click.format_filename(str(file))
        echo(json_line(report) if as_json else f"{counted(count, 'memory', 'memories')} written to {name}")


@click.command("import-memories", short_help="Read exported memories into this store.")
@click.argument("file", type=click.Path())
@click.option("--mine", "is_mine", is_flag=True, help="Believe it: these are your own, from another machine.")
@click.option("--dry-run", is_flag=True, help="Say what would be done; write nothing.")
@_JSON
def import_memories(file: str, *, is_mine: bool, dry_run: bool, as_json: bool) -> None:
    """Read memories that `howcome export` wrote from FILE (`-`: standard input).

    What this store did not write comes from outside: it is found when asked for, but never said unasked, and its pins,
    what it supersedes and what it marks as purged do not hold until you accept it (`howcome memories --review`).
    `--mine` believes all of it, also after it was read without.

    Those that are known already, or were purged here, are left as they are: reading a file twice is reading it once.
    Each line stands for itself; bad ones are named, and the exit code is 1.

    \b
    Examples:
      howcome import-memories memories.jsonl
      howcome import-memories --mine from-my-laptop.jsonl
      gunzip -c memories.jsonl.gz | howcome import-memories --dry-run -
    """
    bad: list[tuple[int, str]] = []
    lines = read_export(file, bad)
    first = list(islice(lines, 1))
    require_head(first)
    with _open_to_import(is_trial=dry_run) as app:
        report = app.memories.import_values(chain(first, lines), is_trial=dry_run, is_mine=is_mine)
    report.problems = sorted(report.problems + bad)
    _print_import(report, file, is_trial=dry_run, as_json=as_json)
    if report.problems:
        raise click.exceptions.Exit(1)


def _say(memory: Memory, line: str, *, as_json: bool) -> None:
    echo(json_line(memory_view(memory)) if as_json else line)


def _erased(report: PurgeReport) -> str:
    if report.is_gone:
        return f"{report.id} is erased: its words are nowhere in the store's files; only the id is kept"
    if report.is_gone is None:
        return f"{report.id} is erased, but whether anything is left of it was not verified: {report.problem}"
    lines = [f"{report.id} is erased, but the same words, or much of them, still stand in the store:"]
    if report.events:
        lines.append(f"  {_named(report.events, 'event')}: a session said them, and purge leaves what was said")
    if report.memories:
        lines.append(f"  {_named(report.memories, 'memory', 'memories')}: `howcome purge {report.memories[0]}`")
    if strays := _strays(report):
        lines.append(f"  {', '.join(strays)}: end the agents' sessions and purge it again; delete copies of yours")
    return "\n".join(lines)


def _still_here(ids: list[str]) -> str:
    """What somebody erased elsewhere is for them to erase here: an import never does."""
    was, here = ("was", "is still here") if len(ids) == 1 else ("were", "are still here")
    commands = ", ".join(f"`howcome purge {one}`" for one in ids[:_SHOWN_PROBLEMS])
    more = ", …" if len(ids) > _SHOWN_PROBLEMS else ""
    return f"{counted(len(ids), 'memory', 'memories')} {was} purged where this was written and {here}: {commands}{more}"


def _named(ids: list[str], one: str, many: str = "") -> str:
    """How many there are, and which."""
    more = ", …" if len(ids) > _SHOWN_TRACES else ""
    return f"{counted(len(ids), one, many)} ({', '.join(ids[:_SHOWN_TRACES])}{more})"


def _strays(report: PurgeReport) -> list[str]:
    """Files that hold the words although no event and no other memory does."""
    is_known = bool(report.events or report.memories)
    return [name for name in report.files if not (is_known and is_live(name))]


def _from_outside(report: ImportReport, file: str) -> list[str]:
    """What an import did not believe, what is to be done, and how one's own are told."""
    lines = []
    if report.outside:
        lines.append(
            f"{report.outside} from outside: found when asked for, never said unasked, until you accept them:"
            " howcome memories --review --all-projects"
        )
    if (count := report.left_out) == 1:
        lines.append("1 mark of a purged one is left out: only your own files' are kept")
    elif count:
        lines.append(f"{count} marks of purged ones are left out: only your own files' are kept")
    mine = f"If the file is yours: howcome import-memories --mine {shlex.quote(click.format_filename(file))}"
    return [*lines, mine] if lines else []


def _print_import(report: ImportReport, file: str, *, is_trial: bool, as_json: bool) -> None:
    problems = [{"line": number, "reason": reason} for number, reason in report.problems]
    if as_json:
        counts = {"added": report.added, "known": report.known, "purged": report.purged, "stones": report.stones}
        facts = {**counts, "outside": report.outside, "left_out": report.left_out, "still_here": report.still_here}
        echo(json_line({**facts, "is_dry_run": is_trial, "problems": problems}))
    else:
        purged = f", {report.purged} left out because purged here" if report.purged else ""
        stones = f", {counted(report.stones, 'mark')} of purged ones" if report.stones else ""
        would = "would be " if is_trial else ""
        echo(f"{report.added} {would}added, {report.known} known already{purged}{stones}")
        for line in _from_outside(report, file):
            echo(line)
        if report.still_here:
            echo(_still_here(report.still_here))
    for number, reason in report.problems[:_SHOWN_PROBLEMS]:
        echo(f"howcome: line {number}: {reason}", err=True)
    if len(problems) > _SHOWN_PROBLEMS:
        echo(f"howcome: and {counted(len(problems) - _SHOWN_PROBLEMS, 'more line')}", err=True)
