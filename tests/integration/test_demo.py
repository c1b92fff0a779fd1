"""`make demo`: the first thing that a stranger starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

DEMO = Path(__file__).parents[2] / "samples" / "demo.py"
STEPS = ("1. Read", "2. What the sessions taught", "3. Ask", "4. Start a new session", "Next: `howcome init`")


def test_the_demo_shows_each_step_and_builds_no_model(home: Path, tmp_path: Path) -> None:
    """Also where a model could be built; nothing is left in the home."""
    environment = {**os.environ, "TMPDIR": str(tmp_path), "HOWCOME_EMBEDDING": "minilm"}
    done = subprocess.run(
        [sys.executable, str(DEMO)], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    places = [done.stdout.index(step) for step in STEPS]
    assert places == sorted(places)
    assert "deduplicate readings on (gauge_id, observed_at)" in done.stdout.partition("4. Start")[2]
    assert "(nothing: it stays silent)" in done.stdout
    assert "meaning" not in done.stdout
    assert (os.listdir(home), os.listdir(tmp_path)) == ([], [])
