"""What was done with memories: imported, purged."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class ImportReport:
    """What became of the lines of an export: counts, and (line number, what is wrong) of those that are none.

    `outside` of those that were `added` wait for review. `stones` are marks of memories that were purged where the
    export was written: they are kept, too, but those of a stranger's file are `left_out`; `still_here` are the ids of
    such memories that are not purged here. `keys` are those of the lines, each with that of the memory here.
    """

    added: int = 0
    known: int = 0
    left_out: int = 0
    outside: int = 0
    purged: int = 0
    stones: int = 0
    still_here: list[str] = field(default_factory=list)
    problems: list[tuple[int, str]] = field(default_factory=list)
    keys: dict[bytes, bytes] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class PurgeReport:
    """What a purge left, as far as was looked.

    Attributes:
        is_gone: Whether the words are nowhere in the store's files, events and memories; None: that was not looked for.
        was_compacted: Whether the database was written anew.
        files: Files in the store's folder that hold the words, or much of them.
        events: Ids of events that hold them: what was said is not the memory's to erase. `memories`: of memories.
        unseen: What nobody here can look into; '' where all is files of ours.
        problem: Why not everything could be looked for; '' when it was.
    """

    id: str
    unseen: str = ""
    problem: str = ""
    is_gone: bool | None = None
    was_compacted: bool = False
    files: list[str] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
