"""What was considered for each prompt is kept: what was said, and the named rule that held the rest back."""

from __future__ import annotations

import os
import time
from pathlib import Path

import apsw
import pytest
from tests.builders import Claude, Shell, write
from tests.integration.test_bites import CWD, begun, compacted, decided, said
from tests.integration.test_socket import loaded
from tests.processes import HOOK_FIELDS, payload, run

from howcome.app import open_app
from howcome.domain import verdicts
from howcome.domain.verdicts import KEPT_DAYS, KeptVerdict, PastVerdict
from howcome.log.place import database_path
from howcome.recall.rules import COOLDOWN_SESSIONS
from howcome.settings import read_settings

__all__ = ["decided"]
QUESTION = "What did we decide about the retry limit of the poller?"


def kept(session: str = "new") -> list[PastVerdict]:
    """The verdicts of a session, the oldest first."""
    with open_app(read_settings(os.environ)) as app:
        return app.store.injections.verdicts(session=session)[::-1]


def rules(one: PastVerdict) -> set[str]:
    """Of what was looked at."""
    return {rule for _, _, rule in one.considered}


def test_what_was_said_and_what_held_the_rest_back_is_kept(decided: Path) -> None:
    """Told first, then told already; a chore is held back whole."""
    for prompt in (QUESTION, f"  {QUESTION.upper()} ", "run the tests, then commit and push it", "zwieback"):
        said(decided, prompt)
    first, again, chore, other = kept()
    assert first.considered[0][2] == ""
    assert first.lines >= 1
    assert 20 < first.tokens <= 150
    assert verdicts.TOLD in rules(again)
    assert first.asked == again.asked != chore.asked
    assert (chore.rule, chore.lines, chore.considered) == (verdicts.CHORE, 0, [])
    assert (other.rule, other.considered) == (verdicts.NOTHING, [])
    assert {one.hook for one in kept()} == {verdicts.PROMPT}
    assert all(rule in verdicts.RULES for one in kept() for rule in (*rules(one), one.rule) if rule)


def test_no_word_of_a_prompt_is_kept(decided: Path, store_folder: Path) -> None:
    """Of a prompt there is a hash with the store's key."""
    said(decided, f"{QUESTION} Zwieback!")
    assert kept()
    held = b"".join(path.read_bytes() for path in store_folder.glob("howcome.db*"))
    assert b"wieback" not in held


def test_injection_that_is_off_is_the_rule(decided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And whole excerpts leave a verdict, too."""
    monkeypatch.setenv("HOWCOME_INJECT", "off")
    said(decided, QUESTION)
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    said(decided, QUESTION)
    off, whole = kept()
    assert off.rule == verdicts.OFF
    assert whole.lines >= 1


def test_a_briefing_is_kept_as_what_it_is(decided: Path) -> None:
    """With its tokens."""
    assert begun(decided)
    [one] = kept()
    assert one.hook == verdicts.BRIEFING
    assert one.lines >= 1
    assert one.tokens > 10


def test_silence_does_not_wait_for_another_writer(decided: Path, store_folder: Path) -> None:
    """Somebody imports: the prompt that is told nothing is answered at once, and leaves no row."""
    said(decided, QUESTION)
    other = apsw.Connection(database_path(str(store_folder)))
    other.execute("BEGIN IMMEDIATE")
    with open_app(read_settings(os.environ), busy_ms=2000) as app:
        begun_s = time.monotonic()
        app.search.record_said("new", verdicts.PROMPT, ())
        assert time.monotonic() - begun_s < 1
        other.execute("ROLLBACK")
        app.search.record_said("new", verdicts.PROMPT, ())
    assert len(kept()) == 2


@pytest.mark.usefixtures("store_folder")
def test_old_verdicts_go() -> None:
    """With the first one after KEPT_DAYS."""
    day_ms = 24 * 3_600_000
    with open_app(read_settings(os.environ)) as app:
        for day in (0, 1, KEPT_DAYS, KEPT_DAYS + 1):
            app.store.injections.record("s", "h", day * day_ms, (), (), KeptVerdict(None, None, 0, 0, "", ()))
        left = [one.asked_ms // day_ms for one in app.store.injections.verdicts(session="s")]
    assert left == [KEPT_DAYS + 1, KEPT_DAYS, 1]


def test_verdicts_are_of_a_project(decided: Path) -> None:
    """They are found by it."""
    said(decided, QUESTION)
    with open_app(read_settings(os.environ)) as app:
        project = app.projects.scope_of(CWD).project_id
        assert project is not None
        assert len(app.store.injections.verdicts(project_id=project, limit=5)) == 1
        assert app.store.injections.verdicts(project_id=project + 1) == []


TASK = "now it is time that we make the retry limit of the poller six"
FEW_WORDS = "make the retry limit of the poller six"


def working(folder: Path, calls: int) -> None:
    """The session `new` so far: a prompt, and so many tools called since."""
    talk = Claude("new", cwd=CWD)
    steps = [
        one
        for at in range(calls)
        for one in (talk.call("Bash", f"toolu_{at}", command="make"), talk.result(f"toolu_{at}", "ok"))
    ]
    path = write(folder / "new.jsonl", talk.user("let's begin with the harbour"), *steps, talk.text("Done so far."))
    assert run("import", str(path)).returncode == 0


@pytest.mark.parametrize(
    ("calls", "prompt", "rule"),
    [
        (0, TASK, ""), (4, TASK, ""), (5, TASK, verdicts.FOCUS), (5, f"{TASK}, ok?", ""), (5, QUESTION, ""),
        (3, FEW_WORDS, verdicts.STEERING), (1, FEW_WORDS, ""), (0, FEW_WORDS, ""),
        (3, "make the retry limit of `TidePoller` six", ""),
    ],
)  # fmt: skip
def test_work_that_goes_on_is_left_alone(calls: int, prompt: str, rule: str, decided: Path) -> None:
    """After a run of tools, and by a few words without a name; who asks is answered."""
    working(decided.parent, calls)
    told = said(decided, prompt)
    assert kept()[-1].rule == rule
    assert rule in rules(kept()[-1])
    assert ("five times" in told) == (rule == "")


PLAN = f"# Plan\n\n{TASK}\n\n## Steps\n\n" + f"{TASK}\n" * 6


@pytest.mark.parametrize(
    ("prompt", "rule"),
    [
        (PLAN, verdicts.DOCUMENT), (f"Implement the following plan:\n\n{PLAN}", verdicts.DOCUMENT),
        (PLAN.replace("\n#", "\n  #"), verdicts.DOCUMENT), (PLAN.replace("#", ""), ""), (PLAN.replace("##", "#"), ""),
        (f"Why does this not hold?\n\n{PLAN}", ""), (f"make it six\n```\n{PLAN}```\n", ""),
        (f"{TASK}\n{TASK}\n{TASK}\n{PLAN}", ""), ("#################\n" + PLAN.replace("#", ""), ""),
    ],
)  # fmt: skip
def test_a_document_brings_what_it_is_about(prompt: str, rule: str, decided: Path) -> None:
    """A plan, for instance; no question about one, nothing in fences, no comments of a script."""
    told = said(decided, prompt)
    assert kept()[-1].rule == rule
    assert ("five times" in told) == (rule == "")


def test_the_rules_of_a_prompt_load_no_rules_for_secrets(decided: Path) -> None:
    """These take 0.1 s: what is looked for, and is plain, needs none."""
    fields = {**HOOK_FIELDS["UserPromptSubmit"], "prompt": TASK, "cwd": CWD}
    answer, modules = loaded(payload("UserPromptSubmit", decided, "7d4f1c1e-0000-4000-8000-00000000a002", **fields))
    assert b"five times" in answer
    assert "howcome.recall.rules" in modules
    assert "howcome.redact.redactor" not in modules


def test_a_session_is_told_so_much(decided: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the setting says; who asks about the past is told, and a new window as well."""
    monkeypatch.setenv("HOWCOME_SESSION_BITES", "0")
    assert said(decided, TASK, "running") == ""
    assert kept("running")[-1].rule == verdicts.SESSION
    assert "five times" in said(decided, QUESTION, "running")
    monkeypatch.setenv("HOWCOME_SESSION_BITES", "1")
    assert said(decided, other := "make the queue between gauge and ingest faster", "running") == ""
    assert kept("running")[-1].rule == verdicts.SESSION
    compacted(decided, "PreCompact")
    assert said(decided, other, "running") != ""


def test_what_the_same_prompt_was_told_again_and_again_is_not_said(decided: Path) -> None:
    """In other sessions of the day; a few windows in a row are told."""
    told = [said(decided, TASK, f"window {number}") for number in range(COOLDOWN_SESSIONS + 1)]
    assert [bool(one) for one in told] == [True] * COOLDOWN_SESSIONS + [False]
    assert verdicts.COOLDOWN in rules(kept(f"window {COOLDOWN_SESSIONS}")[-1])


def test_of_one_earlier_session_so_much_is_said(tmp_path: Path, store_folder: Path) -> None:
    """Two lines; then it is told of others."""
    assert not store_folder.exists()
    talk = Claude("long", cwd=CWD)
    names = ("TidePoller", "GaugeQueue", "BuoyClock")
    turns = [
        turn
        for at, name in enumerate(names)
        for turn in (
            *talk.exchange(f"berth{at}"),
            talk.user(f"how is `{name}` set?"),
            talk.text(f"`{name}` waits {at + 3} minutes, as the mooring swings."),
        )
    ]
    assert run("import", str(write(tmp_path / "long.jsonl", *turns))).returncode == 0
    told = [said(tmp_path, f"raise what `{name}` waits for the mooring by a minute") for name in names]
    assert [bool(one) for one in told] == [True, True, False]
    assert verdicts.TOPIC in rules(kept()[-1])


@pytest.mark.parametrize(
    ("chosen", "file", "told"),
    [
        ("bites", 'inject = "off"', ""), ("context", 'inject = "bites"', "bites"), ("context", "", "context"),
        ("bites", 'inject = "context"', "bites"), ("off", 'inject = "context"', ""), ("bites", "inject = 1", ""),
        ("bites", "inject =", ""),
    ],
)  # fmt: skip
def test_a_repository_may_only_ask_for_less(
    chosen: str, file: str, told: str, tmp_path: Path, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With prompts and in the briefing; what cannot be understood asks for nothing."""
    assert not store_folder.exists()
    folder = tmp_path / "quay"
    (folder / ".git").mkdir(parents=True)
    talk = Claude("earlier", cwd=str(folder))
    turns = [
        *talk.exchange("berth"),
        talk.user("how often does the poller retry?"),
        talk.text("The poller retries five times."),
    ]
    assert run("import", str(write(tmp_path / "a.jsonl", *turns))).returncode == 0
    (folder / ".howcome.toml").write_text(file)
    monkeypatch.setenv("HOWCOME_INJECT", chosen)
    found = said(tmp_path / "b.jsonl", "what did we say about the poller, how often does it retry?", cwd=str(folder))
    assert ("context" if "user: how often" in found else "bites" if found else "") == told
    assert bool(begun(tmp_path / "b.jsonl", "another", cwd=str(folder))) == bool(told)


def test_what_is_told_sets_the_bar_for_the_rest(tmp_path: Path, store_folder: Path) -> None:
    """Who asks the same thing again is not told what shares two of its words."""
    assert not store_folder.exists()
    alert, table = Shell("alert", cwd=CWD), Shell("table", cwd=CWD, start=9000)
    write(
        tmp_path / "alert.jsonl", alert.user("how is the harbour master alerted?"), alert.text("By SMS or by e-mail."),
        alert.user("alert the harbour master by SMS instead of e-mail, because e-mail is not read at night"),
        *alert.edited("alert.py"), alert.text("The harbour master gets an SMS from `alert.py` now."),
    )  # fmt: skip
    write(
        tmp_path / "table.jsonl", table.user("the CSV import of the harbour is slow"), table.text("It reads it whole."),
        table.user("read the CSV in chunks instead of whole files, because the master list of the harbour has 2 GB"),
        *table.edited("csv.py"), table.text("The CSV import in `csv.py` reads chunks now."),
        table.user("always write the CSV of the harbour with `;`, because the master's spreadsheet wants it"),
        *table.edited("csv.py"), table.text("Done."),
    )  # fmt: skip
    for at in range(6):
        talk = Shell(f"pier-{at}", cwd=CWD, start=20_000 + 900 * at)
        write(
            tmp_path / f"pier-{at}.jsonl", talk.user(f"mend gauge {at} of the pier"), *talk.edited(f"gauge{at}.py"),
            talk.text(f"The gauge in `gauge{at}.py` is mended: the cable was loose at the pier."),
        )  # fmt: skip
    assert run("import", tmp_path).returncode == 0
    assert run("distil").returncode == 0
    asked = "do we alert the harbour master by SMS or by e-mail?"
    assert "SMS instead of e-mail" in said(tmp_path, asked)
    for _ in range(2):
        assert said(tmp_path, asked) == ""
    assert verdicts.BEST in rules(kept()[-1])
    assert "CSV" in said(tmp_path, "how do we write the CSV of the harbour master, and in chunks?")
