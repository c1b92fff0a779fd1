"""One line becomes one clean record or a reason, with and without the fast decoder."""

import json

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples

from howcome.clients.decode import MAX_DEPTH, clean_text, decode_record
from howcome.errors import RecordError

DECODERS = pytest.mark.parametrize("fast", [msgspec.json.decode, None], ids=["fast", "plain"])


def outcome(line: bytes, fast: object) -> object:
    """The record, or the reason why it is none."""
    try:
        return decode_record(line, fast)
    except RecordError as error:
        return error.reason


def nested(depth: int, opening: bytes, closing: bytes) -> bytes:
    """An object with a value nested `depth` times."""
    return b'{"a":' + opening * depth + b"1" + closing * depth + b"}"


ACCEPTED = {
    "plain": (b'{"a": 1}', {"a": 1}),
    "blank around": (b' \t{"a":1}\r', {"a": 1}),
    "byte order mark": (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
    "escaped pair": (b'{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
    "lone high surrogate": (b'{"a":"x\\ud800y"}', {"a": "x\ufffdy"}),
    "lone low surrogate": (b'{"a":"\\ude00"}', {"a": "\ufffd"}),
    "swapped pair": (b'{"a":"\\ude00\\ud83d"}', {"a": "\ufffd\ufffd"}),
    "surrogate in a name": (b'{"\\ud800":1}', {"\ufffd": 1}),
    "surrogate as bytes": (b'{"a":"\xed\xa0\x80"}', {"a": "\ufffd\ufffd\ufffd"}),
    "bad UTF-8": (b'{"a":"caf\xe9"}', {"a": "caf\ufffd"}),
    "overlong": (b'{"a":"\xc0\xaf"}', {"a": "\ufffd\ufffd"}),
    "escaped NUL": (b'{"a":"x\\u0000y"}', {"a": "x\u2400y"}),
    "escaped NUL in a name": (b'{"a\\u0000":1}', {"a\u2400": 1}),
    "equal names": (b'{"a":1,"a":2}', {"a": 2}),
    "number above 64 bits": (b'{"a":18446744073709551616}', {"a": 2**64}),
    "number just above 63 bits": (b'{"a":9223372036854775808}', {"a": 2**63}),
    "number of 4,000 digits": (b'{"a":' + b"9" * 4000 + b"}", {"a": 10**4000 - 1}),
    "deep enough": (nested(100, b"[", b"]"), json.loads(nested(100, b"[", b"]"))),
}
REFUSED = {
    "empty": (b"", "not-json"),
    "words": (b"hello", "not-json"),
    "cut": (b'{"a": "b', "not-json"),
    "two values": (b'{"a":1}{"a":2}', "not-json"),
    "raw NUL bytes": (b"\x00" * 40, "not-json"),
    "NUL after the brace": (b'{\x00"a":1}', "not-json"),
    "raw control character": (b'{"a":"x\x01y"}', "not-json"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "not-json"),
    "list": (b"[1]", "not-an-object"),
    "null": (b"null", "not-an-object"),
    "text": (b'"a"', "not-an-object"),
    "NaN": (b'{"a":NaN}', "bad-number"),
    "minus infinity": (b'{"a":-Infinity}', "bad-number"),
    "number of 5,000 digits": (b'{"a":' + b"9" * 5000 + b"}", "bad-number"),
    "100,000 arrays": (b"[" * 100_000 + b"]" * 100_000, "too-deep"),
    "100,000 objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "too-deep"),
    "arrays never closed": (b"[" * 100_000, "too-deep"),
    "deep arrays": (nested(MAX_DEPTH + 1, b"[", b"]"), "too-deep"),
    "deep arrays with blanks": (nested(MAX_DEPTH + 1, b"[ ", b"]"), "too-deep"),
    "deep objects with blanks": (nested(MAX_DEPTH + 1, b'{"b" : ', b"}"), "too-deep"),
    "deep in turns": (nested(MAX_DEPTH, b'[{"b":', b"}]"), "too-deep"),
    "deep after a wide level": (nested(MAX_DEPTH, b'[0,{"b":', b"}]"), "too-deep"),
}


@DECODERS
@pytest.mark.parametrize("name", ACCEPTED)
def test_a_line_becomes_a_clean_record(name: str, fast: object) -> None:
    """What can be read is read, with stand-ins for what no store can hold."""
    line, expected = ACCEPTED[name]
    assert outcome(line, fast) == expected


@DECODERS
@pytest.mark.parametrize("name", REFUSED)
def test_a_line_that_is_no_record_has_a_reason(name: str, fast: object) -> None:
    """What cannot be read is refused with one stable word."""
    line, reason = REFUSED[name]
    assert outcome(line, fast) == reason


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec=None), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.one_of(st.binary(max_size=60), values.map(lambda value: json.dumps({"a": value}).encode())), st.data())
@settings(max_examples=examples(300), deadline=None)
def test_the_fast_decoder_changes_nothing(line: bytes, data: st.DataObject) -> None:
    """Any bytes, and valid lines with one byte changed, give the same record or reason with and without it."""
    if line:
        place = data.draw(st.integers(0, len(line) - 1))
        line = line[:place] + bytes([data.draw(st.integers(0, 255))]) + line[place + 1 :]
    found = outcome(line, msgspec.json.decode)
    assert repr(found) == repr(outcome(line, None))
    json.dumps(found, ensure_ascii=False).encode()


@given(st.text(st.characters(codec=None)))
@settings(max_examples=examples(200), deadline=None)
def test_clean_text_can_always_be_stored(text: str) -> None:
    """Cleaned text encodes, holds no NUL, and is left alone when cleaned again."""
    cleaned = clean_text(text)
    assert "\x00" not in cleaned.encode().decode()
    assert clean_text(cleaned) == cleaned
