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
    "FAIL src/quay.test.ts",
    "FAIL  src/quay.test.ts > finds the error",
    "=================================== FAILURES ===================================",
    "collected 0 items / 1 error",
    "Failures:",
    "FAILURES!",
    "There was 1 failure:",
    "● Test suite failed to run",
    "> Task :compileJava FAILED",
    "There were failing tests. See the report at: file:///srv/build/reports/tests/test/index.html",
    "collect2: error: ld returned 1 exit status",
    "clang: error: linker command failed with exit code 1 (use -v to see invocation)",
    "a.c:3:5: warning: unused variable 'error' [-Wunused-variable]",
    "subprocess.CalledProcessError: Command '['make']' returned non-zero exit status 2.",
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


@pytest.mark.parametrize(
    ("passed", "cause"),
    [
        ("ok  \texample.com/quay/errors\t0.003s", "--- FAIL: TestGauge (0.00s)"),
        ("PASS src/errors.test.ts", "Cannot find module 'gauge' from 'src/quay.ts'"),
        (" ✓ src/errors.test.ts  (3 tests) 4ms", "TypeError: gauge is not a function"),
        ("test tests::failure_is_kept ... ok", "test tests::gauge ... FAILED"),
        ("tests/errors.py ...            [ 75%]", "tests/gauge.py:3: error: unknown gauge"),
        ("[INFO] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0 - in quay.ErrorTest", "[ERROR] no such gauge"),
        ("gcc -o error_handler tide.o error.o -lgauge", "/usr/bin/ld: cannot find -lgauge: No such file or directory"),
    ],
)
def test_what_went_well_is_no_complaint(passed: str, cause: str) -> None:
    """Whatever is called an error in it."""
    assert complaint(f"Exit code 1\n{passed}\n{cause}") == cause


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        (
            ["collected 0 items / 1 error", "ERROR collecting a.py", "tests/a.py:1: in <module>", "    import errors"],
            "E   ModuleNotFoundError: No module named 'tide'",
        ),
        (["=== FAILURES ===", ">   assert error == 4"], "E   assert 3 == 4"),
        (
            ['  File "/srv/x.py", line 1, in a', "    import errors", '  File "/b.py", line 9, in b', "    error()"],
            "KeyError: 'RATE'",
        ),
        (["collect2: error: ld returned 1 exit status"], "tax.c:(.text+0x9): undefined reference to `rate'"),
        (["[ERROR] Tests run: 1, Failures: 1 <<< FAILURE!"], "java.lang.IllegalStateException: no gauge"),
        (["#8 ERROR: process did not complete successfully"], "#8 1.203 npm error code EUSAGE"),
        ([], "2026-03-02T09:00:01 ERROR cannot parse the table"),
    ],
)
def test_the_line_with_the_cause_is_said_wherever_it_stands(lines: list[str], cause: str) -> None:
    """Without what a tool puts before it: a mark, a step's number, the time."""
    said = cause.removeprefix("E   ").removeprefix("#8 1.203 ").removeprefix("2026-03-02T09:00:01 ")
    assert complaint("\n".join(["Exit code 1", *lines, cause])) == said


def test_what_says_the_cause_is_not_vague() -> None:
    """Also where no word of it is one of a failure, or a number stands before "failed"."""
    for cause in ("No connected devices!", "Could not find tide:gauge:1.0.", "Java heap space"):
        output = f"* What went wrong:\nExecution failed for task ':quay'.\n> {cause}\n"
        assert complaint(output) == cause
        assert not is_vague(cause, output)
        assert is_vague(cause)
    assert not is_vague("Error response from daemon: driver failed: Bind for 0.0.0.0:5432 failed: port is allocated")
    assert is_vague("error: 3 failed")
    assert is_vague("Failed asserting that 3 matches expected 4.")


def test_a_long_line_costs_no_time() -> None:
    """An output may be one line."""
    assert complaint("error " * 1300).startswith("error")
