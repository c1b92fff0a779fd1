"""The import graphs of projects: built when somebody asks for one, and from then on kept up with the files.

What changed is parsed, everything is resolved anew, what differs is written.

Resolving is cheap and depends on all files (a new file may be what an old import meant), so that a build after edits
gives what a fresh one would.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from howcome.clients.projects import top_of
from howcome.codegraph.golang import GO
from howcome.codegraph.java import JAVA
from howcome.codegraph.javascript import JAVASCRIPT
from howcome.codegraph.parsing import Grammar, SourceTree, TooSlowError
from howcome.codegraph.python import PYTHON
from howcome.codegraph.rust import RUST
from howcome.codegraph.sources import MAX_FILE_BYTES, MAX_FILES, Listing
from howcome.domain.code import CodeFile, GraphChange
from howcome.errors import ProviderError, UsageError
from howcome.ingest.exclusion import Places
from howcome.redact.gate import Gate
from howcome.store.base import Store

READER_VERSION = 1
"""Grows with every change to what a file is said to import: files that an older version read are read anew."""

LANGUAGES = (PYTHON, JAVASCRIPT, GO, RUST, JAVA)
"""A language is a file beside this one and a place here."""

_OF_SUFFIX = {suffix: language for language in LANGUAGES for suffix in language.suffixes}
DIGEST_BYTES = 16
MAX_IMPORTS = 1000
MAX_IMPORT_CHARS = 200
MAX_EDGES = 1_000_000
YOUNG_NS = 2_000_000_000
"""A file that was written less than 2 s ago may be written again within one tick of its clock: FAT's are that long."""

REFRESH_MS = 10 * 60_000
"""A graph is refreshed when it is older: files change while somebody works, and listing them costs git 10 to 100 ms."""

PIECE_S = 0.05
"""Between pieces of so much work whoever refreshes may rest."""

_PLAIN = re.compile(r"[\w.:*/@~#$ +-]+")
"""What names of modules and files are made of; anything else is no import, and nothing to keep."""


_FATES = (CodeFile.BROKEN, CodeFile.BINARY, CodeFile.LARGE, CodeFile.SLOW, CodeFile.UNREADABLE)
_COUNTED = ("parsed", "unchanged", "removed", *_FATES)


@dataclass(slots=True, eq=False)
class GraphReport:
    """What a build did: counts by name, and the limits that it hit."""

    root: str
    project_id: int = 0
    seconds: float = 0.0
    files: int = 0
    edges: int = 0
    limits: list[str] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTED, 0))


class _OverError(Exception):
    """The refresh has to end."""


class ProjectGraphs:
    """Builds graphs into one store."""

    def __init__(self, store: Store, places: Places, now_ms: Callable[[], int], *, max_files: int = MAX_FILES) -> None:
        self._store, self._places, self._now_ms, self._max_files = store, places, now_ms, max_files
        key = store.meta("key")
        self._key = key if isinstance(key, bytes) else b""
        self._gate = Gate(lambda: self._key)
        self._grammars: dict[str, Grammar] = {}

    def build(self, folder: str, root: str, on_progress: Callable[[int, int], None] | None = None) -> GraphReport:
        """Reads which file imports which in the project of a folder; only what changed is parsed again.

        Args:
            folder: One of the project, or of a worktree of it: the files of that are read.
            root: The root that stands for the project in the store.
            on_progress: Told after each file how many of how many are looked at.

        Raises:
            UsageError: the folder is excluded.
            ProviderError: a parser is not installed.
            StoreError: the store cannot be read or written; its graph is as it was.
        """
        if self._places.is_excluded(folder):
            raise UsageError("nothing of this folder is kept: the setting `exclude` or its .howcome.toml says so")
        started, report, graph = time.monotonic(), GraphReport(root), self._store.code_graph
        listing = Listing(top_of(os.path.realpath(folder)) or root, tuple(_OF_SUFFIX), self._max_files)
        project_id = self._store.projects.of_root(root)
        state = graph.state(project_id) if project_id is not None else None
        is_current = state is not None and state.reader == READER_VERSION
        known = graph.files(project_id) if project_id is not None else {}
        files: dict[str, CodeFile] = {}
        for number, path in enumerate(listing.files, 1):
            if path in known or self._is_clean(path):
                files[path] = self._file(listing, path, known.get(path) if is_current else None, report)
            if on_progress is not None:
                on_progress(number, len(listing.files))
        changed = {path: file for path, file in files.items() if known.get(path) is not file}
        edges = _edges(files, listing)
        report.limits = [*listing.limits, *(["edges"] if len(edges) >= MAX_EDGES else [])]
        change = GraphChange(READER_VERSION, files.keys(), changed, edges, report.limits)
        report.project_id = graph.write(root, change, self._now_ms())
        report.counts["removed"] = len(known.keys() - files.keys())
        report.files, report.edges = len(files), len(edges)
        report.seconds = time.monotonic() - started
        return report

    def _file(self, listing: Listing, path: str, known: CodeFile | None, report: GraphReport) -> CodeFile:
        """A file as it is now: as it is known when nothing says otherwise, else read."""
        status = listing.files[path]
        size_bytes, mtime_ns, what = status.st_size, status.st_mtime_ns, "unchanged"
        if known is not None and known.mtime_ns and (known.size_bytes, known.mtime_ns) == (size_bytes, mtime_ns):
            file = known
        else:
            mtime_ns = mtime_ns if mtime_ns < self._now_ms() * 1_000_000 - YOUNG_NS else 0
            data = listing.read(path, MAX_FILE_BYTES)
            digest = blake2b(data or b"", key=self._key[:64], digest_size=DIGEST_BYTES).digest()
            if known is not None and known.digest == digest and known.size_bytes == size_bytes:
                imports, fate = known.imports, known.fate
            else:
                (imports, fate), what = self._imports(path, data, size_bytes), "parsed"
            file = CodeFile(digest, size_bytes, mtime_ns, imports, fate)
        for name in {what, file.fate} & report.counts.keys():
            report.counts[name] += 1
        return file

    def _imports(self, path: str, data: bytes | None, size_bytes: int) -> tuple[list[str], str]:
        """What a file imports, and what has become of reading it."""
        if data is None:
            return [], CodeFile.LARGE if size_bytes > MAX_FILE_BYTES else CodeFile.UNREADABLE
        if b"\0" in data:
            return [], CodeFile.BINARY
        suffix = "." + path.rpartition(".")[2]
        language = _OF_SUFFIX[suffix]
        try:
            name = language.suffixes[suffix]
            if name not in self._grammars:
                self._grammars[name] = Grammar(name, language.query, language.kinds)
            nodes, is_whole = self._grammars[name].nodes(data)
        except TooSlowError:
            return [], CodeFile.SLOW
        return self._kept(language.read(nodes)), CodeFile.READ if is_whole else CodeFile.BROKEN

    def _kept(self, imports: Sequence[str]) -> list[str]:
        """What may be stored: names, each once, and nothing that looks like a secret."""
        plain = {one for one in imports if len(one) <= MAX_IMPORT_CHARS and _PLAIN.fullmatch(one) and "://" not in one}
        if not self._is_clean("\n".join(plain).replace("/", "\n")):
            plain = {one for one in plain if self._is_clean(one)}
        return sorted(plain)[:MAX_IMPORTS]

    def _is_clean(self, text: str) -> bool:
        return self._gate.text(text) == text

    def refresh(self, rest: Callable[[], bool]) -> bool:
        """Refreshes the graphs that are old, of projects that are on this machine; False when it had to end.

        Args:
            rest: Called after each piece of work; False: end now. What was begun then is left as it was.

        A project that cannot be read is tried again when its graph would be old again.
        """
        for project_id, root, state in self._store.code_graph.states():
            name, now_ms = f"import graph {project_id}", self._now_ms()
            is_paused = self._store.model_answers.pause_of(name, now_ms) is not None
            if is_paused or not self._is_due(root, state.built_ms, now_ms):
                continue
            try:
                self.build(root, root, _resting(rest))
            except _OverError:
                return False
            except (ProviderError, OSError) as error:
                self._store.model_answers.pause(name, now_ms, now_ms + REFRESH_MS, type(error).__name__)
            if not rest():
                return False
        return True

    def _is_due(self, root: str, built_ms: int, now_ms: int) -> bool:
        """Whether a graph is old (or from the future: a clock was put back) and its files are here and wanted."""
        is_old = not 0 <= now_ms - built_ms < REFRESH_MS
        return is_old and os.path.isdir(root) and not self._places.is_excluded(root)


def _edges(files: Mapping[str, CodeFile], listing: Listing) -> set[tuple[str, str]]:
    """The edges between files of the same language, in the order of their paths; so many at most."""
    edges: set[tuple[str, str]] = set()
    for language in LANGUAGES:
        imports = {path: file.imports for path, file in files.items() if path.endswith(tuple(language.suffixes))}
        if not imports:
            continue
        resolver = language.resolver(SourceTree(imports, listing.configs, listing.text))
        for path, named in imports.items():
            for target in sorted({one for one in resolver.targets(path, named) if one is not None} - {path}):
                if len(edges) >= MAX_EDGES:
                    return edges
                edges.add((path, target))
    return edges


def _resting(rest: Callable[[], bool]) -> Callable[[int, int], None]:
    """Told of every file, it rests after each piece of work."""
    started = time.monotonic()

    def on_file(_number: int, _total: int) -> None:
        nonlocal started
        if time.monotonic() - started >= PIECE_S:
            if not rest():
                raise _OverError
            started = time.monotonic()

    return on_file
