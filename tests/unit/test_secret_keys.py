"""Private keys go whole, however a tool shows them; what only speaks of keys stays."""

from __future__ import annotations

import html
import json
import random
import string
import urllib.parse

import pytest

from howcome.redact.redactor import Redactor

REDACTOR = Redactor(b"a key for tests")
_DRAW = random.Random(3)
BODY = ["".join(_DRAW.choices(string.ascii_letters + string.digits + "+/", k=64)) for _ in range(24)]
BODY.append("".join(_DRAW.choices(string.ascii_letters, k=26)) + "Q2==")
BEGIN, END = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE " + "KEY-----"
LINES = [BEGIN, *BODY, END]
KEY = "\n".join(LINES)


def numbered(lines: list[str], form: str) -> str:
    """Lines as a tool shows them: `form` has a place for the number and one for the line."""
    return "\n".join(form.format(number, line) for number, line in enumerate(lines, 1))


SHOWN = {
    "as it is": KEY,
    "with carriage returns": KEY.replace("\n", "\r\n"),
    "by a file viewer": numbered(LINES, "{:6}→{}"),
    "by grep -n": numbered(LINES, "{}:{}"),
    "by grep in a file": numbered(LINES, "k.pem:{}:{}"),
    "by grep in a folder": numbered(LINES, "src/testdata/certificates/private/server_key.pem:{}:{}"),
    "by cat -n": numbered(LINES, "{}\t{}"),
    "added in a diff": numbered(LINES, "+{1}"),
    "removed in a diff": numbered(LINES, "-{1}"),
    "quoted in a mail": numbered(LINES, "> {1}"),
    "in a comment": numbered(LINES, "# {1}"),
    "in a table": numbered(LINES, "│ {1} │"),
    "in colour": numbered(LINES, "\x1b[32m{1}\x1b[0m"),
    "as lines of JSON": json.dumps(LINES),
    "as indented lines of JSON": json.dumps(LINES, indent=2),
    "in JSON": json.dumps({"key": KEY}),
    "in JSON in JSON": json.dumps(json.dumps({"key": KEY})),
    "on one line": KEY.replace("\n", " "),
    "in one piece": KEY.replace("\n", ""),
    "in a program": numbered(LINES, '  "{1}\\n" +'),
    "in YAML": numbered(LINES, "    {1}"),
    "in a URL": urllib.parse.quote(KEY),
    "in HTML": html.escape(KEY),
    "without dashes": "\n".join(["BEGIN RSA PRIVATE " + "KEY", *BODY, "END RSA PRIVATE " + "KEY"]),
    "encrypted": "\n".join([BEGIN, "Proc-Type: 4,ENCRYPTED", "DEK-Info: AES-128-CBC," + "0A" * 16, "", *BODY, END]),
    "its upper half": "\n".join(LINES[:10]),
    "its lower half": "\n".join(LINES[10:]),
    "its upper half by a viewer": numbered(LINES[:12], "{:6}→{}"),
    "its lower half by a viewer": numbered(LINES[12:], "{:6}→{}"),
    "without its header": "\n".join(["MIIEpA" + "IBAAKCAQEA" + BODY[0][:48], *BODY[1:]]),
}


@pytest.mark.parametrize("how", SHOWN)
def test_a_key_goes_whole(how: str) -> None:
    """No line of the body is left, and what stands around the key is."""
    redacted = REDACTOR.redact(f"Here is it:\n{SHOWN[how]}\n\nThat was the key. Now run it.\n")
    assert [line for line in BODY if line[:30] in redacted or urllib.parse.quote(line) in redacted] == []
    assert redacted.startswith("Here is it:\n")
    assert redacted.endswith("\n\nThat was the key. Now run it.\n")


def test_lines_of_a_key_go_as_values_of_a_tools_input() -> None:
    """A list whose items are the lines of a key: no rule sees more than one of them alone."""
    redacted = json.dumps(REDACTOR.redact_value({"edits": [{"lines": LINES}], "path": "k.pem"}))
    assert [line for line in BODY if line in redacted] == []
    assert "k.pem" in redacted


@pytest.mark.parametrize(
    "text",
    [
        f'if "{BEGIN}" in text:\n    raise ValueError("key in text")\nend = "{END}"',
        f"{BEGIN}\n(...)\n{END}",
        f"{BEGIN}\n<your key here>\n{END}\nsha512-" + "b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuBiOoMkXqPzCgVhDwJyFrSnAlUeIt",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAq9Zt\n-----END PUBLIC KEY-----",
    ],
)
def test_what_speaks_of_keys_stays(text: str) -> None:
    """Code that compares headers, placeholders and public keys are no private key."""
    assert REDACTOR.redact(text) == text
