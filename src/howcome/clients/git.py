"""What git says of a file: which commit a line is of, and which commits took the file in. Asked within a time."""

from __future__ import annotations

import os

from howcome.errors import HowcomeError

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

    __slots__ = ("at_ms", "hash", "subject", "until_ms")

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
    said: dict[str, str] = {}
    for head in told[1:]:
        key, _, value = head.partition(" ")
        said.setdefault(key, value)
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
