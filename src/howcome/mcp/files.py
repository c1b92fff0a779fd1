"""The tool that tells sessions tells files, too: why a line is there, what became of a file."""

from __future__ import annotations

import os

from howcome.clients.projects import is_inside
from howcome.domain.events import squeeze
from howcome.errors import UsageError
from howcome.mcp import reading
from howcome.present.files import LINE_CHARS, change_rows, file_and_line, line_rows, past_view
from howcome.present.render import entry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.mcp.arguments import Arguments
    from howcome.mcp.workplace import Workplace

CHANGES = 8


def get_timeline(session: Workplace, arguments: Arguments) -> str:
    """The latest sessions, the events of one, or what is known of a file or a line of it.

    Raises:
        UsageError: the file is none of this project's: what it says is not for who may not read it.
    """
    place = arguments.text("file")
    if place is None:
        return reading.get_timeline(session, arguments)
    app, folder = session.app, session.folder
    file, line = file_and_line(os.path.join(folder, place))
    roots = (os.path.realpath(root) for root in (folder, app.projects.root_of(folder)))
    if not any(is_inside(os.path.realpath(file), root) for root in roots):
        raise UsageError("file: name a file of this project")
    if line is None:
        name, changes, _ = app.files.history(file, arguments.number("limit", CHANGES))
        rows = [row for one in changes for row in change_rows(past_view(one))]
        head = f"{name}: what became of it, newest first." if rows else f"{name}: no session, plan or commit names it."
    else:
        name, past = app.files.line(file, line)
        rows, head = list(line_rows(past_view(past))), f"{name}:{line}: why it is there."
    told = [entry(f"{name}  {ours}", squeeze(said, LINE_CHARS) if said else None) for name, ours, said in rows]
    return reading.answer(app, head, reading.cut_to_fit(told, "a smaller limit"))
