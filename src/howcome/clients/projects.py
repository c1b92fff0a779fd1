"""Which project a folder belongs to: the repository behind it, whatever worktree or subfolder it is.

The identity of a project is the real path of its repository's root (the parent of git's common directory), found
without starting git. A path that no longer exists (another machine's transcripts, a deleted worktree) stands for
itself, with the usual worktree folders folded into the repository that they were made from.
"""

from __future__ import annotations

import os

from howcome.domain.patterns import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

_WORKTREE_FOLDER = late(r"^(?P<root>(?:[A-Z]:)?/.+?)/(?:\.worktrees|\.claude/worktrees|\.git/worktrees)/[^/]+(?:/.*)?$")
_SIBLING_WORKTREES = late(r"^(?P<root>(?:[A-Z]:)?/.+?)[.-]worktrees/[^/]+(?:/.*)?$")
REPOSITORY_FILE = ".howcome.toml"
"""A repository's own file: it may only narrow (`capture = false`, `inject = "off"`), never point anywhere."""

MAX_PATH_CHARS = 4096
_HOME_FOLDER = late(r"^(?:[A-Z]:)?/(?:home|Users)/[^/]+$|^(?:/var)?/root$")
"""Nobody's repository: an agent's worktrees in there are of many."""


def project_root(cwd: str) -> str:
    """The root of the project that `cwd` belongs to; always an absolute, normalised path for an absolute `cwd`."""
    foreign = _foreign_path(cwd)
    if foreign is not None:
        return fold_worktree(foreign)
    cwd = os.path.normpath(cwd[:MAX_PATH_CHARS]) if cwd else os.sep
    if not os.path.isabs(cwd):
        return cwd
    try:
        if os.path.isdir(cwd):
            top = top_of(os.path.realpath(cwd))
            return _repository_root(top) if top else os.path.realpath(cwd)
    except (OSError, ValueError):  # a name no file system holds: it stands for itself
        pass
    return fold_worktree(cwd)


def _foreign_path(path: str) -> str | None:
    """A Windows machine's path as it is written here; None for any other, and where this system has such a folder."""
    is_plain = path.startswith("/") and path[2:3] != "/" and not path.startswith(("//", "/cygdrive/"))
    if is_plain or not path:
        return None
    from howcome.domain.windows import windows_path

    top = path.split("/")[1] if path.startswith("/") else ""
    return None if top and os.path.isdir("/" + top) else windows_path(path)


def is_repository(root: str) -> bool:
    """Whether a project's root is a repository's; a plain folder's subfolders may belong to it or not."""
    git = os.path.join(root, ".git")
    return os.path.isdir(git) or os.path.isfile(git)


def fold_worktree(path: str) -> str:
    """A path inside a worktree folder that names its repository becomes that repository.

    Folders that hold worktrees of many repositories (`~/worktrees`, an agent's own in the home folder) name none of
    them: what was in there stands for itself, or unrelated projects would become one.
    """
    path = path[:MAX_PATH_CHARS]
    match = "worktrees/" in path and (_WORKTREE_FOLDER.match(path) or _SIBLING_WORKTREES.match(path))
    return match.group("root") if match and not _HOME_FOLDER.match(match.group("root")) else path


def _repository_root(folder: str) -> str:
    """The root behind the top of a working copy: of a worktree its repository's, of a submodule its own folder.

    A worktree is believed only when its repository names it too, as git itself writes it: anybody can unpack a `.git`
    file that points at another project, and would so be shown that project's past.
    """
    git_file = os.path.join(folder, ".git")
    line = "" if os.path.isdir(git_file) else _first_line(git_file)
    if not line.startswith("gitdir:"):
        return folder
    git_dir = os.path.normpath(os.path.join(folder, line.removeprefix("gitdir:").strip()))
    try:
        common_dir = os.path.realpath(os.path.join(git_dir, _first_line(os.path.join(git_dir, "commondir"))))
        back = os.path.realpath(os.path.join(git_dir, _first_line(os.path.join(git_dir, "gitdir"))))
    except OSError:
        return folder
    is_listed = os.path.dirname(os.path.realpath(git_dir)) == os.path.join(common_dir, "worktrees")
    if not is_listed or back != os.path.realpath(git_file):
        return folder
    return os.path.dirname(common_dir) if os.path.basename(common_dir) == ".git" else common_dir


def _first_line(path: str) -> str:
    """The first line of one of git's small files; a FIFO in its place is not waited for."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, encoding="utf-8", errors="surrogateescape") as stream:
        return stream.readline(MAX_PATH_CHARS).strip()


def is_inside(path: str, root: str) -> bool:
    """Whether `path` is `root` or below it."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def top_of(folder: str) -> str | None:
    """The top of the working copy that a folder is in (of a worktree its own); None outside of one."""
    while not is_repository(folder):
        if folder == (folder := os.path.dirname(folder)):
            return None
    return folder


def own_settings(root: str) -> Mapping[str, object] | None:
    """What a repository's own file says; {} where there is none, None where it cannot be read."""
    path = os.path.join(root, REPOSITORY_FILE)
    if not os.path.isfile(path):
        return {}
    import tomllib

    try:
        with open(path, "rb") as stream:
            return tomllib.load(stream)
    except (OSError, ValueError, RecursionError):
        return None


def git_folders(folder: str) -> tuple[str, str, str] | None:
    """The top of the working copy that a folder is in, its git folder, and the one that all of its worktrees share."""
    top = top_of(os.path.abspath(folder)) if os.path.isabs(folder) else None
    if top is None:
        return None
    git = os.path.join(top, ".git")
    try:
        if not os.path.isdir(git):
            git = os.path.join(top, _first_line(git).removeprefix("gitdir:").strip())
        shared = os.path.join(git, "commondir")
        return top, git, os.path.join(git, _first_line(shared)) if os.path.exists(shared) else git
    except OSError:
        return None


def branch_of(cwd: str) -> str:
    """The branch that a folder's repository is on; "" outside of one, and where no branch is checked out."""
    folders = git_folders(cwd)
    try:
        return _first_line(os.path.join(folders[1], "HEAD")).partition("refs/heads/")[2] if folders else ""
    except OSError:
        return ""
