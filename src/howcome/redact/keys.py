"""Blocks of private keys, however they are shown: with line numbers, file names, diff marks, quotes, or cut in half."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

# Patterns begin with a letter, not with what may stand before it: the engine finds letters ten times as fast.
_BEGIN = re.compile(r"BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{2,5})?|Private-Lines: [0-9]{1,3}")
_END = re.compile(r"END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{2,5})?|Private-MAC: [0-9a-f]{40,64}")
_DASHES_CHARS = 6
# How the DER of a private key begins in base64 (RFC 8017, 5915, 5208; OpenSSH's PROTOCOL.key): no header is needed.
_HEAD = re.compile(
    r"(?:MII[A-Za-z0-9+/]{3}IBA(?=AK)|MII[A-Za-z0-9+/]{3}IBADAN|MH[ch]CAQEE|MIGkAgEBBD|MI[GH][A-Za-z0-9+/]AgEAM"
    r"|MC4CAQAwBQYDK2Vw|b3BlbnNzaC1rZXkt)(?=[A-Za-z0-9+/=]{20})"
)
_RUN = re.compile(r"[A-Za-z0-9+/]{16,}={0,2}")
_LAST_RUN = re.compile(
    r"[^\r\n]{0,160}\r?\n[^\r\n]{0,200}?(?<![A-Za-z0-9+/=])([A-Za-z0-9+/]{4,}={0,2})"
    r"(?![A-Za-z0-9+/=])"
)
_LAST_LINE = re.compile(r"[A-Za-z0-9+/]{4,}={0,2}[^A-Za-z0-9]{0,8}$")
_MOST_CHARS = 40_000
"""A key of 16,384 bits with a long file name before each of its lines."""

_GAP_CHARS = 240
_MOST_LINE_CHARS = 1000
_FIRST_GAP_CHARS = 600
_LINE_RUN_CHARS = 40
_LEAST_SHARE = 0.3
_MIXED = re.compile(r"(?=[^A-Z]*[A-Z])(?=[^a-z]*[a-z]).*[0-9+/=]")


def key_blocks(text: str) -> list[tuple[int, int]]:
    """The places of private keys in the normal view of a text, in order and apart."""
    found: list[tuple[int, int]] = []
    for start, end in sorted([*_begun(text), *_headless(text), *_ended(text)]):
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def _begun(text: str) -> Iterator[tuple[int, int]]:
    """From a header to its end line, or as far as lines of base64 follow it."""
    begins, ends = list(_BEGIN.finditer(text)), list(_END.finditer(text))
    starts = [end.start() for end in ends]
    for number, begin in enumerate(begins):
        index = bisect_left(starts, begin.end())
        end = ends[index] if index < len(ends) and starts[index] - begin.end() <= _MOST_CHARS else None
        limit = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        if end and limit < end.start():
            end = None
        if end:
            if _is_body(text[begin.end() : end.start()]):
                yield _dashes_before(text, begin.start()), end.end()
        elif (stop := _run_on(text, begin.end(), _FIRST_GAP_CHARS, limit)) > begin.end():
            yield _dashes_before(text, begin.start()), stop


def _headless(text: str) -> Iterator[tuple[int, int]]:
    """A body whose first bytes say what it is."""
    covered = 0
    for head in _HEAD.finditer(text):
        if head.start() >= covered and not text[max(0, head.start() - 1) : head.start()].isalnum():
            run = _RUN.match(text, head.start())
            covered = _run_on(text, run.end() if run else head.end(), _GAP_CHARS, len(text))
            yield head.start(), covered


def _ended(text: str) -> Iterator[tuple[int, int]]:
    """The lower half of a block: lines of base64 before an end line."""
    floor = 0
    for end in _END.finditer(text):
        stop = _dashes_before(text, end.start())
        floor = max(floor, stop - _MOST_CHARS)
        start = _lines_start(text, floor, stop)
        if any(len(run[0]) >= _LINE_RUN_CHARS for run in _RUN.finditer(text, start, stop)):
            yield start, end.end()
        floor = end.end()


def _lines_start(text: str, floor: int, stop: int) -> int:
    """Where the lines of base64 begin that end at a place."""
    lines = text[floor:stop].split("\n")
    if len(lines[-1]) > _GAP_CHARS:  # all on one line
        return _line_run_start(text, floor, stop)
    place = start = stop - len(lines[-1])
    for number, line in enumerate(reversed(lines[:-1])):
        longest = max((len(run[0]) for run in _RUN.finditer(line)), default=0)
        if longest < _LINE_RUN_CHARS and (number or not _LAST_LINE.search(line)):
            break
        place -= len(line) + 1
        start = place
    return start


def _dashes_before(text: str, place: int) -> int:
    before = text[max(0, place - _DASHES_CHARS) : place]
    return place - len(before) + len(before.rstrip("- "))


def _line_run_start(text: str, floor: int, stop: int) -> int:
    start = stop
    for run in reversed(list(_RUN.finditer(text, floor, stop))):
        if start - run.end() > _GAP_CHARS:
            break
        start = run.start()
    return start


def _is_body(between: str) -> bool:
    """Whether what stands between two marks is mostly base64."""
    runs = [match[0] for match in _RUN.finditer(between)]
    return bool(runs) and max(map(len, runs)) >= 24 and sum(map(len, runs)) >= _LEAST_SHARE * len(between)


def _run_on(text: str, end: int, gap_chars: int, limit: int) -> int:
    """How far lines of base64 follow on each other."""
    stop, limit, lines = end, min(limit, end + _MOST_CHARS), 6 if gap_chars == _FIRST_GAP_CHARS else 1
    place = stop
    while run := _RUN.search(text, place, min(limit, stop + gap_chars + _MOST_LINE_CHARS)):
        if run.start() - stop > gap_chars or text.count("\n", stop, run.start()) > lines:
            break
        place = run.end()
        if len(run[0]) >= _LINE_RUN_CHARS:  # a shorter one is part of a file's name before a line, or the last line
            stop, gap_chars, lines = place, _GAP_CHARS, 1
    if stop > end or lines == 1:
        last = _LAST_RUN.match(text, stop, min(limit, stop + 2 * _GAP_CHARS))
        if last and (last[1].endswith("=") or _MIXED.match(last[1])):
            stop = last.end(1)
    return stop
