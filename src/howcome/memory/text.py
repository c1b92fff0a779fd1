"""What people and agents give a memory: its words, the name of its owner, the projects that it holds in."""

from __future__ import annotations

from collections.abc import Sequence

from howcome.clients.decode import clean_text
from howcome.domain import memories
from howcome.domain.memories import Memory
from howcome.errors import UsageError
from howcome.redact.private_spans import strip_private
from howcome.redact.redactor import Redactor

PRIVATE = "[private]"
"""What is left of words that nobody wants kept."""


def cleaned(text: str, redactor: Redactor) -> str:
    """The words of a memory as they are kept: redacted, without private spans; UsageError for none, or too many."""
    text = redactor.redact(strip_private(clean_text(text))).strip()
    if text in ("", PRIVATE):
        raise UsageError("a memory needs words: give it a text")
    if len(text) > memories.MAX_TEXT_CHARS:
        raise UsageError(
            f"a memory is at most {memories.MAX_TEXT_CHARS} characters, this is {len(text)}: say it shortly, or"
            " write a document and remember where it is"
        )
    return text


def is_clean(text: str, redactor: Redactor) -> bool:
    """Whether nothing would be taken out of a text that was kept before, by the rules of today."""
    return cleaned(text, redactor) == text


def known_word(name: str, value: str, allowed: Sequence[str]) -> str:
    """A type or a status; UsageError where there is none of that name."""
    if value not in allowed:
        raise UsageError(f"{value!r} is no {name} of a memory; choose {', '.join(allowed)}")
    return value


def owner(agent: str | None) -> str | None:
    """The name of an owner: one short line, or none; UsageError for something else."""
    if agent is None:
        return None
    name = clean_text(agent).strip()
    if not name or len(name) > memories.MAX_AGENT_CHARS or not name.isprintable():
        raise UsageError(f"an agent's id is one line of at most {memories.MAX_AGENT_CHARS} characters")
    return name


def require_others(project: str | None, also: Sequence[str]) -> None:
    """Refuses as other projects (all are roots) those where it holds already."""
    if also and project is None:
        raise UsageError("it holds in every project already: no other one can be named")
    if project in also:
        raise UsageError(f"{project} is its own project already: name the folder of another one")


def require_in(memory: Memory, left: Sequence[str]) -> None:
    """Refuses to take a memory out of projects (roots) that it is not in, or out of its own; says what to do."""
    for root in left:
        if root == memory.project:
            raise UsageError(
                f"{root} is its own project: keep it in the other one (`howcome remember --project FOLDER`), then"
                f" `howcome forget {memory.id}`"
            )
        if root not in memory.also:
            raise UsageError(f"{memory.id} is not in {root}; it holds in {', '.join(memory.roots) or 'every project'}")
