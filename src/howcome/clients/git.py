"""What git says of a file, which commit a line is of and which commits took it in, and of branches; within a time."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from howcome.clients.projects import branch_of, git_folders
from howcome.errors import HowcomeError
from howcome.files import read_plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Ask = Callable[..., str]

LIMIT_S = 5.0
"""A line of a repository with 5,000 commits takes git some .1 s; who waits longer is told so."""

NOWHERE = "not in a git repository"
_GIT = ("git", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never")
"""A repository's own settings may name programs and servers: asking runs and asks none."""

_GIT_AFAR = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")
_SSH = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_ASKPASS")

_LOG = ("log", "--follow", "--no-ext-diff", "--no-textconv", "--format=%H%x00%at%x00%ct%x00%s")
_BLAME = ("blame", "--porcelain", "--no-textconv")


class GitError(HowcomeError):
    """Git is not there, is late, or has nothing to say of this."""


class Commit:
    """A commit as it is told: `at_ms` is when it was written, `until_ms` when it became what it is (a rebase)."""

    def __init__(self, name: str, author_s: str, committer_s: str, subject: str) -> None:
        self.hash, self.subject = name, subject
        self.at_ms, committed_ms = int(author_s) * 1000, int(committer_s) * 1000
        self.until_ms = max(self.at_ms, committed_ms)


def git(folder: str, *arguments: str, limit_s: float = LIMIT_S, is_remote: bool = False) -> str:
    """What git answers in a folder; `is_remote`: in one of our own, and it may ask the server that is named.

    Raises:
        GitError: it does not, or not in time.
    """
    import subprocess

    ssh = _SSH if is_remote else ()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in ssh}
    if is_remote:  # a repository above it, like a home in git, is not ours
        kept["GIT_CEILING_DIRECTORIES"] = os.path.dirname(os.path.realpath(folder))
    environment = {
        **kept, "GIT_NO_LAZY_FETCH": "1", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C",
    }  # fmt: skip
    command = (*(_GIT_AFAR if is_remote else _GIT), *arguments)
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=limit_s, check=False,
        )  # fmt: skip
    except OSError as error:
        raise GitError(f"git cannot be started ({error.strerror})") from error
    except subprocess.TimeoutExpired:
        raise GitError(f"git did not answer within {limit_s:g} s") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitError(said.removeprefix("fatal: ") or f"git ended with {done.returncode}")
    return done.stdout.decode("utf-8", "replace")


def commit_of_line(top: str, file: str, line: int) -> tuple[Commit, str] | None:
    """The commit that a line is of, with the file's name then; None where it is not committed.

    Raises:
        GitError: git does not know the file, or does not answer.
    """
    try:
        told = git(top, *_BLAME, "-L", f"{line},{line}", "--", file).split("\n")
    except GitError:
        if git(top, "rev-list", "-n1", "--all", "--", file):
            raise
        return None
    name = told[0].partition(" ")[0]
    said = dict(head.partition(" ")[::2] for head in reversed(told[1:]))  # the line itself comes last
    if not name.strip("0"):
        return None
    return Commit(name, said["author-time"], said["committer-time"], said.get("summary", "")), said["filename"]


def commits_of(top: str, file: str, limit: int) -> list[Commit]:
    """The last commits that took a file in, also under the names that it had, the newest first.

    Raises:
        GitError: git does not answer.
    """
    told = git(top, *_LOG, f"-n{limit}", "--", file).splitlines()
    return [Commit(*line.split("\0", 3)) for line in told if line.count("\0") >= 3]


# -- branches ---------------------------------------------------------------------------------------------------------
BRANCHES_FILE = "branches.json"
MAX_BYTES = 8 << 20
NEWEST, MAX_AGE_S, MEET_LIMIT_S = 8, 60 * 24 * 3600, 1.0
"""So many branches are looked at, if they forked not longer ago: each costs git 40 to 300 ms, an older fork more. What
git cannot say in time is not known until HEAD moves."""

MIN_CHARS, MIN_LINES, LANDED = 12, 10, 0.25
"""A branch of which so much of its added lines was added on the other side, too, may have been squashed or picked. Of
46 merges (docs/evaluation.md, "Branches") it is .08 at most before the merge, in all but one, and .42 at least long
after it; a branch with fewer lines says too little."""

_DIFF = ("diff", "-U0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short")


class Branches:
    """Which branches are not merged in the working copy that a folder is in: kept for who may not wait for git.

    Nothing is known of a branch that git does not know, of one that may have been squashed or picked, on a detached
    HEAD, without a trunk, and when HEAD or the trunk has moved since git was asked. What is not known is not said.

    Args:
        home: Where the file is.
        folder: In the working copy; anywhere else nothing is known.
    """

    def __init__(self, home: str, folder: str) -> None:
        self._path = os.path.join(home, BRANCHES_FILE)
        self._top, self._git, self._common = git_folders(folder) or ("", "", "")

    def unmerged(self) -> dict[str, int]:
        """By branch that is not merged, since when it is another than the trunk, UTC milliseconds."""
        kept = self._kept().get(self._top, {})
        found: dict[str, int] = kept.get("since_ms", {})
        return found if self._is_current(kept) else {}

    def is_there(self, name: str) -> bool:
        """Whether git knows a branch at this moment."""
        loose = os.path.join(self._common, "refs", "heads", name)
        packed = read_plain(os.path.join(self._common, "packed-refs"), MAX_BYTES) or b""
        return os.path.isfile(loose) or f" refs/heads/{name}\n".encode() in packed

    def met(self) -> list[str]:
        """The tops of the working copies that were met, here or elsewhere."""
        return list(self._kept())

    def meet(self, may_keep: Callable[[str], bool], *, is_asked: bool = True) -> None:
        """Asks git, if HEAD or a trunk has moved since it was asked; with `is_asked` off that is left to who has time.

        `may_keep`: whether a name holds no secret.

        Raises:
            OSError: the answer cannot be kept.
        """
        from howcome.files import write_whole

        kept, end_s = self._kept(), time.monotonic() + MEET_LIMIT_S
        is_known = self._is_current(kept.get(self._top, {})) if is_asked else self._top in kept
        if is_known or not self._mark(()) or not may_keep(self._top):
            return

        def ask(*arguments: str) -> str:
            return git(self._top, *arguments, limit_s=max(0.001, end_s - time.monotonic()))

        found: dict[str, Any] = {"trunks": [], "mark": [], "since_ms": {}}
        with suppress(GitError):
            if is_asked:
                found["trunks"] = _trunks(ask)
                found["mark"] = self._mark(found["trunks"])
                found["since_ms"].update(one for one in _unmerged(ask, found["trunks"]) if may_keep(one[0]))
        kept = {top: one for top, one in kept.items() if os.path.isdir(top)} | {self._top: found}
        write_whole(self._path, json.dumps(kept).encode())

    def _kept(self) -> dict[str, Any]:
        try:
            return dict(json.loads(read_plain(self._path, MAX_BYTES) or b"{}"))
        except (ValueError, TypeError):
            return {}

    def _is_current(self, kept: dict[str, Any]) -> bool:
        return bool(kept.get("mark")) and kept["mark"] == self._mark(kept["trunks"])

    def _mark(self, trunks: Iterable[str]) -> list[object]:
        """What changes when HEAD or a trunk moves, by git's logs; [] where no branch is checked out."""
        logs = [os.path.join(self._git, "logs", "HEAD"), *(os.path.join(self._common, "logs", one) for one in trunks)]
        moved = [[os.stat(log).st_mtime_ns, os.stat(log).st_size] if os.path.exists(log) else [] for log in logs]
        branch = branch_of(self._top)
        return [branch, *moved] if branch and moved[0] else []


def _trunks(ask: Ask) -> list[str]:
    """What branches are merged into: the remotes' default branches, else git's own setting for new repositories."""
    told = ask("for-each-ref", "--format=%(refname) %(symref)", "refs/heads", "refs/remotes")
    refs = dict(line.partition(" ")[::2] for line in told.splitlines())
    heads = {target: ref.removesuffix("HEAD") for ref, target in refs.items() if ref.startswith("refs/remotes/")}
    names = [target.removeprefix(folder) for target, folder in heads.items() if target]
    names = names or [ask("var", "GIT_DEFAULT_BRANCH").strip()]
    return [ref for ref in (*heads, *(f"refs/heads/{name}" for name in names)) if ref in refs]


def _unmerged(ask: Ask, trunks: list[str]) -> Iterator[tuple[str, int]]:
    """The newest branches that are surely not merged, each with the time of the oldest commit where it forked."""
    others = ask("merge-base", "--independent", "HEAD", *trunks).split()
    apart = [f"--no-merged={one}" for one in others]
    newest = ("--sort=-committerdate", f"--count={NEWEST}", "--format=%(refname)")
    told = ask("for-each-ref", *newest, *apart, "refs/heads")
    for ref in told.split() if trunks else ():
        commits = ask("rev-list", "--boundary", "--timestamp", ref, "--not", *others, "--").splitlines()
        since_s = min((int(line.split()[0]) for line in commits if " -" in line), default=0)
        if time.time() - since_s < MAX_AGE_S and not any(_may_hold(ask, one, ref) for one in others):
            yield ref.removeprefix("refs/heads/"), 1000 * since_s


def _may_hold(ask: Ask, one: str, ref: str) -> bool:
    """Whether one may have taken in what a branch added, though not its commits."""
    added, own = _added(ask, ref, one), _added(ask, one, ref)
    return len(own) < MIN_LINES or len(own & added) >= LANDED * len(own)


def _added(ask: Ask, base: str, ref: str) -> set[str]:
    """The lines that stand in a commit and did not where it left another one."""
    lines = ask(*_DIFF, f"{base}...{ref}", "--").splitlines()
    told = (line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++ "))
    return {line for line in told if len(line) >= MIN_CHARS}
