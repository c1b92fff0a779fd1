"""What was wired under the product's former name is taken out when its new name is wired."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.processes import run
from tests.unit.lifecycle.test_lifecycle_agents import OTHERS
from tests.unit.lifecycle.wiring import files, put, unwire, wire

from howcome.present.lifecycle import AGENTS, former
from howcome.present.lifecycle.atomic_files import digest
from howcome.present.lifecycle.install_record import Records

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
        renamed.write_bytes(renamed.read_bytes().replace(NEW.encode(), OLD.encode()))
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
    assert former.is_wired()
    former.disconnect()
    assert not former.is_wired()
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
