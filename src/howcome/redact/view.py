"""The normal view of a text: what it says without the marks that displays and encodings put between its characters.

Colour codes, escapes of JSON and shells, percent signs, entities and soft line breaks tear a secret apart for a
pattern. They are masked at equal length, so that every offset is one of the original; the view leaves the mask out.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate

MASK = "\x01"
_LEVELS = 3
"""What percent signs and entities stand for may be noise again; runs of backslashes are taken out at once."""

_BLOCK = 64
"""Characters between two known places: what has to be counted to find a place."""

PASSWORD = "\x02\x03"
"""What a view shows in place of a word for a password that is not ASCII: rules are."""

# Spanish, Polish, Swedish, Turkish, Hungarian, Vietnamese; Russian, Greek; Chinese, Japanese, Korean; Hebrew, Arabic.
_PASSWORDS = (
    "contrase\u00f1a", "has\u0142o", "l\u00f6senord", "\u015fifre", "jelsz\u00f3", "m\u1eadt kh\u1ea9u",
    "\u043f\u0430\u0440\u043e\u043b\u044c", "\u03ba\u03c9\u03b4\u03b9\u03ba\u03cc\u03c2",
    "\u5bc6\u7801", "\u5bc6\u78bc", "\u53e3\u4ee4", "\u30d1\u30b9\u30ef\u30fc\u30c9", "\u6697\u8a3c\u756a\u53f7",
    "\ube44\ubc00\ubc88\ud638", "\uc554\ud638", "\u05e1\u05d9\u05e1\u05de\u05d4",
    "\u0643\u0644\u0645\u0629 \u0627\u0644\u0645\u0631\u0648\u0631",
)  # fmt: skip
_FOREIGN = tuple(
    (word, PASSWORD.rjust(len(word), MASK))
    for known in _PASSWORDS
    for word in dict.fromkeys((known, known.capitalize(), known.upper()))
)
_ENTITIES = {"quot": '"', "apos": "'", "amp": "&", "lt": "<", "gt": ">", "nbsp": " ", "equals": "=", "colon": ":",
             "lowbar": "_", "period": ".", "commat": "@", "sol": "/", "plus": "+", "dollar": "$"}  # fmt: skip
_ESCAPES = {
    "\\n": "\n", "\\r": "\n", "\\t": "\t", "\\u001b": "\x1b", "\\u001B": "\x1b", "\\x1b": "\x1b", "\\x1B": "\x1b",
    "\\033": "\x1b", "\\e[": "\x1b[", '\\"': '"', "\\'": "'", "\\/": "/",
}  # fmt: skip
_CHAIN = tuple((code, said.rjust(len(code), MASK)) for code, said in _ESCAPES.items())
_RUNS = tuple(("\\" * width, "\\".rjust(width, MASK)) for width in (8, 4, 3, 2))
_QUOTES = (
    ("\u2018\u2019\u201a\u201b\u2032\u2039\u203a\uff07", "'"),
    ("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\uff02", '"'),
    ("\u00a0\u3000", " "), ("\uff1a", ":"), ("\uff1d", "="),
    # Not seen at all: soft hyphens, joiners, marks of direction.
    ("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff", MASK),
    ("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", MASK),
)  # fmt: skip

# How these begin in UTF-8, when all else is deleted: most texts have arrows, boxes and emoji only.
_LEADS = {c.encode()[0] for word, _ in _FOREIGN for c in word if not c.isascii()}
_OTHERS = bytes(sorted(set(range(0x80, 256)) - _LEADS - {0xC2, 0xE3, 0xEF}))
_ASCII = bytes(range(0x80))
_ESCAPED = re.compile(r"\\([^\\])")

# Markdown's and a shell's, which are rarer: "\_" and the like.
_MARKS = " !#$%&()*+,-.:;<=>?@[]^_`{|}~"
_ESCAPED_MARK = re.compile(rf"\\([{re.escape(_MARKS)}])")
# Of marks in a row all at once, here and below: what calls a function for each takes a while.
_COLOUR = re.compile(
    r"(?:\x1b(?:\[[0-9;:?<=>]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b\r\n]{0,400}(?:\x07|\x1b\\)|[@-Z\\^_=>]))++"
)
_CARET_COLOUR = re.compile(r"(?:\^\[\[[0-9;]{0,40}m)++")
_CODED = re.compile(r"\\(?:u00([0-9a-fA-F]{2})|x([2-7][0-9a-fA-F]))")
_PERCENT = re.compile(r"%(?:25){0,2}(?:0[9aAdD]|[2-7][0-9a-fA-F])")
# In an encoded form a plus sign is a blank: a word with both, from its beginning.
_FORM = re.compile(rf"(?<![^\s\"'<>])(?=[^\s\"'<>+]*+\+)(?=[^\s\"'<>]*?{_PERCENT.pattern})[^\s\"'<>]++", re.ASCII)
# Whether there is one: most texts have plus signs and percent signs in words of their own.
_IS_FORM = re.compile(
    rf"\+[^\s\"'<>+]*?{_PERCENT.pattern}|{_PERCENT.pattern}(?:[^\s\"'<>+%]|(?!{_PERCENT.pattern})%)*+\+", re.ASCII
)
_ENTITY = re.compile(rf"&(?:amp;)?(?:({'|'.join(_ENTITIES)})|#([0-9]{{2,5}})|#[xX]([0-9a-fA-F]{{2,4}}));")
# The same without anything to measure, which may be all of a text.
_BARE_BREAK = re.compile(r"\\\n(?![ \t])")
# A shell's continued line, and quoted-printable: a line of its full width that ends in "=".
_SOFT_BREAK = re.compile(r"\\\r?\n[ \t]{0,40}|=(?<=\n[^\r\n]{74}[^\r\n=]=)\r?\n(?=[A-Za-z0-9])")


class View:
    """A text to look for secrets in, with the places of its characters in the original."""

    __slots__ = ("_above", "_masked", "_places", "text")

    def __init__(self, text: str, masked: str = "", above: View | None = None) -> None:
        self.text, self._masked, self._above = text, masked, above
        self._places: list[int] = []

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The place in the original of what stands between two places of the view (not an empty one).

        Noise before the first character belongs to it: the code of an encoded character is noise before it.
        """
        if self._above is None:
            return start, end
        return self._above.span(self._origin(start - 1) + 1 if start else 0, self._origin(end - 1) + 1)

    def _origin(self, place: int) -> int:
        """Where the character at a place stands in the masked text."""
        if not self._places:
            masked = self._masked
            sizes = (_BLOCK - masked.count(MASK, at, at + _BLOCK) for at in range(0, len(masked), _BLOCK))
            self._places = list(accumulate(sizes, initial=0))
        block = bisect_right(self._places, place) - 1
        origin, left = block * _BLOCK, place - self._places[block]
        while left or self._masked[origin] == MASK:
            left -= self._masked[origin] != MASK
            origin += 1
        return origin

    def below(self, masked: str) -> View:
        """The view of this one with some of it masked; itself where nothing is."""
        return self if masked == self.text and MASK not in masked else View(masked.replace(MASK, ""), masked, self)


def normal_view(text: str) -> View:
    """The normal view of a text."""
    view = View(text).below(text if text.isascii() else _in_ascii(text))
    if _is_quiet(view.text):
        return view
    for _ in range(_LEVELS):
        shown = _shown(view.text)
        decoded = _decoded(shown)
        view = view.below(decoded)
        if decoded is shown:
            break
    return view


def seen_of(text: str) -> tuple[bytes, View | None]:
    """The bytes of a text's normal view, and the view: None where it takes half the time to do without places."""
    is_ascii = text.isascii()
    shown = text if is_ascii else _in_ascii(text).replace(MASK, "")
    data = shown.encode("ascii", "replace")
    if _is_quiet(shown):
        return data, None
    if is_ascii or b"\\?" in data or b"\x1b" in data:  # a question mark means something there: not one for others
        view = normal_view(text)
        return view.text.encode("ascii", "replace"), view
    return normal_view(data.decode("ascii")).text.encode("ascii", "replace"), None


def _is_quiet(text: str) -> bool:
    """Whether a text has nothing that the view leaves out (one character is found ten times as fast as two)."""
    return not (
        "\\" in text
        or "%" in text
        or "&" in text
        or "\x1b" in text
        or "\r" in text
        or MASK in text
        or ("=" in text and "=\n" in text)
        or ("^" in text and "^[[" in text)
    )


def _shown(text: str) -> str:
    """A text of the same length without what displays, quotations and breaks put in."""
    if "\x1b" in text:  # before the escapes: its marks end in a backslash, which is none
        text = _COLOUR.sub(_hidden, text)
    if any(mark in text and end in text and mark + end in text for mark in "\\=" for end in "\n\r"):
        text = _SOFT_BREAK.sub(_hidden, _BARE_BREAK.sub(2 * MASK, text))
    if "\\" in text:
        text = _unescaped(text)
    if "\r" in text:
        text = text.replace("\r\n", f"{MASK}\n")
    if "\x1b" in text:
        text = _COLOUR.sub(_hidden, text)
    if "^" in text and "^[[" in text:
        text = _CARET_COLOUR.sub(_hidden, text)
    return text if text.isascii() else _in_ascii(text)


def _in_ascii(text: str) -> str:
    """A text of the same length with ASCII's quotes and blanks, a word for passwords, and without what is not seen."""
    data = text.encode("utf-8", "surrogatepass").translate(None, _ASCII)
    leads = data.translate(None, _OTHERS)
    if leads or b"\xe2\x80" in data or b"\xe2\x81" in data:
        for characters, said in _QUOTES:
            for character in characters:
                text = text.replace(character, said)
    if leads:
        for word, said in _FOREIGN:
            text = text.replace(word, said)
    return text


def _unescaped(text: str) -> str:
    """A text of the same length without the escapes of JSON, shells and Markdown (chained replacements are fast)."""
    if "\\\\" in text:
        for code, said in _RUNS:
            text = text.replace(code, said)
    present = set(_ESCAPED.findall(text))
    for code, said in _CHAIN:
        if code[1] in present:
            text = text.replace(code, said)
    if not present.isdisjoint(_MARKS):
        text = _ESCAPED_MARK.sub(rf"{MASK}\1", text)
    if "u" in present or "x" in present:
        text = _CODED.sub(lambda match: chr(int(match[1] or match[2], 16)).rjust(len(match[0]), MASK), text)
    return text


def _decoded(text: str) -> str:
    """A text of the same length with what addresses and markup encode; itself where there is nothing."""
    if "%" in text and _PERCENT.search(text):
        if "+" in text and _IS_FORM.search(text):
            text = _FORM.sub(lambda word: word[0].replace("+", " "), text)
        codes = set(_PERCENT.findall(text))
        for code in sorted(codes, key=len, reverse=True):
            text = text.replace(code, _percent(code))
    if "&" in text and _ENTITY.search(text):
        text = _ENTITY.sub(_entity, text)
    return text


def _hidden(match: re.Match[str]) -> str:
    return MASK * len(match[0])


_said: dict[str, str] = {}


def _percent(code: str) -> str:
    return chr(int(code[-2:], 16)).rjust(len(code), MASK)


def _entity(match: re.Match[str]) -> str:
    if match[0] in _said:
        return _said[match[0]]
    name, decimal, hexadecimal = match.groups()
    code = int(decimal) if decimal else int(hexadecimal or "20", 16)
    said = _ENTITIES[name] if name else chr(code) if 0x20 <= code < 0xD800 else " "
    _said[match[0]] = said.rjust(len(match[0]), MASK)  # at most 70,000: two, three or four digits
    return _said[match[0]]
