"""A prompt's hook that reached its deadline says nothing: how often that happens is counted, and said with a remedy."""

from __future__ import annotations

import json
import subprocess
import time
from typing import TYPE_CHECKING, Any

from tests.processes import HOOK, HOOK_FIELDS, LIMIT_S, answer_of, ask, hook, payload, run

from howcome.present.guarded import IN_TIME, LATE, MAX_TALLY_BYTES, TALLY_NAME, tally
from howcome.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

EVENT = "UserPromptSubmit"


def finding() -> dict[str, Any]:
    """What the doctor says of prompts."""
    [one] = [one for one in json.loads(run("doctor", "--json").stdout)["findings"] if one["check"] == "prompts"]
    found: dict[str, Any] = one
    return found


def test_the_default_leaves_time_on_a_busy_machine() -> None:
    """800 ms of wall time silenced memory there."""
    assert read_settings({}).prompt_deadline_ms == 1200


def test_prompts_are_counted_in_time_and_late(past: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each, whatever the answer; other hooks are not counted; the doctor and status say what helps."""
    data = payload(EVENT, past, "running", **HOOK_FIELDS[EVENT])
    assert answer_of(EVENT, hook(EVENT, data)) is not None
    assert answer_of(EVENT, hook(EVENT, payload(EVENT, past, "running", prompt="hm"))) is None
    hook("Stop", payload("Stop", past, "running"))
    assert "got no answer" not in run("status").stdout
    log = store_folder / TALLY_NAME
    assert [line.split()[1] for line in log.read_text().splitlines()] == [IN_TIME] * 2
    assert log.stat().st_mode & 0o777 == 0o600
    monkeypatch.setenv("HOWCOME_PROMPT_DEADLINE_MS", "100")
    with subprocess.Popen([*HOOK, EVENT], stdin=subprocess.PIPE) as process:  # half a payload: it waits for the rest
        assert process.wait(timeout=LIMIT_S) == 0
    assert [line.split()[1] for line in log.read_text().splitlines()] == [IN_TIME, IN_TIME, LATE]
    found = finding()
    assert (found["level"], found["what"]) == (
        "warning", "1 of the last 3 prompts got no answer: the time was over (prompt_deadline_ms = 100)",
    )  # fmt: skip
    assert "prompt_deadline_ms = 200" in found["remedy"]
    facts = ask("status")
    assert facts["prompts"]["late"] == 1
    assert "got no answer" in run("status").stdout


def test_the_file_stays_small_and_old_lines_do_not_count(past: Path, store_folder: Path) -> None:
    """It is cut into two pieces at most; what is damaged is left out; yesterday is over."""
    assert past.exists()
    log = store_folder / TALLY_NAME
    log.write_text(f"{time.time() - 2 * 86400:.0f} {LATE}\n" * 9)
    assert finding()["level"] == "ok"
    for _ in range(2 * MAX_TALLY_BYTES // 10):
        tally(str(store_folder), IN_TIME)
    assert sum(path.stat().st_size for path in store_folder.glob(f"{TALLY_NAME}*")) < 3 * MAX_TALLY_BYTES
    log.write_bytes(log.read_bytes() + b"\xff\xfe x y\nNaN late\n\n17\n")
    tally(str(store_folder), LATE)
    found = finding()
    assert found["level"] == "note"
    assert "1 of the last 60 prompts" in found["what"] or "1 of the last 5" in found["what"]
    tally(str(store_folder / "not-there"), LATE)
