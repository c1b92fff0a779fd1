"""Packed texts of events, unpacked when they are asked for."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard

from howcome.log.event_rows import KeptEvent, unpack

TEXTS = [" ".join(map(str, range(number, number + 100_000))) for number in range(16)]


def packed(text: str) -> bytes:
    """A text as the store packs it."""
    return zstandard.ZstdCompressor(level=1, write_content_size=True).compress(text.encode())


def kept(payload: bytes | str | None, *, with_text: bool = True) -> KeptEvent:
    """An event as a query gives it."""
    nothing = (None,) * 5
    row = (1, b"k" * 16, 0, 0, "s", "claude-code", "/p", 1, 1, *nothing, 0, None, 9, "excerpt", payload)
    return KeptEvent(row, with_text=with_text)


def test_a_packed_text_is_there_however_often_it_is_asked_for() -> None:
    """The first to ask unpacks it."""
    event = kept(packed("a long text"))
    assert (event.text, event.text) == ("a long text", "a long text")


def test_a_text_that_is_not_packed_is_the_payload_or_the_excerpt() -> None:
    """Short texts are stored as they are."""
    assert (kept("short").text, kept(None).text, kept(packed("x"), with_text=False).text) == ("short", "excerpt", None)


def test_an_event_has_no_other_attributes_than_an_event_has() -> None:
    """Only the text comes late."""
    with pytest.raises(AttributeError, match="title"):
        _ = kept(packed("x")).title  # type: ignore[attr-defined]


def test_threads_unpack_at_the_same_time() -> None:
    """Each thread has an unpacker of its own."""
    payloads = [packed(text) for text in TEXTS] * 10
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda payload: unpack(payload, ""), payloads)) == TEXTS * 10
