"""What is seen to before anything of the tests is imported: bytecode that every process of a run reads."""

from __future__ import annotations

import compileall
import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "howcome"


def keep_bytecode() -> None:
    """Every process of a run reads the package's, as a user's do; it is made here, where nothing interrupts that."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False
    if "PYTEST_XDIST_WORKER" not in os.environ:
        compileall.compile_dir(PACKAGE, quiet=2)


if "PYTEST_CURRENT_TEST" not in os.environ:  # else a test's own process, which may be under limits
    keep_bytecode()
