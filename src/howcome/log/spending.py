"""The port to the ledger of language models' calls: reserved before they are made, settled after."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from howcome.domain.spending import Call, Caps, Receipt, Usage


class Spending(Protocol):
    """The part of the store that says whether a call may be made, and keeps a receipt of each.

    Contract: of any number of processes that reserve at once, exactly as many are allowed as the caps say; what is
    reserved is spent until it is settled, also when nobody settles it any more.
    """

    def reserve(self, call: Call, caps: Caps, now_ms: int) -> tuple[int, str]:
        """The row of a call that may be made, and ''; or 0, and why it may not be made.

        Raises:
            StoreError: the ledger cannot be written: then nothing may be spent.
        """
        ...

    def settle(self, row: int, outcome: str, usage: Usage, charged: int, duration_ms: int) -> None:
        """What became of a call, what it used, and the tokens that are charged for it.

        Raises:
            StoreError: the ledger cannot be written; what was reserved stays spent.
        """
        ...

    def spent_on(self, now_ms: int) -> tuple[int, int]:
        """How many calls and tokens count as spent on the day of a time."""
        ...

    def receipts(self, since_ms: int, limit: int | None = None) -> list[Receipt]:
        """What was spent since then, newest first; calls that the budget refused are one receipt a day and purpose."""
        ...

    def stopped_ms(self) -> int | None:
        """Since when (UTC ms) nothing may be spent; None when it may."""
        ...

    def stop(self, now_ms: int) -> None:
        """No process makes a call from now on."""
        ...

    def resume(self) -> None:
        """Calls may be made again, as far as the caps allow."""
        ...

    def spend_from(self, other: Spending) -> None:
        """Calls are reserved and settled in another store: for one that is thrown away afterwards."""
        ...
