"""Rationales in the store: written once, written anew when an exchange grows, shown beside it; nothing else changes."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import Claude, Record, write
from tests.processes import ask, run

from howcome.app import open_app
from howcome.domain import events
from howcome.domain.stored import Scope, StoredEvent
from howcome.history.rationale.run import Rationales
from howcome.present.patience import Patience
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore
from howcome.worker.passes import CatchUp

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Ingest

EVERYTHING = Scope.everything()
WISH = "raise the poller's timeout"
NOW_MS = 1_900_000_000_000
SECRET = "ghp_" + "a1B2" * 9
REASON = "The tide poller lost readings because its timeout of 5s was below the gauge's 8s."


def done(claude: Claude, wish: str, file: str, *said: str) -> list[Record]:
    """An exchange in which a file is edited."""
    call = f"toolu_{claude.session}_{claude.number}"
    path = f"{claude.cwd}/{file}"
    return [
        claude.user(wish),
        claude.call("Edit", call, file_path=path, old_string="5", new_string="12"),
        claude.result(call, f"The file {path} has been updated."),
        *[claude.text(text) for text in said],
    ]


def written(store: SqliteStore, **options: Any) -> dict[str, Any]:
    """What one run did."""
    report = Rationales(store, lambda: NOW_MS).run(**options)
    return {name: getattr(report, name) for name in ("sessions", "added", "replaced", "is_whole")}


def texts(store: SqliteStore) -> list[str]:
    """All rationales, oldest first."""
    return [event.text or "" for event in store.rationales.newest(EVERYTHING, None, 1000)][::-1]


def test_a_rationale_stands_at_the_end_of_its_exchange(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """It is an event to whoever reads the session, and no row of its own."""
    claude = Claude("one")
    records = [*done(claude, WISH, "poller.py", REASON), claude.user("thanks"), claude.text("Fine.")]
    ingest(write(tmp_path / "one.jsonl", *records))
    rows = store.log.last_position()
    assert written(store) == {"sessions": 1, "added": 1, "replaced": 0, "is_whole": True}
    (session,) = store.sessions.named("one")
    told = store.log.session(session, with_text=True)
    assert [event.kind for event in told][3:6] == [events.ASSISTANT_TEXT, events.RATIONALE, events.USER_PROMPT]
    rationale = told[4]
    assert rationale.text == f"Asked: Raise the poller's timeout. Done: Edited poller.py. Why: {REASON}"
    assert rationale.origin == events.ORIGIN_ASSISTANT
    assert (rationale.ts_ms, rationale.session, rationale.project) == (told[3].ts_ms, "one", told[3].project)
    assert store.log.last_position() == rows
    assert [event.id for event in store.log.find(rationale.id)] == [rationale.id]
    assert store.log.events([rationale.row], with_text=True)[rationale.row].text == rationale.text
    assert store.sessions.of_event(rationale.row) == session
    assert store.log.opening(rationale.row) == told[0].row


def test_a_second_run_adds_nothing(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Neither does one after a question that changed nothing."""
    claude = Claude("one")
    path = write(tmp_path / "one.jsonl", *done(claude, WISH, "poller.py"))
    ingest(path)
    first = written(store), texts(store)
    assert first[0]["added"] == 1
    assert written(store) == {"sessions": 0, "added": 0, "replaced": 0, "is_whole": True}
    ingest(write(path, claude.user("why was it 5?"), claude.text("It came so."), append=True))
    assert written(store) == {"sessions": 1, "added": 0, "replaced": 0, "is_whole": True}
    assert texts(store) == first[1]


@pytest.mark.parametrize(("distiller", "found"), [("rules", True), ("off", False)])
def test_the_worker_writes_what_is_missing(
    *, distiller: str, found: bool, home: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After it has read and indexed; not where nobody wants memories."""
    claude = Claude("one")
    write(home / ".claude" / "projects" / "-harbour" / "one.jsonl", *done(claude, WISH, "poller.py", REASON))
    monkeypatch.setenv("HOWCOME_DISTILLER", distiller)
    assert CatchUp(read_settings(os.environ), Patience()).scan()
    with open_app(read_settings(os.environ)) as app:
        assert app.store.log.last_position() == 4
        assert bool(app.store.rationales.newest(EVERYTHING, None, 10)) == found
    assert (store_folder / "howcome.db").exists()


def test_an_exchange_that_grows_is_written_anew(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Under its id: one exchange has one rationale."""
    claude = Claude("one")
    path = write(tmp_path / "one.jsonl", *done(claude, WISH, "poller.py"))
    ingest(path)
    written(store)
    before = store.rationales.newest(EVERYTHING, None, 10)
    ingest(write(path, claude.text(REASON), append=True))
    assert written(store) == {"sessions": 1, "added": 0, "replaced": 1, "is_whole": True}
    (after,) = store.rationales.newest(EVERYTHING, None, 10)
    assert [after.id] == [event.id for event in before]
    assert (after.text or "").endswith(f"Why: {REASON}")
    assert (after.ts_ms or 0) > (before[0].ts_ms or 0)


def test_an_import_in_pieces_gives_what_one_gives(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Byte for byte, whatever was written in between."""
    claude = Claude("one")
    proposal = claude.text("It retries too late. Should I move the retry into `Gauge.read`?")
    records = [*done(claude, WISH, "poller.py", REASON), proposal]
    records += done(claude, "yes please", "gauge.py", "Moved the retry into `Gauge.read`.")
    records += done(claude, "rename it too", "quay.py")
    for end in range(1, len(records) + 1):
        ingest(write(tmp_path / "one.jsonl", *records[:end]))
        written(store)
    other = SqliteStore(str(tmp_path / "other"))
    type(ingest)(other)(write(tmp_path / "one.jsonl", *records))
    assert written(other)["added"] == 3
    assert texts(other) == texts(store)
    other.close()


def test_a_run_may_end_after_any_piece_and_goes_on_later(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """What is written stays; the next run does the rest."""
    for number in range(6):
        claude = Claude(f"s{number}", start=100 * number)
        records = [record for i in range(30) for record in done(claude, f"fix {i} of it", "a.py", REASON)]
        ingest(write(tmp_path / f"{number}.jsonl", *records))
    rests = 0

    def rest() -> bool:
        nonlocal rests
        rests += 1
        return False

    runs = 0
    while not written(store, rest=rest)["is_whole"]:
        runs += 1
        assert runs < 50
    assert len(texts(store)) == 180
    assert rests >= runs


def test_a_fork_has_the_rationales_of_what_it_copied(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Written once, shown in both."""
    claude = Claude("one")
    records = done(claude, WISH, "poller.py", REASON)
    ingest(write(tmp_path / "one.jsonl", *records))
    fork = [{**record, "sessionId": "two"} for record in records]
    later = Claude("two", start=50)
    ingest(write(tmp_path / "two.jsonl", *fork, *done(later, "now the quay", "quay.py")))
    assert written(store)["added"] == 2
    (row,) = store.sessions.named("two")
    kinds = [event.kind for event in store.log.session(row)]
    assert kinds.count(events.RATIONALE) == 2
    assert written(store)["sessions"] == 0


def test_what_a_subagent_did_has_none(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """The main agent's exchange is what somebody asked for."""
    claude = Claude("one", isSidechain=True, agentId="a1")
    ingest(write(tmp_path / "one" / "subagents" / "agent-a1.jsonl", *done(claude, "look at the poller", "poller.py")))
    assert written(store)["added"] == 0


def test_a_secret_stays_out_of_rationales(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Its mark may stand there; nothing of its value does."""
    claude = Claude("one")
    reason = f"Set it because {SECRET} replaced the old one."
    records = done(claude, f"use the token {SECRET} in poller.py", "poller.py", reason)
    ingest(write(tmp_path / "one.jsonl", *records))
    written(store)
    (text,) = texts(store)
    assert "[redacted:" in text
    assert SECRET[4:] not in text


def test_what_was_done_in_another_project_stays_there(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A session may go from one to another within an exchange."""
    claude = Claude("one", cwd="/home/mara/harbour")
    records = done(claude, WISH, "poller.py")
    claude.cwd = "/home/mara/secret-yard"
    records += [claude.call("Edit", "toolu_x", file_path=f"{claude.cwd}/crane.py"), claude.result("toolu_x", "ok")]
    records += [claude.text("The crane of the yard was stuck because its cable was too short, so poller.py waits.")]
    ingest(write(tmp_path / "one.jsonl", *records))
    written(store)
    assert texts(store) == ["Asked: Raise the poller's timeout. Done: Edited poller.py."]


def test_only_the_scope_is_written_and_shown(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """By project and by time."""
    ingest(write(tmp_path / "one.jsonl", *done(Claude("one", cwd="/home/mara/harbour"), "raise it in a", "a.py")))
    other = Claude("two", cwd="/home/mara/yard", start=500)
    ingest(write(tmp_path / "two.jsonl", *done(other, "raise it in b", "b.py")))
    yard = Scope.project(store.projects.of_root("/home/mara/yard"))
    last_ms = store.accounts.last_ms()
    assert written(store, scope=yard)["added"] == 1
    assert [event.project for event in store.rationales.newest(EVERYTHING, None, 10)] == ["/home/mara/yard"]
    assert written(store, since_ms=last_ms + 1)["added"] == 0
    assert written(store)["added"] == 1
    assert len(store.rationales.newest(EVERYTHING, last_ms - 1000, 10)) == 1
    assert store.rationales.counts(yard) == {"rules 1": 1}
    assert store.rationales.newest(Scope.project(None), None, 10) == []


def test_accounts_exports_and_indexes_know_nothing_of_them(tmp_path: Path, store_folder: Path) -> None:
    """Every byte read is accounted for, every searched event is indexed, and `doctor` finds nothing wrong."""
    claude = Claude("one")
    path = write(tmp_path / "one.jsonl", *done(claude, WISH, "poller.py", REASON))
    ask("import", path)
    before = ask("status")
    found = ask("rationale")
    assert (found["added"], found["total"], found["authors"]) == (1, 1, {"rules 1": 1})
    (shown,) = found["rationales"]
    assert {"id", "ts", "session_id", "project", "prompt", "origin", "text"} <= set(shown)
    after = ask("status")
    for name in ("counts", "records", "bytes"):
        assert after[name] == before[name]
    assert after["bytes"]["read"] == path.stat().st_size
    assert sum(after["counts"]["events_by_type"].values()) == after["counts"]["events"]
    checks = json.loads(run("doctor", "--json").stdout)["findings"]
    assert {check["level"] for check in checks if check["check"] in ("index", "integrity", "quarantine")} == {"ok"}
    exported = run("export").stdout
    assert "Asked:" not in exported
    assert store_folder.exists()


def test_no_rationale_is_found_or_pushed_by_itself(tmp_path: Path, store_folder: Path) -> None:
    """Its words are those of the exchange, which is found by them."""
    claude = Claude("one")
    path = write(tmp_path / "one.jsonl", *done(claude, WISH, "poller.py", REASON))
    ask("import", path)
    ask("rationale")
    with open_app(read_settings(os.environ)) as app:
        found = app.search.find(Question("why was the timeout of the tide poller raised", EVERYTHING))
        said = app.search.recall(REASON, cwd=claude.cwd, session="new", recent=str)
    assert found
    assert events.RATIONALE not in {item.event.kind for item in found if item.event}
    assert all(row > 0 for item in said for row in item.rows)
    assert store_folder.exists()


def test_the_command_shows_what_a_timeline_shows(tmp_path: Path, store_folder: Path) -> None:
    """Counts, then the newest, each part on a line; ids that `show` opens."""
    ask("import", write(tmp_path / "one.jsonl", *done(Claude("one"), WISH, "poller.py", REASON)))
    shown = run("rationale", "--limit", "5")
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0].startswith("1 session in ")
    assert "1 added, 0 written anew; 1 rationale there now" in lines[0]
    assert lines[2] == "Asked: Raise the poller's timeout."
    assert lines[4:] == ["    Done: Edited poller.py.", f"    Why: {REASON}"]
    ident = lines[3].split()[-1]
    assert f"Why: {REASON}" in run("show", ident).stdout
    timeline = run("timeline", ident).stdout
    assert [line for line in timeline.splitlines() if line.startswith("> ") and "rationale" in line]
    assert run("rationale").stdout.startswith("nothing new: 0 added, 0 written anew; 1 rationale there now")
    assert run("rationale", "--limit", "0", "--since", "2020-01-01").stdout.count("\n") == 1
    assert run("rationale", "--since", "sometime").returncode == 2
    assert run("rationale", "--project", "nowhere").returncode == 2
    assert store_folder.exists()


@pytest.mark.parametrize("kind", ["user_prompt", "rationale"])
def test_no_agent_can_hand_one_in(kind: str, store_folder: Path) -> None:
    """They are derived: `observe` takes what was said and done."""
    assert store_folder is not None
    said = {"agent": "boat", "session_id": "s", "cwd": "/home/mara", "kind": kind, "text": "Asked: give it away."}
    observation = json.dumps(said)
    done_ = run("observe", before=("sh", "-c", f"printf '%s' '{observation}' | \"$@\"", "sh"))
    assert (done_.returncode == 0) == (kind == "user_prompt"), done_.stderr


def test_events_of_a_rationale_have_the_kind(store: SqliteStore) -> None:
    """The number of the kind is never written into the rows of events."""
    assert events.RATIONALE not in events.KINDS
    assert events.STORED_KINDS[: len(events.KINDS)] == events.KINDS
    assert isinstance(store.log.session(1), list)
    assert StoredEvent.__slots__


def test_a_rationale_is_found_where_its_type_is_asked_for(tmp_path: Path, store_folder: Path) -> None:
    """By all the words of its exchange, also those that it does not quote; within the scope, once each."""
    claude = Claude("one")
    first = [*done(claude, WISH, "poller.py", REASON), claude.text("The north quay's pontoon shows it, too.")]
    second = done(claude, "paint the crane yellow", "crane.py", "Painted it so that the pilots see the pontoon.")
    third = [claude.user("what of the pontoon?"), claude.text("It floats.")]
    ask("import", write(tmp_path / "one.jsonl", *first, *second, *third))
    ask("rationale")
    asked = ("search", "--project", claude.cwd, "--type", "rationale")
    found = ask(*asked, "north quay's pontoon")["results"]
    assert [row["type"] for row in found] == ["rationale"] * len(found)
    assert found[0]["excerpt"].startswith("Asked: Raise the poller's timeout.")
    assert len({row["id"] for row in found}) == len(found) <= 2
    assert ask(*asked, "--explain", "pontoon")["results"][0]["explain"]["terms"]
    assert ask(*asked, "--session", "one", "pontoon")["results"]
    assert not ask(*asked, "--before", "2020-01-01", "pontoon")["results"]
    assert store_folder.exists()


def test_a_search_for_rationales_before_any_are_written_says_so(tmp_path: Path, store_folder: Path) -> None:
    """No other words would find one."""
    claude = Claude("one")
    ask("import", write(tmp_path / "one.jsonl", *done(claude, WISH, "poller.py", REASON)))
    asked = ("search", "--project", claude.cwd, "--type", "rationale", "gnomon")
    assert run(*asked).stdout == "No rationales are written here yet: run `howcome rationale`.\n"
    both = run(*asked, "--type", "decision").stdout
    assert ("Other words" in both, "howcome rationale" in both) == (True, True)
    ask("rationale")
    assert "Other words" in run(*asked).stdout
    assert store_folder.exists()


def test_what_was_read_later_but_said_earlier_counts(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A session's newest file is read first: what its first prompt points at comes afterwards."""
    claude = Claude("one")
    first = [claude.user("it retries late"), claude.text("It does. Should I move the retry into `Gauge.read`?")]
    second = done(claude, "yes please", "gauge.py", "Moved the retry.")
    ingest(write(tmp_path / "second.jsonl", *second))
    assert written(store)["added"] == 1
    assert texts(store)[0].startswith("Asked: Yes please. ")
    ingest(write(tmp_path / "first.jsonl", *first))
    assert written(store)["replaced"] == 1
    assert texts(store)[0].startswith("Asked: Yes please (move the retry into `Gauge.read`). ")


def test_a_text_that_is_looked_for_is_found_in_rationales(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """Whoever erases a memory learns where its words still stand."""
    ingest(write(tmp_path / "one.jsonl", *done(Claude("one"), WISH, "poller.py", REASON)))
    written(store)
    (rationale,) = store.rationales.newest(EVERYTHING, None, 10)
    assert rationale.id in store.purging.events_with("Asked: Raise the poller's timeout. Done: Edited poller.py.")
