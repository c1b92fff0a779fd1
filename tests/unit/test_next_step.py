"""What is said after an error, at every door: what to do, when the error does not say so itself."""

from __future__ import annotations

import pytest

from howcome.errors import (
    HowcomeError,
    LifecycleError,
    NotFoundError,
    SettingsError,
    StoreError,
    StoreLockedError,
    StoreMissingError,
    StoreNewerError,
    UsageError,
)
from howcome.present.next_step import next_step

DOCTOR = " Run `howcome doctor`: it says what to do."


@pytest.mark.parametrize(
    ("error", "step"),
    [
        (StoreError("the store failed: attempt to write a readonly database"), "." + DOCTOR),
        (SettingsError("config.toml: line 3 is no TOML."), DOCTOR),
        (StoreError("the index is damaged; `howcome import` builds it anew"), ""),
        (StoreLockedError("the store is locked by another process; nothing was written, try again"), ""),
        (StoreNewerError("the store has schema 9: upgrade howcome"), ""),
        (StoreMissingError("there is no memory"), ""),
        (UsageError("nothing on standard input"), ""),
        (NotFoundError("no event ev-1"), ""),
        (LifecycleError("settings.json is no JSON"), ""),
    ],
)
def test_the_doctor_is_named_where_nothing_else_is(error: HowcomeError, step: str) -> None:
    """Not after what was merely asked wrongly, nor where the message says what to do."""
    assert next_step(error) == step


def test_an_error_of_the_file_system_leads_to_the_doctor() -> None:
    """Whatever it was raised as."""
    error = HowcomeError("hook-errors.log: Permission denied")
    error.__cause__ = PermissionError()
    assert next_step(error) == "." + DOCTOR
