"""Twelve decisions, each asked for in thirteen ways, by another name than that under which it came up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import Claude, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.stored import Scope
from howcome.retrieve.question import Question
from howcome.settings import read_settings

CWD = "/home/mara/quay"
TOPICS = (
    ("the buoy drops out for a minute now and then", "retries of the poller", "five times",
     "We retry a `TidePoller` request five times, because the buoy reboots."),
    ("which clock do the tables use?", "time zone of the tide tables", "UTC",
     "Tide tables stay in UTC, since local time has an hour twice in autumn."),
    ("what carries readings to ingest?", "broker for readings", "NATS",
     "We chose NATS over Kafka to carry readings: it runs on the buoy itself."),
    ("the pump alarm wakes everybody", "muting of pump alarms", "40 cm",
     "Pump alarms are muted below 40 cm, because the sensor lies there."),
    ("logins expire all the time", "lifetime of login tokens", "twelve hours",
     "Login tokens live for twelve hours: harbour shifts take ten."),
    ("charts are slow", "data behind the charts", "hourly rollups",
     "Charts are drawn from hourly rollups, since raw rows took nine seconds."),
    ("the crane driver wants CSV", "format of the crane export", "semicolons",
     "The export for cranes is CSV with semicolons, their spreadsheet reads no commas."),
    ("where do secrets live?", "place for secrets", "Vault",
     "Secrets are read from Vault at start and never from the environment, which shows up in crash dumps."),
    ("we had two schedulers running", "lock of the scheduler", "advisory lock",
     "Only one scheduler may run: it takes an advisory lock in PostgreSQL."),
    ("pictures from the lock camera fill the disk", "how long camera pictures stay", "thirty days",
     "Camera pictures are deleted after thirty days, the authority wants no more."),
    ("the harbour map looks blurry", "tiles of the harbour map", "vector tiles",
     "The harbour map uses vector tiles, because raster ones blur on the new screens."),
    ("how do ferries identify themselves?", "identity of ferries", "MMSI",
     "Ferries are known by their MMSI and not by name: names change with the owner."),
)  # fmt: skip
PHRASINGS = (
    "what did we settle on for the {}?", "why did we go for what we have with the {}?",
    "how did we end up with the {}?", "do you recall the {}? what was it again?",
    "did we ever decide on the {}?", "we talked about the {} once, remind me",
    "what was the outcome on the {}?", "was there a reason for the {}?",
    "last week we discussed the {}, what came of it?",
    "which {} did we agree on?", "what had we decided concerning the {}?", "can you tell me what we said about the {}?",
    "I forgot what we chose for the {}, what was it?",
)  # fmt: skip
NONSENSE = (
    "what did we decide about the zeppelin?", "why did we choose marmalade?", "remind me what we said about unicorns",
)  # fmt: skip


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A store in which each was decided among a lot of other talk, and distilled."""
    folder = tmp_path_factory.mktemp("past")
    for number, (came_up, _, _, decided) in enumerate(TOPICS):
        talk = Claude(f"decided-{number}", cwd=CWD, start=1000 * number)
        noise = [turn for at in range(6) for turn in talk.exchange(f"berth{number}{at}")]
        write(folder / "t" / f"{number}.jsonl", *noise, talk.user(came_up), talk.text(decided))
    home = {"HOWCOME_HOME": str(folder / "store"), "HOME": str(folder)}
    with open_app(read_settings(home)) as opened:
        for found in named_transcripts([str(folder / "t")]):
            opened.ingest.file(found)
        opened.index.catch_up()
        assert opened.learn.distillation is not None
        opened.learn.distillation.run()
        yield opened


def told_of(folder: Path, prompt: str, *, is_distilled: bool = False) -> list[str]:
    """What a new session is told with a prompt, of the transcripts below a folder alone."""
    with open_app(read_settings({"HOWCOME_HOME": str(folder / "store"), "HOME": str(folder)})) as app:
        for found in named_transcripts([str(folder / "t")]):
            app.ingest.file(found)
        app.index.catch_up()
        if is_distilled:
            assert app.learn.distillation is not None
            app.learn.distillation.run()
        return lines(app, prompt)


def lines(app: App, prompt: str) -> list[str]:
    """What a new session is told with a prompt."""
    return [text for one in app.search.recall(prompt, cwd=CWD, session="new", recent=str) for _, text in one.passages]


def test_the_decision_is_among_the_lines(app: App) -> None:
    """Silence on at most one in twenty, the decision itself in four of five."""
    told = [(fact, lines(app, phrasing.format(asked))) for _, asked, fact, _ in TOPICS for phrasing in PHRASINGS]
    silent = sum(not said for _, said in told) / len(told)
    right = sum(any(fact in line for line in said) for fact, said in told) / len(told)
    assert (silent <= 0.05, right >= 0.8) == (True, True), f"silent {silent:.3f}, right {right:.3f}"


@pytest.mark.parametrize("prompt", NONSENSE)
def test_what_nothing_answers_gets_nothing(app: App, prompt: str) -> None:
    """However much it is a question about the past."""
    assert lines(app, prompt) == []


def test_what_a_memory_says_is_not_said_by_its_exchange_once_more(app: App) -> None:
    """The exchange that it was made from may say something else beside it."""
    prompt = "rework the retries of the poller: the buoy drops out for a minute now and then"
    [said] = app.search.recall(prompt, cwd=CWD, session="new", recent=str)
    assert said.memory is not None


def test_one_memory_leaves_the_other_lines_to_what_was_said(tmp_path: Path) -> None:
    """The exchange that answers says more than one sentence, before memories that share a word with the question."""
    talk = Claude("long", cwd=CWD)
    said = (
        "The sluice gate stays shut at night, because the turbine stalls below 3 knots. "
        "In winter `lock_controller.py` opens the sluice gate, and only the harbour master may call it."
    )
    for one, name in ((Claude(f"note{at}", cwd=CWD, start=500 * at), f"pump_{at}") for at in range(4)):
        reply = f"No: a gate would not fit `{name}`, since its flange is too narrow."
        write(tmp_path / "t" / f"{name}.jsonl", one.user(f"a gate for {name}?"), one.text(reply))
    write(tmp_path / "t" / "long.jsonl", talk.user("does the sluice gate open in winter at night?"), talk.text(said))
    found = told_of(tmp_path, "what did we decide about the sluice gate at night in winter?", is_distilled=True)
    assert any("turbine stalls" in line for line in found)
    assert sum("pump_" in line for line in found) <= 1


def test_a_weak_memory_takes_no_line_from_what_answers(tmp_path: Path) -> None:
    """One that shares a word or two with the question; nor does a sentence that says nothing."""
    crane, fence = Claude("crane", cwd=CWD), Claude("fence", cwd=CWD, start=90_000)
    rule = "from now on always grease the posts of the fence before they are painted, because the rain gets into them"
    said = "The harbour crane is painted yellow before the winter, because nobody sees its old colour from the boat."
    asked = crane.user("look at the harbour crane and its colour")
    write(tmp_path / "t" / "crane.jsonl", asked, crane.text(said), *crane.conversation(4))
    write(tmp_path / "t" / "fence.jsonl", fence.user(rule), fence.text("Done."), *fence.conversation(4))
    question = "why did we decide that the harbour crane is painted yellow before the winter?"
    assert told_of(tmp_path, question, is_distilled=True) == [said]
    assert any("grease" in line for line in told_of(tmp_path, "what did we decide about greasing the fence posts?"))


def test_a_sentence_that_is_cut_is_not_said_twice(tmp_path: Path) -> None:
    """What stands in a line without its end was said, too."""
    talk = Claude("long", cwd=CWD)
    said = (
        "The sluice gate stays shut at night, because the turbine stalls below 3 knots, which the harbour master found"
        " out in the winter of 1998 when `lock_controller.py` opened the sluice gate at every high tide of the year."
    )
    write(tmp_path / "t" / "long.jsonl", talk.user("does the sluice gate open in winter at night?"), talk.text(said))
    found = told_of(tmp_path, "what did we decide about the sluice gate at night in winter?")
    assert len(found) == len(set(found)) > 0


def test_what_a_memory_quotes_and_cuts_is_not_said_by_its_exchange(tmp_path: Path) -> None:
    """The rule stands in the block once."""
    talk, rule = (
        Claude("rule", cwd=CWD),
        "Rule for the sluice gate from now on: never open it while the turbine is running",
    )
    asked = talk.user(
        f"Good. {rule}, always ask the harbour master first, and write down in `gate.log` who asked and when."
    )
    done = talk.text(
        "I added a check to `lock_controller.py`, because the sluice gate may only open with the turbine off."
    )
    start = [talk.user("look at the gate"), talk.text("The sluice gate is opened by `lock_controller.py`.")]
    write(tmp_path / "t" / "rule.jsonl", *start, asked, done, *talk.conversation(5))
    told = told_of(tmp_path, "which rule did we agree on for the sluice gate and the turbine?", is_distilled=True)
    assert sum("from now on: never open" in line for line in told) == 1, told


def test_of_an_exchange_s_sentences_the_best_stays_where_a_block_is_full(tmp_path: Path) -> None:
    """What answers best was said first; long sentences behind it must not push it out."""
    talk = Claude("long", cwd=CWD)
    more = " and nobody wrote that down anywhere before, so the next crew of the harbour has to find it out again"
    said = (
        f"The sluice gate stays shut at night in winter, because the turbine stalls below 3 knots{more}. "
        f"The sluice gate of `lock_controller.py` opens by day, since the ferries of the island need it{more}. "
        f"A gate of the older harbour is never shut, because `dial()` cannot reach its motor at all{more}."
    )
    write(tmp_path / "t" / "long.jsonl", talk.user("does the sluice gate open in winter at night?"), talk.text(said))
    found = told_of(tmp_path, "what did we decide about the sluice gate at night in winter?")
    assert any("turbine stalls" in line for line in found), found


QUESTIONS = (
    ("are charts drawn from hourly rollups?", "nine seconds"), ("do login tokens live for hours?", "twelve"),
    ("when are camera pictures deleted?", "thirty days"), ("didn't we have two schedulers running?", "advisory lock"),
    ("which tiles does the harbour map use", "vector tiles"), ("reason for the name of ferries", "MMSI"),
    ("i'm on the crane export again. what format do the cranes read, csv", "semicolons"),
)  # fmt: skip


@pytest.mark.parametrize(("prompt", "fact"), QUESTIONS)
def test_a_question_of_a_new_session_is_answered(app: App, prompt: str, fact: str) -> None:
    """Whoever asks how the project does something need not say that it was talked about."""
    assert any(fact in line for line in lines(app, prompt))


@pytest.mark.parametrize(
    "prompt", ["should the zeppelin be painted red or blue?", "can you run the tests, commit and push the changes?"]
)
def test_a_question_that_nobody_talked_about_is_not(app: App, prompt: str) -> None:
    """Nor a chore that is put as a question."""
    assert lines(app, prompt) == []


def test_a_chore_that_is_put_as_a_question_is_none(tmp_path: Path) -> None:
    """Although an earlier session did the same, in the same words."""
    talk = Claude("past", cwd=CWD)
    said = talk.text("The tests ran, and I committed and pushed the changes, because `poll.py` was mended.")
    asked = talk.user("run the tests, commit and push the changes")
    write(tmp_path / "t" / "past.jsonl", asked, said, *talk.conversation(9))
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as app:
        for found in named_transcripts([str(tmp_path / "t")]):
            app.ingest.file(found)
        app.index.catch_up()
        assert lines(app, "can you run the tests, commit and push the changes?") == []


def test_a_later_question_is_about_the_screen(app: App, tmp_path: Path) -> None:
    """The second thing that is typed may still be about the project; the third has to fit better."""
    now = Claude("now", cwd=CWD, start=50_000)
    for at in range(4):
        path = write(tmp_path / f"now{at}.jsonl", now.user(f"look at berth {at}"), now.text(f"Berth {at} is free."))
        for found in named_transcripts([str(path)]):
            app.ingest.file(found)
        told = app.search.recall("are charts drawn from hourly rollups?", cwd=CWD, session="now", recent=str)
        assert bool(told) == (at < 1), at


def test_the_reason_in_a_plan_is_told_to_who_asks(tmp_path: Path) -> None:
    """A plan that was handed over is no line for other prompts; who asks about the past wants the words that say it."""
    reason = "Pictures of the lock camera are kept for thirty days, because the authority of the port wants no more."
    steps = "\n".join(f"- Change `camera_{at}.py` so that it sweeps its own folder at night" for at in range(40))
    talk = Claude("plan", cwd=CWD)
    handed = talk.user(f"Implement the following plan:\n\n# Sweep\n\n## Context\n\n{reason}\n\n## Steps\n\n{steps}")
    write(tmp_path / "t" / "plan.jsonl", handed, talk.text("All folders are swept."), *talk.conversation(5))
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as app:
        for found in named_transcripts([str(tmp_path / "t")]):
            app.ingest.file(found)
        app.index.catch_up()
        assert any(
            "authority of the port" in line for line in lines(app, "why did we keep camera pictures thirty days?")
        )


def test_what_was_settled_after_the_words_of_the_question(tmp_path: Path) -> None:
    """A question finds where a thing came up; the answer that followed is told with it, chatter beside it is not."""
    talk = Claude("sluice", cwd=CWD)
    turns = [
        talk.user("why does the sluice gate stay open at night?"),
        talk.text("The log of the sluice gate shows that it stays open for an hour after each high tide at night."),
        talk.user("what can we do about the gate?"),
        talk.text("`pump.py` must not wait longer than ten minutes, because it runs dry after twelve."),
        talk.user("now the weather page"),
        talk.text("The weather page reads `forecast.json`, because the station has no clock."),
    ]
    write(tmp_path / "t" / "sluice.jsonl", *turns)
    told = told_of(tmp_path, "didn't we look into the sluice gate staying open at night? what came of it")
    assert any("ten minutes" in line for line in told)
    assert not any("weather" in line for line in told)


def test_what_the_user_took_up_is_told(tmp_path: Path) -> None:
    """The answer shares no word with the question: it stands near by, is long, and the user went on in a few words."""
    agreed = (
        "The chain is driven from both ends from now on, each motor moves one half of it, which takes forty seconds."
    )
    said = [
        ("the sluice gate is too slow in winter, what would help?",
         "I measured the sluice gate: its motor and its chain take ninety seconds when the ice is thick."),
        ("would a bigger motor do?",
         "A bigger motor takes sixty seconds with the same chain, and it needs its own fuse in the cabinet."),
        ("any other way?", agreed),
        ("ok do that", "Both ends are wired, the motor of each end has its fuse, and the chain runs."),
        ("does the page know which motor failed?", "The page shows the chain and the motor as one thing."),
    ]  # fmt: skip
    talk = Claude("gate", cwd=CWD)
    write(tmp_path / "t" / "gate.jsonl", *(line for ask, text in said for line in (talk.user(ask), talk.text(text))))
    assert agreed in told_of(tmp_path, "why was the sluice gate so slow in winter, and what did we decide?")


SMALL = (
    ("das mit der Schleuse und der Zeit ist eigentlich noch mal so",
     "Wieso wir das eigentlich noch mal so haben, mit der Zeit und auch sonst, steht in `berth.md`."),
    ("wieso haben wir das eigentlich noch mal so mit der Schleuse?",
     "Wieso wir das eigentlich noch mal so haben, mit der Zeit und auch sonst, steht in `berth.md`."),
    ("pourquoi est-ce qu'on a déjà ça avec la vanne et pas autrement ?",
     "Pourquoi est-ce qu'on a déjà ça avec `berth`, et pas autrement : c'est dans `berth.md`."),
)  # fmt: skip


@pytest.mark.parametrize(("prompt", "small"), SMALL)
def test_a_search_is_about_its_subject_in_other_languages(tmp_path: Path, prompt: str, small: str) -> None:
    """Not about what shares its small words alone, however many."""
    talk = Claude("small", cwd=CWD)
    noise = [turn for at in range(20) for turn in talk.exchange(f"berth{at}")]
    write(tmp_path / "t" / "small.jsonl", *noise, talk.user("berth?"), talk.text(small))
    talk = Claude("lock", cwd=CWD, start=9000)
    vanne = talk.text("La vanne est verrouillée : deux grues l'ouvraient en même temps.")
    schleuse = talk.text("Die Schleuse bleibt zu, sonst steht die Turbine.")
    write(tmp_path / "t" / "lock.jsonl", talk.user("la vanne"), vanne, talk.user("Schleuse"), schleuse)
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as app:
        for found in named_transcripts([str(tmp_path / "t")]):
            app.ingest.file(found)
        app.index.catch_up()
        first = app.search.find(Question(prompt, Scope.everything(), limit=1))[0]
        assert first.event.session == "lock"


def test_what_is_quoted_is_searched_for_whole(tmp_path: Path) -> None:
    """Also where it is of small words, in a question of the past."""
    for number, said in enumerate(
        ("Der Text ist jetzt „nicht mehr“, weil das Formular sonst lügt.", "Der Text ist lang.")
    ):
        talk = Claude(f"text{number}", cwd=CWD, start=900 * number)
        write(tmp_path / "t" / f"text{number}.jsonl", talk.user("Formular"), talk.text(said), *talk.conversation(5))
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as app:
        for found in named_transcripts([str(tmp_path / "t")]):
            app.ingest.file(found)
        app.index.catch_up()
        for asked in ('warum haben wir "nicht mehr" als Text genommen?', 'der Text "nicht mehr" im Formular'):
            assert [one.event.session for one in app.search.find(Question(asked, Scope.everything(), limit=1))] == [
                "text0"
            ]
