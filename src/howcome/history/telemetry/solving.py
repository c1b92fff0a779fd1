"""How a call that failed worked later: what was different, in steps that help somebody with other values, too."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from howcome.domain.advice import is_risky
from howcome.domain.commands import MASK, Part, parts_of
from howcome.domain.events import READERS
from howcome.domain.stored import StoredEvent
from howcome.learn.actions import WRITTEN, Action
from howcome.learn.command_runs import MAX_LATER, failed_in, mending, prepared

WORDS_CHARS = 60
FIRST, FIND, IN_FULL, SET, WITH, WITHOUT = " first", "find it", "in full", "set", "give a", "give no"
"""Words of steps that decide how these are counted and said."""

PLACE_PARTS, SPACED_CHARS = 2, 8
"""Of a path outside of the project its end; of a line so much has to be more than tabs and blanks."""

_NAMED, _SHORT = re.compile(r"\S{4,}"), re.compile(r"\S{1,200}")


class Solved(NamedTuple):
    """How it worked in the end.

    Attributes:
        steps: What was different; None where nobody saw it work.
        calls: After how many calls it worked.
        is_same: It was at the same file.
        by: The tool that told where the right thing is; "" where none did.
        swap: The short value of a field that did not work, and the one that did.
    """

    steps: Sequence[str] | None = None
    calls: int = 0
    is_same: bool = True
    by: str = ""
    swap: tuple[str, str] = ("", "")


UNSOLVED = Solved()


def other_words(action: Action, later: Sequence[Action]) -> Solved:
    """What was different when the command worked, and after how many calls."""
    failed = failed_in(action)
    fix = mending(failed, later) if failed is not None else None
    if failed is not None and fix is not None:
        was, now = failed.part.words, fix[1].words
        gone, new = (" ".join(word for word in one if word not in other) for one, other in ((was, now), (now, was)))
        how = f"use `{new}` instead of `{gone}`" if new and gone else f"add `{new}`" if new else f"leave out `{gone}`"
        how = how if new or gone else f"run `{fix[1]}`"
        step = _whole(how, new, gone, "" if new or gone else str(fix[1]))
        return Solved([] if is_risky(fix[1], failed.part) else step, later.index(fix[0]) + 1)
    ready = prepared(failed, later[:MAX_LATER]) if failed is not None else None
    if ready is not None:
        ran_first = ready[1].command
        step = _whole(f"run `{ran_first}`{FIRST}", ran_first)
        return Solved([] if is_risky(ready[1]) else step, later.index(ready[2]) + 1)
    between: list[Part] = []
    for calls, other in enumerate(later, 1):
        ran = parts_of(other.command) if other.is_shell and other.has_succeeded else ()
        if failed is not None and any(part.words == failed.part.words for part in ran):
            last = [part for part in between[-1:] if not is_risky(part)]
            return Solved([f"run `{' '.join(part.name)}`" for part in last], calls)
        if other.is_edit and other.has_succeeded:
            between.clear()
        between += [part for part in ran if failed and part.program == failed.part.program]
    return UNSOLVED


def _whole(step: str, *commands: str) -> list[str]:
    """A step; none where nobody could take it: a command in it is too long to be shown, or holds what was redacted."""
    return [] if any(len(one) > WORDS_CHARS or MASK in one for one in commands) else [step]


def is_at(action: Action, other: Action) -> bool:
    """Whether another call has read or changed the same file."""
    has_touched = other.has_succeeded and (other.is_edit or other.tool in READERS)
    return has_touched and bool(action.call.file) and other.call.file == action.call.file


def named_by(action: Action, before: Sequence[Action]) -> str:
    """The last of some calls that named the file of another one, in what it ran or was told; "" for none."""
    name = os.path.basename(action.call.file or "")
    showed = (one for one in reversed(before) if one.has_succeeded and name and name in f"{one.command}\n{one.output}")
    return next(map(_named, showed), "")


def other_call(action: Action, later: Sequence[Action]) -> Solved:
    """The same tool at the same file, else at one in it (it was a folder), else with something else in common."""
    again = [(calls, one) for calls, one in enumerate(later, 1) if one.tool == action.tool and one.has_succeeded]
    values, file = [*action.input.values()], action.call.file
    same = [pair for pair in again if file and pair[1].call.file == file]
    inside = [pair for pair in again if file and (pair[1].call.file or "").startswith(f"{file.rstrip('/')}/")]
    alike = [pair for pair in again if any(value in values for value in pair[1].input.values())]
    for calls, other in (same or inside or alike or again)[:1]:
        before = [one for one in later[: calls - 1] if one.has_succeeded and one.tool != action.tool]
        read = (one for one in before if one.tool in READERS and is_at(action, one))
        new = [value for value in other.input.values() if isinstance(value, str) and value not in values]
        names = [os.path.basename(value) for value in new if _NAMED.fullmatch(value)]
        told = [one for one in before if not one.is_edit and any(name and name in one.output for name in names)]
        first = [f"`{one.call.tool}` the file{FIRST}" for one in read][:1]
        if inside and not same:
            return Solved([f"list that folder{FIRST}", "name a file in it"], calls)
        first = first or [f"{FIND}{FIRST}" for _ in told][:1]
        changed = _changed(action.input, other.input, action.output)
        by = _named(told[0]) if told else ""
        return Solved([*first, *changed], calls, bool(same), by, _swapped(action, other))
    return UNSOLVED


def _named(action: Action) -> str:
    """What a call is called by: its tool, or the program that a shell ran."""
    parts = parts_of(action.command) if action.is_shell else ()
    return parts[0].program if parts else action.call.tool or ""


def _swapped(action: Action, later: Action) -> tuple[str, str]:
    """The only short word or path of a call that is another one now, as it is called in the project."""
    pairs = ((old, later.input.get(name)) for name, old in action.input.items() if name not in WRITTEN)
    other = [(old, new) for old, new in pairs if isinstance(old, str) and isinstance(new, str) and old != new]
    if len(other) != 1 or not all(map(_SHORT.fullmatch, other[0])):
        return "", ""
    was, now = other[0]
    inside = now.startswith(f"{was.rstrip('/')}/") or was.startswith(f"{now.rstrip('/')}/")
    return ("", "") if inside else (within(action.call, was), within(later.call, now))


def within(call: StoredEvent, path: str) -> str:
    """A path below its project's root; of another its end, of a word the word."""
    root = f"{call.project.rstrip('/')}/"
    return path[len(root) :] if path.startswith(root) else "/".join(path.split("/")[-PLACE_PARTS:])


def word_in(action: Action, said: str) -> str:
    """A value of a call that is one word, and a word of what was complained of; "" for none."""
    values = (value for value in action.input.values() if isinstance(value, str) and _NAMED.fullmatch(value))
    return next((value for value in values if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", said)), "")


def seen_at_least(step: str) -> int:
    """How often a step has to be seen: that a field was there or not says less than what was in it."""
    return 3 if step.startswith((WITH, WITHOUT)) else 2


def _changed(before: Mapping[str, object], after: Mapping[str, object], output: str) -> list[str]:
    """How the fields of a call changed, as far as that says something to somebody with other values."""
    said = []
    for name in {**before, **after}:
        old, new = before.get(name), after.get(name)
        if name in WRITTEN or old == new:
            continue
        if old is None or new is None:
            said.append(f"{WITH if old is None else WITHOUT} `{name}`")
        elif isinstance(old, str) and isinstance(new, str) and new.startswith(f"{old.rstrip('/')}/"):
            said.append("name what is in that folder")
        elif isinstance(new, str) and new.strip() and new in output:
            is_part = isinstance(old, str) and new.endswith(old)
            said.append(f"give the `{name}` {IN_FULL}" if is_part else f"use a `{name}` that the message lists")
        elif isinstance(new, bool) or (isinstance(new, str) and re.fullmatch(r"[^\s/]{1,40}", new)):
            said.append(f"{SET} `{name}` to {json.dumps(new, ensure_ascii=False)}")
        elif isinstance(old, str) and isinstance(new, str) and _is_spaced(old, new):
            said.append(f"give `{name}` the tabs and spaces that the file has, or few words that begin after them")
        elif isinstance(old, str) and isinstance(new, str) and (old in new or new in old):
            said.append(f"use a {'longer' if old in new else 'shorter'} `{name}`")
        elif isinstance(old, int) and isinstance(new, int):
            said.append(f"use a {'larger' if old < new else 'smaller'} `{name}`")
    return said


def _is_spaced(one: str, other: str) -> bool:
    """Whether a line of two texts differs only by its tabs and blanks."""
    lines = set(other.splitlines())
    bare = {"".join(line.split()) for line in lines}
    changed = ("".join(line.split()) for line in one.splitlines() if line not in lines)
    return any(len(squeezed) >= SPACED_CHARS and squeezed in bare for squeezed in changed)
