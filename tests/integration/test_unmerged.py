"""What was said on a branch that is not merged says so, and ranks below what holds here."""

import json
import os
import time
from pathlib import Path

import pytest
from tests.builders import Claude, Record, write
from tests.processes import HOOK_FIELDS, answer_of, hook, payload, run
from tests.repositories import Dated

from howcome.app import open_app
from howcome.settings import read_settings

ASKED = "What did we decide about the retry limit of the poller?"
MARK = "on branch mole, not merged"
SEVEN = "Retry a poller request seven times: the buoy reboots for minutes."
SUNDAYS = "Reboot the buoy on Sundays, because nobody is at sea then."


def today(records: list[Record], minutes: int) -> list[Record]:
    """The same records, as if they were written so long ago."""
    at = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() - 60 * minutes))
    return [{**one, "timestamp": at} for one in records]


@pytest.fixture
def quay(tmp_path: Path, store_folder: Path) -> Dated:
    """A repository in which two sessions decided the same thing in two ways, the later one on a branch."""
    made = Dated(tmp_path / "quay", tmp_path)
    made.branch("mole")
    decided(made, "master", "five", 60, "let's talk about the retry limit of the poller")
    decided(made, "mole", "seven", 30, "how about the poller, is its retry limit right?")
    assert store_folder.exists()
    return made


def decided(quay: Dated, branch: str, times: str, minutes: int, prompt: str) -> None:
    """A session that decides how often to try."""
    talk = Claude(times, cwd=str(quay.folder), gitBranch=branch)
    noise = [turn for at in range(4) for turn in talk.exchange(f"berth{times}{at}")]
    said = f"We decided to retry a `TidePoller` request {times} times, because the buoy reboots."
    path = quay.home / "t" / f"{times}.jsonl"
    write(path, *today([*noise, talk.user(prompt), talk.text(said)], minutes))
    assert run("import", str(path)).returncode == 0


def rows(quay: Dated, *options: str) -> list[tuple[str, str]]:
    """What a search in the repository answers, once the worker asked git: how often to try, and the branch."""
    look(quay)
    done = run("search", ASKED, "--json", *options, folder=quay.folder)
    assert done.returncode == 0, done.stderr
    told = [(one["excerpt"], one["unmerged"]) for one in json.loads(done.stdout)["results"]]
    return [(word, branch) for text, branch in told for word in ("two", "five", "seven") if word in text]


def look(quay: Dated) -> None:
    """A session begins, and the worker has time."""
    with open_app(read_settings(os.environ)) as app:
        app.projects.meet(str(quay.folder), 1.0)
        app.projects.look(20.0)


def bites(quay: Dated, session: str) -> str:
    """What is added to the prompt."""
    fields = {**HOOK_FIELDS["UserPromptSubmit"], "prompt": ASKED, "cwd": str(quay.folder)}
    event = "UserPromptSubmit"
    answer = answer_of(event, hook(event, payload(event, quay.home / "new.jsonl", session, **fields)))
    return "" if answer is None else str(answer["additionalContext"])


def test_a_search_says_so_and_counts_it_less(quay: Dated) -> None:
    """It is newer, and stands behind what holds here until it is merged; a person and an agent read it, too."""
    assert rows(quay) == [("five", ""), ("seven", "mole")]
    assert f"[{MARK}]" in run("search", ASKED, folder=quay.folder).stdout
    assert " * branch 0.91 " in run("search", ASKED, "--explain", folder=quay.folder).stdout
    quay.git("switch", "-q", "mole")
    assert rows(quay) == [("seven", ""), ("five", "")]
    quay.git("switch", "-q", "master")
    quay.git("merge", "-q", "--squash", "mole")
    quay.git("commit", "-qm", "squashed")
    assert rows(quay) == [("seven", ""), ("five", "")]


def test_elsewhere_nothing_is_said_of_it(quay: Dated) -> None:
    """Nobody who asks in no working copy of the project, or for everything, has a HEAD of it."""
    assert {branch for _, branch in rows(quay, "--all-projects")} == {""}


def test_a_prompt_is_told_once_git_was_asked(quay: Dated) -> None:
    """The hook starts no git: before the worker has, and when HEAD has moved since, it says nothing."""
    assert MARK not in bites(quay, "first")
    assert rows(quay)
    said = bites(quay, "second")
    assert f"({MARK}) agent: We decided to retry a `TidePoller` request seven times" in said
    assert said.count(MARK) == 1
    quay.commit("crane.txt")
    assert "seven" in bites(quay, "third")
    assert MARK not in bites(quay, "fourth")


def test_whole_exchanges_say_it_too(quay: Dated, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the branch, which they always named."""
    monkeypatch.setenv("HOWCOME_INJECT", "context")
    assert rows(quay)
    assert "branch mole, not merged" in bites(quay, "first")


def test_only_one_is_room_for_is_the_one_that_holds(quay: Dated, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other gives way."""
    monkeypatch.setenv("HOWCOME_RECALL_LIMIT", "1")
    assert rows(quay)
    said = bites(quay, "first")
    assert "five times" in said
    assert "seven" not in said


def test_of_what_was_asked_twice_that_is_told_which_holds(quay: Dated) -> None:
    """Though it was asked later on the branch."""
    decided(quay, "mole", "nine", 10, "let's talk about the retry limit of the poller")
    assert "nine times" in bites(quay, "first")
    assert rows(quay)
    said = bites(quay, "second")
    assert "five times" in said
    assert "nine times" not in said


def test_a_briefing_says_it_of_a_memory(quay: Dated) -> None:
    """The worker asked git about where the session before began, and what is said so stands last."""
    [seven] = said_in(quay, "seven")
    remember(quay, SUNDAYS)
    remember(quay, SEVEN, seven)
    assert MARK not in "".join(briefing(quay))
    look(quay)
    assert briefing(quay)[1].endswith(SUNDAYS)
    assert briefing(quay)[2].endswith(f"{SEVEN} ({MARK})")
    quay.commit("crane.txt")
    assert MARK not in "".join(briefing(quay))


def test_what_was_also_said_elsewhere_or_earlier_holds(quay: Dated, tmp_path: Path) -> None:
    """In another session, in another repository with a branch of that name, and before this branch was there."""
    decided(quay, "mole", "two", 5 * 24 * 60, "how about the poller three days ago, is its retry limit right?")
    dike = Dated(tmp_path / "dike", tmp_path)
    decided(dike, "mole", "ten", 20, "how about the poller of the dike, is its retry limit right?")
    assert ("seven", "mole") in rows(quay)
    assert ("two", "") in rows(quay)
    remember(quay, SEVEN, *said_in(quay, "seven"), *said_in(quay, "five"))
    remember(quay, SUNDAYS, *said_in(quay, "ten"), everywhere=True)
    told = "".join(briefing(quay))
    assert SEVEN in told
    assert SUNDAYS in told
    assert MARK not in told


def said_in(quay: Dated, session: str) -> list[str]:
    """The id of what a session decided."""
    done = run("search", ASKED, "--json", "--all-projects", "--type", "assistant_text", folder=quay.home)
    found = json.loads(done.stdout)["results"]
    return [one["id"] for one in found if f"request {session} times" in one["excerpt"]]


def remember(quay: Dated, text: str, *evidence: str, everywhere: bool = False) -> None:
    """Keeps a decision."""
    cited = [word for one in evidence for word in ("--evidence", one)]
    done = run("remember", text, "--type", "decision", *["--global"] * everywhere, *cited, folder=quay.folder)
    assert done.returncode == 0, done.stderr


def briefing(quay: Dated) -> list[str]:
    """What a session on the trunk begins with."""
    with open_app(read_settings(os.environ)) as app:
        return [text for text, _ in app.search.briefing(str(quay.folder)).lines("master", 500)]
