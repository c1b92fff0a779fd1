"""`search`, `timeline` and `show` as people type them: what they say when there is nothing, and what to do next."""

from __future__ import annotations

import re
import shutil
import time
from pathlib import Path

import pytest
from tests.builders import Claude, write
from tests.processes import ask, run

from howcome.store.sqlite import SqliteStore

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
PROJECT = "tidepool"
SESSION = "c41d7e96"


@pytest.fixture
def samples(store_folder: Path) -> Path:
    """The folder of a store with the sample sessions."""
    ask("import", SAMPLES)
    return store_folder


def says(*arguments: str) -> str:
    """What a command prints for people; it succeeds and says it on standard output."""
    done = run(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def refused(*arguments: str) -> str:
    """What a command says of wrong usage."""
    done = run(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


@pytest.mark.usefixtures("store_folder")
@pytest.mark.parametrize("arguments", [("search", "redis"), ("search", "why did we"), ("timeline",)], ids=" ".join)
def test_an_empty_store_says_how_it_is_filled(arguments: tuple[str, ...]) -> None:
    """The next step, not a riddle."""
    assert "`howcome init`" in says(*arguments)
    assert "`howcome import`" in says(*arguments)


@pytest.mark.usefixtures("samples")
def test_a_question_of_very_common_words_says_so() -> None:
    """Nothing of it could be looked for; an empty one is wrong usage."""
    assert says("search", "why did we", "--all-projects") == (
        "Nothing found: only very common words. Add a name or a topic.\n"
    )
    for text in ("", " ", "\t"):
        assert "Usage: howcome search" in refused("search", text)


@pytest.mark.usefixtures("samples")
def test_what_narrowed_a_question_is_named_when_nothing_is_found() -> None:
    """Options as they are typed; an agent that nobody knows is said to be."""
    answer = says("search", "redis", "--project", PROJECT, "--since", "2w", "--type", "decision")
    assert answer.startswith("Nothing found. Other words may find it; leave out --type, --since; --all-projects")
    assert "no agent nobody has sessions or memories here (sessions are of: claude-code, codex)" in says(
        "search", "redis", "--agent", "nobody"
    )
    assert "leave out --agent" in says("search", "gnomon", "--agent", "codex")
    ask("remember", "the gnomon is bent today", "--agent", "nobody")
    assert "leave out --agent" in says("search", "redis", "--agent", "nobody")


@pytest.mark.usefixtures("samples")
def test_a_project_is_a_folder_or_a_name() -> None:
    """Another name is wrong usage, answered with the nearest one."""
    assert "session 5f0c8a52" in says("search", "redis", "--project", PROJECT)
    assert "session 5f0c8a52" in says("search", "redis", "--project", "/home/dev/tidepool/")
    for command in (("search", "redis"), ("timeline",)):
        assert "no project is called 'tidepol'; use one of: tidepool" in refused(*command, "--project", "tidepol")


@pytest.mark.usefixtures("samples")
def test_a_session_is_searched_wherever_one_is() -> None:
    """It is named by itself, as for `timeline`; an unknown one is no empty answer."""
    assert {row["session_id"][:8] for row in ask("search", "migration", "--session", SESSION)["results"]} == {SESSION}
    done = run("search", "gauge", "--session", "nobody")
    assert (done.returncode, done.stdout) == (1, "")
    assert "no session nobody" in done.stderr


def test_moments_may_be_told_by_how_long_ago(store_folder: Path, tmp_path: Path) -> None:
    """`7d`, `yesterday`, a date; anything else is wrong usage with the forms that exist."""
    assert store_folder
    claude = Claude("old")
    ask("import", write(tmp_path / "a.jsonl", claude.user("the zebra plan")))
    every = ask("search", "zebra", "--session", "old")["results"]
    assert len(every) == 1
    for option in (("--before", "yesterday"), ("--before", "7d"), ("--since", "20y"), ("--since", "2026-03-02")):
        assert ask("search", "zebra", "--session", "old", *option)["results"][0]["id"] == every[0]["id"]
    for option in (("--since", "yesterday"), ("--since", "3w"), ("--before", "2026-03-01")):
        assert ask("search", "zebra", "--session", "old", *option)["results"] == []
    assert "7d" in refused("search", "zebra", "--since", "soon")
    assert "7d" in says("search", "--help")


def test_a_search_makes_searchable_what_is_not_yet(samples: Path) -> None:
    """A lost index is no silent "nothing": it is made anew within a second, or it is said what is missing."""
    shutil.rmtree(samples / "index")
    assert ask("search", "redis", "--project", PROJECT)["results"]
    shutil.rmtree(samples / "index")
    store = SqliteStore(str(samples))
    try:
        assert store.index.rebuild()  # this process holds the writers' lock until it lets go
        path = write(samples.parent / "more.jsonl", Claude("more").user("the zebra plan"))
        import_while_locked = run("import", path)
        assert import_while_locked.returncode == 0
        answer = ask("search", "zebra", "--session", "more")
        assert (answer["results"], answer["index_lag_rows"]) == ([], 1)
        assert "1 event is not searchable yet: `howcome doctor --fix`" in says("search", "zebra", "--all-projects")
    finally:
        store.close()
    assert ask("search", "zebra", "--session", "more")["index_lag_rows"] == 0
    assert "zebra" in says("search", "zebra", "--session", "more")


@pytest.mark.usefixtures("samples")
def test_a_timeline_without_a_session_lists_the_latest() -> None:
    """Newest first, of a project or of all: the first prompt of each, and below it when, who and which."""
    listed = ask("timeline", "--project", PROJECT)["sessions"]
    assert set(listed[0]) == {"session_id", "agent", "project", "first", "last", "events", "prompt"}
    assert [row["last"] for row in listed] == sorted((row["last"] for row in listed), reverse=True)
    assert len(listed) == 4
    text = says("timeline", "--all-projects", "-n", "2")
    about = r"\n  .*\d  claude-code  23 events  /home/dev/tidepool  [0-9a-f]{8}\n"
    assert re.match(r"The harbour board.*" + about, text)
    assert len(ask("timeline", "--all-projects", "--since", "2026-10-12T09:00Z")["sessions"]) == 1
    assert text.splitlines()[4:] == ["There are more: --limit 10"]
    assert says("timeline") == "No such sessions of this project; --all-projects lists every one.\n"


@pytest.mark.usefixtures("samples")
def test_a_timeline_can_be_asked_for_by_an_event() -> None:
    """The session of it, with the event marked."""
    event = ask("timeline", SESSION)["events"][3]
    assert ask("timeline", event["id"][:-1])["session_id"][:8] == SESSION
    [marked] = [line for line in says("timeline", event["id"]).splitlines() if line.startswith(">")]
    assert event["id"] in marked


@pytest.mark.usefixtures("store_folder")
def test_a_resolved_memory_is_marked_in_a_list_of_answers() -> None:
    """For people and for programs."""
    ident = ask("remember", "the gnomon is bent today")["id"]
    assert ask("search", "gnomon")["results"][0]["status"] == "open"
    assert "resolved" not in says("search", "gnomon")
    run("update", ident, "--status", "resolved")
    assert ask("search", "gnomon")["results"][0]["status"] == "resolved"
    assert "  [resolved]  mem-" in says("search", "gnomon")


@pytest.mark.usefixtures("store_folder")
def test_how_a_correction_is_taken_back_stands_on_a_line_of_its_own() -> None:
    """So that it can be copied."""
    ident = ask("remember", "the gnomon is bent today")["id"]
    first, second = says("update", ident, "the gnomon is straight again").splitlines()
    assert first.endswith(f" supersedes {ident}")
    assert second == f"To undo it: howcome forget {first.split()[0]} && howcome restore {ident}"


def test_one_of_something_is_not_many(store_folder: Path, tmp_path: Path) -> None:
    """1 event of 1 session in 1 project."""
    assert store_folder
    ask("import", write(tmp_path / "a.jsonl", Claude("only").user("the zebra plan")))
    assert "1 event of 1 session in 1 project\n" in says("status")
    assert "\n1 event of session only in " in says("timeline", "only")
    assert "  1 event  " in says("timeline", "--all-projects")


@pytest.mark.usefixtures("samples")
@pytest.mark.parametrize("words", [("--project", "."), ("--project", "{}"), ()])
def test_a_folder_without_history_is_a_project_of_which_nothing_is_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """It is there, so naming it is no mistake; other words would find nothing either."""
    (tmp_path / "new").mkdir()
    monkeypatch.chdir(tmp_path / "new")
    words = tuple(word.format(tmp_path / "new") for word in words)
    assert ask("search", "redis", *words)["results"] == []
    says_so = "Nothing is stored of this project yet; --all-projects searches every project."
    assert says("search", "redis", *words).strip() == says_so
    assert ask("timeline", *words)["sessions"] == []
    assert ask("memories", *words)["memories"] == []
    assert "nothing is stored of the folder './gone'" in refused("search", "redis", "--project", "./gone")


def test_the_help_says_what_is_an_error() -> None:
    """Nothing found is none; a project or session that nobody knows is one."""
    page = " ".join(says("search", "--help").split())
    assert "exit code 0; a project that nobody knows is wrong usage (2)," in page
    assert "a session that nobody knows an error (1)" in page


def test_a_word_of_a_question_that_begins_with_a_dash_is_to_be_quoted() -> None:
    """It is said how, and so it works."""
    assert "Quote words that begin with a dash" in refused("search", "why", "do", "we", "pass", "--trust")
    assert says("search", "why do we pass --trust", "--all-projects")


def test_names_that_are_offered_work(store_folder: Path, tmp_path: Path) -> None:
    """Each leads to one project, whatever others are called; of several of one name, too."""
    assert store_folder
    for number, root in enumerate(("/a/quay", "/b/quay", "/b/harbour", "/x/b/harbour", "/x/mole/")):
        ask("import", write(tmp_path / f"{number}.jsonl", Claude(str(number), cwd=root).user("zebra")))
    for wrong in ("quai", "harbor", "quay", "harbour"):
        said = refused("search", "zebra", "--project", wrong)
        names = re.split(", ", re.findall(r"(?:use one of: |its folder \()([^;)]+)", said)[0])
        assert len(names) == (5 if wrong in ("quai", "harbor") else 2)
        assert len({ask("search", "zebra", "--project", name)["results"][0]["project"] for name in names}) == len(names)


def test_a_session_that_is_called_like_an_event_can_be_opened(store_folder: Path, tmp_path: Path) -> None:
    """Agents without transcripts name their sessions as they like; an event's whole id is the event's."""
    assert store_folder
    claude = Claude("ev-1", cwd="/home/dev/quay")
    ask("import", write(tmp_path / "1.jsonl", claude.user("zebra"), claude.text("giraffe")))
    ident = ask("timeline", "claude-code:ev-1")["events"][0]["id"]
    assert ask("timeline", "ev-1")["session_id"] == "ev-1"
    assert re.search(rf"^> .+  {ident}$", says("timeline", ident), re.MULTILINE)
    other = Claude(ident, cwd="/home/dev/quay")
    ask("import", write(tmp_path / "2.jsonl", other.user("a session called like that event")))
    assert ask("timeline", ident)["session_id"] == "ev-1"


@pytest.mark.usefixtures("samples")
def test_a_wrong_time_is_answered_with_every_form() -> None:
    """Those that the help names."""
    said = refused("search", "redis", "--since", "tomorrow")
    for form in ("2026-10-01", "today", "yesterday", "7d", "12h", "3w", "2 months"):
        assert form in said


@pytest.mark.usefixtures("samples")
def test_a_search_whose_embedder_fails_is_answered_by_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """And says so, to people and to programs: an endpoint that is down is no reason to answer nothing."""
    for name, value in {"": "http", "_URL": "http://127.0.0.1:1/v1", "_MODEL": "m"}.items():
        monkeypatch.setenv(f"HOWCOME_EMBEDDING{name}", value)
    said = says("search", "redis", "--all-projects")
    assert "Redis" in said
    assert "Searched by words only: " in said.splitlines()[-1]
    assert "127.0.0.1:1" in said.splitlines()[-1]
    report = ask("search", "redis", "--all-projects")
    assert report["results"]
    assert "127.0.0.1:1" in report["by_words_only"]


@pytest.mark.usefixtures("store_folder")
def test_of_all_projects_the_one_where_it_is_asked_counts_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asked in the other one, the order is the other way round; asked elsewhere, nothing is preferred."""
    roots = []
    for name in ("quay", "mole"):
        roots.append(tmp_path / name)
        roots[-1].mkdir()
        ask("import", write(tmp_path / f"{name}.jsonl", Claude(name, cwd=str(roots[-1])).user("zebra readings drift")))
    for root in roots:
        monkeypatch.chdir(root)
        found = ask("search", "zebra readings", "--all-projects", "--explain")["results"]
        assert [item["project"] == str(root) for item in found] == [True, False]
        assert [item["explain"]["adjustments"]["here"] for item in found] == [1, pytest.approx(1 / 1.2, abs=0.001)]
    monkeypatch.chdir(tmp_path)
    found = ask("search", "zebra readings", "--all-projects", "--explain")["results"]
    assert [set(item["explain"]["adjustments"]) for item in found] == [{"recency"}] * 2


def test_sessions_are_listed_by_what_was_asked(store_folder: Path, tmp_path: Path) -> None:
    """Not by a "9" with which one begins, nor with a whole id; those in which nothing happened since are left out."""
    assert store_folder
    asks, old = Claude("9d1f2e34-0000-4000-8000-123456789abc"), Claude("0ldsess1-0000-4000-8000-123456789abc")
    asks_at, old_at = time.time() - 3600, time.time() - 30 * 86_400
    for claude, at, words in (
        (asks, asks_at, "why does the crane stop at noon?"),
        (old, old_at, "the quay is flooded"),
    ):
        records = [claude.user("9"), claude.text("Nine it is."), claude.user(words), claude.text("The fuse.")]
        moment = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(at))
        write(tmp_path / f"{claude.session}.jsonl", *({**record, "timestamp": moment} for record in records))
    ask("import", tmp_path)
    lines = says("timeline", "--all-projects", "--since", "yesterday").splitlines()
    assert lines[0] == "why does the crane stop at noon?"
    assert len(lines) == 2
    assert "9d1f2e34" in lines[1]
    assert "9d1f2e34-0000" not in lines[1]
