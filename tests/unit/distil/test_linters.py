"""What linters print, read from their own formats."""

# ruff: noqa: RUF001 - marks are written as tools print them

from __future__ import annotations

import pytest

from howcome.learn.rules.linters import Finding, findings, would_format

PRINTED = {
    "golangci-lint": (
        "internal/tide/gauge.go:31:9: string `harbour` has 4 occurrences, make it a constant (goconst)\n\tx := 1",
        ("goconst", "string … has … occurrences, make it a constant", "internal/tide/gauge.go"),
    ),
    "golangci-lint without a column": (
        "[lint] tide/gauge_test.go:17: 17-67 lines are duplicate of `tide/level_test.go:9-40` (dupl)",
        ("dupl", "… lines are duplicate of …", "tide/gauge_test.go"),
    ),
    "ruff": (
        "src/quay/berth.py:12:5: PLR2004 Magic value used in comparison, consider replacing `400` with a constant",
        ("PLR2004", "Magic value used in comparison, consider replacing … with a constant", "src/quay/berth.py"),
    ),
    "ruff in full": (
        "B006 Do not use mutable data structures for argument defaults\n  --> src/quay/berth.py:3:21\n   |",
        ("B006", "Do not use mutable data structures for argument defaults", "src/quay/berth.py"),
    ),
    "pylint": (
        "quay/berth.py:1:0: C0114: Missing module docstring (missing-module-docstring)",
        ("C0114", "Missing module docstring", "quay/berth.py"),
    ),
    "mypy": (
        'quay/berth.py:9: error: Missing type parameters for generic type "dict"  [type-arg]',
        ("type-arg", "Missing type parameters for generic type …", "quay/berth.py"),
    ),
    "pyright": (
        '  /src/quay/berth.py:3:7 - error: "dock" is possibly unbound (reportPossiblyUnbound)',
        ("reportPossiblyUnbound", "… is possibly unbound", "/src/quay/berth.py"),
    ),
    "biome": (
        " at web/Gauge.tsx:5:9 lint/suspicious/noExplicitAny ━━━━\n\n  × Unexpected any. Specify a different type.\n",
        ("noExplicitAny", "Unexpected any. Specify a different type", "web/Gauge.tsx"),
    ),
    "tsc": (
        "web/gauge.ts(14,5): error TS7006: Parameter 'level' implicitly has an 'any' type.",
        ("TS7006", "Parameter … implicitly has an 'any' type", "web/gauge.ts"),
    ),
    "clippy": (
        "error: too many arguments (9/7)\n --> src/tide.rs:4:1\n   |\n   = note: `#[warn(clippy::too_many_arguments)]`",
        ("too_many_arguments", "too many arguments (…/…)", "src/tide.rs"),
    ),
    "shellcheck": (
        "In bin/moor.sh line 7:\nrm $1\n   ^-- SC2086 (info): Double quote to prevent globbing and word splitting.\n",
        ("SC2086", "Double quote to prevent globbing and word splitting", "bin/moor.sh"),
    ),
    "rubocop": (
        "lib/berth.rb:3:1: C: [Correctable] Style/GuardClause: Use a guard clause instead of wrapping the code",
        ("Style/GuardClause", "Use a guard clause instead of wrapping the code", "lib/berth.rb"),
    ),
    "checkstyle": (
        "[ERROR] src/Berth.java:3:1: Missing a Javadoc comment. [MissingJavadocMethod]",
        ("MissingJavadocMethod", "Missing a Javadoc comment", "src/Berth.java"),
    ),
    "eslint": (
        "/app/web/gauge.js\n  3:7  error  Expected '===' and instead saw '=='  eqeqeq\n\n✖ 1 problem",
        ("eqeqeq", "Expected … and instead saw …", "/app/web/gauge.js"),
    ),
}


@pytest.mark.parametrize("tool", PRINTED)
def test_a_finding_is_read_as_its_tool_prints_it(tool: str) -> None:
    """Rule, message without what is of one place only, and file."""
    printed, wanted = PRINTED[tool]
    assert [(one.rule, one.general, one.file) for one in findings(f"Exit code 1\n{printed}")] == [wanted]


def test_the_same_rule_says_the_same_wherever_it_is_broken() -> None:
    """So that another session's is one more time the same memory."""
    one = Finding("unparam", "`(*Gauge).read` - result 1 (error) is always nil", "a.go")
    other = Finding("unparam", "`openHarbour` - result 0 (error) is always nil", "b.go")
    assert one.general == other.general


@pytest.mark.parametrize(
    ("rule", "is_unfinished"),
    [("F401", True), ("E501", False), ("TS2304", True), ("TS7006", False), ("typecheck", True), ("gosec", False),
     ("noUnusedImports", True), ("useTemplate", False), ("no-unused-vars", True), ("Layout/LineLength", True)],
)  # fmt: skip
def test_what_says_that_work_is_not_finished_is_told_apart(rule: str, *, is_unfinished: bool) -> None:
    """Names that are not there yet, imports that nobody uses yet, spaces."""
    assert Finding(rule, "says something", "a.x").is_unfinished is is_unfinished


@pytest.mark.parametrize(
    ("output", "would"),
    [("Would reformat: src/quay.py\n1 file would be reformatted", True),
     (" at web/a.ts format ━━━\n\n  × Formatter would have printed the following content:", True),
     ("2 files left unchanged", False), ("the formatter is fine", False)],
)  # fmt: skip
def test_a_formatter_that_would_change_files_is_seen(output: str, *, would: bool) -> None:
    """As ruff and biome say it."""
    assert would_format(output) is would


@pytest.mark.parametrize(
    "output", ["", "ok  \ttide\t0.3s", "at 10:31:09: all good (really)", "see tide.go:31 (gauge)", "\ud800:1:1: x (y)"]
)
def test_what_is_no_finding_is_none(output: str) -> None:
    """Times, places in prose, half characters."""
    assert findings(output) == []
