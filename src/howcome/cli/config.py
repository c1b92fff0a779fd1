"""`howcome config`: look at settings, change them, and be told at once when a value is none."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

import click
import tomlkit

from howcome import settings
from howcome.cli.arguments import open_existing
from howcome.cli.declared import JSON, argument, click_command, option
from howcome.errors import SettingsError, StoreError, UsageError
from howcome.files import write_whole
from howcome.present.own_files import CONFIG_HEAD
from howcome.present.render import counted
from howcome.present.screen import report, say
from howcome.present.terminal import echo, error_stream
from howcome.wiring.atomic_files import Snapshot, read_snapshot, replace_file

_EMPTY = f"{CONFIG_HEAD}`howcome config list --all` names them, docs/reference.md says what each does.\n"
_BY_NAME = {field.name: field for field in settings.FIELDS}


@click.group()
def config() -> None:
    """Show and change settings. A variable counts more than config.toml in HOWCOME_HOME, and that more than a default.

    \b
    Examples:
      howcome config list
      howcome config set recall_limit 2
      howcome config set exclude ~/clients ~/private
      howcome config unset recall_limit
      howcome config edit
    """


@click_command
def list_(
    with_defaults: bool = option("--all", help="Those that are as they came, too."), as_json: bool = JSON
) -> None:
    """List the settings that somebody chose, each with its value and where that comes from."""
    chosen = [one for one in map(_state, settings.FIELDS) if with_defaults or one["from"] != "default"]
    nothing = ["everything is as it came; `howcome config list --all` shows it"]
    report({"settings": chosen}, [*map(_line, chosen)] or nothing, as_json=as_json)


@click_command
def get(name: str = argument(), as_json: bool = JSON) -> None:
    """Print the value of a setting, a list's one a line; nothing where it is empty."""
    one = _state(_field(name))
    value = one["value"]
    parts = value if isinstance(value, tuple) else () if value == "" else (_written(value),)
    report(one, parts, as_json=as_json)


@click_command
def set_(
    name: str = argument(), values: tuple[str, ...] = argument(nargs=-1, required=True), as_json: bool = JSON
) -> None:
    """Write a setting into config.toml; a list takes several values.

    One repository's own file, .howcome.toml, may say less: capture = false, inject = "off".
    """
    field = _field(name)
    is_list = isinstance(field.default, tuple)
    if any("\udc80" <= letter <= "\udcff" for value in values for letter in value):
        raise UsageError(f"{name}: config.toml is UTF-8, and that is not; set {field.variable} instead")
    if len(values) > 1 and not is_list:
        raise UsageError(f"{name} takes one value, not {len(values)}: put quotes around it")
    try:
        value = settings.check_value(field, values, name) if is_list else settings.parse_text(field, values[0], name)
    except SettingsError as error:  # a slip at the prompt: the settings themselves are as they were
        raise UsageError(str(error)) from error
    write_settings({name: list(value) if isinstance(value, tuple) else value})
    _say(field, as_json=as_json)
    if name == "exclude" and not as_json:
        _say_stored()


def _say_stored() -> None:
    """What was stored of the excluded folders before, and what deletes it."""
    try:
        with open_existing() as app:
            stored = [(root, app.projects.held(project)) for project, root in app.projects.excluded().items()]
    except StoreError:  # the setting is written all the same
        return
    stored = [(root, held) for root, held in stored if any(held)]
    for root, (events, memories) in stored:
        what = f"{counted(events, 'event')} and {counted(memories, 'memory', 'memories')}"
        say(f"{what} of {root} stay stored. No hook tells them, nor a search of all projects.")
    if stored:
        say("`howcome uninstall --purge` deletes everything that is stored, of all projects.")


@click_command
def unset(name: str = argument(), as_json: bool = JSON) -> None:
    """Take a setting out of config.toml, so that its default counts again."""
    field = _field(name)
    if name in _document(read_snapshot(_path())):
        write_settings({}, without=name)
    _say(field, as_json=as_json)


def write_settings(values: Mapping[str, object], without: str = "") -> None:
    """Writes settings into config.toml, and takes one out; everything else there stays as it is."""
    before = read_snapshot(_path())
    document = _document(before)
    document.update(values)
    document.pop(without, None)
    _keep(tomlkit.dumps(document).encode(), before)


@click_command
def edit() -> None:
    """Open config.toml in your editor ($VISUAL, $EDITOR, or vi); it is kept only when it can be read."""
    before = read_snapshot(_path())
    draft = before.target.with_name(f"{settings.CONFIG_NAME}.{os.getpid()}.draft")
    write_whole(str(draft), before.data if before.data is not None else _EMPTY.encode())
    try:
        _run_editor(str(draft))
        if not draft.is_file():
            raise UsageError("the editor left no file; nothing was changed")
        _keep(draft.read_bytes(), before)
    finally:
        draft.unlink(missing_ok=True)
    echo(f"{before.path} is kept")


def _run_editor(draft: str) -> None:
    """Runs the person's own editor to its end; Ctrl-C in it is the editor's."""
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(chosen) or ["vi"]
        process = subprocess.Popen([*words, draft], stderr=error_stream())
    except (OSError, ValueError) as error:  # ValueError: a quotation mark too few
        raise UsageError(f"{chosen} cannot be started ({error}): set EDITOR to your editor") from error
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        code = process.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    if code:
        raise UsageError(f"{words[0]} ended with {code}; nothing was changed")


def _path() -> Path:
    home = Path(settings.home_folder(os.environ))
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    return home / settings.CONFIG_NAME


def _field(name: str) -> settings.Field:
    if name not in _BY_NAME:
        meant = get_close_matches(name, _BY_NAME, n=1)
        hint = f"did you mean {meant[0]}?" if meant else "`howcome config list --all` names them"
        raise UsageError(f"there is no setting {name!r}: {hint}")
    return _BY_NAME[name]


def _state(field: settings.Field) -> dict[str, object]:
    """A setting's name, value, and where that comes from."""
    value = getattr(settings.read_settings(os.environ), field.name)
    is_written = field.name in settings.read_config(settings.home_folder(os.environ))
    place = field.variable if field.variable in os.environ else settings.CONFIG_NAME if is_written else "default"
    return {"name": field.name, "value": value, "from": place, "default": field.default}


def _written(value: object) -> str:
    """A value as `config set` takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(map(shlex.quote, value)) or "(none)"
    return str(value) if value != "" else "(none)"


def _document(before: Snapshot) -> tomlkit.TOMLDocument:
    settings.checked_config(before.data or b"", str(before.path))  # what cannot be read is said, and left as it is
    return tomlkit.parse(before.data.decode() if before.data is not None else _EMPTY)


def _keep(data: bytes, before: Snapshot) -> None:
    """Puts a file that can be read in the place of what was there, unless somebody else wrote it meanwhile."""
    settings.checked_config(data, str(before.path))
    replace_file(before, data)


def _line(one: dict[str, object]) -> str:
    return f"{one['name']} = {_written(one['value'])}  ({one['from']})"


def _say(field: settings.Field, *, as_json: bool) -> None:
    one = _state(field)
    report(one, [_line(one)], as_json=as_json)
    if one["from"] == field.variable and not as_json:
        echo(f"the variable {field.variable} counts more than {settings.CONFIG_NAME}: unset it", err=True)


for _command in (list_, get, set_, unset, edit):
    config.add_command(_command)
