"""The ledger of commands, replayed: at each failed command of a set it is asked what it knew then.

Nobody labelled this: what it says is right when that is what then worked in the session itself, and a failure that it
could have met is one that a different command solved, after the same had failed in an earlier session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from howcome.app import App
from howcome.domain.commands import Failure, numbers_of, parts_of
from howcome.domain.shares import Share
from howcome.domain.stored import StoredEvent
from howcome.learn.actions import Action
from howcome.learn.command_runs import commands_of, failed_in, mending, prepared
from howcome.recall.acting import Mended


@dataclass(frozen=True)
class Case:
    """A command of a session: what was said of it, and whether that is what then worked there.

    `signature` tells distinct failures; `is_repeat`: a different command solved it, and it had failed before.
    """

    command: str
    signature: str
    said: str
    is_right: bool
    is_repeat: bool


@dataclass
class Replayed:
    """What the ledger said of a set."""

    failed: int = 0
    cases: list[Case] = field(default_factory=list)
    ahead: list[Case] = field(default_factory=list)

    def __add__(self, other: Replayed) -> Replayed:
        return Replayed(self.failed + other.failed, self.cases + other.cases, self.ahead + other.ahead)

    def figures(self) -> dict[str, Share | float]:
        """Shares of what it said (right), of distinct signatures, and of repeats that a different command solved."""
        said = [case for case in self.cases if case.said]
        repeats = [case for case in self.cases if case.is_repeat]
        by: dict[str, list[bool]] = {}
        for case in said:
            by.setdefault(case.signature, []).append(case.is_right)
        return {
            "spoke": Share(len(said), self.failed),
            "right": Share.among(case.is_right for case in said),
            "signatures": float(len(by)),
            "right_by_signature": sum(sum(one) / len(one) for one in by.values()) / len(by) if by else 0.0,
            "met": Share.among(bool(case.said) for case in repeats),
            "ahead": Share.among(case.is_right for case in self.ahead),
        }

    def examples(self) -> list[str]:
        """What it said, each signature once, with how often it was right."""
        often = Counter((case.signature, case.is_right) for case in self.cases if case.said)
        first = {case.signature: case for case in reversed(self.cases) if case.said}
        return [
            f"right {often[name, True]}, wrong {often[name, False]}: {case.said}  [failed: {case.command[:100]}]"
            for name, case in first.items()
        ]


def replay(app: App, root: str, told: Mapping[str, Sequence[StoredEvent]]) -> Replayed:
    """Asks the ledger at each failed command, by what earlier sessions had done until then."""
    found = Replayed()
    known: dict[int, set[str]] = {}
    moments = [(name, *moment) for name, events in told.items() for moment in commands_of(events)]
    for session, action, later in sorted(moments, key=lambda moment: moment[1].call.order_ms):
        then_ms = action.call.order_ms
        ahead = app.search.before_run(action.command, cwd=root, session=session, then_ms=then_ms)
        failed = failed_in(action)
        if ahead is not None:
            found.ahead.append(_case(action, failed, ahead, later, is_repeat=False))
        if failed is None:
            continue
        found.failed += 1
        numbers = numbers_of(failed)
        is_other = mending(failed, later) is not None
        counted = numbers if failed.named or not is_other else numbers[:1]
        is_known = any(known.get(number, set()) - {session} for number in counted)
        is_repeat = is_known and (is_other or prepared(failed, later) is not None)
        said = app.search.after_failure(action.command, action.output, cwd=root, session=session, then_ms=then_ms)
        if said is not None or is_repeat:
            found.cases.append(_case(action, failed, said, later, is_repeat=is_repeat))
        for number in numbers:
            known.setdefault(number, set()).add(session)
    return found


def _case(
    action: Action, failed: Failure | None, said: Mended | None, later: Sequence[Action], *, is_repeat: bool
) -> Case:
    signature = (failed.alike if failed.named else failed.exact) if failed is not None else action.command
    is_right = said is not None and failed is not None and _is_right(said, failed, later)
    text = said.reminder.passages[0][1] if said is not None else ""
    return Case(action.command, signature, text, is_right, is_repeat)


def _is_right(said: Mended, failed: Failure, later: Sequence[Action]) -> bool:
    """Whether the command that was said, or the same change of this one, is what then worked here."""
    change = {*said.failed.words} ^ {*said.fix.words}
    worked = (part for one in later if one.is_shell and one.has_succeeded for part in parts_of(one.command))
    ways = ((part.form, {*failed.part.words} ^ {*part.words}) for part in worked)
    return any(form == said.fix.form or (change and other == change) for form, other in ways)
