"""What looks like a decision, a remedy or an outcome and is none: of the day, somebody else's, or overruled."""

from __future__ import annotations

import pytest
from tests.sessions import Part, agent, call, changed, learnt, ran, user

Parts = list[Part | list[Part]]


def answered(question: str, answer: str, *labels: str) -> list[Part]:
    """A question of the agent and what was answered: one of its options, or words of one's own."""
    options = [{"label": label, "description": f"the gauge is told {label}"} for label in labels]
    said = f'answered: "{question}"="{answer}".'
    return call("AskUserQuestion", said, questions=[{"question": question, "options": options}])


PUSH = ("Ready to push the tides to the harbour?", "Yes, push", "Yes, push", "No, wait")
PUSCH = ("Soll der Zweig jetzt in den Hafen?", "Ja, schieben", "Ja, schieben", "Nein, warten")
KEEP = ("Should `read_tides()` keep the old format?", "Yes, keep it", "Yes, keep it", "No, drop it")

LEFT: list[tuple[str, Parts]] = [
    ("leave to act now", [user("push it"), answered(*PUSH), ran("git push --force-with-lease", "ok")]),
    ("leave to act now, and then the answer as a prompt", [
        user("push it"), answered(*PUSH), user("Yes, push"), ran("git push --force-with-lease", "ok"),
    ]),
    ("leave to act now, German", [user("weiter"), answered(*PUSCH), ran("git push", "ok")]),
    ("an answer that is a paste", [
        user("go"), answered("Which author?", "Like so:\n> tide log\nreading 83af2 of Mara", "The buoy's", "Mine"),
    ]),
    ("an answer that asks back", [
        user("go"), answered("Does this design hold?", "which states can the gauge have at all?", "Yes", "No"),
    ]),
    ("names of files and a verdict", [
        user("go"), agent("If `gauge.go` is missing from `tides`, `poll()` returns `true`."),
        user("tideA.go tideB.go quay.go tideA.go tideB.go quay.go FAIL"), changed("quay.go"), agent("`quay.go` works."),
    ]),
    ("an answer that says nothing of its own", [
        user("go"), agent("`TidePoller` has only `poll()` (poller.py)"),
        user("ok, let's do this fix then, ignore the existing PR"), changed("poller.py"), agent("Done."),
    ]),
    ("another program of the line", [
        user("test"), ran("tide check ./quay -v | grep '--- X'", "grep: unrecognized option '--- X'", failed=True),
        ran("tide check ./quay", "ok"),
    ]),
    *((f"a command that went on with {option}", [
        user("rebase"), ran("git rebase origin/main", "error: Unable to create '.git/index.lock'", failed=True),
        ran(f"git rebase {option}", "ok"),
    ]) for option in ("--continue", "--abort", "--skip", "--quit")),
    *((f"other tests than the one that failed: {verdict}", [
        user("test"), ran("pytest -q tests/quay -k tide", verdict, failed=True), ran("pytest -q tests/quay", "ok"),
    ]) for verdict in (
        "--- FAIL: TestTide (0.03s)", "FAILED tests/quay/test_tide.py::test_tide - KeyError",
        "FAIL src/tide.test.ts", "test quay::tide ... FAILED",
    )),
]  # fmt: skip


@pytest.mark.parametrize("parts", [one[1] for one in LEFT], ids=[one[0] for one in LEFT])
def test_nothing_is_learnt_of(parts: Parts) -> None:
    """Neither a decision nor a remedy."""
    assert [one.text for one in learnt(*parts, user("thanks"), agent("You are welcome."))] == []


@pytest.mark.parametrize(
    "parts",
    [
        [user("go"), answered(*KEEP), changed("tides.py")],
        [user("go"), answered(*KEEP), ran("grep -r tides"), changed("tides.py")],
        [user("go"), answered("Which queue?", "Exactly once", "Exactly once", "At most once"), ran("tide up", "ok")],
        [user("go"), answered("Which queue for `tides`?", "NATS, it is on the buoy already", "Kafka"), ran("tide up")],
    ],
)
def test_a_choice_is_no_leave(parts: Parts) -> None:
    """Where files change after the yes, where nobody says no, and in one's own words."""
    assert [one.type for one in learnt(*parts, only=["choices"])] == ["decision"]


@pytest.mark.parametrize("line", [
    "- **B**: Old `gauge` files somehow kept the tides of the harbour because `poll()` never closes.",
    "Once you run `poll()`, let me know the tides because the gauge of the harbour never tells.",
    "Wenn `poll()` gelaufen ist, sag mir die Gezeiten, weil der Pegel im Hafen nie etwas sagt.",
])  # fmt: skip
def test_one_guess_of_several_and_a_request_are_no_outcome(line: str) -> None:
    """What was done then is told, not supposed or asked for."""
    found = learnt(user("hi"), agent("Hm."), user("the tides in `gauge.db` of the harbour must never be read twice "
                   "because `poll()` is slow"), changed("quay.py"), agent(f"Possible:\n{line}"))  # fmt: skip
    assert [one.text.partition(" Then:")[2] for one in found] == [""]
