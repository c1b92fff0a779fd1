"""The forms in which a secret stands in a transcript: as a terminal colours it, a tool numbers it, a client escapes it.

Each form writes a sample in its way and knows how a reader gets the plain text back: a secret has leaked when the
reader still sees a good part of it behind the redaction.
"""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

FLOOR = 0.93
"""The share of samples that has to be redacted in every form."""

FLOORS: dict[str, float] = {
    "as it is": 1.0, "hex of the whole": 0.0,
    # Tokens cut in the middle that do not begin as a format does.
    "soft line break": 0.67, "line break": 0.7, "line break, indented": 0.7, "line break, numbered": 0.7,
    "lines of 32": 0.75, "joined strings": 0.7, "strings in two lines": 0.7,
}  # fmt: skip
"""Forms with a floor of their own."""


_BEFORE_A_VALUE = ("", " ", "\n", "\t", "=", ":", "'", '"')
_AFTER_A_VALUE = ("", " ", "\n", "\t", ",", ";", "'", '"')
_WORD_OR_SIGN = "".join(chr(code) for code in range(33, 127) if chr(code) not in "'\"")
_QUOTES = ("'", '"', "`", "“", "\N{LEFT SINGLE QUOTATION MARK}", "«")


class Sample(NamedTuple):
    """A rule's sample, and the value in it that has to go."""

    rule: str
    text: str
    value: str

    @property
    def span(self) -> tuple[int, int]:
        """What somebody would mark of the text: the value, or the word that it is a part of (a URL, for one)."""
        start = self.text.index(self.value)
        end = start + len(self.value)
        if self.text[start - 1 : start] in _BEFORE_A_VALUE and self.text[end : end + 1] in _AFTER_A_VALUE:
            return start, end
        head = len(self.text[:start].rstrip(_WORD_OR_SIGN)) if self.text[:start] else 0
        return head, end + len(self.text[end:]) - len(self.text[end:].lstrip(_WORD_OR_SIGN))

    def around(self, before: str, after: str) -> str:
        """The text with something on both sides of the value; its own quotes make room for other ones."""
        start, end = self.span
        head, marked, tail = self.text[:start], self.text[start:end], self.text[end:]
        if before.strip() in _QUOTES and head[-1:] == tail[:1] and head[-1:] in ("'", '"'):
            head, tail = head[:-1], tail[1:]
        return head + before + marked + after + tail

    def with_value(self, value: str) -> str:
        """The text with the value written in another way."""
        return self.text.replace(self.value, value, 1)

    @property
    def halves(self) -> tuple[str, str]:
        """The value in two parts."""
        middle = len(self.value) // 2
        return self.value[:middle], self.value[middle:]


class Form(NamedTuple):
    """A way to write a sample, and the way back from what was written to plain text."""

    name: str
    write: Callable[[Sample], str]
    read: Callable[[str], str] = str


def _each_line(text: str, mark: Callable[[int], str]) -> str:
    return "\n".join(mark(number) + line for number, line in enumerate(text.split("\n"), 1))


def numbered(name: str, mark: Callable[[int], str], pattern: str) -> Form:
    """Every line behind a mark, as tools print lines; a wrapped value has a mark in each of its lines."""
    strip = re.compile(rf"^{pattern}", re.MULTILINE)
    return Form(name, lambda one: _each_line(one.text, mark), lambda text: strip.sub("", text))


def beside(name: str, before: str, after: str) -> Form:
    """The value between two marks."""
    return Form(name, lambda one: one.around(before, after))


def around_all(name: str, before: str, after: str) -> Form:
    """The whole text between two marks."""
    return Form(name, lambda one: before + one.text + after)


def broken(name: str, joint: str, width: int = 0) -> Form:
    """The value in two halves, or in lines of a width, with a joint between them."""

    def write(one: Sample) -> str:
        parts = [one.value[at : at + width] for at in range(0, len(one.value), width)] if width else one.halves
        return one.with_value(joint.join(parts))

    return Form(name, write, lambda text: text.replace(joint, ""))


def encoded(name: str, write: Callable[[str], str], read: Callable[[str], str]) -> Form:
    """The whole text through an encoding."""
    return Form(name, lambda one: write(one.text), read)


def _nested(text: str, times: int) -> str:
    for _ in range(times):
        text = json.dumps(text)[1:-1]
    return text


def _unescaped(text: str) -> str:
    for _ in range(3):
        text = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"\\x([0-9a-f]{2})", lambda found: chr(int(found[1], 16)), text)
        text = re.sub(r"\\(.)", lambda found: {"n": "\n", "t": "\t", "r": "\r"}.get(found[1], found[1]), text)
    return text


def _unquoted_twice(text: str) -> str:
    return unquote(unquote(text))


def _decoded_runs(text: str, pattern: str, decode: Callable[[str], bytes]) -> str:
    found = []
    for run in re.findall(pattern, text):
        try:
            found.append(decode(run).decode("utf-8", "replace"))
        except (ValueError, binascii.Error):
            continue
    return "\n".join(found)


def _unbase64(text: str) -> str:
    whole = text.replace("\n", "").translate(str.maketrans("-_", "+/"))
    return _decoded_runs(whole, r"[A-Za-z0-9+/]{16,}={0,2}", lambda run: base64.b64decode(run + "=" * (-len(run) % 4)))


def _unhex(text: str) -> str:
    return _decoded_runs(text, r"(?:[0-9a-f]{2}){8,}", bytes.fromhex)


def _lines_as_json(one: Sample) -> str:
    return json.dumps(one.text.split("\n"), indent=2)


def _without_json_lines(text: str) -> str:
    return _unescaped(re.sub(r'",?\s*\n\s*"', "\n", text))


def _escaped_letters(text: str) -> str:
    return "".join(letter if letter.isalnum() else f"\\u{ord(letter):04x}" for letter in text)


def _shell_escaped(text: str) -> str:
    return re.sub(r"([^A-Za-z0-9_\n])", r"\\\1", text)


ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\x1b\]8;;[^\x1b\x07]*(?:\x1b\\|\x07)")
_ZERO_WIDTH = "\u200b"


def _plain(text: str) -> str:
    return ANSI.sub("", text)


def _words_coloured(one: Sample) -> str:
    return re.sub(r"[A-Za-z0-9_]+", "\x1b[36m\\g<0>\x1b[0m", one.text)


FORMS: tuple[Form, ...] = (
    Form("as it is", lambda one: one.text),
    # colours
    Form("colour around the value", lambda one: one.around("\x1b[32m", "\x1b[0m"), _plain),
    Form("colour inside the value", lambda one: one.with_value("\x1b[1;31m".join(one.halves) + "\x1b[0m"), _plain),
    Form("colour in every line", lambda one: _each_line(one.text, lambda _: "\x1b[2m") + "\x1b[0m", _plain),
    Form("every word coloured", _words_coloured, _plain),
    Form("a match in bold, then cleared", lambda one: one.around("\x1b[01;31m\x1b[K", "\x1b[m\x1b[K"), _plain),
    Form("a terminal's link", lambda one: one.around("\x1b]8;;https://example.org\x1b\\", "\x1b]8;;\x1b\\"), _plain),
    # line numbers and diffs
    numbered("line number, arrow", lambda number: f"{number:6}→", r" *\d+→"),
    numbered("line number, tab", lambda number: f"{number:6}\t", r" *\d+\t"),
    numbered("line number, colon", lambda number: f"{number + 11}:", r"\d+:"),
    numbered("line number, dash", lambda number: f"{number + 11}-", r"\d+-"),
    numbered("line number, bar", lambda number: f"{number:4} | ", r" *\d+ \| "),
    numbered("file and line number", lambda number: f"k.pem:{number}:", r"k\.pem:\d+:"),
    numbered("file, line number, blank", lambda number: f"src/deploy/settings.py:{number}: ", r"\S+:\d+: "),
    numbered("added line", lambda _: "+", r"\+"),
    numbered("removed line", lambda _: "-", "-"),
    numbered("added line, blank", lambda _: "+ ", r"\+ "),
    numbered("numbered diff", lambda number: f"{number:5} + ", r" *\d+ \+ "),
    numbered("quoted mail", lambda _: "> ", "> "),
    numbered("box", lambda _: "│ ", "│ "),
    numbered("log prefix", lambda _: "2026-03-02T09:00:00Z web-1 | ", r"2026-03-02T09:00:00Z web-1 \| "),
    # encodings
    encoded("URL-encoded", lambda text: quote(text, safe=""), unquote),
    Form("URL-encoded value", lambda one: one.with_value(quote(one.value, safe="")), unquote),
    encoded("URL-encoded twice", lambda text: quote(quote(text, safe=""), safe=""), _unquoted_twice),
    encoded("HTML entities", html.escape, html.unescape),
    encoded("HTML numbers", lambda text: re.sub(r"\W", lambda found: f"&#{ord(found[0])};", text), html.unescape),
    encoded(
        "HTML hex numbers", lambda text: re.sub(r"\W", lambda found: f"&#x{ord(found[0]):x};", text), html.unescape
    ),
    encoded("JSON", lambda text: json.dumps({"out": text}), _unescaped),
    encoded("JSON in JSON", lambda text: _nested(text, 2), _unescaped),
    encoded("JSON in JSON in JSON", lambda text: _nested(text, 3), _unescaped),
    encoded("escaped signs", _escaped_letters, _unescaped),
    Form("JSON of lines", _lines_as_json, _without_json_lines),
    encoded("shell, quoted", shlex.quote, lambda text: text.replace("'\"'\"'", "'")),
    encoded("shell, backslashes", _shell_escaped, _unescaped),
    encoded("shell, dollar quote", lambda text: f"$'{_nested(text, 1)}'", _unescaped),
    encoded("base64 of the whole", lambda text: base64.b64encode(text.encode()).decode(), _unbase64),
    encoded("base64 in lines", lambda text: base64.encodebytes(text.encode()).decode(), _unbase64),
    encoded("base64 for URLs", lambda text: base64.urlsafe_b64encode(text.encode()).decode(), _unbase64),
    encoded("hex of the whole", lambda text: text.encode().hex(), _unhex),
    # quotes and marks beside the value
    beside("single quotes", "'", "'"),
    beside("double quotes", '"', '"'),
    beside("backticks", "`", "`"),
    beside("curly quotes", "“", "”"),
    beside("curly single quotes", "\N{LEFT SINGLE QUOTATION MARK}", "\N{RIGHT SINGLE QUOTATION MARK}"),
    beside("guillemets", "«", "»"),
    around_all("fence", "```\n", "\n```"),
    beside("underscores", "_", "_"),
    beside("stars", "**", "**"),
    around_all("tildes", "~~", "~~"),
    around_all("angle brackets", "<", ">"),
    around_all("round brackets", "(", ")"),
    around_all("square brackets", "[", "]"),
    around_all("element", "<value>", "</value>"),
    beside("full stop", "", "."),
    beside("comma", "", ", and so on"),
    Form("table cell", lambda one: f"| staging | {one.text.replace(chr(10), '<br>')} | ok |"),
    # names and values apart
    Form("argument list", lambda one: json.dumps(["deploy", "--token", one.value]), _unescaped),
    Form("argument list, single quotes", lambda one: str(["deploy", "--password", one.value]), _unescaped),
    Form("option", lambda one: f"deploy --token {shlex.quote(one.value)} --verbose"),
    Form("option with sign", lambda one: f"deploy --api-key={shlex.quote(one.value)} --verbose"),
    Form("name and value", lambda one: json.dumps({"name": "API_TOKEN", "value": one.value}), _unescaped),
    Form("name and value, YAML", lambda one: f"- name: DB_PASSWORD\n  value: {json.dumps(one.value)}", _unescaped),
    Form("header list", lambda one: json.dumps([["authorization", f"Bearer {one.value}"]]), _unescaped),
    # wrapped
    broken("soft line break", "=\n"),
    broken("backslash, line break", "\\\n"),
    broken("line break", "\n"),
    broken("line break, indented", "\n    "),
    broken("line break, numbered", "\n     2→"),
    broken("lines of 32", "\n", 32),
    broken("joined strings", '" + "'),
    broken("strings in two lines", '"\n    "'),
    broken("zero-width space", _ZERO_WIDTH),
)
"""Every form that is counted."""


def value_of(text: str, redacted: str, placeholder: re.Pattern[str]) -> str:
    """What a redaction took out of a text: the longest piece of it."""
    kept, pieces, at = placeholder.split(redacted), [], 0
    for number, part in enumerate(kept):
        place = text.index(part, at) if part else (len(text) if number == len(kept) - 1 else at)
        if number:
            pieces.append(text[at:place])
        at = place + len(part)
    return max(pieces, key=len)


def is_leaked(one: Sample, seen: str, share: float = 1 / 3, window: int = 6) -> bool:
    """Whether a reader still sees so much of the value: counted by characters that stand in pieces of some length."""
    value = one.value
    size = min(window, len(value))
    covered: set[int] = set()
    for at in range(len(value) - size + 1):
        if value[at : at + size] in seen:
            covered.update(range(at, at + size))
    return len(covered) > share * len(value)


def floor_of(form: Form) -> float:
    """The share of samples that has to be redacted in a form."""
    return FLOORS.get(form.name, FLOOR)


def samples(
    table: Iterable[tuple[str, str]], redact: Callable[[str], str], placeholder: re.Pattern[str]
) -> list[Sample]:
    """Every sample of a table of (rule, text), with the value that redaction finds in it when it stands as it is."""
    return [Sample(rule, text, value_of(text, redact(text), placeholder)) for rule, text in table]
