"""What becomes of distilled memories: the same whatever is read first, compared at two thresholds, erased for good."""

from __future__ import annotations

import json
import os
from itertools import pairwise
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.batches import START_MS, Transcript
from tests.builders import CWD, Claude, write
from tests.hashing import Synonyms
from tests.hostile.scale import of
from tests.noting import NotingDistiller
from tests.processes import ask, run

from howcome.domain import ranking
from howcome.domain.memories import MemoryFilter
from howcome.domain.ranking import DAY_MS, Facts
from howcome.domain.stored import Scope
from howcome.learn.meaning import Meaning
from howcome.learn.run import Distillation
from howcome.memory.remember import Memories
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.providers.base import FloatMatrix

EVERYTHING = Scope.everything()
ROW = {
    "id", "type", "text", "scope", "project", "status", "origin", "created_at", "evidence", "supersedes",
    "superseded_by",
}  # fmt: skip
REPORT = ["sessions", "candidates", "added", "updated", "duplicates", "contradictions", "rejected", "seconds"]
Part = str | tuple[str, dict[str, str], str, bool]


def changes(file: str, old: str, new: str) -> Part:
    """A change of a file."""
    return "Edit", {"file_path": f"{CWD}/{file}", "old_string": old, "new_string": new}, "ok", False


def runs(command: str, output: str, *, fails: bool = False) -> Part:
    """A command."""
    return "Bash", {"command": command}, output, fails


TALKS: dict[str, list[Part]] = {
    "one": [
        "> which queue for the berth jobs?", "RQ is simpler, Celery retries by itself.",
        "> use Celery instead of RQ because we need retry logic in `jobs.py`", changes("jobs.py", "rq", "celery"),
        "The berth jobs in `jobs.py` run on Celery now.",
        "> we always run `make check` before a commit in this project", "Understood.",
    ],
    "two": [
        "> the tide page is empty since yesterday", runs("pytest test_page.py", "E   KeyError: 'name'", fails=True),
        "Root cause: `tide/page.py` is empty because `load_tides()` swallows the `KeyError` of a gauge without a name.",
        changes("tide/page.py", "a", "b"), "Mended.", "> thanks", "You are welcome.",
    ],
    "three": [
        "> and the tide jobs?", "They run on Celery with a result backend in `tide.py`.",
        "> use Dramatiq instead of Celery for the tide jobs in `tide.py`, Celery needs a result backend",
        changes("tide.py", "celery", "dramatiq"), "The tide jobs run on Dramatiq.",
        "> commit it", runs("git commit --tide", "error: unknown option `tide'", fails=True),
        runs("git commit -m tide", "[main 12] tide"),
        changes("CLAUDE.md", "# Rules", "# Rules\n- Use `tide_clock()` and never the system clock of the quay."),
        "Committed. The export of old gauges in `export.py` is not implemented yet.",
    ],
}  # fmt: skip
"""Three sessions: what the user decided and how it is always done, a root cause, a command that failed and what worked,
a rule that was written down, something put off. What the user says begins with ">", what is neither is a call."""


def records(name: str, session: str = "", start: int | None = None) -> list[dict[str, Any]]:
    """The records of one of them, said in its own session or in another one."""
    claude, found = Claude(session or name, start=100 * list(TALKS).index(name) if start is None else start), []
    for number, part in enumerate(TALKS[name]):
        if isinstance(part, str):
            found.append(claude.user(part[2:]) if part.startswith("> ") else claude.text(part))
        else:
            tool, values, output, fails = part
            found += [
                claude.call(tool, f"call_{number}", **values),
                claude.result(f"call_{number}", output, is_error=fails),
            ]
    return found


# -- the same transcripts ----------------------------------------------------------------------------------------------
def told(folder: Path, parts: Sequence[tuple[str, int, int]], patch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The memories of a store of its own that has read parts of sessions (name, from, to), distilling after each.

    Ids are keyed with the store's key: instead of them there is what they stand for.
    """
    patch.setenv("HOWCOME_HOME", str(folder / "store"))
    for name, start, end in parts:
        path = write(folder / f"{name}.jsonl", *records(name)[start:end], append=True)
        ask("import", path)
        ask("distil")
    found = []
    for row in ask("memories", "--all-projects", "--superseded", "--limit", "999")["memories"]:
        events = [ask("show", event) for event in row["evidence"]]
        borne_out = sorted((event["session_id"], event["ts"], event["text"]) for event in events)
        said = [one["ts"] for one in ask("memories", "--why", row["id"])["said"]]
        kept = {name: row[name] for name in ("type", "text", "status", "origin", "created_at", "said_at", "source")}
        found.append({**kept, "borne_out": borne_out, "said": said})
    return sorted(found, key=json.dumps)


def test_another_store_that_reads_the_same_has_the_same_memories(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Byte for byte: all at once; in two halves, distilled in between; the newest first, a few records at a time."""
    ends = {name: len(records(name)) for name in TALKS}
    whole = told(tmp_path / "a", [(name, 0, end) for name, end in ends.items()], monkeypatch)
    halves = [(name, 0, 4) for name in TALKS] + [(name, 4, end) for name, end in ends.items()]
    assert told(tmp_path / "b", halves, monkeypatch) == whole
    step = of(3, 1)
    singly = [(name, number, number + step) for name, end in reversed(ends.items()) for number in range(0, end, step)]
    assert told(tmp_path / "c", singly, monkeypatch) == whole
    assert {row["type"] for row in whole} == {"decision", "pattern", "discovery", "failure", "context"}
    assert {row["origin"] for row in whole} == {"user", "assistant", "tool"}


def test_the_answers_have_the_names_that_were_agreed(tmp_path: Path, store_folder: Path) -> None:
    """Of `distil` these and no others, in this order; of a memory these at least, and nothing around them."""
    assert not store_folder.exists()
    ask("import", write(tmp_path / "one.jsonl", *records("one")))
    report = ask("distil")
    assert list(report) == REPORT
    assert all(isinstance(report[name], int) for name in REPORT[:6])
    assert isinstance(report["seconds"], float)
    assert all(isinstance(count, int) for count in report["rejected"].values())
    for options in ((), ("--type", "decision"), ("--limit", "1")):
        listed = ask("memories", "--all-projects", *options)
        assert list(listed) == ["memories"]
        assert listed["memories"]
        assert all(row.keys() >= ROW for row in listed["memories"])
    assert ask("memories", "--project", "/home/mara/harbour", "--type", "dependency") == {"memories": []}
    assert len(ask("memories", "--all-projects", "--limit", "1")["memories"]) == 1


# -- near, nearer ------------------------------------------------------------------------------------------------------
class Angled:
    """An embedder for which the first text is straight ahead, and every other one at a cosine to it."""

    name, dimensions = "angled-1", 2

    def __init__(self, first: str, cosine: float) -> None:
        self._first, self._cosine = first, cosine

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """One vector a text."""
        other = (self._cosine, sqrt(1 - self._cosine**2))
        return np.array([(1.0, 0.0) if text == self._first else other for text in texts], np.float32)


PAUSE, SAME, OTHER = "Tide reads pause 30s", "Gauge polls pause 30s", "Gauge polls pause 45s"


def distilled(store: SqliteStore, one: str, other: str, cosine: float) -> tuple[list[str], list[str]]:
    """The live memories of two statements whose vectors have a cosine, and wherein pairs to be looked at differ."""
    Transcript(store).say("so?", f"KEEP decision: {one}", "hm?", f"KEEP decision: {other}")
    meaning = Meaning(store, Angled(one, cosine), lambda: START_MS)
    Distillation(store, NotingDistiller(), lambda: START_MS, lambda: meaning).run()
    kept = store.memories.select(EVERYTHING, MemoryFilter(), 99, oldest_first=True)
    return [memory.text for memory in kept], [pair.reason for pair in store.reviews.waiting(EVERYTHING, 99)]


@pytest.mark.parametrize(
    ("other", "cosine", "kept", "reviews"),
    [
        (SAME, 0.952, [PAUSE], []),  # says the same
        (SAME, 0.948, [PAUSE, SAME], []),  # not quite, and nothing in it contradicts
        (OTHER, 0.99, [PAUSE, OTHER], ["number"]),  # a number tells them apart, however near
        (OTHER, 0.804, [PAUSE, OTHER], ["number"]),
        (OTHER, 0.796, [PAUSE, OTHER], []),  # says something else
    ],
)
def test_from_95_on_two_are_one_and_above_80_they_may_contradict(
    store: SqliteStore, other: str, cosine: float, kept: list[str], reviews: list[str]
) -> None:
    """The cosine of the vectors; none of the two shares words enough for words to decide."""
    assert distilled(store, PAUSE, other, cosine) == (kept, reviews)


@pytest.mark.parametrize(
    ("words", "reviews"), [("harbour crane motor", ["number"]), ("harbour crane", [])], ids=[".80", ".75"]
)
def test_words_that_are_shared_are_a_cosine_too(store: SqliteStore, words: str, reviews: list[str]) -> None:
    """Four words of five, three of four: with nothing that embeds, the same threshold holds for words."""
    assert distilled(store, f"{words} east pause 30s", f"{words} west pause 45s", 0.0)[1] == reviews


def test_the_first_is_what_the_second_points_to(store: SqliteStore) -> None:
    """Both sayings bear it out, and the other words are kept beside it."""
    distilled(store, PAUSE, SAME, 0.96)
    [memory] = store.memories.select(EVERYTHING, MemoryFilter(), 99)
    assert len(memory.evidence) == len(store.memories.said(memory.row)) == 2
    assert store.candidates.wordings(memory.row) == [SAME]


# -- what is superseded, erased, faded ---------------------------------------------------------------------------------
def test_a_chain_is_told_from_its_first_to_its_last(store: SqliteStore) -> None:
    """Three versions of a thing: each is there, and knows what it replaced."""
    pinned = [f"KEEP dependency #core: gauge-core is pinned to 1.2{number} in tide.toml." for number in range(3)]
    Transcript(store).say(*[turn for text in pinned for turn in ("which?", text)])
    Distillation(store, NotingDistiller(), lambda: START_MS).run()
    [last] = ask("memories", "--all-projects")["memories"]
    chain = ask("memories", "--why", last["id"])["chain"]
    assert [row["text"].split()[4] for row in chain] == ["1.20", "1.21", "1.22"]
    assert [(old["superseded_by"], new["supersedes"]) for old, new in pairwise(chain)] == [
        (new["id"], old["id"]) for old, new in pairwise(chain)
    ]
    assert [row["state"] for row in chain] == ["superseded", "superseded", "live"]


class Rewording(NotingDistiller):
    """Says everything in words that no session said."""

    def distil(self, stream: Any, place: int) -> Any:
        """As its base, reworded."""
        found = super().distil(stream, place)
        for candidate in found.candidates:
            candidate.text = f"reworded: {candidate.text[::-1]}"
        return found


def test_an_erased_memory_leaves_no_byte_and_does_not_come_back(store: SqliteStore, tmp_path: Path) -> None:
    """Nor do its other words and its vectors; not by distilling anew, nor by an export of before."""
    lorry, truck = "the lorry carries cargo to quay nine", "the truck carries load to quay nine"
    talk = Transcript(store)
    talk.say("why?", f"KEEP decision: {lorry}", "hm?", f"KEEP decision: {truck}")
    embedder = Turned()
    meaning = Meaning(store, embedder, lambda: START_MS)

    def distil(version: int) -> None:
        Distillation(store, Rewording(version), lambda: START_MS, lambda: meaning, embedder.name).run()

    distil(1)
    [memory] = store.memories.select(EVERYTHING, MemoryFilter(), 99)
    [other] = store.candidates.wordings(memory.row)
    ask("export", tmp_path / "before.jsonl", "--all-projects")
    assert store.purging.files_with(other)
    people = Memories(store, lambda: START_MS + 10**6)
    assert people.purge(memory.id).is_gone
    for words in (memory.text, other):
        assert not [path for path in files(store) if words.encode() in path.read_bytes()]
    assert store.memory_vectors.of(embedder.name, [memory.key]) == {}
    assert store.connection.execute("SELECT count(*) FROM memory_vectors").fetchall() == [(0,)]
    talk.say("again?", f"KEEP decision: {lorry}", "and?", f"KEEP decision: {truck}")
    distil(1)
    distil(2)
    assert ask("import-memories", tmp_path / "before.jsonl")["added"] == 0
    assert store.memories.select(EVERYTHING, MemoryFilter(with_forgotten=True, with_superseded=True), 99) == []
    for words in (memory.text, other):
        assert not [path for path in files(store) if words.encode() in path.read_bytes()]


class Turned(Synonyms):
    """Reads what was turned round as it was."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """As its base."""
        return super().embed([text.partition(": ")[2][::-1] or text for text in texts])


def files(store: SqliteStore) -> list[Path]:
    """The files of a store, with its log written into the database."""
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return [path for path in Path(store.folder).rglob("*") if path.is_file()]


def test_what_was_forgotten_or_erased_stays_so_when_transcripts_are_read_again(
    tmp_path: Path, store_folder: Path
) -> None:
    """As it ships: the same file, a copy of it, and a fork of its session."""
    path = write(tmp_path / "one.jsonl", *records("one"), *records("three"))
    ask("import", path)
    ask("distil")
    found = {row["text"]: row["id"] for row in ask("memories", "--all-projects")["memories"]}
    [celery] = [text for text in found if "use Celery instead of RQ" in text]
    [dramatiq] = [text for text in found if "use Dramatiq instead of Celery" in text]
    ask("forget", found[celery])
    assert run("purge", found[dramatiq], "--yes").returncode == 0
    for copy in (path, write(tmp_path / "copy.jsonl", path.read_bytes())):
        ask("import", copy)
        ask("distil")
    again = [*records("one", "fork", 900), *records("three", "fork", 950)]
    ask("import", write(tmp_path / "fork.jsonl", *again))
    ask("distil")
    texts = {row["text"] for row in ask("memories", "--all-projects")["memories"]}
    assert not texts & {celery, dramatiq}
    assert texts == set(found) - {celery, dramatiq}
    data = b"".join(one.read_bytes() for one in store_folder.rglob("*") if one.is_file())
    assert dramatiq.encode() not in data
    assert celery.encode() in data  # forgotten is not erased


BACK: list[Part] = [
    "> no, use RQ instead of Celery in `jobs.py`, Celery is too heavy for the buoys",
    changes("jobs.py", "celery", "rq"), "Back on RQ.",
]  # fmt: skip
AGAIN: list[Part] = [
    "> are the berth jobs done?", "Not yet, nothing runs them.",
    "> use Celery instead of RQ because we need retry logic in `jobs.py`", changes("jobs.py", "rq", "celery"),
    "Switched, as you asked for.",
]  # fmt: skip


@pytest.mark.parametrize("later", ["in the same session", "in another session"])
def test_the_users_later_word_takes_the_place_of_the_earlier_one(
    later: str, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it answers and whatever was done then: who chose one over the other chooses the other over the one."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    is_same = later == "in the same session"
    before = TALKS["one"][:5]
    monkeypatch.setitem(TALKS, "one", [*before, *BACK] if is_same else before)
    ask("import", write(tmp_path / "one.jsonl", *records("one")))
    if not is_same:
        monkeypatch.setitem(TALKS, "three", ["> hello", "Good morning.", *BACK])
        ask("import", write(tmp_path / "three.jsonl", *records("three")))
    ask("distil")
    [now] = about_celery()
    assert "use RQ instead of Celery" in now["text"]
    [old] = [row for row in ask("memories", "--all-projects", "--superseded")["memories"] if row["superseded_by"]]
    assert ("use Celery instead of RQ" in old["text"], old["superseded_by"]) == (True, now["id"])


def test_what_the_user_says_again_is_one_memory(
    tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In another session, of something else that the agent had said, with something else done then."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    for name, talk in (("one", TALKS["one"][:5]), ("three", AGAIN)):
        monkeypatch.setitem(TALKS, name, talk)
        ask("import", write(tmp_path / f"{name}.jsonl", *records(name)))
    ask("distil")
    [one] = about_celery()
    said = ask("memories", "--why", one["id"])
    assert len(said["said"]) == 2
    assert {event["session_id"] for event in said["borne_out_by"]} == {"one", "three"}


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        ("use Celery instead of Dramatiq for berths", "use Dramatiq instead of Celery for berths"),
        ("use mocks in the `berth.py` tests please", "do not use mocks in the `berth.py` tests please"),
        ("only keep 30 days of tide logs in `logs.py`", "only keep 90 days of tide logs in `logs.py`"),
    ],
    ids=["choice", "negation", "number"],
)
def test_the_users_opposite_word_is_never_the_same_word(
    earlier: str, later: str, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However few words they are: what the user said last is there."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    for name, words in (("one", earlier), ("three", later)):
        talk: list[Part] = ["> hello", "Good morning.", f"> {words}", changes("jobs.py", "a", "b"), "Done."]
        monkeypatch.setitem(TALKS, name, talk)
        ask("import", write(tmp_path / f"{name}.jsonl", *records(name)))
    ask("distil")
    assert any(later in row["text"] for row in ask("memories", "--all-projects")["memories"])


TABLE = {
    "decision": (14, 1.5), "failure": (45, 1.2), "pattern": (90, 0.8), "dependency": (180, 0.7), "context": (7, 2.0),
    "discovery": (30, 1.0),
}  # fmt: skip
"""Days and shape, by type."""


@pytest.mark.parametrize(("kind", "scale_days", "shape"), [(kind, *row) for kind, row in TABLE.items()])
def test_each_type_fades_by_its_own_curve(kind: str, scale_days: float, shape: float) -> None:
    """exp(-(t / scale) ** shape) at three ages, so that neither number can be another; it is stale from .1 down."""
    for share in (0.25, 1.0, 2.0):
        facts = Facts(0, type=kind)
        left = ranking.survival(facts, round(share * scale_days * DAY_MS))
        assert left == pytest.approx(np.exp(-(share**shape)), abs=1e-6)
    stale_days = scale_days * np.log(10) ** (1 / shape)
    for days, is_stale in ((stale_days * 0.99, False), (stale_days * 1.01, True)):
        assert ranking.is_stale(Facts(0, type=kind, reads=1), round(days * DAY_MS)) is is_stale
        assert not ranking.is_stale(Facts(0, type=kind, reads=2), round(days * DAY_MS))
        assert not ranking.is_stale(Facts(0, type=kind, is_pinned=True), round(days * DAY_MS))


def about_celery() -> list[dict[str, Any]]:
    """The live memories about the queue of the berth jobs."""
    rows: list[dict[str, Any]] = ask("memories", "--all-projects")["memories"]
    return [row for row in rows if "RQ" in row["text"]]


def test_a_memory_edited_by_hand_stays_edited(tmp_path: Path, store_folder: Path) -> None:
    """The old words are said again, and the new ones stay; the old ones are told by why."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    path = write(tmp_path / "one.jsonl", *records("one"))
    ask("import", path)
    ask("distil")
    [old] = about_celery()
    new = "Berth jobs run on Celery: RQ cannot retry, and nobody wants to write that."
    ask("update", old["id"], new)
    ask("import", write(tmp_path / "again.jsonl", *records("one", "again", 700)))
    ask("distil")
    [now] = about_celery()
    assert (now["text"], now["supersedes"]) == (new, old["id"])
    assert [row["text"] for row in ask("memories", "--why", now["id"])["chain"]] == [old["text"], new]


def test_what_somebody_changed_keeps_its_chain_when_its_source_goes(store: SqliteStore) -> None:
    """The session goes on and does not say the old words any more: they stay below the new ones."""
    talk = Transcript(store)
    talk.say("so?", "UNFINISHED: The crane log is not rotated yet.")
    Distillation(store, NotingDistiller(), lambda: START_MS).run()
    [old] = store.memories.select(EVERYTHING, MemoryFilter(), 99)
    people = Memories(store, lambda: START_MS + 10**6)
    new = people.update(old.id, text="The crane log is rotated by hand on Mondays.")
    talk.say("now?", "rotated")
    assert Distillation(store, NotingDistiller(), lambda: START_MS).run().removed == 0
    assert [memory.text for memory in people.chain(new.id)] == [old.text, new.text]


def test_wrong_is_never_again(tmp_path: Path, store_folder: Path) -> None:
    """At the command line: not after the same file again, not in another session; `restore` lifts it."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    path = write(tmp_path / "one.jsonl", *records("one"))
    ask("import", path)
    ask("distil")
    before = {row["text"]: row["id"] for row in ask("memories", "--all-projects")["memories"]}
    [celery] = [text for text in before if "RQ" in text]
    said = run("forget", "--wrong", before[celery]).stdout
    assert "not learnt again; `howcome restore" in said
    assert "the rest of the exchange that taught it" in said
    for copy in (path, write(tmp_path / "again.jsonl", *records("one", "again", 700))):
        ask("import", copy)
        ask("distil")
    assert {row["text"] for row in ask("memories", "--all-projects")["memories"]} == set(before) - {celery}
    assert "  wrong  distilled  " in run("memories", "--all-projects", "--forgotten").stdout
    ask("export", tmp_path / "memories.jsonl", "--all-projects")
    assert '"wrong_ms": ' in (tmp_path / "memories.jsonl").read_text()
    assert not ask("restore", before[celery])["is_wrong"]
    assert celery in {row["text"] for row in ask("memories", "--all-projects")["memories"]}


def test_evidence_of_the_words_before_a_correction_is_marked(tmp_path: Path, store_folder: Path) -> None:
    """Not where only the type is another."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    ask("import", write(tmp_path / "one.jsonl", *records("one")))
    ask("distil")
    [old] = [row["id"] for row in ask("memories", "--all-projects")["memories"] if "RQ" in row["text"]]
    assert "of the words before" not in run("memories", "--why", old).stdout
    typed = ask("update", old, "--type", "pattern")["id"]
    assert "of the words before" not in run("memories", "--why", typed).stdout
    new = ask("update", typed, "Dramatiq runs the jobs of the gauges since the move")["id"]
    assert all(one["is_earlier"] for one in ask("memories", "--why", new)["borne_out_by"])
    assert "of the words before" in run("memories", "--why", new).stdout


def test_what_was_learnt_is_listed_and_taken_back(tmp_path: Path, store_folder: Path) -> None:
    """Of a session, since a time, or lately: newest first, with who said it; what was said again stays in --undo."""
    assert os.environ["HOWCOME_HOME"] == str(store_folder)
    assert ask("learnt") == {"learnt": []}
    for name in TALKS:
        ask("import", write(tmp_path / f"{name}.jsonl", *records(name)))
    ask("import", write(tmp_path / "four.jsonl", *records("one", "four", 1000)[:-2]))
    ask("distil")
    last = ask("learnt", "--all-projects")["learnt"]
    assert [(row["is_new"], "instead of RQ" in row["text"]) for row in last] == [(False, True)]
    of_three = ask("learnt", "--session", "three")["learnt"]
    assert [row["is_new"] for row in of_three] == [True] * len(of_three)
    assert of_three
    for row in of_three:
        assert (row["said_by"], row["borne_out_by"][0]["session_id"]) == (row["origin"], "three")
    shown = run("learnt", "--session", "three").stdout
    assert of_three[0]["id"] in shown
    assert "\n    said by the agent" in shown
    assert "in another project" not in shown
    assert {row["projects"] for row in of_three} == {1}
    assert "\n    said by the user" in shown
    everything = ask("learnt", "--since", "2020-01-01", "--all-projects")["learnt"]
    assert [row["said_at"] for row in everything] == sorted((row["said_at"] for row in everything), reverse=True)
    assert ask("learnt", "--undo", "--session", "four") == {"undone": []}
    assert "give an ID" in run("learnt", "--undo").stderr
    assert len(ask("learnt", "--session", "three")["learnt"]) == len(of_three)
    own = ask("remember", "The harbour master reads the gauge at noon")["id"]
    refused = run("learnt", "--undo", own, of_three[0]["id"])
    assert (refused.returncode, f"howcome forget {own}" in refused.stderr) == (2, True)
    ask("memories", "--pin", of_three[0]["id"])
    left = ask("learnt", "--undo", "--session", "three")["undone"]
    assert of_three[0]["id"] not in {row["id"] for row in left}
    for row in left:
        ask("restore", row["id"])
    ask("memories", "--unpin", of_three[0]["id"])
    undone = ask("learnt", "--undo", "--session", "three")["undone"]
    assert {row["id"] for row in undone} == {row["id"] for row in of_three}
    assert {row["state"] for row in undone} == {"forgotten"}
    assert ask("learnt", "--session", "three") == {"learnt": []}
    assert "howcome restore" in run("learnt", "--undo", everything[-1]["id"]).stdout
    assert ask("restore", of_three[0]["id"])["state"] == "live"
    assert run("learnt", everything[0]["id"], "--since", "1d").returncode == 2
