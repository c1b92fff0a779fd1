"""`make demo`: the first thing that a stranger starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "samples" / "demo.py"
STEPS = ("1. Read", "2. What the sessions taught", "3. Ask", "4. Start a new session", "Next: `howcome init`")


def test_the_demo_shows_each_step_and_builds_no_model(home: Path, tmp_path: Path) -> None:
    """Also where one is wanted (of weights that are not there, which a search would say); nothing is left behind."""
    wanted = {"HOWCOME_EMBEDDING": "minilm", "HOWCOME_EMBEDDING_WEIGHTS": "/nowhere"}
    environment = {**os.environ, **wanted, "TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(DEMO)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    places = [done.stdout.index(step) for step in STEPS]
    assert places == sorted(places)
    assert "deduplicate readings on (gauge_id, observed_at)" in done.stdout.partition("4. Start")[2]
    assert "(nothing: it stays silent)" in done.stdout
    assert "by words only" not in done.stdout
    assert (os.listdir(home), os.listdir(tmp_path)) == ([], [])


def test_the_demo_installs_the_package_alone(tmp_path: Path) -> None:
    """What the tests need, and the model, take minutes; and it says that it installs."""
    words = ["make", "--dry-run", "demo", f"VENV={tmp_path}"]
    done = subprocess.run(words, cwd=DEMO.parents[1], capture_output=True, text=True, check=True)
    assert "-e ." in done.stdout
    assert "Installing howcome into" in done.stdout
    assert "minilm" not in done.stdout
    assert "--group" not in done.stdout
