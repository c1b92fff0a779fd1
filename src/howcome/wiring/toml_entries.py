"""One table of ours in a TOML file, as text: put at its end, refreshed where it stands, and cut.

Lines are found by their look, and every edit is checked by reading the whole file: its values must be those from
before with our table, or without it. What the look gets wrong is refused, never written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from howcome.clients.wiring import Entry
from howcome.wiring.commands import fits, is_our_server, standing
from howcome.wiring.install_record import State
from howcome.wiring.json_text import value_at

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_HEADER = re.compile(r"(?m)^[ \t]*\[")


class TomlEntries:
    """The TOML side of a file part; the entries are tables (`path` = the keys of its header)."""

    def values(self, text: str) -> dict[str, object]:
        """The file's values."""
        import tomllib  # few agents have a TOML file, and `status` waits for this

        return tomllib.loads(text.replace("\r\n", "\n"))

    def merged(
        self, text: str, wanted: Sequence[Entry], before: Sequence[Entry], there_before: Mapping[str, object]
    ) -> str:
        """The text with the wanted tables; what was ours `before` and is wanted no more is cut."""
        kept = {entry.place for entry in wanted}
        text = self.stripped(text, [entry for entry in before if entry.place not in kept], there_before)
        for entry in wanted:
            text = self._with_table(text, entry, before)
        return text

    def stripped(self, text: str, ours: Sequence[Entry], _there_before: Mapping[str, object]) -> str:
        """The text without our tables."""
        for entry in ours:
            if is_our_server(value_at(self.values(text), entry.path), entry, ours):
                text = self._edited(text, entry.path, None, _cut)
                inner = entry.path[:-1]
                if len(inner) > 1 and value_at(self.values(text), inner) == {}:  # the header of what stood in it
                    text = self._edited(text, inner, None, _cut)
        return text

    def state(self, text: str, entry: Entry, before: Sequence[Entry]) -> tuple[State, str]:
        """How a table stands in a text: ok, missing, edited, outdated or foreign, and why."""
        value = value_at(self.values(text), entry.path)
        is_ours = value == entry.value or is_our_server(value, entry, before)
        return standing([value] if is_ours else [], value, entry.value)

    def _with_table(self, text: str, entry: Entry, before: Sequence[Entry]) -> str:
        value, wanted = value_at(self.values(text), entry.path), entry.value
        if value == wanted:
            return text
        if value is None:
            return self._edited(text, entry.path, wanted, lambda text, _start, _end: _appended(text, entry))
        if not is_our_server(value, entry, before):
            raise _refusal(text, entry.path, "is there already and is not howcome's; give it another name")
        is_untouched = any(value == one.value for one in before if one.place == entry.place)
        if not is_untouched and fits(value, wanted):
            return text
        if is_untouched:
            return self._edited(
                text, entry.path, wanted, lambda text, start, end: text[:start] + _block(text, entry) + text[end:]
            )
        changed = _changed(value, wanted)
        merged = {**value, **changed} if isinstance(value, dict) else wanted
        lines = Entry(entry.kind, entry.path, changed)
        return self._edited(text, entry.path, merged, lambda text, start, end: _with_lines(text, start, end, lines))

    def _edited(self, text: str, path: tuple[str, ...], value: object, edit: Callable[[str, int, int], str]) -> str:
        """The text after an edit of the lines that look like our table and that says what it must say then."""
        from copy import deepcopy

        expected = deepcopy(self.values(text))
        _put(expected, path, value)
        for start, end in _spans(text, path):
            after = edit(text, start, end)
            with suppress(ValueError):
                if repr(_without_empty(self.values(after), path)) == repr(_without_empty(expected, path)):
                    return after
        raise _refusal(text, path, "cannot be edited beside what stands there; write it as a table of its own")


def _changed(value: object, wanted: object) -> dict[str, object]:
    """The keys of our table that have to be written anew; variables of its user's stay among ours."""
    if not isinstance(value, dict) or not isinstance(wanted, dict):
        return dict(wanted) if isinstance(wanted, dict) else {}
    env, needed = value.get("env"), wanted.get("env")
    both = {**wanted, "env": {**env, **needed}} if isinstance(env, dict) and isinstance(needed, dict) else wanted
    return {key: new for key, new in both.items() if value.get(key) != new}


def _appended(text: str, entry: Entry) -> str:
    newline = _newline(text)
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + (newline if text.strip() else "") + _block(text, entry)


def _block(text: str, entry: Entry) -> str:
    newline = _newline(text)
    return newline.join([f"[{'.'.join(entry.path)}]", *_lines(entry), ""])


def _lines(entry: Entry) -> list[str]:
    values = entry.value if isinstance(entry.value, dict) else {}
    return [f"{key} = {_written(value)}" for key, value in values.items()]


def _written(value: object) -> str:
    """A value on one line, a table inline: JSON's strings are TOML's, but for one character."""
    if isinstance(value, dict):
        named = ((key if _BARE.fullmatch(key) else _written(key), inner) for key, inner in value.items())
        return "{ " + ", ".join(f"{name} = {_written(inner)}" for name, inner in named) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(_written(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _with_lines(text: str, start: int, end: int, entry: Entry) -> str:
    """The text whose table has our lines in the places of those that say the same key."""
    block, newline = text[start:end], _newline(text)
    for line in _lines(entry):
        old = re.search(rf"(?m)^[ \t]*{line.partition(' ')[0]}[ \t]*=[^\r\n]*", block)
        if old is None:
            block = block.rstrip() + newline + line + newline
        else:
            block = block[: old.start()] + line + block[old.end() :]
    return text[:start] + block + text[end:]


def _cut(text: str, start: int, end: int) -> str:
    """The text without some lines, and without the empty line that came with them."""
    before = text[:start]
    apart = before.removesuffix("\r\n") if before.endswith("\n\r\n") else before.removesuffix("\n")
    return (apart if apart.endswith("\n") or not apart else before) + text[end:]


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _spans(text: str, path: tuple[str, ...]) -> list[tuple[int, int]]:
    """Where the lines of a table may be, its own tables included; and the end of the text, where a new one goes."""
    spaced = r"[ \t]*\.[ \t]*".join(rf"[\"']?{re.escape(key)}[\"']?" for key in path)
    own = re.compile(rf"[ \t]*\[[ \t]*{spaced}[ \t]*(?:\]|\.)")
    headers = [(match.start(), own.match(text, match.start()) is not None) for match in _HEADER.finditer(text)]
    spans = []
    for index, (start, is_own) in enumerate(headers):
        if is_own:
            end = next((later for later, is_too in headers[index:] if not is_too), len(text))
            spans.append((start, _before_comments(text, start, end)))
    return [*spans, (len(text), len(text))]


def _refusal(text: str, path: tuple[str, ...], why: str) -> ValueError:
    """The error that names the line of the table, or of what stands in its way."""
    start = min(_spans(text, path)[0][0], _spans(text, path[:-1])[0][0])
    return ValueError(f"`{'.'.join(path)}` {why} (at line {text.count(chr(10), 0, start) + 1}, column 1)")


def _before_comments(text: str, start: int, end: int) -> int:
    """The end of a table's last line of its own: empty lines and comments before the next header are the next one's."""
    lines = text[start:end].splitlines(keepends=True)
    while len(lines) > 1 and (not lines[-1].strip() or lines[-1].lstrip().startswith("#")):
        lines.pop()
    return start + sum(map(len, lines))


def _put(values: dict[str, object], path: tuple[str, ...], value: object) -> None:
    for key in path[:-1]:
        inner = values.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        values = inner
    values.pop(path[-1], None) if value is None else values.update({path[-1]: value})


def _without_empty(values: dict[str, object], path: tuple[str, ...]) -> dict[str, object]:
    """The values without the tables that ours stands in, where nothing else does: their headers may not be written."""
    inner = values.get(path[0])
    if len(path) < 2 or not isinstance(inner, dict):
        return values
    left = _without_empty(inner, path[1:])
    return {key: left if key == path[0] else value for key, value in values.items() if left or key != path[0]}
