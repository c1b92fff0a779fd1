"""`howcome stats`: every count by hand, tokens that only transcripts have, and what precedes rework."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.builders import START, Claude, Record, write
from tests.processes import run

from howcome.domain.shares import difference_interval
from howcome.history.telemetry.measures import precede_rework
from howcome.present.statistics import rework_rows

DAY = 24 * 3_600
SOURCE = "/srv/harbor/quay.py"
RECOUNT = Path(__file__).resolve().parents[2] / "benchmarks" / "recount.py"


class Working(Claude):
    """A session that calls tools, each with its result."""

    def did(self, tool: str, *, fails: str = "", says: str = "ok", **values: str) -> list[Record]:
        """A call with its result."""
        ident = f"toolu_{self.session}_{self.number}"
        failed = {"is_error": True} if fails else {}
        return [self.call(tool, ident, **values), self.result(ident, fails or says, **failed)]

    def edits(self, file: str, old: str, new: str, fails: str = "") -> list[Record]:
        """An edit within a file."""
        return self.did("Edit", file_path=file, old_string=old, new_string=new, fails=fails)


def first() -> list[Record]:
    """Two blind edits of a file, a check that fails three times in one way, an edit after a read."""
    talk = Working("11111111-aaaa")
    lost = "Exit code 1\nerror: no such berth"
    usage = {"input_tokens": 3, "output_tokens": 20, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 7}
    part = {"id": "msg_same", "role": "assistant", "model": "m", "usage": usage | {"output_tokens": 1}}
    return [
        talk.user("mend the quay"),
        *(talk.assistant(message={**part, "content": [{"type": "text", "text": text}]}) for text in ("I", "look")),
        talk.assistant(message={**part, "usage": usage, "content": [{"type": "text", "text": "closer"}]}),
        *talk.edits(SOURCE, "depth = 1", "depth = 2\nwidth = 3", fails="File has not been read yet."),
        *talk.edits(SOURCE, "depth = 1", "depth = 2\nwidth = 3"),
        *(record for _ in range(3) for record in talk.did("Bash", command="make berth", fails=lost)),
        *talk.did("Read", file_path="/srv/harbor/crane.py"),
        *talk.edits("/srv/harbor/crane.py", "a", "b"),
        *talk.did("Write", file_path="/srv/harbor/new.py", content="x = 1"),
        talk.compact_boundary(),
        talk.bookkeeping("cost-state", totalCostUSD=0.25),
    ]


def second(days: int = 2) -> list[Record]:
    """Later another session takes away what the first one wrote."""
    talk = Working("22222222-bbbb", start=days * DAY)
    return [talk.user("again"), *talk.did("Read", file_path=SOURCE), *talk.edits(SOURCE, "depth = 2\nwidth = 3", "y")]


def third() -> list[Record]:
    """Time goes on."""
    return [Working("33333333-cccc", start=20 * DAY).user("still there?")]


def stats(*words: str) -> dict[str, Any]:
    """What it says to programs."""
    done = run("stats", "--all-projects", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture
def worked(tmp_path: Path, store_folder: Path) -> Path:
    """The three sessions, read."""
    assert store_folder
    for name, records in (("a", first()), ("b", second()), ("c", third())):
        write(tmp_path / f"{name}.jsonl", *records)
    assert run("import", str(tmp_path)).returncode == 0
    return tmp_path


def counted(value: dict[str, Any]) -> list[int]:
    """What a share is made of."""
    return [value["count"], value["of"]]


@pytest.mark.usefixtures("worked")
def test_every_measure_is_what_the_sessions_did() -> None:
    """Counted by hand."""
    measures = stats()["measures"]
    assert {name: measures[name] for name in ("prompts", "calls", "spinning", "compactions")} == {
        "prompts": 3, "calls": 10, "spinning": 1, "compactions": 1,
    }  # fmt: skip
    shares = {name: counted(value) for name, value in measures.items() if isinstance(value, dict)}
    assert shares == {
        "read_edit_ratio": [2, 5], "edits_without_read": [2, 4], "failures": [4, 10], "retries": [3, 4],
        "edited_again": [1, 4], "rework": [1, 4],
    }  # fmt: skip


@pytest.mark.usefixtures("worked")
def test_days_are_counted_without_their_sessions() -> None:
    """The same prompts, calls and failures, day by day and project by project; every tool with its own."""
    days = stats("--daily")["days"]
    shown = [(one["day"], *(one[name] for name in ("prompts", "calls", "failed", "compactions"))) for one in days]
    assert shown == [("2026-03-02", 1, 8, 4, 1), ("2026-03-04", 1, 2, 0, 0), ("2026-03-22", 1, 0, 0, 0)]
    assert days[0]["tools"]["Bash"] == {"calls": 3, "failed": 3}
    assert stats("--daily", "--since", "2026-03-04T12:00Z") == {"since": "2026-03-04T00:00:00.000Z", "days": days[1:]}
    refused = run("stats", "--daily", "--since", "9999-12-31T23:59:59-12:00")
    assert (refused.returncode, "is no time; write 2026-10-01" in refused.stderr) == (2, True)
    said = run("stats", "--all-projects", "--daily").stdout
    assert re.search(r"^2026-03-02 +\d+ +1 +8 +4 +1 +0$", said, re.MULTILINE)
    assert re.search(r"^Bash +3 +3$", said, re.MULTILINE)
    assert "choose one" in run("stats", "--daily", "--by", "week").stderr
    assert "Nothing happened" in run("stats", "--all-projects", "--daily", "--since", "1d").stdout


def test_what_is_changed_after_a_week_is_no_rework(tmp_path: Path, store_folder: Path) -> None:
    """And what is younger than a week is not judged."""
    assert store_folder
    write(tmp_path / "a.jsonl", *first())
    write(tmp_path / "b.jsonl", *second(days=9))
    assert run("import", str(tmp_path)).returncode == 0
    assert counted(stats()["measures"]["rework"]) == [0, 3]


def test_groups_add_up_and_a_time_leaves_out_what_is_older(worked: Path) -> None:
    """Whatever they are told apart by."""
    for by in ("session", "project", "branch", "agent", "week"):
        groups = stats("--by", by)["by"]
        assert sum(one["calls"] for one in groups.values()) == 10, by
    assert set(stats("--by", "session")["by"]) == {"11111111-aaaa", "22222222-bbbb", "33333333-cccc"}
    for name, records in (("d", Working("4", start=30 * DAY).user("on")), ("e", Working("5", start=1).user("on"))):
        write(worked / f"{name}.jsonl", records)
    assert run("import", str(worked)).returncode == 0
    assert list(stats("--by", "week")["by"]) == ["2026-W14", "2026-W12", "2026-W10"]
    late = stats("--since", (START + timedelta(days=1)).isoformat(), "--by", "session")
    assert [late["sessions"], list(late["by"])] == [3, ["22222222-bbbb", "4", "33333333-cccc"]]


def test_tokens_are_the_transcripts_and_missing_ones_are_said(worked: Path) -> None:
    """A request counts once, with its last record; nothing of it is in the store."""
    tokens = stats()["tokens"]
    kinds = {name: tokens[name] for name in ("requests", "input", "output", "cache_read", "cache_written")}
    assert kinds == {"requests": 1, "input": 3, "output": 20, "cache_read": 100, "cache_written": 7}
    assert [tokens[name] for name in ("sessions_with", "sessions_without", "cost_usd")] == [1, 2, 0.25]
    (worked / "a.jsonl").unlink()
    tokens = stats()["tokens"]
    assert [tokens["sessions_with"], tokens["transcripts_gone"], tokens["cost_usd"]] == [0, 1, None]
    said = run("stats", "--all-projects").stdout
    assert "no transcript that is still there says any; 1 transcript gone" in said
    assert "no proof" in said


@pytest.mark.usefixtures("worked")
def test_a_cost_says_of_which_sessions_it_is(tmp_path: Path) -> None:
    """One transcript says what it cost, the other only its tokens."""
    silent = [record for record in first() if record["type"] != "cost-state"]
    again = json.loads(json.dumps(silent).replace("11111111-aaaa", "44444444-dddd").replace("msg_same", "msg_other"))
    path = write(tmp_path / "t" / "d.jsonl", *again)
    assert run("import", str(path)).returncode == 0
    said = " ".join(run("stats", "--all-projects").stdout.split())
    assert "cost $0.25 in 1 of 2 sessions; the others' transcripts say none" in said


@pytest.mark.usefixtures("store_folder")
def test_a_damaged_transcript_and_an_agent_without_any_stop_nothing(tmp_path: Path) -> None:
    """The first counts as gone, the second leaves none."""
    lines = b"".join(json.dumps(record).encode() + b"\n" for record in first())
    packed = tmp_path / "a.jsonl.gz"
    packed.write_bytes(gzip.compress(lines))
    assert run("import", str(tmp_path)).returncode == 0
    packed.write_bytes(packed.read_bytes()[:200])
    observed = json.dumps({"agent": "pier", "session_id": "s", "kind": "prompt", "text": "moor the barge"})
    assert run("observe", "--now", data=observed.encode()).returncode == 0
    found = stats()
    assert (found["sessions"], found["tokens"]["transcripts_gone"]) == (2, 1)


def test_a_recount_of_the_raw_transcripts_is_equal(tmp_path: Path) -> None:
    """By a program that reads them by itself."""
    for name, records in (("a", first()), ("b", second()), ("c", third())):
        write(tmp_path / f"{name}.jsonl", *records)
    done = subprocess.run([sys.executable, RECOUNT, tmp_path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 counts of sessions differ" in done.stdout


def test_what_precedes_rework_has_an_interval_that_few_sessions_make_wide() -> None:
    """A group without any is not taken for sure."""
    sessions = [{"reads": 1, "edits": 9, "settled": 9, "reworked": 3}] * 20
    [few, *_] = precede_rework([*sessions, {"reads": 9, "edits": 1, "settled": 1, "reworked": 0}])
    assert (few["with"], few["without"], few["difference"]) == ([60, 180], [0, 1], 0.3333)
    assert rework_rows([few])[1] == ("under 2 reads an edit", "20 of 21", "33.3% of 180", "0.0% of 1", "not clear")
    both = [{**few, "interval": [0.1, 0.4]}, {**few, "interval": [-0.4, -0.1]}]
    assert [row[-1] for row in rework_rows(both)[1:]] == ["more often", "less often"]
    assert few["interval"] == [pytest.approx(-0.46, abs=0.02), pytest.approx(0.41, abs=0.02)]
    low, high = difference_interval([(1, 10)] * 40, [(5, 10)] * 40)
    assert low < -0.4 < high < -0.2
