"""`search --explain`: under each hit why it is there, for people and as JSON; a search without it says none of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.processes import ask, run

from howcome.domain.text import is_one_edit
from howcome.retrieve.memories import SPEAK_SHARE

SAMPLES = Path(__file__).resolve().parents[2] / "samples" / "claude-code"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with the sample sessions and a memory, filled once; the tests only read it."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("explained")
        patch.setenv("HOWCOME_HOME", str(folder))
        ask("import", SAMPLES)
        ask("remember", "--global", "Redis loses the seen-set at a restart")
    return folder


@pytest.fixture(autouse=True)
def use_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command reads that store."""
    monkeypatch.setenv("HOWCOME_HOME", str(home))


def hits(question: str, *options: str) -> list[dict[str, Any]]:
    """The hits of an explained search as JSON."""
    found: list[dict[str, Any]] = ask("search", "--all-projects", "--explain", *options, question)["results"]
    assert found
    return found


def terms_of(hit: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """A hit's terms by the question's own words."""
    return {term["word"]: term for term in hit["explain"]["terms"]}


def test_tiers_and_adjustments_make_the_score() -> None:
    """The explanation accounts for the score that the hit has."""
    for hit in hits("redis seen-set restart"):
        why = hit["explain"]
        assert {name: part["score"] for name, part in why["tiers"].items()} == hit["tiers"]
        assert all(part["weight"] > 0 for part in why["tiers"].values())
        changed = why["fused"]
        for factor in why["adjustments"].values():
            changed *= factor
        assert changed == pytest.approx(hit["score"], abs=0.0005)
        named = {"survival", "open", "level"} if hit["kind"] == "memory" else {"recency", "answer"}
        assert set(why["adjustments"]) - {"evidence"} <= named
        assert all(0 < factor <= 1.2 for factor in why["adjustments"].values())
        assert 0 <= why["strength"] <= 1


def test_words_say_where_they_stand() -> None:
    """In the hit itself, before it, or elsewhere in its exchange; a word that nobody said stands nowhere."""
    found = hits("redis seen-set whale")
    by_place = [set(terms_of(hit)["redis"]["in"]) for hit in found]
    assert {"here"} <= by_place[0]
    assert any({"before", "exchange"} & places for places in by_place)
    for hit in found:
        assert terms_of(hit)["whale"]["in"] == []
        assert terms_of(hit)["whale"]["widened_to"] == []
        if hit["kind"] == "event" and "here" in terms_of(hit)["redis"]["in"]:
            assert "redis" in ask("show", hit["id"])["text"].lower()


def test_a_word_said_once_stands_in_one_place() -> None:
    """The hit's own words are not those of its exchange; the next prompt's window has them before it."""
    said, following = hits("convinced", "--type", "user_prompt")[:2]
    assert terms_of(said)["convinced"]["in"] == ["here"]
    assert terms_of(following)["convinced"]["in"] == ["before"]


def test_a_misspelt_word_names_what_it_was_widened_to() -> None:
    """A stem that begins alike, or a word that is one slip away."""
    assert terms_of(hits("migraton of the flag")[0])["migraton"]["widened_to"] == ["migrat"]
    assert "median" in terms_of(hits("hourly medain")[0])["medain"]["widened_to"]


def test_a_memory_is_explained_too() -> None:
    """It has its own words only."""
    memory = next(hit for hit in hits("redis seen-set restart") if hit["kind"] == "memory")
    assert terms_of(memory)["redis"]["in"] == ["here"]
    assert memory["explain"]["strength"] == pytest.approx(SPEAK_SHARE * memory["tiers"]["memory"], abs=0.001)


def test_sessions_are_explained_by_their_best_row() -> None:
    """`--by session` has the same object."""
    assert all(hit["explain"]["terms"] for hit in hits("redis restart", "--by", "session"))


def test_people_read_it_under_each_hit() -> None:
    """Three lines at most, indented like the passage."""
    options = ("--all-projects", "-n", "2", "--type", "assistant_text", "--explain")
    done = run("search", *options, "migraton redis seen-set restart whale")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    why = [line for line in lines if line.startswith("    why: ")]
    assert len(why) == 2
    assert all(" * recency " in line and "; strength " in line for line in why)
    assert any("fulltext " in line for line in why)
    assert "    not there: " in done.stdout
    assert "migraton → migrat" in done.stdout


def test_nobody_who_does_not_ask_is_told() -> None:
    """The answer is the same as before, in both forms."""
    plain = ask("search", "--all-projects", "redis")
    explained = ask("search", "--all-projects", "--explain", "redis")
    for hit in explained["results"]:
        del hit["explain"]
    assert explained["results"] == plain["results"]
    assert "why:" not in run("search", "--all-projects", "redis").stdout


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [("medain", "median", True), ("mdian", "median", True), ("mediian", "median", True), ("mediun", "median", True),
     ("median", "median", False), ("medan", "medium", False), ("a", "", True), ("ab", "ba", True),
     ("abc", "cab", False)],
)  # fmt: skip
def test_one_slip_of_the_finger(one: str, other: str, *, expected: bool) -> None:
    """A letter missing, added, changed, or swapped with its neighbour."""
    assert is_one_edit(one, other) == is_one_edit(other, one) == expected
