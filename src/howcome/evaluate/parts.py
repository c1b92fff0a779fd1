"""Parts of a document that a command writes: what stands between `<!-- howcome eval: NAME -->` and `<!-- end -->`."""

from __future__ import annotations

import re

from howcome.errors import UsageError

END = "<!-- end -->"
_ANY_BEGINNING = re.compile(r"<!-- howcome eval: [\w.-]+ -->")
_NAME = re.compile(r"[\w.-]+")


def beginning(name: str) -> str:
    """The line that a part begins with.

    Raises:
        UsageError: no part can be called so.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is no name of a part: take letters, digits, '.', '_' and '-'")
    return f"<!-- howcome eval: {name} -->"


def has_part(text: str, name: str) -> bool:
    """Whether a document has a part of that name.

    Raises:
        UsageError: it has several, or one that does not end.
    """
    return _place(text.split("\n"), name) is not None


def with_part(text: str, name: str, content: str) -> str:
    """The document with a part's content replaced, or with the part at its end; its kind of line ends stays.

    Raises:
        UsageError: the document has several such parts, or one that does not end.
    """
    rest = "\r" if "\r\n" in text else ""  # of a line's end, when lines are what stands between line feeds
    lines = text.split("\n")
    place = _place(lines, name)
    part = [line + rest for line in (beginning(name), "", *content.strip("\n").split("\n"), "", END)]
    if place is not None:
        lines[place] = part
        return "\n".join(lines)
    while lines and not lines[-1].strip():
        lines.pop()
    return "\n".join([*lines, *([rest] if lines else []), *part, ""])


def _place(lines: list[str], name: str) -> slice | None:
    """Where a part's lines are, with its marks."""
    mark = beginning(name)
    first = [number for number, line in enumerate(lines) if line.strip() == mark]
    if not first:
        return None
    if len(first) > 1:
        raise UsageError(f"two parts are called {name!r}, in lines {first[0] + 1} and {first[1] + 1}: leave one")
    for number in range(first[0] + 1, len(lines)):
        line = lines[number].strip()
        if line == END:
            return slice(first[0], number + 1)
        if _ANY_BEGINNING.fullmatch(line):
            break
    raise UsageError(f"the part {name!r} in line {first[0] + 1} has no end: put {END} behind it")
