"""Fixtures of the tests with the real client, one round for each pinned version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.client import installed
from tests.client.install import VERSIONS
from tests.e2e.desk import Desk
from tests.e2e.seen import note

if TYPE_CHECKING:
    from pathlib import Path

BEFORE_MCP_HOOKS = "2.1.100"
"""A client of the last kind that loses its whole settings file for a hook that asks an MCP server."""

LIFE_CYCLE_VERSIONS = (*VERSIONS[:1], BEFORE_MCP_HOOKS, *VERSIONS[1:])
"""What is installed into the user's files is tried with one client more."""


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name one pinned client version."""
    return str(request.param)


@pytest.fixture
def executable(version: str) -> Path:
    """Install that version on first use.

    Asked for by each test: modules have versions of their own, and a path kept for a session outlives their change.
    """
    return installed(version)


@pytest.fixture
def desk(tmp_path: Path, executable: Path, version: str) -> Desk:
    """Set up an empty desk."""
    return Desk(tmp_path, executable, version)


_reports: list[pytest.TestReport] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gathers what passed, also from other processes."""
    if report.when == "call":
        _reports.append(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keeps what the agents' programs showed, for the guide's table."""
    if not hasattr(session.config, "workerinput"):
        note(_reports)
