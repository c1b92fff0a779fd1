"""What the tests with the agents' real programs showed, as the guide's table of agents.

`make e2e` leaves what passed in `.e2e/seen.json`; `python -m tests.e2e.seen` writes it into docs/guide.md.
"""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from tests.client.install import CACHE
from tests.e2e.agents import EACH, RELEASES

if TYPE_CHECKING:
    import pytest

SHOWN = {
    "test_what_one_session_decides_reaches_the_next_ones_request": "the next session is told",
    "test_its_model_can_call_the_tools": "tools are called",
    "test_a_session_that_is_killed_in_mid_tool_is_read_up_to_there": "read after a kill in mid-tool",
    "test_what_is_decided_in_one_agent_answers_in_the_others": "answers in the other four",
    "test_every_agent_gets_its_bytes_back": "uninstall gives the bytes back",
}
"""What a test of test_agents.py shows, as the head of its column."""

SEEN = CACHE / "seen.json"
GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide.md"
BEGIN, END = "<!-- seen: python -m tests.e2e.seen -->\n", "<!-- /seen -->\n"
_TEST = re.compile(r"test_agents\.py::(\w+)\[([a-z-]+[a-z])(?:-([\d.]+))?\]$")
"""A test, the agent, and its version; the newest where none is said."""


def note(reports: list[pytest.TestReport]) -> None:
    """Keeps what a run showed: agent and version → its day and, of each column, whether it passed."""
    results: dict[str, dict[str, bool]] = {}
    for report in reports:
        if not report.skipped and (found := _TEST.search(report.nodeid)) and found[1] in SHOWN:
            agent = f"{found[2]} {found[3] or RELEASES[found[2]][0]}"
            results.setdefault(agent, {})[SHOWN[found[1]]] = report.passed
    if results:
        day = datetime.now(UTC).date().isoformat()
        kept = json.loads(SEEN.read_text()) if SEEN.exists() else {}
        for agent, shown in results.items():
            kept[agent] = {"day": day, "shown": kept.get(agent, {}).get("shown", {}) | shown}
        SEEN.write_text(json.dumps(kept, indent=1))


def table(kept: dict[str, dict[str, object]]) -> str:
    """The rows of the guide; only the newest of each is tried beside the others."""
    columns = list(SHOWN.values())
    lines = [f"| agent, version, day | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for name, version in EACH:
        one = kept.get(agent := f"{name} {version}")
        shown = one["shown"] if one else {}
        assert isinstance(shown, dict)
        words = {True: "yes", False: "no", None: "not run" if version == RELEASES[name][0] else "not tried"}
        day = one["day"] if one else "not run"
        lines.append(f"| {agent}, {day} | {' | '.join(words[shown.get(column)] for column in columns)} |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Writes the table; 1 where nothing was run."""
    if not SEEN.exists():
        print("Nothing was run yet: make e2e", file=sys.stderr)
        return 1
    text = GUIDE.read_text()
    head, _, rest = text.partition(BEGIN)
    GUIDE.write_text(head + BEGIN + table(json.loads(SEEN.read_text())) + END + rest.partition(END)[2])
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
