"""`howcome init`, `upgrade` and `uninstall` as a person runs them."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from tests.builders import Claude, Codex, write
from tests.unit.lifecycle.wiring import EVENT_TIMEOUTS

from howcome.cli.distilling import first_memories
from howcome.cli.lifecycle import init, uninstall, upgrade
from howcome.cli.offering import completion
from howcome.cli.searching import search
from howcome.errors import LifecycleError, UsageError
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.wiring import Owner, inspect, is_distrusted


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    """A command line on a machine without any agent on PATH."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return CliRunner()


def done(result: Result) -> str:
    """What a command printed that did what it was asked for."""
    assert result.exit_code == 0, result.output
    return result.stdout


def report(result: Result) -> dict[str, Any]:
    """Its JSON report."""
    value = json.loads(done(result))
    assert isinstance(value, dict)
    return value


def write_program(path: Path) -> None:
    """A program that does nothing."""
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def transcript(home: Path, name: str = "first") -> Path:
    """A session from before."""
    folder = home / ".claude" / "projects" / "-home-me-shop"
    folder.mkdir(parents=True, exist_ok=True)
    return write(folder / f"{name}.jsonl", *Claude(name).conversation(4))


def test_init_says_what_it_does_file_by_file_and_asks(home: Path, shell: CliRunner) -> None:
    """Without a yes nothing is written; with it all is in place, and the next steps are named."""
    refused = shell.invoke(init, input="n\n")
    assert refused.exit_code == 1
    assert os.listdir(home) == []
    said = done(shell.invoke(init, input="y\n"))
    for part in (
        ".claude/settings.json",
        ".claude.json",
        "SKILL.md",
        "/howcome:recall",
        "MCP server",
        "memory",
        "Now try",
    ):
        assert part in said
    assert set(json.loads((home / ".claude/settings.json").read_text())["hooks"]) == set(EVENT_TIMEOUTS)
    assert "connected already" in done(shell.invoke(init, ["--yes"]))


def test_a_dry_run_writes_nothing(home: Path, shell: CliRunner) -> None:
    """The files are named, and none is there then; the same before an uninstall and an upgrade."""
    said = done(shell.invoke(init, ["--dry-run"]))
    assert "new file" in said
    assert "hooks.PostToolUseFailure (Bash): " in said
    assert "permissions.allow: mcp__howcome__search_memory" in said
    assert os.listdir(home) == []
    done(shell.invoke(init, ["--yes", "--no-import"]))
    before = {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}
    assert "removed" in done(shell.invoke(uninstall, ["--dry-run"]))
    assert "in place" in done(shell.invoke(upgrade, ["--dry-run"]))
    assert {path: path.read_bytes() for path in home.rglob("*") if path.is_file()} == before


def test_init_reads_the_sessions_that_are_there(home: Path, shell: CliRunner) -> None:
    """The first import runs at once, for the agents that were connected; --no-import leaves it out."""
    transcript(home)
    assert "events added" in done(shell.invoke(init, ["--yes"]))
    transcript(home, "second")
    assert report(shell.invoke(init, ["--yes", "--json"]))["imported"]["accepted"] > 0
    assert report(shell.invoke(init, ["--yes", "--json", "--no-import"]))["imported"] is None


def test_init_offers_a_model_with_the_arithmetic_of_this_history(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Default no, and never with --yes; who says yes has caps; the next time nobody is asked."""
    transcript(home)
    programs = tmp_path / "programs"
    write_program(programs / "claude")
    monkeypatch.setenv("PATH", str(programs), prepend=os.pathsep)
    assert "language model" not in done(shell.invoke(init, ["--yes"]))
    said = done(shell.invoke(init, input="\n"))
    assert re.search(
        r"1 session, 1 call: some 2,\d{3} tokens to read and 1,500 to write, once; then 3,\d{3} a session", said
    )
    assert re.search(r"the claude program +your subscription's quota", said)
    assert re.search(r"claude-haiku-4-5 +\$0\.01", said)
    later = ("llm_daily_calls 100", "llm_daily_tokens 1500000", "llm claude", "distiller llm")
    assert f"No model is asked. Later: {'; '.join(f'howcome config set {each}' for each in later)}\n" in said
    assert not (home / ".howcome" / "config.toml").exists()
    said = done(shell.invoke(init, input="y\n"))
    assert "Let claude do that, 100 calls a day at most?" in said
    found = read_settings(os.environ)
    assert (found.distiller, found.llm, found.llm_daily_calls, found.llm_daily_tokens) == (
        "llm",
        "claude",
        100,
        1_500_000,
    )
    assert "language model" not in done(shell.invoke(init, input=""))


def test_init_offers_no_model_that_cannot_be_asked(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is missing is said; nothing is turned on."""
    transcript(home)
    monkeypatch.setenv("HOWCOME_LLM", "http")
    said = done(shell.invoke(init, input="y\n"))
    assert "It cannot be asked yet: " in said
    assert "llm_model" in said
    assert "a day at most" not in said
    assert read_settings(os.environ).distiller == "rules"


def test_an_import_that_fails_undoes_nothing(home: Path, shell: CliRunner) -> None:
    """The wiring stays, and the way to try again is named."""
    (home / ".howcome").mkdir()
    (home / ".howcome" / "howcome.db").write_text("no database at all, and long enough to be read as one" * 99)
    result = shell.invoke(init, ["--yes"])
    assert result.exit_code == 0
    assert "howcome import" in result.stderr
    assert {found.state for found in inspect()} == {"ok"}


def test_reports_are_json_on_standard_output(home: Path, shell: CliRunner) -> None:
    """With --json nothing but the report is on standard output; the question is on standard error."""
    (home / ".claude").mkdir()
    (home / ".claude/settings.json").write_text('{"disableAllHooks": true}')
    installed = report(shell.invoke(init, ["--json"], input="y\n"))
    assert installed["changed"] is True
    assert "disableAllHooks" in installed["notes"][0]
    first = installed["files"][0]
    assert (first["agent"], first["scope"], first["outcome"]) == ("claude-code", "user", "changed")
    assert first["path"] == str(home / ".claude/settings.json")
    assert report(shell.invoke(init, ["--json", "--yes"]))["changed"] is False
    undone = report(shell.invoke(uninstall, ["--json", "--yes"]))
    assert [file["outcome"] for file in undone["files"][:2]] == ["restored", "removed"]


def test_agents_are_chosen_by_name_or_found(home: Path, shell: CliRunner) -> None:
    """--agent may be repeated; `all` takes those whose folders are here; none at all is an error that helps."""
    result = shell.invoke(init, ["--yes", "--agent", "all"])
    assert isinstance(result.exception, UsageError)
    (home / ".gemini").mkdir()
    (home / ".cursor").mkdir()
    found = report(shell.invoke(init, ["--yes", "--json", "--agent", "all"]))
    assert {file["agent"] for file in found["files"]} == {"gemini", "cursor"}
    named = report(shell.invoke(init, ["--yes", "--json", "--agent", "codex", "--agent", "opencode"]))
    assert {file["agent"] for file in named["files"]} == {"codex", "opencode"}
    one = report(shell.invoke(uninstall, ["--yes", "--json", "--agent", "codex"]))
    assert {file["agent"] for file in one["files"]} == {"codex"}
    rest = report(shell.invoke(uninstall, ["--yes", "--json"]))
    assert {file["agent"] for file in rest["files"]} == {"gemini", "cursor", "opencode"}
    assert sorted(os.listdir(home)) == [".cursor", ".gemini", ".howcome"]


def test_one_bad_file_keeps_everything_as_it_was(home: Path, shell: CliRunner) -> None:
    """Nothing is written for any agent when a file of one of them cannot be edited safely."""
    (home / ".codex").mkdir()
    (home / ".codex/config.toml").write_text("model = \n")
    result = shell.invoke(init, ["--yes", "--agent", "claude-code", "--agent", "codex"])
    assert isinstance(result.exception, LifecycleError)
    assert "config.toml, line 1" in str(result.exception)
    assert sorted(os.listdir(home)) == [".codex"]


def dangling_file(home: Path) -> Path:
    """The client's state is a link into a folder that is not there."""
    path = home / ".claude.json"
    path.symlink_to(home / "dotfiles" / "claude.json")
    return path


def dangling_folder(home: Path) -> Path:
    """A folder on the way is such a link."""
    (home / ".codex").symlink_to(home / "dotfiles" / "codex")
    return home / ".codex"


def file_in_the_way(home: Path) -> Path:
    """A folder on the way is a file."""
    path = home / ".claude" / "commands"
    path.parent.mkdir()
    path.write_text("x")
    return path


def circle(home: Path) -> Path:
    """A link to itself."""
    path = home / ".claude.json"
    path.symlink_to(path)
    return path


@pytest.mark.parametrize("bad", [dangling_file, dangling_folder, file_in_the_way, circle])
def test_a_place_that_cannot_be_written_is_found_before_anything_is(
    home: Path, shell: CliRunner, bad: Callable[[Path], Path]
) -> None:
    """No agent is half connected: every target is looked at first, and the one in the way is named."""
    place = bad(home)
    before = sorted(home.rglob("*"))
    for options in (["--yes"], ["--dry-run"]):
        result = shell.invoke(init, ["--agent", "claude-code", "--agent", "codex", *options])
        assert isinstance(result.exception, LifecycleError)
        assert str(place) in str(result.exception)
    assert sorted(home.rglob("*")) == before


def test_a_project_is_connected_from_any_folder_in_it(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The root of the repository is wired; the user is told to keep the file out of git."""
    (home / "shop" / ".git").mkdir(parents=True)
    (home / "shop" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (home / "shop" / "src").mkdir()
    monkeypatch.chdir(home / "shop" / "src")
    said = done(shell.invoke(init, ["--yes", "--scope", "project", "--no-import"]))
    assert "out of git" in said
    assert (home / "shop/.claude/settings.local.json").exists()
    assert list(json.loads((home / ".claude.json").read_text())["projects"]) == [str(home / "shop")]
    done(shell.invoke(uninstall, ["--yes"]))
    assert not (home / "shop/.claude").exists()
    assert not (home / ".claude.json").exists()


def test_a_project_that_is_gone_is_not_made_again(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Upgrade and inspect leave it out; uninstall takes its entry out of the client's file."""
    (home / "shop").mkdir()
    monkeypatch.chdir(home / "shop")
    done(shell.invoke(init, ["--yes", "--scope", "project", "--no-import"]))
    monkeypatch.chdir(home)
    shutil.rmtree(home / "shop")
    done(shell.invoke(upgrade, ["--yes"]))
    assert not (home / "shop").exists()
    assert {found.scope for found in inspect()} == {"user"}
    done(shell.invoke(uninstall, ["--yes"]))
    assert os.listdir(home) == [".howcome"]
    assert not (home / ".howcome" / "installs").exists()


def test_the_form_mcp_is_refused_for_a_client_that_may_not_know_it(home: Path, shell: CliRunner) -> None:
    """Nothing is written; the version that is needed is named."""
    result = shell.invoke(init, ["--yes", "--hook-form", "mcp"])
    assert isinstance(result.exception, LifecycleError)
    assert "2.1.118" in str(result.exception)
    assert os.listdir(home) == []


def test_upgrade_keeps_the_form_only_while_the_client_knows_it(
    home: Path, shell: CliRunner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With an older client on PATH the hooks become commands again."""
    client = tmp_path / "claude"
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    for version, is_there in (("2.1.329", True), ("2.1.100", False)):
        client.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        client.chmod(0o755)
        if is_there:
            done(shell.invoke(init, ["--yes", "--no-import", "--hook-form", "mcp", "--no-permissions"]))
        done(shell.invoke(upgrade, ["--yes"]))
        assert ("mcp_tool" in (home / ".claude/settings.json").read_text()) is is_there
        assert "permissions" not in (home / ".claude/settings.json").read_text()


def test_upgrade_refreshes_what_is_old_and_keeps_what_is_edited(home: Path, shell: CliRunner) -> None:
    """The store is opened (and so migrated), commands point here again, an edited file is told and kept."""
    transcript(home)
    done(shell.invoke(init, ["--yes"]))
    settings, skill = home / ".claude/settings.json", home / ".claude/skills/temporal-recall/SKILL.md"
    settings.write_text(settings.read_text().replace("/bin/python", "/old/python"))
    skill.write_text("mine")
    assert "outdated" in {found.state for found in inspect()}
    said = done(shell.invoke(upgrade, ["--yes"]))
    assert "yours, kept" in said
    assert skill.read_text() == "mine"
    assert "/old/python" not in settings.read_text()
    assert report(shell.invoke(upgrade, ["--yes", "--json"]))["changed"] is False
    assert "No agent is connected" in done(shell.invoke(uninstall, ["--yes"])) or "No agent" in done(
        shell.invoke(upgrade, ["--yes"])
    )


def test_upgrade_wires_no_folder_that_init_did_not(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed under CLAUDE_CONFIG_DIR and upgraded without it, `~/.claude` stays as it is, and the user is told."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / "elsewhere"))
    done(shell.invoke(init, ["--yes", "--no-import"]))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR")
    assert "CLAUDE_CONFIG_DIR" in done(shell.invoke(upgrade, ["--yes"]))
    assert sorted(os.listdir(home)) == [".howcome", "elsewhere"]
    done(shell.invoke(uninstall, ["--yes"]))
    assert os.listdir(home) == [".howcome"]


def test_uninstall_keeps_the_memory_and_says_where(home: Path, shell: CliRunner) -> None:
    """The data stays; a second run has nothing to do and still exits 0; an edited file is named."""
    done(shell.invoke(init, ["--yes"]))
    (home / ".claude/commands/howcome/recall.md").write_text("mine")
    said = done(shell.invoke(uninstall, ["--yes"]))
    assert f"memory stays in {home / '.howcome'}" in said
    assert "You edited" in said
    assert (home / ".howcome/howcome.db").exists()
    assert "Nothing was installed" in done(shell.invoke(uninstall, ["--yes"]))


def test_purge_asks_again_and_deletes_only_what_howcome_made(home: Path, shell: CliRunner) -> None:
    """The second question stands alone; a file of the user's in the folder stays and is named."""
    done(shell.invoke(init, ["--yes"]))
    store = home / ".howcome"
    (store / "spool").mkdir()
    (store / "my notes.txt").write_text("mine")
    refused = shell.invoke(uninstall, ["--purge"], input="y\nn\n")
    assert refused.exit_code == 1
    assert (store / "howcome.db").exists()
    done(shell.invoke(init, ["--yes"]))
    said = done(shell.invoke(uninstall, ["--purge"], input="y\ny\n"))
    assert "my notes.txt" in said
    assert os.listdir(store) == ["my notes.txt"]
    (store / "my notes.txt").unlink()
    done(shell.invoke(init, ["--yes"]))
    assert "howcome.db" in report(shell.invoke(uninstall, ["--purge", "--yes", "--json"]))["purged"]
    assert os.listdir(home) == []


def test_help_shows_examples(shell: CliRunner) -> None:
    """Each command shows how it is used and which agents there are."""
    for tool in (init, upgrade, uninstall):
        text = done(shell.invoke(tool, ["--help"]))
        assert "Example" in text
        assert f"howcome {tool.name}" in text
    assert "opencode" in done(shell.invoke(init, ["--help"]))


def test_init_names_every_history_and_a_question_that_finds_something(home: Path, shell: CliRunner) -> None:
    """Also of agents that are not connected; the question is one that this history answers."""
    transcript(home)
    rollout = home / ".codex" / "sessions" / "2026" / "11" / "rollout-2026-11-01T10-00-00-1.jsonl"
    talk = Codex()
    rollout.parent.mkdir(parents=True)
    asked = (talk.message("user", "why does the crane stop?"), talk.message("assistant", "The crane's fuse is blown."))
    write(rollout, talk.meta(), *asked)
    said = done(shell.invoke(init, ["--yes"]))
    assert re.search(r"history, read +Claude Code: 1 transcript, ", said)
    assert re.search(r"history, read +Codex CLI: 1 transcript, ", said)
    assert "2 files, " in said
    question = re.search(r'howcome search --all-projects "(.+)"', said)
    assert question is not None
    assert json.loads(done(shell.invoke(search.built(), ["--all-projects", "--json", question[1]])))["results"]
    assert 'eval "$(_HOWCOME_COMPLETE=' in said


def test_init_asks_about_an_earlier_session_than_the_newest(home: Path, shell: CliRunner) -> None:
    """That one is still on the screen; where there is no other, it is asked about."""
    for name, start, subject in (("newest", 9000, "winch of the pier"), ("older", 0, "crane of the quay")):
        talk = Claude(name, start=start)
        asked = (talk.user(f"why does the {subject} stop?"), talk.text(f"The fuse of the {subject} is blown."))
        again = (talk.user(f"why does the {subject} stop again?"), talk.text(f"The motor of the {subject} is hot."))
        write(home / f".claude/projects/-quay/{name}.jsonl", *asked, *again)
        said = done(shell.invoke(init, ["--yes"]))
        assert "winch" in said.partition("Now try")[2] or name == "older"
    assert "the crane of the" in said.partition("Now try")[2]


def test_init_learns_from_what_it_reads(home: Path, shell: CliRunner) -> None:
    """At once, without a model."""
    talk = Claude("first")
    asked = (talk.user("go on"), talk.text("Shall I use npm or pnpm here?"))
    said = (talk.user("Never use npm here, use pnpm, because the lock file is pnpm's."), talk.text("`pnpm` it is."))
    write(home / ".claude/projects/-quay/a.jsonl", *asked, *said)
    assert "1 memory learnt from them: howcome memories --all-projects" in done(shell.invoke(init, ["--yes"]))


def test_init_says_that_it_could_not_learn(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is undone for that."""
    kept = home / "kept"
    SqliteStore(str(kept)).close()
    (kept / "howcome.db").write_bytes(b"no database " * 1000)
    monkeypatch.setenv("HOWCOME_HOME", str(kept))
    assert "error" in first_memories(quiet=True)
    said = capsys.readouterr().err
    assert "nothing was learnt from them yet" in said
    assert "Try again with: howcome distil" in said


def test_init_says_what_it_could_not_read(home: Path, shell: CliRunner) -> None:
    """Before it reads whose history nothing reads, and afterwards how many records of which file."""
    path = transcript(home)
    with path.open("a") as stream:
        stream.write('{"type": "hologram"}\n{broken\n')
    (home / ".cursor").mkdir()
    said = done(shell.invoke(init, ["--yes"]))
    assert re.search(r"history, not read +Cursor: howcome has no reader for it", said)
    assert "1 record could not be read: see `howcome status`" in said
    assert f"{path}: no reader knows 1 record in it" in said


def test_init_without_history_suggests_no_question(home: Path, shell: CliRunner) -> None:
    """It would find nothing."""
    assert not (home / ".claude").exists()
    assert "howcome search" not in done(shell.invoke(init, ["--yes"]))


def test_uninstall_names_each_file_once(home: Path, shell: CliRunner) -> None:
    """Before it asks; after that it says what else there is to know."""
    done(shell.invoke(init, ["--yes", "--no-import"]))
    said = done(shell.invoke(uninstall, ["--yes"]))
    assert said.count(str(home / ".claude.json")) == 1
    assert "Disconnected." in said


@pytest.mark.parametrize(
    ("shell_name", "said"), [("/bin/zsh", "zsh_source"), ("/usr/bin/fish", "fish_source"), ("", "bash")]
)
def test_completion_is_offered_for_the_shell_at_hand(shell_name: str, said: str) -> None:
    """Bash where it is not known."""
    assert said in completion({"SHELL": shell_name})


CODEX = """#!{python}
import json, os, re, sys, zlib
hooks, config = (os.path.expanduser("~/.codex/" + name) for name in ("hooks.json", "config.toml"))
for line in sys.stdin:
    asked, result = json.loads(line), {{}}
    if asked["method"] == "hooks/list":
        result = {{"data": [{{"hooks": [
            {{
                "key": f"{{hooks}}:{{re.sub('(?<!^)(?=[A-Z])', '_', event).lower()}}:{{at}}:0", "sourcePath": hooks,
                "currentHash": f"sha256:{{zlib.crc32(group['hooks'][0]['command'].encode()):08x}}",
                "command": group["hooks"][0]["command"],
            }}
            for event, groups in json.load(open(hooks))["hooks"].items()
            for at, group in enumerate(groups)
        ]}}]}}
    elif asked["method"] == "config/batchWrite":
        for key, value in asked["params"]["edits"][0]["value"].items():
            head, text = f'[hooks.state."{{key}}"]', open(config).read()
            text = re.sub(re.escape(chr(10) + head) + ".*?(?=" + chr(10) + "+\\\\[|\\\\Z)", "", text, flags=re.S)
            open(config, "w").write(text + f'\\n{{head}}\\ntrusted_hash = "{{value["trusted_hash"]}}"\\n')
    print(json.dumps({{"id": asked["id"], "result": result}}), flush=True)
"""
"""A server that lists the hooks of its user, and keeps in their settings which it was told to trust."""


@pytest.mark.parametrize("is_again", [False, True], ids=["once", "connected again"])
def test_trust_in_our_hooks_goes_where_others_were_put_before_them(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch, *, is_again: bool
) -> None:
    """What was kept of the places where ours stood goes, too; what its user has trusted there since stays."""
    program, config, hooks = home / "bin/codex", home / ".codex/config.toml", home / ".codex/hooks.json"
    write_program(program)
    program.write_text(CODEX.format(python=sys.executable))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    write(config, b'model = "o9"\n')
    connect = ["--yes", "--agent", "codex", "--no-import"]
    assert "it trusts howcome's now" in done(shell.invoke(init, connect))
    document = json.loads(hooks.read_text())
    theirs = {"hooks": [{"type": "command", "command": "theirs"}]}
    for event in ("Stop", "UserPromptSubmit"):
        document["hooks"][event].insert(0, theirs)
    hooks.write_text(json.dumps(document))
    place = f'[hooks.state."{hooks}:stop:0:0"]\ntrusted_hash = '
    text = config.read_text()
    begin = text.index(place) + len(place)
    config.write_text(text[:begin] + '"sha256:theirs"' + text[text.index("\n", begin) :])
    if is_again:
        said = done(shell.invoke(init, connect))
        assert "it trusts howcome's now" in said
        assert "nothing was changed" not in said
        assert not is_distrusted(Owner("codex"))
    done(shell.invoke(uninstall, ["--yes"]))
    assert tomllib.loads(config.read_text()) == {
        "model": "o9",
        "hooks": {"state": {f"{hooks}:stop:0:0": {"trusted_hash": "sha256:theirs"}}},
    }
    assert json.loads(hooks.read_text()) == {"hooks": {"Stop": [theirs], "UserPromptSubmit": [theirs]}}


def test_what_an_agent_was_told_to_trust_is_no_nothing(
    home: Path, shell: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where all entries stood, and only the trust was missing."""
    connect = ["--yes", "--agent", "codex", "--no-import"]
    done(shell.invoke(init, connect))
    assert "nothing was changed" in done(shell.invoke(init, connect))  # and nobody was there to be asked
    program = home / "bin/codex"
    write_program(program)
    program.write_text(CODEX.format(python=sys.executable))
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    assert "nothing was changed" not in done(shell.invoke(init, connect))


def test_without_claude_code_the_agents_that_are_here_are_connected(
    shell: CliRunner, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is written for an agent that is not there; with it the others are named, and how they are connected."""
    (home / ".codex").mkdir()
    monkeypatch.chdir(home)
    said = done(shell.invoke(init, ["--dry-run", "--no-import", "--scope", "project"]))
    assert "connect Claude Code:" in said  # Codex has no settings of a project
    said = done(shell.invoke(init, ["--yes", "--no-import"]))
    assert "connect Codex" in said
    assert not (home / ".claude").exists()
    assert not (home / ".claude.json").exists()
    for name in (".claude", ".gemini"):
        (home / name).mkdir()
    said = done(shell.invoke(init, ["--yes", "--no-import", "--dry-run"]))
    assert "connect Claude Code:" in said
    assert "not connected     Gemini CLI: howcome init --agent all" in said
    assert "--agent all" not in done(shell.invoke(init, ["--yes", "--no-import", "--dry-run", "--agent", "all"]))
