"""The ledger of commands knows after which command a failed one worked as it was."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.builders import Shell, write
from tests.integration.test_command_ledger import PROJECT, earlier, failing, kept
from tests.processes import answer_of, hook, payload, run

from howcome.domain.stored import Scope
from howcome.recall.failing import failing as failing_commands
from howcome.store.sqlite import SqliteStore

NO_MODULE = "Exit code 2\nModuleNotFoundError: No module named 'gauges'\n1 error in 0.12s"
TESTS, SYNC, PIP = "python -m pytest -q", "uv sync --extra tide", "python -m pip install gauges"


@pytest.mark.parametrize(
    ("failed", "error", "between", "fix"),
    [
        (TESTS, NO_MODULE, (SYNC, TESTS), SYNC),
        (
            TESTS,
            NO_MODULE,
            ("git status", "mkdir -p out", f"{SYNC} 2>&1 | tail -3", "ls", f"{TESTS} 2>&1"),
            SYNC,
        ),
        (TESTS, NO_MODULE, (SYNC, "tide install", SYNC, f"{TESTS} 2>&1 | tail", TESTS), SYNC),
        (TESTS, NO_MODULE, ("python -m pip install gauges", "pytest tests/test_update.py", TESTS), PIP),
        (TESTS, NO_MODULE, (f"{SYNC} 2>&1 | tail -3", 'python -c "import gauges"', TESTS), SYNC),
        (
            "tide up",
            "Exit code 255\ntide: Permission denied (key).",
            ("key-add -l", "key-add ~/.key && tide up"),
            "key-add ~/.key",
        ),
        ("npm run build", "Exit code 1\nError: Cannot find module 'gauge'", ("npm ci", "npm run build"), "npm ci"),
        (
            "cargo build",
            "Exit code 101\nerror: linker `cc` not found",
            ("apt-get install gcc", "cargo build"),
            "apt-get install gcc",
        ),
    ],
    ids=[
        "one",
        "only one prepares",
        "the last that ran",
        "a module that installs",
        "piped",
        "in one line",
        "node",
        "rust",
    ],
)
def test_the_command_that_made_the_same_one_work_is_said(
    failed: str, error: str, between: tuple[str, ...], fix: str, tmp_path: Path, store_folder: Path
) -> None:
    """Only what is known to prepare others counts, also where a pipe hides whether it worked."""
    assert store_folder
    kept(tmp_path, earlier(1, (failed, error), *((command, "") for command in between)))
    last = "last on 2026-03-02"
    assert f"`{failed}` failed here, {last}; it worked after `{fix}`." in failing(failed, error)
    assert failing(failed, "Exit code 2\nError: another tide") == ""


def test_another_module_is_another_failure(tmp_path: Path, store_folder: Path) -> None:
    """Words of the complaint count here, not the arguments; and it has to be what helped in most cases."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    assert failing(TESTS, NO_MODULE.replace("gauges", "moorings")) == ""
    assert "it worked after" in failing("python -m pytest -x tests", NO_MODULE, "second")
    for number in (2, 3):
        kept(tmp_path, earlier(number, (TESTS, NO_MODULE)), name=f"unsolved{number}")
    assert failing(TESTS, NO_MODULE, "third") == ""


@pytest.mark.parametrize(
    "between",
    [
        ("tide sync", "tide install", "tide init"),
        ("ls", "git status", "sed -n 1,5p gauge.py", "npm run test", "key-add -l"),
        (SYNC, "sed -i s/a/b/ gauge.py"),
        (SYNC, "cat > gauge.py <<'END'\na\nEND"),
        ("git stash",),
        (SYNC, "echo a >> gauge.py"),
        ("rm -rf build", "kill -9 48213", "tide clean", "curl -s localhost:8080/health", "psql -c 'select 1'"),
        ("tide up --force", "sudo tide update", "tide install --yes", "tide login mara abc", "TIDE_URL=a tide start"),
        ("tide update --hard", "tide install --dry-run", "tide db drop init"),
        ("npm start &",),
        (f"echo y | {SYNC}",),
        (f"{TESTS} 2>&1 | tail -3",),
        (SYNC, "cp /tmp/gauge.py gauge.py"),
        (SYNC, "sort gauges > gauge.py"),
        (SYNC, "awk -i inplace '{print}' gauge.py"),
        (SYNC, "python -c \"import pathlib; pathlib.Path('g.py').write_text('a')\""),
        (SYNC, "git -C /home/mara/harbour pull"),
    ],
    ids=[
        "three",
        "only looks",
        "sed",
        "here-document",
        "another version",
        "appended",
        "prepares nothing",
        "risky",
        "removes",
        "background",
        "behind a pipe",
        "itself",
        "copied",
        "written",
        "awk",
        "inline code",
        "pulled",
    ],
)
def test_nothing_is_said_where_nobody_knows_what_helped(
    between: tuple[str, ...], tmp_path: Path, store_folder: Path
) -> None:
    """More than two commands, none that is known to prepare others, or a change of a file."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), *((command, "") for command in between), (TESTS, "")))
    assert failing(TESTS, NO_MODULE) == ""


@pytest.mark.parametrize(
    ("tool", "given", "failure"),
    [
        ("mcp__notes__write", {"path": "gauge.py"}, ""),
        ("Task", {"prompt": "mend it"}, ""),
        ("Bash", {"command": "sed -i s/a/b/ gauge.py && tide lint"}, "Exit code 1\nFound 1 error."),
        ("Bash", {"command": "tide start", "run_in_background": True}, ""),
    ],
)
def test_what_may_have_changed_a_file_or_still_runs_leaves_it_open(
    tool: str, given: dict[str, Any], failure: str, tmp_path: Path, store_folder: Path
) -> None:
    """Also in a line that failed; a tool that only reads is none of these."""
    assert store_folder
    for number, (name, values, said) in enumerate((("Grep", {"pattern": "a"}, ""), (tool, given, failure))):
        talk = Shell(f"earlier-{number}", start=100 * number)
        call, result = talk.call(name, "toolu_it", **values), talk.result("toolu_it", said, is_error=bool(said))
        ready = [] if "run_in_background" in values else talk.ran(SYNC)
        command = f"{TESTS} {'ab'[number]}"
        told = [talk.user("look"), *talk.ran(command, NO_MODULE), *ready, call, result, *talk.ran(command)]
        kept(tmp_path, told, name=name)
    store = SqliteStore(str(store_folder))
    fixes = {one.command: one.fix for one in failing_commands(store, Scope.everything(), 9)}
    assert (fixes[f"{TESTS} a"], fixes[f"{TESTS} b"]) == (SYNC, "")
    store.close()


@pytest.mark.parametrize(
    ("error", "next_error"),
    [
        ("E       AssertionError: assert 404 == 200", "E       AssertionError: assert 3 == 4"),
        ("make: *** [Makefile:12: test] Error 2", "make: *** [Makefile:40: test] Error 1"),
        ("npm ERR! code ELIFECYCLE", "npm ERR! code ELIFECYCLE"),
        ("error: Recipe `test` failed on line 12 with exit code 1", ""),
        ("running tests", ""),
        ("error: 3 failed", "error: 2 failed"),
        ("Error 1", ""),
        ("error: no gauge 7", "error: no gauge 8"),
    ],
)
def test_a_complaint_that_does_not_say_what_is_wrong_is_another_each_time(
    error: str, next_error: str, tmp_path: Path, store_folder: Path
) -> None:
    """So is one with another number, unless it counts what it found."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, f"Exit code 1\n{error}"), (SYNC, ""), (TESTS, "")))
    assert failing(TESTS, f"Exit code 1\n{next_error or error}") == ""
    kept(tmp_path, earlier(2, ("tide lint", "Exit code 1\nFound 4 errors."), (SYNC, ""), ("tide lint", "")), name="b")
    assert failing("tide lint", "Exit code 1\nFound 9 errors.", "second")


def test_what_did_not_help_is_not_said(tmp_path: Path, store_folder: Path) -> None:
    """After an edit, or where the same command failed again: of that failure it is said what came then."""
    assert store_folder
    talk = Shell("edited")
    edited = [*talk.ran(TESTS, NO_MODULE), *talk.ran(SYNC), *talk.edited(f"{PROJECT}/gauge.py"), *talk.ran(TESTS)]
    kept(tmp_path, edited)
    assert failing(TESTS, NO_MODULE) == ""
    kept(
        tmp_path,
        earlier(2, (TESTS, NO_MODULE), ("tide fill", ""), (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")),
        name="b",
    )
    assert failing(TESTS, NO_MODULE) == ""  # one of three
    kept(tmp_path, earlier(3, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")), name="c")
    assert failing(TESTS, NO_MODULE) == ""  # two of four
    kept(tmp_path, earlier(4, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")), name="d")
    assert f"`{TESTS}` failed here, last on 2026-03-02; it worked after `{SYNC}`" in failing(TESTS, NO_MODULE)


def test_the_failure_s_memory_names_the_command_that_helped(tmp_path: Path, store_folder: Path) -> None:
    """It is found for what the failure said, and is what the line cites."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    assert run("distil").returncode == 0
    text = f"`{TESTS}` failed: ModuleNotFoundError: No module named 'gauges'. It worked after `{SYNC}`."
    assert text in run("search", "No module named gauges", "--all-projects").stdout
    assert text in run("search", "what fixed the missing gauges module", "--all-projects").stdout
    assert "[mem-" in failing(TESTS, NO_MODULE)


@pytest.mark.parametrize(
    ("prompt", "is_told"),
    [
        ("pytest says ModuleNotFoundError: No module named 'gauges', fix it", True),
        ("pytest says ModuleNotFoundError: No module named 'tables', fix it", False),
        ("is there no module named gauges?", False),
        ("ModuleNotFoundError: No module named 'tables'\nthe gauges are fine", False),
    ],
)
def test_a_prompt_with_the_same_error_is_told_what_helped(
    tmp_path: Path, store_folder: Path, prompt: str, is_told: bool
) -> None:
    """The commands alone; `why` says the same."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    assert run("distil").returncode == 0
    event = "UserPromptSubmit"
    answer = answer_of(event, hook(event, payload(event, tmp_path / "now.jsonl", "now", prompt=prompt)))
    line = f"`{TESTS}` failed here; it worked after `{SYNC}`."
    assert (answer is not None and line in str(answer["additionalContext"])) is is_told
    assert (line in run("why", "--all-projects").stdout) is is_told
    own = answer_of(event, hook(event, payload(event, tmp_path / "1.jsonl", "earlier-1", prompt=prompt)))
    assert own is None or line not in str(own["additionalContext"])


OTHERWISE = (
    ("tide push", "Exit code 1\nerror: failed to push some gauges to 'quay'", "tide push --force"),
    ("python -m pytest -q", "Exit code 1\nAssertionError: assert 404 == 200", "python -m pytest -q -x"),
)
AFTER = (
    ("php artisan test", "Exit code 1\nerror: table tides does not exist", "php artisan migrate:fresh"),
    ("tide site", "Exit code 1\nerror: the page of the quay is missing", "rclone sync . quay:site"),
)


@pytest.mark.parametrize(("failed", "error", "fix"), [*OTHERWISE, *AFTER])
def test_a_prompt_with_an_error_is_told_no_other_way_and_nothing_that_destroys(
    tmp_path: Path, store_folder: Path, failed: str, error: str, fix: str
) -> None:
    """Only what prepares, of what is known to."""
    assert store_folder
    again = [(failed, "")] if (failed, error, fix) in AFTER else []
    kept(tmp_path, earlier(1, (failed, error), (fix, ""), *again))
    assert run("distil").returncode == 0
    event, prompt = "UserPromptSubmit", f"{error.partition(chr(10))[2]}, fix it"
    answer = answer_of(event, hook(event, payload(event, tmp_path / "now.jsonl", "now", prompt=prompt)))
    assert answer is None or fix not in str(answer["additionalContext"])


def test_what_is_told_of_an_error_counts_as_a_line(tmp_path: Path, store_folder: Path) -> None:
    """Who wants no lines gets none."""
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    assert run("distil").returncode == 0
    event, prompt = "UserPromptSubmit", "ModuleNotFoundError: No module named 'gauges'"
    (store_folder / "config.toml").write_text("recall_limit = 0\n", encoding="utf-8")
    assert answer_of(event, hook(event, payload(event, tmp_path / "now.jsonl", "now", prompt=prompt))) is None


def test_what_did_not_help_later_is_not_told_with_a_prompt(tmp_path: Path, store_folder: Path) -> None:
    """The ledger would not say it either."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    for number in (2, 3):
        kept(tmp_path, earlier(number, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, NO_MODULE)), name=str(number))
    assert run("distil").returncode == 0
    event, prompt = "UserPromptSubmit", "ModuleNotFoundError: No module named 'gauges'"
    answer = answer_of(event, hook(event, payload(event, tmp_path / "now.jsonl", "now", prompt=prompt)))
    assert answer is None or SYNC not in str(answer["additionalContext"])


def test_what_was_mended_in_the_same_way_is_one_memory(tmp_path: Path, store_folder: Path) -> None:
    """Whatever it said, and however often."""
    assert store_folder
    for number, said in ((1, "Found 1 error"), (2, "Found 4 errors"), (3, "Error: some checks failed")):
        checked = earlier(number, ("tide lint", f"Exit code 1\n{said}"), ("tide lint --fix", ""), ("tide lint", ""))
        kept(tmp_path, checked, name=str(number))
    assert run("distil").returncode == 0
    (memory,) = json.loads(run("memories", "--all-projects", "--json").stdout)["memories"]
    assert memory["text"].endswith("It worked after `tide lint --fix`.")


def test_the_viewer_s_list_says_after_what_it_worked(tmp_path: Path, store_folder: Path) -> None:
    """The command is no other way to run the failed one."""
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")))
    store = SqliteStore(str(store_folder))
    assert [(one.command, one.how, one.fix) for one in failing_commands(store, Scope.everything(), 9)] == [
        (TESTS, "it worked after", SYNC)
    ]
    store.close()


def test_it_is_replayed(tmp_path: Path) -> None:
    """The second and third session could meet what the first found; the third did something else."""
    folder = tmp_path / "data" / "one"
    for number, fix in ((1, SYNC), (2, SYNC), (3, "pip install gauges")):
        talked = earlier(number, (TESTS, NO_MODULE), (fix, ""), (TESTS, ""))
        write(folder / "transcripts" / f"earlier-{number}.jsonl", *talked)
    row = {"session": "earlier-3", "ts": talked[0]["timestamp"], "prompt": "look at it", "candidates": []}
    (folder / "judged_prompts.jsonl").write_text(json.dumps(row) + "\n")
    done = run("eval", "--speak", "--json", str(tmp_path / "data"))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)["speak"]["one"]["ledger"]
    assert (found["spoke_of"], found["right_of"], found["met_of"]) == ([2, 3], [1, 2], [2, 2])


LONG = f"{SYNC} {' '.join(f'--extra tide{number}' for number in range(4))} --all"
"""Too long for the text of a memory, not for the line."""


def test_what_is_called_wrong_is_not_told_of_the_exchange(tmp_path: Path, store_folder: Path) -> None:
    """Neither of what ran before it nor of other words; another exchange still tells of it."""
    assert store_folder
    flag, other = "Exit code 1\nunknown flag: --stat", "tide diff 88 --name-only"
    mended = (("tide diff 88 --stat", flag), (other, ""), (TESTS, NO_MODULE), (LONG, ""), (TESTS, ""))
    kept(tmp_path, earlier(1, *mended))
    assert run("distil").returncode == 0
    (memory,) = json.loads(run("memories", "--all-projects", "--json").stdout)["memories"]
    assert f"`{LONG}`" in failing(TESTS, NO_MODULE, "before")
    assert run("forget", "--wrong", memory["id"]).returncode == 0
    assert failing("tide diff 9 --stat", flag) == failing(TESTS, NO_MODULE) == ""
    kept(tmp_path, earlier(2, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")), name="b")
    kept(tmp_path, earlier(3, (TESTS, NO_MODULE), (SYNC, ""), (TESTS, "")), name="c")
    assert f"`{SYNC}`" in failing(TESTS, NO_MODULE, "after")


def test_what_is_forgotten_is_not_told_where_its_memory_shows_the_half(tmp_path: Path, store_folder: Path) -> None:
    """Of a long command that failed: the memory cites its call."""
    assert store_folder
    failed = f"{TESTS} {' '.join(f'tests/test_gauge{number}.py' for number in 'abcdef')}"
    kept(tmp_path, earlier(1, (failed, NO_MODULE), (SYNC, ""), (failed, "")))
    assert run("distil").returncode == 0
    (memory,) = json.loads(run("memories", "--all-projects", "--json").stdout)["memories"]
    assert "[mem-" in failing(TESTS, NO_MODULE, "before")
    assert run("forget", memory["id"]).returncode == 0
    assert failing(TESTS, NO_MODULE) == ""


def test_no_memory_has_half_a_command(tmp_path: Path, store_folder: Path) -> None:
    """Nobody can run it. Neither has the advice of a pattern."""
    assert store_folder
    for number in (1, 2, 3):
        long = (("tide diff 88 --stat", "Exit code 1\nunknown flag: --stat"), (f"tide diff 88 --{'x' * 80}", ""))
        kept(tmp_path, earlier(number, (TESTS, NO_MODULE), (LONG, ""), (TESTS, ""), *long), name=str(number))
    assert run("distil").returncode == 0
    assert json.loads(run("memories", "--all-projects", "--json").stdout)["memories"] == []
    assert "…`" not in run("patterns", "--all-projects", "--all").stdout


def test_a_row_of_a_failure_has_no_words_of_another_matter(tmp_path: Path, store_folder: Path) -> None:
    """What the user asked for stands below it; what the agent says of it stays."""
    assert store_folder
    talk = Shell("earlier-1")
    words = "Median over 7 samples. A filter needs tuning per quay. The total must count only tides of more than 10 m."
    asked = talk.user(words)
    why = talk.text("The compiler of this machine is from last year.")
    kept(tmp_path, [asked, *talk.ran("tide build", "Exit code 1\nerror: unsupported level 67"), why])
    row = run("search", "unsupported level 67", "--all-projects").stdout
    assert "user: " not in row.partition("asked:")[0]
    assert "asked: Median over 7 samples" in row
    assert "agent: The compiler of this machine" in row
