"""What a question says beside its words: times where it asks, files, errors, frames, and what it is not about."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cost import costs_less

from howcome.domain.query import (
    errors_in,
    files_in,
    questions,
    spans_in,
    speech,
    split_excluded,
    traced_files_in,
)
from howcome.domain.times import iso_day

NOW = 1_773_651_600_000
"""Monday, 2026-03-16, 09:00 UTC."""

LIMIT_MS = 250
"""For 5 MB of anything; some 2 ms on an idle machine."""

TRACE = """Why does the import stop?
Traceback (most recent call last):
  File "/home/mara/quay/src/ingest/run.py", line 33, in main
    value = row["gauge_id"]
KeyError: 'gauge_id'
"""


def days(text: str, *, is_asked: bool = False) -> list[str]:
    """The first days of the spans that a text asks about."""
    return [iso_day(span.since_ms) for span in spans_in(text, NOW, is_asked=is_asked)]


# -- times: only where something is asked ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "text",
    [
        "What did we decide last Thursday?", "Fix the parser. What did we say about it last Thursday?",
        "show me the failures of last Thursday", "did it fail last Thursday", "Do you remember last Thursday's outage",
        "The parser broke last Thursday, didn't it?",
    ],
)  # fmt: skip
def test_a_time_counts_where_something_is_asked(text: str) -> None:
    """A question mark, or a first word that asks."""
    assert days(text) == ["2026-03-12"]


@pytest.mark.parametrize(
    "text",
    [
        "The parser broke last Thursday. Please fix it.", "Add a test for last Thursday's fix",
        "What does this print?\n```\nlast Thursday\n```", "What is `last Thursday` here?",
        "Why?\n> it broke last Thursday", "Why is this?\n2026-03-12 10:00:01 ERROR no route",
        'How do I read it?\n  File "2026-03-12.py", line 3',
    ],
)  # fmt: skip
def test_a_time_in_an_order_or_in_code_is_not_asked_about(text: str) -> None:
    """What is to be done has no past; code, quotations and logs are nobody's question."""
    assert days(text) == []


def test_all_of_a_search_is_a_question() -> None:
    """Nobody types a question mark there; code is code there, too."""
    assert days("nightly import last Thursday", is_asked=True) == ["2026-03-12"]
    assert days("nightly import last Thursday") == []
    assert days("what prints `last Thursday`", is_asked=True) == []


def test_speech_keeps_places_and_questions_their_sentences() -> None:
    """Blanks stand for what is no speech; a dot in a name ends no sentence."""
    text = "Look at `x.py`:\n```\nnot this\n```\nand that"
    assert len(speech(text)) == len(text)
    assert "x.py" not in speech(text)
    assert "not this" not in speech(text)
    assert speech(text).endswith("and that")
    assert speech("an `unclosed tick, not code") == "an  unclosed tick, not code"
    assert [one.strip() for one in questions("Fix a.py. Why is b.py slow? Then stop.")] == ["Why is b.py slow?"]


# -- what it is not about ----------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "kept", "excluded"),
    [
        ("timeouts, but not in the courier app", "timeouts,", ["but not in the courier app"]),
        ("timeouts, not the gateway and not billing", "timeouts,", ["not the gateway and not billing"]),
        ("what timed out except the report?", "what timed out  ?", ["except the report"]),
        ("cache without Redis", "cache", ["without Redis"]),
        ("caches other than the one in the browser", "caches", ["other than the one in the browser"]),
        ("refunds apart from vouchers, since May", "refunds  , since May", ["apart from vouchers"]),
        ("outages that were not about certificates", "outages that were", ["not about certificates"]),
        ("Fix the timeouts, not the tests. Then commit", "Fix the timeouts,   Then commit", ["not the tests."]),
        ("make it fast without using numpy", "make it fast", ["without using numpy"]),
    ],
)  # fmt: skip
def test_what_is_excluded_is_cut_out(text: str, kept: str, excluded: list[str]) -> None:
    """So that its words cannot raise a score."""
    assert split_excluded(text) == (kept, excluded)


@pytest.mark.parametrize(
    "text",
    [
        "the test does not pass", "why not redis for duplicates", "why celery and not rq", "it is not a function",
        "command not found: make", "do it, not yet", "should we or should we not?", "whether or not to cache",
        "without breaking the API", "not only in main", "add it to both, not just to one", "is it done or not",
        "instead of redis", "rather than a daemon", "How does she honor the memories of her pet?",
        "What is this?\n```\nx, not in the list\n```", "remove all files, except robots.txt",
        "find all tests without docstrings", "except", "without", ", not", "not sure about the parser",
    ],
)  # fmt: skip
def test_a_not_that_excludes_nothing_stays(text: str) -> None:
    """Failures, reasons for a choice, orders, code, and words that only look like it."""
    assert split_excluded(text) == (text, [])


def test_a_text_is_never_cut_down_to_nothing() -> None:
    """Somebody who types only an exclusion means its words."""
    assert split_excluded("without redis") == ("without redis", [])
    assert split_excluded("not the parser") == ("not the parser", [])


# -- files -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("look at src/ingest/run.py:33 please", ["src/ingest/run.py"]),
        ('`retrieve/search.py`, (README.md) and "x.json".', ["retrieve/search.py", "README.md", "x.json"]),
        ("the Makefile, Dockerfile and .env", ["Makefile", "Dockerfile", ".env"]),
        ("what is in tests/unit and ./scripts/run", ["tests/unit", "./scripts/run"]),
        ("~/notes/plan.md twice: ~/notes/plan.md", ["~/notes/plan.md"]),
        ("gateway/src/watchdog.rs::arm", ["gateway/src/watchdog.rs"]),
        ("at handler (app/handler.js:10:5)", ["app/handler.js"]),
        ("go.mod, tsconfig.base.json?", ["go.mod", "tsconfig.base.json"]),
    ],
)  # fmt: skip
def test_files_are_found_as_they_are_written(text: str, files: list[str]) -> None:
    """Without wrapping and line numbers, each once."""
    assert files_in(text) == files


@pytest.mark.parametrize(
    "text",
    ["and/or", "TCP/IP", "client/server", "1/2", "v1.2.3", "e.g. this", "Node.js", "https://example.org/a.py", "3.14",
     "foo.bar()", "etc.", "a.b", "...", "/", ".", "", "read/write", "*.py", "self.store.search"],
)  # fmt: skip
def test_what_only_looks_like_a_file_is_none(text: str) -> None:
    """Slashes and dots stand in prose, too."""
    assert files_in(text) == []


# -- errors ------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "errors"),
    [
        ("it says KeyError: 'gauge_id'", ["KeyError: 'gauge_id'"]),
        ("a ModuleNotFoundError again", ["ModuleNotFoundError"]),
        ("java.lang.NullPointerException: x is null", ["java.lang.NullPointerException: x is null"]),
        ("ruff says E501 and tsc TS2345", ["E501", "TS2345"]),
        ("connect ECONNREFUSED", ["ECONNREFUSED"]),
        ("killed with SIGSEGV, exit code 139", ["SIGSEGV", "exit 139"]),
        ("exited with status 2", ["exit 2"]),
        ("we got HTTP 502", ["status 502"]),
        ("fatal: not a git repository", ["fatal: not a git repository"]),
        ("error[E0382]: use of moved value", ["error[E0382]: use of moved value", "E0382"]),
        ("ERR_MODULE_NOT_FOUND", ["ERR_MODULE_NOT_FOUND"]),
    ],
)  # fmt: skip
def test_errors_are_found(text: str, errors: list[str]) -> None:
    """Names with what they say, codes, exit codes, and lines that begin like one."""
    assert errors_in(text) == errors


@pytest.mark.parametrize(
    "text", ["no error at all", "UTF8 and SHA256, RFC2119", "handle errors well", "EVERY EMAIL", "PR1234", "exit early"]
)
def test_what_is_no_error_is_none(text: str) -> None:
    """Standards and capitals are not."""
    assert errors_in(text) == []


def test_stack_traces_tell_their_files() -> None:
    """Of Python, JavaScript, Java, Go and Rust."""
    text = f"{TRACE}    at Object.run (/srv/app/handler.js:10:5)\n at com.foo.Bar.baz(Bar.java:12)\nsrc/main.rs:4:5\n"
    assert traced_files_in(text) == [
        "/home/mara/quay/src/ingest/run.py", "/srv/app/handler.js", "Bar.java", "src/main.rs",
    ]  # fmt: skip


# -- all of it ---------------------------------------------------------------------------------------------------------
def test_a_question_is_understood_as_a_whole() -> None:
    """Each part in its place."""
    text = f"{TRACE}What changed `GaugeReader` in run.py yesterday, not in the tests?"
    assert [iso_day(span.since_ms) for span in spans_in(text, NOW)] == ["2026-03-15"]
    assert "run.py" in files_in(text)
    assert errors_in(text) == ["KeyError: 'gauge_id'"]
    assert len(traced_files_in(text)) == 1
    kept, excluded = split_excluded(text)
    assert excluded == ["not in the tests"]
    assert "tests" not in kept


@given(st.text(max_size=500))
def test_any_text_is_understood(text: str) -> None:
    """What is cut out and what is kept are parts of the text, and speech has its length."""
    spans_in(text, NOW, is_asked=True)
    assert all(part in text for part in (*split_excluded(text)[1], *files_in(text)))
    assert len(speech(text)) == len(text)


@pytest.mark.parametrize(
    "part",
    ["not ", "a", "\n", " ", ", not the x", "```", "`", "at (", 'File "', "error: x\n", "Error", "in march ", "a/",
     "last ", "exit ", ".", "A1", "1 ", "why ", "x.py ", "İ", "昨", "except ", "> x\n", "2026-"],
)  # fmt: skip
def test_a_pasted_log_costs_no_more_than_its_beginning(part: str) -> None:
    """5 MB of anything: every pattern is linear, and only the first 8,000 characters are looked at."""
    text = part * (5_000_000 // len(part))
    whole = (
        lambda: spans_in(text, NOW, is_asked=True), lambda: spans_in(text, NOW), lambda: files_in(text),
        lambda: errors_in(text), lambda: traced_files_in(text), lambda: split_excluded(text), lambda: speech(text),
    )  # fmt: skip
    for look in whole:
        assert costs_less(LIMIT_MS / 1000, look)


def test_it_loads_nothing_dear() -> None:
    """A prompt pays for `re` only, and for no pattern before a text needs one."""
    script = (
        "import sys; before = set(sys.modules); import howcome.domain.query as query;"
        "dear = {'datetime', 'dataclasses', 'typing', 'pathlib', 'calendar', 'json'} & (set(sys.modules) - before);"
        "late = [one for one in vars(query).values() if type(one).__name__ == '_Late'];"
        "print(sorted(dear), sum(len(vars(one)) > 2 for one in late) if late else None)"
    )
    root = Path(__file__).parents[2] / "src"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(root)!r}); {script}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == "[] 0"
