"""What `recollect init` adds to a user's files, `recollect uninstall` takes away, byte for byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.client import Client, say
from tests.e2e.desk import injected

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.desk import Desk

ODD = (
    '{\t"zeta" : {"b":1,  "a":[1,2 , 3]},\r\n\t\t"hooks":{"Stop":[ {"hooks":[{"type":"command","command":"true"}]} ],\n'
    '   "UserPromptSubmit" : [ ] },\n\t"model":"opus", "unknownKey": "\\u00e9 \u00e9 \U0001f30a",\n'
    '"permissions": {"allow":["Bash(ls:*)"]}\t}'
)
PLAIN = '{\n  "model": "opus"\n}\n'
FORMS = {"odd": ODD, "plain": PLAIN, "empty object": "{}", "no hooks of ours": '{"hooks": {}}\n', "empty file": ""}


def settle(desk: Desk, text: str) -> bytes:
    """Give the user a settings file."""
    desk.settings.parent.mkdir(parents=True, exist_ok=True)
    desk.settings.write_bytes(text.encode())
    return text.encode()


def commands(path: Path) -> list[str]:
    """List the hook commands of a settings file."""
    hooks = json.loads(path.read_text(encoding="utf-8")).get("hooks", {})
    return [handler["command"] for groups in hooks.values() for group in groups for handler in group["hooks"]]


@pytest.mark.parametrize("form", FORMS)
def test_uninstall_gives_back_the_same_bytes(desk: Desk, form: str) -> None:
    """Whatever the file looked like, it looks like that again; a file that the client would read stays readable."""
    before = settle(desk, FORMS[form])
    desk.recollect("init", "--yes")
    assert any("recollect" in command for command in commands(desk.settings))
    desk.recollect("uninstall", "--yes")
    assert desk.settings.read_bytes() == before


def test_without_a_file_before_there_is_none_after(desk: Desk) -> None:
    """Neither the file nor the folder made for it stays, nor anything else in the HOME."""
    before = desk.files()
    desk.recollect("init", "--yes")
    assert desk.settings.is_file()
    desk.recollect("uninstall", "--yes")
    assert desk.files() == before
    assert not desk.settings.parent.exists()


def test_what_somebody_else_wrote_meanwhile_stays(desk: Desk) -> None:
    """Exactly our entries go; the hooks and keys that came after the installation stay."""
    settle(desk, ODD)
    desk.recollect("init", "--yes")
    settings = json.loads(desk.settings.read_text(encoding="utf-8"))
    extra = {"hooks": [{"type": "command", "command": "echo somebody else"}]}
    settings["hooks"]["Stop"].append(extra)
    settings["hooks"]["PostToolUse"] = [extra]
    settings["theme"] = "dark"
    desk.settings.write_text(json.dumps(settings, indent=4), encoding="utf-8")
    desk.recollect("uninstall", "--yes")
    left = json.loads(desk.settings.read_text(encoding="utf-8"))
    expected = json.loads(ODD)
    assert left["hooks"]["Stop"] == [*expected["hooks"]["Stop"], extra]
    assert left["hooks"]["PostToolUse"] == [extra]
    assert not any("recollect" in command for command in commands(desk.settings))
    assert {key: left[key] for key in left if key != "hooks"} == {
        **{key: expected[key] for key in expected if key != "hooks"},
        "theme": "dark",
    }


def test_installing_twice_is_installing_once(desk: Desk) -> None:
    """The second run changes no byte, and one removal is enough."""
    before = settle(desk, ODD)
    desk.recollect("init", "--yes")
    once = desk.settings.read_bytes()
    desk.recollect("init", "--yes")
    assert desk.settings.read_bytes() == once
    desk.recollect("uninstall", "--yes")
    assert desk.settings.read_bytes() == before


def test_another_configuration_folder_is_honoured(desk: Desk) -> None:
    """With CLAUDE_CONFIG_DIR the hooks go there, work there, and leave `~/.claude` alone."""
    config = desk.home / "elsewhere"
    desk.client = Client(desk.client.executable, desk.home, {"CLAUDE_CONFIG_DIR": str(config)})
    desk.recollect("init", "--yes")
    assert (config / "settings.json").is_file()
    desk.ask("which lamp is it?", [say("We decided on the Fresnelite lamp, because its lens does not fog.")])
    run = desk.ask("does the Fresnelite fog up?", [say("No.")])
    assert any("its lens does not fog" in text for _, _, _, text in injected(run.bodies("main")[0]))
    assert not desk.settings.exists()


def test_after_the_removal_sessions_are_on_their_own(desk: Desk) -> None:
    """Nothing is injected and nothing is read any more; the memory stays where it was."""
    desk.recollect("init", "--yes")
    desk.ask("which lamp is it?", [say("We decided on the Fresnelite lamp, because its lens does not fog.")])
    desk.recollect("uninstall", "--yes")
    run = desk.ask("does the Fresnelite fog up?", [say("No, says the Barnacleist.")])
    assert injected(run.bodies("main")[0]) == []
    assert desk.found("Fresnelite lamp")
    assert not [hit for hit in desk.found("Barnacleist") if "Barnacleist" in hit["excerpt"]]
