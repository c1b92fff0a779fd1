"""Whether all that users said is heard: `python benchmarks/heard.py DATA`.

DATA holds native transcripts of Claude Code (.jsonl, .jsonl.gz, in folders of any depth). What was typed while the
agent worked, what was typed in refusing a call and what answered its questions is counted in the raw records, by string
search and without any reader of ours, and looked for among the stored events of the users. A row says how many texts
there are (a session's equal ones once), how many of them are events, how many were said more often, or less often, than
there are events of them. Only figures are printed; `--list` shows the texts that differ.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from howcome.app import open_app
from howcome.clients.discover import named_transcripts
from howcome.domain.events import USER_PROMPT
from howcome.domain.stored import Scope
from howcome.settings import read_settings

Said = Counter[tuple[str, str]]
"""How often a session's user said a text."""

NOT_TYPED = ("<", "{", "/")
"""How notices of the client begin, and commands to it."""

MARKS = ("the user said:\n", "reason for the rejection:")
FORM = ("The user wants to clarify", "The user has indicated")
NOTE = "\n\nNote: The user's next message"


def folded(text: str) -> str:
    """A text as it is compared: what is redacted, and blanks, make no difference."""
    return " ".join(re.sub(r"<redacted:[^>]*>|REDACTED", "", text).split())


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a transcript."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def texts_in(content: object) -> Iterator[str]:
    """The texts of a content."""
    if isinstance(content, str):
        yield content
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "text":
            yield str(block.get("text"))


def refusals_in(content: object) -> Iterator[str]:
    """What stands behind "the user said" in failed results."""
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool_result" and block.get("is_error"):
            text = "\n".join(texts_in(block.get("content")))
            for mark in MARKS:
                words = text.partition(mark)[2].partition(NOTE)[0] if mark in text[:400] else ""
                if words.strip() and not words.startswith(FORM):
                    yield words


class Heard:
    """What the raw records say, by what it was said in."""

    def __init__(self) -> None:
        self.queued, self.taken_back, self.delivered = Counter(), Counter(), Counter()  # type: Said, Said, Said
        self.refusals, self.answers, self.typed = Counter(), Counter(), Counter()  # type: Said, Said, Said

    def read(self, session: str, record: dict[str, Any]) -> None:
        """One record."""
        kind, content = record.get("type"), (record.get("message") or {}).get("content")
        if kind == "queue-operation" and isinstance(text := record.get("content"), str):
            into = {"enqueue": self.queued, "popAll": self.taken_back}.get(str(record.get("operation")))
            if into is not None and folded(text) and not text.startswith(NOT_TYPED):
                into[session, folded(text)] += 1
        attachment = record.get("attachment") or {}
        is_prompt = attachment.get("commandMode", "prompt") == "prompt" and not attachment.get("isMeta")
        if attachment.get("type") == "queued_command" and is_prompt:
            text = "\n".join(texts_in(attachment.get("prompt")))
            self.delivered.update([(session, folded(text))] if not text.startswith(NOT_TYPED) else [])
        if kind == "user":
            self.typed.update((session, folded(text)) for text in texts_in(content))
            self.refusals.update((session, folded(text)) for text in refusals_in(content))
            result = record.get("toolUseResult")
            given = result.get("answers") if isinstance(result, dict) and "questions" in result else None
            if given and any(given.values()):
                self.answers[session, folded(" ".join(map(str, given.values())))] += 1

    def rows(self) -> dict[str, Said]:
        """What has to be heard: how often each text was said."""
        queued = self.queued.keys() | self.delivered.keys()
        meanwhile = {
            text: max(self.queued[text] - self.taken_back[text], self.delivered[text] + self.typed[text])
            for text in queued
        }
        return {
            "typed while the agent worked": Counter({text: count for text, count in meanwhile.items() if count}),
            "typed in refusing a call": self.refusals,
            "answers to questions": self.answers,
        }


def stored(paths: list[Path], home: str) -> Said:
    """What the users said, of a new store."""
    said: Said = Counter()
    with open_app(read_settings({**os.environ, "HOWCOME_HOME": home}), fixed_root=home) as app:
        for found in named_transcripts([str(path) for path in paths]):
            app.ingest.file(found)
        for session in app.events.recent_sessions(Scope.everything(), 1 << 30):
            for event in app.events.session(session.row, with_text=True):
                if event.kind == USER_PROMPT and event.agent_id is None:
                    said[session.name, folded(event.text or event.excerpt)] += 1
    return said


def main() -> None:
    """Print a row for each way to say something."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--list", action="store_true", help="print the texts that are missing, or too often there")
    options = parser.parse_args()
    paths = sorted(path for path in options.data.rglob("*.jsonl*") if "sessionId" in next(iter(records(path)), {}))
    heard = Heard()
    for path in paths:
        session = path.name.partition(".")[0]
        for record in records(path):
            heard.read(str(record.get("sessionId") or session), record)
    with tempfile.TemporaryDirectory(prefix="howcome-heard-") as home:
        found = stored(paths, home)
    print(f"{len(paths)} transcripts; taken back before it was said: {len(heard.taken_back)}")
    print(f"{'':30}{'texts':>7}{'events':>8}{'missing':>9}{'too few':>9}{'too many':>10}")
    for name, said in heard.rows().items():
        missing = [text for text in said if not found[text]]
        few = [text for text in said if 0 < found[text] < said[text]]
        many = [text for text in said if found[text] > said[text]]
        here = len(said) - len(missing)
        print(f"{name:30}{len(said):7}{here:8}{len(missing):9}{len(few):9}{len(many):10}")
        if options.list:
            for label, texts in (("missing", missing), ("too few", few), ("too many", many)):
                for session, text in texts:
                    print(f"  {label} {session[:8]} {said[session, text]} {found[session, text]} {text[:100]!r}")


if __name__ == "__main__":
    main()
