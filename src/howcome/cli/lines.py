"""`howcome blame` (short: `howcome FILE[:LINE]`) and `howcome history`: why a line is there, what became of a file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from howcome.app import now_ms
from howcome.cli.arguments import clean_argument, open_to_read
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.errors import UsageError
from howcome.present.files import file_and_line, missing, past_view, told
from howcome.present.render import json_line
from howcome.present.screen import Row, day, show_rows
from howcome.present.terminal import echo

if TYPE_CHECKING:
    from howcome.present.views import View

SHORT_HISTORY = 3


@click_command
def blame(place: str = argument(metavar="FILE[:LINE]"), as_json: bool = JSON) -> None:
    """Say why a line is there: its commit, the session that wrote it, the prompt, the reason, what failed before.

    The commit is git's answer (`git blame`). The session is the one whose edit put the line in, told by its text and
    the lines around it, else the one that made the commit, told by the commit's hash or message. "probably" means that
    other places of the file look the same. Lines that are not committed are answered, too. Without LINE the last
    changes of the file are listed, as `howcome history` does.

    `howcome FILE:LINE` is short for this where there is such a file; `./` says that a word is a file.

    \b
    Examples:
      howcome src/cart.py:42
      howcome ./status
      howcome blame src/cart.py:42 --json
    """
    path, line = file_and_line(place)
    if not os.path.isfile(path):
        raise UsageError(
            f"there is no file {clean_argument(path)}; `howcome history` tells of files that are gone,"
            " `howcome search` of words"
        )
    if line is None:
        _history(path, SHORT_HISTORY, as_json=as_json)
        return
    with open_to_read() as app:
        file, past = app.files.line(path, line)
    view = past_view(past)
    if as_json:
        echo(json_line({"file": file, "line": line, **view}))
        return
    show_rows(_rows(view), notes=[*missing(view), f"More: howcome show ID, howcome history {file}"])


@click_command
def history(
    file: str = argument(),
    limit: int = option("-n", type=range(1, 1001), default=20, help="At most so many."),
    as_json: bool = JSON,
) -> None:
    """List what became of a file, newest first: the edits of every session, the plans that named it, the commits.

    Edits of one exchange are one row, with the prompt and the reason. The file need not be there any more.

    \b
    Examples:
      howcome history src/cart.py
      howcome history src/cart.py --limit 100 --json
    """
    _history(file, limit, as_json=as_json)


def _history(path: str, limit: int, *, as_json: bool) -> None:
    with open_to_read() as app:
        name, changes, problem = app.files.history(path, limit)
    views = [past_view(one) for one in changes]
    if as_json:
        echo(json_line({"file": name, "problem": problem, "changes": views}))
        return
    notes = [] if views else ["No session edited it, no plan named it, no commit took it in."]
    notes += [f"Commits: {problem}."] if problem else []
    notes += [f"More: howcome history {name} --limit {limit * 5}"] if len(views) == limit else []
    show_rows([row for view in views for row in _rows(view)], notes=notes)


def _rows(view: View) -> list[Row]:
    now = now_ms()
    return [Row(*one) for one in told(view, lambda time: day(time, now))]
