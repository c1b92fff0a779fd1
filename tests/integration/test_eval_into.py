"""`howcome eval --into`: tables in a part of somebody's document, and nothing else of it touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.labelled import run, talks


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    """Talks between people (`tests.labelled.talks`)."""
    return talks(tmp_path / "talks")


def document(path: Path, *lines: str) -> Path:
    """A text with the lines."""
    path.write_text("".join(line + "\n" for line in lines))
    return path


MARK, END = "<!-- howcome eval: results -->", "<!-- end -->"


def test_tables_are_written_into_a_part_of_a_document(conversations: Path, tmp_path: Path) -> None:
    """In place of what stood there, with the command and the configuration above; all else stays as it was."""
    notes = document(tmp_path / "notes.md", "# Mine", MARK, "old", END, "after", "<!-- howcome eval: x -->", "y", END)
    notes.chmod(0o640)
    done = run("--baseline", "--ablation", "--into", notes, conversations)
    assert done.returncode == 0, done.stderr
    lines = notes.read_text().splitlines()
    assert lines[:2] == ["# Mine", MARK]
    assert lines[lines.index(END) :] == [END, "after", "<!-- howcome eval: x -->", "y", END]
    assert "old" not in lines
    text = "\n".join(lines[: lines.index(END)])
    assert "`howcome eval talks --baseline --ablation`" in text
    assert str(tmp_path) not in text
    assert "no model, by words alone" in text
    assert "3 questions" in text
    assert "| talks, sessions | 2 | 1.000 [1.00 1.00] |" in text
    assert "| talks, turns | said | 1 |" in text
    assert "| without fulltext | **\N{MINUS SIGN}1.000 [\N{MINUS SIGN}1.000 \N{MINUS SIGN}1.000]**" in text
    widths = {line.count("|") for line in lines if line.startswith(("| talks, ", "| set | n | any@5"))}
    assert min(widths) > 5
    assert notes.stat().st_mode & 0o777 == 0o640


def test_a_document_without_the_part_gets_it_at_its_end(conversations: Path, tmp_path: Path) -> None:
    """And it is said before anything is measured; run again, it is replaced."""
    notes = document(tmp_path / "notes.md", "# Mine")
    done = run("--into", notes, "--part", "talks-1", conversations)
    assert "has no part 'talks-1' yet: it will be added at the end" in done.stderr
    assert done.stderr.index("no part") < done.stderr.index("reading")
    first = notes.read_text()
    assert first.startswith("# Mine\n\n<!-- howcome eval: talks-1 -->\n\n`howcome eval talks`")
    assert "no part" not in run("--into", notes, "--part", "talks-1", conversations).stderr
    assert notes.read_text().count("howcome eval: talks-1") == 1
    assert len(notes.read_text().splitlines()) == len(first.splitlines())
    made = tmp_path / "new.md"
    assert run("--into", made, conversations).returncode == 0
    assert made.read_text().startswith(MARK)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([MARK, "text"], "has no end"),
        ([MARK, "text", "<!-- howcome eval: other -->", END], "has no end"),
        ([MARK, END, MARK, END], "two parts are called 'results', in lines 1 and 3"),
    ],
)
def test_a_part_that_cannot_be_replaced_is_refused_before_the_run(
    conversations: Path, tmp_path: Path, lines: list[str], said: str
) -> None:
    """Nothing is measured and nothing written: a missing end would swallow the rest of the document."""
    notes = document(tmp_path / "notes.md", *lines)
    before = notes.read_bytes()
    done = run("--into", notes, conversations)
    assert done.returncode != 0
    assert said in done.stderr
    assert "reading" not in done.stderr
    assert notes.read_bytes() == before


@pytest.mark.parametrize("words", [["--part", "a b"], ["--part", "--> <b>"], ["--into", "missing/folder/x.md"]])
def test_places_that_are_none_are_refused(conversations: Path, tmp_path: Path, words: list[str]) -> None:
    """A name that is no name, a folder that is not there."""
    done = run("--into", tmp_path / "notes.md", *words, conversations)
    assert done.returncode != 0
    assert "reading" not in done.stderr
    assert not (tmp_path / "notes.md").exists()
