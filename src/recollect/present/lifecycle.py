"""Put recollect's hooks into the agent's settings file, and take them out again byte for byte.

A settings file belongs to its user. So it is edited as text: entries are inserted and cut, everything else keeps its
bytes. Before the first write the original goes into `<state>/installs/` with a record of what was written:

    installs/<key>.json               the record; <key> stands for one settings file
    installs/<key>-<digest>.original  the bytes to put back

`uninstall` puts those bytes back while the file is as `install` left it. When somebody else wrote to it since, only
the entries that are ours are cut out.
"""

import json
import os
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from recollect.errors import LifecycleError
from recollect.present.atomic_files import (
    PRIVATE_DIRECTORY,
    Container,
    Item,
    Record,
    Records,
    Snapshot,
    container_at,
    decoded,
    digest,
    document,
    edit_safely,
    entries_of,
    is_blank,
    missing_directories,
    read_snapshot,
    remove_empty,
    remove_file,
    replace_file,
    root_of,
)

EVENT_TIMEOUTS: Mapping[str, int] = {
    "SessionStart": 20,
    "UserPromptSubmit": 5,
    "PreCompact": 20,
    "Stop": 20,
    "SubagentStop": 20,
    "SessionEnd": 20,  # without one in the settings, all SessionEnd hooks share 1.5 s
}
"""Every hook event that is installed, with its timeout in seconds. All are known to every supported client: an
event that a client does not know makes it drop the whole file."""

_LAUNCHER = "recollect/present/launch.py"
_ISOLATED = ["-I", "-S", "-E"]
_HARMLESS = ["2>/dev/null", "||", "true"]
"""Python exits 2 when its script is gone, and 2 blocks the user's prompt; this end makes a leftover hook harmless."""


@dataclass(frozen=True)
class InstallReport:
    """What `install` did: `changed` is False when everything was in place."""

    settings: Path
    events: tuple[str, ...]
    changed: bool
    created: bool
    backup: Path | None
    hooks_disabled: bool


@dataclass(frozen=True)
class UninstallReport:
    """What `uninstall` did: original bytes back, new file removed, our entries cut out, or nothing found."""

    settings: Path
    outcome: Literal["restored", "removed", "edited", "nothing"]
    backup: Path | None


# ---------------------------------------------------------------- places and the hook command


def claude_config_dir() -> Path:
    """The directory of Claude Code's user settings."""
    return _directory("CLAUDE_CONFIG_DIR", "~/.claude")


def recollect_home() -> Path:
    """The directory that holds everything recollect keeps."""
    return _directory("RECOLLECT_HOME", "~/.recollect")


def hook_command(event: str) -> str:
    """The shell command of one hook: quick to start, always exit 0, harmless once recollect is gone."""
    words = [_interpreter(), *_ISOLATED, str(Path(__file__).absolute().with_name("launch.py")), event]
    command = " ".join([shlex.join(words), *_HARMLESS])
    home = recollect_home()
    is_default = not os.environ.get("RECOLLECT_HOME") or home == Path("~/.recollect").expanduser()
    return command if is_default else f"RECOLLECT_HOME={shlex.quote(str(home))} {command}"


def _directory(variable: str, default: str) -> Path:
    try:
        return Path(os.environ.get(variable) or default).expanduser().absolute()
    except RuntimeError as error:  # neither $HOME nor an entry in the user database
        raise LifecycleError(f"Your home directory is not known: set HOME, or {variable}.") from error


def _interpreter() -> str:
    """The running interpreter; links stay (a venv is found by them), a shim script gives way to what it starts."""
    path = os.path.abspath(sys.executable)
    with open(path, "rb") as file:
        is_script = file.read(2) == b"#!"
    return os.path.join(sys.prefix, "bin", f"python3.{sys.version_info.minor}") if is_script else path


# ---------------------------------------------------------------- install and uninstall


def install(config_dir: Path, state_dir: Path, hook_command: Callable[[str], str]) -> InstallReport:
    """Merge the hook entries into `<config_dir>/settings.json`; a second call finds nothing to do.

    Raises:
        LifecycleError: The file cannot be edited safely; it is as it was.
    """
    settings = config_dir / "settings.json"
    return edit_safely(settings, lambda: _install(settings, Records(state_dir, config_dir), hook_command))


def uninstall(config_dir: Path, state_dir: Path) -> UninstallReport:
    """Take the hook entries out of `<config_dir>/settings.json` and leave no other trace there.

    Raises:
        LifecycleError: The file cannot be edited safely; it is as it was.
    """
    settings = config_dir / "settings.json"
    return edit_safely(settings, lambda: _uninstall(settings, Records(state_dir, config_dir)))


def _install(settings: Path, records: Records, hook_command: Callable[[str], str]) -> InstallReport:
    before = read_snapshot(settings)
    commands = {event: hook_command(event) for event in EVENT_TIMEOUTS}
    record = records.load()
    mark, text = decoded(before.data or b"")
    text = _merged(text, commands, record.commands if record else ())
    data = mark + text.encode()
    if data != before.data or record is None:
        record = _next_record(before, data, commands, record)
        records.save(record)
    if data != before.data:
        _write(before, data, record.created_directories)
    return InstallReport(
        settings=settings,
        events=tuple(commands),
        changed=data != before.data,
        created=before.data is None,
        backup=records.backup_of(record),
        hooks_disabled=document(text).get("disableAllHooks") is True,
    )


def _write(before: Snapshot, data: bytes, directories: tuple[str, ...]) -> None:
    try:
        for directory in directories:
            os.makedirs(directory, PRIVATE_DIRECTORY, exist_ok=True)
        replace_file(before, data)
    except BaseException:
        remove_empty(directories)
        raise


def _next_record(before: Snapshot, data: bytes, commands: Mapping[str, str], last: Record | None) -> Record:
    """The record to keep before `data` is written over `before`.

    The digests of all that was written over the same original stay: a crash may leave any of them in the file.
    """
    original = _without_ours(before, last)
    written = last.written_sha256 if last and last.wrote(before.data) else ()
    created = last.created_directories if last else ()
    return Record(
        settings=str(before.path.absolute()),
        existed=original is not None,
        mode=before.mode,
        original=original or b"",
        written_sha256=tuple(dict.fromkeys([*written, digest(data)])),
        commands=tuple(sorted({*(last.commands if last else ()), *commands.values()})),
        created_directories=tuple(dict.fromkeys([*created, *missing_directories(before.path.parent)])),
    )


def _uninstall(settings: Path, records: Records) -> UninstallReport:
    before = read_snapshot(settings)
    record = records.load()
    after = _without_ours(before, record)
    outcome: Literal["restored", "removed", "edited", "nothing"] = "nothing"
    if after is None and before.data is not None:
        remove_file(before)
        outcome = "removed"
    elif after is not None and after != before.data:
        replace_file(before, after)
        outcome = "restored" if record and record.wrote(before.data) else "edited"
    if record is None:
        return UninstallReport(settings, outcome, None)
    if after is None:
        remove_empty(record.created_directories)
    return UninstallReport(settings, outcome, records.forget(record, now=after))


def _without_ours(before: Snapshot, record: Record | None) -> bytes | None:
    """The file as it would be had recollect never been there; None: there would be no file."""
    if before.data is None:
        return None
    if record and record.wrote(before.data):
        return record.original if record.existed else None
    mark, text = decoded(before.data)
    there_before = document(decoded(record.original)[1]) if record and record.original else {}
    text = _stripped(text, record.commands if record else (), there_before)
    nothing_left = record is not None and not record.existed and not document(text)
    return None if nothing_left else mark + text.encode()


# ---------------------------------------------------------------- entries of ours in the text

_Place = tuple[tuple[Container, Item], ...]
"""A handler and its list, preceded by all that they stand in, outermost first."""


def _our_handlers(text: str, known: Collection[str]) -> Iterator[_Place]:
    """Each handler of ours, with all that it stands in."""
    root = root_of(text)
    hooks = root.member("hooks")
    for events, event in entries_of(text, hooks, dict):
        for groups, group in entries_of(text, event, list):
            of_group = container_at(text, group.value_start).member("hooks") if isinstance(group.value, dict) else None
            for handlers, handler in entries_of(text, of_group, list):
                if hooks and _is_ours(event.key or "", handler.value, known):
                    yield (root, hooks), (events, event), (groups, group), (handlers, handler)


def _is_ours(event: str, handler: object, known: Collection[str]) -> bool:
    """Whether we wrote this handler: by our record, or by the shape of its command."""
    command = handler.get("command") if isinstance(handler, dict) and handler.get("type") == "command" else None
    if not isinstance(command, str):
        return False
    if command in known or _LAUNCHER not in command:
        return command in known
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    launcher = "".join(words[-5:-4])
    return words[-8:-5] == _ISOLATED and launcher.endswith(_LAUNCHER) and words[-4:] == [event, *_HARMLESS]


# ---- insert


def _merged(text: str, commands: Mapping[str, str], known: Collection[str]) -> str:
    """The text with one handler for each event."""
    text = "{}\n" if is_blank(text) else text
    _require_shape(text)
    for event, command in commands.items():
        text = _with_hook(text, event, command, {*known, *commands.values()})
    return text


def _require_shape(text: str) -> None:
    """Refuse what the client would refuse too: an entry beside it would be lost with the whole file."""
    document(text)
    hooks = root_of(text).member("hooks")
    if hooks and not isinstance(hooks.value, dict):
        raise json.JSONDecodeError("`hooks` must be an object", text, hooks.value_start)
    for _, event in entries_of(text, hooks, dict):
        if not isinstance(event.value, list):
            raise json.JSONDecodeError(f"`hooks.{event.key}` must be a list", text, event.value_start)


def _with_hook(text: str, event: str, command: str, known: Collection[str]) -> str:
    group = {"hooks": [{"type": "command", "command": command, "timeout": EVENT_TIMEOUTS[event]}]}
    root = root_of(text)
    hooks = root.member("hooks")
    if hooks is None:
        return _appended(text, root, "hooks", {event: [group]})
    events = container_at(text, hooks.value_start)
    listed = events.member(event)
    if listed is None:
        return _appended(text, events, event, [group])
    ours = [place[-1][1] for place in _our_handlers(text, known) if place[1][1] == listed]
    for handler in reversed(ours):
        text = _with_command(text, handler, command, EVENT_TIMEOUTS[event])
    return text if ours else _appended(text, container_at(text, listed.value_start), None, group)


def _with_command(text: str, handler: Item, command: str, timeout: int) -> str:
    """Point an entry of ours to a new command; one that has it already keeps all its user changed in it."""
    members = container_at(text, handler.value_start)
    old = members.member("command")
    if old is None or old.value == command:
        return text
    news = [(old, command), *((item, timeout) for item in members.items if item.key == "timeout")]
    for item, value in sorted(news, key=lambda new: new[0].start, reverse=True):
        text = text[: item.value_start] + json.dumps(value, ensure_ascii=False) + text[item.end :]
    return text


def _appended(text: str, container: Container, key: str | None, value: object) -> str:
    """The text with one more entry at the end of a container, in the style of what is around it."""
    first = next(iter(root_of(text).items), None)
    last = container.items[-1] if container.items else None
    colon, comma = (": ", ", ") if first is None or text[first.value_start - 1] == " " else (":", ",")
    unit = _indent(text, first.start) if first else "  "
    line = text[text.rfind("\n", 0, container.start) + 1 :]
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    inner = _indent(text, last.start) if last else (None if unit is None else outer + unit)
    name = "" if key is None else json.dumps(key) + colon
    if inner is None:
        before, after = comma if last else "", ""
        entry = json.dumps(value, ensure_ascii=False, separators=(comma, colon))
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        before, after = ("," if last else "") + newline + inner, "" if last else newline + outer
        entry = json.dumps(value, ensure_ascii=False, indent="  " if unit is None else unit, separators=(",", colon))
        entry = entry.replace("\n", newline + inner)
    start, end = (last.end, last.end) if last else (container.start + 1, container.end)
    return text[:start] + before + name + entry + after + text[end:]


def _indent(text: str, at: int) -> str | None:
    """The white space before `at` on its line; None when something else is there, or on the first line."""
    line_start = text.rfind("\n", 0, at) + 1
    lead = text[line_start:at]
    return lead if line_start and not lead.strip(" \t") else None


# ---- cut


def _stripped(text: str, known: Collection[str], there_before: Mapping[str, object]) -> str:
    """The text without our handlers, and without what held nothing else and was not `there_before`."""
    document(text)
    while not is_blank(text) and (place := next(_our_handlers(text, known), None)):
        start, end = _span(place, there_before)
        text = text[:start] + text[end:]
    return text


def _span(place: _Place, there_before: Mapping[str, object]) -> tuple[int, int]:
    """What to cut with one handler, from the handler alone up to the whole of `hooks`."""
    in_root, in_events, in_groups, (container, item) = place
    outwards = (
        (in_groups, _was_empty_group(in_groups, in_events[1].key, there_before)),
        (in_events, in_events[1].key in _mapping(there_before.get("hooks"))),
        (in_root, "hooks" in there_before),
    )
    for outer, was_there in outwards:
        if len(container.items) > 1 or was_there:
            break
        container, item = outer
    return container.span(item)


def _was_empty_group(in_groups: tuple[Container, Item], event: str | None, there_before: Mapping[str, object]) -> bool:
    """Whether our handler was moved into a group that was there before, empty: one such group is missing now."""
    groups, group = in_groups
    emptied = {**_mapping(group.value), "hooks": []}
    before = _mapping(there_before.get("hooks")).get(event)
    return isinstance(before, list) and before.count(emptied) > [item.value for item in groups.items].count(emptied)


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, dict) else {}
