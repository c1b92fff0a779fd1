"""What is asked for word by word: phrases between quotes, lists of words, identifiers, slips of the hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.builders import Claude, Shell, write

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.stored import Found, Scope
from howcome.retrieve.question import Question
from howcome.settings import read_settings

CWD = "/home/mara/quay"
REFUSED = 'Exit code 1\nconnection to the tide server at "127.0.0.1" failed: Connection refused\n' + "at gauge\n" * 60
MESSAGE = 'git commit -m "Read the tide gauge\nonce a minute"'
CODE = "from lock import gate\n\nFREE_BERTHS = 12\n\n\ndef berth_fee(days: int, rate: float) -> float: ...\n"
CONFIG = {"edits": [{"old_string": "}", "new_string": "limit_req_zone $ip zone=quay:10m;\n}"}]}
LISTED = '1\tclass CraneLog:\n2\t    crane_rows = "rows"\n'


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """A store in which what tools were given and printed stands among talk of the same words."""
    folder = tmp_path_factory.mktemp("exact")
    talk = Claude("talk", cwd=CWD)
    noise = [turn for at in range(20) for turn in talk.exchange(f"tide gauge {at}, free berths and their fee")]
    write(folder / "t" / "talk.jsonl", *noise)
    did = Shell("did", cwd=CWD, start=9000)
    write(
        folder / "t" / "did.jsonl",
        did.user("why is the tide gauge silent? the connection of the tide gauge was fine"),
        *did.ran("psql tide", REFUSED),
        did.text("The tide gauge is silent because its server was not started; a connection needs it."),
        *did.ran(MESSAGE),
        did.user("what do free berths cost?"),
        did.call("Write", "toolu_w", file_path=f"{CWD}/fees.py", content=CODE),
        did.result("toolu_w", "written"),
        did.text("Free berths cost their fee by the day."),
        did.user("the page is asked too often"),
        did.call("MultiEdit", "toolu_e", file_path="/etc/nginx/quay.conf", **CONFIG),
        did.result("toolu_e", "edited"),
        did.text("It waits now."),
        did.user("show me the log of the crane"),
        did.call("Read", "toolu_r", file_path=f"{CWD}/crane.py"),
        did.result("toolu_r", LISTED),
        did.text("There it is."),
    )
    with open_app(read_settings({"HOWCOME_HOME": str(folder / "store"), "HOME": str(folder)})) as opened:
        for found in named_transcripts([str(folder / "t")]):
            opened.ingest.file(found)
        opened.index.catch_up()
        yield opened


def found(app: App, asked: str | list[str], *types: str) -> list[Found]:
    """What answers, best first."""
    return app.search.find(Question(asked, Scope.everything(), limit=3, types=types))


@pytest.mark.parametrize(
    ("asked", "kind", "shown"),
    [
        ('"Connection refused"', "tool_result", "failed: Connection refused"),
        ('why "Connection refused" of the tide gauge', "tool_result", "Connection refused"),
        ('"Read the tide gauge once a minute"', "tool_call", 'git commit -m "Read the tide gauge'),
    ],
)
def test_a_phrase_is_found_where_only_a_tool_has_it(app: App, asked: str, kind: str, shown: str) -> None:
    """Though the prompt and the answer of its exchange hold more of the question's words."""
    [only] = found(app, asked)
    assert (only.event.session, only.event.kind) == ("did", kind)
    assert shown in only.passage
    assert [one.id for one in found(app, asked, kind)] == [only.id]


@pytest.mark.parametrize("asked", [["silent", "refused"], ["refused", "failed"], ["minute", "refused"]])
def test_a_list_of_words_counts_what_tools_say(app: App, asked: list[str]) -> None:
    """All of them, or some beside what was said; what nothing holds is found nowhere."""
    assert [one.event.session for one in found(app, asked)] == ["did"]
    assert found(app, [*asked, "marmalade"]) == []


@pytest.mark.parametrize("asked", ["conection", "conection waits", "conection vs waits", "waits or conection?"])
def test_a_slip_is_forgiven_beside_other_words(app: App, asked: str) -> None:
    """Also where one of them is a small word that stands nowhere; more words that nobody wrote are too many."""
    assert found(app, asked)[0].event.session == "did"
    assert not found(app, f"{asked} marmalade zeppelin")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("FREE_BERTHS", "tool_call"),
        ("berth_fee", "tool_call"),
        ("limit_req_zone", "tool_call"),
        ("CraneLog", "tool_result"),
        ("crane_rows", "tool_result"),
    ],
)
def test_identifiers_are_found_in_code_that_was_written_or_read(app: App, name: str, kind: str) -> None:
    """Before talk of the words that they are made of; as a phrase, too."""
    for asked in (name, f'"{name}"'):
        first = found(app, asked)[0]
        assert (first.event.session, first.event.kind) == ("did", kind)
        assert name in first.passage
    assert found(app, [name, "marmalade"]) == []


def test_a_line_of_code_is_found_by_its_identifier(app: App) -> None:
    """It has to stand there as it is."""
    assert "FREE_BERTHS = 12" in found(app, '"FREE_BERTHS = 12"')[0].passage
    assert found(app, '"FREE_BERTHS = 13"') == []


POD = "The pod `gauge_reader-worker` of the quay waits for its queue."


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        ("\u0924\u094d\u0930\u0941\u091f\u093f \u0938\u0902\u0926\u0947\u0936", ""),
        ("\u0e01\u0e34\u0e19\u0e2b\u0e19\u0e48\u0e27\u0e22", ""),
        (POD, '"gauge_reader-worker"'), (POD, "gauge_reader-worker\nqueue"),
    ],
    ids=["Hindi", "Thai", "a name with both marks", "such a name in a list"],
)  # fmt: skip
def test_words_that_no_other_rule_knows_are_found_as_they_stand(tmp_path: Path, said: str, asked: str) -> None:
    """Between quotes, and in a list."""
    talk = Claude("talk", cwd=CWD)
    write(tmp_path / "t" / "talk.jsonl", talk.user("what is it?"), talk.text(said), *talk.conversation(4))
    with open_app(read_settings({"HOWCOME_HOME": str(tmp_path / "store"), "HOME": str(tmp_path)})) as opened:
        for file in named_transcripts([str(tmp_path / "t")]):
            opened.ingest.file(file)
        opened.index.catch_up()
        wanted: str | list[str] = asked.split("\n") if "\n" in asked else (asked or f'"{said}"')
        assert said in found(opened, wanted)[0].passage
