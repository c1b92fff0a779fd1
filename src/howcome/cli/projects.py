"""`howcome projects`: which projects there are, and which folders are one project."""

from __future__ import annotations

import os

import click

from howcome.app import App
from howcome.cli.arguments import clean_argument, confirm, open_existing
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.errors import UsageError
from howcome.present.render import counted, plain
from howcome.present.screen import report
from howcome.settings import current_folder


@click_command
def projects(
    action: str = argument(type=("list", "join", "apart"), default="list"),
    names: tuple[str, ...] = argument(nargs=-1),
    yes: bool = option(help="Do not ask."),
    as_json: bool = JSON,
) -> None:
    """List projects with their other folders, and pairs that may be one; join a pair, or keep it apart.

    A repository that was moved, or cloned again, is one project when its first commit and its remote are the same.
    Where only one of these is, nothing is joined before somebody says so. `join A B` makes B a part of A: all that was
    said there is found in A, too, and cannot be told apart again. `apart A B` ends the question.

    \b
    Examples:
      howcome projects
      howcome projects join ~/code/shop ~/old/shop
      howcome projects apart shop shop-fork
    """
    with open_existing() as app:
        if action == "list":
            if names:
                raise click.UsageError("list takes no names")
            _list(app, as_json=as_json)
            return
        (one, root), (other, other_root) = _pair(app, names)
        if action == "apart":
            app.projects.keep_apart(root, other_root)
            said = f"{root} and {other_root} stay two projects"
        else:
            confirm(f"Make {plain(other_root)} a part of {plain(root)}, for good", yes=yes, err=as_json)
            app.projects.join(one, other)
            app.index.rebuild()
            said = f"{other_root} is a part of {root} now"
    report({action: [root, other_root]}, [plain(said)], as_json=as_json)


def _pair(app: App, names: tuple[str, ...]) -> tuple[tuple[int, str], tuple[int, str]]:
    """Two different projects that are stored, by what somebody wrote.

    Raises:
        UsageError: they are not two, or not stored.
    """
    if len(names) != 2:
        raise click.UsageError("name two projects: a folder, or the last parts of one")
    here, found = clean_argument(current_folder(os.environ)), []
    for name in names:
        known = {root: row for row, root in app.projects.roots()}
        written = os.path.normpath(os.path.join(here, os.path.expanduser(clean_argument(name))))
        row, root = (known[written], written) if written in known else app.projects.named(name, here, "or a whole path")
        if row is None:
            raise UsageError(f"nothing is stored of {root}: `howcome projects` lists what is")
        found.append((row, root))
    if found[0] == found[1]:
        raise UsageError(f"both are the project {found[0][1]}")
    return found[0], found[1]


def _list(app: App, *, as_json: bool) -> None:
    asked = app.projects.doubts()
    aliases: dict[str, list[str]] = {}
    for other, root in app.projects.aliases():
        aliases.setdefault(root, []).append(other)
    rows = [{"project": root, "also": aliases.get(root, [])} for _, root in app.projects.roots()]
    pairs = [{"projects": [doubt.one, doubt.other], "is_sure": doubt.is_sure} for doubt in asked]
    lines = []
    for _, root in app.projects.roots():
        lines += [plain(root), *(f"    also {plain(also)}" for also in aliases.get(root, []))]
    if asked:
        lines += ["", f"{counted(len(asked), 'pair')} may be one project each; join A B, or keep them apart:"]
    lines += [f"    {plain(doubt.one)}  {plain(doubt.other)}" for doubt in asked]
    report({"projects": rows, "doubts": pairs}, lines, as_json=as_json)
