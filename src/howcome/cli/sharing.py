"""Memories that leave this machine: `howcome sync`, `howcome share`, and what a member of a team does."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from howcome.cli.arguments import clean_argument, complain, confirm, here, open_existing, open_store
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.errors import UsageError
from howcome.memory.signed_files import CONFLICT
from howcome.memory.team import FOLDER, check, resolve, unmerged
from howcome.present.render import counted, iso_time
from howcome.present.screen import day, report
from howcome.settings import home_folder

if TYPE_CHECKING:
    from howcome.memory.syncing import SyncReport

_SET_UP = """This machine syncs with {remote}. Your key (fingerprint {key}) is in {key_file}
Keep a copy of it: nobody opens the files without it.
Now run: howcome sync
On each other machine, with a copy of that file:
  howcome sync init --remote '{remote}' --key FILE"""
_STATUS = "{remote}  {shared} shared  last run {run}  key {key}"
_OUTSIDE = " (fetched pages, tools' output, imports to review)"
_REMOVED = "This machine syncs with none. The memories stay here, and what is shared stays where it is."
_COMMIT = (
    "Commit them. To check them before each commit: put the two lines `#!/bin/sh` and `howcome share --check` into"
    " .git/hooks/pre-commit, and make that executable"
)
_RESOLVED = "Now: git add .howcome && git commit"
_JOINED = """This machine is in team {team} as {person} (it may {may}).
In a repository, `howcome team push` shares what you kept by hand there, then and later; `howcome team pull` brings what
others shared. While an agent runs, both go on by themselves."""
_SETTLES = "`howcome team review NUMBER --accept` or `--refuse` settles one."


@click_command
def sync(
    action: str | None = argument(type=("init", "status", "remove"), required=False),
    remote: str | None = option(metavar="URL|FOLDER", help="init: a git remote, or a folder that is shared."),
    key_file: str | None = option(
        "--key", metavar="FILE", help="init: the key of your first machine (`-`: standard input)."
    ),
    yes: bool = option("-y", help="remove: do not ask."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Bring your memories to your other machines, and theirs here.

    They meet in a private git repository (a branch `howcome` of it) or in any folder that is shared (Syncthing,
    Dropbox, a disk). Each memory is a file there that only your key opens. Run it as often as you like, on every
    machine: forgetting and purging travel, too, and of two changes the later one holds. What is from outside the
    conversation, of excluded projects, or holds a secret stays here. Sessions and their events are not sent.

    \b
    Examples:
      howcome sync init --remote git@example.org:me/memories.git
      ssh laptop cat .howcome/sync/key | howcome sync init --remote git@example.org:me/memories.git --key -
      howcome sync
      howcome sync status
      howcome sync remove
    """
    from howcome.memory.syncing import NOT_SET_UP

    if (remote or key_file) and action != "init":
        raise click.UsageError("--remote and --key belong to init")
    if action == "init" and not remote:
        raise click.UsageError("init needs --remote URL|FOLDER")
    if action == "remove":
        confirm("Disconnect this machine, and delete its copy of the key", yes=yes, err=as_json)
    with open_existing() if action in ("status", "remove") else open_store() as app:
        work = app.sharing.sync()
        if action == "init":
            _print(work.set_up(str(remote), _key_of(key_file)), _SET_UP, as_json=as_json)
        elif action == "status":
            facts = work.status()
            run_ms = facts.get("run_ms")
            if isinstance(run_ms, int):
                facts["run"] = iso_time(run_ms) if as_json else day(iso_time(run_ms))
            _print(facts, _STATUS if facts["remote"] else NOT_SET_UP, as_json=as_json)
        elif action == "remove":
            work.remove()
            _print({"remote": None}, _REMOVED, as_json=as_json)
        else:
            _print_run(work.run(), as_json=as_json)


def _key_of(file: str | None) -> str:
    from howcome.memory.syncing import NO_KEY

    if file is None:
        return ""
    try:
        with click.open_file(file, errors="replace") as stream:
            return str(stream.read(1000)).strip() or NO_KEY
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from error


def _print(facts: dict[str, object], text: str, *, as_json: bool) -> None:
    report(facts, [line.format_map({"run": "not yet", **facts}) for line in text.splitlines()], as_json=as_json)


def _print_run(done: SyncReport, *, as_json: bool) -> None:
    from howcome.memory.syncing import FROM_OUTSIDE

    said = [f"{done.brought} came, {done.changed} changed, {done.purged} purged here; {done.sent} sent"]
    for reason, count in done.kept_back.items():
        said.append(f"kept back: {count} {reason}{_OUTSIDE if reason == FROM_OUTSIDE else ''}")
    unread = f"{counted(done.unreadable, 'file')} there cannot be opened (not whole yet, or damaged): left alone"
    _end(asdict(done), [*said, unread] if done.unreadable else said, done.problems, as_json=as_json)


def _end(facts: object, said: list[str], problems: list[str], *, as_json: bool, is_bad: bool = False) -> None:
    """Prints a report, and says what went wrong: the exit code is 1 then."""
    report(facts, said, as_json=as_json)
    complain([] if as_json else problems)
    if problems or is_bad:
        raise click.exceptions.Exit(1)


@click_command
def share(
    memories: tuple[str, ...] = argument(nargs=-1, metavar="[MEMORY]..."),
    is_project: bool = option("--project", help="All of this project that were kept by hand or pinned."),
    is_receive: bool = option("--receive", help="Put what teammates shared on the review list."),
    is_check: bool = option("--check", help="Check the files: form, signature, secrets (before a commit)."),
    is_resolve: bool = option("--resolve", help="Of files that git could not merge, take the later side."),
    as_json: bool = option("--json", help="Print the report as JSON."),
) -> None:
    """Write memories into this repository (.howcome/memories), for your team to pull and review.

    Each is one file that people can read, signed with your key. You commit them. What is from outside the
    conversation, of an excluded project, or holds a secret is not written. What teammates shared waits in
    `howcome memories --review`, with its author: no session is told it before you accept it. Receive once; in this
    repository the agent's server then does it after each pull. To check the files before each commit, put the two
    lines `#!/bin/sh` and `howcome share --check` into .git/hooks/pre-commit, and make that executable.

    \b
    Examples:
      howcome share mem-3f9a
      howcome share --project && git add .howcome && git commit -m "Share memories"
      git pull && howcome share --receive && howcome memories --review
    """
    if bool(memories) + is_project + is_receive + is_check + is_resolve != 1:
        raise click.UsageError("name memories, or choose one of --project, --receive, --check and --resolve")
    folder = here()
    problems: list[str] = []
    if is_check:
        good, bad = check(folder, home_folder(os.environ))
        problems, signers = [f"{FOLDER}/{name}: {reason}" for name, reason in bad], sorted(set(good))
        facts = dict[str, object](problems=problems, files=len(good) + len(bad), signers=signers)
        fine = f"{counted(len(good), 'file')}: signed by {'; '.join(signers)}, no secret"
        said = problems or [fine if good else f"no file in {FOLDER}"]
    elif is_resolve:
        done = resolve(folder)
        facts = {"resolved": [name for name, _ in done]}
        when = [day(iso_time(side.created_ms)) for _, side in done]
        said = [
            f"{FOLDER}/{name}: the side of {side.author}, {at}" for (name, side), at in zip(done, when, strict=True)
        ]
        said = [*said, _RESOLVED] if said else [f"no file in {FOLDER} that git could not merge"]
    elif is_receive:
        with open_store() as app:
            came = app.sharing.team().receive(folder)
        problems = [reason for _, reason in came.problems]
        facts = {"added": came.added, "known": came.known, "problems": problems}
        hint = ": howcome memories --review" if came.added else ""
        said = [f"{counted(came.added, 'memory', 'memories')} to review{hint}", *problems]
        said += [f"{FOLDER}/{name}: {CONFLICT}" for name, _ in unmerged(folder)]
    else:
        with open_existing() as app:
            shared = app.sharing.team().share(folder, memories)
        facts, problems = asdict(shared), [*shared.left_out] if memories else []
        said = [*shared.written, f"{counted(len(shared.written), 'file')} written, {shared.known} there already"]
        said += [f"{ident} is not shared: {reason}" for ident, reason in shared.left_out.items()]
        said += [_COMMIT] if shared.written else []
    _end(facts, said, [], as_json=as_json, is_bad=bool(problems))


@click_command
def join(url: str = argument(), as_json: bool = JSON) -> None:
    """Make this machine a member of a team; the token is asked for, or read from standard input.

    \b
    Examples:
      howcome team join https://team.example.org
      pass show acme-token | howcome team join https://team.example.org
    """
    is_asked = sys.stdin.isatty()
    token = click.prompt("Token", hide_input=True, err=True) if is_asked else sys.stdin.readline(200)
    with open_store() as app:
        facts = app.sharing.team_server().join(clean_argument(url), str(token).strip())
    may = "read and write" if facts["scope"] == "write" else "read only"
    report(facts, _JOINED.format_map({**facts, "may": may}).splitlines(), as_json=as_json)


@click_command
def push(memories: tuple[str, ...] = argument(nargs=-1, metavar="[MEMORY]..."), as_json: bool = JSON) -> None:
    """Share this repository's memories with the team: those named, or all kept by hand or pinned, then and later.

    What is from outside the conversation, of an excluded project, or holds a secret or a private span stays here. What
    you forget is withdrawn. Sessions and events are never sent.

    \b
    Examples:
      howcome team push
      howcome team push mem-3f9a
    """
    with open_existing() as app:
        done = app.sharing.team_server().push(here(), memories)
    said = [f"{counted(done.pushed, 'memory', 'memories')} pushed, {done.withdrawn} withdrawn"]
    said += [f"{ident} is not shared: {reason}" for ident, reason in done.left_out.items()]
    _end(asdict(done), said, done.problems, as_json=as_json, is_bad=bool(memories and done.left_out))


@click_command
def pull(as_json: bool = JSON) -> None:
    """Bring what teammates shared of this repository; it waits for your review, and no session is told it before.

    \b
    Examples:
      howcome team pull && howcome team review
    """
    with open_store() as app:
        done = app.sharing.team_server().pull(here())
    hint = ": howcome team review" if done.to_review else ""
    said = [
        f"{counted(done.to_review, 'memory', 'memories')} to review, {done.taken_back} taken back{hint}",
        *_left(done.left),
    ]
    _end(asdict(done), said, done.problems, as_json=as_json)


@click_command
def review(
    numbers: tuple[int, ...] = argument(nargs=-1, type=int, metavar="[NUMBER]..."),
    is_accepted: bool = option("--accept", help="They become yours, with their author as owner."),
    is_refused: bool = option("--refuse", help="They are forgotten, and are not brought again."),
    as_json: bool = JSON,
) -> None:
    """List what came from the team and waits, of all repositories; accept or refuse it by number.

    \b
    Examples:
      howcome team review
      howcome team review 12 13 --accept
      howcome team review 14 --refuse
    """
    if bool(numbers) != (is_accepted or is_refused) or (is_accepted and is_refused):
        raise click.UsageError("name numbers with --accept or with --refuse, or nothing to see what waits")
    with open_existing() as app:
        waiting = app.sharing.team_server().waiting()
        if unknown := sorted({*numbers} - {pair.row for pair in waiting}):
            raise UsageError(f"{unknown[0]} does not wait: howcome team review")
        for number in dict.fromkeys(numbers):
            app.memories.settle(number, "newer" if is_accepted else "older")
    if not numbers:
        from howcome.cli.memories import print_reviews

        print_reviews(waiting, as_json=as_json, settles=_SETTLES)
        return
    settled = "accepted" if is_accepted else "refused"
    said = f"{counted(len({*numbers}), 'memory', 'memories')} {settled}"
    report({settled: sorted({*numbers})}, [said], as_json=as_json)


@click_command
def leave(yes: bool = option("-y", help="Do not ask."), as_json: bool = JSON) -> None:
    """End this machine's membership, and delete its token. What was pushed stays there, what came stays here.

    \b
    Examples:
      howcome team leave
    """
    confirm("Delete this machine's token", yes=yes, err=as_json)
    with open_existing() as app:
        app.sharing.team_server().leave()
    report({"left": True}, ["This machine is in no team."], as_json=as_json)


def membership(*, as_json: bool) -> None:
    """Prints what this machine is a member of (UsageError: of nothing)."""
    from howcome.memory.team_server import NOT_JOINED

    with open_store() as app:
        facts: dict[str, Any] = app.sharing.team_server().status()
    if not facts:
        raise UsageError(f"{NOT_JOINED}; to administer a team, give --database")
    run = day(iso_time(facts["run_ms"])) if isinstance(facts["run_ms"], int) else "not yet"
    said = [f"{facts['team']} at {facts['url']}, as {facts['person']}, until {facts['expires'] or 'revoked'}"]
    said += [f"last run {run}", *(f"{does}: {', '.join(facts[does]) or 'nothing'}" for does in ("pushes", "pulls"))]
    said += [f"problem: {facts['problem']}"] if facts["problem"] else []
    said += _left(facts["left"])
    report(facts, said, as_json=as_json)


def _left(found: dict[str, str]) -> list[str]:
    stays = "{0} took {1} back. You accepted it, so it stays until you `howcome forget {1}`"
    return [stays.format(author, ident) for ident, author in found.items()]
