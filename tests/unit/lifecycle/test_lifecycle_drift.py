"""What the user edits stays his; what is old is refreshed; `inspect` tells one from the other."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.unit.lifecycle.wiring import EVENT_TIMEOUTS, files, put, unwire, values, wire

from howcome.wiring import Owner, install, parts_of
from howcome.wiring.agents import inspect, recorded_owners
from howcome.wiring.atomic_files import digest


def test_a_file_that_the_user_edited_stays(home: Path) -> None:
    """It is kept by install and uninstall; force replaces it and keeps a copy; a touched one is told."""
    wire("claude-code")
    skill = home / ".claude/skills/temporal-recall/SKILL.md"
    ours = skill.read_bytes()
    skill.write_bytes(ours + b"\nMine.\n")
    assert {report.path: report.outcome for report in wire("claude-code")}[skill] == "kept"
    assert [state.state for state in inspect() if state.path == skill] == ["edited"]
    owner = Owner("claude-code")
    forced = {report.path: report for report in install(owner, parts_of(owner), home / ".howcome", force=True)}[skill]
    assert forced.outcome == "replaced"
    assert forced.backup is not None
    assert forced.backup.read_bytes() == ours + b"\nMine.\n"
    assert skill.read_bytes() == ours
    skill.write_bytes(b"mine again")
    outcomes = {report.path: report.outcome for report in unwire("claude-code")}
    assert outcomes[skill] == "kept"
    assert files(home) == {
        ".claude": None,
        ".claude/skills": None,
        ".claude/skills/temporal-recall": None,
        ".claude/skills/temporal-recall/SKILL.md": b"mine again",
    }


def test_an_untouched_file_of_an_earlier_version_is_refreshed(home: Path) -> None:
    """What the record knows as ours gives way to the new words; uninstall removes it."""
    wire("claude-code")
    owner, skill = Owner("claude-code"), home / ".claude/skills/temporal-recall/SKILL.md"
    parts = parts_of(owner)
    index = next(number for number, part in enumerate(parts) if part.path == skill)
    newer = type(parts[index])(skill, b"newer words", "skill")  # type: ignore[call-arg,arg-type]
    assert install(owner, [newer], home / ".howcome")[0].outcome == "changed"
    assert skill.read_bytes() == b"newer words"
    assert wire("claude-code")[index].outcome == "changed"
    unwire("claude-code")
    assert files(home) == {}


def test_a_file_of_somebody_else_in_our_place_comes_back(home: Path) -> None:
    """It is kept without force; with force its bytes are what uninstall restores."""
    name = ".claude/commands/howcome/recall.md"
    put(home, {name: b"theirs"})
    assert "kept" in {report.outcome for report in wire("claude-code")}
    assert (home / name).read_bytes() == b"theirs"
    assert [state.state for state in inspect() if state.path == home / name] == ["foreign"]
    owner = Owner("claude-code")
    install(owner, parts_of(owner), home / ".howcome", force=True)
    assert (home / name).read_bytes() != b"theirs"
    unwire("claude-code")
    assert {path: data for path, data in files(home).items() if data is not None} == {name: b"theirs"}


def test_an_entry_that_the_user_edited_stays_as_long_as_it_works(home: Path) -> None:
    """A longer timeout or a variable more stays; a server of another interpreter is pointed to this one."""
    wire("claude-code")
    state = values(home / ".claude.json")
    server = state["mcpServers"]["howcome"]
    server["env"] = {"MINE": "1"}
    (home / ".claude.json").write_text(json.dumps(state))
    assert {found.state for found in inspect() if found.path == home / ".claude.json"} == {"edited"}
    assert {report.outcome for report in wire("claude-code")} == {"unchanged"}
    server["command"] = "/gone/python"
    (home / ".claude.json").write_text(json.dumps(state))
    assert {found.state for found in inspect() if found.path == home / ".claude.json"} == {"outdated"}
    wire("claude-code")
    repaired = values(home / ".claude.json")["mcpServers"]["howcome"]
    assert repaired["command"] != "/gone/python"
    assert repaired["env"] == {"MINE": "1"}
    unwire("claude-code")
    assert files(home) == {}


def test_inspect_tells_what_is_wrong_with_each_part(home: Path) -> None:
    """Missing, invalid, outdated; one broken file does not hide the others; nothing is written."""
    wire("claude-code")
    (home / ".claude.json").write_text('{"mcpServers": ')
    (home / ".claude/commands/howcome/recall.md").unlink()
    settings = values(home / ".claude/settings.json")
    del settings["hooks"]["Stop"]
    settings["hooks"]["SessionEnd"][0]["hooks"][0]["command"] = settings["hooks"]["SessionEnd"][0]["hooks"][0][
        "command"
    ].replace("/python", "/old/python", 1)
    settings["permissions"]["allow"].remove("mcp__howcome__get_context")
    (home / ".claude/settings.json").write_text(json.dumps(settings))
    before = files(home)
    wrong = {(found.path.name, found.what): found.state for found in inspect() if found.state != "ok"}
    assert wrong == {
        ("settings.json", "hooks Stop"): "missing",
        ("settings.json", "hooks SessionEnd"): "outdated",
        ("settings.json", "permissions mcp__howcome__get_context"): "missing",
        (".claude.json", "MCP server"): "invalid",
        ("recall.md", "/howcome:recall"): "missing",
    }
    detail = next(found.detail for found in inspect() if found.state == "invalid")
    assert "line 1, column" in detail
    assert files(home) == before


def test_inspect_without_a_record_looks_where_init_would_write(home: Path) -> None:
    """Nothing installed is missing, not an error."""
    assert {found.state for found in inspect()} == {"missing"}
    wire("claude-code")
    for record in (home / ".howcome" / "installs").iterdir():
        record.unlink()
    assert {found.state for found in inspect()} == {"ok"}


# ---------------------------------------------------------------- installs of howcome 0.1


def installed_by_the_first_version(home: Path, original: bytes | None) -> bytes:
    """Hooks of an older howcome in the settings, with the record and backup that it kept; the file's bytes."""
    put(home, {".claude/settings.json": original or b""})
    commands = {event: f"/old/python -I -S -E /old/launch.py {event}" for event in EVENT_TIMEOUTS}
    document = json.loads(original or b"{}")
    for event, command in commands.items():
        handler = {"type": "command", "command": command, "timeout": 9}
        document.setdefault("hooks", {}).setdefault(event, []).append({"hooks": [handler]})
    data = json.dumps(document, indent=2).encode()
    key = digest(os.fsencode(os.path.realpath(home / ".claude")))[:16]
    record = {
        "settings": str(home / ".claude/settings.json"),
        "existed": original is not None,
        "mode": 0o644,
        "written_sha256": [digest(data)],
        "commands": sorted(commands.values()),
        "created_directories": [],
        "version": 1,
        "original_sha256": None if original is None else digest(original),
    }
    files = {f".howcome/installs/{key}.json": json.dumps(record).encode(), ".claude/settings.json": data}
    if original is not None:
        files[f".howcome/installs/{key}-{digest(original)[:16]}.original"] = original
    put(home, files)
    return data


@pytest.mark.parametrize(
    "original", [b'{"model":"opus" , "hooks": {"Stop": []}}', None], ids=["with a file", "without"]
)
@pytest.mark.parametrize("refreshed", [True, False])
def test_an_install_of_the_first_version_is_known(home: Path, original: bytes | None, *, refreshed: bool) -> None:
    """Its commands are refreshed in place, and its backup is what uninstall restores; no old record stays."""
    installed_by_the_first_version(home, original)
    assert recorded_owners() == [Owner("claude-code")]
    if refreshed:
        wire("claude-code")
        text = (home / ".claude/settings.json").read_text()
        assert "/old/" not in text
        assert text.count('"type": "command"') == len(EVENT_TIMEOUTS)
        assert {found.state for found in inspect()} <= {"ok", "edited"}
    unwire("claude-code")
    kept = {} if original is None else {".claude/settings.json": original}
    assert {name: data for name, data in files(home).items() if data is not None} == kept
    assert not (home / ".howcome" / "installs").exists()


def test_an_install_of_the_first_version_that_others_changed_is_cut(home: Path) -> None:
    """Only its hooks go from a file that somebody else wrote since."""
    data = installed_by_the_first_version(home, b"{}")
    (home / ".claude/settings.json").write_bytes(json.dumps({**json.loads(data), "theirs": 1}).encode())
    unwire("claude-code")
    assert values(home / ".claude/settings.json") == {"theirs": 1}
