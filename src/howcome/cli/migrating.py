"""`howcome migrate`: the whole store, copied to another engine and compared."""

from __future__ import annotations

import os
import shlex

from howcome.cli.declared import click_command, option
from howcome.cli.progress import tqdm
from howcome.present.render import counted, json_line
from howcome.present.terminal import echo
from howcome.settings import read_settings
from howcome.upkeep import move_store

_SHOWN = ("events", "sessions", "memories")


@click_command
def migrate(
    to: str = option(required=True, metavar="STORE", help="`postgresql://user@host/name`, `sqlite`, `sqlite:FOLDER`."),
    as_json: bool = option("--json", help="Print counts and checksums, per project and table, as JSON."),
) -> None:
    """Copy the store to a PostgreSQL server, or the server's back to this machine, and compare both.

    Nothing is deleted, and nobody uses the copy before you say so (`howcome config set store …`). The copy must be an
    empty store, or one that this command began and did not end: it goes on there. Ids stay the same. Indexes are not
    copied; the next command that searches makes them.

    \b
    Examples:
      howcome migrate --to postgresql://me@db.example/howcome
      howcome migrate --to sqlite
      howcome migrate --to sqlite:/tmp/copy --json
    """
    settings = read_settings(os.environ)
    with tqdm(unit="event", disable=as_json or None, leave=False) as bar:
        place, moved = move_store(settings, to, bar.update)
    if as_json:
        sums = [
            {"project": project, "table": table, "rows": rows, "checksum": checksum}
            for (project, table), (rows, checksum) in sorted(moved.sums.items())
        ]
        echo(json_line({"store": place, "copied": moved.copied, "compared": sums}))
        return
    for project in sorted({project for project, _ in moved.sums} - {""}):
        parts = [counted(moved.sums.get((project, name), (0, ""))[0], *_named(name)) for name in _SHOWN]
        echo(f"{project}: {', '.join(parts)}: the same in both")
    echo(f"Copied to {place}: {counted(sum(moved.copied.values()), 'row')}, every one compared.")
    use = f"howcome config set store {shlex.quote(to)}" if "://" in to else "howcome config unset store"
    use = f"HOWCOME_HOME={shlex.quote(place)}" if to.startswith("sqlite:") else use
    echo(f"Nobody uses the copy yet: {use}")


def _named(table: str) -> tuple[str, ...]:
    return ("memory", "memories") if table == "memories" else (table.removesuffix("s"),)
