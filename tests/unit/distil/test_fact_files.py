"""What a client's own memory file says, read as a memory; and whether an instruction file still says a line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from howcome.learn.in_step import (
    MAX_FILE_BYTES,
    MAX_INSTRUCTION_BYTES,
    MAX_TEXT_CHARS,
    fact_in,
    notes_in,
    plain_text,
    says,
    words_of,
)

HEAD = "---\nname: quay-tests\ndescription: Quay tests need the tide server\ntype: {}\n---\n\n"


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        (
            HEAD.format("feedback") + "Start it with `make tide`.\nIt takes 20 s.",
            ("pattern", "Quay tests need the tide server. Start it with `make tide`. It takes 20 s."),
        ),
        (HEAD.format("project"), ("context", "Quay tests need the tide server.")),
        (
            "---\nname: a\nmetadata:\n  description: 'The crane is a mock in tests.'\n  type: \"feedback\"\n---\n",
            ("pattern", "The crane is a mock in tests."),
        ),
        (
            "---\ndescription: >-\n  A mock.\ntype: user\n---\nThe crane is a mock in tests.",
            ("context", "The crane is a mock in tests."),
        ),
        (
            "---\r\ndescription: The crane is a mock\r\ntype: feedback\r\n---\r\nThe crane is a mock.\r\nIn tests.",
            ("pattern", "The crane is a mock. In tests."),
        ),
        (
            "# Crane\n\nThe **crane** is a mock in tests.\n\n```\nmake crane\n```\n\n**Why:** The real one is slow.",
            ("context", "The crane is a mock in tests. Why: The real one is slow."),
        ),
        ("---\ntype: feedback\n\nThe head never ends here.", ("context", "type: feedback The head never ends here.")),
        ("---\ndescription:\n---\n", ("context", "")),
        ("ok", ("context", "")),
        ("", ("context", "")),
    ],
    ids=["plain", "no body", "nested", "folded", "windows", "no head", "open head", "empty", "scrap", "nothing"],
)  # fmt: skip
def test_a_fact_is_its_description_and_its_first_sentences(text: str, fact: tuple[str, str]) -> None:
    """Feedback is a pattern, all else context."""
    assert fact_in(text) == fact


def test_it_ends_with_a_whole_sentence() -> None:
    """As many as have room; of a first one that is too long the beginning."""
    sentence = "The berth is closed at night because of the tide."
    _, text = fact_in("\n".join([sentence.replace("night", f"night {number}") for number in range(20)]))
    assert MAX_TEXT_CHARS - len(sentence) - 4 < len(text) <= MAX_TEXT_CHARS
    assert text.endswith("because of the tide.")
    _, text = fact_in("berth " * 100)
    assert MAX_TEXT_CHARS // 2 < len(text) <= MAX_TEXT_CHARS
    assert text.endswith("berth…")


@pytest.mark.parametrize("piece", ["\n", "---\n", "type:\n", " \n\t", "**", "[a](", "> "], ids=repr)
def test_no_file_takes_long(piece: str) -> None:
    """Whatever it repeats: as long as its length, not its square."""
    started = time.process_time()
    fact_in("---\n" + piece * (MAX_FILE_BYTES // len(piece)) + "\n---\n")
    words_of(piece * (MAX_INSTRUCTION_BYTES // len(piece)))
    assert time.process_time() - started < 3


def test_what_is_no_plain_file_is_not_read(tmp_path: Path) -> None:
    """Listed, because it is there, but neither followed nor read: links, folders, what is large; never the index."""
    plain = tmp_path / "plain.md"
    plain.write_bytes(b"\xef\xbb\xbfThe berth \xff is closed at night.")
    (tmp_path / "MEMORY.md").write_text("- [berth](plain.md) closed at night\n")
    (tmp_path / "notes.txt").write_text("The berth is open at night.")
    (tmp_path / "link.md").symlink_to(plain)
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "large.md").write_bytes(b"The berth is closed at night. " * (MAX_FILE_BYTES // 30 + 1))
    listed = notes_in(str(tmp_path))
    assert listed is not None
    assert {Path(path).name: state is not None for path, state in listed.items()} == {
        "plain.md": True, "link.md": False, "folder.md": False, "large.md": False,
    }  # fmt: skip
    assert plain_text(str(plain), MAX_FILE_BYTES) == "The berth \ufffd is closed at night."
    names = ("link.md", "folder.md", "large.md", "none.md")
    assert [plain_text(str(tmp_path / name), MAX_FILE_BYTES) for name in names] == [None] * 4


def test_a_folder_that_is_not_there_or_a_link_cannot_be_read(tmp_path: Path) -> None:
    """Not the same as an empty one."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    assert notes_in(str(tmp_path / "empty")) == {}
    assert notes_in(str(tmp_path / "link")) is None
    assert notes_in(str(tmp_path / "none")) is None


@pytest.mark.parametrize(
    ("file", "is_said"),
    [
        ("# Rules\n- Use `tide_clock()` and never the system clock of the quay.\n", True),
        ("* **Use** tide_clock() and\n  never the   system clock of the Quay", True),
        ("Use [`tide_clock()`](docs/clock.md) and never the system clock of the quay, ever.", True),
        ("Use [`tide_clock()`](docs/clock.md)\nand never the system clock of the quay, ever.", True),
        ("- Use `tide_clock()` and the system clock of the quay.\n", False),
        ("- Use `tide_clock()` and never the system clock of the quays.\n", False),
        ("", False),
    ],
)
def test_a_line_is_said_whatever_its_blanks_and_marks(file: str, is_said: bool) -> None:
    """Its words in their order, in the file; markdown and line breaks are neither here nor there."""
    line = "CLAUDE.md says: Use `tide_clock()` and never the system clock of the quay."
    assert says(words_of(file), line) is is_said
