"""What transcripts say of tokens, read like every transcript: in chunks."""

from __future__ import annotations

import io
import json

from howcome.clients.claude_code_records import spent_in


class Counting(io.RawIOBase):
    """A file without a buffer, which counts how often it is asked."""

    def __init__(self, content: bytes) -> None:
        self.asked, self._inner = 0, io.BytesIO(content)

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # typeshed's Buffer is no run-time name
        """Fills a buffer, and counts that."""
        self.asked += 1
        return self._inner.readinto(buffer)


def test_a_transcript_is_read_in_chunks() -> None:
    """Line by line, a file without a buffer is asked for every byte: a minute for 300 MB."""
    usage = {"input_tokens": 3, "output_tokens": 20}
    record = {"type": "assistant", "sessionId": "s", "message": {"id": "m", "usage": usage}}
    stream = Counting((json.dumps(record) + "\n").encode() * 200)
    assert [one.tokens for one in spent_in(stream)] == [(3, 20, 0, 0)] * 200  # type: ignore[arg-type]
    assert stream.asked < 5
