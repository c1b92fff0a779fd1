"""The folders in which clients keep their transcripts, and whether a path that a hook was given lies in one of them.

A prompt's hook asks this, too: nothing dear is imported here.
"""

from __future__ import annotations

import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

DATABASE_SUFFIXES = (".db", ".sqlite", ".sqlite3")


def client_roots(home: str, environment: Mapping[str, str]) -> dict[str, list[str]]:
    """The folders (or databases) in which each known client keeps its transcripts."""
    claude = environment.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude")
    codex_home = environment.get("CODEX_HOME") or os.path.join(home, ".codex")
    gemini_home = environment.get("GEMINI_CLI_HOME") or home  # stands for the home folder, not for ~/.gemini
    data = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    opencode_data = os.path.join(data, "opencode")
    database = environment.get("OPENCODE_DB", "")
    named = [os.path.join(opencode_data, database)] if database.endswith(DATABASE_SUFFIXES) else []
    return {
        "claude-code": [os.path.join(claude, "projects")],
        "codex": [os.path.join(codex_home, "sessions"), os.path.join(codex_home, "archived_sessions")],
        "gemini": [os.path.join(gemini_home, ".gemini", "tmp")],
        "opencode": [opencode_data, *named],
    }


def is_clients(path: str, others: Iterable[str] = ()) -> bool:
    """Whether a path is a file of this user below a client's folder (or one of `others`), with no link leading out.

    Whoever starts a hook names the path: it could be any file, whose words would be kept and said.
    """
    try:
        status = os.stat(path)
        if not os.path.isabs(path) or not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        real = os.path.realpath(path)
    except (OSError, ValueError):  # not there, or a name that no file system holds
        return False
    roots = [root for roots in client_roots(os.path.expanduser("~"), os.environ).values() for root in roots]
    folders = (os.path.realpath(os.path.expanduser(root)) for root in (*roots, *others))
    return any(real.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)
