"""The tool that tells sessions tells files, too: why a line is there, what became of a file."""

from __future__ import annotations

import os

from howcome.clients.projects import MAX_PATH_CHARS, is_inside
from howcome.errors import UsageError
from howcome.mcp import reading
from howcome.mcp.arguments import Arguments
from howcome.mcp.workplace import Workplace
from howcome.present.files import file_and_line, missing, past_view, told
from howcome.present.render import entry
from howcome.present.views import short_time

CHANGES = 8


def get_timeline(session: Workplace, arguments: Arguments) -> str:
    """The latest sessions, the events of one, or what is known of a file or a line of it.

    Raises:
        UsageError: the file is none of this project's: what it says is not for who may not read it.
    """
    place = arguments.text("file")
    if place is None:
        return reading.get_timeline(session, arguments)
    app, folder = session.app, session.project_folder()
    if "\0" in place or len(place) > MAX_PATH_CHARS:
        raise UsageError("file: that is no path")
    file, line = file_and_line(os.path.join(folder, place))
    roots = (os.path.realpath(root) for root in (folder, app.projects.root_of(folder)))
    if not any(is_inside(os.path.realpath(file), root) for root in roots):
        raise UsageError("file: name a file of this project")
    if line is None:
        name, found, _ = app.files.history(file, arguments.number("limit", CHANGES))
        head = f"{name}: what became of it, newest first." if found else f"{name}: no session, plan or commit names it."
    else:
        name, past = app.files.line(file, line)
        head, found = " ".join((f"{name}:{line}: why it is there.", *missing(past_view(past)))), [past]
    parts = [
        entry("  ".join(about), "\n".join((text, *more)))
        for past in found
        for text, about, more in told(past_view(past), short_time)
    ]
    return reading.answer(app, head, reading.cut_to_fit(parts, "a smaller limit"))
