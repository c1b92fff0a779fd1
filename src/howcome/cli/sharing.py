"""`howcome share`: a team's memories, as files of its repository."""

from __future__ import annotations

import os
from dataclasses import asdict

import click

from howcome.app import open_app
from howcome.cli.arguments import clean_argument, open_to_read
from howcome.cli.declared import argument, click_command, option
from howcome.memory.team import FOLDER, check, resolve
from howcome.present.render import counted, json_line, plain
from howcome.present.terminal import echo
from howcome.settings import current_folder, read_settings

_COMMIT = (
    "Commit them. To check them before each commit: put the two lines `#!/bin/sh` and `howcome share --check` into"
    " .git/hooks/pre-commit, and make that executable"
)


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
    here = clean_argument(current_folder(os.environ))
    problems: list[str] = []
    if is_check:
        good, bad = check(here)
        problems, signers = [f"{FOLDER}/{name}: {reason}" for name, reason in bad], sorted(set(good))
        facts = dict[str, object](problems=problems, files=len(good) + len(bad), signers=signers)
        fine = f"{counted(len(good), 'file')}: signed by {'; '.join(signers)}, no secret"
        said = problems or [fine if good else f"no file in {FOLDER}"]
    elif is_resolve:
        said = resolve(here)
        facts = {"resolved": said}
    elif is_receive:
        with open_app(read_settings(os.environ)) as app:
            report = app.sharing.team().receive(here)
        problems = [reason for _, reason in report.problems]
        facts = {"added": report.added, "known": report.known, "problems": problems}
        hint = ": howcome memories --review" if report.added else ""
        said = [f"{counted(report.added, 'memory', 'memories')} to review{hint}", *problems]
    else:
        with open_to_read() as app:
            shared = app.sharing.team().share(here, memories)
        facts, problems = asdict(shared), [*shared.left_out] if memories else []
        said = [*shared.written, f"{counted(len(shared.written), 'file')} written, {shared.known} there already"]
        said += [f"{ident} is not shared: {reason}" for ident, reason in shared.left_out.items()]
        said += [_COMMIT] if shared.written else []
    for line in [json_line(facts)] if as_json else said:
        echo(plain(line))
    if problems:
        raise click.exceptions.Exit(1)
