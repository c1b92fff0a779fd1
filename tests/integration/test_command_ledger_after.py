"""The ledger of commands knows after which command a failed one worked as it was."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.builders import Shell, write
from tests.integration.test_command_ledger import PROJECT, earlier, failing, kept
from tests.processes import answer_of, hook, payload, run

from howcome.domain.stored import Scope
from howcome.recall.failing import failing as failing_commands
from howcome.store.sqlite import SqliteStore

NO_MODULE = "Exit code 2\nModuleNotFoundError: No module named 'gauges'\n1 error in 0.12s"
TESTS, SYNC = "python -m pytest -q", "uv sync --extra tide"


@pytest.mark.parametrize(
    ("failed", "error", "between", "fix"),
    [
        (TESTS, NO_MODULE, (SYNC, TESTS), SYNC),
        (
            TESTS,
            NO_MODULE,
            ("git status", "mkdir -p out", f"{SYNC} 2>&1 | tail -3", "ls", f"{TESTS} 2>&1"),
            "mkdir -p out",
        ),
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
            ("sudo apt-get install -y gcc", "cargo build"),
            "sudo apt-get install -y gcc",
        ),
    ],
    ids=["one", "the sure one", "only one, piped", "in one line", "node", "rust"],
)
def test_the_command_that_made_the_same_one_work_is_said(
    failed: str, error: str, between: tuple[str, ...], fix: str, tmp_path: Path, store_folder: Path
) -> None:
    """What looks only is left out; a pipe hides whether a command worked, so another one counts before it."""
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
        ("tide pull", "tide fill", "tide moor"),
        ("ls", "git status", "sed -n 1,5p gauge.py", "npm run test", "key-add -l"),
        (SYNC, "sed -i s/a/b/ gauge.py"),
        (SYNC, "cat > gauge.py <<'END'\na\nEND"),
        ("git stash",),
        (SYNC, "echo a >> gauge.py"),
    ],
    ids=["three", "only looks", "sed", "here-document", "another version", "appended"],
)
def test_nothing_is_said_where_nobody_knows_what_helped(
    between: tuple[str, ...], tmp_path: Path, store_folder: Path
) -> None:
    """More than two commands, none that changes anything, or a change of a file."""
    assert store_folder
    kept(tmp_path, earlier(1, (TESTS, NO_MODULE), *((command, "") for command in between), (TESTS, "")))
    assert failing(TESTS, NO_MODULE) == ""


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
    assert f"it worked after `{SYNC}`" in failing(TESTS, NO_MODULE)


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
