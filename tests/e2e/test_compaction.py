"""A forced compaction in the real client: what of the last task's commands and paths the next request still holds.

`pytest tests/e2e/test_compaction.py -s` prints the table, with and without howcome.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.client import Script, call, say
from tests.client.transcripts import strings

from howcome.domain.text import tokens

if TYPE_CHECKING:
    from tests.client import Turn
    from tests.e2e.desk import Desk

COMMANDS = (
    "python3 -m compileall -q quay", "python3 -c 'import quay.poller'", "git status --short", "git diff --stat",
    "python3 -m quay.gauge --once", "python3 -m json.tool tables/2026.json", "git log --oneline -3", "make tides",
    "python3 -m unittest quay.poller 2>&1 | tail -5", "git stash list", "ls tables",
)  # fmt: skip
READ = ("quay/berths.py", "quay/moorings.py", "tables/2026.json")
CHANGED = ("quay/poller.py", "quay/gauge.py")
BLOCK = re.compile(r"<howcome-memory.*?</howcome-memory[^>]*>", re.DOTALL)


def task(desk: Desk) -> list[Turn]:
    """A task of eleven commands, of which some fail, and five files."""
    for name in (*READ, *CHANGED):
        desk.write(name, "{}\n" if name.endswith(".json") else "LIMIT = 3\n")
    read = [call("Read", file_path=str(desk.project / name)) for name in (*READ, *CHANGED)]
    edited = [
        call("Edit", file_path=str(desk.project / name), old_string="LIMIT = 3", new_string="LIMIT = 5")
        for name in CHANGED
    ]
    ran = [call("Bash", command=command, description="Try it") for command in COMMANDS]
    return [*read, *edited, *ran, say("The limit is five now; the tides are still to be made.")]


def held(body: dict[str, Any]) -> tuple[list[str], list[str], int]:
    """The commands and the paths that a request holds, and the tokens of our own block in it."""
    told = "\n".join(strings(body["messages"])).replace("&#39;", "'").replace("&gt;", ">").replace("&amp;", "&")
    blocks = [block for text in strings(body["messages"]) for block in BLOCK.findall(text)]
    commands = [command for command in COMMANDS if command in told]
    return commands, [name for name in (*READ, *CHANGED) if name in told or named(name, told)], sum(map(tokens, blocks))


def named(name: str, told: str) -> bool:
    """Whether a list of files names one below the folder that it says."""
    lists = re.findall(r"^(?:Changed files|Looked at) \(below (.*?)\), the last first: (.*)$", told, re.MULTILINE)
    return any((folder + file).endswith("/" + name) for folder, files in lists for file in files.split(", "))


@pytest.mark.parametrize("inject", ["off", "bites"])
def test_a_compacted_window_still_knows_the_last_task(desk: Desk, inject: str) -> None:
    """At least four fifths of its commands and paths, within 1,000 tokens; without howcome hardly anything."""
    desk.howcome("init", "--yes")
    desk.client.extra["HOWCOME_INJECT"] = inject
    edits = ["--permission-mode", "acceptEdits"]
    first = desk.ask("raise the limit of the poller and of the gauge to five", task(desk), args=edits)
    desk.ask("/compact", Script(summary="<summary>The limits were raised.</summary>"), resume=first.session_id)
    last = desk.ask("go on", [say("Going on.")], resume=first.session_id)
    commands, paths, cost = held(last.bodies("main")[0])
    share = (len(commands) + len(paths)) / (len(COMMANDS) + len(READ) + len(CHANGED))
    print(
        f"\n| {desk.version}, inject = {inject} | commands {len(commands)} of {len(COMMANDS)} | paths {len(paths)} of"
        f" {len(READ) + len(CHANGED)} | together {share:.2f} | tokens of the re-offer {cost} |"
    )
    assert last.notices() == []
    if inject == "bites":
        assert share >= 0.8, (commands, paths)
        assert 0 < cost <= 1000
    else:
        assert cost == 0
        assert share < 0.8
