"""`howcome eval` on data sets of the documented format: what counts, what is left out, what is asked of whom."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from tests import bert
from tests.builders import Claude, moment, write
from tests.labelled import evaluate, rows, run, sessions_of, talks
from tests.processes import ask

from howcome.errors import UsageError
from howcome.evaluate.datasets import clean_questions, find_sets, kind_of
from howcome.evaluate.harness import throwaway_home

DAY = 86_400
TOPICS = {
    "zebra": "zebra crossing counters lose ticks",
    "mango": "mango parser drops umlauts",
    "cedar": "cedar cache keeps stale rows",
}


def session(name: str) -> str:
    """A session id."""
    return f"{name}-0000-4000-8000-000000000000"


@pytest.fixture
def data_set(tmp_path: Path) -> Path:
    """Three sessions a day apart, each with its own topic; the last one repeats the first one's."""
    folder = tmp_path / "data" / "one"
    for day, (name, words) in enumerate([*TOPICS.items(), ("again", TOPICS["zebra"])]):
        talk = Claude(session=session(name), cwd=f"/home/mara/{name}", start=day * DAY)
        write(
            folder / "transcripts" / f"{name}.jsonl", talk.user(f"why {words}?"),
            talk.text(f"We found out why {words}."),
            *talk.conversation(2, subject=f"{name}side"),
        )  # fmt: skip
    return folder


def test_every_question_that_is_no_leak_is_asked(data_set: Path) -> None:
    """Found questions count 1, wrong evidence counts 0, leaks of both kinds are left out; categories are told apart."""
    rows(
        data_set / "questions.jsonl.gz",
        {"question": "mango parser umlauts", "evidence_sessions": [session("mango")], "category": "commit"},
        {"question": "cedar cache stale", "evidence_sessions": [session("cedar")], "category": "pr"},
        {"question": "cedar cache stale rows", "evidence_sessions": ["no such session"], "category": "pr"},
        {"question": "mango", "evidence_sessions": ["x"], "leak": True},
        {"question": "mango", "evidence_sessions": ["x"], "leak_tools": True},
        {"question": "mango", "evidence_sessions": [session("mango")], "leak": False, "leak_tools": False},
    )  # fmt: skip
    [figures] = evaluate(data_set)
    assert (figures["set"], figures["questions"]) == ("one", 4)
    groups = sessions_of(figures)
    assert {name: group["n"] for name, group in groups.items()} == {"all": 4, "human-written": 3, "commit": 1, "pr": 2}
    assert groups["all"]["any@1"]["mean"] == 0.75
    assert groups["pr"]["any@5"]["mean"] == 0.5
    assert figures["latency_ms"]["p95"] >= figures["latency_ms"]["p50"] > 0
    assert figures["shown_tokens"]["p50"] > 0
    group = groups["all"]["MRR"]
    assert group["low"] <= group["mean"] <= group["high"]


def test_the_session_that_asks_is_no_answer(data_set: Path) -> None:
    """Without `self` the asking session may be found first; with it the older one is."""
    question = {"question": TOPICS["zebra"], "evidence_sessions": [session("zebra")]}
    rows(data_set / "questions.jsonl", {**question, "self": session("again"), "category": "with"})
    assert sessions_of(evaluate(data_set)[0])["with"]["any@1"]["mean"] == 1
    rows(data_set / "questions.jsonl", {**question, "self": session("zebra"), "category": "own"})
    assert sessions_of(evaluate(data_set)[0])["own"]["any@20"]["mean"] == 0


def test_only_what_is_older_answers_a_question_with_a_time(data_set: Path) -> None:
    """What was said after `before` does not count as found."""
    question = {"question": "cedar cache stale", "evidence_sessions": [session("cedar")]}
    rows(
        data_set / "questions.jsonl",
        {**question, "before": moment(2 * DAY - 60), "category": "too-early"},
        {**question, "before": moment(3 * DAY - 60), "category": "in-time"},
    )  # fmt: skip
    [figures] = evaluate(data_set)
    assert sessions_of(figures)["too-early"]["any@20"]["mean"] == 0
    assert sessions_of(figures)["in-time"]["any@1"]["mean"] == 1


def test_secrets_are_counted_by_source_and_clean_texts_as_touched(tmp_path: Path) -> None:
    """The share of secrets found, the share of clean texts wrongly touched, what was missed."""
    key = "AKIA" + "Q3RT7ZX2LKM6WB4N"
    rows(
        tmp_path / "secrets.jsonl",
        {"text": f"aws_access_key_id = {key}", "source": "cloud", "rule": "aws"},
        {"text": "nothing secret about this one", "source": "hard"},
    )  # fmt: skip
    rows(tmp_path / "clean.jsonl", {"text": "a plain sentence"}, {"text": "commit 5f0c8a52 in tidepool/store.py"})
    [figures] = evaluate(tmp_path)
    assert (figures["secrets"], figures["clean"]) == (2, 2)
    assert (figures["recall"], figures["clean_touched"], figures["missed"]) == (0.5, 0.0, {"hard": 1})


def test_sets_are_found_below_a_folder_and_told_apart(data_set: Path, tmp_path: Path) -> None:
    """By what is in a folder, never by its name; each once."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")]})
    other = tmp_path / "data" / "two"
    other.mkdir()
    rows(other / "secrets.jsonl", {"text": "x"})
    assert kind_of(other) is None
    rows(other / "clean.jsonl.gz", {"text": "x"})
    assert [kind_of(folder) for folder in find_sets(tmp_path)] == ["sessions", "secrets"]
    assert [figures["set"] for figures in evaluate(tmp_path, data_set)] == ["one", "two"]
    with pytest.raises(UsageError, match=r"questions\.jsonl"):
        find_sets(data_set / "transcripts")


def test_figures_for_people_are_a_table(data_set: Path) -> None:
    """One line a group, with the interval of each figure."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")], "category": "pr"})
    _, head, titles, *groups = run(data_set).stdout.splitlines()
    assert head.startswith("one: 1 questions without leaks")
    assert titles.split() == ["session", "n", "any@1", "any@5", "any@20", "R@10", "MRR", "nDCG@10"]
    assert [line.split()[0] for line in groups] == ["all", "pr"]


def test_an_evaluation_leaves_nothing_behind(data_set: Path, home: Path, store_folder: Path) -> None:
    """Its store is thrown away; the user's is not touched."""
    rows(data_set / "questions.jsonl", {"question": "mango", "evidence_sessions": [session("mango")]})
    evaluate(data_set)
    assert not store_folder.exists()
    assert list(home.iterdir()) == []
    assert len(clean_questions(data_set)) == 1


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Talks between people (`tests.labelled.talks`)."""
    return talks(tmp_path / "talks")


def test_conversations_are_asked_for_sessions_and_for_turns(conversations: Path) -> None:
    """Each corpus is a project; what a picture shows was said; a question without evidence counts nowhere."""
    [figures] = evaluate(conversations)
    for level in ("session", "turn"):
        groups = figures["levels"][level]
        assert {name: group["n"] for name, group in groups.items()} == {"all": 2, "said": 1, "seen": 1}
        assert groups["all"]["any@1"]["mean"] == 1
    assert "answer" not in figures["levels"]


def pooled(figures: dict[str, Any], scope: str) -> float:
    """any@1 of a set in the store that holds all."""
    found: float = figures["pooled"][scope]["levels"]["session"]["all"]["any@1"]["mean"]
    return found


def test_pooled_sets_share_one_store_and_are_asked_there_again(conversations: Path, data_set: Path) -> None:
    """In their own projects as apart; everywhere, what another corpus says of it competes. Differences are paired."""
    rows(conversations / "questions.jsonl", {"corpus": "a", "question": "ferry", "evidence_sessions": ["b/one"]})
    rows(data_set / "questions.jsonl", {"question": "mango umlauts", "evidence_sessions": [session("mango")]})
    found = evaluate("--pooled", "--everywhere", conversations, data_set)
    assert [sessions_of(figures)["all"]["any@1"]["mean"] for figures in found] == [0, 1]
    assert [pooled(figures, "own project") for figures in found] == [0, 1]
    assert [pooled(figures, "everything") for figures in found] == [1, 1]
    assert [pooled(figures, "everything from nowhere") for figures in found] == [1, 1]
    changes = [figures["differences"]["difference from apart: pooled, asked of everything"] for figures in found]
    assert [change["session"]["any@1"]["mean"] for change in changes] == [1, 0]
    only_own = evaluate("--pooled", conversations, data_set)
    assert [set(figures["pooled"]) for figures in only_own] == [{"own project"}] * 2


def test_memories_are_measured_by_what_they_cite(tmp_path: Path) -> None:
    """They stand for their evidence's session; with a distiller that is off there is nothing to measure."""
    folder = tmp_path / "queue"
    (folder / "transcripts").mkdir(parents=True)
    for name, said in (
        ("choice", "We decided to use Celery instead of RQ because RQ lacks retries with backoff."),
        ("other", "Does the Celery worker log its retries with backoff?"),
    ):
        talk = Claude(name)
        turns = talk.user("which queue?"), talk.text("Both would do."), talk.user(said), talk.text("Fine.")
        write(folder / "transcripts" / f"{name}.jsonl", *turns)
    question = {"question": "why was Celery chosen over RQ", "evidence_sessions": ["choice"], "category": "learning"}
    rows(folder / "questions.jsonl", question)
    [figures] = evaluate("--memories", folder)
    found = figures["memories"]
    assert (found["added"], found["sessions"]) == (1, 2)
    assert found["shown"]["levels"]["session"]["all"]["any@1"]["mean"] == 1
    assert found["difference, session"]["learning"]["n"] == 1
    assert figures["differences"]["with 1 memories against without"]["session"]["any@1"]["mean"] >= 0
    said = run("--memories", folder).stdout
    assert "with 1 memories against without" in said
    assert f"distilled: 1 memories of {found['sessions']} session" in said
    assert "by category, session" in said
    assert "learning" in said.splitlines()[-1]


def test_without_a_distiller_no_memories_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the remedy is said."""
    monkeypatch.setenv("HOWCOME_DISTILLER", "off")
    done = run("--memories", passages(tmp_path / "one", "ferry", "a ferry"))
    assert done.returncode == 1
    assert "HOWCOME_DISTILLER=rules" in done.stderr


def passages(folder: Path, question: str, *texts: str) -> Path:
    """A set of passages d0, d1, …, the first of which answers a question."""
    folder.mkdir(parents=True)
    rows(folder / "docs.jsonl", *({"id": f"d{at}", "text": text} for at, text in enumerate(texts)))
    rows(folder / "questions.jsonl", {"question": question, "evidence": ["d0"]})
    return folder


def test_sets_of_one_store_may_use_the_same_names(tmp_path: Path) -> None:
    """A passage d0 of one set is no answer to a question of the other, and passages stay single there."""
    one = passages(tmp_path / "one", "crimson heron", "nothing of the kind", "a heron")
    other = passages(tmp_path / "other", "crimson heron", "the crimson heron", "radishes")
    found = evaluate("--pooled", "--everywhere", one, other)
    assert [pooled(figures, "everything") for figures in found] == [0, 1]
    assert [pooled(figures, "own project") for figures in found] == [0, 1]
    twin = passages(tmp_path / "deeper" / "one", "ferry", "a ferry", "a port")
    assert "same name" in run("--pooled", one, twin).stderr
    assert len(evaluate(one, twin)) == 2


def test_asking_everywhere_needs_a_pool(conversations: Path) -> None:
    """Apart, there is nothing else to ask."""
    done = run("--everywhere", conversations)
    assert done.returncode == 2
    assert "belongs to --pooled" in done.stderr


def test_an_answer_in_words_is_looked_for_in_the_first_passages(tmp_path: Path) -> None:
    """Where no question of a set names its evidence, the share of the answer's telling words that are shown counts."""
    turns = [{"id": "s/0", "role": "turn", "text": "User: which cache?\nAssistant: We took cedar because it is small."}]
    rows(tmp_path / "sessions.jsonl", {"session": "s", "ts": "2025-11-01 10:00", "turns": turns})
    rows(tmp_path / "questions.jsonl", {"question": "Which cache did we take?", "answer": "The cedar, being speedy"})
    [figures] = evaluate("--baseline", tmp_path)
    expected = {"answer": {"all": {"n": 1, "coverage@5": {"mean": 0.5, "low": 0.5, "high": 0.5}}}}
    assert figures["levels"] == expected
    assert figures["baseline"]["levels"] == expected


def test_passages_are_ranked_one_by_one(tmp_path: Path) -> None:
    """A row of docs.jsonl is a session of its own."""
    texts = ("def heron(): return 1", "def ferry(port): return port", "tar -xzf radish.tgz")
    rows(tmp_path / "docs.jsonl.gz", *({"id": f"d{at}", "text": text} for at, text in enumerate(texts)))
    rows(tmp_path / "questions.jsonl", {"question": "ferry to a port", "evidence": ["d1"]})
    [figures] = evaluate(tmp_path)
    assert sessions_of(figures)["all"]["MRR"]["mean"] == 1


def test_longmemeval_is_read_as_it_is_published(tmp_path: Path) -> None:
    """Every question has a haystack of its own."""

    def said(text: str) -> list[dict[str, str]]:
        return [{"role": "user", "content": text}, {"role": "assistant", "content": "I see."}]

    row = {
        "question_id": "q1", "question_type": "single-session-user", "question": "Which bird did I paint?",
        "answer": "a heron", "question_date": "2023/12/18 (Mon) 04:17", "answer_session_ids": ["s2"],
        "haystack_session_ids": ["s1", "s2"], "haystack_dates": ["2023/07/12 (Wed) 10:14", "2023/07/13 (Thu) 10:14"],
        "haystack_sessions": [said("I bought radishes."), said("I painted a heron, my favourite bird.")],
    }  # fmt: skip
    other = {**row, "question_id": "q2", "haystack_sessions": [said("A heron, a bird to paint."), said("Nothing.")]}
    (tmp_path / "longmemeval_s.json").write_text(json.dumps([row, other]))
    [figures] = evaluate(tmp_path)
    assert sessions_of(figures)["all"]["any@1"]["mean"] == 0.5
    assert set(sessions_of(figures)) == {"all", "single-session-user"}


def test_a_question_of_stop_words_alone_finds_nothing_in_the_baseline(conversations: Path) -> None:
    """FTS5 is not asked for nothing."""
    with (conversations / "questions.jsonl").open("a") as rows:
        vague = {"corpus": "a", "question": "What is it, and why?", "evidence_sessions": ["a/one"]}
        rows.write(json.dumps(vague) + "\n")
    [figures] = evaluate("--baseline", conversations)
    assert figures["baseline"]["levels"]["session"]["all"]["n"] == 3


def test_the_baseline_and_another_ranking_are_compared_question_by_question(conversations: Path) -> None:
    """Figures of FTS5 on the same questions, and paired differences with intervals."""
    [figures] = evaluate("--baseline", "--against", "fulltext=0", conversations)
    assert figures["baseline"]["levels"]["session"]["all"]["n"] == 2
    assert "difference from the baseline" in figures["differences"]
    [name] = [name for name in figures["differences"] if name.startswith("against fulltext=0,trigram=")]
    change = figures["differences"][name]["session"]["nDCG@10"]
    assert 0 < change["low"] <= change["mean"] <= change["high"]


def test_an_ablation_says_what_changes_and_what_it_costs(conversations: Path) -> None:
    """Without the words everything is lost, and the search is cheaper; without vectors meaning is not asked."""
    [figures] = evaluate("--ablation", conversations)
    without = figures["ablation"]["without fulltext"]
    assert without["change"]["session"]["nDCG@10"]["mean"] == pytest.approx(
        -sessions_of(figures)["all"]["nDCG@10"]["mean"], abs=1e-3
    )
    assert without["work_ms"] < 0
    assert {"with classifier=0.1", "with graph=0.1", "rrf", "half trigram", "double entity"} <= set(figures["ablation"])
    assert not any("embedding" in name for name in figures["ablation"])


@pytest.mark.parametrize("words", ["fulltext", "fulltext=", "nose=1", "fulltext=much", "strategy=best"])
def test_weights_that_are_none_are_refused(conversations: Path, words: str) -> None:
    """With the tiers that there are, or the form."""
    done = run("--ranking", words, conversations)
    assert done.returncode == 2
    assert "is no tier; there are fulltext" in done.stderr or any(
        words in done.stderr for words in ("is not TIER=NUMBER", "is no strategy; there are weighted")
    )


SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def test_every_format_has_a_sample_that_can_be_asked() -> None:
    """Passages, LongMemEval as it is published, and conversations; a figure for every category."""
    found = {figures["set"]: figures for figures in evaluate(SAMPLES / "formats")}
    assert set(sessions_of(found["longmemeval"])) == {"all", "knowledge-update", "single-session-user"}
    assert set(sessions_of(found["passages"])) == {"all", "command", "function"}
    assert sessions_of(found["passages"])["all"]["any@5"]["mean"] == 1
    assert kind_of(SAMPLES / "gaps") == "conversations"


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("questions.jsonl", "not JSON", "questions.jsonl, line 2: cannot be read"),
        ("questions.jsonl", "[1]", "questions.jsonl, line 2: is no JSON object"),
        ("questions.jsonl", '{"query": "x"}', "questions.jsonl, line 2: has no 'question'"),
        ("sessions.jsonl", '{"session": "s2"}', "sessions.jsonl, line 2: has no 'turns'"),
        ("sessions.jsonl", '{"session": "s2", "turns": [{"id": "t"}]}', "session s2, turn 1: has no 'text'"),
        ("longmemeval_x.json", '[{"question": "x"}]', "question 1: has no 'question_id'"),
        ("longmemeval_x.json", "[", "is not as LongMemEval is published"),
    ],
)
def test_a_row_that_is_none_is_named(tmp_path: Path, name: str, line: str, said: str) -> None:
    """Its file, its line and what it lacks: sets are written by hand."""
    if name.startswith("longmemeval"):
        (tmp_path / name).write_text(line)
    else:
        rows(tmp_path / "sessions.jsonl", {"session": "s", "turns": [{"id": "t", "text": "x"}]})
        rows(tmp_path / "questions.jsonl", {"question": "x", "evidence_sessions": ["s"]})
        with (tmp_path / name).open("a") as stream:
            stream.write(line + "\n")
    done = run(tmp_path)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_it_measures_what_search_does_and_says_which(
    data_set: Path, store_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a model installed, and chosen in config.toml, by words and meaning; without one by words; both are said."""
    rows(data_set / "questions.jsonl", {"question": "mango parser", "evidence_sessions": [session("mango")]})
    done = run(data_set)
    assert "measured by words alone: embedding is off" in done.stdout
    made = ask("model", "install", "--from", bert.write_model(tmp_path / "weights"), "--yes")
    monkeypatch.delenv("HOWCOME_EMBEDDING")
    (store_folder / "config.toml").write_text(f'embedding_model = "{made["name"]}"\n')
    done = run("--json", data_set)
    ran = json.loads(done.stdout)["run"]
    assert (ran["model"], ran["mode"]) == (made["name"], f"by words and by meaning ({made['name']})")
    assert f"measured by words and by meaning ({made['name']})" in run(data_set).stdout
    assert sorted(path.name for path in (store_folder / "models").iterdir()) == sorted(["lock", made["name"]])


def test_a_store_that_is_thrown_away_goes_although_something_still_writes_there() -> None:
    """An index may be merging files when it is closed."""
    with throwaway_home() as home:
        folder = Path(home) / "index"
        folder.mkdir()

        def write() -> None:
            for number in range(300):
                with contextlib.suppress(OSError):
                    (folder / f"{number}").write_text("x")

        writer = threading.Thread(target=write)
        writer.start()
    writer.join()
    assert not Path(home).exists()
