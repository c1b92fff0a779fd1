"""Whatever is asked, of whatever length and in whatever characters: an answer or none, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.batches import Transcript
from tests.builders import Claude, write
from tests.hostile.scale import examples
from tests.processes import run

from howcome.app import App, open_app
from howcome.cli.main import main
from howcome.domain.stored import Scope
from howcome.retrieve.question import Question
from howcome.settings import read_settings

SYNTAX = (
    "",
    " ",
    "\t\n",
    '"',
    "'",
    "*",
    "?",
    "(",
    ")",
    "((",
    "a AND OR NOT b",
    "NOT",
    "AND",
    "OR",
    '"unclosed phrase',
    "text:redis",
    "redis^9",
    "redis~2",
    "[a TO z]",
    "{a TO z}",
    "+redis -redis",
    "redis*",
    "*redis",
    "/redis/",
    "\\",
    "\\\\x",
    "%",
    "_",
    "';--",
    '" OR 1=1 --',
    "rm -rf / ; $(reboot) `reboot`",
    "../../etc/passwd",
    "\x01\x1b[31m",
    "\u202eredis",
    "ﬁ ﬂ \uff52\uff45\uff44\uff49\uff53",
    "İıßẞ",
    "👩‍👩‍👧‍👦",
    "e\u0301" * 50,
    "a" * 100_000,
    "redis " * 20_000,
    "a_b" * 30_000,
    "-" * 50_000,
    "`" * 9999,
    "数" * 20_000,
    "\U0001d563\U0001d556\U0001d555",
    "--",
    "-1",
    "ev-",
    "null",
    "nan",
    "𠮷野家",
    "\ufffd",
    "\u2028",
    "x" * 255 + "é",
)
WORD = st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=6, max_size=14)
TOKEN = st.one_of(
    WORD,
    st.lists(WORD, min_size=2, max_size=3).map("_".join),
    st.lists(WORD, min_size=2, max_size=3).map(lambda parts: "".join(part.title() for part in parts)),
    WORD.map(lambda word: f"src/{word}.py"),
    st.text(alphabet="数据库迁移失败", min_size=2, max_size=5),
    st.integers(10_000, 10**9).map(str),
)


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A store in which all these texts were said."""
    home = tmp_path_factory.mktemp("hostile")
    with open_app(read_settings({"HOWCOME_HOME": str(home)})) as opened:
        transcript = Transcript(opened.store)
        transcript.say("redis loses its state", "so the upsert", *(text for text in SYNTAX if text.strip()))
        opened.index.catch_up()
        yield opened


@pytest.mark.parametrize("text", SYNTAX, ids=lambda text: ascii(text[:20]))
def test_no_question_has_a_syntax(app: App, text: str) -> None:
    """Operators, quotes, wildcards and endless words are words: searched by passage and by session, and recalled."""
    for by_session in (False, True):
        for item in app.search.find(Question(text, Scope.everything(), limit=5, by_session=by_session)):
            assert 0 < item.score <= 1
            assert len(item.passage) <= 600
            assert item.id
    app.search.recall(text, cwd="/home/mara/quay", session="s", recent=lambda: text)


@settings(max_examples=examples(200), deadline=None)
@given(st.text(max_size=300))
def test_generated_questions_never_fail(app: App, text: str) -> None:
    """Any characters at all; what is found is ordered."""
    scores = [item.score for item in app.search.find(Question(text, Scope.everything(), limit=5))]
    assert scores == sorted(scores, reverse=True)
    app.search.recall(text, cwd="/home/mara/quay", session="s", recent=lambda: text)


@settings(max_examples=examples(100), deadline=None)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_text_never_fail(app: App, data: bytes) -> None:
    """An argument that is not UTF-8 reaches Python with lone surrogates in it."""
    app.search.find(Question(os.fsdecode(data), Scope.everything(), limit=5))
    app.search.recall(os.fsdecode(data), cwd="/home/mara/quay", session="s", recent=lambda: "")


@settings(max_examples=examples(40), deadline=None)
@given(tokens=st.lists(TOKEN, min_size=1, max_size=5, unique=True), noise=st.text(max_size=40))
def test_a_literal_token_is_findable(app: App, tokens: list[str], noise: str) -> None:
    """Whatever stood around it: who asks for exactly a token that was said finds what said it."""
    number = app.store.log.last_position()
    transcript = Transcript(app.store, f"/t/{number}.jsonl", session=f"said-{number}")
    noise = "".join(character for character in noise if not character.isalnum())
    [row] = transcript.say(f"{noise} " + f" {noise} ".join(tokens))
    app.index.catch_up()
    for token in tokens:
        found = [item.event.row for item in app.search.find(Question(token, Scope.everything(), limit=1000))]
        assert row in found, token


ARGUMENTS = (
    ("search", "--json", "--all-projects", ""),
    ("search", "--json", "--all-projects", "--", "--limit"),
    ("search", "--json", "--all-projects", '"', "AND", "OR", "NOT", "(", "*"),
    ("search", "--json", "--all-projects", "x" * 100_000),
    ("search", "--json", "--project", "", "redis"),
    ("search", "--json", "--project", "/" + "x" * 5000, "redis"),
    ("search", "--json", "--project", "\x01\n", "redis"),
    ("search", "--json", "--before", "0001-01-01", "redis"),
    ("search", "--json", "--before", "9999-12-31T23:59:59+00:00", "redis"),
    ("search", "--json", "--limit", "1000", "redis"),
    ("show", "'; DROP TABLE events; --"),
    ("show", "%"),
    ("timeline", "%"),
    ("timeline", "_" * 50_000),
    ("show", "é" * 9),
    ("search", "--before", "\u0661\u0662", "redis"),
    ("import", "\n"),
    ("import", "-"),
    ("import", "/dev/null"),
    ("import", "/proc/self/mem"),
    ("import", "/dev/zero"),
    ("eval", "/dev"),
)


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda arguments: ascii(" ".join(arguments)[:40]))
@pytest.mark.usefixtures("store_folder")
def test_hostile_arguments_get_an_answer_or_a_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """JSON on standard output, or one of the documented exit codes with a message."""
    monkeypatch.setattr(sys, "argv", ["howcome", *arguments])
    code = main()
    out, err = capsys.readouterr()
    if code == 0:
        assert not arguments[1].startswith("--json") or json.loads(out)["results"] == []
    else:
        assert code in (1, 2)
        assert err.strip()


@pytest.mark.parametrize(
    "command", [("search", "--all-projects"), ("search", "--project"), ("timeline",), ("show",), ("import",)]
)
@pytest.mark.usefixtures("store_folder")
def test_arguments_that_are_no_text_get_an_answer_or_a_message(command: tuple[str, ...]) -> None:
    """Bytes that are not UTF-8, as any file name may hold them."""
    arguments = [*command, b"caf\xe9 \xff\xfe", *([b"x"] if "--project" in command else [])]
    done = subprocess.run([sys.executable, "-m", "howcome", *arguments], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)


@pytest.mark.usefixtures("store_folder")
def test_a_folder_that_is_no_text_can_be_searched_in(tmp_path: Path) -> None:
    """A working directory whose name is not UTF-8 has no history, and is no error."""
    folder = os.fsencode(tmp_path) + b"/caf\xe9"
    os.mkdir(folder)
    done = subprocess.run(
        [sys.executable, "-m", "howcome", "search", "redis"], cwd=folder, capture_output=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize("found", [1, 0])
def test_an_index_made_anew_is_no_failed_import(found: int, tmp_path: Path, store_folder: Path, home: Path) -> None:
    """With one transcript, or with none, the one thing to be said is not that nothing could be read."""
    path = write(tmp_path / "one.jsonl", *Claude("one").conversation(1))
    assert run("import", path).returncode == 0
    next((store_folder / "index").rglob("*.store")).write_bytes(b"damaged")
    assert not home.joinpath(".claude").exists()
    done = run("import", *[path][:found])
    assert done.stderr.endswith("; it is made anew from the rows\n"), done.stderr
    assert done.returncode == 0
