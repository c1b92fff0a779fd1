"""What a later statement takes back of an earlier one, in whatever words, and what it leaves as it is."""

from __future__ import annotations

import pytest
from tests.sessions import agent, changed, learnt, ran, user

from howcome.learn.taking_back import Stand, taken_back

DECIDED = ("Use Kafka for the gauge stream, because it keeps everything.", "The gauge stream should be built on Kafka.")
TOKENS = (
    "Let's take JWT in an httpOnly cookie with 15 minutes expiry, because we don't want a session table for two"
    " app servers. Passwords with argon2, not bcrypt."
)
SESSIONS = (
    "Then I was wrong about JWT. We replace the JWT by server-side sessions in a Postgres table, because a"
    " stolen token has to be revocable at once."
)
ASKED = "Asked “Which broker carries the gauge stream?”, the user chose “{}”: as measured. Not: {}; MQTT."
COMMITTED = "Committed “Use Kafka for the gauge stream”."
REVERTED = "Reverted the commit “Use Kafka for the gauge stream”."


def found(earlier: str, later: str) -> list[bool]:
    """Whether the later statement takes the earlier one back, and surely."""
    return [is_sure for _, _, is_sure in taken_back([Stand(earlier), Stand(later)])]


@pytest.mark.parametrize(
    "earlier", [*DECIDED, ASKED.format("Kafka", "NATS"), "Committed “Use Kafka for the gauge stream”."]
)
@pytest.mark.parametrize(
    "later",
    [
        "Let's switch the gauge stream from Kafka to NATS.", "Please replace Kafka with NATS in the gauge stream.",
        "Use NATS instead of Kafka for the gauge stream.", "Changed my mind about the gauge stream: NATS, not Kafka.",
        "No more Kafka for the gauge stream!", "Get rid of Kafka in the gauge stream.",
        "We no longer use Kafka for the gauge stream.", "NATS over Kafka for the gauge stream", REVERTED,
        ASKED.format("NATS", "Kafka"), "Wir stellen den gauge stream von Kafka auf NATS um.",
        "We replace Kafka by NATS in the gauge stream, because two of three brokers went down and nobody noticed.",
        "I was wrong about Kafka for the gauge stream. NATS is far easier to run.",
        "Wir ersetzen Kafka durch NATS im gauge stream, weil zwei von drei Servern ausgefallen sind.",
        "Reemplazamos Kafka por NATS en el gauge stream, porque dos de los tres servidores cayeron.",
        "On remplace Kafka par NATS dans le gauge stream, parce que deux serveurs sont tombés.",
        "Bitte NATS statt Kafka für den gauge stream.", "The user: “drop Kafka for the gauge stream”. Then: NATS runs.",
    ],
)  # fmt: skip
def test_what_turns_away_from_it_takes_it_back(earlier: str, later: str) -> None:
    """Surely where it says nothing else that the earlier one does not say."""
    assert found(earlier, later) == [True]


@pytest.mark.parametrize("earlier", [*DECIDED, ASKED.format("Kafka", "NATS")])
@pytest.mark.parametrize(
    "later",
    [
        "Add tests for the Kafka gauge stream.", "Why did we replace Kafka in the gauge stream?",
        "Use Kafka instead of NATS for the gauge stream.", "Remove the debug output from the Kafka gauge stream.",
        "Do not restart the gauge stream while Kafka is busy.", "Drop Kafka for the crane log.",
        "NATS over Kafka for the crane log", ASKED.format("Kafka", "NATS"), "Kafka changed the gauge stream.",
    ],
)  # fmt: skip
def test_what_is_about_the_same_or_about_another_thing_does_not(earlier: str, later: str) -> None:
    """Work on it, questions, the same choice again, the same name elsewhere."""
    assert found(earlier, later) == []


def test_who_turns_away_from_the_same_to_something_else_is_looked_at() -> None:
    """Both may hold; what says both names is no choice between them."""
    assert found("Use Polars instead of pandas for tides", "Use DuckDB instead of pandas for tides") == [False]
    assert found("The tides come as CSV and as Parquet", "Parquet instead of CSV for tides") == []


@pytest.mark.parametrize(
    "later",
    [
        "I was wrong about Kafka. The gauge stream is fast enough with it after all.",
        "Then I was wrong about Kafka. The crane log goes to NATS.",
        "Revert Kafka. The gauge stream needs the older version of it.",
        "Ich lag falsch mit Kafka. Der gauge stream überlebt einen Neustart.",
    ],
)
def test_the_sentence_after_it_does_not_say_of_what_matter(later: str) -> None:
    """It may defend what the one before it blamed."""
    assert found(DECIDED[0], later) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        (DECIDED[0], "Replace Kafka by NATS, because the gauge stream lost messages."),
        (DECIDED[0], "Wir ersetzen Kafka durch NATS, weil der gauge stream klein ist."),
        (TOKENS, SESSIONS),
    ],
)
def test_a_reason_may_say_of_what_matter(earlier: str, later: str) -> None:
    """Or not: it is counted or left out, as fits better."""
    assert found(earlier, later)


def test_of_a_plan_the_title_says_what_it_is_about() -> None:
    """A line of it may not."""
    older = "Plan “Number berths from 1-based”: The first berth of the quay is `1/`."
    assert found(older, "Plan “Change berth numbers from 1-based to 0-based”: The quay begins with `0/`.") == [True]


@pytest.mark.parametrize(
    "ran_so",
    [
        ran("git revert --no-edit 1a2b3c4", '[main 5d6e7f8] Revert "Use Kafka for the gauge stream"\n 1 file changed'),
        ran("git commit -m 'Revert \"Use Kafka for the gauge stream\"'"),
    ],
)
def test_a_revert_is_learnt_with_the_subject_of_what_it_reverts(ran_so: list[dict[str, object]]) -> None:
    """Of git's answer with a tool's origin: it is never pushed."""
    [one] = learnt(user("take it out"), ran_so, agent("Done."), only=["commits"])
    assert (one.text, one.origin) == (REVERTED, "tool" if "revert --no-edit" in str(ran_so) else "assistant")


def test_what_is_undone_right_after_is_not_learnt() -> None:
    """What the user says instead is."""
    begun = [
        user("hello"),
        agent("Hello."),
        user("Show the sha of `HEAD` in the quay list, because it helps."),
        *changed("q.py"),
    ]
    assert len(learnt(*begun, only=["directions"])) == 1
    later = user("no, revert that, the risk is that `HEAD` is taken for a stable link")
    assert [one.text for one in learnt(*begun, later, only=["directions"]) if "Show the sha" in one.text] == []


def test_a_short_first_prompt_is_learnt_where_it_turns_away_from_something() -> None:
    """Others are tasks of the day."""
    told = [changed("q.py"), agent("The gauge stream in `q.py` runs on NATS now.")]
    assert len(learnt(user("switch the gauge stream from Kafka to NATS"), *told, only=["directions"])) == 1
    assert learnt(user("look at the gauge stream on Kafka and NATS"), *told, only=["directions"]) == []
