"""What to do about an error that does not say so itself: one answer for the command line and for agents."""

from __future__ import annotations

from howcome.errors import (
    MachineError,
    SettingsError,
    StoreError,
    StoreLockedError,
    StoreMissingError,
    StoreNewerError,
    UsageError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.errors import HowcomeError

_SAYS_ITSELF = (MachineError, StoreLockedError, StoreMissingError, StoreNewerError, UsageError)
"""Make room; try again; make a store; upgrade; write it so: the doctor knows nothing better."""


def next_step(error: HowcomeError) -> str:
    """What is said after an error of the store, the settings or the file system; '' when its message is enough."""
    is_machine = isinstance(error, StoreError | SettingsError) or isinstance(error.__cause__, OSError)
    if not is_machine or isinstance(error, _SAYS_ITSELF) or "`howcome " in str(error):
        return ""
    return ("" if str(error).endswith(".") else ".") + " Run `howcome doctor`: it says what to do."
