"""What an output says went wrong: the line that says the cause, not one that says only that something failed."""

from __future__ import annotations

import re

MAX_OUTPUT_CHARS, MAX_GENERIC_CHARS = 8_000, 240
_LEAD = re.compile(r"^(?:Exit code \d+|<tool_use_error>|Error: )\s*")
_SHOUTS = re.compile(
    r"(?i)\b(?:error|fail|fatal|cannot|no such|not found|unknown|invalid|denied|unrecognized|missing|expected"
    r"|undefined|no matches)|(?-i:[a-z](?:Error|Exception)(?::|$))"
)
_TELLS = re.compile(
    r"E\s{2,}\S|e: \S+\.kts?:|.*\bundefined reference to\b|.*\bld: cannot find\b"  # pytest, Kotlin, linkers
    r'|(?:Caused by: |Uncaught |Exception in thread "[^"]*" )?[\w.$]+(?:Error|Exception): '
)
"""How lines begin that say the cause wherever they stand: they go before any other."""

_HEAD = re.compile(
    r"^(?:#\d+ (?:\d+\.\d+ )?|\[[^]\d]*(?:\d{4}\S*\s)?\d\d:\d\d[\d:.,]*\]\s*|\d{4}-\d\d-\d\d[T ]\d\d:\S+\s+)"
)
"""A step's number or a time in front of what is said."""

_FRAME = re.compile(
    r'^([ \t]*)File "[^"\n]{1,400}", line \d+.*\n(?:\1[ \t]+.*\n)*|^\S+:\d+: in .*\n(?:[ \t]+.*\n)*',
    re.MULTILINE,
)
"""A place in a traceback, with the code that stands there."""

_PASSED = re.compile(
    r"(?:ok|PASS|PASSED|✓|✔|√)\s|.*(?:\.\.\. ok|\[ *\d+%\]|\[no test files\])$|.*\bFailures: 0, Errors: 0\b"
    r"|(?:g?cc|[cg]\+\+|clang(?:\+\+)?) -"
)
"""What reports that something went well, or only what runs."""

_ERROR = re.compile(r"(?i)\berrors?\b(?!.*\bwarning\b)|\bFAIL|\bfatal\b|(?-i:[a-z](?:Error|Exception)(?::|$))")
_EMPTY = re.compile(
    r"(?i)task failed|script failed|hook failed|\(code \d+\)|^\$ |exited? (?:with )?code|\b0 (?:errors|fail)"
)
_VAGUE = re.compile(
    r"(?i)\bassert(?:ion|ing)?\b|Assertion\w*Error|\bexpect\(|ELIFECYCLE|^make(?:\[\d+\])?: \*\*\*|\bRecipe\b"
    r"|\bcommand failed|\bexit(?:ed)?(?: with)?(?: code| status)? \d+|(?<![:.\d])\d+ failed"
    r"|^\W*(?:\w+: )?Error:? \d+\W*$"
)
"""What says only that something failed: the next failure that says so is another one."""

_MARK = re.compile(r"(?i)^\W*(?:(?:p?npm )?(?:error|err!|failure|failed|fatal|info)(?::|\]|(?= ))[^\w(]*)*")
_GENERIC = re.compile(
    r"(?i)(?:"
    # Gradle, Maven, Xcode, MSBuild, sbt, cargo, esbuild, npm
    r"(?:\(.*?\) )?(?:build|tests?|testing|compilation|compile) (?:failed|failures?|error)"
    r"(?:\W{1,3}(?:in|with|because|due to|see|to rerun)\b.*)?"
    r"|execution failed for task .*|a failure occurred while executing .*|run with --.*"  # Gradle
    r"|\d+ errors?(?:\(s\))?(?: generated| found)?"  # MSBuild, clang
    r"|the following build commands failed"  # Xcode
    r"|could not compile .*|aborting due to .*|process didn't exit successfully.*"  # cargo
    r"|.*\bdid not complete successfully\b.*|target \S+ failed to build"  # Bazel, Docker
    r"|.*\breturned a non-zero code.*"  # Docker
    r"|command failed(?: with exit .*)?|code (?:elifecycle|\d+)|errno \d+|lifecycle script .*"  # npm, yarn, pnpm
    r"|failed at the .* script|elifecycle\b.*"
    r"|\S+\s+(?:\[build failed\]|[\d.]+s)|fail(?:\s+\S+(?:\s+[\[(>\d].*)?)?"  # Go, Jest, Vitest
    r"|failures|errors|there (?:was|were) \d+ (?:failure|error)s?|failed (?:tests|suites) \d+"
    r"|test suite failed to run|(?:test suites|test files|tests):?\s+\d+ failed.*"  # Jest, Vitest
    r"|(?:collecting .*)?collected \d+ items? / .*"  # pytest
    r"|task \S+ failed|there were failing tests.*"  # Gradle
    r"|.*\bld returned \d+ exit status|(?:\w+: error: )?linker command failed.*"  # linkers
    r"|(?:\S+ )?warning: .*|\w+: (?:all|some) warnings being treated as errors"
    r"|.*\breturned non-zero exit status \d+"  # Python
    r"|\w*make(?:\[\d+\])?: \*\*\* .*\berror \d+"
    r")\W*"
)
"""Lines of build tools and package managers that are the same whatever the cause."""

_REASON = re.compile(r"^\* What went wrong:[ \t]*\n((?:[^\n]+\n?){1,40})", re.MULTILINE)
"""Where Gradle says the cause, the innermost last; each begins with `>`."""


def complaint(output: str, *, is_hooked: bool = False) -> str:
    """The line that says what went wrong: the first with an error, else the first that shouts; "" where none does.

    One that says only that something failed counts where there is no other. A hook of git runs several programs, and
    the one that fails is the last: there it is the last such line.
    """
    text = _FRAME.sub("", _LEAD.sub("", output[-MAX_OUTPUT_CHARS:]))
    lines = [_HEAD.sub("", line.strip()) for line in text.splitlines()]
    lines = [line for line in lines if not _PASSED.match(line) and not _EMPTY.search(line)]
    shouting = [line for line in lines if _SHOUTS.search(line) or _TELLS.match(line)]
    if is_hooked:
        shouting.reverse()
    telling = [line for line in shouting if not _is_generic(line)] or shouting
    found = (line for sought in (_TELLS.match, _ERROR.search) for line in telling if sought(line))
    return _reason(text) or re.sub(r"^E\s{2,}", "", next(found, telling[0] if telling else ""))


def _reason(text: str) -> str:
    """What stands where the tool says the cause; "" where it says none."""
    found = _REASON.search(text)
    told = [line.strip() for line in found[1].splitlines()] if found is not None else []
    inner = [line.lstrip("> ") for line in told if line.startswith(">")]
    return next((line for line in (*reversed(inner), *told[:1]) if line and not _is_generic(line)), "")


def _is_generic(line: str) -> bool:
    return len(line) <= MAX_GENERIC_CHARS and _GENERIC.fullmatch(_MARK.sub("", line, count=1)) is not None


def is_vague(said: str, output: str = "") -> bool:
    """Whether a line does not say what went wrong; it does where the output says that this is the cause."""
    is_said = _SHOUTS.search(said) or (said and said == _reason(output))
    return not is_said or bool(_EMPTY.search(said) or _VAGUE.search(said)) or _is_generic(said)


def first_line(output: str) -> str:
    """The first line of an output that is not blank."""
    lines = (line.strip() for line in _LEAD.sub("", output[:MAX_OUTPUT_CHARS]).splitlines())
    return next((line for line in lines if line), "")
