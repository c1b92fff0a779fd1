"""What the agent reads by itself into every window is not said to it once more."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache

from howcome.clients.hook import text_of
from howcome.clients.projects import project_root
from howcome.domain.candidates import is_held
from howcome.domain.patterns import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from howcome.clients.base import Client
    from howcome.clients.hook import Payload

MAX_BYTES, MAX_IMPORTED = 128 << 10, 20
"""Of each file, and how many that others name: a list of many would cost a prompt its time."""

INDEX = "MEMORY.md"
"""The client's own list of its memory files, beside the transcripts."""

_IMPORT = late(r"(?:^|\s)@([\w./-]+\.md)\b")


def held(client: Client, payload: Payload) -> Callable[[str], bool]:
    """Tells of a memory's text whether a file says it that the agent reads; they are read when it is first asked."""
    files = cache(lambda: _files(client, payload))
    return lambda text: is_held(text, files())


def _files(client: Client, payload: Payload) -> str:
    """What these files say, in one line; one imported by another is read once."""
    history, root = client.history, project_root(text_of(payload, "cwd"))
    if history is None or not os.path.isabs(root):
        return ""
    paths = [os.path.join(root, name) for name in history.reads]
    transcript, (_, slash, own) = text_of(payload, "transcript_path"), history.memory_files.partition("/")
    if transcript and slash:
        paths.append(os.path.join(os.path.dirname(transcript), own, INDEX))
    texts = [_read(path) for path in paths]
    named = dict.fromkeys(name for text in texts for name in _IMPORT.findall(text))
    texts += [_read(os.path.join(root, name)) for name in list(named)[:MAX_IMPORTED]]
    return " ".join(" ".join(texts).split())


def _read(path: str) -> str:
    with suppress(OSError), open(path, "rb", opener=_without_waiting) as stream:
        return stream.read(MAX_BYTES).decode("utf-8", "replace")
    return ""


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file; a pipe that nobody writes to is no reason to wait."""
    return os.open(path, flags | os.O_NONBLOCK)
