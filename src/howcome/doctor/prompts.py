"""Whether prompts were answered in time: hooks that reach their deadline say nothing, so somebody has to tell."""

from __future__ import annotations

import os
import time

from howcome.doctor.base import Finding, Level, Machine, counted
from howcome.present.guarded import LATE, TALLY_NAME
from howcome.settings import read_settings

RECENT_S = 24 * 3600
COUNTED = 60
"""So many of the last prompts are looked at."""

MOST_LATE_SHARE = 0.05
"""More than this is worth a warning: then memory is silent where it had something to say."""

MAX_DEADLINE_MS = 4000
"""More would be cut by the time that `init` gives the hook, 5 s."""


def prompts_in_time(home: str) -> dict[str, int]:
    """How many of the last prompts of the last day were counted, and how many of them reached the deadline."""
    since_s = time.time() - RECENT_S
    lines = _lines(os.path.join(home, TALLY_NAME + ".old")) + _lines(os.path.join(home, TALLY_NAME))
    recent = [outcome for second, outcome in lines[-COUNTED:] if second > since_s]
    return {"prompts": len(recent), "late": recent.count(LATE)}


def _lines(path: str) -> list[tuple[float, str]]:
    try:
        with open(path, encoding="ascii", errors="replace") as stream:
            words = [line.split() for line in stream]
    except OSError:
        return []
    return [(float(pair[0]), pair[1]) for pair in words if len(pair) == 2 and pair[0].isdigit()]


def late_prompts(counts: dict[str, int]) -> str:
    """What is said of prompts that were not answered in time; '' when all were."""
    if not counts["late"]:
        return ""
    return f"{counts['late']} of the last {counted(counts['prompts'], 'prompt')} got no answer: the time was over"


def check_prompts(machine: Machine) -> list[Finding]:
    """Prompts get their answer within `prompt_deadline_ms`, also when the machine is busy."""
    counts = prompts_in_time(machine.home)
    what = late_prompts(counts)
    if not what:
        count = counts["prompts"]
        return [Finding("ok", "prompts", f"{counted(count, 'prompt')} answered in time" if count else "none today")]
    deadline_ms = read_settings(machine.environment).prompt_deadline_ms
    raised_ms = min(MAX_DEADLINE_MS, 2 * deadline_ms)
    remedy = f"set prompt_deadline_ms = {raised_ms} in config.toml, or keep the processor freer"
    if raised_ms <= deadline_ms:
        remedy = "keep the processor freer: prompt_deadline_ms is as high as is of use"
    is_often = counts["late"] > MOST_LATE_SHARE * counts["prompts"]
    level: Level = "warning" if is_often else "note"
    return [Finding(level, "prompts", f"{what} (prompt_deadline_ms = {deadline_ms})", remedy)]
