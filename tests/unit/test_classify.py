"""What a prompt wants and is about, by rules; what somebody else says of it is checked and kept for a day."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.retrieve.classify import INTENTS, RULE_CONFIDENCE, Tree, classify, intent_of


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    """A small project."""
    names = ("src/ingest/run.py", "src/ingest/parse.py", "docs/run.py", "gateway/main.rs", "node_modules/x/deep.js")
    for name in names:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / "loop").symlink_to(tmp_path)
    return Tree(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("fix the flaky test", "fix"), ("It prints KeyError: 'x' and stops", "fix"),
        ("Why does this fail with exit code 2?", "fix"), ("add a command that lists gauges", "build"),
        ("implement the export", "build"), ("explain how the cursor works", "explain"),
        ("should we use redis instead of the upsert?", "decide"), ("which option is better, rq or celery", "decide"),
        ("what did we do about it last time, do you remember", "recall"), ("review my change", "review"),
        ("commit and push", "chore"), ("thanks", "chore"), ("the harbour at night", ""), ("", ""),
    ],
)  # fmt: skip
def test_an_intent_is_told_by_its_words(text: str, intent: str) -> None:
    """Cues count, the first word most; an error message is a fix."""
    assert intent_of(text)[0] == intent


@given(st.text(max_size=300))
def test_rules_are_never_quite_sure(text: str) -> None:
    """An intent has a confidence, none has none, and only a model may be sure."""
    intent, confidence = intent_of(text)
    assert intent in ("", *INTENTS)
    assert bool(intent) == (confidence > 0)
    assert confidence <= RULE_CONFIDENCE


def test_a_file_that_is_not_there_is_not_a_file(tree: Tree) -> None:
    """By its path, the end of it, its name, or its whole path; never outside of the project."""
    outside = Path(tree.root).parent / "outside.py"
    outside.write_text("")
    text = f"compare ingest/run.py, parse.py, gone.py, ../outside.py, {outside} and {tree.root}/gateway/main.rs"
    assert classify(text, tree).files == ("src/ingest/run.py", "src/ingest/parse.py", "gateway/main.rs")
    assert "gone.py" in classify(text, tree).names


def test_a_bare_name_means_the_topmost_file(tree: Tree) -> None:
    """What other people's packages hold is not looked through, and links are not followed."""
    assert tree.file("run.py") == "docs/run.py"
    assert tree.file("deep.js") is None
    assert tree.file("loop") is None
    assert tree.file("a\0b.py") is None


def test_without_a_tree_names_stand_as_written() -> None:
    """Another machine's project cannot be looked at."""
    assert classify("look at src/gone.py:3").files == ("src/gone.py",)
    assert Tree("/nowhere/at/all").file("x.py") is None


def test_subsystems_are_folders_of_files_and_folders_that_are_named(tree: Tree) -> None:
    """Ordinary words that are no folder are none."""
    assert classify("why is parse.py slow, and the gateway too?", tree).subsystems == ("ingest", "gateway")
    assert classify("why is src/ingest/parse.py slow").subsystems == ("ingest",)
    assert classify("the harbour", tree).subsystems == ()


def test_a_huge_tree_is_not_walked_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At most so many entries, the topmost first."""
    monkeypatch.setattr("howcome.retrieve.classify.MAX_TREE_ENTRIES", 5)
    for number in range(9):
        os.makedirs(tmp_path / f"folder{number}")
        (tmp_path / f"folder{number}" / "deep.py").write_text("")
    assert Tree(str(tmp_path)).file("deep.py") is None
    assert Tree(str(tmp_path)).file("folder3/deep.py") == "folder3/deep.py"


def test_what_somebody_says_is_checked(tree: Tree) -> None:
    """Unknown intents, files that are not there, names that nobody wrote and nonsense leave what the rules found."""
    said = {
        "intent": "decide", "confidence": 3, "files": ["main.rs", "gone.py", 7], "subsystems": ["Gateway", "cloud"],
        "entities": ["Parse", "invented", ""],
    }  # fmt: skip
    found = classify("fix parse.py", tree, ask=lambda _: said)
    assert (found.intent, found.confidence) == ("decide", 1.0)
    assert found.files == ("gateway/main.rs", "src/ingest/parse.py")
    assert found.subsystems == ("gateway", "ingest")
    assert found.names == ("parse.py", "parse")
    odd = classify("fix parse.py", tree, ask=lambda _: {"intent": "sing", "confidence": 1.0, "files": "main.rs"})
    assert (odd.intent, odd.files) == ("fix", ("src/ingest/parse.py",))
    assert odd.confidence <= RULE_CONFIDENCE


def test_without_a_tree_files_that_somebody_says_are_looked_up_elsewhere() -> None:
    """In whatever knows files of the project; where nothing does, only those in the text stay."""
    said = {"intent": "fix", "confidence": 0.5, "files": ["main.rs", "gone.py"], "subsystems": ["cloud"]}
    known = {"main.rs": "gateway/main.rs"}
    assert classify("fix a.py", ask=lambda _: said, find=known.get).files == ("gateway/main.rs", "a.py")
    alone = classify("fix a.py", ask=lambda _: said)
    assert (alone.files, alone.subsystems) == (("a.py",), ())


def test_nobody_who_knows_better_leaves_the_rules(tree: Tree) -> None:
    """An empty answer is what is given when nobody answers."""
    asked, alone = classify("fix parse.py", tree, ask=lambda _: {}), classify("fix parse.py", tree)
    assert all(getattr(asked, name) == getattr(alone, name) for name in alone.__slots__)
