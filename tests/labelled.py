"""Labelled questions with what they are asked of, and `howcome eval` run on them."""

from __future__ import annotations

import gzip
import json
import subprocess
from pathlib import Path
from typing import Any

from tests import processes


def rows(path: Path, *content: dict[str, Any]) -> None:
    """JSON Lines at a path, packed when its name says so."""
    data = "".join(json.dumps(row) + "\n" for row in content).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def run(*words: object) -> subprocess.CompletedProcess[str]:
    """`howcome eval` with arguments."""
    return processes.run("eval", *map(str, words))


def evaluate(*words: object) -> list[dict[str, Any]]:
    """The figures of `howcome eval --json`."""
    done = run("--json", *words)
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(done.stdout)["sets"]
    return found


def sessions_of(figures: dict[str, Any]) -> dict[str, Any]:
    """The groups of a set's figures at the level of sessions."""
    groups: dict[str, Any] = figures["levels"]["session"]
    return groups


def talks(folder: Path) -> Path:
    """Two corpora of talks between people, one of them with a picture; questions ask for sessions and turns."""
    folder.mkdir()

    def talk(corpus: str, name: str, *texts: str) -> dict[str, Any]:
        turns = [
            {"id": f"{corpus}/{name}:{at}", "role": ("Ida", "Jon")[at % 2], "text": text}
            for at, text in enumerate(texts)
        ]  # fmt: skip
        return {"corpus": corpus, "session": f"{corpus}/{name}", "ts": "2024-05-08T13:56:00", "turns": turns}

    pictured = talk("a", "one", "Look what I have drawn!", "The lighthouse keeps its lamp.")
    pictured["turns"][0]["image"] = "a crimson heron"
    rows(
        folder / "sessions.jsonl.gz", pictured, talk("a", "two", "My allotment has radishes.", "Radishes again?"),
        talk("b", "one", "The ferry sold its crimson paint.", "A heron on the ferry."),
    )  # fmt: skip
    rows(
        folder / "questions.jsonl",
        {"corpus": "a", "question": "Who drew a crimson heron?", "evidence_sessions": ["a/one"],
         "evidence_turns": ["a/one:0"], "category": "seen"},
        {"corpus": "b", "question": "Which crimson paint did the ferry sell?", "evidence_sessions": ["b/one"],
         "evidence_turns": ["b/one:0"], "category": "said"},
        {"corpus": "b", "question": "What is never said?", "evidence_sessions": [], "evidence_turns": []},
    )  # fmt: skip
    return folder
