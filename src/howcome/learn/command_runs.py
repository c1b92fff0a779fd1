"""The ledger of commands is made: which commands of a session ran, how they failed, and what then worked.

Derived like an index, in pieces behind the log. What is mended by a change of a file is no affair of the ledger: the
command was right. So it is where another command made the same one work; that one is kept then.
"""

from __future__ import annotations

import re
import time
from itertools import takewhile

from howcome.domain.advice import removes
from howcome.domain.commands import (
    HANDLING,
    LOOKING,
    Run,
    failure_of,
    form_number,
    mended_by,
    numbers_of,
    parts_of,
    worked_number,
)
from howcome.domain.events import READERS
from howcome.learn.actions import actions_by_agent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from howcome.domain.commands import Failure, Part
    from howcome.domain.stored import StoredEvent
    from howcome.learn.actions import Action
    from howcome.store.base import Store

MAX_LATER = 12
"""Calls after a failure among which its mending is looked for."""

SIGNALS = range(128, 193)
"""These exit codes say that a program was ended, not that it failed."""

PIECE = 2_000

MAX_PREPARING = 2
"""Of more commands before the same one worked nobody knows which it was."""

_PREPARES = frozenset((
    "add", "bootstrap", "ci", "codegen", "deps", "download", "enable", "fix", "fmt", "format", "generate", "i", "init",
    "install", "login", "migrate", "start", "sync", "tidy", "trust", "up", "update", "upgrade", "use",
    "vendor",
))  # fmt: skip
_REPAIRS, _SHOWS = {"--fix", "--write"}, {"--check", "--dry-run", "--help", "--list", "--version", "-l", "-L"}
_NAMED_WORDS = 4
"""A command prepares others if its name has one of these words. It is never told if one of its words removes something,
or an option says that it only shows."""

_WORD, _PLAIN = re.compile(r"[^\W_]+"), re.compile(r"[\w:-]+")
_BACKGROUND = re.compile(r"(?<![&>|<])&(?=\s|$|\))")
_VERSIONED = ("git", "hg", "jj", "svn")
_ELSEWHERE = (
    "ansible",
    "aws",
    "az",
    "gcloud",
    "gsutil",
    "helm",
    "kubectl",
    "pulumi",
    "rclone",
    "rsync",
    "scp",
    "terraform",
)
"""What these do is done to other machines."""

_MOVES = frozenset((
    "am", "apply", "checkout", "cherry-pick", "clean", "edit", "merge", "new", "pull", "rebase", "reset", "restore",
    "revert", "stash", "switch", "up", "update",
))  # fmt: skip
"""What brings files of another version."""

_WRITES = re.compile(
    r"<<|(?<![-=>])>{1,2}(?!\s*/dev/|[>&=])|(?<![\w./-])(?:cp|mv|patch|tee)(?![\w./=-])|--in-?place\b"
    r"|\b(?:sed|perl)\b[^|;&]{0,200}\s-\w{0,9}i|\bg?awk\b[^|;&]{0,200}\s-i\s{0,9}inplace"
    r"|\b(?:python[\d.]*|node|ruby|perl|php|bun|deno)\s{1,9}(?:-\w{0,9}[cep]|eval)\b(?s:.){0,2000}(?i:write)"
)
_HARMLESS = frozenset((
    *READERS, "ask_user", "askuserquestion", "bashoutput", "enterplanmode", "exit_plan_mode", "exitplanmode",
    "file_search", "glob", "google_web_search", "grep", "grep_search", "list", "list_bash", "list_directory",
    "list_files", "ls", "lsp", "read_bash", "search_file_content", "skill", "taskcreate", "taskget", "tasklist",
    "taskoutput", "taskupdate", "think", "todo_write", "todoread", "todowrite", "toolsearch", "update_plan",
    "web_fetch", "web_search", "webfetch", "websearch", "write_todos",
))  # fmt: skip
"""Tools that change no file, of every agent. Of any other one nobody knows."""


def catch_up(store: Store, deadline: float | None = None) -> None:
    """Looks through the events that are new, a piece at a time, until the deadline."""
    while (found := store.commands.unread(PIECE)) is not None:
        last, sessions = found
        told = (store.log.events(rows, with_text=True).values() for rows in sessions.values())
        store.commands.record([run for one in told for run in runs_of(one)], last)
        if deadline is not None and time.monotonic() >= deadline:
            break


def runs_of(told: Iterable[StoredEvent]) -> Iterator[Run]:
    """The commands that some events of a session ran."""
    for action, later in commands_of(sorted(told, key=lambda event: (event.order_ms, event.row))):
        if action.has_succeeded:
            worked = (worked_number(part) for part in parts_of(action.command) if part.decides)
            yield from (Run(action.call.row, form) for form in dict.fromkeys(worked))
        elif (failed := failed_in(action)) is not None:
            fix = mending(failed, later)
            exact, alike = numbers_of(failed)
            by: tuple[int | None, int | None] = (None, None)
            if fix is not None:
                by = fix[0].call.row, form_number(fix[1])
            elif (ready := prepared(failed, later)) is not None:
                by = ready[0].call.row, -form_number(ready[1])
            yield Run(action.call.row, form_number(failed.part), exact, alike, *by)


def commands_of(told: Sequence[StoredEvent]) -> Iterator[tuple[Action, Sequence[Action]]]:
    """Each command with a result among some events of a session (in their order), with the calls after it."""
    for actions in actions_by_agent(told):
        for place, action in enumerate(actions):
            if action.is_shell and action.result is not None:
                yield action, actions[place + 1 : place + 1 + MAX_LATER]


def failed_in(action: Action) -> Failure | None:
    """What of a call's command failed by itself: neither refused nor ended by a signal; None where nothing did."""
    code = action.result.exit_code if action.result is not None else None
    return failure_of(action.command, action.output) if action.has_failed and code and code not in SIGNALS else None


def mending(failed: Failure, later: Sequence[Action]) -> tuple[Action, Part] | None:
    """The call that did the same in other words, before any file was changed or the same words worked."""
    for action in later:
        if action.is_edit and action.has_succeeded:
            return None
        ran = parts_of(action.command) if action.is_shell and action.has_succeeded else ()
        fix = mended_by(failed.part, failed.suspects, ran)
        if fix is not None:
            return action, fix
        if any(part.words == failed.part.words for part in ran):
            return None
    return None


def prepared(failed: Failure, later: Sequence[Action]) -> tuple[Action, Part, Action] | None:
    """The last command that prepares others and ran before the same one worked, with that call.

    One of two at most, where no file was changed, and only for a complaint that says what is wrong.
    """
    ran: dict[str, tuple[Action, Part]] = {}
    for action in () if failed.is_vague else later:
        parts = parts_of(action.command) if action.is_shell else ()
        again = next((at for at, now in enumerate(parts) if now.words == failed.part.words and now.decides), None)
        if _may_change(action, failed.part, is_again=again is not None):
            return None
        if not action.has_succeeded:
            if again is not None:
                return None  # what comes after it counts for that failure
            continue
        is_behind = bool(_BACKGROUND.search(action.command) or action.input.get("run_in_background"))
        for now in () if is_behind else parts[:again]:
            if now.words != failed.part.words and _prepares(now):
                ran.pop(now.form, None)
                ran[now.form] = action, now
        if again is not None:
            return (*[*ran.values()][-1], action) if 0 < len(ran) <= MAX_PREPARING else None
    return None


def _prepares(part: Part) -> bool:
    """Whether a command is known to make others work, by its words alone."""
    options = {word.partition("=")[0] for word in part.words if word.startswith("-")}
    if part.is_piped or part.program in {*_VERSIONED, *_ELSEWHERE, *LOOKING, *HANDLING} or options & _SHOWS:
        return False
    if removes(part):
        return False
    given = part.words[2:] if part.words[1:2] == ("-m",) else part.words[1:]  # `python -m pip install`
    before = takewhile(lambda word: not word.startswith("-"), given[: _NAMED_WORDS - 1])
    named = (part.program, *(word for word in before if _PLAIN.fullmatch(word)))
    return bool(options & _REPAIRS) or any(not _PREPARES.isdisjoint(_WORD.findall(word.lower())) for word in named)


def _may_change(action: Action, failed: Part, *, is_again: bool) -> bool:
    """Whether a call may have changed files, whatever came of it, before the failed command ran in it again."""
    if not action.is_shell:
        return action.tool not in _HARMLESS
    line = action.command[: action.command.rfind(failed.words[0])] if is_again else action.command
    moved = (part for part in parts_of(line) if part.program in _VERSIONED and failed.program not in _VERSIONED)
    return _WRITES.search(line) is not None or any(not _MOVES.isdisjoint(part.words) for part in moved)
