"""What the hostile tests share: the seed in every failure, figures at the end, the one list of known failures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.hostile import known, scale, shim
from tests.hostile.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LIMIT_S = 1500
"""Of one test, on a machine that is busy with something else."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what is known to fail, strictly: a case that is mended fails until its line is taken out.

    (A part of everything, by a stride, may just not meet what fails.)

    What takes longest begins first, so that the cores end together.
    """
    if scale.IS_FULL:
        items.sort(key=lambda item: "_soak.py" not in item.nodeid)
    for item in items:
        if "tests/hostile/" in item.nodeid:
            item.add_marker(pytest.mark.timeout(LIMIT_S))
            if why := known.reason(item.nodeid):
                item.add_marker(pytest.mark.xfail(reason=why, strict=scale.STRIDE == 1))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints every figure that a test took, and the seed."""
    tests = [one for name in ("passed", "failed", "xfailed", "xpassed") for one in terminalreporter.stats.get(name, [])]
    figures = sorted(
        f"{one.nodeid.split('/')[-1]}: {name} {value}" for one in tests for name, value in one.user_properties
    )
    if figures:
        terminalreporter.section(f"figures (seed {scale.SEED})")
        for figure in figures:
            terminalreporter.line(figure)


@pytest.fixture(autouse=True)
def seed() -> None:
    """Stands in what is printed of a failed test."""
    how = "make hostile SEED=" if scale.IS_FULL else "HOWCOME_TEST_SEED="
    print(f"seed {scale.SEED}: repeat with {how}{scale.SEED}")


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str, object], None]:
    """Notes a measured figure: printed at the end of `make hostile`, and with a failure."""

    def note(name: str, value: object) -> None:
        print(f"{name}: {value}")
        record_property(name, value)

    return note


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The compiled shim; without a C compiler, the tests that need it are skipped and say so."""
    return shim.built(tmp_path_factory.mktemp("shim"))


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    """A store with two projects, memories and notes, made once; tests take copies."""
    return Stage.made(tmp_path_factory.mktemp("template"))


@pytest.fixture
def stage(template: Stage, tmp_path: Path) -> Stage:
    """A copy of the template for one test."""
    return template.copied(tmp_path / "stage")
