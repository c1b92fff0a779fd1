"""What the viewer may change, through the façade: each change says what it did, and how it is taken back."""

from __future__ import annotations

import hashlib
import os
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from howcome.app import App, now_ms
from howcome.domain.memories import Memory
from howcome.domain.stored import Scope
from howcome.errors import UsageError
from howcome.memory.wording import worded
from howcome.wiring import graduation
from howcome.wiring.graduation import Graduation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Form = Mapping[str, str]


class Change(NamedTuple):
    """One change: what it did, in a sentence; what takes it back; the memory whose page either leads to ("": none)."""

    said: str
    undo: Callable[[App], None]
    leads_to: str = ""
    undo_leads_to: str = ""


def _changed(app: App, of: Iterable[Memory], change: Callable[[], object], said: str) -> Change:
    """A change of memories: they are as they were when it is taken back."""
    of = list(of)
    before = app.memories.states(of)
    change()
    after = app.memories.states(of, before)
    if before == after:
        raise UsageError("nothing has changed: it is so already")
    return Change(said, lambda app: app.memories.set_back(before, after))


def _one(app: App, form: Form) -> Memory:
    return app.memories.get(form.get("id", ""))


def forget(app: App, form: Form, *, is_wrong: bool = False) -> Change:
    """Takes a memory out of every search."""
    one = _one(app, form)
    said = f"{one.id} is forgotten{' and not learnt again' if is_wrong else ''}."
    change = partial(app.memories.forget, one.key.hex(), is_person=True, is_wrong=is_wrong)
    return _changed(app, [one], change, said)


def wrong(app: App, form: Form) -> Change:
    """The same, and nothing that says so becomes a memory again."""
    return forget(app, form, is_wrong=True)


def restore(app: App, form: Form) -> Change:
    """Brings a memory back; what took its place is forgotten then."""
    one = _one(app, form)
    newer = [later for later in app.memories.chain(one.key.hex()) if later.supersedes == one.row and later.is_live]

    def change() -> None:
        for later in newer:
            app.memories.forget(later.key.hex(), is_person=True)
        app.memories.restore(one.key.hex())

    instead = "".join(f" {later.id}, which stood in its place, is forgotten." for later in newer)
    return _changed(app, [one, *newer], change, f"{one.id} is live again.{instead}")


def pin(app: App, form: Form) -> Change:
    """A memory does not fade, or fades again."""
    one = _one(app, form)
    is_pinned = one.pinned_ms is None
    said = f"{one.id} is {'pinned: it does not fade' if is_pinned else 'not pinned any more'}."
    return _changed(app, [one], lambda: app.memories.pin(one.key.hex(), is_pinned=is_pinned), said)


def correct(app: App, form: Form) -> Change:
    """Another text takes the old one's place."""
    one, text = _one(app, form), worded(form.get("text", ""))
    if text.split() == one.text.split():
        raise UsageError("the words are the same: nothing is changed")
    before = app.memories.states([one])
    new = app.memories.update(one.key.hex(), text=text, is_person=True)
    if new.supersedes != one.row:
        raise UsageError(f"{new.id} says that already; {one.id} stays as it is")
    after = app.memories.states([new], before)
    said = f"{new.id} takes the place of {one.id}."
    return Change(said, lambda app: app.memories.set_back(before, after), new.id, one.id)


def settle(app: App, form: Form) -> Change:
    """One of a pair stays, or both."""
    number, keep = form.get("number", ""), form.get("keep", "")
    waiting = app.memories.waiting(Scope.everything(), MAX_PAIRS)
    pair = next((one for one in waiting if str(one.row) == number), None)
    if pair is None or keep not in ("older", "newer", "both"):
        raise UsageError("there is no such pair to settle any more")
    said = {"older": f"{pair.older.id} stays.", "newer": f"{pair.newer.id} stays.", "both": "Both stay."}[keep]
    return _changed(app, [pair.older, pair.newer], lambda: app.memories.settle(pair.row, keep), said)


def graduate(app: App, form: Form) -> Change:
    """What is proven goes into the project's file, as it was shown."""
    found = proposal(app, form.get("project", ""))
    if found is None or not found.diff or form.get("lines") != digest(found):
        raise UsageError("something has changed since: look at the proposal again")
    said = f"{found.path}: {found.write().outcome}."
    return Change(said, lambda _: found.take_back())


def refuse(app: App, form: Form) -> Change:
    """A memory is proposed for files no more."""
    one = _one(app, form)
    graduation.refuse(one)
    return Change(f"{one.id} is not proposed for files any more.", partial(_propose, one))


def _propose(one: Memory, _: App) -> None:
    graduation.refuse(one, is_refused=False)


def proposal(app: App, project: str) -> Graduation | None:
    """What is proposed for the file of a project (its number); None where there is no such project here."""
    root = next((root for number, root in app.projects.roots() if str(number) == project), None)
    if root is None or not os.path.isdir(root):
        return None
    return Graduation(app, Scope.project(int(project)), root)


def digest(found: Graduation) -> str:
    """What tells one proposal from another."""
    return hashlib.sha256("\n".join(found.diff).encode("utf-8", "replace")).hexdigest()


def stop(app: App, form: Form) -> Change:  # noqa: ARG001 - as all of them
    """No model is called any more."""
    app.spending.stop(now_ms())
    return Change("No calls are made from now on.", lambda app: app.spending.resume())


def go(app: App, form: Form) -> Change:  # noqa: ARG001 - as all of them
    """Calls may be made again."""
    app.spending.resume()
    return Change("Calls may be made again.", lambda app: app.spending.stop(now_ms()))


MAX_PAIRS = 1000
CHANGES = {
    "forget": forget, "wrong": wrong, "restore": restore, "pin": pin, "correct": correct, "settle": settle,
    "stop": stop, "go": go, "graduate": graduate, "refuse": refuse,
}  # fmt: skip
"""Every change by its name, which is the last part of its address."""
