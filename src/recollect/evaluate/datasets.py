"""Data sets as they lie on disk, told apart by what is in the folder, never by its name.

* transcripts and questions: `transcripts/*.jsonl[.gz]` (native records) with `questions.jsonl[.gz]`: rows with
  `question`, `evidence_sessions`, optional `category`, `before` (ISO time: only what is older counts), `self` (the
  session that asks, never an answer), `leak`, `leak_tools` (left out when either is true);
* secrets: `secrets.jsonl[.gz]` and `clean.jsonl[.gz]`: rows with `text` and optional `source`, `rule`.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path

from recollect.errors import UsageError


def read_rows(path: Path) -> Iterator[dict[str, object]]:
    """The objects of a JSON Lines file, unpacked when its name says so."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.strip():
                yield json.loads(line)


def find(folder: Path, stem: str) -> Path | None:
    """`stem.jsonl` or `stem.jsonl.gz` in a folder, when it is there."""
    for suffix in (".jsonl", ".jsonl.gz"):
        path = folder / f"{stem}{suffix}"
        if path.is_file():
            return path
    return None


def find_sets(path: Path) -> list[Path]:
    """The data sets at or below a folder.

    Raises:
        UsageError: there are none; the message says what was looked for.
    """
    folders = [path, *sorted(child for child in path.rglob("*") if child.is_dir())] if path.is_dir() else []
    found = [folder for folder in folders if kind_of(folder)]
    if not found:
        raise UsageError(
            f"{path}: no data set here: expected transcripts/ with questions.jsonl, or secrets.jsonl with clean.jsonl"
        )
    return found


def kind_of(folder: Path) -> str | None:
    """'sessions' or 'secrets', by what a folder holds; None when it is no data set."""
    if find(folder, "questions") and (folder / "transcripts").is_dir():
        return "sessions"
    if find(folder, "secrets") and find(folder, "clean"):
        return "secrets"
    return None


def clean_questions(folder: Path) -> list[dict[str, object]]:
    """The questions of a folder without leaks of either kind."""
    path = find(folder, "questions")
    rows = read_rows(path) if path else iter(())
    return [row for row in rows if not row.get("leak") and not row.get("leak_tools")]
