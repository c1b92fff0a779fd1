"""Memories against what careful readers noted: which notes they catch, and how many catch none, trap or repeat.

Everything here is pure: memories come as `Kept`, wherever they were made. docs/evaluation.md, "Notes", has the
definitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from pathlib import Path

import tantivy

from howcome.domain.memories import normalized
from howcome.domain.shares import Share
from howcome.domain.text import STOP_WORDS
from howcome.errors import UsageError
from howcome.evaluate.datasets import find, rows_of

CAUGHT_STEMS = 0.5
"""The share of a quote's stems, or of a topic's, that a memory which catches the note has."""

TRAP_STEMS = 0.7
"""The share of a trap's quote's stems with which a memory says it."""

SAME_STEMS, SAME_MEANING = 0.8, 0.95
"""Jaccard of two memories' stems, or cosine of their vectors, from which on the later one is a duplicate."""

PROMPT_WORDS = 6
"""Prompts with as many words are the baseline: each kept as it was typed."""


@dataclass(frozen=True)
class Kept:
    """A live memory as it is measured: its words, the whole texts of the events that it cites, and whose they are."""

    id: str
    text: str
    cited: tuple[str, ...]
    sessions: frozenset[str]
    source: str = ""


@dataclass(frozen=True)
class Note:
    """What a reader would have noted of a session."""

    session: str
    quotes: tuple[str, ...]
    topic: str = ""
    kind: str = ""
    speaker: str = ""
    value: int = 1


@dataclass
class NoteFigures:
    """What one way of keeping memories is worth on one set.

    Attributes:
        coverage: Caught notes of all, by group: "all", "value 3", "speaker user", "speaker user, value 3", "kind fact".
        noteworthiness: Of the memories of read sessions those that catch a note; "all" and by source.
        traps: Of the same those that say a trap (graded: that the second reader calls wrong); likewise.
        duplicates: Of the same those that an earlier memory of the set says already; likewise.
        sources: How many notes the memories of each source would catch by themselves.
        sessions: How many sessions were read.
        caught: The memory that was matched to each caught note, by the note's place.
    """

    coverage: dict[str, Share]
    noteworthiness: dict[str, Share]
    traps: dict[str, Share]
    duplicates: dict[str, Share]
    sources: dict[str, int]
    sessions: int
    caught: dict[int, str] = field(default_factory=dict)

    @property
    def memories_per_session(self) -> float:
        """Memories that cite an event of a read session, for each of these."""
        return self.noteworthiness["all"].of / self.sessions if self.sessions else 0.0


@dataclass(frozen=True)
class Graded:
    """What readers said: ids of the memories that pass, and of those that the second reader calls wrong."""

    passed: Collection[str]
    wrong: Collection[str]


def measure(
    memories: Sequence[Kept],
    notes: Sequence[Note],
    traps: Sequence[str],
    *,
    graded: Graded | None = None,
    alike: Collection[tuple[int, int]] = (),
) -> NoteFigures:
    """The figures of the live memories of a set (also of sessions that nobody read), in the order of their keeping.

    `traps` are quotes of what looks like a memory and is none. With `graded` only what passed catches a note. `alike`
    are places of memories, the earlier one first, that say the same in other words, where an embedder knows.
    """
    read, values = {note.session for note in notes}, [note.value for note in notes]
    able = [at for at, memory in enumerate(memories) if graded is None or memory.id in graded.passed]
    edges = [[at for at in able if catches(memories[at], note)] for note in notes]
    ours = [at for at, memory in enumerate(memories) if memory.sessions & read]
    if graded is not None:
        says = {at for at in ours if memories[at].id in graded.wrong}
    else:
        says = {at for at in ours if says_trap(memories[at], traps)}
    caught = matching(edges, values)
    by_source = {
        source: [[at for at in found if memories[at].source == source] for found in edges]
        for source in sorted({memories[at].source for at in ours})
    }
    return NoteFigures(
        coverage=_coverage(notes, caught),
        noteworthiness=_by_source(memories, ours, {at for found in edges for at in found}),
        traps=_by_source(memories, ours, says),
        duplicates=_by_source(memories, ours, duplicates([memory.text for memory in memories], ours, alike)),
        sources={source: len(matching(found, values)) for source, found in by_source.items()},
        sessions=len(read),
        caught={note: memories[at].id for note, at in caught.items()},
    )


def verbatim(prompts: Iterable[tuple[str, str, str]]) -> list[Kept]:
    """The baseline: every prompt (id, session, text) of six words or more as it was typed, citing itself."""
    return [
        Kept(name, text, (text,), frozenset([session]), "verbatim")
        for name, session, text in prompts
        if len(text.split()) >= PROMPT_WORDS
    ]


def catches(memory: Kept, note: Note) -> bool:
    """Whether a memory cites an event that holds one of a note's quotes, and is about the same: half of its stems."""
    cited, said = [blanks_folded(text) for text in memory.cited], stems(memory.text)
    borne = (quote for quote in note.quotes if any(blanks_folded(quote) in text for text in cited))
    return any(_holds(said, wanted, CAUGHT_STEMS) for quote in borne for wanted in (quote, note.topic))


def says_trap(memory: Kept, traps: Iterable[str]) -> bool:
    """Whether a memory's text holds most of the words of what it should not say."""
    return any(_holds(stems(memory.text), quote, TRAP_STEMS) for quote in traps)


def matching(edges: Sequence[Sequence[int]], values: Sequence[int]) -> dict[int, int]:
    """The memory of each caught note, no memory twice: of all ways the one that catches the greatest value.

    Notes in the order of their values, each by an augmenting path: with weights on one side only that is optimal, and
    catches as many notes as can be caught.
    """
    owner: dict[int, int] = {}

    def place(note: int, tried: set[int]) -> bool:
        for memory in edges[note]:
            if memory not in tried:
                tried.add(memory)
                if memory not in owner or place(owner[memory], tried):
                    owner[memory] = note
                    return True
        return False

    for note in sorted(range(len(edges)), key=lambda at: -values[at]):
        place(note, set())
    return {note: memory for memory, note in sorted(owner.items(), key=lambda pair: pair[1])}


def duplicates(texts: Sequence[str], places: Iterable[int], alike: Collection[tuple[int, int]] = ()) -> set[int]:
    """Of some places those whose text is said before: in the same words, nearly the same stems, or alike by meaning."""
    first: dict[str, int] = {}
    for at, text in enumerate(texts):
        first.setdefault(normalized(text), at)
    said = [stems(text) for text in texts]
    again = {later for _, later in alike}
    again |= {at for at, text in enumerate(texts) if first[normalized(text)] != at}
    return {at for at in places if at in again or any(_alike(said[at], said[other]) for other in range(at))}


@lru_cache(maxsize=1 << 16)
def stems(text: str) -> frozenset[str]:
    """The stems of a text's words without stop words."""
    return frozenset(_analyzer().analyze(text))


@lru_cache(maxsize=1 << 16)
def blanks_folded(text: str) -> str:
    """A text with single blanks."""
    return " ".join(text.split())


@lru_cache(maxsize=1)
def _analyzer() -> tantivy.TextAnalyzer:
    """How the indexes stem, without their limit on a word's length and their parts of names."""
    builder = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple()).filter(tantivy.Filter.lowercase())
    builder = builder.filter(tantivy.Filter.custom_stopword(sorted(STOP_WORDS)))
    return builder.filter(tantivy.Filter.stemmer("english")).build()


def read_notes(folder: Path) -> tuple[list[Note], list[str]]:
    """The notes of a set, and the quotes of its traps.

    Raises:
        UsageError: a file is not what docs/evaluation.md describes; the message says where.
    """
    notes = []
    for number, row in enumerate(rows_of(folder, "notes", "session", "quotes"), 1):
        topic, kind, speaker, value = (str(row.get(name) or "") for name in ("topic", "kind", "speaker", "value"))
        if value and not (value.isascii() and value.isdigit()):
            raise UsageError(f"{find(folder, 'notes')}, row {number}: value {value!r} is no whole number")
        notes.append(Note(str(row["session"]), _quotes(row), topic, kind, speaker, int(value or 1)))
    traps = rows_of(folder, "traps", "session", "quotes")
    return notes, [quote for row in traps for quote in _quotes(row)]


def _quotes(row: Mapping[str, object]) -> tuple[str, ...]:
    found = row["quotes"]
    return tuple(str(quote) for quote in found) if isinstance(found, list) else ()


def _holds(said: frozenset[str], wanted: str, share: float) -> bool:
    """Whether so many of the stems of a text are among those that are said; a text without stems is never held."""
    found = stems(wanted)
    return bool(found) and len(said & found) >= share * len(found)


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    smaller, larger = sorted((len(one), len(other)))
    may_be = smaller > 0 and smaller >= SAME_STEMS * larger
    return may_be and len(one & other) / len(one | other) >= SAME_STEMS


def _coverage(notes: Sequence[Note], caught: Mapping[int, int]) -> dict[str, Share]:
    groups = {"all": list(range(len(notes)))}
    for name in ("value", "speaker", "kind"):
        keyed = sorted(range(len(notes)), key=lambda at: (str(getattr(notes[at], name)), at))
        for key, places in groupby(keyed, key=lambda at: getattr(notes[at], name)):
            groups[f"{name} {key}"] = list(places)
    groups |= {
        f"{speaker}, value 3": [at for at in places if notes[at].value == 3]
        for speaker, places in groups.items()
        if speaker.startswith("speaker ")
    }
    return {name: Share.among(at in caught for at in places) for name, places in groups.items()}


def _by_source(memories: Sequence[Kept], ours: Sequence[int], chosen: Collection[int]) -> dict[str, Share]:
    groups = {"all": list(ours)}
    for at in ours:
        groups.setdefault(memories[at].source, []).append(at)
    return {name: Share.among(at in chosen for at in places) for name, places in groups.items()}
