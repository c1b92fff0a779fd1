"""What a person says through a tool's result: why a call was refused, and how a question was answered."""

from __future__ import annotations

import re
from collections.abc import Iterator

ASKING = "AskUserQuestion"

_REFUSED = re.compile(  # the client's own sentence, at the very beginning: a tool's output may quote it anywhere
    r"(?:The user doesn't want to proceed with this tool use|Permission for this tool use was denied)\."
    r" The tool use was rejected \([^)]{1,200}\)\.\s+"
    r"(?:(?:To tell you how to proceed, )?the user said:|The user provided the following reason for the rejection:)",
    re.IGNORECASE,
)
_NOTE = "\n\nNote: The user's next message may contain a correction or preference."
_FORM = re.compile(r"\s*The user (?:wants to clarify these questions|has indicated they have provided enough answers)")
_IN_FORM = re.compile(r'^[ ]*- ".*?"\n[ ]*Answer: (.*?)(?=\n[ ]*- "|\Z)', re.MULTILINE | re.DOTALL)
_IN_TEXT = re.compile(r'"="(.*?)"(?=, "|\.? You can now|\s*\Z|\.\s*\Z| user notes: | selected preview:)', re.DOTALL)
_NOTES = re.compile(r'" user notes: (.*?)(?=, "|\. You can now|\Z)', re.DOTALL)


def why_refused(text: str) -> str:
    """What a person typed in refusing a call; '' when nothing was, or it was not refused."""
    found = _REFUSED.match(text)
    if found is None:
        return ""
    words = text[found.end() :]
    words = words.rpartition(_NOTE)[0] if _NOTE in words else words
    if _FORM.match(words):  # questions instead of answers: what was chosen before stands in the client's own form
        return "\n".join(answer.strip() for answer in _IN_FORM.findall(words))
    return words.strip()


def answers(text: str, structured: object) -> str:
    """The answers to an agent's questions and what was typed beside them, a line each; not the questions."""
    given = structured.get("answers") if isinstance(structured, dict) else None
    if not isinstance(given, dict):
        return "\n".join(answer.strip() for answer in (*_IN_TEXT.findall(text), *_NOTES.findall(text)))
    noted = structured.get("annotations") if isinstance(structured, dict) else None
    noted = noted if isinstance(noted, dict) else {}
    return "\n".join(line for question, answer in given.items() for line in _said(answer, noted.get(question)))


def _said(answer: object, noted: object) -> Iterator[str]:
    chosen = [str(item).strip() for item in (answer if isinstance(answer, list) else [answer]) if isinstance(item, str)]
    notes = noted.get("notes") if isinstance(noted, dict) else None
    if any(chosen):
        yield ", ".join(filter(None, chosen))
    if isinstance(notes, str) and notes.strip() and notes.strip() not in chosen:
        yield notes.strip()
