"""What became of a problem that was found: mended in the same exchange or the next, and by which commit."""

from __future__ import annotations

import re

from howcome.domain.times import iso_day
from howcome.learn.fitness import is_personal
from howcome.learn.quick import Words
from howcome.learn.rules import commits
from howcome.learn.rules.soundness import NEGATIVE, is_about_another, stem_of
from howcome.learn.rules.standing import (
    OF_LIBRARY,
    is_given_up,
    is_worked_around,
    of_its_names,
    proofs,
    record_of,
    taken_out,
)
from howcome.learn.rules.trust import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.stored import StoredEvent
    from howcome.learn.rules.record import Edit
    from howcome.learn.rules.scene import Said, Scene

_I = re.IGNORECASE
_MENDS = re.compile(r"\b(?:fix(?:ed|es)?|resolved|corrected|mended|solved|bugfix)\b", _I)
_PAST = re.compile(r"\b(?:was|were|had|didn't|did not|caused|failed|broke|leaked|used to)\b", _I)
_SHADY = Words(
    r"\b(?:was|were|had|did|only|always|stays?|empty|incomplete|undefined|circular|cycle|plaintext|diverge\w*|misus\w+"
    r"|block\w*|conflict\w*|mismatch\w*|interfer\w+|overrid\w+|slow\w*|never)\b"
)
"""What a statement has that is one of a problem where problems are told."""

_NAMED = ("Root cause", "Problem", "The cause")
_AFTER = re.compile(r"\b(?:now|no longer|anymore|any more)\b|\((?:fixed|before)", _I)
_TWO = re.compile(r"\b(?:fail\w*|exits? with|crash\w*|errors?|hangs?)\b.*(?:, but|,? and the) .{12,}", _I)
"""Two faults in one sentence: what mends one of them leaves the other."""

_OF_TESTS = re.compile(
    r"(?:^|/)(?:(?:integration|e2e|unit|functional|acceptance)[_-]?tests?|e2e|tests?|__tests__)/", _I
)
_TEST = re.compile(r"tests?(?:\b|_)|Test[A-Z]|fixture|harness", _I)
_STILL = re.compile(r"^((?:\w+: )?\S+) still (?=[a-z]+s\b)")
"""What was mended since is told without it."""

BY_COMMIT = " Fixed by the commit "
MAX_WITNESSES = 3
MAX_SUBJECT_CHARS = 70
"""What a statement is about stands at its beginning."""


class Aftermath:
    """What was changed in an exchange and those after it, to tell whether what was said in it still holds."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def told(self, text: str, said: Said, *, is_problem: bool = False) -> tuple[str, list[StoredEvent]]:
        """A statement that says so when it no longer holds, and the events that show it.

        `is_problem`: it stands where problems are told, so that a change of what it names is its mending. "" where the
        exchanges after a report changed what it says: nobody knows whether it still is so.
        """
        is_report = said.is_final and not is_problem
        if (
            _AFTER.search(text)
            or is_about_another(text)
            or not (NEGATIVE.found(text) or (is_problem and (text.startswith(_NAMED) or _SHADY.found(text))))
        ):
            return text, []
        commit = self._commit(text, said) if not is_report or _PAST.search(text) else None
        if commit is not None:
            title, event = commit
            return f"{text}{BY_COMMIT}“{title}”.", [] if event is said.event else [event]
        if said.is_published or (is_report and _PAST.search(text)):
            is_mended = is_problem and not (_PAST.search(text) or OF_LIBRARY.match(stem_of(text)))  # it goes with it
            return ("" if is_mended else text), []
        touched = self._touched(text, said, is_later=is_report)
        if not touched or (said.is_plan and is_about_another(text)):
            return text, []
        if is_report:
            return ("" if taken_out(stem_of(text), self._scene, said.place) else text), []
        return self._marked(text, said, touched, is_problem=is_problem)

    def _marked(self, text: str, said: Said, touched: list[Edit], *, is_problem: bool) -> tuple[str, list[StoredEvent]]:
        """A statement whose names were changed: with its mark where that mended it, "" where nobody can tell."""
        named = of_its_names(text, touched)
        shown = proofs(named, self._scene)
        is_past = _PAST.search(text) is not None
        if is_given_up(text, named, self._scene, said.place):
            return "", []
        if is_worked_around(text, shown) or _TWO.search(text):
            return (text if is_past or OF_LIBRARY.match(stem_of(text)) else ""), []
        if not shown:
            return (text if is_past else ""), []
        first = min(edit.number for edit in shown)  # what the same lines became later mended nothing of it
        calls = [edit.call for edit in shown if edit.number == first]
        day = iso_day(max(event.ts_ms or event.order_ms for event in calls))
        is_mended = is_problem or self._tells_mending(said)
        mark = f"fixed on {day}" if is_mended else f"before the change of {day}"
        is_of_tests = all(_OF_TESTS.search((event.file or "").replace("\\", "/")) for event in calls)
        where = ", in the tests" if is_of_tests and not _TEST.search(text) else ""
        told = _STILL.sub(lambda match: f"{match[1]} ", text).rstrip(".")
        return f"{told} ({mark}{where}).", calls[:MAX_WITNESSES]

    def _commit(self, text: str, said: Said) -> tuple[str, StoredEvent] | None:
        """A commit of the same exchange or the next that mends something, and names what the statement names."""
        names = names_of(text)
        for number, scene in enumerate((self._scene, *self._scene.following)):
            for other in scene.said:
                is_later = number or other.place >= said.place or said.is_final
                title = commits.title_of_fix(other) if other.is_published and is_later else ""
                if not title or is_personal(title):
                    continue
                shared = names & names_of(other.text)
                if other is said or len(shared) >= min(2, len(names) or 1) or names & names_of(title):
                    return title, other.event
        return None

    def _touched(self, text: str, said: Said, *, is_later: bool) -> list[Edit]:
        """Changes that hold a name of the statement: after it, or before a report of what was done.

        `is_later`: only those of the exchanges after it, the report tells what its own left.
        """
        names = names_of(stem_of(text)[:MAX_SUBJECT_CHARS] if is_later else text)
        found: list[Edit] = []
        edits = record_of(self._scene).edits
        for edit in edits:
            is_after = edit.number or (not is_later and (edit.place > said.place or said.is_final or said.is_plan))
            if is_after and any(name in edit.text for name in names):
                found.append(edit)
        if not found and said.is_plan:  # what a plan says is wrong is what carrying it out mends
            found = [edit for edit in edits if not edit.number and edit.place > said.place]
        return found

    def _tells_mending(self, said: Said) -> bool:
        """Whether the report of the exchange, or of the next, speaks of a fix."""
        return any(
            other.is_final and _MENDS.search(other.text)
            for scene in (self._scene, *self._scene.following)
            for other in scene.agent_said()
            if scene is not self._scene or other.place >= said.place
        )
