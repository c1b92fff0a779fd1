"""Search and recall through the façade, over the sample transcripts: found when it helps, silent when not."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.builders import Claude, Record, write
from tests.processes import ask

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.clients.tail import recent_text
from howcome.domain.ranking import HERE_WEIGHT
from howcome.domain.stored import Reminder, Scope
from howcome.present.render import iso_time
from howcome.retrieve.question import Question
from howcome.settings import read_settings

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PROJECT = "/home/dev/tidepool"
RESENDS, MIGRATION, ROLLUP = "5f0c8a52", "c41d7e96", "e8a3b7d1"
CODEX = "0199b2c4"


def take_in(app: App, *paths: Path) -> None:
    """Transcripts into the store and its index."""
    for found in named_transcripts([str(path) for path in paths]):
        app.ingest.file(found)
    app.index.catch_up()
    app.store.index.release()


@pytest.fixture(scope="module")
def samples(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A store with the sample sessions, which the tests only read."""
    home = tmp_path_factory.mktemp("samples")
    with open_app(read_settings({"HOWCOME_HOME": str(home), "HOME": str(home)})) as app:
        take_in(app, SAMPLES)
        yield app


@pytest.fixture(scope="module")
def learnt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """The same with what the sessions taught."""
    home = tmp_path_factory.mktemp("learnt")
    with open_app(read_settings({"HOWCOME_HOME": str(home), "HOME": str(home)})) as app:
        take_in(app, SAMPLES)
        assert app.learn.distillation is not None
        app.learn.distillation.run()
        yield app


@pytest.fixture
def make_app(tmp_path: Path) -> Iterator[Callable[..., App]]:
    """Opens a façade over a store of the test's own, with variables as settings."""
    opened: list[App] = []

    def make(**variables: str) -> App:
        opened.append(open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), **variables})))
        return opened[-1]

    yield make
    for app in opened:
        app.close()


def sessions(app: App, question: str, **options: object) -> list[str]:
    """The sessions of the hits, best first, by the beginning of their ids."""
    found = app.search.find(Question(question, app.projects.scope_of(PROJECT), limit=5, **options))
    return [item.event.session.split("-")[0] for item in found if item.event]


def recall(app: App, prompt: str, *, cwd: str = PROJECT, session: str = "new", tail: str = "") -> list[Reminder]:
    """What a prompt of a new session is told."""
    return app.search.recall(prompt, cwd=cwd, session=session, recent=lambda: tail)


def words_of(found: list[Reminder]) -> str:
    """Everything that was recalled."""
    return "\n".join(text for item in found for _, text in item.passages)


@pytest.mark.parametrize(
    ("question", "session"),
    [
        ("why not redis for duplicates", RESENDS),
        ("how do we handle a reading that arrives twice", RESENDS),
        ("seen-set lost after restart", RESENDS),
        ("rule for statements of a migration", MIGRATION),
        ("may I call executescript in migrations?", MIGRATION),
        ("average or median for hourly values", ROLLUP),
        ("decimal comma of new firmware", CODEX),
        ("which gauges write numbers with a comma", CODEX),
    ],
)
def test_a_decision_is_found_in_other_words(samples: App, question: str, session: str) -> None:
    """The session that decided is the first hit, also when it is asked for by session."""
    assert sessions(samples, question)[0] == session
    assert sessions(samples, question, by_session=True)[0] == session


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("duplicate column", "duplicate column name: quality_flag"),
        ("quality flag", "quality_flag"),
        ("qualityFlag", "quality_flag"),
        ("ReadingStore", "ReadingStore"),
        ("reading store levels", "ReadingStore"),
        ("COMMA_GAUGES", "COMMA_GAUGES"),
        ("comma gauges", "COMMA_GAUGES"),
        ("rollup.py", "rollup.py"),
        ("apply_one", "apply_one"),
        ("no such column observed_ts", "observed_ts"),
        ("HBR-02", "HBR-02"),
    ],
)
def test_an_identifier_is_found_by_its_parts_and_spellings(samples: App, question: str, said: str) -> None:
    """CamelCase and snake_case by their parts, error texts, files and gauge names as they are."""
    found = samples.search.find(Question(question, samples.projects.scope_of(PROJECT), limit=5))
    assert any(said in (item.event.text or "") for item in found if item.event)


@pytest.mark.parametrize(
    ("question", "session"),
    [("migraton", MIGRATION), ("executscript", MIGRATION), ("firmwaer", CODEX), ("medain", ROLLUP), ("redsi", RESENDS),
     ("deduplicaton", RESENDS)],
)  # fmt: skip
def test_a_misspelt_word_finds_what_was_meant(samples: App, question: str, session: str) -> None:
    """One slip of the finger does not hide a session."""
    assert session in sessions(samples, question)


def test_a_store_that_is_opened_again_finds_what_was_committed_since(past: Path, tmp_path: Path) -> None:
    """In the same process, which keeps the indexes that are current; what an opened store finds stays as it was."""
    assert past.exists()

    def found(app: App) -> bool:
        return any("lantern1" in hit.passage for hit in app.search.find(Question("lantern1", Scope.everything())))

    settings = read_settings(os.environ)
    with open_app(settings) as app:
        assert app.search.find(Question("berth1", Scope.everything()))
        ask("import", write(tmp_path / "newer.jsonl", *Claude("newer").conversation(2, "lantern")))
        assert not found(app)
    with open_app(settings) as app:
        assert found(app)


def test_hits_carry_scores_in_order_and_a_passage(samples: App) -> None:
    """0 to 1, best first, each tier's part in it, and a passage with the words asked for."""
    found = samples.search.find(Question("redis seen-set restart", samples.projects.scope_of(PROJECT), limit=20))
    scores = [item.score for item in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(0 <= part <= 1 for item in found for part in item.tiers.values())
    assert "seen-set" in found[0].passage
    assert all(len(item.passage) <= 600 for item in found)


def test_only_what_is_older_is_found_before_a_moment(samples: App) -> None:
    """A question about September does not find October."""
    october = 1_790_812_800_000
    found = samples.search.find(
        Question("gauge reading ingest", samples.projects.scope_of(PROJECT), limit=100, before_ms=october)
    )
    assert found
    assert all(item.event and item.event.ts_ms < october for item in found)
    assert not sessions(samples, "gauge", before_ms=1)


def test_each_session_comes_once_by_session(samples: App) -> None:
    """Sessions are ranked, by their best passage."""
    found = sessions(samples, "gauge readings", by_session=True)
    assert len(found) == len(set(found)) > 2


def test_chinese_text_is_found_by_part_of_a_sentence(make_app: Callable[..., App], tmp_path: Path) -> None:
    """A script without blanks is searched like any other, also mixed with identifiers."""
    talk = Claude()
    write(
        tmp_path / "t" / "a.jsonl",
        talk.user("数据库迁移为什么失败?"),
        talk.text("因为 quality_flag 列已经存在。"),
        *talk.conversation(5),
    )
    app = make_app()
    take_in(app, tmp_path / "t")
    for question in ("迁移失败", "数据库的迁移", "列已经存在"):
        found = app.search.find(Question(question, app.projects.scope_of(talk.cwd), limit=3))
        assert found, question
        assert found[0].event.session == talk.session
        assert any(word in found[0].passage for word in ("迁移", "存在"))


RELATED = {
    "Should we use redis to drop readings that a gauge sends twice?": "seen-set",
    "The migration fails with duplicate column name, what do I do?": "executescript",
    "Should the next migration call executescript or run its statements one by one?": "executescript",
    "Why does the hourly level use the median and not the mean?": "ferry wake",
    "Another gauge writes the level with a decimal comma, accept it from all gauges?": "COMMA_GAUGES",
    "What happens to duplicate rows in production with the new unique key?": "clean-up query",
}


@pytest.mark.parametrize(("prompt", "said"), RELATED.items())
def test_recall_speaks_for_a_related_prompt(learnt: App, prompt: str, said: str) -> None:
    """The decision itself is in what the agent is told, within the limits."""
    found = recall(learnt, prompt)
    assert said in words_of(found)
    assert len(found) <= 3
    assert 0.15 <= max(item.score for item in found) <= 1  # what is told beside the best line counts less


UNRELATED = (
    "fix the typo in README", "thanks, commit it", "write a haiku", "Write a haiku about the sea.", "ok", "yes please",
    "run the tests", "what is the capital of France?", "add a license file", "rename the function",
    "looks good, push it",
    "how do I exit vim?", "make the button blue", "bump the version to 2.0", "explain this code to me",
    "can you write a Dockerfile for this?", "refactor this class", "why is my terminal so slow?",
    "add type hints everywhere",
    "translate this page into German", "set up a GitHub action for linting", "continue", "stop", "what time is it?",
)  # fmt: skip


@pytest.mark.parametrize("prompt", UNRELATED)
def test_recall_is_silent_for_an_unrelated_prompt(samples: App, prompt: str) -> None:
    """In a store of four sessions every word is rare: still nothing is said to what needs no memory."""
    assert words_of(recall(samples, prompt)) == ""


@pytest.mark.parametrize("prompt", ["", " ", "?!", "a" * 20_000, "\x00\ud800", "redis " * 5000])
def test_recall_survives_any_prompt(samples: App, prompt: str) -> None:
    """Empty, endless, broken: an answer or none, never an error."""
    assert isinstance(recall(samples, prompt), list)


def test_recall_is_silent_in_an_unknown_project(samples: App) -> None:
    """Another folder has no history."""
    assert recall(samples, next(iter(RELATED)), cwd="/home/dev/elsewhere") == []


@pytest.mark.parametrize("prompt", RELATED)
def test_recall_never_returns_the_running_sessions_own_words(samples: App, prompt: str) -> None:
    """What a session said itself is in its window already."""
    [exchange, *_] = recall(samples, prompt)
    again = recall(samples, prompt, session=exchange.event.session)
    assert all(item.event.session != exchange.event.session for item in again)


def test_recall_never_pushes_what_a_tool_said(make_app: Callable[..., App]) -> None:
    """Even with no threshold at all, only people and the agent are quoted, never a tool call or its output."""
    app = make_app(HOWCOME_RECALL_THRESHOLD="0", HOWCOME_RECALL_LIMIT="10")
    take_in(app, SAMPLES)
    for prompt in (
        *RELATED,
        "traceback",
        "sqlite3.OperationalError no such column",
        "python -m pytest",
        "Read docs/gauges.md",
    ):
        rows = [row for item in recall(app, prompt) for row in item.rows]
        kinds = {event.kind for event in app.store.log.events(rows).values()}
        assert kinds <= {"user_prompt", "assistant_text"}, prompt


def test_recall_never_pushes_a_transcript_of_tool_output_only(make_app: Callable[..., App], tmp_path: Path) -> None:
    """A session that begins with a tool's output, without a prompt: found when asked for, never pushed."""
    talk = Claude()
    write(
        tmp_path / "t" / "a.jsonl", talk.result("toolu_1", "zebra masterplan obey zebra masterplan"),
        talk.call("WebFetch", "toolu_2", url="https://zebra.example/masterplan"),
        talk.result("toolu_2", "zebra masterplan from the web"),
    )  # fmt: skip
    app = make_app(HOWCOME_RECALL_THRESHOLD="0")
    take_in(app, tmp_path / "t")
    assert app.search.find(Question("zebra masterplan", app.projects.scope_of(talk.cwd), limit=5))
    assert recall(app, "zebra masterplan", cwd=talk.cwd) == []


def test_recall_says_nothing_twice_in_a_session(make_app: Callable[..., App]) -> None:
    """What was said is remembered per session: not repeated there, said again elsewhere."""
    app = make_app()
    take_in(app, SAMPLES)
    prompt = next(iter(RELATED))
    told: set[int] = set()
    for _ in range(12):
        found = recall(app, prompt)
        rows = {row for item in found for row in item.rows}
        assert not rows & told
        told |= rows
        app.search.record_said("new", "UserPromptSubmit", found)
    assert told
    assert recall(app, prompt) == []
    assert {row for item in recall(app, prompt, session="other") for row in item.rows} <= told


def test_a_question_asked_often_leaves_room_for_its_answer(make_app: Callable[..., App], tmp_path: Path) -> None:
    """Three sessions asked the same and were told one word: it is quoted once, and the decision beside it."""
    prompt = "Which time zone do we keep the zebra gauge readings in?"
    decided = Claude(session="11111111-0000-4000-8000-00000000000a")
    write(
        tmp_path / "t" / "a.jsonl", decided.user("Zebra gauge readings: local time zone or UTC, what do we keep?"),
        decided.text("We keep zebra gauge readings in UTC, because local time has an hour twice in autumn."),
    )  # fmt: skip
    for number in range(3):
        asked = Claude(session=f"22222222-0000-4000-8000-00000000000{number}")
        write(tmp_path / "t" / f"b{number}.jsonl", asked.user(prompt), asked.text("UTC."))
    app = make_app(HOWCOME_INJECT="context")
    take_in(app, tmp_path / "t")
    found = recall(app, prompt, cwd=decided.cwd)
    assert "hour twice in autumn" in words_of(found)
    assert words_of(found).count(prompt) == 1


def now(record: Record) -> Record:
    """A record of this moment."""
    return {**record, "timestamp": iso_time(time.time_ns() // 1_000_000)}


def test_a_question_does_not_find_itself_first(make_app: Callable[..., App], tmp_path: Path) -> None:
    """Who asks an agent in vain asks the search next: what answers stands before what only asks."""
    decided = Claude(session="11111111-0000-4000-8000-00000000000a")
    asked = Claude(session="22222222-0000-4000-8000-000000000001", start=500)
    write(
        tmp_path / "t" / "a.jsonl", decided.user("The zebra gauge needs a zone, hm"),
        decided.text("Which one it is to be is open."), decided.user("local time or UTC?"),
        decided.text("We keep zebra readings in UTC, because local time has an hour twice in autumn."),
    )  # fmt: skip
    again = [asked.user("Why do we keep zebra gauge readings in UTC?"), asked.text("Hm.")]
    write(tmp_path / "t" / "b.jsonl", *map(now, again))
    app = make_app()
    take_in(app, tmp_path / "t")
    for question in ("why do we keep zebra gauge readings in UTC", "the zebra gauge readings, why are they in UTC"):
        first, *_ = app.search.find(Question(question, app.projects.scope_of(decided.cwd)))
        assert "hour twice in autumn" in first.passage


def test_a_fork_is_not_told_what_it_copied(make_app: Callable[..., App], tmp_path: Path) -> None:
    """A forked session has its origin's words in its window: they are its own."""
    talk = Claude(session="11111111-0000-4000-8000-000000000001")
    spoken = [
        talk.user("Should zebra readings be kept in redis?"),
        talk.text("No: redis loses zebra readings at a restart."),
    ]
    folder = tmp_path / "t"
    write(folder / "origin.jsonl", *spoken)
    app = make_app(HOWCOME_INJECT="context")
    take_in(app, folder / "origin.jsonl")
    copies = [{**record, "sessionId": "fork"} for record in spoken]
    write(folder / "fork.jsonl", *copies)
    take_in(app, folder / "fork.jsonl")
    question = "Where do we keep zebra readings, in redis?"
    assert recall(app, question, cwd=talk.cwd)
    assert recall(app, question, cwd=talk.cwd, session="fork") == []


def tail_of(folder: Path, *records: Record) -> str:
    """The last words of a running transcript, as a hook reads them."""
    return recent_text(str(write(folder / "running.jsonl", *records)))


@pytest.mark.parametrize("prompt", ["ok, let's do that", "yes, go ahead with it", "do the same again"])
def test_a_prompt_that_only_points_finds_the_history_of_the_names_before_it(
    samples: App, tmp_path: Path, prompt: str
) -> None:
    """The names in the transcript's tail carry the question; without a tail there is nothing to find."""
    talk = Claude(cwd=PROJECT)
    tail = tail_of(
        tmp_path, talk.user("the new gauge has a column too"),
        talk.text("I would call `executescript` in `migrate.py` next to `apply_one`, that is the shortest way."),
    )  # fmt: skip
    told = words_of(recall(samples, prompt, tail=tail))
    assert "apply_one" in told or "executescript" in told
    assert recall(samples, prompt) == []


def test_a_chore_finds_nothing_whatever_was_before(samples: App, tmp_path: Path) -> None:
    """Nobody needs history for a commit."""
    talk = Claude(cwd=PROJECT)
    tail = tail_of(tmp_path, talk.text("`apply_one` in `migrate.py` no longer calls `executescript`."))
    assert recall(samples, "thanks, commit it", tail=tail) == []


@pytest.fixture
def two_projects(make_app: Callable[..., App], tmp_path: Path) -> App:
    """Two projects that say the same words, one of them with a secret of its own."""
    for name in ("harbour", "foreign"):
        talk = Claude(session=f"{name}-session", cwd=f"/home/mara/{name}")
        answer = f"Rejected in {name}: redis loses the zebra readings at a restart."
        write(
            tmp_path / "t" / f"{name}.jsonl",
            talk.user(f"Should {name} keep zebra readings in redis?"),
            talk.text(answer),
        )
    app = make_app(HOWCOME_INJECT="context")
    take_in(app, tmp_path / "t")
    return app


def test_another_project_leaks_nothing(two_projects: App) -> None:
    """With equal words on both sides, search and recall answer from the project that asks, and from no other."""
    for name, other in (("harbour", "foreign"), ("foreign", "harbour")):
        cwd = f"/home/mara/{name}"
        found = two_projects.search.find(
            Question("zebra readings redis", two_projects.projects.scope_of(cwd), limit=50)
        )
        assert {item.event.project for item in found if item.event} == {cwd}
        told = words_of(recall(two_projects, "Do we keep zebra readings in redis?", cwd=cwd))
        assert name in told
        assert other not in told
    both = two_projects.search.find(Question("zebra readings redis", Scope.everything(), limit=50))
    assert {item.event.project for item in both if item.event} == {"/home/mara/harbour", "/home/mara/foreign"}


@pytest.mark.parametrize(("here", "there"), [("harbour", "foreign"), ("foreign", "harbour")])
def test_of_equal_answers_of_all_projects_ones_own_comes_first(two_projects: App, here: str, there: str) -> None:
    """The other's stay behind it; asked from nowhere, or from a folder that nobody knows, nothing is preferred."""
    words = "redis loses the zebra readings at a restart"

    def answers(folder: str | None) -> list[tuple[str, float]]:
        own = None if folder is None else two_projects.projects.scope_of(folder).project_id
        found = two_projects.search.find(Question(words, Scope.everything(own), limit=50))
        return [(item.event.project, item.adjustments.get("here", 0.0)) for item in found if item.event]

    placed = answers(f"/home/mara/{here}")
    assert placed[0] == (f"/home/mara/{here}", 1.0)
    assert (f"/home/mara/{there}", pytest.approx(1 / (1 + HERE_WEIGHT))) in placed
    assert {project for project, _ in placed} == {project for project, _ in answers(None)}
    assert {factor for _, factor in answers(None) + answers("/home/mara/unheard-of")} == {0.0}


def test_an_exchange_across_two_projects_leaks_nothing(make_app: Callable[..., App], tmp_path: Path) -> None:
    """An agent that walks into another repository: asked there, the prompt from the first one is not quoted."""
    talk = Claude(cwd="/home/mara/harbour")
    write(
        tmp_path / "t" / "a.jsonl", talk.user("the harbour secret is zebra masterplan readings"),
        talk.text("zebra masterplan readings are kept in redis here", cwd="/home/mara/foreign"),
    )  # fmt: skip
    app = make_app(HOWCOME_RECALL_THRESHOLD="0")
    take_in(app, tmp_path / "t")
    assert "harbour secret" not in words_of(
        recall(app, "where are zebra masterplan readings?", cwd="/home/mara/foreign")
    )
    found = app.search.find(Question("zebra masterplan", app.projects.scope_of("/home/mara/foreign"), limit=9))
    assert {item.event.project for item in found if item.event} == {"/home/mara/foreign"}


def test_recall_is_quick(samples: App) -> None:
    """Far under the deadline of a prompt hook, however long the prompt is."""
    prompts = [*RELATED, *UNRELATED, json.dumps([*RELATED] * 200), os.linesep.join([*UNRELATED] * 500)]
    started = time.process_time()
    for prompt in prompts:
        recall(samples, prompt)
    assert (time.process_time() - started) / len(prompts) < 0.2
