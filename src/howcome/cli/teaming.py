"""What a member of a team does: join, push, pull, review, leave."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict

import click

from howcome.app import open_app
from howcome.cli.arguments import clean_argument
from howcome.cli.asking import confirm
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.cli.memories import print_reviews
from howcome.errors import UsageError
from howcome.memory.team_server import NOT_JOINED, TeamReport
from howcome.present.render import counted, iso_time, json_line, plain
from howcome.present.terminal import echo
from howcome.settings import current_folder, read_settings

MAX_TOKEN_CHARS = 200
_JOINED = """This machine is in team {team} as {person} (it may {may}).
In a repository, `howcome team push` shares what you kept by hand there, then and later; `howcome team pull` brings what
others shared. While an agent runs, both go on by themselves."""
_SETTLES = "`howcome team review NUMBER --accept` or `--refuse` settles one."


@click_command
def join(url: str = argument(), as_json: bool = JSON) -> None:
    """Make this machine a member of a team; the token is asked for, or read from standard input.

    \b
    Examples:
      howcome team join https://team.example.org
      pass show acme-token | howcome team join https://team.example.org
    """
    if sys.stdin.isatty():
        token = click.prompt("Token", hide_input=True, err=True)
    else:
        token = sys.stdin.readline(MAX_TOKEN_CHARS)
    with open_app(read_settings(os.environ)) as app:
        facts = app.sharing.team_server().join(clean_argument(url), str(token).strip())
    may = "read and write" if facts["scope"] == "write" else "read only"
    for line in [json_line(facts)] if as_json else _JOINED.format_map({**facts, "may": may}).splitlines():
        echo(plain(line))


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
    with open_app(read_settings(os.environ), create=False) as app:
        report = app.sharing.team_server().push(clean_argument(current_folder(os.environ)), memories)
    _print(report, as_json=as_json, must=bool(memories))


@click_command
def pull(as_json: bool = JSON) -> None:
    """Bring what teammates shared of this repository; it waits for your review, and no session is told it before.

    \b
    Examples:
      howcome team pull && howcome team review
    """
    with open_app(read_settings(os.environ)) as app:
        report = app.sharing.team_server().pull(clean_argument(current_folder(os.environ)))
    _print(report, as_json=as_json)


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
    with open_app(read_settings(os.environ), create=False) as app:
        waiting = app.sharing.team_server().waiting()
        if unknown := sorted({*numbers} - {pair.row for pair in waiting}):
            raise UsageError(f"{unknown[0]} does not wait: howcome team review")
        for number in dict.fromkeys(numbers):
            app.memories.settle(number, "newer" if is_accepted else "older")
    if not numbers:
        print_reviews(waiting, as_json=as_json, settles=_SETTLES)
        return
    facts = {"accepted" if is_accepted else "refused": sorted({*numbers})}
    said = f"{counted(len({*numbers}), 'memory', 'memories')} {'accepted' if is_accepted else 'refused'}"
    echo(json_line(facts) if as_json else said)


@click_command
def leave(yes: bool = option("-y", help="Do not ask."), as_json: bool = JSON) -> None:
    """End this machine's membership, and delete its token. What was pushed stays there, what came stays here.

    \b
    Examples:
      howcome team leave
    """
    confirm("Delete this machine's token", yes=yes, err=as_json)
    with open_app(read_settings(os.environ), create=False) as app:
        app.sharing.team_server().leave()
    echo(json_line({"left": True}) if as_json else "This machine is in no team.")


def membership(*, as_json: bool) -> None:
    """Prints what this machine is a member of.

    Raises:
        UsageError: of nothing.
    """
    with open_app(read_settings(os.environ)) as app:
        facts = app.sharing.team_server().status()
    if not facts:
        raise UsageError(f"{NOT_JOINED}; to administer a team, give --database")
    run_ms = facts["run_ms"]
    run = iso_time(run_ms) if isinstance(run_ms, int) else "not yet"
    said = [f"{facts['team']} at {facts['url']}, as {facts['person']}, until {facts['expires'] or 'revoked'}"]
    said += [f"last run {run}", f"pushes: {_listed(facts['pushes'])}", f"pulls: {_listed(facts['pulls'])}"]
    said += [f"problem: {facts['problem']}"] if facts["problem"] else []
    for line in [json_line(facts)] if as_json else said:
        echo(plain(line))


def _listed(names: object) -> str:
    return ", ".join(map(str, names)) if isinstance(names, list) and names else "nothing"


def _print(report: TeamReport, *, as_json: bool, must: bool = False) -> None:
    said = []
    if report.pushed or report.withdrawn or not (report.to_review or report.taken_back):
        said.append(f"{counted(report.pushed, 'memory', 'memories')} pushed, {report.withdrawn} withdrawn")
    if report.to_review or report.taken_back:
        hint = ": howcome team review" if report.to_review else ""
        said.append(
            f"{counted(report.to_review, 'memory', 'memories')} to review, {report.taken_back} taken back{hint}"
        )
    said += [f"{ident} is not shared: {reason}" for ident, reason in report.left_out.items()]
    for line in [json_line(asdict(report))] if as_json else said:
        echo(plain(line))
    for problem in [] if as_json else report.problems:
        echo(plain(f"howcome: {problem}"), err=True)
    if report.problems or (must and report.left_out):
        raise click.exceptions.Exit(1)
