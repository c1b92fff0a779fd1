"""Questions about the past, told from other prompts, and what they are about."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from howcome.domain.answering import MAX_WORDS, asked_of_past, is_chore, is_question, is_request
from howcome.domain.candidates import without_frame
from howcome.domain.stored import Found
from howcome.recall.rules import is_new_question
from howcome.retrieve.sureness import nearest


@pytest.mark.parametrize(
    ("prompt", "about"),
    [
        ("What did we decide about the retry limit?", "the retry limit?"),
        ("why did we pick NATS?", "pick NATS?"),
        ("Remind me, how did we handle SlackWebhook timeouts last time?", "handle SlackWebhook timeouts"),
        ("Was haben wir über die Pegel entschieden?", "Pegel"),
        ("¿por qué elegimos NATS?", "NATS?"),
        ("pourquoi on a choisi NATS", "NATS"),
        ("por que escolhemos NATS?", "NATS?"),
        ("なぜNATSにしたんだっけ", "NATSに"),
        ("还记得缓存那个问题怎么解决的吗", "缓存那个"),
        ("지난번에 재시도 횟수 어떻게 정했지?", "재시도 횟수 지?"),
        ("почему мы выбрали NATS?", "NATS?"),
    ],
)
def test_a_question_about_the_past_is_asked_by_its_subject(prompt: str, about: str) -> None:
    """The words that only ask are no content, and names keep their case."""
    assert asked_of_past(prompt) == about


@pytest.mark.parametrize(
    "prompt",
    [
        "add a retry limit",
        "yes, go ahead",
        "fix the test",
        "",
        "what did we " + "x " * MAX_WORDS,
        (
            "Please add a dark mode to the app with variables for all colours and a switch in the head of each page,"
            " which remembers what was chosen, and keep the old names in mails. Why is there no rule for all of this,"
            " by the way, and who wants one?"
        ),
        "añade un límite",
        "corrige le test",
        "adicione um limite",
        "テストを直して",
        "加一个重试",
        "재시도 추가해줘",
        "добавь лимит",
    ],
)
def test_other_prompts_are_no_questions_about_the_past(prompt: str) -> None:
    """Nor is a long task that speaks of it."""
    assert asked_of_past(prompt) is None


@pytest.mark.parametrize(
    "prompt",
    [
        "Write the report. Check first what was settled about the gauges.",
        "look for earlier decisions against NATS before you touch the code",
        "schreib den Bericht, aber sieh nach, was beschlossen wurde",
        "écris le rapport d'après ce qui a été décidé",
        "escribe el informe según lo que se acordó",
        "напиши отчёт, проверь, что было решено",
    ],
)
def test_who_has_to_look_at_what_was_settled_asks(prompt: str) -> None:
    """In a task, too."""
    assert asked_of_past(prompt)


def test_a_chore_is_nothing_but_chores() -> None:
    """One word of a subject makes it none."""
    assert is_chore("commit this, push and open a draft PR")
    assert is_chore("bitte committe das und pushe")
    assert is_chore("コミットしてプッシュして")
    assert not is_chore("commit the tide tables and push")


@pytest.mark.parametrize(
    "prompt",
    ["is it UTC?", "why is it UTC", "I write the docs. Which zone do we use", "warum nehmen wir UTC", "هل هذا صحيح؟"],
)
def test_a_question_needs_no_mark(prompt: str) -> None:
    """Many are typed without; in a language that has no list it needs one."""
    assert is_question(prompt)


@pytest.mark.parametrize("prompt", ["use UTC", "when it fails, use UTC", "do it like that", ""])
def test_what_gives_a_task_is_no_question(prompt: str) -> None:
    """Nor is one that only begins with a time."""
    assert not is_question(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "can you add a test for the berth sensor?", "The gate is red. Could you move it?",
        "hey can you look at the gate?", "please rename the gate", "can we move it?",
    ],
)  # fmt: skip
def test_who_asks_for_work_asks_nothing_about_the_project(prompt: str) -> None:
    """It takes more to answer such a prompt."""
    assert is_request(prompt)


@pytest.mark.parametrize("prompt", [
    "why can we not add a test?", "is the gate red?", "what can you tell me about it?",
    "can you tell me which port the gate listens on?", "Why is the gate red? Please explain.",
    "could you explain why the cache is keyed by berth?",
])  # fmt: skip
def test_a_question_is_no_request(prompt: str) -> None:
    """However politely it is put."""
    assert not is_request(prompt)


@pytest.mark.parametrize(
    ("prompt", "strength", "is_told"),
    [
        ("which port does the gate listen on?", 0.14, True), ("which port does the gate listen on?", 0.125, False),
        ("could you change the port of the gate?", 0.14, False), ("could you change the port of the gate?", 0.16, True),
        ("auf welchem Port hört das Tor und warum?", 0.125, True), ("can you tell me its port?", 0.14, True),
    ],
)  # fmt: skip
def test_how_sure_the_first_question_of_a_session_has_to_be(prompt: str, strength: float, is_told: bool) -> None:
    """One that asks for work has to be surer; in a language without stemming fewer words meet."""
    store = SimpleNamespace(sessions=SimpleNamespace(since_prompt=lambda *_: (0, 0, 1)))
    situation = SimpleNamespace(terms=["port", "gate", "listen"], wanted=SimpleNamespace(before_ms=None))
    ranked = [SimpleNamespace(strength=0.01), SimpleNamespace(strength=strength)]
    told = is_new_question(cast("Any", store), cast("Any", situation), prompt, "new", cast("Any", ranked))
    assert told is is_told


def test_of_what_is_near_a_few_rows_are_left() -> None:
    """The best, and none that is hardly about the question."""
    rows = [Found(score / 10, {}, "", strength=strength) for score, strength in enumerate([0.1, 0.1, 0.1, 0.01, 0.1])]
    assert [(row.score, row.is_near) for row in nearest(rows)] == [(0.4, True), (0.2, True), (0.1, True)]


def test_words_that_somebody_wrote_are_no_frame() -> None:
    """Whoever keeps a memory by hand may write as howcome does."""
    by_hand = "The user refused the banner. Then: deploy. Instead: nothing"
    assert without_frame(by_hand) == by_hand
    assert "refused" not in without_frame("The user refused `rm`: “no, keep it”. Instead: `ls`")
