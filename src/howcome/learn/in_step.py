"""Memories of files, kept in step with them: a client's own memory files, and lines of instruction files.

What a file says holds as long as it says so. What it no longer says is forgotten softly, and comes back with its words;
what a person forgot, brought back, pinned or said otherwise stays so. What cannot be read changes nothing.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from itertools import count

from howcome.clients.decode import clean_text
from howcome.clients.files import READ_ERRORS, open_transcript
from howcome.clients.registry import histories
from howcome.domain.candidates import MIN_TEXT_CHARS
from howcome.domain.events import ORIGIN_ASSISTANT
from howcome.domain.memories import CLIENT, OPEN, Memory, MemoryFilter, NewMemory, normalized
from howcome.domain.reconciliation import Steps
from howcome.domain.sentences import sentences, without_markdown
from howcome.domain.stored import Scope
from howcome.errors import TranscriptError
from howcome.learn.run import memory_digest, memory_key
from howcome.learn.sources.seen import one_line
from howcome.redact.gate import Gate
from howcome.redact.private_spans import strip_private
from howcome.store.base import Store

Listed = dict[str, tuple[int, int] | None]
Seen = dict[str, dict[str, Listed | None]]

CLIENT_MEMORIES, INSTRUCTIONS = "client_memories", "instructions"
"""The names by which the setting `sources_off` turns each of the two off."""

MAX_FILES = 200
"""Of a folder with more files the first by name are read; what the others said before stays."""

MAX_FILE_BYTES = 64 << 10
"""A larger file is not read: a fact takes a few lines, and what is larger says nothing by itself."""

MAX_INSTRUCTION_BYTES = 256 << 10
"""A larger instruction file is not read."""

MAX_TEXT_CHARS = 300
"""Whole sentences up to this length are a fact file's memory."""

MAX_SESSIONS = 20
"""The project of a folder is that of most of so many sessions, the newest beside it."""

MAX_KNOWN = 1_000_000
TRIES = 3
"""How often it is tried anew because a memory changed meanwhile; then the next run does it."""

INDEX = "MEMORY.md"
"""The client's list of its files, which each of its sessions is told: it says nothing of its own."""

_HEAD = re.compile(r"\s*---[ \t]*\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
_FIELD = re.compile(r"^[ \t]*(description|type):[ \t]*(.*)$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+")


# -- what files say ----------------------------------------------------------------------------------------------------
def notes_in(folder: str) -> Listed | None:
    """The fact files of a folder, with size and age those that are to be read; None: it cannot be listed."""
    listed: Listed = {}
    try:
        for name in sorted(os.listdir(folder)):
            if name.endswith(".md") and name != INDEX:
                status = os.lstat(path := os.path.join(folder, name))
                is_plain = stat.S_ISREG(status.st_mode) and status.st_size <= MAX_FILE_BYTES
                listed[path] = (status.st_size, status.st_mtime_ns) if is_plain and len(listed) < MAX_FILES else None
    except OSError:
        return None
    return None if os.path.islink(folder) else listed


def plain_text(path: str, most_bytes: int) -> str | None:
    """A plain file of this user's, and no link; None for anything else, and for a larger one."""
    try:
        with open_transcript(path) as stream:
            data = stream.read(most_bytes + 1)
    except (*READ_ERRORS, TranscriptError):
        return None
    return clean_text(data.decode("utf-8-sig", "replace")) if len(data) <= most_bytes else None


def fact_in(text: str) -> tuple[str, str]:
    """A fact file's type of memory, and its description with as many sentences of its body as there is room for."""
    head = _HEAD.match(text := "\n".join(text.splitlines()))
    fields = {name: value.strip(" >|-'\"") for name, value in reversed(_FIELD.findall(head[1] if head else ""))}
    about = fields.get("description", "")
    pieces = [about if about.endswith((".", "!", "?")) else f"{about}."] if about else []
    body = sentences(text[head.end() :] if head else text)
    pieces += [one.labelled for one in body]
    kept = ""
    for piece in pieces:
        if len(kept) + len(piece) + 1 > MAX_TEXT_CHARS:
            break
        kept = kept if normalized(piece) == normalized(kept) else f"{kept} {piece}".strip()
    kept = kept or (one_line(pieces[0], MAX_TEXT_CHARS) if pieces else "")
    return "pattern" if fields.get("type") == "feedback" else "context", kept if len(kept) >= MIN_TEXT_CHARS else ""


def words_of(text: str) -> str:
    """A text's words between blanks, whatever markdown is around them: read line by line, and once more as one line."""
    lines = " ".join(without_markdown(line) for line in text.splitlines())
    both = (lines, without_markdown(" ".join(text.split())))
    return "\n".join(f" {' '.join(_WORD.findall(one.casefold()))} " for one in both)


def says(words: str, quoted: str) -> bool:
    """Whether a file (by its words) says what a memory quotes of it."""
    return words_of(quoted.partition(" says: ")[2]).partition("\n")[0] in words


# -- what that makes of memories ---------------------------------------------------------------------------------------
def steps_of(told: Sequence[NewMemory], kept: Sequence[Memory], root: str, may_go: Callable[[str], bool]) -> Steps:
    """What makes a project's memories what the client's files say.

    Args:
        told: What the files say; without a key what a person purged.
        kept: The project's memories and those that hold everywhere, whatever became of them.
        root: The project's.
        may_go: Whether a file, by its path, was read or is known not to be there.
    """
    said = {normalized(new.text): new for new in reversed(told)}
    same: dict[str, list[Memory]] = {text: [] for text in said}
    for memory in kept:
        if not memory.is_outside:
            same.get(normalized(memory.text), []).append(memory)
    ours = {memory.row: memory for memory in kept if memory.source == CLIENT and memory.project == root}
    out = [one for one in ours.values() if one.is_live and one.pinned_ms is None and may_go(one.subject)]
    out = [one for one in out if normalized(one.text) not in said]
    steps = Steps()
    for text, new in sorted(said.items(), key=lambda pair: pair[1].subject):
        again = [one for one in same[text] if one.row in ours and one.gone_ms is not None]
        if any(memory.is_live for memory in same[text]):
            steps.back += [one.row for one in again if one.is_live]
        elif let_go := [one.row for one in again if one.is_let_go and one.superseded_by is None]:
            steps.back.append(let_go[-1])
        elif new.key and all(one.deleted_ms is None and one.superseded_by in ours for one in same[text]):
            older = _former(new.subject, out)
            new.supersedes = None if older is None else older.row
            out = [memory for memory in out if memory is not older]
            steps.new.append(new)
    steps.gone = [memory.row for memory in out if memory.gone_ms is None]
    return steps


def _former(path: str, out: Sequence[Memory]) -> Memory | None:
    """The memory whose place a file's new one takes: the file's own, or that of its namesake in another worktree."""
    near = [memory for memory in out if os.path.basename(memory.subject) == os.path.basename(path)]
    return next((memory for memory in near if memory.subject == path), next(iter(near), None))


class InStep:
    """Keeps memories in step with files.

    `off` are names of what is not looked at; `is_excluded` says whether nothing of a project is to be kept. `seen` are
    the client's files as a worker saw them the last time, by project: what is as it was is not read.
    """

    def __init__(
        self, store: Store, now_ms: Callable[[], int], off: Collection[str], is_excluded: Callable[[str], bool],
        seen: Seen | None = None,
    ) -> None:  # fmt: skip
        self._store, self._now_ms, self._off, self._is_excluded = store, now_ms, off, is_excluded
        self._seen: Seen = {} if seen is None else seen
        self._key = bytes(store.meta("key"))  # type: ignore[call-overload]
        self._gate = store.gate if isinstance(store.gate, Gate) else Gate(lambda: self._key)

    def run(self, scope: Scope | None = None, rest: Callable[[], bool] = lambda: True) -> Steps:
        """Looks at the files of a scope (None: of all projects), and says what it did; ends when `rest` says so."""
        done, one = Steps(), None if scope is None else scope.number
        numbers = {root: number for number, root in self._store.projects.roots() if one in (None, number)}
        for root, folders in ({} if CLIENT_MEMORIES in self._off else self.folders()).items():
            if root in numbers and not self._is_excluded(root):
                self._keep_notes(done, root, numbers[root], folders)
                done.is_whole = rest()
            if not done.is_whole:
                return done
        if INSTRUCTIONS not in self._off:
            self._apply(done, lambda: self._instructions(numbers))
            done.is_whole = rest()
        return done

    def _apply(self, done: Steps, plan: Callable[[], Steps]) -> bool:
        """Does what is planned; False when memories changed each time in between."""
        for _ in range(TRIES):
            stamp, steps = self._store.in_step.stamp(), plan()
            if steps.is_empty or self._store.in_step.apply(stamp, steps, self._now_ms()):
                done.add(steps)
                return True
        return False

    # -- a client's own files ------------------------------------------------------------------------------------------
    def folders(self) -> dict[str, list[str]]:
        """Folders of fact files that are there, by the root of the project whose transcripts lie beside them."""
        places = {name: history.memory_files for name, history in histories().items()}
        beside: dict[str, list[tuple[int, str]]] = {}
        for state in self._store.log.sources():
            folder, name = os.path.split(state.path)
            above, _, own = places.get(state.client, "").partition("/")
            if own and os.path.basename(os.path.dirname(folder)) == above:
                session = name.partition(".")[0]
                beside.setdefault(os.path.join(folder, own), []).append((state.mtime_ns, session))
        found: dict[str, list[str]] = {}
        for folder in sorted(filter(os.path.isdir, beside)):
            newest = [name for _, name in sorted(beside[folder], reverse=True)[:MAX_SESSIONS]]
            roots = Counter(root for name in newest for _, own, root in self._store.sessions.find(name) if own == name)
            for root, _ in roots.most_common(1):
                found.setdefault(root, []).append(folder)
        return found

    def _keep_notes(self, done: Steps, root: str, project_id: int, folders: Sequence[str]) -> None:
        listed = {folder: notes_in(folder) for folder in folders}
        if self._seen.get(root) == listed:
            return
        files = {path: state for some in listed.values() for path, state in (some or {}).items()}
        texts = {path: plain_text(path, MAX_FILE_BYTES) if state else None for path, state in files.items()}
        told = [self._told(path, text, files[path] or (0, 0), root) for path, text in texts.items() if text is not None]
        unread = {self._name(path) for path, text in texts.items() if text is None}
        there = {self._name(folder) for folder, some in listed.items() if some is not None}

        def plan() -> Steps:
            every = MemoryFilter(with_forgotten=True, with_superseded=True, with_purged=True)
            kept = self._store.memories.select(Scope.project(project_id), every, MAX_KNOWN, oldest_first=True)
            purged = {memory.key: memory.purged_ms is not None for memory in kept}
            for new in told:
                new.key = self._key_of(new, purged)
            wanted = [new for new in told if new.text]
            return steps_of(wanted, kept, root, lambda path: os.path.dirname(path) in there and path not in unread)

        is_read = all(text is not None or files[path] is None for path, text in texts.items())
        if self._apply(done, plan) and is_read:
            self._seen[root] = listed

    def _told(self, path: str, text: str, state: tuple[int, int], root: str) -> NewMemory:
        """What a file says; secrets are taken out before it is cut: a part of one would not be known for one."""
        kind, said = fact_in(self._gate.redactor.redact(strip_private(text)))
        said, written_ms = self._gate.text(said), max(0, min(state[1] // 1_000_000, self._now_ms()))
        return NewMemory(
            key=b"", digest=memory_digest(self._key, kind, said), type=kind, text=said, project=root, agent=None,
            origin=ORIGIN_ASSISTANT, status=OPEN, created_ms=written_ms, source=CLIENT, subject=self._name(path),
        )  # fmt: skip

    def _name(self, path: str) -> str:
        """A path as it is kept."""
        return self._gate.text(" ".join(os.fsencode(path).decode("utf-8", "replace").split()))

    def _key_of(self, new: NewMemory, purged: Mapping[bytes, bool]) -> bytes:
        """The next key of what may have been said before (keys that are there, and whether purged); none if it was."""
        for number in count():
            key = memory_key(self._key, new.project or "", CLIENT, f"{new.text}\0{number}")
            if key not in purged or purged[key]:
                return b"" if key in purged else key
        return b""

    # -- instruction files ---------------------------------------------------------------------------------------------
    def _instructions(self, roots: Collection[str]) -> Steps:
        """What becomes of memories that edits of instruction files made; each file is read once."""
        steps, found, texts = Steps(), self._store.in_step.found_by(INSTRUCTIONS), dict[str, str | None]()
        for row, memory in self._store.memories.by_row(found).items():
            if memory.project in roots and (memory.is_live or memory.is_let_go):
                is_said = self._is_said(memory, found[row], texts)
                steps.back += [row] if is_said and memory.gone_ms is not None else []
                steps.gone += [row] if is_said is False and memory.gone_ms is memory.pinned_ms is None else []
        return steps

    def _is_said(self, memory: Memory, wordings: Sequence[str], texts: dict[str, str | None]) -> bool | None:
        """Whether one of its files says a memory, in any wording, or somebody else does; None: no file is there."""
        if not wordings:
            return True
        cited = [event for ident in memory.evidence for event in self._store.log.find(ident, limit=1)]
        paths = {os.path.join(event.project, event.file) for event in cited if event.file}
        for path in paths - texts.keys():
            text = plain_text(os.path.realpath(path), MAX_INSTRUCTION_BYTES)
            texts[path] = None if text is None else words_of(text)
        said = [says(words, one) for path in paths if (words := texts[path]) is not None for one in wordings]
        return any(said) if said else None
