"""The hooks go into a settings file and out again, and not a byte of its user's is lost."""

import codecs
import json
import os
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples
from tests.unit.lifecycle.wiring import EVENT_TIMEOUTS

from howcome.clients.wiring import Entry
from howcome.errors import LifecycleError
from howcome.wiring import FileReport, Owner, engine, hook_command
from howcome.wiring.atomic_files import FileChangedError, read_snapshot, remove_file, replace_file
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.parts import Merged

INSTALL = (
    "import hashlib, shutil\n"  # another user may not be able to read Python's own folder later
    "from howcome.wiring import Owner, engine, parts_of\n"
    "from howcome.wiring.parts import Merged\n"
    "HOOKS = tuple(one for part in parts_of(Owner('claude-code')) for one in part.entries if one.kind == 'hook')\n"
    "def install(config, state):\n"
    "    engine.install(Owner('claude-code'), [Merged(config / 'settings.json', HOOKS)], state)\n"
)
"""Puts hooks into a settings file, for a program of its own."""

SOURCE = Path(__file__).parents[3] / "src"
USER = Owner("claude-code")
OTHER_HOOKS = {
    "model": "opus",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say done"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "check", "timeout": 3}]}],
        "SessionEnd": [],
    },
    "permissions": {"allow": ["Bash(git log:*)"]},
}
BIG = {f"key {number}": {"list": list(range(20)), "text": "x" * 40} for number in range(800)}

ORIGINALS: dict[str, bytes] = {
    "empty object": b"{}",
    "empty object with a newline": b"{}\n",
    "empty object over two lines": b"{\n}\n",
    "blank": b"\r\n",
    "no bytes": b"",
    "two spaces": json.dumps(OTHER_HOOKS, indent=2).encode() + b"\n",
    "four spaces, no newline at the end": json.dumps(OTHER_HOOKS, indent=4).encode(),
    "tabs": json.dumps(OTHER_HOOKS, indent="\t").encode() + b"\n\n",
    "no indentation": json.dumps(OTHER_HOOKS, indent=0).encode(),
    "compact": json.dumps(OTHER_HOOKS, separators=(",", ":")).encode(),
    "one line with spaces": json.dumps(OTHER_HOOKS).encode() + b"\n",
    "CRLF": json.dumps(OTHER_HOOKS, indent=2).replace("\n", "\r\n").encode() + b"\r\n",
    "byte order mark": codecs.BOM_UTF8 + json.dumps(OTHER_HOOKS, indent=2).encode(),
    "unicode and escapes": '{"é": "日本 🙂", "b": "\\u00e9 \\ud800 \\/", "c": "\u2028"}\n'.encode(),
    "numbers that change when written anew": b'{"a": 1e5, "b": 1E400, "c": 1.10, "d": ' + b"9" * 5000 + b"}",
    "equal keys": b'{"a": 1, "a": 2, "hooks": {"Stop": []}, "hooks": {"Stop": [ ]}}',
    "untidy": b'\n {"a":1 ,\n\n"hooks" : {"Stop" :[ ] , "x": [\n{"hooks":[]}]}\t}  \n',
    "empty hooks": b'{"hooks": {}}',
    "big": json.dumps(BIG, indent=2).encode(),
}


def number(digits: str) -> object:
    """An integer, unless Python refuses one of that size."""
    return int(digits) if len(digits) < 1000 else digits


class Place:
    """A settings file and a memory directory in a fresh temporary directory."""

    def __init__(self, root: Path) -> None:
        self.config = root / "home" / ".claude"
        self.state = root / "state"
        self.settings = self.config / "settings.json"

    def write(self, data: bytes, mode: int = 0o644) -> None:
        """Put an original in place."""
        self.config.mkdir(parents=True, exist_ok=True)
        self.settings.write_bytes(data)
        self.settings.chmod(mode)

    def document(self) -> dict[str, object]:
        """The settings as the agent reads them."""
        document: dict[str, object] = json.loads(self.settings.read_text("utf-8-sig"), parse_int=number)
        return document

    def files(self) -> list[str]:
        """Every name in the configuration directory."""
        return sorted(os.listdir(self.config))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty place."""
    return Place(tmp_path)


class Commands(JsonEntries):
    """Hooks whose commands are made when the file is merged."""

    def __init__(self, of: Callable[[str], str]) -> None:
        super().__init__()
        self.of = of

    def merged(self, text: str, wanted: Sequence[Entry], *rest: object) -> str:
        """Makes the commands, which may take a while."""
        for entry in wanted:
            self.of(entry.path[-1])
        return super().merged(text, wanted, *rest)  # type: ignore[arg-type]


def hooks_part(config: Path, of: Callable[[str], str]) -> Merged:
    """Hooks in a settings file."""
    entries = tuple(
        Entry("hook", ("hooks", event), {"type": "command", "command": of(event), "timeout": timeout})
        for event, timeout in EVENT_TIMEOUTS.items()
    )
    return Merged(config / "settings.json", entries, Commands(of))


def install(config: Path, state: Path, of: Callable[[str], str]) -> FileReport:
    """Put hooks into a settings file."""
    return engine.install(USER, [hooks_part(config, of)], state)[0]


def uninstall(config: Path, state: Path) -> FileReport:
    """Take them out."""
    return engine.uninstall([(USER, [hooks_part(config, hook_command)])], state)[0]


def changed(report: FileReport) -> bool:
    """Whether a file was written."""
    return report.outcome in ("created", "changed")


def command(event: str) -> str:
    """A hook command of some interpreter."""
    return f"/usr/bin/python /lib/howcome/launch.py {event}"


def moved(event: str) -> str:
    """The same hook command after the interpreter moved."""
    return f"/opt/my python/bin/python /lib/howcome/launch.py {event}"


def ours(document: dict[str, object], of: Callable[[str], str] = command) -> dict[str, int]:
    """How often each event runs our command."""
    hooks = document["hooks"]
    assert isinstance(hooks, dict)
    return {
        event: sum(handler.get("command") == of(event) for group in groups for handler in group["hooks"])
        for event, groups in hooks.items()
        if event in EVENT_TIMEOUTS
    }


def mode_of(path: Path) -> int:
    """The permission bits of a file."""
    return stat.S_IMODE(path.stat().st_mode)


# ---------------------------------------------------------------- round trips


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o664])
@pytest.mark.parametrize("original", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_every_original_comes_back_byte_for_byte(place: Place, original: bytes, mode: int) -> None:
    """Install adds each event once and keeps the mode; uninstall restores bytes and mode and leaves no file."""
    place.write(original, mode)
    report = install(place.config, place.state, command)
    assert changed(report)
    assert report.backup is not None
    assert report.backup.read_bytes() == original
    assert ours(place.document()) == dict.fromkeys(EVENT_TIMEOUTS, 1)
    assert mode_of(place.settings) == mode
    undone = uninstall(place.config, place.state)
    assert (undone.outcome, undone.backup) == ("restored", None)
    assert place.settings.read_bytes() == original
    assert mode_of(place.settings) == mode
    assert place.files() == ["settings.json"]
    assert list(place.state.iterdir()) == []


@pytest.mark.parametrize("original", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_the_users_part_keeps_its_text(place: Place, original: bytes) -> None:
    """The original text is still there, in order, around what was inserted."""
    place.write(original)
    install(place.config, place.state, command)
    rest = iter(place.settings.read_bytes())
    assert all(byte in rest for byte in original.strip())


def test_a_missing_file_is_made_and_removed_with_the_directories_made_for_it(place: Place) -> None:
    """A deep configuration directory that did not exist is gone again after uninstall."""
    assert install(place.config, place.state, command).outcome == "created"
    assert place.settings.read_bytes().endswith(b"}\n")
    assert mode_of(place.settings) == 0o600
    assert uninstall(place.config, place.state).outcome == "removed"
    assert not place.config.parent.exists()


def test_a_directory_that_is_used_meanwhile_stays(place: Place) -> None:
    """Only empty directories are removed."""
    install(place.config, place.state, command)
    (place.config / "history.jsonl").write_text("mine")
    assert uninstall(place.config, place.state).outcome == "removed"
    assert place.files() == ["history.jsonl"]


def test_a_linked_settings_file_is_edited_where_it_is(place: Place, tmp_path: Path) -> None:
    """The link into a dotfiles repository stays a link, and its target gets its bytes back."""
    target = tmp_path / "dotfiles" / "claude.json"
    target.parent.mkdir()
    target.write_bytes(ORIGINALS["tabs"])
    place.config.mkdir(parents=True)
    place.settings.symlink_to("../../dotfiles/claude.json")
    install(place.config, place.state, command)
    assert place.settings.is_symlink()
    assert ours(json.loads(target.read_bytes())) == dict.fromkeys(EVENT_TIMEOUTS, 1)
    uninstall(place.config, place.state)
    assert place.settings.is_symlink()
    assert target.read_bytes() == ORIGINALS["tabs"]
    assert os.listdir(target.parent) == ["claude.json"]


def test_a_link_to_nowhere_stays_a_link_to_nowhere(place: Place, tmp_path: Path) -> None:
    """The missing target is made and removed again."""
    place.config.mkdir(parents=True)
    place.settings.symlink_to(tmp_path / "later.json")
    install(place.config, place.state, command)
    assert (tmp_path / "later.json").is_file()
    uninstall(place.config, place.state)
    assert place.settings.is_symlink()
    assert not place.settings.exists()


def test_what_is_inserted_looks_like_the_rest(place: Place) -> None:
    """Indentation and line ends of the new entries are those of the file."""
    place.write(b'{\r\n\t"a": {},\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}\r\n')
    install(place.config, place.state, lambda event: f"run {event}")
    text = place.settings.read_bytes().decode()
    assert text.count("\n") == text.count("\r\n")
    expected = '\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n\t\t\t\t\t\t"type": "command",\n'
    assert expected in text.replace("\r\n", "\n")
    place.write(b'{"a":1}')
    install(place.config, place.state, lambda event: f"run {event}")
    assert b" " not in place.settings.read_bytes().replace(b"run ", b"")


def test_backup_and_record_are_private(place: Place) -> None:
    """Settings can hold keys: nobody else may read their backup."""
    place.write(b'{"env": {"KEY": "secret"}}')
    install(place.config, place.state, command)
    kept = list((place.state / "installs").iterdir())
    assert {path.suffix for path in kept} == {".json", ".original"}
    assert {mode_of(path) for path in kept} == {0o600}
    assert mode_of(place.state) == mode_of(place.state / "installs") == 0o700
    record = json.loads(next(path for path in kept if path.suffix == ".json").read_bytes())
    assert record["version"] == 2
    assert record["path"] == str(place.settings)
    assert record["existed"] is True


# ---------------------------------------------------------------- any settings, any change in between

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
handlers = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text()}, optional={"timeout": st.integers()}
)
groups = st.fixed_dictionaries({"hooks": st.lists(handlers, max_size=2)}, optional={"matcher": st.text(max_size=5)})
hook_tables = st.dictionaries(st.sampled_from([*EVENT_TIMEOUTS, "PreToolUse"]), st.lists(groups, max_size=2))
documents = st.builds(
    lambda rest, hooks: rest | hooks,
    st.dictionaries(st.text().filter(lambda key: key != "hooks"), json_values, max_size=4),
    st.just({}) | st.fixed_dictionaries({"hooks": hook_tables}),
)
layouts = st.fixed_dictionaries(
    {
        "indent": st.sampled_from([None, 0, 1, 2, 4, "\t"]),
        "ensure_ascii": st.booleans(),
        "separators": st.sampled_from([(",", ":"), (", ", ": "), (",", ": ")]),
    }
)


@contextmanager
def fresh_place() -> Iterator[Place]:
    """A place for one hypothesis example."""
    with tempfile.TemporaryDirectory() as root:
        yield Place(Path(root))


@given(documents, layouts, st.sampled_from(["", "\n", "\r\n"]))
@settings(deadline=None, max_examples=examples(60))
def test_any_settings_survive_a_round_trip(document: dict[str, object], layout: dict[str, object], end: str) -> None:
    """Installed: the document plus our entries, installed once; uninstalled: the same bytes."""
    original = (json.dumps(document, **layout) + end).encode("utf-8", "surrogatepass")  # type: ignore[arg-type]
    with fresh_place() as place:
        place.write(original)
        install(place.config, place.state, command)
        now = place.document()
        assert list(now)[: len(document)] == list(document)
        assert {key: now[key] for key in document if key != "hooks"} == {
            key: value for key, value in document.items() if key != "hooks"
        }
        assert ours(now) == dict.fromkeys(EVENT_TIMEOUTS, 1)
        assert not changed(install(place.config, place.state, command))
        uninstall(place.config, place.state)
        assert place.settings.read_bytes() == original


@given(documents, layouts, groups, st.sampled_from([*EVENT_TIMEOUTS, "PreToolUse"]), st.booleans(), layouts)
@settings(deadline=None, max_examples=examples(60))
def test_a_hook_added_meanwhile_stays(
    document: dict[str, object],
    layout: dict[str, object],
    group: dict[str, object],
    event: str,
    first: bool,
    new_layout: dict[str, object],
) -> None:
    """After somebody else's change in any layout, uninstall leaves the original plus that change."""
    with fresh_place() as place:
        place.write(json.dumps(document, **layout).encode())  # type: ignore[arg-type]
        install(place.config, place.state, command)
        for target in (changed := place.document(), document):
            listed = target.setdefault("hooks", {}).setdefault(event, [])  # type: ignore[attr-defined]
            listed.insert(0 if first else len(listed), group)
        place.settings.write_text(json.dumps(changed, **new_layout))  # type: ignore[arg-type]
        uninstall(place.config, place.state)
        assert place.document() == document
        assert list(place.document()) == list(document)


# ---------------------------------------------------------------- somebody else wrote to it


def test_only_our_text_is_cut_from_a_changed_file(place: Place) -> None:
    """Beside a change of somebody else, all of the original text is back."""
    place.write(ORIGINALS["two spaces"])
    install(place.config, place.state, command)
    data = place.settings.read_bytes().replace(b'"opus"', b'"sonnet"')
    place.settings.write_bytes(data)
    report = uninstall(place.config, place.state)
    assert report.outcome == "edited"
    assert report.backup is not None
    assert report.backup.read_bytes() == ORIGINALS["two spaces"]
    assert place.settings.read_bytes() == ORIGINALS["two spaces"].replace(b'"opus"', b'"sonnet"')


def test_a_handler_moved_into_our_group_stays(place: Place) -> None:
    """A group of ours that somebody else uses too loses our handler only."""
    install(place.config, place.state, command)
    document = place.document()
    other = {"type": "command", "command": "theirs"}
    document["hooks"]["Stop"][0]["hooks"].append(other)  # type: ignore[index]
    place.settings.write_text(json.dumps(document))
    uninstall(place.config, place.state)
    assert place.document() == {"hooks": {"Stop": [{"hooks": [other]}]}}


def test_a_file_of_ours_that_was_only_laid_out_anew_is_removed(place: Place) -> None:
    """A file that holds nothing but our entries did not exist before us, however it looks now."""
    install(place.config, place.state, command)
    place.settings.write_text(json.dumps(place.document()))
    assert uninstall(place.config, place.state).outcome == "removed"
    assert not place.settings.exists()


def test_containers_of_the_original_stay(place: Place) -> None:
    """Empty objects and lists that were there before us are there after us."""
    place.write(b'{"hooks": {"Stop": [{"hooks": []}], "SessionEnd": []}}')
    install(place.config, place.state, command)
    place.settings.write_text(json.dumps(place.document(), indent=1))
    assert uninstall(place.config, place.state).outcome == "edited"
    assert place.document() == {"hooks": {"Stop": [{"hooks": []}], "SessionEnd": []}}


def test_a_change_between_two_installs_is_not_undone(place: Place) -> None:
    """The second install keeps the user's change in what it would restore, and the first backup stays."""
    place.write(b'{"a": 1}')
    first = install(place.config, place.state, command).backup
    place.settings.write_bytes(place.settings.read_bytes().replace(b'"a": 1', b'"a": 2'))
    install(place.config, place.state, moved)
    assert uninstall(place.config, place.state).outcome == "restored"
    assert place.settings.read_bytes() == b'{"a": 2}'
    assert first is not None
    assert first.read_bytes() == b'{"a": 1}'


def test_hooks_that_the_user_took_out_are_not_missed(place: Place) -> None:
    """After a removal by hand, uninstall has nothing to do and install starts anew."""
    place.write(b'{"a": 1}')
    install(place.config, place.state, command)
    place.settings.write_bytes(b'{"a": 3}')
    install(place.config, place.state, command)
    assert uninstall(place.config, place.state).outcome == "restored"
    assert place.settings.read_bytes() == b'{"a": 3}'
    install(place.config, place.state, command)
    place.settings.write_bytes(b'{"a": 4}')
    assert uninstall(place.config, place.state).outcome == "nothing"
    assert place.settings.read_bytes() == b'{"a": 4}'


def test_without_a_record_the_shape_of_the_command_tells(place: Place) -> None:
    """With the memory directory gone, our entries still come out and look-alikes stay."""
    launcher = "/x y/howcome/launch.py"
    theirs = {"type": "command", "command": f"wc -l '{launcher}' Stop 2>/dev/null || true"}
    broken = {"type": "command", "command": f"echo '{launcher}"}
    document = {"hooks": {"Stop": [{"hooks": [theirs, broken]}]}}
    place.write(json.dumps(document).encode())
    install(place.config, place.state / "lost", hook_command)
    assert uninstall(place.config, place.state).outcome == "edited"
    assert place.document() == document
    assert uninstall(place.config, place.state).outcome == "nothing"


def test_install_over_entries_without_a_record_can_be_undone(place: Place) -> None:
    """The original is worked out when our entries are there and the record is lost."""
    original = ORIGINALS["tabs"].replace(b'"SessionEnd": []', b'"Notification": []')
    place.write(original)
    install(place.config, place.state / "lost", hook_command)
    assert not changed(install(place.config, place.state, hook_command))
    uninstall(place.config, place.state)
    assert place.settings.read_bytes() == original


@pytest.mark.parametrize("damage", [b"", b"{", b'{"version": 3}', b'{"version": 2}', b'{"version": 1}', b"[]", b"\xff"])
def test_a_damaged_record_is_no_obstacle(place: Place, damage: bytes) -> None:
    """With an unreadable record uninstall goes by the shape of the command."""
    place.write(b'{"a": 1}')
    install(place.config, place.state, hook_command)
    next((place.state / "installs").glob("*.json")).write_bytes(damage)
    assert uninstall(place.config, place.state).outcome == "edited"
    assert place.settings.read_bytes() == b'{"a": 1}'


@pytest.mark.parametrize("damage", [None, b"", b'{"a": 9}'])
def test_a_damaged_backup_is_never_restored(place: Place, damage: bytes | None) -> None:
    """With a lost or changed backup our entries are cut instead."""
    place.write(b'{"a": 1}')
    backup = install(place.config, place.state, command).backup
    assert backup is not None
    backup.unlink() if damage is None else backup.write_bytes(damage)
    assert uninstall(place.config, place.state).outcome == "edited"
    assert place.settings.read_bytes() == b'{"a": 1}'


# ---------------------------------------------------------------- again, moved, at the same time


def test_a_second_install_changes_nothing(place: Place) -> None:
    """Neither the settings nor the record are written again."""
    place.write(ORIGINALS["two spaces"])
    install(place.config, place.state, command)
    files = [place.settings, *(place.state / "installs").iterdir()]
    before = [(path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    assert not changed(install(place.config, place.state, command))
    assert [(path.read_bytes(), path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == before


@pytest.mark.parametrize("original", ORIGINALS.values(), ids=ORIGINALS.keys())
def test_a_moved_interpreter_replaces_our_entries_in_place(place: Place, original: bytes) -> None:
    """New commands take the places of the old ones, and the first backup is what uninstall restores."""
    place.write(original)
    install(place.config, place.state, command)
    before = place.settings.read_text("utf-8-sig")
    assert changed(install(place.config, place.state, moved))
    after = place.settings.read_text("utf-8-sig")
    assert after == before.replace("/usr/bin/python", "/opt/my python/bin/python")
    uninstall(place.config, place.state)
    assert place.settings.read_bytes() == original


def test_a_crash_before_the_second_write_loses_nothing(place: Place) -> None:
    """With the record of a write that never came, the earlier write is still known as ours."""
    place.write(ORIGINALS["empty object over two lines"])
    install(place.config, place.state, command)
    installed = place.settings.read_bytes()
    install(place.config, place.state, moved)
    place.settings.write_bytes(installed)
    assert uninstall(place.config, place.state).outcome == "restored"
    assert place.settings.read_bytes() == ORIGINALS["empty object over two lines"]


def test_a_write_between_our_read_and_our_write_is_kept(place: Place) -> None:
    """Install starts over when the file changes under it."""
    place.write(b'{"a": 1}')

    def busy(event: str) -> str:
        if place.settings.read_bytes() == b'{"a": 1}':
            place.settings.write_bytes(b'{"b": 2}')
        return command(event)

    install(place.config, place.state, busy)
    assert place.document()["b"] == 2
    uninstall(place.config, place.state)
    assert place.settings.read_bytes() == b'{"b": 2}'


def test_a_file_that_never_rests_is_left_alone(place: Place) -> None:
    """Install gives up with a message after some attempts."""
    place.write(b"{}")
    versions = iter(range(10_000))

    def busier(event: str) -> str:
        place.settings.write_text(json.dumps({"version": next(versions)}))
        return command(event)

    with pytest.raises(LifecycleError, match="keeps changing"):
        install(place.config, place.state, busier)
    assert list(place.document()) == ["version"]
    assert place.files() == ["settings.json"]


def test_replacing_and_removing_check_the_file_first(tmp_path: Path) -> None:
    """A file that is no longer what was read is neither replaced nor removed."""
    path = tmp_path / "settings.json"
    missing = read_snapshot(path)
    path.write_bytes(b"theirs")
    with pytest.raises(FileChangedError):
        replace_file(missing, b"ours")
    with pytest.raises(FileChangedError):
        remove_file(missing)
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["settings.json"]


# ---------------------------------------------------------------- refusals

REFUSED: dict[str, tuple[bytes, str]] = {
    "not JSON": (b'{\n  "a": 1,\n}', "line 3, column 1"),
    "cut off": (b'{"a": ', "line 1"),
    "comment": (b"{} // mine", "line 1, column 4"),
    "not a number": (b'{"NaN": "NaN",\n "a": NaN}', "line 2, column 7"),
    "not an object": (b"\n[]", "line 2, column 1: The settings must be a JSON object"),
    "hooks not an object": (b'{"hooks": []}', "line 1, column 11: `hooks` must be an object"),
    "event not a list": (b'{"hooks":\n{"Other": {}}}', "line 2, column 11: `hooks.Other` must be a list"),
    "not UTF-8": (b'{\n"a": "\xe9"}', "line 2, column 7: not UTF-8"),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    "too deep": (b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "cannot be read as JSON"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_edited_safely_is_refused(place: Place, data: bytes, message: str) -> None:
    """The message names file, place and remedy, and nothing is written anywhere."""
    place.write(data)
    with pytest.raises(LifecycleError) as refusal:
        install(place.config, place.state, command)
    for part in (str(place.settings), message, "try again", "Nothing was written"):
        assert part in str(refusal.value)
    assert place.settings.read_bytes() == data
    assert place.files() == ["settings.json"]
    assert not place.state.exists()


def test_uninstall_refuses_a_broken_file_too(place: Place) -> None:
    """A file that somebody broke after the install is left as it is, with its record."""
    install(place.config, place.state, command)
    place.settings.write_bytes(b'{"hooks": ')
    with pytest.raises(LifecycleError, match="line 1"):
        uninstall(place.config, place.state)
    assert place.settings.read_bytes() == b'{"hooks": '
    assert list((place.state / "installs").glob("*.json"))


def test_places_that_are_no_files_are_refused(place: Place, tmp_path: Path) -> None:
    """A directory, a device, a FIFO, a loop of links or a file as directory gives a message and no wait."""
    place.config.mkdir(parents=True)

    def refused() -> None:
        with pytest.raises(LifecycleError, match="Nothing was written"):
            install(place.config, place.state, command)
        assert place.files() == ["settings.json"]

    place.settings.mkdir()
    refused()
    place.settings.rmdir()
    os.mkfifo(place.settings)
    refused()
    for target in ("/dev/null", "settings.json", "missing/settings.json"):
        place.settings.unlink()
        place.settings.symlink_to(target)
        refused()
    place.settings.unlink()
    file = tmp_path / "file"
    file.write_text("x")
    for config, state in ((file, place.state), (place.config, file)):
        with pytest.raises(LifecycleError, match=r"Not a directory|File exists"):
            install(config, state, command)
    assert place.files() == []


def test_a_directory_that_may_not_be_written_gives_a_message(place: Place) -> None:
    """Without the permission nothing is changed and no temporary file stays."""
    place.write(b'{"a": 1}')
    place.config.chmod(0o500)
    program = (
        "import os, sys; from pathlib import Path\n"
        "from howcome.errors import LifecycleError\n" + INSTALL + "config, state = map(Path, sys.argv[1:])\n"
        "if os.geteuid() == 0:\n"
        "    for path in (config.parents[1], config.parent, config, config / 'settings.json'):\n"
        "        os.chown(path, 65534, -1)\n"
        "    os.chdir(config.parents[1]); os.seteuid(65534)\n"
        "    config, state = Path('home/.claude'), Path('state')\n"
        "try: install(config, state)\n"
        "except LifecycleError as error: print(error)\n"
    )
    result = run_python(program, place.config, place.state)
    assert "Permission denied" in result
    assert place.settings.read_bytes() == b'{"a": 1}'
    place.config.chmod(0o700)
    assert place.files() == ["settings.json"]


def test_a_folder_that_may_not_be_written_keeps_the_files_before_it_as_they_were() -> None:
    """The plan finds it: the first file could be written, and is not."""
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can be entered by their owner only
        root = Path(name)
        for folder in ("first", "second"):
            (root / folder).mkdir()
            (root / folder / "settings.json").write_bytes(b"{}")
        (root / "second").chmod(0o500)
        program = (
            "import os, sys; from pathlib import Path\n"
            "from howcome.errors import LifecycleError\n" + INSTALL + "root = sys.argv[1]\n"
            "if os.geteuid() == 0:\n"
            "    for folder, _, names in os.walk(root):\n"
            "        for name in ('', *names): os.chown(os.path.join(folder, name), 65534, -1)\n"
            "    os.seteuid(65534)\n"
            "parts = [Merged(Path(root, name, 'settings.json'), HOOKS) for name in ('first', 'second')]\n"
            "try: engine.install(Owner('claude-code'), parts, Path(root, 'state'))\n"
            "except LifecycleError as error: print(error)\n"
        )
        said = run_python(program, root)
        (root / "second").chmod(0o700)
        assert "second: Permission denied" in said
        assert (root / "first" / "settings.json").read_bytes() == b"{}"
        assert not (root / "state").exists()


def test_a_file_of_another_user_keeps_the_files_before_it_as_they_were() -> None:
    """It could be replaced, but not given back to its owner: the plan finds that, for install and uninstall."""
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders can be entered by their owner only
        root = Path(name)
        for folder in ("first", "second"):
            (root / folder).mkdir()
            (root / folder / "settings.json").write_bytes(b"{}")
            (root / folder / "settings.json").chmod(0o644)
        for path in (root, root / "first", root / "second", root / "first" / "settings.json"):
            os.chown(path, 65534, -1)
        program = (
            "import os, sys; from pathlib import Path\n"
            "from howcome.errors import LifecycleError\n" + INSTALL + "root = sys.argv[1]\n"
            "os.seteuid(65534)\n"
            "parts = [Merged(Path(root, name, 'settings.json'), HOOKS) for name in ('first', 'second')]\n"
            "try: engine.install(Owner('claude-code'), parts, Path(root, 'state'))\n"
            "except LifecycleError as error: print(error)\n"
            "os.seteuid(0); os.chown(Path(root, 'second', 'settings.json'), 65534, -1); os.seteuid(65534)\n"
            "engine.install(Owner('claude-code'), parts, Path(root, 'state'))\n"
            "os.seteuid(0); os.chown(Path(root, 'second', 'settings.json'), 0, -1); os.seteuid(65534)\n"
            "now = Path(root, 'first', 'settings.json').read_bytes()\n"
            "try: engine.uninstall([(Owner('claude-code'), parts)], Path(root, 'state'))\n"
            "except LifecycleError as error: print(error, now == Path(root, 'first', 'settings.json').read_bytes())\n"
        )
        installed, undone = run_python(program, root).splitlines()
        assert "second/settings.json: The file belongs to another user" in installed
        assert "second/settings.json: The file belongs to another user" in undone
        assert undone.endswith("True")


def test_a_full_disk_loses_nothing(place: Place) -> None:
    """A write that fails at any size leaves settings and directories as they were."""
    original = json.dumps(BIG).encode()
    place.write(original)
    program = (
        "import resource, sys; from pathlib import Path\n"
        "from howcome.errors import LifecycleError\n"
        + INSTALL
        + "config, state, size = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))\n"
        "try: install(config, state)\n"
        "except LifecycleError as error: print(error)\n"
    )
    for size in (0, 100, len(original) - 1, len(original) + 100):
        assert "File too large" in run_python(program, place.config, place.state, size)
        assert place.settings.read_bytes() == original
        assert place.files() == ["settings.json"]
    install(place.config, place.state, command)
    assert uninstall(place.config, place.state).outcome == "restored"
    assert place.settings.read_bytes() == original


def run_python(program: str, *arguments: object, executable: str = sys.executable, name: str = "python") -> str:
    """What a program prints in a process of its own."""
    words = [name if executable != sys.executable else executable, "-c", program, *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONDONTWRITEBYTECODE": "1"}  # some limit file sizes
    return subprocess.run(
        words, executable=executable, env=environment, stdout=subprocess.PIPE, check=True, text=True
    ).stdout


# ---------------------------------------------------------------- the command


def test_the_command_is_what_the_shell_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute interpreter without following links, isolated, launcher, event, and an end that always exits 0."""
    monkeypatch.delenv("HOWCOME_HOME", raising=False)
    launcher = SOURCE / "howcome" / "launch.py"
    expected = f"{shlex.quote(sys.executable)} -I -S -E {shlex.quote(str(launcher))} Stop 2>/dev/null || true"
    assert hook_command("Stop") == expected
    monkeypatch.setenv("HOWCOME_HOME", "/data/it's here")
    assert hook_command("Stop") == f"HOWCOME_HOME='/data/it'\"'\"'s here' {expected}"


def test_the_default_home_is_not_spelled_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """HOWCOME_HOME set to the default, or to nothing, adds nothing to the command."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", str(tmp_path / ".howcome"), "~/.howcome"):
        monkeypatch.setenv("HOWCOME_HOME", value)
        assert "HOWCOME_HOME" not in hook_command("Stop")


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The hook runs in another directory than `init`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOWCOME_HOME", "mem")
    assert hook_command("Stop").startswith(f"HOWCOME_HOME={tmp_path}/mem ")


def test_a_shim_script_is_never_the_interpreter(tmp_path: Path) -> None:
    """Started under the name of a shell script, the command names a real interpreter."""
    shim = tmp_path / "shims" / "python3"
    shim.parent.mkdir()
    shim.write_text('#!/bin/sh\nexec real "$@"\n')
    shim.chmod(0o755)
    program = "from howcome.wiring import hook_command; print(hook_command('Stop'))"
    printed = run_python(program, executable=os.path.realpath(sys.executable), name=str(shim))
    interpreter = next(word for word in shlex.split(printed) if not word.startswith("HOWCOME_HOME"))
    assert "shims" not in interpreter
    assert subprocess.run([interpreter, "-c", ""], check=False).returncode == 0


@pytest.mark.parametrize("name", ["two words", 'it\'s "quoted"', "日本 🙂", "new\nline", "$HOME `id` \\ ; & *", "-rf"])
def test_hostile_directory_names_survive_the_shell(place: Place, tmp_path: Path, name: str) -> None:
    """The command, read back from the settings and run by `sh -c`, reaches the launcher and the right home."""
    package = tmp_path / name / "howcome"
    package.mkdir(parents=True)
    for room in ("clients", "wiring"):
        shutil.copytree(SOURCE / "howcome" / room, package / room)
    for module in ("__init__.py", "errors.py", "files.py"):
        (package / module).write_bytes((SOURCE / "howcome" / module).read_bytes())
    (package / "launch.py").write_text(
        "import os, sys; print(ascii([sys.argv[0], sys.argv[1], os.environ['HOWCOME_HOME']]))"
    )
    program = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        + INSTALL
        + "install(Path(sys.argv[2]), Path(sys.argv[3]))\n"
    )
    environment = os.environ | {"HOWCOME_HOME": str(tmp_path / name / "memory")}
    arguments = [sys.executable, "-I", "-c", program, str(package.parent), str(place.config), str(place.state)]
    subprocess.run(arguments, env=environment, check=True)
    installed = place.document()["hooks"]["UserPromptSubmit"][0]["hooks"][0]  # type: ignore[index]
    assert installed["timeout"] == EVENT_TIMEOUTS["UserPromptSubmit"]
    shell = subprocess.run(["sh", "-c", installed["command"]], env={}, capture_output=True, check=True, text=True)
    expected = [str(package / "launch.py"), "UserPromptSubmit", str(package.parent / "memory")]
    assert shell.stdout == ascii(expected) + "\n"
    assert uninstall(place.config, place.state / "no record").outcome == "edited"
    assert place.document() == {}


def test_a_command_left_behind_is_harmless(tmp_path: Path) -> None:
    """With the launcher gone the shell still exits 0 and says nothing."""
    leftover = hook_command("Stop").replace(str(SOURCE), str(tmp_path / "gone"))
    result = subprocess.run(["sh", "-c", leftover], capture_output=True, check=False)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_a_path_that_json_cannot_hold_is_refused(place: Place) -> None:
    """A directory name that is not UTF-8 gives a message."""
    with pytest.raises(LifecycleError, match="not UTF-8"):
        install(place.config, place.state, lambda event: os.fsdecode(b"/caf\xe9/") + event)
    assert not place.settings.exists()
