"""What howcome puts into a JSON file: hooks, an MCP server, permissions; found again, refreshed in place, and cut.

An entry that its user changed keeps what was changed, unless it no longer starts this howcome.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from json import JSONDecodeError

from howcome.clients.wiring import ALLOWED, HOOK, NEEDED, SERVER, SERVER_ENTRY, Entry
from howcome.wiring.commands import ENVIRONMENTS, IDENTITY, fits, is_hook, is_our_server, standing
from howcome.wiring.install_record import State
from howcome.wiring.json_text import Container, Item, JsonText, trailing_comma, value_at

Place = tuple[tuple[Container, Item], ...]
"""An entry and the container it stands in, preceded by all that they stand in, outermost first."""


class JsonEntries:
    """The JSON side of a file part: entries into a text and out of it.

    `comments`: the file's reader allows them and trailing commas; `grouped`: its hooks stand in groups
    (`{"matcher", "hooks": [...]}`), not plainly in their event's list.
    """

    def __init__(self, *, comments: bool = False, grouped: bool = True, trailing_commas: bool = True) -> None:
        self.comments, self.grouped, self.trailing_commas = comments, grouped, trailing_commas

    def values(self, text: str) -> dict[str, object]:
        """The file's values."""
        return self._read(text).document

    def merged(
        self, text: str, wanted: Sequence[Entry], before: Sequence[Entry], there_before: Mapping[str, object]
    ) -> str:
        """The text with the wanted entries; what was ours `before` and is wanted no more is cut."""
        json = self._read(text)
        if not self.trailing_commas and (comma := trailing_comma(json)) is not None:
            raise JSONDecodeError("the agent itself refuses a comma before a closing bracket", text, comma)
        _require_shape(json)
        if json.is_blank:  # an object below what comments there are
            notes = text + "\n" * (not text.endswith("\n")) if text.strip() else ""
            json = JsonText(notes + "{}\n", comments=self.comments)
        kept = {entry.place for entry in wanted}
        obsolete = [entry for entry in before if entry.place not in kept]
        json = self._cut(json, obsolete, before, there_before)
        for entry in wanted:
            json = self._with_entry(json, entry, [*before, *wanted])
        self._require_whole(text, json, wanted, before)
        return json.text

    def stripped(self, text: str, ours: Sequence[Entry], there_before: Mapping[str, object]) -> str:
        """The text without our entries, and without what held nothing else and was not `there_before`."""
        return self._cut(self._read(text), ours, ours, there_before).text

    def has_hook(self, text: str, ours: Sequence[Entry]) -> bool:
        """Whether a hook of ours is in the text: then what has no shape of its own is ours too."""
        hooks = [entry for entry in ours if entry.kind == HOOK]
        return bool(hooks) and any(True for _ in self._places(self._read(text), hooks, ours))

    def state(self, text: str, entry: Entry, before: Sequence[Entry]) -> tuple[State, str]:
        """How an entry stands in a text: ok, missing, edited, outdated or foreign, and why."""
        json = self._read(text)
        there = value_at(json.document, entry.path)
        if entry.kind == NEEDED:
            return ("ok", "") if there is not None else ("missing", "")
        ours = [place[-1][1].value for place in self._places(json, [entry], [*before, entry])]
        return standing(ours, there if entry.kind == SERVER_ENTRY else None, entry.value)

    def _require_whole(self, text: str, after: JsonText, wanted: Sequence[Entry], before: Sequence[Entry]) -> None:
        """Refuse a text that does not say what it must: every entry of ours, and all else as it was."""
        touched = {entry.path[0] for entry in (*wanted, *before)}
        try:
            is_whole = _without(self.values(after.text), touched) == _without(self.values(text), touched) and all(
                self.state(after.text, entry, before)[0] in ("ok", "edited") for entry in wanted if entry.kind != NEEDED
            )
        except (ValueError, LookupError):
            is_whole = False
        if not is_whole:
            why = "howcome's entries find no safe place; lay this object out over several lines"
            raise JSONDecodeError(why, text, len(text) - len(text.lstrip()))

    def _read(self, text: str) -> JsonText:
        json = JsonText(text, comments=self.comments)
        _ = json.document  # what is no JSON object is refused before anything is looked for in it
        return json

    # -- find

    def _places(self, json: JsonText, entries: Sequence[Entry], known: Sequence[Entry]) -> Iterator[Place]:
        """Where the entries stand: all hooks of ours, if there is a hook among them; each other by its path."""
        if json.is_blank:
            return
        events = {entry.path[-1] for entry in entries if entry.kind == HOOK}
        if events:
            yield from self._our_handlers(json, events, known)
        for entry in entries:
            if entry.kind in (SERVER_ENTRY, ALLOWED):
                yield from _by_path(json, entry, known)

    def _our_handlers(self, json: JsonText, events: set[str], known: Sequence[Entry]) -> Iterator[Place]:
        hooks = json.root.member("hooks")
        if hooks is None:
            return
        for in_events, event in json.entries(hooks, dict):
            if event.key not in events:
                continue
            outer = ((json.root, hooks), (in_events, event))
            for groups, group in json.entries(event, list):
                if not self.grouped:
                    if _is_our_handler(event.key or "", group.value, known):
                        yield (*outer, (groups, group))
                    continue
                of_group = json.container(group.value_start).member("hooks") if isinstance(group.value, dict) else None
                for handlers, handler in json.entries(of_group, list):
                    if _is_our_handler(event.key or "", handler.value, known):
                        yield (*outer, (groups, group), (handlers, handler))

    # -- insert

    def _with_entry(self, json: JsonText, entry: Entry, known: Sequence[Entry]) -> JsonText:
        container, rest = _deepest(json, entry.path)
        item = container.member(entry.path[-1]) if not rest else None
        if entry.kind in (HOOK, ALLOWED):
            return self._with_element(json, entry, (container, rest, item), known)
        if item is None:
            return json.appended(container, rest[0], _nested(rest[1:], entry.value))
        if entry.kind == NEEDED:
            return json
        if not is_our_server(item.value, entry, known):
            name = ".".join(entry.path)
            raise json.refuse(f"`{name}` is there already and is not howcome's; give it another name", item)
        return _refreshed(json, item, entry.value, known)

    def _with_element(
        self,
        json: JsonText,
        entry: Entry,
        place: tuple[Container, tuple[str, ...], Item | None],
        known: Sequence[Entry],
    ) -> JsonText:
        """The list at the entry's path with one element of ours in it."""
        (container, rest, item), value = place, entry.value
        if entry.kind == HOOK and self.grouped:
            value = {**({"matcher": entry.matcher} if entry.matcher else {}), "hooks": [value]}
        if item is None:
            return json.appended(container, rest[0], _nested(rest[1:], [value]))
        if not isinstance(item.value, list):
            raise json.refuse(f"`{'.'.join(entry.path)}` must be a list", item)
        if entry.kind == ALLOWED and value in item.value:
            return json
        handlers = self._our_handlers(json, {entry.path[-1]}, known) if entry.kind == HOOK else ()
        ours = [handler[-1][1] for handler in handlers]
        for handler in reversed(ours):
            json = _refreshed(json, handler, entry.value, known)
        return json if ours else json.appended(json.container(item.value_start), None, value)

    # -- cut

    def _cut(
        self, json: JsonText, entries: Sequence[Entry], known: Sequence[Entry], there_before: Mapping[str, object]
    ) -> JsonText:
        permitted = value_at(there_before, ("permissions", "allow"))
        theirs = permitted if isinstance(permitted, list) else []
        cuttable = [entry for entry in entries if entry.kind != ALLOWED or entry.value not in theirs]
        while (place := next(self._places(json, cuttable, known), None)) is not None:
            at = len(place) - 1  # what it stands in goes too, as far as that held nothing else and came with us
            while at and len(place[at][0].items) == 1 and not _was_there(place, at - 1, there_before):
                at -= 1
            json = json.without(*place[at])
        return json


# ---------------------------------------------------------------- places


def _by_path(json: JsonText, entry: Entry, known: Sequence[Entry]) -> Iterator[Place]:
    """Where a server or an element of a list stands."""
    container, place = json.root, []
    for key in entry.path:
        item = container.member(key)
        if item is None:
            return
        place.append((container, item))
        container = json.container(item.value_start) if isinstance(item.value, (dict, list)) else Container(0, 0, ())
    if entry.kind == SERVER_ENTRY and is_our_server(place[-1][1].value, entry, known):
        yield tuple(place)
    if entry.kind == ALLOWED:
        found = next((element for element in container.items if element.value == entry.value), None)
        if found is not None:
            yield (*place, (container, found))


def _deepest(json: JsonText, path: tuple[str, ...]) -> tuple[Container, tuple[str, ...]]:
    """The innermost object on the way along a path, and the keys that are missing in it (none: all are there)."""
    container = json.root
    for index, key in enumerate(path):
        item = container.member(key)
        if item is None:
            return container, path[index:]
        if index < len(path) - 1:
            if not isinstance(item.value, dict):
                raise json.refuse(f"`{'.'.join(path[: index + 1])}` must be an object", item)
            container = json.container(item.value_start)
    return container, ()


def _nested(keys: Sequence[str], value: object) -> object:
    for key in reversed(keys):
        value = {key: value}
    return value


def _was_there(outer: Place, index: int, there_before: Mapping[str, object]) -> bool:
    """Whether what stands at `index` was there before us."""
    in_container, item = outer[index]
    keys = tuple(item.key for _, item in outer[:index] if item.key is not None)
    if item.key is not None:
        parent = value_at(there_before, keys)
        return isinstance(parent, Mapping) and item.key in parent
    # A group of hooks: ours was moved into one that was there before, empty, if one such group is missing now.
    emptied = {**item.value, "hooks": []} if isinstance(item.value, dict) else None
    before = value_at(there_before, keys)
    return isinstance(before, list) and before.count(emptied) > [it.value for it in in_container.items].count(emptied)


# ---------------------------------------------------------------- what is ours


def _is_our_handler(event: str, handler: object, known: Sequence[Entry]) -> bool:
    """Whether we wrote this handler: by our record, or by its shape."""
    if not isinstance(handler, dict):
        return False
    if handler.get("type") == "mcp_tool":
        return handler.get("server") == SERVER and handler.get("tool") == "hook"
    command = handler.get("command")
    if not isinstance(command, str) or handler.get("type", "command") != "command":
        return False
    written = {entry.value.get("command") for entry in known if entry.kind == HOOK and isinstance(entry.value, dict)}
    return command in written or is_hook(command, event)


# ---------------------------------------------------------------- refresh


def _refreshed(json: JsonText, item: Item, wanted: object, known: Sequence[Entry]) -> JsonText:
    """An entry of ours as it must be now; exactly as we wrote it, it is made exactly as wanted."""
    actual = item.value
    if actual == wanted or not isinstance(actual, dict) or not isinstance(wanted, dict):
        return json
    forms = {actual.get("type"), wanted.get("type")}  # a hook's command, and one that goes through the MCP server
    is_untouched = any(actual == entry.value for entry in known) or (len(forms) > 1 and "mcp_tool" in forms)
    if not is_untouched and fits(actual, wanted):
        return json
    for key in actual:
        if key not in wanted and (is_untouched or key in IDENTITY):
            members = json.container(item.value_start)
            gone = members.member(key)
            json = json.without(members, gone) if gone else json
    needed = (*actual, *IDENTITY, *ENVIRONMENTS)
    wanted = {key: value for key, value in wanted.items() if is_untouched or key in needed}
    return _with_members(json, item, wanted, merged=() if is_untouched else ENVIRONMENTS)


def _with_members(json: JsonText, item: Item, wanted: Mapping[str, object], merged: Sequence[str] = ()) -> JsonText:
    """An object with some members as wanted, those of `merged` objects one by one; the others keep their bytes."""
    for key, value in wanted.items():
        members = json.container(item.value_start)
        old = members.member(key)
        if old is None:
            json = json.appended(members, key, value)
        elif key in merged and isinstance(old.value, dict) and isinstance(value, dict):
            json = _with_members(json, old, value)
        elif old.value != value:
            json = json.with_value(old, value)
    return json


def _without(values: Mapping[str, object], keys: set[str]) -> list[tuple[str, object]]:
    return [(key, value) for key, value in values.items() if key not in keys]


def _require_shape(json: JsonText) -> None:
    """Refuse what the client would refuse too: an entry beside it would be lost with the whole file."""
    hooks = None if json.is_blank else json.root.member("hooks")
    if hooks and not isinstance(hooks.value, dict):
        raise json.refuse("`hooks` must be an object", hooks)
    for _, event in json.entries(hooks, dict):
        if not isinstance(event.value, list):
            raise json.refuse(f"`hooks.{event.key}` must be a list", event)
