"""Fixtures of the tests with the real client, one round for each pinned version."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.client import installed
from tests.client.install import VERSIONS
from tests.e2e.desk import Desk

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Name one pinned client version."""
    return str(request.param)


@pytest.fixture(scope="session")
def executable(version: str) -> Path:
    """Install that version on first use."""
    return installed(version)


@pytest.fixture
def desk(tmp_path: Path, executable: Path, version: str) -> Desk:
    """Set up an empty desk."""
    return Desk(tmp_path, executable, version)
