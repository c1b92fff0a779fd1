"""What to do about an error that does not say so itself: one answer for the command line and for agents."""

from __future__ import annotations

from howcome import errors

_BY_STORE = (errors.StoreLockedError, errors.StoreMissingError, errors.StoreNewerError)
_SAYS_ITSELF = (errors.MachineError, *_BY_STORE, errors.UsageError)
"""Make room; try again; make a store; upgrade; write it so: the doctor knows nothing better."""


def next_step(error: errors.HowcomeError) -> str:
    """What is said after an error of the store, the settings or the file system; '' when its message is enough."""
    is_machine = isinstance(error, errors.StoreError | errors.SettingsError) or isinstance(error.__cause__, OSError)
    if not is_machine or isinstance(error, _SAYS_ITSELF) or "`howcome " in str(error):
        return ""
    return ("" if str(error).endswith(".") else ".") + " Run `howcome doctor`: it says what to do."
