"""Memories by hand, as people and scripts keep, find, change, forget, erase and carry them: real processes."""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import Claude, write
from tests.hostile.scale import examples
from tests.processes import ask, run

from howcome.cli.group import cli
from howcome.cli.main import main
from howcome.domain.memories import TYPES
from howcome.domain.stored import Scope
from howcome.errors import HowcomeError
from howcome.memory.remember import Memories
from howcome.store.sqlite import SqliteStore

COMMANDS = tuple("remember memories update forget restore purge export import-memories show observe".split())
DECISION = "Deduplicate by upsert: a cache is lost at a restart."
LONG = "x" * 20
HEAD = '{"howcome": "memories", "version": 1}'


class Shell:
    """Runs commands in a project's folder, over a store of their own."""

    def __init__(self, folder: Path, store: Path) -> None:
        self.folder, self.store = folder, store

    def __call__(self, *arguments: str | bytes, data: bytes = b"") -> subprocess.CompletedProcess[str]:
        """One command; none ever ends with a traceback."""
        environment = {**os.environ, "HOWCOME_HOME": str(self.store), "PYTHONWARNINGS": "error"}
        done = run(*arguments, data=data, folder=self.folder, environment=environment)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def json(self, *arguments: str, data: bytes = b"") -> dict[str, Any]:
        """What a command answers as JSON; it must succeed and say nothing else."""
        done = self(*arguments, "--json", data=data)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    def remember(self, *arguments: str) -> str:
        """The id of a memory that is kept."""
        done = self("remember", *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout.removeprefix("known already: ").strip()

    def listed(self, *arguments: str) -> list[str]:
        """The texts of a listing."""
        return [memory["text"] for memory in self.json("memories", *arguments)["memories"]]


@pytest.fixture
def shell(tmp_path: Path, store_folder: Path) -> Shell:
    """Commands in one project."""
    (tmp_path / "harbour" / ".git").mkdir(parents=True)
    return Shell(tmp_path / "harbour", store_folder)


# -- keeping and finding -----------------------------------------------------------------------------------------------
def test_a_memory_is_kept_once(shell: Shell) -> None:
    """It prints its id; the same words again, whatever their case and spacing, are known already."""
    first = shell("remember", "--type", "decision", "Deduplicate by upsert:", "a cache is lost at a restart.")
    assert first.returncode == 0
    ident = first.stdout.strip()
    assert ident.startswith("mem-")
    assert len(ident) == 16
    again = shell("remember", "--type", "decision", DECISION.upper())
    assert (again.returncode, again.stdout) == (0, f"known already: {ident}\n")
    found = shell.json("remember", "--type", "decision", DECISION)
    assert (found["is_new"], found["id"], found["text"], found["type"]) == (False, ident, DECISION, "decision")
    assert shell.listed() == [DECISION]
    assert ident in shell("search", "why no cache for duplicates").stdout


def test_the_opposite_is_not_known_already(shell: Shell) -> None:
    """The same words in another order, or with another small word, are another memory."""
    on, turned = shell.remember("The response cache is on in staging"), "The response cache is off in staging"
    assert shell.remember(turned) != on
    shell.remember("Staging depends on production credentials")
    shell.remember("Production depends on staging credentials")
    assert len(shell.listed()) == 4


def test_an_exception_in_one_project_leaves_what_holds_everywhere(shell: Shell) -> None:
    """Both live, and the pair is to be looked at; said everywhere, the other way round takes the place."""
    wide = shell.remember("--global", "Chose tabs over spaces for the makefiles")
    own = shell.remember("Chose spaces over tabs for the makefiles")
    assert [shell.json("show", ident)["state"] for ident in (wide, own)] == ["live", "live"]
    assert len(shell.json("memories", "--review")["reviews"]) == 1
    shell.remember("--global", "Chose spaces over tabs for the makefiles, at last")
    assert shell.json("show", wide)["state"] == "superseded"


def test_standard_input_is_a_text(shell: Shell) -> None:
    """`-`, with line breaks and every character; it is shown as it was said, without what moves a terminal."""
    ident = shell("remember", "-", data="Die Möwe 🕊\nsagt \x1b[31mnein\x00\n".encode()).stdout.strip()
    assert shell.listed() == ["Die Möwe 🕊\nsagt \x1b[31mnein␀"]
    shown = shell("show", ident)
    assert "sagt [31mnein␀" in shown.stdout
    assert "\x1b" not in shown.stdout + shell("memories").stdout


def test_secrets_are_not_kept(shell: Shell) -> None:
    """Redacted before anything is stored; private spans are dropped."""
    secret = "AKIA" + "Z7QJ4TRNBX2MW5KD"
    shell.remember(f"The key is {secret}; <private>only for me</private> that is all")
    [text] = shell.listed()
    assert text.startswith("The key is [redacted:")
    for path in shell.store.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert secret.encode() not in data
        assert b"only for me" not in data


def test_what_was_taken_out_is_said(shell: Shell) -> None:
    """How many secrets, by which rule; beside the id, not in its way. What was redacted before is none."""
    secret = "AKIA" + "Z7QJ4TRNBX2MW5KD"
    done = shell("remember", f"The key is {secret}")
    assert done.stdout[:4] == "mem-"
    kept, redacted = done.stderr.splitlines()
    assert kept.startswith("kept as a context: The key is [redacted:aws-access-key-id:")
    assert redacted == "1 secret was taken out: aws-access-key-id"
    [text] = shell.listed()
    assert "taken out" not in shell("remember", text, "as ever").stderr
    found = shell.json("remember", f"keys: {secret} and {secret[:-1]}E")
    assert found["redacted"] == ["aws-access-key-id"] * 2
    changed = shell("update", found["id"], f"another key: {secret}")
    assert changed.stderr == "1 secret was taken out: aws-access-key-id\n"


def test_a_project_is_named_as_everywhere(shell: Shell, tmp_path: Path) -> None:
    """By its name or its folder; where it went is said, and that nothing of it is known; no other word makes one."""
    talk = Claude("earlier", str(shell.folder))
    ask("import", write(tmp_path / "a.jsonl", talk.user("where is the crane?")))
    (tmp_path / "quay").mkdir()
    elsewhere = Shell(tmp_path, shell.store)
    done = elsewhere("remember", "--project", "harbour", "the harbour's crane is red")
    assert (done.returncode, done.stderr.splitlines()[1:]) == (0, [f"in {shell.folder}"])
    assert "the harbour's crane is red" in shell.listed()
    new = elsewhere("remember", "--project", "quay", "the quay is long enough")
    assert new.stderr.endswith(f"in {tmp_path}/quay: no session of it is stored yet\n")
    assert elsewhere.json("remember", "--project", "quay", "the quay is long enough")["has_history"] is False
    for command in (("remember", "--project", "harbor", LONG), ("memories", "--project", "nowhere")):
        refused = elsewhere(*command)
        assert refused.returncode == 2
        assert "harbour" in refused.stderr
    assert len(elsewhere.listed("--all-projects")) == 2


def test_scopes_decide_what_is_listed(shell: Shell, tmp_path: Path) -> None:
    """Here, everywhere, in a named project; subfolders belong to their project; each listing says what holds."""
    (tmp_path / "quay").mkdir()
    (shell.folder / "src").mkdir()
    shell.remember("holds in this project")
    shell.remember("--global", "holds in all projects")
    shell.remember("--project", str(tmp_path / "quay"), "holds only on the quay")
    shell.remember("--project", "src", "--agent", "scout", "--type", "pattern", "holds in the subfolder's project")
    here = {"holds in this project", "holds in all projects", "holds in the subfolder's project"}
    assert set(shell.listed()) == here
    assert set(shell.listed("--project", "src")) == here
    assert set(shell.listed("--project", str(tmp_path / "quay"))) == {"holds only on the quay", "holds in all projects"}
    assert shell.listed("--global") == ["holds in all projects"]
    assert len(shell.listed("--all-projects")) == 4
    assert len(shell.listed("--all-projects", "--limit", "2")) == 2
    assert shell.listed("--agent", "scout") == shell.listed("--type", "pattern") == ["holds in the subfolder's project"]
    lines = shell("memories", "--all-projects").stdout.splitlines()
    about = [line.split() for line in lines[1::2]]
    assert [words[0] for words in about] == ["pattern", "context", "context", "context"]
    assert [words[3] for words in about] == ["harbour", "quay", "everywhere", "harbour"]
    assert "  of scout  mem-" in lines[1]


def test_a_list_says_that_there_is_more(shell: Shell) -> None:
    """Where it ends before the last one."""
    shell.remember("Gauges are polled each minute")
    shell.remember("The quay has two cranes")
    assert shell("memories", "-n", "1").stdout.splitlines()[2:] == ["There are more: --limit 5"]
    assert len(shell.listed("-n", "1")) == 1
    assert "There are more" not in shell("memories", "-n", "2").stdout


def test_nothing_kept_is_an_empty_list(shell: Shell) -> None:
    """Exit code 0, and what to do."""
    assert shell.json("memories") == {"memories": []}
    assert "howcome remember" in shell("memories").stdout


def test_evidence_and_chain_are_shown(shell: Shell, tmp_path: Path) -> None:
    """The whole text, what was before and after it, the events that bear it out; showing counts as reading."""
    ask("import", write(tmp_path / "a.jsonl", *Claude("earlier", str(shell.folder)).conversation(1)))
    event = shell.json("search", "stale fixture")["results"][0]["id"]
    first = shell.remember("--evidence", event[:12], DECISION)
    second = shell("update", first, "One table with a lease.").stdout.split()[0]
    third = shell("update", second[:8], "-", data=b"One table with a lease, and a sweeper.").stdout.split()[0]
    found = shell.json("show", second)
    assert [one["id"] for one in found["chain"]] == [first, second, third]
    assert (found["state"], found["text"], found["access_count"]) == ("superseded", "One table with a lease.", 0)
    assert found["evidence"][0]["id"] == event
    assert "stale" in found["evidence"][0]["summary"]
    shown = shell("show", second).stdout
    assert shown.startswith("One table with a lease.\n")
    for name, ident in (("replaced", first), ("replaced by", third), ("borne out by", event)):
        assert re.search(rf"^    {name}: .+  {ident}$", shown, re.MULTILINE), shown
    assert shell.json("show", second)["access_count"] == 2
    assert shell.listed() == ["One table with a lease, and a sweeper."]
    assert len(shell.listed("--superseded")) == 3


# -- changing, forgetting, erasing ---------------------------------------------------------------------------------
def test_a_status_is_set_in_place(shell: Shell) -> None:
    """No new memory; a new type is one."""
    ident = shell.remember("The sweeper leaks its handles.")
    assert shell("update", ident, "--status", "resolved").stdout == f"{ident} is resolved\n"
    assert "  resolved  " in shell("memories", "--status", "resolved").stdout
    found = shell.json("update", ident, "--type", "failure")
    assert (found["superseded"], found["type"], found["text"]) == (ident, "failure", "The sweeper leaks its handles.")


def test_an_update_to_words_that_are_known_says_so(shell: Shell) -> None:
    """Nothing is superseded by somebody else's memory."""
    first, second = shell.remember("one thing and its reason"), shell.remember("another thing and its reason")
    done = shell("update", first, "Another thing and its reason")
    assert (done.returncode, done.stdout) == (0, f"known already: {second}; {first} stays as it is\n")
    assert shell.json("update", first, "another THING and its reason")["superseded"] is None


def test_what_is_forgotten_comes_back(shell: Shell) -> None:
    """Out of every search and listing, then restored; both are safe to repeat."""
    ident = shell.remember(DECISION)
    for _ in range(2):
        assert f"restore {ident}" in shell("forget", ident).stdout
    assert shell.listed() == []
    assert shell.json("search", "deduplicate upsert")["results"] == []
    assert "  forgotten  " in shell("memories", "--forgotten").stdout
    refused = shell("update", ident, "something else, at length")
    assert refused.returncode == 2
    assert f"howcome restore {ident}" in refused.stderr
    for _ in range(2):
        assert shell("restore", ident).stdout == f"{ident} is live\n"
    assert shell.json("search", "deduplicate upsert")["results"][0]["id"] == ident


def test_only_the_owner_or_a_person_forgets(shell: Shell) -> None:
    """Acting as another agent is refused; a person at the command line is not."""
    ident = shell.remember("--agent", "scout", "the scout's own memory of it")
    for command in (("forget", ident), ("update", ident, LONG), ("update", ident, "--status", "resolved")):
        refused = shell(*command, "--agent", "pilot")
        assert refused.returncode == 1
        assert "scout" in refused.stderr
    assert shell("update", ident, "--status", "resolved", "--agent", "scout").returncode == 0
    assert shell("forget", ident).returncode == 0


def test_what_is_purged_is_gone_from_the_disk(shell: Shell, tmp_path: Path) -> None:
    """It asks first; then no byte of it is left in any file, and an import does not bring it back."""
    ident = shell.remember("the zanzibar protocol is unsafe")
    shell("update", ident, "--status", "resolved")
    shell("export", str(tmp_path / "before.jsonl"))
    asked = shell("purge", ident, data=b"n\n")
    assert asked.returncode == 1
    assert "zanzibar" in asked.stdout
    assert shell.listed() != []
    assert "nowhere in the store's files" in shell("purge", ident, data=b"y\n").stdout
    for path in shell.store.rglob("*"):
        assert not path.is_file() or b"zanzibar" not in path.read_bytes(), path
    assert shell.listed("--forgotten", "--superseded") == []
    assert shell.json("import-memories", str(tmp_path / "before.jsonl"))["purged"] == 1
    assert shell.json("show", ident)["state"] == "purged"
    again = shell("purge", ident)
    assert (again.returncode, "not verified: it was erased before" in again.stdout) == (1, True), "and claims nothing"
    assert shell("restore", ident).returncode == 2


def test_a_purge_says_where_the_words_still_stand(shell: Shell, tmp_path: Path) -> None:
    """A transcript that said the same is not touched; the answer says so."""
    talk = Claude("earlier", str(shell.folder))
    ask("import", write(tmp_path / "a.jsonl", talk.user("please note: the zanzibar protocol is unsafe")))
    ident = shell.remember("the zanzibar protocol is unsafe")
    event = shell.json("search", "--type", "user_prompt", "zanzibar")["results"][0]["id"]
    other = shell.remember("--global", "the zanzibar protocol is unsafe, they say")
    done = shell("purge", "--yes", ident)
    assert done.returncode == 0, "what was said is not the memory's"
    assert f"1 event ({event}): a session said them" in done.stdout
    assert f"1 memory ({other}): `howcome purge {other}`" in done.stdout
    report = shell.json("purge", "--yes", other)
    assert (report["is_gone"], report["events"], report["memories"], report["problem"]) == (True, [], [], "")
    assert shell.json("search", "zanzibar")["results"][0]["kind"] == "event"


def test_a_purge_names_copies_of_the_database_though_a_session_said_the_same(shell: Shell, tmp_path: Path) -> None:
    """The database itself holds the words for the session's sake; copies of it are their user's to delete."""
    said = Claude("earlier", str(shell.folder)).user("the zanzibar protocol is unsafe")
    ask("import", write(tmp_path / "a.jsonl", said))
    ident = shell.remember("the zanzibar protocol is unsafe")
    for name in ("howcome.db.bak", "replaced/2026-11-22-101010/howcome.db"):
        (shell.store / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(shell.store / "howcome.db", shell.store / name)
    done = shell("purge", "--yes", ident)
    assert "howcome.db.bak, replaced/2026-11-22-101010/howcome.db" in done.stdout, done.stdout


def test_a_purge_names_copies_that_nobody_knows(shell: Shell) -> None:
    """A copy of the database beside it is not erased; the exit code says that something is to be done."""
    ident = shell.remember("the zanzibar protocol is unsafe")
    (shell.store / "howcome.db.bak").write_bytes((shell.store / "howcome.db").read_bytes())
    done = shell("purge", "--yes", ident)
    assert done.returncode == 1
    assert "howcome.db.bak" in done.stdout


# -- bad input -----------------------------------------------------------------------------------------------------
def test_every_command_says_how_it_is_used() -> None:
    """An example in every help text, and every command takes --json."""
    with click.Context(cli, info_name="howcome") as context:
        for name in COMMANDS:
            command = cli.get_command(context, name)
            assert command is not None, name
            with click.Context(command, info_name=name, parent=context) as inner:
                assert f"  howcome {name}" in command.get_help(inner)
            assert any("--json" in parameter.opts for parameter in command.params), name


BAD: list[tuple[tuple[str | bytes, ...], bytes, int, str]] = [
    (("remember",), b"", 2, "words"), (("remember", ""), b"", 2, "words"), (("remember", " \n\t"), b"", 2, "words"),
    (("remember", "-"), b"", 2, "words"), (("remember", "-"), b"x" * (1 << 20), 2, "characters"),
    (("remember", "-"), b"x" * (3 << 20), 2, "characters"), (("remember", "x" * 100_000), b"", 2, "100000"),
    (("remember", "ok"), b"", 2, "with its reason"),
    (("remember", "-"), b"caf\xe9", 2, "byte 4"), (("remember", "--type", "guess", "x"), b"", 2, "guess"),
    (("remember", "--global", "--project", ".", "x"), b"", 2, "choose one"),
    (("remember", "--agent", "", LONG), b"", 2, "agent"), (("remember", "--agent", "a\nb", LONG), b"", 2, "agent"),
    (("remember", "--evidence", "ev-000000", LONG), b"", 1, "ev-000000"),
    (("remember", "--evidence", "", LONG), b"", 1, "no event"), (("remember", "<private>x</private>"), b"", 2, "words"),
    (("memories", "--type", "guess"), b"", 2, "guess"), (("memories", "--limit", "0"), b"", 2, "limit"),
    (("memories", "--global", "--all-projects"), b"", 2, "choose one"),
    (("show", "mem-0000"), b"", 1, "mem-0000"), (("show", "mem-"), b"", 1, "mem-"), (("show", ""), b"", 1, "no event"),
    (("update", "mem-0000", LONG), b"", 1, "mem-0000"), (("update",), b"", 2, "ID"),
    (("update", "mem-zz", "--status", "done"), b"", 2, "done"), (("forget", "mem-0000"), b"", 1, "mem-0000"),
    (("forget", "ev-0000"), b"", 1, "stays as it was said"), (("purge", "ev-0"), b"", 1, "config set exclude"),
    (("restore", "mem-0000"), b"", 1, "mem-0000"),
    (("restore", b"mem-\xff\xfe"), b"", 1, "no memory"), (("purge", "mem-0000"), b"", 1, "mem-0000"),
    (("purge", "--yes", ""), b"", 1, "no memory"), (("export", "."), b"", 2, "folder"),
    (("export", "/nonexistent/x"), b"", 2, "/nonexistent/x"),
    (("export", "--all-projects", "--project", "."), b"", 2, "choose one"),
    (("import-memories", "."), b"", 2, "directory"), (("import-memories", "nowhere"), b"", 2, "nowhere"),
    (("import-memories", "-"), b"", 2, "empty"), (("import-memories", "-"), b"{}\n", 2, "no export"),
    (("import-memories", "-"), b"\xff\xfe\n", 2, "no export"), (("import-memories", "-"), b"[1]\n", 2, "no export"),
    (("import-memories", "-"), b"{broken", 2, "no export"),
    (("import-memories", "-"), b'{"howcome": "memories", "version": 2}\n', 2, "upgrade"),
    (("import-memories", "-"), b'{"howcome": "events", "version": 1}\n', 2, "no export"),
]  # fmt: skip


@pytest.mark.parametrize(("words", "data", "code", "says"), BAD, ids=lambda item: ascii(item)[:36])
def test_bad_input_is_answered(
    words: tuple[str | bytes, ...], data: bytes, code: int, says: str, tmp_path: Path, store_folder: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    """A message that names it and the documented exit code; nothing is kept."""
    SqliteStore(str(store_folder)).close()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["howcome", *map(os.fsdecode, words)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    assert main() == code
    said = capsys.readouterr()
    assert says in said.err
    assert said.out == ""
    assert len(said.err) < 2000
    store = SqliteStore(str(store_folder))
    assert store.memories.counts()["by_state"] == {}
    store.close()


def test_bytes_that_are_no_text_are_replaced(shell: Shell) -> None:
    """As in transcripts; a lone surrogate cannot get in."""
    assert shell(*("remember", b"the harbour has a caf\xe9")).returncode == 0
    assert shell.listed() == ["the harbour has a caf\ufffd"]


def test_an_ambiguous_id_names_what_it_could_be(shell: Shell) -> None:
    """Write more of it; every command that takes an id says so."""
    lines = [HEAD, *(json.dumps(exported(f"{'ab' * 15}{number:02x}", f"number {number}")) for number in range(3))]
    assert shell.json("import-memories", "--mine", "-", data="\n".join(lines).encode())["added"] == 3
    for command in ("show", "update", "forget", "restore", "purge"):
        done = shell(command, "mem-abab", *([LONG] if command == "update" else []))
        assert done.returncode == 1
        assert "mem-abababababab" in done.stderr
    assert shell("forget", "ab" * 15 + "01").returncode == 0, "the whole key always tells"


# -- moving --------------------------------------------------------------------------------------------------------
def exported(key: str, text: str, **fields: Any) -> dict[str, Any]:
    """A line of an export."""
    return {
        "key": key, "id": f"mem-{key[:12]}", "type": "context", "text": text, "project": None, "agent": None,
        "origin": "user", "status": "open", "created_ms": 1_790_000_000_000, "deleted_ms": None, "supersedes": None,
        "evidence": [], **fields,
    }  # fmt: skip


def unmarked(lines: str) -> str:
    """An export without the marks that only one store can make."""
    return re.sub(r', "mac": "[0-9a-f]{32}"', "", lines)


def test_what_is_exported_can_be_imported_elsewhere(shell: Shell, tmp_path: Path) -> None:
    """Forgotten and superseded ones too, with their chain; twice is once; a trial writes nothing."""
    first = shell.remember("--type", "decision", DECISION)
    shell("update", first, "One table with a lease. 港 \U0001f600")
    shell("forget", shell.remember("--global", "--agent", "scout", "forgotten by everybody"))
    file = tmp_path / "memories.jsonl"
    assert shell.json("export", str(file)) == {"memories": 3, "file": str(file)}
    assert shell("export", "--project", ".", str(file)).stdout == f"3 memories written to {file}\n"
    assert file.stat().st_mode & 0o777 == 0o600
    assert shell("export").stdout == file.read_text(encoding="utf-8")
    other = Shell(shell.folder, tmp_path / "other")
    counts = {"added": 3, "edited": 0, "known": 0, "purged": 0, "stones": 0, "still_here": [], "problems": []}
    counts |= {"outside": 0, "left_out": 0}
    assert other.json("import-memories", "--mine", "--dry-run", str(file)) == {**counts, "is_dry_run": True}
    assert other.listed("--forgotten", "--superseded") == []
    assert other.json("import-memories", "--mine", str(file)) == {**counts, "is_dry_run": False}
    assert other.json("import-memories", "--mine", "-", data=file.read_bytes())["known"] == 3
    assert unmarked(other("export").stdout) == unmarked(file.read_text(encoding="utf-8"))
    assert other.listed() == ["One table with a lease. 港 \U0001f600"]
    assert [one["text"][:9] for one in other.json("show", first)["chain"]] == [DECISION[:9], "One table"]
    assert other.json("search", "lease")["results"][0]["kind"] == "memory"


def test_an_export_replaces_only_an_export(shell: Shell, tmp_path: Path) -> None:
    """Not somebody's notes, unless --force says so; nothing is left behind when it cannot be written."""
    shell.remember(LONG)
    notes, file = tmp_path / "notes.txt", tmp_path / "memories.jsonl"
    notes.write_text("# mine\n")
    refused = shell("export", str(notes))
    assert refused.returncode == 2
    assert "--force" in refused.stderr
    assert notes.read_text() == "# mine\n"
    for _ in range(2):
        assert shell("export", str(file)).returncode == 0
    assert shell("export", "--force", str(notes)).returncode == 0
    assert notes.read_bytes() == file.read_bytes()
    assert not list(tmp_path.glob("*.part"))


def test_what_was_purged_elsewhere_and_stands_here_is_named(shell: Shell, tmp_path: Path) -> None:
    """An import erases nothing: it says what is left to do, until it is done."""
    ident = shell.remember(DECISION)
    file = tmp_path / "memories.jsonl"
    shell("export", str(file))
    other = Shell(shell.folder, tmp_path / "other")
    other("import-memories", "--mine", str(file))
    shell("purge", "--yes", ident)
    shell("export", "--force", str(file))
    says = f"1 memory was purged where this was written and is still here: `howcome purge {ident}`"
    for options in (["--dry-run"], []):
        assert other("import-memories", "--mine", *options, str(file)).stdout.splitlines()[1:] == [says]
    report = other.json("import-memories", "--mine", str(file))
    assert (report["known"], report["stones"], report["still_here"]) == (0, 0, [ident])
    other("purge", "--yes", ident)
    report = other.json("import-memories", "--mine", str(file))
    assert (report["known"], report["still_here"]) == (1, [])


def test_bad_lines_are_named_and_good_ones_kept(shell: Shell) -> None:
    """By number, with the reason; the exit code is 1."""
    key = "{:032x}".format
    lines = [
        HEAD.encode(), json.dumps(exported(key(1), "good")).encode(), b"{broken", b"caf\xe9", b"[]", b"",
        json.dumps(exported("xyz", "bad key")).encode(), json.dumps(exported(key(2), "t", type="guess")).encode(),
        json.dumps(exported(key(3), "")).encode(), json.dumps(exported(key(4), "x" * 9000)).encode(),
        json.dumps(exported(key(5), "t", created_ms="now")).encode(), b'{"key": "' + b"x" * (2 << 20) + b'"}',
        json.dumps(exported(key(6), "t", agent=7)).encode(), json.dumps(exported(key(7), "also good \ud800")).encode(),
        json.dumps(exported(key(8), "t", evidence="ev-1")).encode(),
    ]  # fmt: skip
    done = shell("import-memories", "-", "--json", data=b"\n".join(lines))
    report = json.loads(done.stdout)
    assert (done.returncode, report["added"]) == (1, 2)
    assert [problem["line"] for problem in report["problems"]] == [3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 15]
    assert "line 4: not UTF-8 (byte 4)" in done.stderr
    assert "line 12: longer than 1 MB" in done.stderr
    assert set(shell.listed()) == {"good", "also good \ufffd"}


texts = st.sampled_from(["one", "two"]) | st.text(min_size=1, max_size=20).filter(lambda text: text.strip())
steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "update", "type", "status", "forget", "restore", "purge"]), texts,
        st.sampled_from([None, "/gone/harbour", "/gone/quay"]), st.sampled_from([None, "scout"]), st.integers(0, 7),
    ), min_size=1, max_size=9,
)  # fmt: skip


@contextmanager
def empty() -> Iterator[tuple[SqliteStore, Memories]]:
    """An empty store with its memories, under a clock that goes on with each look."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(folder)
        store.connection.execute("PRAGMA synchronous = OFF")
        moments = iter(range(1_790_000_000_000, 1_790_000_100_000, 7))
        try:
            yield store, Memories(store, lambda: next(moments))
        finally:
            store.close()


def lines_of(memories: Memories) -> bytes:
    """An export, as the command writes it."""
    values = memories.export(Scope.everything())
    return unmarked("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)).encode()


@settings(max_examples=examples(25), deadline=None)
@given(steps)
def test_an_export_imported_is_the_same_export(given_: list[tuple[str, str, str | None, str | None, int]]) -> None:
    """Whatever was done to the memories: imported into an empty store they export the same bytes; twice is once."""
    with empty() as (_, first), empty() as (_, second):
        made: list[str] = []
        for step, text, project, agent, number in given_:
            ident = made[number % len(made)] if made else "mem-0"
            try:
                if step == "add":
                    made.append(first.add(text, project=project, agent=agent)[0].id)
                elif step == "update":
                    made.append(first.update(ident, text=text, is_person=True).id)
                elif step == "type":
                    made.append(first.update(ident, type=TYPES[number % len(TYPES)], is_person=True).id)
                elif step == "status":
                    first.update(ident, status="resolved", is_person=True)
                elif step == "forget":
                    first.forget(ident, is_person=True)
                else:
                    getattr(first, step)(ident)
            except HowcomeError:
                continue
        data = lines_of(first)
        values = list(enumerate((json.loads(line) for line in data.splitlines()), 1))
        report = second.import_values(values, is_mine=True)
        assert (report.problems, report.known, report.added + report.stones) == ([], 0, len(values) - 1)
        assert lines_of(second) == data
        report = second.import_values(values, is_mine=True)
        assert (report.problems, report.known, report.added) == ([], len(values) - 1, 0)
        assert lines_of(second) == data
