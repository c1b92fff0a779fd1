"""What a compacted window is offered of its last task: `python benchmarks/compaction.py SET… [--keep STORES]`.

A SET has a folder transcripts/. Of each session the last task (a prompt and what follows) with ten or more calls that
run a command or name a file is taken, as if the window were compacted behind it. Printed are the shares of the task's
commands and paths that the manifest names, and its tokens.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from statistics import mean, median
from typing import TYPE_CHECKING

from howcome.domain.stored import Scope
from howcome.domain.text import tokens
from howcome.evaluate.harness import Pool
from howcome.evaluate.note_run import import_set
from howcome.hooks.handlers import MANIFEST_TOKENS
from howcome.learn.base import stream_of
from howcome.learn.manifest import MAX_COMMAND_CHARS, manifest, without_cuts
from howcome.learn.scene import scene_of
from howcome.learn.sources.seen import one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import StoredEvent

MIN_CALLS, SESSIONS = 10, 100_000
FILES = ("Changed files", "Looked at")


def measured(told: Sequence[StoredEvent]) -> tuple[int, int, int, int, int] | None:
    """Commands held and all, paths held and all, tokens; None where there is no such task."""
    scenes = [scene_of(exchange) for exchange in stream_of(told)]
    tasks = [one for one in scenes if sum(bool(act.command or act.call.file) for act in one.actions) >= MIN_CALLS]
    if not tasks:
        return None
    last_row = max(event.row for event in tasks[-1].exchange.all_events)
    lines = manifest([event for event in told if event.row <= last_row], MANIFEST_TOKENS)
    text = "\n".join(lines)
    named = [name for line in lines if line.startswith(FILES) for name in line.split(": ", 1)[1].split(", ")]
    commands = {without_cuts(action.command) for action in tasks[-1].actions if action.command}
    paths = {action.call.file for action in tasks[-1].actions if action.call.file}
    held = sum(one_line(command, MAX_COMMAND_CHARS)[:-1] in text for command in commands)
    return held, len(commands), sum(path.endswith(tuple(named)) for path in paths), len(paths), tokens(text)


def report(folder: Path, keep: Path | None) -> str:
    """A row of the table."""
    with tempfile.TemporaryDirectory(prefix="howcome-compaction-", ignore_cleanup_errors=True) as home:
        import_set(folder, None, home, keep, lambda line: print(line, file=sys.stderr))
        with Pool(home).open() as app:
            rows = app.events.recent_sessions(Scope.everything(), SESSIONS)
            sessions = [app.events.session(one.row, with_text=True) for one in rows]
            told = [[event for event in session if event.agent_id is None] for session in sessions]
            found = [one for one in map(measured, told) if one is not None]
    shares = [(held + named) / (commands + paths) for held, commands, named, paths, _ in found]
    kinds = [mean(one[at] / one[at + 1] for one in found if one[at + 1]) for at in (0, 2)]
    costs = [one[4] for one in found]
    row = (
        len(found), f"{mean(shares):.2f}", f"{sum(share >= 0.8 for share in shares) / len(shares):.2f}",
        *(f"{kind:.2f}" for kind in kinds), f"{median(costs):.0f}", max(costs),
    )  # fmt: skip
    return f"| {folder.name} | {' | '.join(map(str, row))} |"


def main() -> None:
    """The table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="+", type=Path)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    print(
        "| | tasks | held, mean | at least .8 held | commands | paths | tokens, median | most |",
        "|---" * 8 + "|",
        sep="\n",
    )
    for folder in given.sets:
        print(report(folder, given.keep))


if __name__ == "__main__":
    main()
