"""A table goes into a TOML file and out again; what cannot be edited as text is refused."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from howcome.clients.wiring import TABLE, Entry
from howcome.errors import LifecycleError
from howcome.wiring import Owner, engine
from howcome.wiring.parts import Merged
from howcome.wiring.toml_entries import TomlEntries

OWNER = Owner("codex")
OURS = {"command": "/usr/bin/python", "args": ["-I", "/x y/howcome/launch.py", "mcp"]}
MOVED = {**OURS, "command": '/opt/it\'s "new"\\python', "env": {"HOWCOME_HOME": "/mem"}}

TEXTS: dict[str, bytes] = {
    "no bytes": b"",
    "a comment only": b"# mine\n",
    "no newline at the end": b'model = "x"',
    "tables": b'model = "x"\n\n[mcp_servers.other]\ncommand = "y"\nargs = []\n\n[profiles.a]\nmodel = "z"\n\n\n',
    "CRLF": b'model = "x"\r\n[tui]\r\nnotifications = true\r\n',
    "byte order mark": b'\xef\xbb\xbfmodel = "x"\n',
    "lists of tables": b'[[skills]]\nname = "a"\n\n[[skills]]\nname = "b"\n',
    "our header in a string": b'text = """\n[mcp_servers.howcome]\ncommand = 1\n"""\n',
    "our header and another in a string": b'text = """\n[mcp_servers.howcome]\ncommand = 1\n[x]\n"""\n',
    "numbers and dates": b"a = 1_000\nb = nan\nc = 1979-05-27T07:32:00Z\nd = +inf\n",
    "an explicit parent": b'[mcp_servers]\n\n[mcp_servers."o.t"]\ncommand = "y"\n',
}


def part(path: Path, value: object = OURS) -> Merged:
    """A server's table."""
    return Merged(path, (Entry(TABLE, ("mcp_servers", "howcome"), value),), TomlEntries())


def read(path: Path) -> dict[str, object]:
    """The file's values."""
    return tomllib.loads(path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """Where the file is."""
    return tmp_path / "config.toml"


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_every_original_comes_back_byte_for_byte(config: Path, tmp_path: Path, text: bytes) -> None:
    """Installed, refreshed, changed by somebody else, undone."""
    config.write_bytes(text)
    engine.install(OWNER, [part(config)], tmp_path / "state")
    assert read(config)["mcp_servers"]["howcome"] == OURS  # type: ignore[index]
    assert config.read_bytes().startswith(text)
    assert engine.install(OWNER, [part(config)], tmp_path / "state")[0].outcome == "unchanged"
    engine.install(OWNER, [part(config, MOVED)], tmp_path / "state")
    assert read(config)["mcp_servers"]["howcome"] == MOVED  # type: ignore[index]
    assert engine.uninstall([(OWNER, [part(config)])], tmp_path / "state")[0].outcome == "restored"
    assert config.read_bytes() == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_only_our_table_is_cut_from_a_changed_file(config: Path, tmp_path: Path, text: bytes) -> None:
    """A table that came after ours stays, and so does all that was there before."""
    config.write_bytes(text)
    newline = b"\r\n" if b"\r\n" in text else b"\n"
    later = newline.join([b"", b"# theirs", b"[later]", b"a = 1", b""])
    engine.install(OWNER, [part(config)], tmp_path / "state")
    config.write_bytes(config.read_bytes() + later)
    assert engine.uninstall([(OWNER, [part(config)])], tmp_path / "state")[0].outcome == "edited"
    left = config.read_bytes()
    assert left.startswith(text.removesuffix(b"\n\n"))
    assert left.endswith(later.lstrip())
    assert b"launch.py" not in left


def test_a_file_of_ours_is_gone_again(config: Path, tmp_path: Path) -> None:
    """Where there was none there is none."""
    engine.install(OWNER, [part(config)], tmp_path / "state")
    assert engine.uninstall([(OWNER, [part(config)])], tmp_path / "state")[0].outcome == "removed"
    assert not config.exists()


def test_what_the_user_added_to_our_table_stays(config: Path, tmp_path: Path) -> None:
    """A moved interpreter changes its own lines only."""
    engine.install(OWNER, [part(config)], tmp_path / "state")
    added = b'startup_timeout_sec = 20 # slow disk\n\n[mcp_servers.howcome.tools.forget]\napproval_mode = "prompt"\n'
    config.write_bytes(config.read_bytes() + added)
    assert engine.inspect(OWNER, [part(config)], tmp_path / "state")[0].state == "edited"
    assert engine.install(OWNER, [part(config)], tmp_path / "state")[0].outcome == "unchanged"
    engine.install(OWNER, [part(config, {**OURS, "command": "/new"})], tmp_path / "state")
    assert config.read_bytes().endswith(added)
    assert read(config)["mcp_servers"]["howcome"]["command"] == "/new"  # type: ignore[index]
    engine.uninstall([(OWNER, [part(config)])], tmp_path / "state")
    assert not config.exists()


@pytest.mark.parametrize("form", ['env = { PORT = 8080, HOWCOME_HOME = "/mem", "a b" = true }', "args_note = 1"])
def test_a_users_own_variables_stay_in_our_table(config: Path, tmp_path: Path, form: str) -> None:
    """Where the memory was moved, only the word that says so is another."""
    engine.install(OWNER, [part(config, MOVED)], tmp_path / "state")
    line = 'env = { HOWCOME_HOME = "/mem" }'
    config.write_text(config.read_text().replace(line, form if form.startswith("env") else f"{line}\n{form}"))
    elsewhere = {**MOVED, "env": {"HOWCOME_HOME": "/other"}}
    engine.install(OWNER, [part(config, elsewhere)], tmp_path / "state")
    text = config.read_text()
    assert read(config)["mcp_servers"]["howcome"]["env"]["HOWCOME_HOME"] == "/other"  # type: ignore[index]
    kept = 'env = { PORT = 8080, HOWCOME_HOME = "/other", "a b" = true }' if form.startswith("env") else form
    assert kept in text
    engine.uninstall([(OWNER, [part(config, elsewhere)])], tmp_path / "state")
    assert not config.exists()


REFUSED = {
    "not TOML": (b"a = 1\nb = \n", "line 2, column 5"),
    "not UTF-8": (b'a = "\xe9"', "line 1, column 6: not UTF-8"),
    "a server of the same name": (
        b'a = 1\n[mcp_servers.howcome]\ncommand = "theirs"\n',
        "line 2, column 1.*another name",
    ),
    "an inline parent": (b'mcp_servers = { other = { command = "x" } }\n', "cannot be edited beside what stands there"),
    "a parent that is no table": (b"mcp_servers = 3\n", "cannot be edited beside what stands there"),
}


@pytest.mark.parametrize(("data", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_edited_safely_is_refused(config: Path, tmp_path: Path, data: bytes, message: str) -> None:
    """File, place and remedy are named, and nothing is written anywhere."""
    config.write_bytes(data)
    with pytest.raises(LifecycleError, match=message) as refusal:
        engine.install(OWNER, [part(config)], tmp_path / "state")
    assert str(config) in str(refusal.value)
    assert "try again" in str(refusal.value)
    assert config.read_bytes() == data
    assert not (tmp_path / "state").exists()
