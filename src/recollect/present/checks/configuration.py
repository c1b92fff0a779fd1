"""What the user chose: config.toml, variables, what is switched off, and what stays off until it is asked for."""

from __future__ import annotations

import os
from difflib import get_close_matches

from recollect.present.checks.base import Finding, Machine, edit
from recollect.present.hooks import GUARD
from recollect.settings import CONFIG_NAME, FIELDS

_PREFIX = "RECOLLECT_"
_OTHERS = ("RECOLLECT_HOME", GUARD)
_KNOWN = (*_OTHERS, *(known.variable for known in FIELDS))
_MODELS = ("llm",)
"""What the settings of a language model begin with."""


def check_settings(machine: Machine) -> list[Finding]:
    """config.toml and the variables can be read, and no variable is misspelt."""
    config = os.path.join(machine.home, CONFIG_NAME)
    findings = []
    if machine.settings_problem is not None:
        what = str(machine.settings_problem)
        what_stops = f"every command and hook stops at this: {what}"
        findings.append(Finding("error", "settings", what_stops, _correct(what, config)))
    for name in sorted(machine.environment):
        if name.startswith(_PREFIX) and name not in _KNOWN:
            near = get_close_matches(name, _KNOWN, 1)
            what = f"nothing reads {name}" + (f"; is it {near[0]}?" if near else "")
            findings.append(Finding("warning", "settings", what, f"unset {name}"))
    changed = [known.name for known in FIELDS if getattr(machine.settings, known.name) != known.default]
    what = f"changed from the default: {', '.join(changed)}" if changed else "all at their defaults"
    return findings or [Finding("ok", "settings", what)]


def _correct(what: str, config: str) -> str:
    """The line to change, by the message that names it."""
    if not what.startswith(config):
        return f"unset {what.partition(':')[0]}"
    return f"{edit(config)}  # correct or delete that line"


def check_switches(machine: Machine) -> list[Finding]:
    """Hooks that are told to do nothing do nothing."""
    findings = []
    if machine.settings.disable:
        by_variable = "RECOLLECT_DISABLE" in machine.environment
        config = os.path.join(machine.home, CONFIG_NAME)
        line = "unset RECOLLECT_DISABLE" if by_variable else f"in {config}: disable = false"
        what = "RECOLLECT_DISABLE is set" if by_variable else "config.toml says disable"
        findings.append(Finding("warning", "switches", f"{what}: hooks do nothing, no recall, no capture", line))
    if machine.environment.get(GUARD):
        what = f"{GUARD} is set here: hooks of agents that are started from this shell do nothing"
        findings.append(Finding("warning", "switches", what, f"unset {GUARD}"))
    return findings or [Finding("ok", "switches", "nothing is switched off")]


def check_models(machine: Machine) -> list[Finding]:
    """A language model costs money or time: it is off until it is configured."""
    settings = [known for known in FIELDS if known.name.startswith(_MODELS)]
    chosen = [known.name for known in settings if getattr(machine.settings, known.name) != known.default]
    if chosen:
        return [Finding("ok", "models", f"configured: {', '.join(chosen)}")]
    return [Finding("ok", "models", "no language model: off, free by default")]
