"""Shell commands as the ledger knows them: parts, normal forms, what failed, and what mends it."""

from __future__ import annotations

import pytest

from howcome.domain.commands import failure_of, form_number, line_of, masked, mended_by, parts_of


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("tide test -v 2>&1 | tail -20", ["tide test -v", "tail -20"]),
        ("cd /srv/tide && LEVEL=3 tide run > out.txt", ["cd /srv/tide && LEVEL=3 tide run"]),
        ("# first\ntide a\ntide b; tide c", ["tide a", "tide b", "tide c"]),
        ("tide note -m 'two words' \\\n  --all", ["tide note -m 'two words' --all"]),
        ("tide run --at 1 > out.txt 2>err.txt", ["tide run --at 1"]),
        ("tide note <<'EOF'\nit's a text\nEOF", ["tide note"]),
        ("tide say \"it's", ["tide say"]),
        ("export A=1 && tide a", ["export A=1 && tide a"]),
        ("", []),
        ("x" * 5000, []),
    ],
)
def test_a_line_is_taken_apart(line: str, shown: list[str]) -> None:
    """Redirections and comments go, settings stay with what they are for, a quote that is open ends it."""
    assert [str(part) for part in parts_of(line)] == shown


def test_what_decides_a_line_is_known() -> None:
    """Only what nothing but && stands behind: a pipe or a semicolon hides whether it worked."""
    decides = {part.words[1]: part.decides for part in parts_of("tide a && tide b | tide c && tide d && tide e")}
    assert decides == {"a": False, "b": False, "c": True, "d": True, "e": True}
    assert [part.decides for part in parts_of("tide a; tide b")] == [False, True]


def test_forms_leave_numbers_and_hashes_out() -> None:
    """`88` and `104` are as good as each other; options and names are not."""
    forms = [form_number(parts_of(line)[0]) for line in ("/bin/tide diff 88 -v", "tide diff 104 -v", "tide diff 88")]
    assert forms[0] == forms[1] != forms[2]
    assert masked("fatal: '/srv/a b' at 3f2a9c1d77 line 12 of src/x.py") == "fatal: '…' at # line 0 of /…"


@pytest.mark.parametrize(
    ("line", "output", "blamed", "named"),
    [
        ("tide diff 88 --stat | head", "Exit code 1\nunknown flag: --stat", "tide diff 88 --stat", ("--stat",)),
        ("sed -n 3p x | cat -A", "Exit code 1\ncat: illegal option -- A", "cat -A", ("-A",)),
        ("tide build && tide diff --stat", "Exit code 1\nunknown flag: --stat", "tide diff --stat", ("--stat",)),
        ("npm run tests", 'npm error Missing script: "tests"', "npm run tests", ("tests",)),
        ("tide test", "Exit code 1\n12 lines\nE   assert 3 == 4\nFAILED test_gauge", "tide test", ()),
        ("cd web && tide run", "Exit code 2\nno level", "cd web && tide run", ()),
    ],
)
def test_what_failed_is_blamed(line: str, output: str, blamed: str, named: tuple[str, ...]) -> None:
    """The program that complains, or has a word that is complained of, else the only one; and these words."""
    failed = failure_of(line, output)
    assert failed is not None
    assert (str(failed.part), failed.named) == (blamed, named)
    assert ("\0\0" in failed.alike) == (not named)


@pytest.mark.parametrize(
    ("line", "output"),
    [
        ("grep -r tide .", "Exit code 1"),
        ("git commit -m 'x'", "Exit code 1\nlint failed"),
        ("tide a", ""),
        ("", "error"),
        ("tide build && tide test -q", "Exit code 1\nerror: no level"),
        ("tide build; grep gauge log", "Exit code 1\nlast line"),
    ],
)
def test_some_failures_are_nobodys(line: str, output: str) -> None:
    """A look that finds nothing, what a hook refused, what says nothing, one of several."""
    assert failure_of(line, output) is None


@pytest.mark.parametrize(
    ("failed", "later"),
    [
        ("tide stash pop", "tide stash drop"),
        ("tide lint", "tide lint"),
        ("tide lint", "tide format"),
        ("tide test a b c", "tide test x y z"),
        ("cat notes.txt", "rm notes.txt"),
        ("cd web && tide lint", "tide lint"),
        ("tide run gauge.py", "ebb drop gauge.py"),
        ("tide drop gauge", "rm gauge"),
        ("./gauge.sh", "cat ./gauge.sh"),
        ("./gauge.sh", "rm ./gauge.sh"),
        ("git push origin tide", "git push origin tide --no-verify"),
        ("git tag v1", "HUSKY=0 git tag v1"),
        ("git merge tide", "git -c core.hooksPath=/dev/null merge tide"),
    ],
)
def test_another_command_is_no_mending(failed: str, later: str) -> None:
    """What does something else by name, shares too little, merely looks, or leaves a check out."""
    assert mended_by(parts_of(failed)[-1], (), parts_of(later)) is None


def test_every_agents_shell_says_its_line() -> None:
    """A text, or a list of words behind a shell."""
    assert line_of({"command": "tide a"}) == line_of({"cmd": ["bash", "-lc", "tide a"]}) == "tide a"
    assert line_of({"command": ["tide", "a"]}) == "tide a"
    assert line_of({}) == ""
