"""What an output says went wrong."""

from __future__ import annotations

import pytest

from howcome.domain.complaints import complaint, is_vague

CAUSE = "error: cannot find the gauge of the quay"
GENERIC = [
    "FAILURE: Build failed with an exception.",
    "BUILD FAILED in 2s",
    "BUILD FAILED",
    "Execution failed for task ':quay:test'.",
    "[ERROR] COMPILATION ERROR :",
    "[INFO] BUILD FAILURE",
    "error: build failed",
    "error: test failed, to rerun pass `--lib`",
    "error: could not compile `quay` (lib) due to 2 previous errors",
    "error: aborting due to previous error",
    "Tests failed",
    "npm ERR! code ELIFECYCLE",
    "npm ERR! errno 1",
    "npm ERR! Test failed.  See above for more details.",
    "npm error Lifecycle script `build` failed with error:",
    " ELIFECYCLE  Command failed with exit code 1.",
    "error Command failed with exit code 1.",
    "make: *** [Makefile:3: test] Error 1",
    "gmake[2]: *** [quay.o] Error 1",
    "The command '/bin/sh -c make' returned a non-zero code: 2",
    "ERROR: Build did NOT complete successfully",
    "FAILED: Build did NOT complete successfully",
    "Target //quay:gauge failed to build",
    "** BUILD FAILED **",
    "** TEST FAILED **",
    "The following build commands failed:",
    "[error] (Compile / compileIncremental) Compilation failed",
    "Build FAILED.",
    "1 Error(s)",
    "FAIL",
    "FAIL\texample.com/quay\t0.012s",
    "FAIL\texample.com/quay [build failed]",
]


@pytest.mark.parametrize("line", GENERIC)
def test_a_line_that_says_only_that_something_failed_gives_way(line: str) -> None:
    """To one that says what failed, whichever comes first; alone it is what is said, and is vague."""
    assert complaint(f"Exit code 1\n{line}\n{CAUSE}") == complaint(f"Exit code 1\n{CAUSE}\n{line}") == CAUSE
    assert is_vague(line)


@pytest.mark.parametrize(
    "line",
    [
        CAUSE,
        "FAIL src/quay.test.ts",
        "--- FAIL: TestGauge (0.00s)",
        "npm error code ERESOLVE",
        "Build failed: no such module 'quay'",
        "error: build failed to find the gauge",
        "error: failed to solve: quay:latest: not found",
        "Tests failed to start: unknown option --quay",
        "error: the test fails in the quay with 3 gauges",
        "ERROR: Could not find a version that satisfies the requirement quay",
    ],
)
def test_a_line_with_the_cause_is_kept(line: str) -> None:
    """Also where it has the words of one that says nothing."""
    assert complaint(f"Exit code 1\n{line}\nBUILD FAILED") == line


def test_the_innermost_cause_of_a_build_is_said() -> None:
    """What stands below "What went wrong", its places and the next heading left out."""
    head = "FAILURE: Build failed with an exception.\n\n* What went wrong:\n"
    foot = "\n* Try:\n> Run with --stacktrace option to get the error.\n\nBUILD FAILED in 2s\n"
    task = "Execution failed for task ':quay:test'.\n"
    inner = "> Could not resolve all.\n   > Could not find tide:gauge:1.0.\n     Searched in:\n  - /srv\n"
    assert complaint(f"{head}{task}> No gauge is connected!\n{foot}") == "No gauge is connected!"
    assert complaint(f"{head}{task}{inner}{foot}") == "Could not find tide:gauge:1.0."
    assert complaint(f"{head}Unsupported level 67\n{foot}") == "Unsupported level 67"
    assert complaint(f"{head}{task}> Compilation error. See log for more details\n{foot}{CAUSE}") == CAUSE


def test_a_long_line_costs_no_time() -> None:
    """An output may be one line."""
    assert complaint("error " * 1300).startswith("error")
