"""Commands that make others work, and what is never advised: what removes, forces, or is aimed at something else."""

from __future__ import annotations

import re
from itertools import takewhile

from howcome.domain.commands import HANDLING, LOOKING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.commands import Failure, Part

_PREPARES = frozenset((
    "add", "bootstrap", "ci", "codegen", "deps", "download", "enable", "fix", "fmt", "format", "generate", "i", "init",
    "install", "login", "migrate", "start", "sync", "tidy", "trust", "up", "update", "upgrade", "use",
    "vendor",
))  # fmt: skip
_REMOVES = frozenset((
    "clean", "delete", "deploy", "destroy", "down", "drain", "drop", "dropdb", "flush", "flushall", "force", "fresh",
    "hard", "kill", "mkfs", "nuke", "prune", "publish", "purge", "push", "reconfigure", "redo", "refresh", "release",
    "remove", "renew", "reset", "rm", "rollback", "stop", "truncate", "undo", "uninstall", "unlock", "wipe", "zero",
))  # fmt: skip
_REPAIRS, _SHOWS = {"--fix", "--write"}, {"--check", "--dry-run", "--help", "--list", "--version", "-l", "-L"}
_NAMED_WORDS = 4
"""A command prepares others if its name has one of these words. It is never told if one of its words removes something,
or an option says that it only shows."""

_WORD, _PLAIN = re.compile(r"[^\W_]+"), re.compile(r"[\w:-]+")
VERSIONED = ("git", "hg", "jj", "svn")
_ELSEWHERE = (
    "ansible", "aws", "az", "gcloud", "gsutil", "helm", "kubectl", "pulumi", "rclone", "rsync", "scp", "terraform",
)  # fmt: skip
"""What these do is done to other machines."""

_OTHERS = ("chroot", "doas", "mosh", "ssh", "su", "sudo")
"""What runs a command as somebody else, or elsewhere."""


def prepares(part: Part) -> bool:
    """Whether a command is known to make others work, by its words alone."""
    options = {word.partition("=")[0] for word in part.words if word.startswith("-")}
    if part.is_piped or part.program in {*VERSIONED, *_ELSEWHERE, *LOOKING, *HANDLING} or options & _SHOWS:
        return False
    if removes(part):
        return False
    given = part.words[2:] if part.words[1:2] == ("-m",) else part.words[1:]  # `python -m pip install`
    before = takewhile(lambda word: not word.startswith("-"), given[: _NAMED_WORDS - 1])
    named = (part.program, *(word for word in before if _PLAIN.fullmatch(word)))
    return bool(options & _REPAIRS) or any(not _PREPARES.isdisjoint(_WORD.findall(word.lower())) for word in named)


def removes(part: Part) -> bool:
    """Whether a word of a command removes, forces or resets something."""
    return not _REMOVES.isdisjoint(word for given in part.words for word in _WORD.findall(given.lower()))


def with_preparing(line: Sequence[Part], fix: Part) -> str:
    """A command of a line as one may type it, behind those before it that prepare it; "" behind one that removes."""
    at = next((at for at, part in enumerate(line) if part.words == fix.words), 0)
    before = [part for part in line[:at] if part.program not in LOOKING]
    if any(part.program in HANDLING or removes(part) for part in before):
        return ""
    shown: list[str] = []
    for part in (*filter(prepares, before), fix):
        is_set = [one for one in part.settings if one.endswith("&&") and f"{one} " in f"{' '.join(shown)} "]
        shown.append(str(part).removeprefix(" ".join((*is_set, ""))))
    return " && ".join(shown)


def holds_for(failed: Failure, was: Part, fix: Part) -> bool:
    """Whether what mended another command that failed alike mends this one: a program in front, or an assignment."""
    own = [one for one in fix.settings if one not in was.settings]
    is_other = fix.program in {*_ELSEWHERE, *_OTHERS} or any(one.startswith(("cd ", "pushd ")) for one in own)
    if failed.missing and (is_other or removes(fix)):
        return False
    if not failed.missing:
        is_set = fix.words == was.words and bool(own) and not any(one.endswith("&&") for one in own)
        return bool(failed.named) or (is_set and not failed.is_vague)
    is_in_front = fix.words[-len(was.words) :] == was.words
    return is_in_front or (fix.program.startswith(was.program) and fix.words[1:] == was.words[1:])
