"""Why a line is there: real repositories, transcripts of the sessions that worked in them, the command as typed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import START, Claude, write
from tests.mcp_server import McpServer
from tests.processes import ask, run

if TYPE_CHECKING:
    from pathlib import Path


CART = "def total(items):\n    return sum(items)\n"
CAPPED = "def total(items):\n    if len(items) > 90:\n        raise ValueError\n    return sum(items)\n"


class Work:
    """A repository, and sessions in it: what an agent writes is written, and is in its transcript."""

    def __init__(self, root: Path) -> None:
        self.root, self.number, self.records = root, 0, {}  # type: Path, int, dict[str, list[Record]]
        root.mkdir()
        self.git("init", "-q", "-b", "main")
        self.claude: dict[str, Claude] = {}

    def git(self, *words: str) -> str:
        """A git command at the time of the last record."""
        when = (START + timedelta(seconds=self.number)).isoformat()
        names = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
        environment = {**os.environ, **names, "GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
        done = subprocess.run(["git", *words], cwd=self.root, env=environment, capture_output=True, check=True)
        return done.stdout.decode()

    def tell(self, session: str, kind: str, *words: Any, **values: Any) -> None:
        """The next record of a session."""
        claude = self.claude.setdefault(session, Claude(session, cwd=str(self.root)))
        claude.number = self.number = self.number + 1
        self.records.setdefault(session, []).append(getattr(claude, kind)(*words, **values))

    def call(self, session: str, tool: str, output: str = "ok", *, failed: bool = False, **values: Any) -> None:
        """A call and its result."""
        ident = f"t{self.number}"
        self.tell(session, "call", tool, ident, **values)
        self.tell(session, "result", ident, output, **({"is_error": True} if failed else {}))

    def edit(self, session: str, file: str, old: str, new: str) -> None:
        """An edit of a file, or the whole of a new one; its path is told from the root, as some agents do."""
        path = self.root / file
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_text(path.read_text().replace(old, new, 1) if old else new)
        values = {"old_string": old, "new_string": new} if old else {"content": new}
        self.call(session, "Edit" if old else "Write", file_path=file, **values)

    def commit(self, subject: str, session: str | None = None, told_hash: str | None = None) -> str:
        """A commit of everything, by a session or by a person; its hash."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        name = self.git("rev-parse", "HEAD").strip()
        if session:
            output = f"[main {told_hash or name[:7]}] {subject}\n 1 file changed"
            self.call(session, "Bash", output, command=f'git add -A && git commit -m "{subject}"')
        return name

    def read(self) -> None:
        """Imports the transcripts."""
        for session, records in self.records.items():
            write(self.root.parent / f"{session}.jsonl", *records)
        ask("import", *(self.root.parent / f"{session}.jsonl" for session in self.records))


@pytest.fixture
def work(tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Work:  # noqa: ARG001 - sets where the store is
    """An empty repository, which is the current folder."""
    made = Work(tmp_path / "shop")
    monkeypatch.chdir(made.root)
    return made


@pytest.fixture
def capped(work: Work) -> Work:
    """One session writes a file, another one caps it after a failed try; both commit."""
    work.tell("first", "user", "write a cart that sums its items")
    work.edit("first", "src/cart.py", "", CART)
    work.commit("Add a cart", "first")
    work.tell("second", "user", "carts with a thousand items take the shop down, cap them")
    work.call("second", "Bash", "Exit code 1\n1 failed", failed=True, command="pytest -q tests/cart")
    work.tell("second", "text", "I cap it at 90, because `PaymentClient.charge` fails with more than 90 positions.")
    work.edit("second", "src/cart.py", "    return", "    if len(items) > 90:\n        raise ValueError\n    return")
    work.commit("Cap carts at 90 items", "second")
    work.read()
    return work


def test_a_line_has_its_commit_its_session_the_prompt_the_reason_and_what_failed(capped: Work) -> None:
    """Of each line that of its own session; the other lines keep theirs."""
    row = ask("src/cart.py:2")
    assert (row["file"], row["line"], row["session_id"], row["is_sure"]) == ("src/cart.py", 2, "second", True)
    assert row["commit"]["hash"] == capped.git("rev-parse", "HEAD").strip()
    assert row["commit"]["subject"] == "Cap carts at 90 items"
    assert row["prompt"]["summary"] == "carts with a thousand items take the shop down, cap them"
    assert "because `PaymentClient.charge` fails" in row["rationale"]["Why"]
    assert [one["summary"] for one in row["tried"]] == ["Bash: pytest -q tests/cart"]
    assert [one["tool"] for one in row["events"]] == ["Edit"]
    assert row["committed"]["session_id"] == "second"
    first = ask("blame", "src/cart.py:1:5")  # as compilers print a place
    assert (first["session_id"], first["commit"]["subject"], first["tried"]) == ("first", "Add a cart", [])


def test_a_bare_name_is_that_of_the_only_file_of_this_name(capped: Work) -> None:
    """Which sessions edited; of several each is named."""
    assert ask("cart.py:2") == ask("src/cart.py:2")
    capped.edit("third", "old/cart.py", "", CART)
    capped.read()
    done = run("cart.py:2")
    assert done.returncode == 2
    assert "several files are called cart.py" in done.stderr
    assert "old/cart.py, " in done.stderr
    assert "there is no file" in run("card.py:2").stderr


def test_people_read_it_in_a_few_lines_with_ids(capped: Work) -> None:
    """And what leads on; from any folder of the repository."""
    done = run("cart.py:2", folder=capped.root / "src")
    assert (done.returncode, done.stderr) == (0, "")
    asked, written, why, said, failed, subject, commit, more = done.stdout.splitlines()
    assert asked == "Carts with a thousand items take the shop down, cap them."
    assert re.fullmatch(r"  written by Edit  .+  session second  ev-[0-9a-f]{12}", written)
    assert why.startswith("    why: I cap it at 90, because")
    assert re.fullmatch(r"    said: I cap it .*  ev-[0-9a-f]{12}", said)
    assert re.fullmatch(r"    failed: Bash: pytest -q tests/cart  ev-[0-9a-f]{12}", failed)
    assert subject == "Cap carts at 90 items"
    assert re.fullmatch(r"  commit  .+  [0-9a-f]{10}  session second  ev-[0-9a-f]{12}", commit)
    assert more == "More: howcome show ID, howcome history src/cart.py"


def test_who_wrote_a_line_is_found_whoever_committed_it(work: Work) -> None:
    """A person, another session, a squash: by the line's text; what was undone in between does not count."""
    work.tell("first", "user", "a cart")
    work.edit("first", "cart.py", "", CART)
    work.edit("first", "cart.py", "    return", "    if len(items) > 90:\n        raise ValueError\n    return")
    work.call("first", "Edit", "no such text", failed=True, file_path=str(work.root / "cart.py"), old_string="zz",
              new_string="    if len(items) > 90:")  # fmt: skip
    work.tell("other", "user", "commit it all")
    work.commit("Cap carts", "other")
    work.tell("late", "user", "write it once more elsewhere")
    work.edit("late", "lib/cart.py", "", CAPPED)  # another file of that name
    work.read()
    row = ask("cart.py:2")
    assert (row["session_id"], row["is_sure"], row["committed"]["session_id"]) == ("first", True, "other")
    assert re.search(r"  commit  .*  session other  ev-", run("cart.py:2").stdout)
    assert ask("lib/cart.py:2")["session_id"] == "late"
    assert ask("lib/cart.py:2")["commit"] is None
    assert "Its commit: not committed yet." in run("lib/cart.py:2").stdout


def test_a_line_that_no_edit_wrote_is_the_session_s_that_committed_it(work: Work) -> None:
    """Told by the hash that its commit printed, or by its message: after a rebase the hash is another."""
    (work.root / "made.txt").write_text("generated\n")
    work.tell("first", "user", "generate it")
    work.commit("Generate the table", "first")
    (work.root / "more.txt").write_text("generated, too\n")
    work.tell("second", "user", "generate more")
    work.commit("Generate more", "second", told_hash="deadbee")
    (work.root / "hand.txt").write_text("by hand\n")
    work.git("add", "-A")
    work.git("commit", "-q", "-m", "init")
    work.tell("second", "user", "what is there?")
    work.call("second", "Bash", "init", command="git log --grep init; echo commit init")
    work.read()
    assert (ask("made.txt:1")["session_id"], ask("more.txt:1")["session_id"]) == ("first", "second")
    row = ask("hand.txt:1")
    assert (row["session_id"], row["events"], row["commit"]["subject"]) == (None, [], "init")
    done = run("hand.txt:1")
    assert done.returncode == 0
    assert "No session that is stored here wrote this line." in done.stdout


def test_lines_that_look_alike_are_told_apart_by_those_around_them(work: Work) -> None:
    """Where nothing tells them apart it is said: probably."""
    work.tell("first", "user", "one block")
    work.edit("first", "a.c", "", "one {\n\tx\n}\n")
    work.tell("second", "user", "two blocks")
    work.edit("second", "a.c", "}\n", "}\ntwo {\n\ty\n}\n")
    work.read()
    assert [ask(f"a.c:{line}")["session_id"] for line in (1, 3, 4, 6)] == ["first", "first", "second", "second"]
    work.root.joinpath("a.c").write_text("}\n" * 20)
    row = ask("a.c:9")
    assert row["is_sure"] is False
    assert "probably written by Edit" in run("a.c:9").stdout


def test_a_worktree_s_edits_are_the_file_s(work: Work) -> None:
    """Wherever the working copy was, and though it is gone."""
    work.tell("first", "user", "a cart, in a worktree")
    path = work.root / ".worktrees" / "cap" / "cart.py"
    work.call("first", "Write", file_path=str(path), content=CART)
    work.tell("first", "user", "and a page about it")
    work.call("first", "Write", file_path=str(work.root / "docs" / "cart.py"), content=CAPPED)
    (work.root / "cart.py").write_text(CAPPED)
    work.read()
    assert ask("cart.py:1")["prompt"]["summary"] == "a cart, in a worktree"
    assert ask("cart.py:2")["events"] == []


def test_without_git_what_sessions_wrote_is_told(tmp_path: Path, capped: Work) -> None:
    """No repository, no git: it is said, and the session is found all the same."""
    shutil.rmtree(capped.root / ".git")
    row = ask("src/cart.py:2")
    assert (row["session_id"], row["commit"], row["problem"]) == ("second", None, "not in a git repository")
    (capped.root / ".git").mkdir()  # git does not take it for one
    row = ask("src/cart.py:2")
    assert (row["session_id"], row["commit"]) == ("second", None)
    assert "not a git repository" in row["problem"]
    environment = {**os.environ, "PATH": str(tmp_path)}
    done = run("src/cart.py:2", environment=environment, fresh=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "git cannot be started" in done.stdout


def test_a_word_that_names_a_file_is_a_file(capped: Work) -> None:
    """A command is a command, `./` or a line makes its name a file; other words are searched for, a near miss asks."""
    (capped.root / "status").write_text("x\n")
    assert "events" in run("status").stdout
    assert "howcome history status" in run("./status:1").stdout
    assert "No session edited it" in run("./status").stdout
    assert run("src/cart.py", "--json").stdout.startswith('{"file": "src/cart.py"')
    assert "results" in run("src/cart.py:2", "payment", "--json").stdout
    assert "Did you mean `howcome status`?" in run("statu").stderr
    gone = ("src/gone.py:2", "there is no file src/gone.py")
    for wrong, said in (gone, ("./gone.py", "there is no file ./gone.py"), ("./src/cart.py:99", "there is no line 99")):
        done = run(wrong)
        assert (done.returncode, done.stdout) == (2, "")
        assert said in done.stderr


def test_odd_names_and_lines_are_answered(capped: Work) -> None:
    """Bytes that are no text, a name that looks like a place, blanks and quotes; nothing of it is an error of ours."""
    for name in (b"caf\xe9.txt", b"a:3", b"-n.txt", b"it's a \\ name.txt", "größe.py".encode()):
        (capped.root / os.fsdecode(name)).write_bytes(b"x\r\n\xff\n")
        done = run("blame", "--", name + b":2")
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        assert "not committed yet" in done.stdout
        assert run("history", "--", name).returncode == 0
    assert "there is no file" in run("blame", "src/cart.py:" + "9" * 5000).stderr
    (capped.root / "empty").write_bytes(b"")
    assert ask("blame", "empty:1")["events"] == []


def test_the_history_of_a_file_has_edits_plans_and_commits(capped: Work) -> None:
    """Newest first, the edits of an exchange in one row; also of a file that is gone."""
    capped.tell("third", "user", "plan a rewrite of the cart")
    capped.call("third", "ExitPlanMode", plan="# Rewrite\nIn src/cart.py floats become Decimal.")
    capped.edit("third", "src/cart.py", "items", "rows")
    capped.edit("third", "src/cart.py", "items", "rows")
    capped.read()
    rows = ask("history", "src/cart.py")["changes"]
    assert [(row["kind"], row["session_id"], len(row["events"])) for row in rows] == [
        ("edits", "third", 2), ("plan", "third", 1),
        ("commit", "second", 0), ("edits", "second", 1), ("commit", "first", 0), ("edits", "first", 1),
    ]  # fmt: skip
    assert rows[0]["prompt"]["summary"] == "plan a rewrite of the cart"
    assert rows[2]["commit"]["subject"] == "Cap carts at 90 items"
    assert len(ask("history", "src/cart.py", "-n", "2")["changes"]) == 2
    (capped.root / "src" / "cart.py").unlink()
    assert len(ask("history", "src/cart.py")["changes"]) == 6
    shutil.rmtree(capped.root / "src")
    assert len(ask("history", "src/cart.py")["changes"]) == 6
    assert "No session edited it" in run("history", "src/none.py").stdout


def test_a_bare_name_says_which_file_each_edit_is_of(capped: Work) -> None:
    """Where files of two folders have it; else the name would say nothing new."""
    assert "src/cart.py" not in run("history", "src/cart.py").stdout.partition("More:")[0]
    (capped.root / "lib").mkdir()
    shutil.copy(capped.root / "src" / "cart.py", capped.root / "lib" / "cart.py")
    capped.tell("third", "user", "the library needs a cart, too")
    capped.edit("third", "lib/cart.py", "items", "rows")
    capped.read()
    said = run("history", "cart.py").stdout
    assert "lib/cart.py" in said
    assert "src/cart.py" in said


def test_an_agent_asks_the_timeline_for_a_file(capped: Work, tmp_path: Path) -> None:
    """A line or a whole file of its project, quoted as data; files elsewhere are not looked at."""
    (tmp_path / "secret.txt").write_text("x\n")
    with McpServer(environment={"CLAUDE_PROJECT_DIR": str(capped.root)}) as server:
        told = server.call("get_timeline", file="src/cart.py:2")
        assert "src/cart.py:2: why it is there." in told
        assert "| Carts with a thousand items take the shop down" in told
        assert "session second" in told
        assert "\n1 edit  " in server.call("get_timeline", file="src/cart.py")
        for outside in ("../secret.txt:1", str(tmp_path / "secret.txt")):
            assert "name a file of this project" in server.call("get_timeline", file=outside)
    with McpServer(environment={"CLAUDE_PROJECT_DIR": ""}, cwd="/") as server:
        assert "which is no project" in server.call("get_timeline", file=str(capped.root / "src/cart.py"))
