"""What somebody wrote, as sentences: code, tables, quotes and logs left out, markdown taken off, its place noted."""

# ruff: noqa: RUF001 - dashes and quotes are matched as people write them

from __future__ import annotations

from howcome.domain.patterns import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_TEXT_CHARS = 60_000
"""Of a longer text only the beginning is read: nobody types more, and a paste teaches nothing."""

MAX_LINE_CHARS = 2_000
MAX_BLOCK_CHARS = 4_000
MAX_SENTENCE_CHARS = 1_000
"""What goes on for longer is no prose: no rule needs more, and every rule's time is bounded by it."""

MAX_HEADING_CHARS = 100
MAX_LABEL_CHARS = 60

_FENCE = late(r"\s*(?:```|~~~)")
_ITEM = late(r"\s*(?:[-*+]|[•–]{1}|\(?\d{1,2}[.)])\s+(?:\[[ xX]\]\s+)?")
_ITEM_STARTS = frozenset("-*+•–(0123456789")
_HEADING = late(r"\s*#{1,6}\s+(\S.*)")
_BOLD_LINE = late(r"\s*(?:\*\*|__)([^*_]{2,90})(?:\*\*|__)\s*:?\s*$")
_DRAWN = frozenset("⎿⏺❯●│├└┌╭╰")
_SKIPPED = late(r"\s*(?:\||>|-{3,}\s*$|={3,}\s*$|<[/!?a-zA-Z][^>]*>\s*$|\$ |\+\+\+ |--- |@@ )")
_LOG = late(
    r"\s*(?:\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[\w[\w .:-]*\] |\d\d:\d\d:\d\d|at \S+ \(|at \S+:\d+|File \""
    r"|Traceback |\w+(?:Error|Exception): "
    r"|(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL|FAIL|PASS)[:\s\]]|\S+:\d+:\d+[:\s]|ok\s\s|npm (?:ERR|WARN)|={3}"
    r"|-{3} |>>> |\.\.\. )"
)
_LOG_STARTS = frozenset("aFTEWIDfPonABCGHJKLMNOQRSUVXYZ")
"""Letters with which a line of a log begins (`_LOG`): "at …", "ok  …", "npm ERR", "File …", names of errors."""

_LOG_HEADS = frozenset("at Fi Tr ER WA IN DE FA PA ok np".split())
"""How a line of a log that begins with a letter begins, where it has no colon (`_LOG`)."""

_PLACE = late(r"\S+:\d+:\d+[:\s]")
_LINK = late(r"!?\[([^\]\n]{1,200})\]\([^()\s]{1,500}(?:\([^()]*\))?[^()]*\)")
_EMPHASIS = late(r"(\*\*\*|\*\*|__|~~)(?=\S)(.{1,300}?)(?<=\S)\1")
_STAR = late(r"(?<![\w*`])[*_](?=[^\s*_])([^*_\n`]{1,200}?)(?<=\S)[*_](?![\w*`])")
_MARKS = late(r"[*_~<\]]")
_TAG = late(r"</?(?:b|i|em|strong|u|kbd|sub|sup|details|summary|br)\s*/?>")
_PICTURE = late("[\u2190-\u21ff](?=\ufe0f)|[\u2600-\u27bf\u2b00-\u2bff\ufe0f\u200d\U0001f000-\U0001faff]+")
_LABEL = late(r"(?:\*\*|__)([^*_\n]{2,60}?)\s*(?::\s*(?:\*\*|__)|(?:\*\*|__)\s*(?::|—|–|-(?=\s)))\s*(?=\S)")
_PLAIN_LABEL = late(r"([A-Z][\w' -]{1,40}):\s+(?=\S)")
_END = late(r"[.!?]++[\"')\]*_]*(?=\s+[\"'(\[`*_]*[A-Z0-9`@/~.-]|\s*$)")
_TYPED_END = late(r"[.!?]++[\"')\]*_]*(?=\s+[\"'(\[`*_]*[A-Za-z0-9`@/~.-]|\s*$)")
_END_WITHIN = late(r"[.!?][\"')\]*_`]* ")
"""A line without this is one sentence."""

_ALIKE = (("…", "!"), ("”", ")"), ("“", "("))
"""Where a sentence ends, the first of each pair is as good as the second: a class of both takes 0.2 ms to compile."""

_ABBREVIATIONS = frozenset("e.g i.e etc vs cf approx resp incl no fig st mr ms dr z.b d.h bzw ca".split())


class Sentence:
    """A sentence, and where it stands.

    Attributes:
        text: Without markdown (names keep their backticks), on one line.
        label: What introduces it ("Root cause"), "" where nothing does; `heading`: the heading above it.
        kind: `text`, `item` (of a list) or `heading`.
        block: Number of its paragraph or item in the text; `place`: its number in that, from 0.
    """

    __slots__ = ("block", "heading", "kind", "label", "place", "text")

    def __init__(self, text: str, label: str, heading: str, kind: str, block: int, place: int) -> None:
        self.text, self.label, self.heading = text, label, heading
        self.kind, self.block, self.place = kind, block, place

    @property
    def labelled(self) -> str:
        """The text, with its label where it is the first below that."""
        return f"{self.label}: {self.text}" if self.label and not self.place else self.text

    def __repr__(self) -> str:
        """The text with its label."""
        return f"Sentence({self.label + ': ' if self.label else ''}{self.text!r})"


def without_markdown(text: str) -> str:
    """A line without links' targets, emphasis, pictures and tags; code keeps its backticks."""
    if _MARKS.search(text) is None and (text.isascii() or _PICTURE.search(text) is None):
        is_tidy = text.isascii() and "  " not in text and text.isprintable()
        return text.strip() if is_tidy else " ".join(text.split())
    parts = text.split("`")
    for place in range(0, len(parts), 2):
        part = _TAG.sub("", parts[place]) if "<" in parts[place] else parts[place]
        part = _PICTURE.sub("", part) if not part.isascii() else part
        if "**" in part or "__" in part or "~~" in part:
            part = _EMPHASIS.sub(r"\2", part)
        if "*" in part or "_" in part:
            part = _STAR.sub(r"\1", part)
        parts[place] = part
    text = "`".join(parts)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "**" in text:  # around code
        text = text.replace("**", "")
    return " ".join(text.split())


_BY_CLIENT = ("If you need specific details from before exiting plan mode",)
"""What Claude Code itself puts below a plan that it gives to a new session: nobody said it."""


def sentences(text: str, *, is_typed: bool = False) -> list[Sentence]:
    """The sentences of a text in their order; who types (`is_typed`) may begin them with small letters."""
    found: list[Sentence] = []
    heading = ""
    for number, (kind, block) in enumerate(_blocks(text[:MAX_TEXT_CHARS])):
        if kind == "heading":
            heading = without_markdown(block).rstrip(": ")[:MAX_HEADING_CHARS]
            continue
        if block.endswith(":") and kind == "text" and len(block) <= MAX_LABEL_CHARS:  # it heads the list below
            heading = without_markdown(block).rstrip(": ")
            continue
        label, rest = _labelled(block)
        for place, sentence in enumerate(split(without_markdown(rest), is_typed=is_typed)):
            if len(sentence) > MAX_SENTENCE_CHARS or sentence.startswith(_BY_CLIENT):
                continue
            found.append(Sentence(sentence, label, heading, kind, number, place))
    return found


def split(line: str, *, is_typed: bool = False) -> list[str]:
    """A line's sentences; a dot within a name, a number or an abbreviation ends none."""
    shape = line
    for mark, alike in () if line.isascii() else _ALIKE:
        shape = shape.replace(mark, alike)
    if not _may_end_within(shape):
        line = line.strip()
        return [line] if line else []
    found: list[str] = []
    start = 0
    for match in (_TYPED_END if is_typed else _END).finditer(shape):
        piece = line[start : match.end()]
        if piece.count("`") % 2 or _is_abbreviated(piece):
            continue
        found.append(piece.strip())
        start = match.end()
    rest = line[start:].strip()
    return [piece for piece in (*found, rest) if piece]


def _may_end_within(line: str) -> bool:
    return ". " in line or "? " in line or "! " in line or _END_WITHIN.search(line) is not None


def _is_abbreviated(piece: str) -> bool:
    """Whether the dot at the end of a piece belongs to an abbreviation."""
    if not piece.endswith("."):
        return False
    word = piece[-8:].rsplit(None, 1)[-1].lstrip("(\"'")[:-1]
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isupper())


def _labelled(block: str) -> tuple[str, str]:
    """What a block begins with as its label, and the rest."""
    text = block.lstrip()
    match = _LABEL.match(text) if text.startswith(("**", "__")) else None
    if match:
        return without_markdown(match[1]).strip(": "), text[match.end() :]
    match = _PLAIN_LABEL.match(text) if text.find(":", 0, MAX_LABEL_CHARS) > 0 else None
    if match and len(match[1].split()) <= 4:
        return match[1], text[match.end() :]
    return "", block


def _blocks(text: str) -> Iterator[tuple[str, str]]:
    """Paragraphs, list items and headings; everything that is no prose is left out."""
    lines: list[str] = []
    size_chars = 0
    kind, is_code = "text", False
    for line in text.splitlines():
        may_fence = "`" in line and ("```" in line or "~~~" in line)
        is_fence = (may_fence and _FENCE.match(line) is not None) or line.startswith("~~~")
        is_code ^= is_fence
        if is_code or is_fence or not line.strip() or len(line) > MAX_LINE_CHARS or _is_no_prose(line):
            if lines:
                yield kind, " ".join(lines)
            lines, kind = [], "text"
            continue
        first = line.lstrip()[0]
        head = _HEADING.match(line) if first == "#" else _BOLD_LINE.match(line) if first in "*_" else None
        item = _ITEM.match(line) if not head and first in _ITEM_STARTS else None
        if head or item:
            if lines:
                yield kind, " ".join(lines)
            lines, kind = [], "text"
        if head:
            yield "heading", head[1].rstrip().rstrip("#").rstrip()
        elif item:
            lines, kind = [line[item.end() :].strip()], "item"
            size_chars = len(lines[0])
        else:
            size_chars = size_chars if lines else 0
            if size_chars < MAX_BLOCK_CHARS:
                lines.append(line.strip())
                size_chars += len(lines[-1])
    if lines:
        yield kind, " ".join(lines)


def _is_no_prose(line: str) -> bool:
    first = line[0]
    if first.isalpha():
        has_colon = ":" in line
        is_log = first in _LOG_STARTS and (has_colon or line[:2] in _LOG_HEADS) and _LOG.match(line)
        return bool(is_log or (has_colon and _PLACE.match(line)))
    return (
        line.lstrip()[0] in _DRAWN
        or _SKIPPED.match(line) is not None
        or _LOG.match(line) is not None
        or (line.startswith(("    ", "\t")) and not _ITEM.match(line))
    )
