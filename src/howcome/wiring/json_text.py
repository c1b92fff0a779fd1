"""JSON as text with places: what is inserted and cut leaves every other byte as its user wrote it.

With `comments`, the text may hold `//` and `/* */` comments and trailing commas (JSONC): they are parsed as the spaces
that `plain` has in their place, so that every offset is one of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, NoReturn

_SPACE = re.compile(r"[ \t\r\n]*")
_STRING = r'"(?:[^"\\]|\\.)*"'
_CONSTANT = re.compile(_STRING + r"|(NaN|-?Infinity)")
_COMMENT = re.compile(_STRING + r"|(//[^\n]*|/\*.*?\*/)", re.DOTALL)
_TRAILING_COMMA = re.compile(_STRING + r"|(,)(?=[ \t\r\n]*[\]}])")
_LINE_COMMENT = re.compile(r"[ \t]*(,?)[ \t]*//[^\n]*?(?=\r?\n|\Z)")
_LINE_ENDS = re.compile(r"[ \t]*,?[ \t]*\r?\n")
_DECODER = json.JSONDecoder(parse_int=float)  # an int of 5,000 digits would raise


class Item(NamedTuple):
    """A member of an object (with a key) or an element of an array, and where it stands in the text."""

    key: str | None
    start: int
    value_start: int
    end: int
    value: object


class Container(NamedTuple):
    """An object or an array; `start` and `end` are the places of its brackets."""

    start: int
    end: int
    items: tuple[Item, ...]

    def member(self, key: str) -> Item | None:
        """The member in effect: of equal keys the last one."""
        return next((item for item in reversed(self.items) if item.key == key), None)


class JsonText:
    """One JSON object as text; never changed: an edit gives another one. A JSONDecodeError knows the place."""

    def __init__(self, text: str, *, comments: bool = False) -> None:
        self.text, self.comments = text, comments

    @cached_property
    def bare(self) -> str:
        """The text with comments as spaces."""
        return _COMMENT.sub(_spaces, self.text) if self.comments else self.text

    @cached_property
    def plain(self) -> str:
        """The text with comments and trailing commas as spaces: strict JSON, if it is JSONC."""
        return _TRAILING_COMMA.sub(_space_for_comma, self.bare) if self.comments else self.text

    @property
    def is_blank(self) -> bool:
        """Whether there is nothing but JSON white space."""
        return not self.plain.strip(" \t\r\n")

    @cached_property
    def document(self) -> dict[str, object]:
        """The values; a blank file holds none."""

        def refuse(_name: str) -> NoReturn:
            place = next(match.start(1) for match in _CONSTANT.finditer(self.plain) if match[1])
            raise json.JSONDecodeError("This is not a JSON number", self.text, place)

        decoder = json.JSONDecoder(parse_constant=refuse, parse_int=float)
        settings = decoder.decode(self.plain) if not self.is_blank else {}
        if not isinstance(settings, dict):
            raise json.JSONDecodeError("The settings must be a JSON object", self.text, _skip(self.plain, 0))
        return settings

    @cached_property
    def root(self) -> Container:
        """The object that the whole text is."""
        return self.container(_skip(self.plain, 0))

    def container(self, start: int) -> Container:
        """The object or array whose bracket opens at `start`; the text is valid."""
        text, items = self.plain, []
        at = _skip(text, start + 1)
        while text[at] not in "]}":
            key, value_start = None, at
            if text[start] == "{":
                key, end = _DECODER.raw_decode(text, at)
                value_start = _skip(text, _skip(text, end) + 1)
            value, end = _DECODER.raw_decode(text, value_start)
            items.append(Item(key, at, value_start, end, value))
            at = _skip(text, end)
            at = _skip(text, at + 1) if text[at] == "," else at
        return Container(start, at, tuple(items))

    def entries(self, item: Item | None, kind: type) -> Iterator[tuple[Container, Item]]:
        """The entries of an item's value, each with the container it stands in, if the value is of that kind."""
        if item is not None and isinstance(item.value, kind):
            container = self.container(item.value_start)
            yield from ((container, entry) for entry in container.items)

    def refuse(self, message: str, item: Item) -> json.JSONDecodeError:
        """The error that names an item's place."""
        return json.JSONDecodeError(message, self.text, item.value_start)

    # -- edits

    def replaced(self, *edits: tuple[int, int, str]) -> JsonText:
        """The text with other words at some places (start, end, words), which do not overlap."""
        text = self.text
        for start, end, words in sorted(edits, reverse=True):
            text = text[:start] + words + text[end:]
        return JsonText(text, comments=self.comments)

    def with_value(self, item: Item, value: object) -> JsonText:
        """The text with another value of an item, on one line."""
        return self.replaced((item.value_start, item.end, json.dumps(value, ensure_ascii=False)))

    def appended(self, container: Container, key: str | None, value: object) -> JsonText:
        """The text with one more entry at the end of a container, in the style of what is around it."""
        text, first = self.text, next(iter(self.root.items), None)
        last = container.items[-1] if container.items else None
        colon, comma = (": ", ", ") if first is None or text[first.value_start - 1] == " " else (":", ",")
        unit = _indent(text, first.start) if first else "  "
        line = text[text.rfind("\n", 0, container.start) + 1 :]
        outer = line[: len(line) - len(line.lstrip(" \t"))]
        inner = _indent(text, last.start) if last else (None if unit is None else outer + unit)
        name = "" if key is None else json.dumps(key, ensure_ascii=False) + colon
        if inner is None:
            before, after = " " if last and comma == ", " else "", ""
            entry = json.dumps(value, ensure_ascii=False, separators=(comma, colon))
        else:
            newline = self._newline
            before, after = newline + inner, "" if last else newline + outer
            style = "  " if unit is None else unit
            entry = json.dumps(value, ensure_ascii=False, indent=style, separators=(",", colon))
            entry = entry.replace("\n", newline + inner)
        return self._inserted(container, last, before + name + entry, after)

    def _inserted(self, container: Container, last: Item | None, entry: str, after: str) -> JsonText:
        if last is None:
            is_empty = not self.text[container.start + 1 : container.end].strip(" \t\r\n")
            end = container.end if is_empty else container.start + 1  # comments in there stay
            return self.replaced((container.start + 1, end, entry + (after if is_empty else "")))
        note = _LINE_COMMENT.match(self.text, last.end) if self.comments else None
        if note is None:
            return self.replaced((last.end, last.end, "," + entry))
        entry = entry if entry[0] in "\r\n" else self._newline + entry.lstrip(" ")  # the note takes all of its line
        if note[1]:
            return self.replaced((note.end(), note.end(), entry + ","))
        return self.replaced((last.end, last.end, ","), (note.end(), note.end(), entry))

    def without(self, container: Container, item: Item) -> JsonText:
        """The text without an item and its comma; the inverse of appending it."""
        at, items = container.items.index(item), container.items
        is_last = at == len(items) - 1
        before = items[at - 1].end if at else container.start + 1
        if at and self._is_space(before, item.start):
            return self.replaced((before, item.end, ""))
        if not at and not is_last and self._is_space(item.end, items[1].start):
            return self.replaced((item.start, items[1].start, ""))
        if not at and is_last and self._is_space(before, item.start) and self._is_space(item.end, container.end):
            return self.replaced((before, container.end, ""))
        limit = container.end if is_last else items[at + 1].start
        return self._without_among_comments(item, before, limit, is_first=not at)

    def _without_among_comments(self, item: Item, before: int, limit: int, *, is_first: bool) -> JsonText:
        """The item with the white space before it and one comma: the one after it, else the one before it."""
        start = before + len(self.text[before : item.start].rstrip(" \t\r\n"))
        is_noted = self.bare[start - 1] != self.text[start - 1]
        stays = self._newline if is_noted and not _LINE_ENDS.match(self.text, item.end) else ""
        comma = self.bare.find(",", item.end, limit)
        if comma >= 0:
            return self.replaced((start, item.end, stays), (comma, comma + 1, ""))
        comma = -1 if is_first else self.bare.find(",", before, item.start)
        return self.replaced((start, item.end, stays), *([(comma, comma + 1, "")] if 0 <= comma < start else []))

    @property
    def _newline(self) -> str:
        return "\r\n" if "\r\n" in self.text else "\n"

    def _is_space(self, start: int, end: int) -> bool:
        """Whether there is only white space, and a comma, in the user's own text between two places."""
        return not self.text[start:end].strip(" \t\r\n,")


def value_at(document: object, path: tuple[str, ...]) -> object:
    """The value at a path of keys; None when there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def _spaces(match: re.Match[str]) -> str:
    return match[0] if match[1] is None else re.sub(r"[^\r\n]", " ", match[0])


def _space_for_comma(match: re.Match[str]) -> str:
    """A space for a comma that follows a value; one that follows nothing is an error, and stays."""
    at = match.start() - 1
    while at >= 0 and match.string[at] in " \t\r\n":
        at -= 1
    return match[0] if match[1] is None or match.string[at] in "{[," else " "


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at


def _indent(text: str, at: int) -> str | None:
    """The white space before `at` on its line; None when something else is there, or on the first line."""
    line_start = text.rfind("\n", 0, at) + 1
    lead = text[line_start:at]
    return lead if line_start and not lead.strip(" \t") else None


def trailing_comma(json: JsonText) -> int | None:
    """The place of the first comma before a closing bracket."""
    return next((match.start(1) for match in _TRAILING_COMMA.finditer(json.bare) if match[1]), None)
