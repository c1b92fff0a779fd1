"""Tries of one door under one kind of misfortune, again and again on the same store, healed and compared in between."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from tests.hostile import shim
from tests.hostile.doors import DOORS, complaints, opened

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tests.hostile.doors import Door, Outcome
    from tests.hostile.stage import Stage

SHOWN = 12


class Trials:
    """A door opened many times, each time with something new to do and another misfortune."""

    def __init__(
        self, template: Stage, room: Path, door: Door, checked_every: int, deaths: tuple[int, ...] = (-signal.SIGKILL,)
    ) -> None:
        """Begins on a copy of the template; `deaths` are exit codes by which a process may end."""
        self._template, self._room, self._door, self._checked_every = template, room, door, checked_every
        self._deaths = deaths
        self._copies = self._unchecked = 0
        self.trace = room / "trace"
        self.tries = self.hits = 0
        self.failures: list[str] = []
        self.stage = self._renewed()

    def _renewed(self) -> Stage:
        self._copies += 1
        return self._template.copied(self._room / f"stage{self._copies}")

    def attempt(
        self, label: str, armed: Mapping[str, str] = {}, before: tuple[str, ...] = (), *, installed: bool = False
    ) -> bool:
        """Opens the door once; whether the shim's misfortune was met. What went wrong is noted under the label."""
        self.stage.grow()
        if self._door.after:
            opened(DOORS[self._door.after], self.stage)
        self.trace.unlink(missing_ok=True)
        outcome = opened(self._door, self.stage, armed, before, installed=installed)
        met = [line[2:] for line in shim.calls_counted(self.trace) if line.startswith("!")]
        self._judge(f"{label} ({met[0] if met else 'not met'})", outcome)
        self.tries += 1
        self.hits += bool(met)
        self._unchecked += 1
        if self._unchecked >= self._checked_every:
            self.check(label)
        return bool(met)

    def _judge(self, label: str, outcome: Outcome) -> None:
        if outcome.code == 0 and self._door.name == "remember":
            self.stage.kept.append(self.stage.note)  # it said so: from here on it has to be there
        if outcome.code not in self._deaths:
            self.failures += [f"{label}: {one}" for one in complaints(self._door, outcome)]

    def check(self, label: str) -> None:
        """Heals and compares; a store that is not as it should be is put aside."""
        self._unchecked = 0
        if wounds := self.stage.wounds(distilled=self._door.name == "distil"):
            self.failures += [f"after {label}: {one}" for one in wounds]
            self.stage = self._renewed()

    def assert_survived(self) -> None:
        """Nothing went wrong in any of the tries."""
        shown = "\n".join(self.failures[:SHOWN])
        assert not self.failures, f"{len(self.failures)} failures in {self.tries} tries:\n{shown}"
