"""JSON with comments is edited as text too: every comment and comma of its user's stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from howcome.clients.wiring import SERVER_ENTRY, Entry
from howcome.errors import LifecycleError
from howcome.wiring import Owner, engine
from howcome.wiring.json_entries import JsonEntries
from howcome.wiring.json_text import Container, JsonText
from howcome.wiring.parts import Merged

OWNER = Owner("opencode")
VALUE = {"type": "local", "command": ["python", "howcome/launch.py", "mcp"], "enabled": True}

TEXTS: dict[str, str] = {
    "a comment after the last member": '{\n  "theme": "x" // mine\n}\n',
    "a comma and a comment after it": '{\n  "theme": "x", // mine\n}\n',
    "a trailing comma": '{\n  "theme": "x",\n}\n',
    "a comment before the end": '{\n  "theme": "x"\n  // more to come\n}\n',
    "a block comment": '{\n  /* two\n  lines */ "theme": "x" /* end */\n}\n',
    "a comment in our object": '{\n  "mcp": {\n    // servers\n  }\n}\n',
    "comments around a server": '{\n  "mcp": {\n    // first\n    "other": {"a": 1}, // its note\n  },\n}\n',
    "what only looks like comments": '{\n  "url": "http://x/*y*/,}", "b": "\\"//"\n}',
    "only a comment": "// nothing yet\n{}\n",
    "one line": '{"a": 1, /* b */}',
    "CRLF": '{\r\n  "a": 1, // x\r\n  "mcp": {} // y\r\n}\r\n',
    "comment in nested values": '{\n  "a": [1, /* 2, */ 3,], // c\n  "b": {"c": null,},\n}',
    "plain JSON": '{"a": {"b": []}}',
    "a note on the only line": '{"theme": "x" // mine\n}\n',
    "a comma and a note on the only line": '{"theme": "x", // mine\n}\n',
    "a note on the only line of the servers": '{"mcp": {"other": {"a": 1} // mine\n}}',
    "a note that ends in CRLF": '{"theme": "x", // mine\r\n}\r\n',
    "a lone CR in a note": '{"theme": "x" // mi\rne\n}',
}


def part(path: Path) -> Merged:
    """A server in a file with comments."""
    return Merged(path, (Entry(SERVER_ENTRY, ("mcp", "howcome"), VALUE),), JsonEntries(comments=True))


@pytest.mark.parametrize("text", [*TEXTS.values(), "// nothing yet"], ids=[*TEXTS, "nothing but a comment"])
def test_a_server_goes_in_and_out_among_comments(tmp_path: Path, text: str) -> None:
    """Every comment is there with the server, and the same bytes without it; a second install changes nothing."""
    path, state = tmp_path / "opencode.jsonc", tmp_path / "state"
    path.write_bytes(text.encode())
    values = JsonText(text, comments=True).document
    engine.install(OWNER, [part(path)], state)
    now = path.read_bytes().decode()
    merged = JsonText(now, comments=True).document
    assert merged["mcp"]["howcome"] == VALUE  # type: ignore[index]
    assert {**merged, "mcp": values.get("mcp")} == {**values, "mcp": values.get("mcp")}
    rest = iter(now)
    assert all(letter in rest for letter in text.strip())
    assert engine.install(OWNER, [part(path)], state)[0].outcome == "unchanged"
    assert engine.uninstall([(OWNER, [part(path)])], state)[0].outcome == "restored"
    assert path.read_bytes().decode() == text


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_after_somebody_elses_change_only_ours_is_cut(tmp_path: Path, text: str) -> None:
    """With a word of the file changed, all of the original text is back but that word."""
    path, state = tmp_path / "opencode.jsonc", tmp_path / "state"
    path.write_bytes(text.encode())
    engine.install(OWNER, [part(path)], state)
    path.write_bytes(b"\n" + path.read_bytes())
    assert engine.uninstall([(OWNER, [part(path)])], state)[0].outcome == "edited"
    assert path.read_bytes().decode() == "\n" + text


def test_a_note_stays_with_its_member(tmp_path: Path) -> None:
    """What is appended comes after the comment at the end of the line before it."""
    for text in ('{\n  "theme": "x" // mine\n}\n', '{\n  "theme": "x", // mine\n}\n'):
        path = tmp_path / "opencode.jsonc"
        path.write_text(text)
        engine.install(OWNER, [part(path)], tmp_path / str(len(text)))
        assert '"theme": "x", // mine\n  "mcp"' in path.read_text()


@given(
    st.lists(st.sampled_from(['"a": 1', '"b": [1, 2]', '"c": {"d": "//"}']), max_size=3, unique=True),
    st.sampled_from(["", " // note", " /* note */"]),
    st.booleans(),
    st.sampled_from(["\n  ", " ", "\r\n\t"]),
)
def test_any_layout_comes_back(members: list[str], note: str, trailing: bool, space: str) -> None:
    """Appending and cutting are inverse to each other, whatever comments stand between."""
    is_line = "//" in note and "\n" not in space
    glue = space if not is_line else "\n"
    comma = "," if trailing and members else ""
    text = "{" + glue + ("," + note + glue).join(members) + comma + note + glue + "}"
    json_text = JsonText(text, comments=True)
    longer = json_text.appended(json_text.root, "howcome", {"x": [1]})
    assert longer.document == {**json_text.document, "howcome": {"x": [1]}}
    member = longer.root.member("howcome")
    assert member is not None
    back = longer.without(longer.root, member)
    assert back.document == json_text.document
    assert "".join(back.text.split()) == "".join(text.split())


def test_comments_are_refused_where_the_agent_refuses_them(tmp_path: Path) -> None:
    """Claude Code reads strict JSON: the place of the comment is named."""
    path = tmp_path / "settings.json"
    path.write_text('{\n  "a": 1 // mine\n}')
    strict = Merged(path, (Entry(SERVER_ENTRY, ("mcp", "howcome"), VALUE),))
    with pytest.raises(LifecycleError, match="line 2, column 10"):
        engine.install(OWNER, [strict], tmp_path / "state")


@pytest.mark.parametrize("text", ['{"a": 1 /* open', '{"a": 1,, }', "{,}", '{"a": 1} // x\n{}'])
def test_what_is_no_json_with_comments_is_refused(tmp_path: Path, text: str) -> None:
    """An open comment or a comma too many is named, and nothing is written."""
    path = tmp_path / "opencode.jsonc"
    path.write_text(text)
    with pytest.raises(LifecycleError, match=r"line \d, column \d"):
        engine.install(OWNER, [part(path)], tmp_path / "state")
    assert path.read_text() == text
    assert not (tmp_path / "state").exists()


def test_a_server_of_somebody_else_is_never_replaced(tmp_path: Path) -> None:
    """The name is taken: file, line, column and what to do; uninstall leaves it alone."""
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"mcp": {"howcome": {"command": "other"}}}, indent=2))
    before = path.read_bytes()
    with pytest.raises(LifecycleError, match=r"line 3, column 16.*give it another name"):
        engine.install(OWNER, [part(path)], tmp_path / "state")
    assert engine.inspect(OWNER, [part(path)], tmp_path / "state")[0].state == "foreign"
    assert engine.uninstall([(OWNER, [part(path)])], tmp_path / "state")[0].outcome == "nothing"
    assert path.read_bytes() == before


def test_an_entry_is_cut_without_what_follows_falling_into_the_note_before_it(tmp_path: Path) -> None:
    """Somebody put the bracket behind our entry: it stays outside of the comment."""
    path, state = tmp_path / "opencode.jsonc", tmp_path / "state"
    path.write_text('{"theme": "x" // mine\n}')
    engine.install(OWNER, [part(path)], state)
    path.write_text(path.read_text().replace("\n}", "}"))
    assert engine.uninstall([(OWNER, [part(path)])], state)[0].outcome == "edited"
    assert JsonText(path.read_text(), comments=True).document == {"theme": "x"}


def test_nothing_is_written_that_does_not_hold_every_entry(tmp_path: Path) -> None:
    """Whatever the edit gets wrong: the result is read again, and refused with the place and what to do."""

    class Hasty(JsonText):
        """Inserts into the first comment."""

        def appended(self, container: Container, key: str | None, value: object) -> JsonText:
            """A text that still can be read."""
            del container, key
            place = self.text.index("//") + 2
            return JsonText(self.text[:place] + json.dumps(value) + self.text[place:], comments=True)

    class HastyEntries(JsonEntries):
        """Reads with it."""

        def _read(self, text: str) -> JsonText:
            return Hasty(text, comments=True)

    path, text = tmp_path / "opencode.jsonc", '{"theme": "x", // mine\n}\n'
    path.write_text(text)
    hasty = Merged(path, (Entry(SERVER_ENTRY, ("mcp", "howcome"), VALUE),), HastyEntries(comments=True))
    with pytest.raises(LifecycleError, match=r"several lines.*Nothing was written"):
        engine.install(OWNER, [hasty], tmp_path / "state")
    assert path.read_text() == text
    assert not (tmp_path / "state").exists()


def test_a_users_own_variables_keep_their_bytes(tmp_path: Path) -> None:
    """A refreshed entry changes what starts howcome, and no number beside it."""
    path, state = tmp_path / "mcp.json", tmp_path / "state"
    ours = {"command": "py", "args": ["howcome/launch.py", "mcp"], "env": {"HOWCOME_HOME": "/new"}}
    text = (
        '{"mcp": {"howcome": {"command": "/old", "args": ["howcome/launch.py", "mcp"],'
        ' "env": {"PORT":8080, "BIG":123456789012345678901, "HOWCOME_HOME":"/old", "X":[1]}}}}'
    )
    path.write_text(text)
    merged = Merged(path, (Entry(SERVER_ENTRY, ("mcp", "howcome"), ours),))
    assert engine.install(OWNER, [merged], state)[0].outcome == "changed"
    wanted = text.replace('"command": "/old"', '"command": "py"').replace('HOME":"/old"', 'HOME":"/new"')
    assert path.read_text() == wanted
    path.write_text(wanted.replace(', "HOWCOME_HOME":"/new"', ""))
    engine.install(OWNER, [merged], state)
    assert '"env": {"PORT":8080, "BIG":123456789012345678901, "X":[1], "HOWCOME_HOME": "/new"}' in path.read_text()
