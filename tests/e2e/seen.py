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

from tests.client.install import CACHE, VERSIONS
from tests.e2e.agents import AGENTS, PACKAGES

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
_TEST = re.compile(r"test_agents\.py::(\w+)\[([\w-]+)\]$")


def version_of(agent: str) -> str:
    """The version that is run."""
    return VERSIONS[0] if agent == AGENTS[0] else PACKAGES[agent].rpartition("@")[2]


def note(reports: list[pytest.TestReport]) -> None:
    """Keeps what a run showed: agent → column → whether it passed, with the day and the version."""
    results: dict[str, dict[str, bool]] = {}
    for report in reports:
        if not report.skipped and (found := _TEST.search(report.nodeid)) and found[1] in SHOWN:
            results.setdefault(found[2], {})[SHOWN[found[1]]] = report.passed
    if results:
        day = datetime.now(UTC).date().isoformat()
        kept = json.loads(SEEN.read_text()) if SEEN.exists() else {}
        for agent, shown in results.items():
            is_same = kept.get(agent, {}).get("version") == version_of(agent)
            before = kept[agent]["shown"] if is_same else {}
            kept[agent] = {"version": version_of(agent), "day": day, "shown": before | shown}
        SEEN.write_text(json.dumps(kept, indent=1))


def table(kept: dict[str, dict[str, object]]) -> str:
    """The rows of the guide."""
    columns = list(SHOWN.values())
    lines = [f"| agent, version, day | {' | '.join(columns)} |", "|---|" + "---|" * len(columns)]
    for agent in AGENTS:
        one = kept.get(agent)
        shown = one["shown"] if one else {}
        assert isinstance(shown, dict)
        words = {True: "yes", False: "no", None: "not run"}
        about = f"{agent} {one['version']}, {one['day']}" if one else f"{agent}, not run"
        lines.append(f"| {about} | {' | '.join(words[shown.get(column)] for column in columns)} |")
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
