"""Whether a path that a hook was given lies where clients keep their transcripts.

A prompt's hook asks this, too: nothing dear is imported here.
"""

from __future__ import annotations

import os
import stat

from howcome.clients.registry import DEFAULT, client_of, names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def is_clients(path: str, others: Iterable[str] = (), agent: str = DEFAULT) -> bool:
    """Whether a path is a file of this user below a client's folder (or one of `others`), with no link leading out.

    Whoever starts a hook names the path: it could be any file, whose words would be kept and said. Where `agent` keeps
    its own is asked first: mostly no other client has to be known.
    """
    try:
        status = os.stat(path)
        if not os.path.isabs(path) or not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid():
            return False
        real = os.path.realpath(path)
    except (OSError, ValueError):  # not there, or a name that no file system holds
        return False
    folders = (os.path.realpath(os.path.expanduser(root)) for root in _folders(agent, others))
    return any(real.startswith(folder.rstrip(os.sep) + os.sep) for folder in folders)


def _folders(agent: str, others: Iterable[str]) -> Iterator[str]:
    yield from _roots(agent)
    yield from others
    for name in names():
        if name != agent:
            yield from _roots(name)


def _roots(name: str) -> list[str]:
    client = client_of(name)
    history = client.history if client else None
    return history.roots(os.path.expanduser("~"), os.environ) if history else []
