"""What commits and pull requests that went through say: the subject, and the line of the body that names a cause."""

from __future__ import annotations

from howcome.domain import words
from howcome.learn.draft import Draft, quoted
from howcome.learn.sources.seen import lasting, named, one_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.sources.seen import Seen

MAX_SUBJECT_CHARS, MAX_LINE_CHARS = 90, 190


def find(seen: Seen) -> list[Draft]:
    """The first message of an exchange whose body names a cause."""
    for said in seen.scene.agent_said():
        subject, _, body = said.text.strip().partition("\n") if said.is_published else ("", "", "")
        lines = [line for line in lasting(said) if words.has(line, "blames")] if body else []
        best = seen.best((float(named(line)), line, said) for line in lines if named(line))
        if best is not None and not seen.is_repeated(subject, said.event):
            text = f"Committed {quoted(one_line(subject, MAX_SUBJECT_CHARS))}: {one_line(best[0], MAX_LINE_CHARS)}"
            return [Draft("decision", text, [said.event])]
    return []
