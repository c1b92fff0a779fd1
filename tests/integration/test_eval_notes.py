"""`howcome eval --notes` as a command, on invented sets."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Claude, write
from tests.endpoint import running
from tests.labelled import rows, run
from tests.others import Chat

DECISION = "We decided to use Celery instead of RQ because RQ lacks retries with backoff."
SHARES = (
    "coverage", "coverage_value3", "coverage_user_value3", "noteworthiness", "traps", "duplicates",
    "memories_per_session",
)  # fmt: skip


def note_set(folder: Path, packed: str = "") -> Path:
    """A set of two sessions, of which one was read; its reader noted what the user decided."""
    for name, said in (("read", DECISION), ("unread", f"Once more: {DECISION}")):
        talk = Claude(f"{folder.name}-{name}")
        write(
            folder / "transcripts" / f"{folder.name}-{name}.jsonl{packed}",
            talk.user(said),
            talk.text("So Celery."),
            talk.text("Celery runs."),
        )
    note = {"session": f"{folder.name}-read", "kind": "user_decision", "speaker": "user", "value": 3, "note": "…"}
    quoted = {"quotes": ["use Celery  instead of RQ"], "topic": "task queue", "evidence": ["0123abcd"]}
    rows(folder / f"notes.jsonl{packed}", {**note, **quoted}, {**note, "value": 2, "quotes": ["nobody said"]})
    trap = {"session": f"{folder.name}-read", "trap": "guess", "quotes": ["RQ lacks retries with backoff"]}
    rows(folder / f"traps.jsonl{packed}", trap)
    return folder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two sets below one folder, one of them packed."""
    note_set(tmp_path / "data" / "one")
    note_set(tmp_path / "data" / "two", ".gz")
    return tmp_path / "data"


def measured(*words: object) -> dict[str, Any]:
    """What `--notes --json` prints."""
    done = run("--notes", "--json", *words)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_every_set_has_its_shares_beside_the_baseline(data: Path) -> None:
    """Of the two notes the verbatim prompt catches one; what it says is a trap, too; sets are summed."""
    found = measured(data)
    assert list(found["notes"]) == ["one", "two"]
    for figures in found["notes"].values():
        assert set(SHARES) <= set(figures)
        verbatim = figures["verbatim"]
        assert [verbatim[name] for name in SHARES] == [0.5, 1, 1, 1, 1, 0, 1]
        assert verbatim["detail"]["coverage"]["kind user_decision"]["count"] == 1
        assert figures["cost"]["sessions"] == 2
        assert figures["cost"]["import_s"] > 0
    assert found["overall"]["verbatim"]["detail"]["coverage"]["all"]["of"] == 4


def test_what_a_model_was_asked_is_part_of_the_cost(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls and tokens a session, of the user's budget; one that cannot be asked gives no figures."""
    with running(Chat(usual={"operations": []})) as chat:
        for name, value in {**chat.settings, "HOWCOME_DISTILLER": "llm"}.items():
            monkeypatch.setenv(name, value)
        cost = measured(data / "one")["notes"]["one"]["cost"]
        assert cost["model_calls"] == len(chat.asked) > 0
        assert cost["model_failed"] == 0
        assert cost["model_tokens_per_session"] > 0
        assert cost["model_usd_per_session"] is None  # nobody said
        monkeypatch.setenv("HOWCOME_LLM_DAILY_CALLS", "1")
        done = run("--notes", data / "one")
        assert done.returncode != 0
        assert "not distilled: " in done.stderr


def test_a_kept_store_is_not_imported_again(data: Path, tmp_path: Path) -> None:
    """What is distilled is a copy: the figures are the same; only the read sessions are another store."""
    first = measured(data / "one", "--keep", tmp_path / "stores")
    again = measured(data / "one", "--keep", tmp_path / "stores")
    assert again["notes"]["one"]["cost"]["import_s"] is None
    assert [again["notes"]["one"][name] for name in SHARES] == [first["notes"]["one"][name] for name in SHARES]
    read = measured(data / "one", "--keep", tmp_path / "stores", "--only-read")
    assert read["notes"]["one"]["cost"]["sessions"] == 1


def test_what_readers_grade_is_counted_beside(data: Path, tmp_path: Path) -> None:
    """From sheets to graded figures; decoys that pass make the command fail, after it has printed."""
    out = tmp_path / "grading" / "one"
    assert run("--notes", data, "--sheet", out).returncode == 0
    key = json.loads(Path(f"{out}.key.json").read_text(encoding="utf-8"))
    grades = tmp_path / "grades.jsonl"
    yes = {"alone": True, "useful": True, "right": True}
    rows(grades, *({"id": row["id"], **dict.fromkeys(yes, row["what"] == "verbatim")} for row in key))
    found = measured(data, "--grades", grades)
    assert found["notes"]["one"]["verbatim, graded"]["coverage_value3"] == 1
    assert found["notes"]["one"]["memories, graded"]["coverage"] == 0
    assert found["run"]["grades"]["void"] == ""
    rows(grades, *({"id": row["id"], **yes} for row in key))
    done = run("--notes", data, "--grades", grades)
    assert done.returncode != 0
    assert "the grades are void" in done.stderr
    assert "verbatim, graded" in done.stdout


def test_tables_are_for_people_and_for_documents(data: Path, tmp_path: Path) -> None:
    """The same Markdown on the screen and in a part of a document."""
    document = tmp_path / "figures.md"
    done = run("--notes", data, "--into", document, "--part", "notes")
    assert "| coverage |" in done.stdout
    assert "| memories a session |" in done.stdout
    assert "overall: 4 notes of 2 sessions" in done.stdout
    assert done.stdout.strip() in document.read_text(encoding="utf-8")


def test_a_folder_without_notes_says_so(tmp_path: Path) -> None:
    """And what was looked for; sets of one name are refused."""
    (tmp_path / "empty").mkdir()
    done = run("--notes", tmp_path / "empty")
    assert done.returncode != 0
    assert "notes.jsonl with transcripts/" in done.stderr
    for options in (("--sheet", "s"), ("--keep", "k"), ("--grades", "g"), ("--chunk", "3"), ("--only-read",)):
        done = run(*options, tmp_path / "empty")
        assert (done.returncode, f"{options[0]} belongs to --notes" in done.stderr) == (2, True), options
    wrong = note_set(tmp_path / "wrong")
    notes = next(wrong.glob("notes.jsonl*"))
    rows(notes, {"session": "s1", "quotes": ["a"]}, {"session": "s1", "quotes": ["b"], "value": "high"})
    done = run("--notes", wrong)
    assert (done.returncode, "Traceback" in done.stderr) == (2, False)
    assert f"{notes}, row 2: value 'high'" in done.stderr
    assert "same name" in run("--notes", note_set(tmp_path / "a" / "x"), note_set(tmp_path / "b" / "x")).stderr
