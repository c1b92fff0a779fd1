"""A file as complete lines from an offset: nothing read twice, nothing left out, whatever the file is."""

import gzip
import io
import os
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hostile.scale import examples

from howcome.clients.files import MAX_LINE_BYTES, Line, LineReader, digest_of, open_transcript
from howcome.errors import TranscriptError


class Chunks(io.BytesIO):
    """A stream that hands out its bytes in pieces of one size, as pipes and disks may."""

    def __init__(self, data: bytes, size: int) -> None:
        super().__init__(data)
        self.size = size

    def read(self, limit: int | None = -1, /) -> bytes:
        """At most one piece."""
        return super().read(self.size if limit is None or limit < 0 else min(limit, self.size))

    def read1(self, limit: int | None = -1, /) -> bytes:
        """At most one piece."""
        return self.read(limit)


def read(data: bytes, size: int = 1 << 20) -> tuple[list[Line], LineReader]:
    """The lines of some bytes that arrive in pieces."""
    reader = LineReader(Chunks(data, size), 0)
    return list(reader), reader


def rest(reader: LineReader) -> bytes:
    """The unfinished last line."""
    return (reader.rest.data or b"") if reader.rest else b""


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
@settings(max_examples=examples(150), deadline=None)
def test_lines_and_tail_are_the_file(parts: list[bytes], size: int) -> None:
    """Lines and tail put together are the bytes of the file, in any pieces, and every range is right."""
    data = b"\n".join(parts)
    lines, reader = read(data, size)
    assert b"".join((line.data or b"") + b"\n" for line in lines) + rest(reader) == data
    assert all(data[line.start : line.end] == (line.data or b"") + b"\n" for line in lines)


@pytest.mark.parametrize("size", [1 << 20, 700_001])
@pytest.mark.parametrize(
    ("length", "is_kept"), [(MAX_LINE_BYTES - 1, True), (MAX_LINE_BYTES, True), (MAX_LINE_BYTES + 1, False)]
)
def test_the_limit_of_a_line_does_not_depend_on_the_pieces(size: int, length: int, is_kept: bool) -> None:
    """A line of up to 16 MB is read, a longer one only hashed, wherever the reads happen to end."""
    line = b"x" * length
    lines, reader = read(b"first\n" + line + b"\nlast\n", size)
    assert [found.end - found.start for found in lines] == [6, length + 1, 5]
    assert (lines[1].data == line) is is_kept
    assert is_kept or lines[1].digest == digest_of(line)
    assert (rest(reader), lines[2].data) == (b"", b"last")


@pytest.mark.parametrize("size", [1 << 20, 700_001])
def test_the_lines_after_a_long_one_are_lines(size: int) -> None:
    """What follows an oversize line in the same piece is read like anything else."""
    data = b"x" * (MAX_LINE_BYTES + (3 << 20)) + b"\none\ntwo\n" + b"y" * 100 + b"\nthree\nfo"
    lines, reader = read(data, size)
    assert [line.data for line in lines] == [None, b"one", b"two", b"y" * 100, b"three"]
    assert all(data[line.end - 1 : line.end] == b"\n" for line in lines)
    assert rest(reader) == b"fo"


def test_an_unfinished_line_beyond_the_limit_is_only_counted() -> None:
    """Its bytes are not kept in memory; its size and hash are known."""
    line = b"x" * (MAX_LINE_BYTES + 5)
    lines, reader = read(b"first\n" + line)
    assert [found.data for found in lines] == [b"first"]
    assert reader.rest is not None
    assert (reader.rest.data, reader.rest.digest) == (None, digest_of(line))
    assert reader.rest.end - reader.rest.start == len(line)


@pytest.mark.parametrize(
    "kind", ["symlink", "dangling symlink", "fifo", "folder", "device", "socket", "missing", "NUL"]
)
def test_only_a_regular_file_is_a_transcript(kind: str, tmp_path: Path) -> None:
    """Anything else is refused at once: nothing is followed, nothing is waited for."""
    path = tmp_path / "a.jsonl"
    if kind == "symlink":
        (tmp_path / "b").write_bytes(b"{}\n")
        path.symlink_to(tmp_path / "b")
    elif kind == "dangling symlink":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "socket":
        import socket

        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    names = {"device": "/dev/zero", "NUL": "a\0b"}
    with pytest.raises(TranscriptError):
        open_transcript(names.get(kind, str(path)))


def test_a_packed_file_is_unpacked(tmp_path: Path) -> None:
    """A .gz of one or more members reads as one stream."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(gzip.compress(b"one\n") + gzip.compress(b"two\nth"))
    with open_transcript(str(path)) as stream:
        reader = LineReader(stream, 0)
        assert [line.data for line in reader] == [b"one", b"two"]
    assert rest(reader) == b"th"


def damaged(kind: str) -> tuple[bytes, bytes]:
    """A packed file that is not whole, and what it should have held."""
    content = b"".join(b'{"n": %d, "x": "%s"}\n' % (number, os.urandom(12).hex().encode()) for number in range(20_000))
    packed = gzip.compress(content)
    if kind == "cut":
        return packed[: len(packed) // 2], content
    if kind == "flipped":
        return packed[: len(packed) // 2] + b"\xff" * 64 + packed[len(packed) // 2 + 64 :], content
    if kind == "wrong checksum":
        return packed[:-8] + b"\0" * 8, content
    return packed + b"garbage", content


@pytest.mark.parametrize("kind", ["cut", "flipped", "wrong checksum", "garbage behind"])
def test_the_lines_before_the_damage_of_a_packed_file_are_read(kind: str, tmp_path: Path) -> None:
    """What can be unpacked is handed out, and only then the damage reported."""
    path = tmp_path / "a.jsonl.gz"
    data, content = damaged(kind)
    path.write_bytes(data)
    found: list[bytes] = []
    with open_transcript(str(path)) as stream, pytest.raises(TranscriptError):  # noqa: PT012 - the lines come first
        for line in LineReader(stream, 0):
            found.append(line.data or b"")  # noqa: PERF401 - what was found before the error counts
    joined = b"\n".join(found[: 20_000 if kind != "flipped" else 5000])
    assert content.startswith(joined)
    assert len(joined) > len(content) // 5


def test_no_packed_bytes_at_all_are_reported(tmp_path: Path) -> None:
    """A .gz that is none says so; one without a byte is an empty transcript."""
    path = tmp_path / "a.jsonl.gz"
    path.write_bytes(zlib.compress(b"one\n"))
    with open_transcript(str(path)) as stream, pytest.raises(TranscriptError):
        list(LineReader(stream, 0))
    path.write_bytes(b"")
    with open_transcript(str(path)) as stream:
        assert list(LineReader(stream, 0)) == []
