"""Runs of tests, as go test, pytest, jest, vitest, bun and cargo print them: which failed, and what they said."""

# ruff: noqa: RUF001 - marks are matched as tools print them

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_GO = re.compile(r"^(?P<indent> *)--- FAIL: (?P<name>Test\S+) \(\d")
_GO_SAID = re.compile(r"^\s+\w[\w/.-]*\.go:\d+: (.*)$")
_GO_MARK = re.compile(r"=== (?:RUN|CONT|PAUSE|NAME)\b|\s*--- (?:FAIL|PASS|SKIP): ")
_MESSAGES = re.compile(r"^\s+Messages:\s+(.+)$")
_LOGGED = re.compile(r"\boutput:|\b(?:INFO|DEBUG|WARN)\b|^\s*Error Trace|^\s*$|^Got expected")
_LOUD = re.compile(
    r"\b(?:want\w*|got|expected|should|must|failed|cannot|not|no|error|missing|unexpected)\b", re.IGNORECASE
)
_TESTIFY = re.compile(r"^\s+Error:\s+(.+)$")
_PYTEST = re.compile(r"^FAILED (?P<file>[\w/.-]+\.py)::(?P<name>[\w:]+)(?:\[[^\]]*\])? - (?P<said>.+)$", re.MULTILINE)
_BUN = re.compile(r"^\(fail\) (?P<name>.+?)(?: \[[\d.]+m?s\])?$")
_BUN_SAID = re.compile(r"^(?:error|\w*Error): (.+)$")
_JEST = re.compile(r"^ *(?:●|FAIL) +(?:\S+\.[jt]sx? > )?(?P<name>\S.* [›>] .+?)$")
_JEST_SAID = re.compile(r"^\s*((?:\w*Error: |expect\().+)$")
_CARGO = re.compile(
    r"^---- (?P<name>[\w:]+) stdout ----\nthread '[^']*' panicked at [^\n]*:\n(?P<said>[^\n]+)", re.MULTILINE
)
LOOKED_LINES = 25
MAX_CHARS = 40_000


class FailedTest:
    """A test that failed, and the line that says why ("" where none does)."""

    __slots__ = ("name", "said")

    def __init__(self, name: str, said: str) -> None:
        self.name, self.said = name.strip(), " ".join(said.split())


def failed_tests(output: str) -> list[FailedTest]:
    """The tests that failed, each once; of nested ones the innermost."""
    output = _ANSI.sub("", output[:MAX_CHARS])
    forms = [form for cue, form in (("FAILED ", _PYTEST), (" stdout ----", _CARGO)) if cue in output]
    found = [FailedTest(match["name"], match["said"]) for form in forms for match in form.finditer(output)]
    if not found:
        lines = output.splitlines()
        if "--- FAIL: " in output:
            found = list(_of_go(lines))
        elif "(fail) " in output:
            found = list(_of_bun(lines))
        elif "●" in output or " > " in output:
            found = list(_of_jest(lines))
    return list({test.name: test for test in reversed(found)}.values())[::-1]


def _of_go(lines: list[str]) -> Iterator[FailedTest]:
    heads = [(at, match) for at, line in enumerate(lines) if (match := _GO.match(line))]
    names = {match["name"] for _, match in heads}
    for at, match in heads:
        if not any(other.startswith(f"{match['name']}/") for other in names):
            below = _said_by_go(lines[at + 1 : at + LOOKED_LINES])
            above = _said_by_go(list(_run_of(match["name"], lines[max(0, at - 2 * LOOKED_LINES) : at])))
            yield FailedTest(match["name"], below or above)


def _run_of(name: str, before: list[str]) -> Iterator[str]:
    """What a test printed above its verdict, as verbose runs have it."""
    marks = [at for at, line in enumerate(before) if _GO_MARK.match(line)]
    own = [at for at in marks if before[at].split()[-1] == name or before[at].split()[2:3] == [name]]
    if own:
        for line in before[own[-1] + 1 :]:
            if _GO_MARK.match(line):
                return
            yield line


def _said_by_go(block: list[str]) -> str:
    """The line of a test's output that says why it failed: its own message, a panic, a loud one, the only one."""
    told: list[str] = []
    for at, line in enumerate(block):
        if _GO_MARK.match(line) or line.startswith(("FAIL", "ok ", "goroutine ")):
            break
        if line.startswith("panic: "):
            return line.partition(" [recovered")[0]
        own = _MESSAGES.match(line)
        if own:
            return own[1]
        said = _TESTIFY.match(line) or _GO_SAID.match(line)
        if said and said[1].rstrip().endswith(":") and not _LOGGED.search(said[1]):
            more = block[at + 1] if at + 1 < len(block) else ""
            if more.strip() and not (_GO_SAID.match(more) or _GO_MARK.match(more)):
                told.append(f"{said[1].strip()} {more.strip()}")
        elif said and not _LOGGED.search(said[1]) and said[1].strip():
            told.append(said[1].strip())
    return next((one for one in told if _LOUD.search(one)), told[0] if len(told) == 1 else "")


def _of_bun(lines: list[str]) -> Iterator[FailedTest]:
    for at, line in enumerate(lines):
        match = _BUN.match(line)
        if match:
            before = reversed(lines[max(0, at - 2 * LOOKED_LINES) : at])
            said = ""
            for other in before:
                if _BUN.match(other) or other.startswith("(pass)"):
                    break
                told = _BUN_SAID.match(other)
                if told:
                    said = told[1]
                    break
            yield FailedTest(match["name"], said)


def _of_jest(lines: list[str]) -> Iterator[FailedTest]:
    for at, line in enumerate(lines):
        match = _JEST.match(line)
        if match:
            after = (_JEST_SAID.match(other) for other in lines[at + 1 : at + LOOKED_LINES])
            yield FailedTest(match["name"], next((told[1] for told in after if told), ""))
