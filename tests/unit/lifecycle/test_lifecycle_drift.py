"""What the user edits stays his; what is old is refreshed; `inspect` tells one from the other."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.lifecycle.wiring import files, put, unwire, values, wire

from howcome.wiring import Owner, inspect, install, parts_of


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
