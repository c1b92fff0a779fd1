"""What Claude Code's transcripts say of tokens and cost.

Each block of an answer is a record that repeats the answer's usage; the last one has all output tokens. A client since
2.1.300 or so also notes what the session has cost so far.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING

from howcome.clients.decode import decode_record
from howcome.clients.files import LineReader
from howcome.clients.records import parse_time_ms, text_field
from howcome.domain.spending import Spent
from howcome.errors import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from howcome.clients.records import Record

_FIELDS = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def spent_in(lines: BinaryIO) -> Iterator[Spent]:
    """What each record says that its request took, or that its session cost so far."""
    with lines:
        for line in LineReader(lines, 0):  # the stream has no buffer: by itself it reads byte by byte
            data = line.data or b""
            if b'"usage"' in data or b'"totalCostUSD"' in data:
                with suppress(RecordError):
                    yield from _spent(decode_record(data, json.loads))  # no text of it is kept


def _spent(record: Record) -> Iterator[Spent]:
    session, cost = text_field(record, "sessionId") or "", record.get("totalCostUSD")
    if isinstance(cost, int | float):
        yield Spent("", session, cost_usd=float(cost))
    message = record.get("message")
    usage = message.get("usage") if isinstance(message, dict) else None
    if isinstance(usage, dict) and isinstance(message, dict) and record.get("type") == "assistant":
        tokens = tuple(count if isinstance(count := usage.get(name), int) else 0 for name in _FIELDS)
        request = text_field(message, "id") or text_field(record, "uuid") or ""
        ts_ms, branch = parse_time_ms(record.get("timestamp")), text_field(record, "gitBranch")
        yield Spent(request, session, ts_ms, branch, text_field(record, "agentId"), tokens)
