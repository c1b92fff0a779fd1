"""What was wired under the product's former name is taken out when its new name is wired."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.processes import run
from tests.unit.lifecycle.test_lifecycle_agents import OTHERS
from tests.unit.lifecycle.wiring import AGENTS, files, put, unwire, wire

from howcome.wiring import Owner, former
from howcome.wiring.atomic_files import digest
from howcome.wiring.install_record import Records

NEW, OLD = "howcome", "recollect"


def under_the_former_name(home: Path) -> None:
    """An install as the product made it when it had that name: the same files and records, with the old words."""
    state = home / f".{NEW}"
    records = Records(state).all()
    for record in records:
        path = Path(record.path)
        renamed = Path(str(path).replace(f"commands/{NEW}", f"commands/{OLD}"))
        renamed.parent.mkdir(exist_ok=True)
        path.rename(renamed)
        old_words = renamed.read_bytes().replace(b"howcome/launch.py", b"howcome/present/launch.py")  # its old place
        renamed.write_bytes(old_words.replace(NEW.encode(), OLD.encode()))
    shutil.rmtree(home / ".claude" / "commands" / NEW, ignore_errors=True)
    (home / f".{OLD}").mkdir()
    old = Records(home / f".{OLD}")
    for record in records:
        path = Path(record.path.replace(f"commands/{NEW}", f"commands/{OLD}"))
        kept = json.loads((state / "installs" / f"{digest(str(record.path).encode())[:16]}.json").read_text())
        kept = json.loads(json.dumps(kept).replace(f"{NEW}/", f"{OLD}/").replace(f"{NEW}__", f"{OLD}__"))
        kept = json.loads(json.dumps(kept).replace(f'{NEW}"', f'{OLD}"'))
        kept["path"], kept["written_sha256"] = str(path), [digest(path.read_bytes())]
        old.directory.mkdir(exist_ok=True)
        (old.directory / f"{digest(str(path).encode())[:16]}.json").write_text(json.dumps(kept))
        for original in (state / "installs").glob("*.original"):
            name = original.name.replace(digest(record.path.encode())[:16], digest(str(path).encode())[:16])
            shutil.copy(original, old.directory / name)
    shutil.rmtree(state)


@pytest.mark.parametrize("edited", [False, True], ids=["as written", "with more of the user's"])
@pytest.mark.parametrize("agent", AGENTS)
def test_nothing_of_it_is_left(home: Path, agent: str, *, edited: bool) -> None:
    """The files are as a new install makes them, and uninstalling gives back what the user had."""
    put(home, OTHERS[agent])
    before = files(home)
    wire(agent)
    fresh = files(home)
    under_the_former_name(home)
    assert any(data and OLD.encode() in data for data in files(home).values())
    settings = home / ".claude" / "settings.json"
    if edited and agent == "claude-code":
        settings.write_bytes(settings.read_bytes().replace(b'"deny": ["Read(.env)"]', b'"deny": ["Read(.env)", "B"]'))
    assert [owner.agent for owner in former.wired_owners()] == [agent]
    former.disconnect([Owner("another")])
    former.disconnect([Owner(agent)])
    assert former.wired_owners() == []
    wire(agent)
    now = files(home)
    assert not [name for name, data in now.items() if OLD.encode() in (data or b"") and not name.startswith(f".{OLD}")]
    if not edited:
        assert {name: data for name, data in now.items() if not name.startswith(f".{OLD}")} == fresh
        unwire(agent)
        assert {name: data for name, data in files(home).items() if not name.startswith(f".{OLD}")} == before


def test_init_replaces_it_and_doctor_names_it(home: Path) -> None:
    """Also a memory that was kept under that name, which is not touched."""
    wire("claude-code")
    under_the_former_name(home)
    (home / f".{OLD}" / f"{OLD}.db").write_bytes(b"rows")
    told = " ".join(run("doctor").stdout.split())
    assert "still wired under howcome's former name" in told
    assert "holds a memory from before howcome got this name" in told
    done = run("init", "--no-import", "--yes")
    assert done.returncode == 0, done.stderr
    assert OLD not in (home / ".claude" / "settings.json").read_text()
    assert OLD not in (home / ".claude.json").read_text()
    assert (home / f".{OLD}" / f"{OLD}.db").read_bytes() == b"rows"
    assert "former name" not in run("doctor").stdout


def test_hooks_whose_records_are_lost_start_the_new_one(home: Path) -> None:
    """They are known by their shape."""
    wire("claude-code")
    under_the_former_name(home)
    shutil.rmtree(home / f".{OLD}")
    wire("claude-code")
    assert OLD not in json.dumps(json.loads((home / ".claude" / "settings.json").read_text())["hooks"])


def test_only_who_is_named_is_taken_out(home: Path) -> None:
    """`init --agent codex` leaves Claude Code's wiring to an `init` of its own, which doctor names."""
    wire("claude-code")
    wire("codex")
    under_the_former_name(home)
    run("init", "--agent", "codex", "--no-import", "--yes")
    assert OLD in (home / ".claude" / "settings.json").read_text()
    assert OLD not in (home / ".codex" / "config.toml").read_text()
    told = " ".join(run("doctor").stdout.split())
    assert "claude-code: still wired under howcome's former name" in told
    assert "codex: still wired" not in told


def test_a_folder_that_kept_its_name_is_not_former(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who names the new home as the old one was is not disconnected at every `init`."""
    monkeypatch.setenv("HOWCOME_HOME", str(home / f".{OLD}"))
    run("init", "--no-import", "--yes")
    assert former.wired_owners() == []
    assert "former name" not in run("doctor").stdout


def test_a_hook_through_the_server_is_known(home: Path) -> None:
    """Also where its user edited the file, and the record's bytes are not in it any more."""
    wire("claude-code", options={"hook_form": "mcp"})
    under_the_former_name(home)
    settings = home / ".claude" / "settings.json"
    settings.write_text(settings.read_text().replace("{", '{\n  "theme": "dark",', 1))
    former.disconnect([Owner("claude-code")])
    assert OLD not in settings.read_text()
    assert '"theme": "dark"' in settings.read_text()


def test_what_is_planned_is_what_is_done(home: Path) -> None:
    """A file of ours under the former name is not called its user's."""
    wire("claude-code")
    under_the_former_name(home)
    before = files(home)
    planned = run("init", "--no-import", "--dry-run").stdout
    assert files(home) == before
    assert "yours, kept" not in planned


def test_hooks_that_start_the_script_where_it_was_are_ours(home: Path) -> None:
    """Without records, too: `init` makes them start the one of now, `uninstall` takes them out."""
    wire("claude-code")
    files = [home / ".claude" / "settings.json", home / ".claude.json"]
    for path in files:
        path.write_text(path.read_text().replace("howcome/launch.py", "howcome/present/launch.py"))
    shutil.rmtree(home / f".{NEW}" / "installs")
    wire("claude-code")
    assert not any("present/launch.py" in path.read_text() for path in files)
    done = run("uninstall", "--yes")
    assert done.returncode == 0, done.stderr
    assert not any("launch.py" in path.read_text() for path in files if path.exists())
