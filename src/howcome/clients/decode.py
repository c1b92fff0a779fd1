"""One line of a transcript into one record; anything that cannot be one is a `RecordError` with a reason.

The fast decoder and the standard library's agree on valid JSON. Where the fast one refuses (bad UTF-8, lone
surrogates, NaN, absurd numbers) the standard library decides, so that the result is the same with and without it.
"""

from __future__ import annotations

import json

from howcome.errors import RecordError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

NOT_JSON, NOT_AN_OBJECT, TOO_DEEP, BAD_NUMBER = "not-json", "not-an-object", "too-deep", "bad-number"
OVERSIZE, TORN = "oversize", "torn"
"""Why a line is no record."""

NUL_STAND_IN = "\N{SYMBOL FOR NULL}"
"""PostgreSQL text cannot hold NUL and SQLite's length() stops at it: shown as its picture instead."""

_NESTED = frozenset((dict, list))
MAX_DEPTH = 200
"""Deeper than any record of any client; what is deeper would only fail later, in whatever walks it."""


def plain_json(text: str) -> object:
    """A value by the standard library's decoder, strict about numbers (`RecordError`)."""
    return json.loads(text, parse_constant=_refuse)


def _refuse(name: str) -> object:
    raise RecordError(BAD_NUMBER) from ValueError(name)


def decode_record(line: bytes, fast: Callable[[bytes], object] | None) -> dict[str, object]:
    """The JSON object of one line.

    Args:
        line: The bytes of the line, with or without its line break or a byte order mark.
        fast: A quicker decoder to try first; any ValueError of it falls back to the standard library.

    Raises:
        RecordError: not JSON, not an object, nested too deeply or with a number that is none.
    """
    record: object = None
    if fast is not None:
        try:
            record = fast(line)
        except (ValueError, RecursionError):
            record = None
    if record is None:
        record = decode_embedded(line.decode("utf-8", "replace").removeprefix("\ufeff"))
    elif b"\\u0000" in line:
        record = clean(record)
    else:
        check_depth(record)
    if not isinstance(record, dict):
        raise RecordError(NOT_AN_OBJECT)
    return record


def check_depth(value: object, depth: int = 0) -> None:
    """Refuses a value that is nested too deeply for what walks it later; texts and numbers cost nothing."""
    if depth > MAX_DEPTH:
        raise RecordError(TOO_DEEP)
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        if type(item) in _NESTED:
            check_depth(item, depth + 1)


def decode_embedded(text: str) -> object:
    """JSON that is there as text, or that a record holds as text, with only text that every store can hold."""
    try:
        return clean(plain_json(text))
    except RecursionError as error:
        raise RecordError(TOO_DEEP) from error
    except json.JSONDecodeError as error:
        raise RecordError(NOT_JSON) from error
    except ValueError as error:
        raise RecordError(BAD_NUMBER) from error


def clean(value: object, depth: int = 0) -> object:
    """A decoded value with only text that every store can hold: no lone surrogates, no NUL, no bottomless nesting."""
    if depth > MAX_DEPTH:
        raise RecordError(TOO_DEEP)
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {clean_text(str(name)): clean(item, depth + 1) for name, item in value.items()}
    return value


def clean_text(text: str) -> str:
    """`text` with lone surrogates replaced by U+FFFD and NUL by its picture; surrogate pairs become their character."""
    if "\x00" in text:
        text = text.replace("\x00", NUL_STAND_IN)
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
