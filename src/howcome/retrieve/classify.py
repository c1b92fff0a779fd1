"""What a prompt wants and what it is about, by rules: intent, subsystems, files, names, and how sure that is.

What is said about files is checked against the project's own tree: a file that is not there is not a file. A caller may
hand in somebody who knows better (`ask`, a model): what that one says is checked in the same way, and added.
"""

from __future__ import annotations

import os

from howcome.domain.query import errors_in, files_in, speech, traced_files_in
from howcome.domain.text import GENERIC_WORDS, entities

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Answer = Mapping[str, object]
    Ask = Callable[[str], Answer]
    """A prompt in; `intent`, `confidence`, `subsystems`, `files`, `entities` out, as far as it knows them."""

    Find = Callable[[str], str | None]
    """What somebody calls a file in; its path below the root out, None when there is no such file."""

FIX, BUILD, EXPLAIN, DECIDE, RECALL, REVIEW, CHORE = "fix", "build", "explain", "decide", "recall", "review", "chore"
INTENTS = (FIX, BUILD, EXPLAIN, DECIDE, RECALL, REVIEW, CHORE)

RULE_CONFIDENCE = 0.8
"""The most that rules are ever sure: three words of one intent and none of another."""

ERROR_CUES = 2
MAX_NAMES = 16
MAX_FILES = 16
MAX_SUBSYSTEMS = 4
MIN_FOLDER_CHARS = 3
MAX_TREE_ENTRIES = 20_000
_SKIPPED = frozenset(("__pycache__", "build", "dist", "node_modules", "site-packages", "target", "vendor", "venv"))

_CUES: Mapping[str, frozenset[str]] = {
    FIX: frozenset(
        "broke broken bug bugs crash crashed crashes crashing debug error errors exception fail failed failing fails"
        " fix fixed flaky hang hangs panic regression repair stuck traceback wrong".split()
    ),
    BUILD: frozenset(
        "add build change convert create extend generate implement introduce make migrate move port refactor remove"
        " rename replace rewrite support upgrade write".split()
    ),
    EXPLAIN: frozenset("explain how meaning means purpose understand where works".split()),
    DECIDE: frozenset(
        "alternative better choice choose decide decided decision instead option options prefer rather should trade-off"
        " tradeoff versus vs why worth".split()
    ),
    RECALL: frozenset("again already before did earlier last previously recall remember remind when yesterday".split()),
    REVIEW: frozenset("audit check feedback inspect look review verify".split()),
    CHORE: frozenset(
        "amend bump changelog commit format lint merge ok pr push rebase release squash stage tag thanks".split()
    ),
}
_FIRST_WORD_CUES = 2
"""A prompt that begins with a cue counts it twice more: "fix the check that we should add" is a fix."""


class Tree:
    """The files and folders below a project's root, looked at once, at most MAX_TREE_ENTRIES of them."""

    def __init__(self, root: str) -> None:
        self.root = root
        self._files: dict[str, list[str]] | None = None
        self._folders: dict[str, str] = {}

    def file(self, name: str) -> str | None:
        """The path below the root of a file that somebody names by its path, the end of it, or its name; None: none."""
        name = name.replace("\\", "/")
        if os.path.isabs(name):
            inside = os.path.relpath(os.path.normpath(name), self.root)
            return None if inside.startswith("..") or not os.path.isfile(name) else inside
        name = os.path.normpath(name)
        if name.startswith("..") or "\0" in name:
            return None
        if os.path.isfile(os.path.join(self.root, name)):
            return name
        ends = [path for path in self._listed().get(os.path.basename(name), ()) if f"/{path}".endswith(f"/{name}")]
        return min(ends, key=len) if ends else None

    def folder(self, word: str) -> str | None:
        """The topmost folder with this name (lower case), by its path below the root."""
        self._listed()
        return self._folders.get(word)

    def called(self, name: str) -> list[str]:
        """The paths of all files with this name, the topmost first."""
        return self._listed().get(name, [])

    def _listed(self) -> dict[str, list[str]]:
        """Paths by file name, the topmost folders first."""
        if self._files is not None:
            return self._files
        self._files, count, waiting = {}, 0, [""]
        while waiting and count < MAX_TREE_ENTRIES:
            folder = waiting.pop(0)
            for name, is_folder in _entries(os.path.join(self.root, folder)):
                count += 1
                path = f"{folder}/{name}" if folder else name
                if not is_folder:
                    self._files.setdefault(name, []).append(path)
                elif name not in _SKIPPED and not name.startswith("."):
                    waiting.append(path)
                    self._folders.setdefault(name.lower(), path)
        return self._files


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Files and folders in a folder, and which they are; without links to folders, empty when it cannot be read."""
    try:
        with os.scandir(folder) as found:
            kinds = [(entry.name, entry.is_dir(follow_symlinks=False), entry.is_file()) for entry in found]
            return sorted((name, is_folder) for name, is_folder, is_file in kinds if is_folder or is_file)
    except (OSError, ValueError):
        return []


class Classification:
    """What a prompt wants and is about.

    Attributes:
        intent: One of INTENTS; '' when nothing says which.
        confidence: How sure the intent is, from 0 to 1.
        subsystems: Folders or modules that it is about (lower case names).
        files: Paths of files; below the root where the tree is there, else as written.
        names: Identifiers, files and other exact names, lower case.
    """

    __slots__ = ("confidence", "files", "intent", "names", "subsystems")

    def __init__(
        self, intent: str, confidence: float, subsystems: Sequence[str], files: Sequence[str], names: Sequence[str]
    ) -> None:
        self.intent, self.confidence, self.subsystems = intent, confidence, tuple(subsystems)
        self.files, self.names = tuple(files), tuple(names)


def classify(
    text: str, tree: Tree | None = None, *, ask: Ask | None = None, find: Find | None = None
) -> Classification:
    """A prompt by rules, or by what `ask` says of it where that is sound.

    Args:
        text: The prompt.
        tree: The project's files; None when they are not on this machine: then names stand as written.
        ask: Somebody who may know better.
        find: Who else knows files, for what that one says of a project that is not on this machine.
    """
    intent, confidence = intent_of(text)
    files = _files(text, tree)
    found = Classification(intent, confidence, _subsystems(text, files, tree), files, entities(text, MAX_NAMES))
    return found if ask is None else _checked(ask(text), text, found, tree, find)


def intent_of(text: str) -> tuple[str, float]:
    """What a prompt wants, and how sure that is; ('', 0) when no word says it."""
    words = [word.strip(".,:;!?()\"'").lower() for word in speech(text).split()]
    counts = {intent: float(sum(word in cues for word in words)) for intent, cues in _CUES.items()}
    for intent, cues in _CUES.items():
        if words and words[0] in cues:
            counts[intent] += _FIRST_WORD_CUES
    if errors_in(text):
        counts[FIX] += ERROR_CUES
    best = max(INTENTS, key=lambda intent: counts[intent])
    total = sum(counts.values())
    if not total:
        return "", 0.0
    return best, RULE_CONFIDENCE * (counts[best] / total) * min(1.0, counts[best] / 3)


def _files(text: str, tree: Tree | None) -> list[str]:
    named = dict.fromkeys([*files_in(text), *traced_files_in(text)])
    return list(named) if tree is None else list(dict.fromkeys(path for name in named if (path := tree.file(name))))


def _subsystems(text: str, files: Iterable[str], tree: Tree | None) -> list[str]:
    """The folders of the files, and folders that are called what the text says."""
    found = dict.fromkeys(
        parent for path in files if (parent := os.path.basename(os.path.dirname(path)).lower()) not in ("", "src")
    )
    if tree is not None:
        for word in speech(text).lower().replace("/", " ").split():
            name = word.strip(".,:;!?()\"'`")
            if len(name) >= MIN_FOLDER_CHARS and name not in GENERIC_WORDS and tree.folder(name):
                found[name] = None
    return list(found)[:MAX_SUBSYSTEMS]


def _checked(said: Answer, text: str, ours: Classification, tree: Tree | None, find: Find | None) -> Classification:
    """What somebody said of a prompt, as far as it is sound, and ours; names have to stand in the text."""
    intent, confidence = said.get("intent"), said.get("confidence")
    is_known = intent in INTENTS
    look = tree.file if tree is not None else find
    files = [path for name in _words(said.get("files")) if look is not None and (path := look(name))]
    subsystems = [word for word in _words(said.get("subsystems")) if tree is not None and tree.folder(word.lower())]
    names = [name.lower() for name in _words(said.get("entities")) if name.lower() in text.lower()]
    return Classification(
        str(intent) if is_known else ours.intent,
        min(1.0, max(0.0, float(confidence))) if is_known and isinstance(confidence, int | float) else ours.confidence,
        list(dict.fromkeys([*(word.lower() for word in subsystems), *ours.subsystems]))[:MAX_SUBSYSTEMS],
        list(dict.fromkeys([*files, *ours.files]))[:MAX_FILES],
        list(dict.fromkeys([*ours.names, *names]))[:MAX_NAMES],
    )


def _words(value: object) -> list[str]:
    return [word for word in value if isinstance(word, str) and word.strip()] if isinstance(value, list) else []
