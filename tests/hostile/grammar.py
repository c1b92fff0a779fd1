"""A grammar of hostile transcripts: whatever a client, a bug or somebody else may have put into a line.

A transcript is lines; a line is a record, a damaged record, or no record at all; a record is one of the client's with
some of its fields gone, doubled or of another type. Sessions mix, uuids repeat, texts hold any character.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st
from tests.builders import Claude

SESSIONS = ("s-one", "s-two", "s-three", "")
MAX_DEPTH = 6
_TRAPS = (
    "", "\0", "\ufeff", "\u2028", "\u202e", "\x1b[31m", "<private>hidden", "</private>", "<system-reminder>",
    '<howcome id="x">', "</howcome>", "[redacted:named-value:00000000]", "password=hunter2hunter2", "é" * 40,
    "数据库",
    "👩‍👩‍👧‍👦", "e\u0301" * 20, "a" * 3000, "\r", "\ud83d", "\udfff", "\\", '"', "../../etc/passwd", "%00", "-rf",
)  # fmt: skip

texts = st.one_of(
    st.sampled_from(_TRAPS),
    st.text(max_size=40),
    st.text(alphabet=st.characters(exclude_categories=()), max_size=20),
    st.lists(st.sampled_from(("the", "quay", "crane7", "fails", "src/berth.py", "why", *_TRAPS)), max_size=8).map(
        " ".join
    ),
)
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(allow_nan=True, allow_infinity=True), texts,
)  # fmt: skip
values: st.SearchStrategy[Any] = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
times = st.one_of(
    st.sampled_from(("2026-03-02T09:00:00.000Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-02-30T99:99Z")),
    values,
)  # fmt: skip
blocks = st.one_of(
    st.builds(lambda text: {"type": "text", "text": text}, st.one_of(texts, values)),
    st.builds(lambda text: {"type": "thinking", "thinking": text}, texts),
    st.builds(
        lambda name, ident, arguments: {"type": "tool_use", "name": name, "id": ident, "input": arguments},
        st.one_of(st.sampled_from(("Bash", "Edit", "WebFetch")), values), st.one_of(st.just("t1"), values), values,
    ),
    st.builds(
        lambda name, content, bad: {"type": "tool_result", "tool_use_id": name, "content": content, "is_error": bad},
        st.one_of(st.just("t1"), values), values, values,
    ),
    values,
)  # fmt: skip
contents = st.one_of(texts, st.lists(blocks, max_size=3), values)


@st.composite
def records(draw: st.DrawFn) -> dict[str, Any]:
    """One of the client's records, with whatever done to it."""
    claude = Claude(
        draw(st.sampled_from(SESSIONS)), draw(st.sampled_from(("/gone/harbour", "/gone/dike", "relative", "")))
    )
    claude.number = draw(st.integers(0, 6))  # so that uuids repeat, with the same content or with another
    kind = draw(st.sampled_from(("user", "assistant", "system", "summary", "attachment", "progress", "of tomorrow")))
    record: dict[str, Any] = claude.record(kind, message={"role": kind, "content": draw(contents)})
    for name in draw(st.lists(st.sampled_from(sorted(record)), max_size=2)):
        if draw(st.booleans()):
            record.pop(name, None)
        else:
            record[name] = draw(times if name == "timestamp" else values)
    if draw(st.booleans()):
        record[
            draw(st.sampled_from(("isMeta", "isSidechain", "isCompactSummary", "agentId", "subtype", "toolUseResult")))
        ] = draw(values)
    return record


def _encoded(record: Any, *, ascii_only: bool) -> bytes:
    return json.dumps(record, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")


@st.composite
def damaged_lines(draw: st.DrawFn) -> bytes:
    """A record cut off, with bytes changed, or two of them in one line."""
    line = bytearray(_encoded(draw(records()), ascii_only=draw(st.booleans())))
    how = draw(st.sampled_from(("cut", "flipped", "doubled", "carriage return", "blanks")))
    place = draw(st.integers(0, len(line) - 1))
    if how == "cut":
        del line[place:]
    elif how == "flipped":
        line[place] ^= draw(st.integers(1, 255))
    elif how == "doubled":
        line += line[:place]
    else:
        line += b"\r" if how == "carriage return" else b" \t "
    return bytes(line).replace(b"\n", b" ")


def _nested(depth: int, opening: str, closing: str) -> bytes:
    return b'{"type": "user", "message": {"content": ' + (opening * depth + "1" + closing * depth).encode() + b"}}"


bombs = st.one_of(
    st.builds(_nested, st.sampled_from((10, 500, 100_000)), st.just("["), st.just("]")),
    st.builds(_nested, st.sampled_from((10, 500, 50_000)), st.just('{"a":'), st.just("}")),
    st.integers(1, 6000).map(lambda digits: b'{"type": "user", "n": ' + b"7" * digits + b"}"),
    st.sampled_from(
        (b"", b" ", b"null", b"[]", b"NaN", b'"text"', b"{}", b"\xef\xbb\xbf{}", b"\x00", b"\xff\xfe{\x00}\x00")
    ),
    st.sampled_from((b'{"type": "user", "type": "assistant"}', b'{"uuid": 1e999}', b"{" * 2000, b'{"a": "\\ud800"}')),
    st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")),
)
lines = st.one_of(
    st.builds(lambda record, ascii_only: _encoded(record, ascii_only=ascii_only), records(), st.booleans()),
    damaged_lines(), bombs,
)  # fmt: skip
ends = st.sampled_from((b"", b"\n", b"", b"\n", b"\n\n"))
transcripts = st.builds(lambda parts, end: b"\n".join(parts) + end, st.lists(lines, min_size=1, max_size=12), ends)
"""The bytes of a transcript."""
