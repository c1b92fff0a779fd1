"""Commands as people speak of them, and the line of their output that says what went wrong."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

import re
from functools import lru_cache

from howcome.learn.quick import Words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_PREFIX = re.compile(
    r"^(?:\s*(?:cd \S+|export \w+=\S+|source \S+|\. \S+|set -\w+|pwd|clear|mkdir -p \S+)\s*(?:&&|;|\n)\s*)+"
)
_ENV = re.compile(
    r"^(?:[A-Z_][A-Z0-9_]*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)\S*|[^\s$]*\$\([^)]*\)\S*|\S*)\s+)+|^(?:sudo"
    r"|time|nice|timeout \d+\w?|command|env)\s+"
)
_TAIL = re.compile(
    r"\s*(?:2>&1|2>/dev/null|>/dev/null|&>\S+|\|\|.*|\|\s*(?:head|tail|grep|tee|less|cat|sed|awk|wc|sort|rg"
    r"|jq|cut|xargs|python3?)\b.*|&&\s*echo\b.*|;\s*echo\b.*|>\s*\S+)",
    re.DOTALL,
)
_WORD = re.compile(r"\S+")
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_HOME = re.compile(
    r"(?:/Users|/home|/root|/private/var|/var/folders|/tmp|/private/tmp"
    r"|[A-Z]:\\Users)[\w./\\@+~-]*[/\\](?=[\w.@+-])"
)
_NOISE = re.compile(
    r"^(?:--- FAIL|\[[\w:.-]+\] ERROR|found \d+|\d+ errors?|\d+ (?:pass|fail)|i unsafe fix|exit code \d+"
    r"|\[?\w+\]? \$ |\$ |> |ok\s|\?\s|=== |--- PASS|PASS|warning|hint:|note:|at \S+ \(|at \S+:\d|\s*\^"
    r"|\s*\||npm ERR! (?:code|errno|path|A complete|Lifecycle)|usage:|for more information|task failed"
    r"|error: command failed|error: task failed|\d+ issues?:|make(?:\[\d+\])?: \*\*\*"
    r"|error(?:ed)?:? ?(?:task )?failed"
    r"|.*exited with (?:code|error)|.*exit status \d+\s*$|.*ELIFECYCLE|FAIL\s*$|FAIL\s+\S+"
    r"|fail\b.*\d+(?:\.\d+)?s\]?$|.*\bfiles? (?:changed|checked)|total\b|file(?:s)? |running |collected "
    r"|in \d)",
    re.IGNORECASE,
)
_LOUD = (
    Words(
        r"\b(?:[A-Z]\w*(?:Error|Exception)\b[:(]|panic: |fatal(?: error)?: |error(?:\[\w+\])?: |error TS\d+"
        r"|undefined: |import cycle|no such file|command not found|unrecognized|unknown (?:command|flag|option"
        r"|field|shorthand)|permission denied|cannot find|could not|is not (?:defined|a function|recognized"
        r"|installed)|not found|refused|denied|already (?:in use|exists)|out of memory|timed? ?out|deadlock"
        r"|mismatch|no required module|not allowed|does not exist|missing|unexpected|expected|want |but was"
        r"|received|✗|✕|violat|verify failed|asleep|exceed|declared and not used|has no field or method"
        r"|cannot use|too many|invalid|unsupported|conflict)"),
    Words(r"\b(?:error|failed|fail|fatal|exception|abort\w*|killed|rejected)\b"),
)  # fmt: skip
_CHECK = Words(
    r"\b(?:build|compile\w*|tsc|clippy|mypy|lint|test|tests|pytest|jest|vitest|rspec|check|unittest|ctest"
    r"|phpunit|mocha|playwright|cypress)\b|test[:/]|:test",
)
_PEEKING = frozenset(
    (
        "ls",
        "cat",
        "grep",
        "rg",
        "find",
        "diff",
        "test",
        "[",
        "which",
        "head",
        "tail",
        "sed",
        "awk",
        "wc",
        "echo",
        "stat",
        "file",
        "tree",
        "fd",
        "jq",
        "ps",
        "kill",
        "pgrep",
        "pkill",
        "sleep",
        "rm",
        "cp",
        "mv",
        "cd",
        "for",
        "while",
        "if",
        "true",
        "false",
        "read",
        "type",
        "command",
        "strings",
        "xxd",
        "#",
    )
)
_SET = re.compile(r"(?:^|[\s;&])([A-Z_][A-Z0-9_]*=(?:\"[^\"]*\"|'[^']*'|\$\([^)]*\)\S*|\S+))")
_CHANGING = re.compile(
    r"\b(?:install|add|get|tidy|sync|update|upgrade|init|migrate|generate|build|up|start|restart|restore"
    r"|clean|reset|download|create|chmod|link|use|login|fetch|pull|prune|rebuild|compile|unlock"
    r"|force-unlock|config|rm|kill|set|enable|apply|import|lock|vacuum|rebase|merge|stash|dedupe)\b"
)
_TOOLS_OF_MANY = frozenset(
    "git gh glab go cargo npm pnpm yarn bun docker kubectl helm aws gcloud az terraform mise make dotnet poetry uv pip"
    " brew apt systemctl rails mix flutter gradle mvn".split()
)
MAX_COMMAND_CHARS = 100
_CODE = re.compile(r"[{;]$|^(?:\[\S+\] )?(?:func|def|class|return|const|let|var|import|if|for) ")
MAX_ESSENCE_CHARS = 180


@lru_cache(maxsize=4096)
def core(command: str) -> str:
    """A command without what is around it: changes of folder, variables, pipes that only cut its output."""
    line = _PREFIX.sub("", command.strip())
    line = _TAIL.sub("", line.split("\n", 1)[0])
    for _ in range(3):
        line = _ENV.sub("", line)
    return " ".join(line.split())


def is_worth_telling(command: str) -> bool:
    """Whether a command that fails is a failure at all: a search that finds nothing is none."""
    first = command.split(" ", 1)[0].rpartition("/")[2]
    return (
        bool(command)
        and len(command) <= MAX_COMMAND_CHARS
        and first not in _PEEKING
        and "<<" not in command
        and "`" not in command
        and '"$' not in command
        and not _HOME.search(command)
    )


@lru_cache(maxsize=4096)
def is_check(command: str) -> bool:
    """Whether a command tests, checks or builds."""
    return _CHECK.found(command)


def likeness(command: str, other: str) -> float:
    """How much of two commands is the same: the share (0 to 1) of words in both; 0 for other programs."""
    words, others = _WORD.findall(command), _WORD.findall(other)
    if not words or not others:
        return 0.0
    return len(set(words) & set(others)) / len(set(words) | set(others))


def contains(command: str, other: str) -> bool:
    """Whether all words of one of two commands stand in the other one."""
    words, others = set(_WORD.findall(command)), set(_WORD.findall(other))
    return words <= others or others <= words


def has_subcommands(command: str) -> bool:
    """Whether the first word of a command is a tool of many: two of its commands are as different as two programs."""
    return command.split(" ", 1)[0] in _TOOLS_OF_MANY


def ran_too(command: str, longer: str) -> bool:
    """Whether a chain of commands ran a command among others."""
    if command.split(" ", 1)[0] not in longer:
        return False
    return any(core(part) == command for part in re.split(r"&&|;|\n", longer))


def settings_added(command: str, other: str) -> str:
    """Variables that the second of two runs of a command set, and the first did not."""
    before, after = (set(_SET.findall(line)) for line in (command, other))
    return " ".join(sorted(after - before)) if len(after - before) <= 3 else ""


def changes_something(command: str) -> bool:
    """Whether a command may have mended another: it installs, builds, starts or fetches something."""
    return _CHANGING.search(command) is not None and is_worth_telling(command)


def essence(output: str, names: Collection[str] = ()) -> str:
    """The line of an output that says what went wrong, one with any of the names (lower case) first; "" for none."""
    lines = [_cleaned(line) for line in output.splitlines()[:400]]
    lines = [line for line in lines if 8 <= len(line) <= 400 and " │ " not in line and "×" not in line]
    if names:
        lines.sort(key=lambda line: not any(name in line.lower() for name in names))
    for pattern in _LOUD:
        for line in lines:
            if pattern.found(line) and not line.startswith(("#", "//", "<")) and not _is_noise(line):
                return line if len(line) <= MAX_ESSENCE_CHARS else line[: MAX_ESSENCE_CHARS - 1].rsplit(" ", 1)[0] + "…"
    return ""


def _is_noise(line: str) -> bool:
    return _NOISE.match(line) is not None or _CODE.search(line) is not None


def _cleaned(line: str) -> str:
    line = _ANSI.sub("", line) if "\x1b" in line else line
    line = (_HOME.sub("", line) if "/" in line or "\\" in line else line).strip()
    return " ".join(line.split()).strip("`|│ ").replace("`", "'")
