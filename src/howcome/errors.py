"""Every error that howcome raises on purpose.

HowcomeError
├── UsageError            an argument that cannot be used; the message says what to do
├── OwnerError            a memory that another agent owns
├── NotFoundError         an id or session that the store does not hold
├── SettingsError         config.toml or an environment variable is wrong
├── LifecycleError        the agent's settings cannot be edited safely
├── SyncError             the place where machines meet cannot be used now; nothing is lost
├── ProviderError         a model cannot be had or does not answer; the message names the next step
├── TranscriptError       a file that cannot be read as a transcript
│   └── RecordError       one record of it that cannot be decoded (quarantined, never fatal)
└── StoreError            the store cannot do what was asked
    ├── StoreMissingError there is no store (any more), and this is not the moment to make one
    ├── StoreLockedError  another process held the write lock for too long; nothing was written
    ├── StoreDamagedError the database file is not one; it is left as it is
    ├── IndexDamagedError a search index cannot be read; it is derived: the next import or hook builds it anew
    ├── MachineError      no room, no right, no more files, no memory: nothing is damaged, the message says what to do
    ├── StoreNewerError   written by a newer howcome; upgrade this one
    └── CursorMovedError  another process ingested the same bytes first; read the cursor again
"""


class HowcomeError(Exception):
    """Base of all errors that are answered with a message instead of a traceback."""


class UsageError(HowcomeError):
    """An argument that cannot be used."""


class OwnerError(HowcomeError):
    """A memory that another agent owns."""


class NotFoundError(HowcomeError):
    """An id or session that the store does not hold."""


class SettingsError(HowcomeError):
    """A setting that cannot be read."""


class LifecycleError(HowcomeError):
    """The agent's settings cannot be edited safely."""


class SyncError(HowcomeError):
    """The place where a person's machines meet cannot be reached or read; what is here stays."""


class ProviderError(HowcomeError):
    """A model cannot be had or does not answer; everything else goes on without it."""


class TranscriptError(HowcomeError):
    """A file that cannot be read as a transcript."""


class RecordError(TranscriptError):
    """One record that cannot be decoded; `reason` is a short stable word for counts."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class StoreError(HowcomeError):
    """The store cannot do what was asked."""


class StoreMissingError(StoreError):
    """There is no store, or none any more."""


class StoreLockedError(StoreError):
    """Another process held the write lock for too long; nothing was written."""


class StoreDamagedError(StoreError):
    """The database file cannot be read as one; it is left as it is."""


class IndexDamagedError(StoreError):
    """A search index cannot be read; the rows it is derived from are not affected."""


class MachineError(StoreError):
    """The machine refuses what was asked (a full disk, too many open files); `number` is the system's (`errno`)."""

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.number = number


class StoreNewerError(StoreError):
    """The store was written by a newer howcome."""


class CursorMovedError(StoreError):
    """Another process ingested the same bytes first."""


class OverBudgetError(ProviderError):
    """The ledger does not allow the call; it was not made. Asking again is pointless before somebody changes that."""


class WrongShapeError(ProviderError):
    """The model was asked twice and said something of another shape each time: it will do so again."""


class MissingError(ProviderError):
    """A package or a model is not on this machine; `remedy` is the command that brings it."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__(message)
        self.remedy = remedy
