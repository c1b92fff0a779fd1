"""Tests, checks and builds that are red at the end of an exchange."""

from __future__ import annotations

import re

from howcome.domain.times import iso_day
from howcome.ingest.distil import anchors
from howcome.ingest.distil.rewriting import impersonal, lowered
from howcome.ingest.distil.rules import commands
from howcome.ingest.distil.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.ingest.distil.rules.scene import Action, Said, Scene

_I = re.IGNORECASE
_RED = re.compile(
    r"\b(?:red|fails?|failing|failed|broken|does not (?:pass|build|compile)|doesn't (?:pass|build|compile)"
    r"|errors?)\b",
    _I,
)
_NO_MATTER = re.compile(r"\b(?:pre-?existing|unrelated|expected|won't|which i|now pass|fixed|passes now)\b", _I)


def runs_of(scene: Scene) -> dict[str, Action]:
    """The last run of each command that tests, checks or builds."""
    found: dict[str, Action] = {}
    for action in scene.actions:
        if action.is_shell and action.result is not None:
            command = commands.core(action.command)
            if commands.is_check(command) and commands.is_worth_telling(command):
                found[command] = action
    return found


def find(scene: Scene, runs: dict[str, Action]) -> list[Draft]:
    """What is red at the end of an exchange, in the words of the agent that saw it."""
    drafts = []
    for command, action in runs.items():
        is_green = not action.has_failed or any(
            other.place > action.place and other.has_succeeded
            for other in scene.actions
            if other.is_shell and commands.is_check(other.command)
        )
        told = None if is_green else _told_red(scene, action)
        if told:
            said, text = told
            day = iso_day(said.event.ts_ms or said.event.order_ms)
            drafts.append(
                Draft(
                    "context", f"`{command}` failed on {day}: {lowered(text)}", [said.event],
                    witnesses=[action.result or action.call], subject=f"red {command}", is_known_whole=True,
                )
            )  # fmt: skip
    return drafts


def _told_red(scene: Scene, action: Action) -> tuple[Said, str] | None:
    for said in scene.agent_said():
        for sentence in said.sentences if said.is_final and said.place > action.place else ():
            text = f"{sentence.label}: {sentence.text}" if sentence.label else sentence.text
            is_told = _RED.search(text) and anchors.has_strong(text) and not text.endswith("?")
            if is_told and not _NO_MATTER.search(text):
                return said, impersonal(text)
    return None
