"""Candidates: what one exchange of a session taught, before it is weighed against what is known already."""

from __future__ import annotations

import re

from howcome.domain import events, memories
from howcome.domain.patterns import late

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_TEXT_CHARS = 20
MAX_TEXT_CHARS = memories.MAX_TEXT_CHARS

TOO_SHORT, TOO_LONG, SECRET, REPEATED = "too_short", "too_long", "secret", "repeated"
OTHER_PROJECT = "other_project"
REASONS = (TOO_SHORT, TOO_LONG, SECRET, REPEATED, OTHER_PROJECT)
"""Why something that was said became no memory.

secret: there is one in it, or was; repeated: the same exchange says it already; other_project: what bears it out was
said in several projects.
"""

WISH = "wish: "
"""What the subject of a user's wish begins with, before its telling words in their order: the same wish again, in
whatever session, is one memory with more witnesses, never a later one that takes its place."""

STANDING_SESSIONS = 3
"""What is said in so many sessions holds until somebody says otherwise."""

_SOURCE = late(r"(?:(?:Plan|Committed)(?: “(.*?)”)?|\S+ says): ")
_WORDS = late(r"The user(?:,| refused)?\b.*?: “(.+?)”(?:\.? ((?:Then|Instead)\b.*)|$)", re.DOTALL)
_FRAME = late(
    r"^The user(?=: “)|^The user(?:, when the agent said|, during| refused)(?= (?:[`“]|the |a |\w+ of `))"
    r"|^(?:Asked|After)(?= “)|, the user chose(?= “)"
    r"|(?<=[.!?…”`] )(?:The user(?=: “)|Then changed:|Then:|Instead:|Not:)"
)
"""What howcome puts around what was said; `_WORDS` reads it."""


def without_frame(text: str) -> str:
    """A memory without the words that howcome put around what was said: nobody means them who searches for it."""
    return _FRAME.sub(" ", text) if "“" in text else text  # whoever writes by hand means these words


def users_words(text: str) -> str:
    """The user's own words in a memory that quotes them beside what they were about; "" in every other."""
    return words_and_outcome(text)[0]


def words_and_outcome(text: str) -> tuple[str, str]:
    """The user's own words in a memory that quotes them, and what was done then; "" for what it has not."""
    found = _WORDS.match(text)
    return (found[1], found[2] or "") if found else ("", "")


def plan_and_line(text: str) -> tuple[str, str]:
    """The title of the plan or the commit that a memory is of ("": of none), and what it says without its source."""
    found = _SOURCE.match(text)
    return (found[1] or "", text[found.end() :]) if found else ("", text)


def asked_and_chosen(text: str) -> tuple[str, str, list[str]]:
    """The question of a memory of an answer, what was chosen, and the options that were not; nothing of any other."""
    asked, mark, rest = text.removeprefix("Asked “").partition("”, the user chose “")
    chosen, _, others = rest.partition(" Not: ")
    return (asked, chosen, others.rstrip(".").split("; ") if others else []) if mark else ("", "", [])


def reverted(text: str) -> str:
    """The subject of the commit that a memory says was reverted; "" of any other."""
    return text.removeprefix(memories.REVERTED).partition("”")[0] if text.startswith(memories.REVERTED) else ""


_FAILED = late(r"`(.+?)` failed: (.*)\. (?:`(.+)` worked|It worked after `(.+)`)\.", re.DOTALL)


def failed_and_worked(text: str) -> tuple[str, str, str]:
    """The commands of a memory of a failed one: that, the other one that worked, or the one after which it worked."""
    found = _FAILED.fullmatch(text)
    return (found[1], found[3] or "", found[4] or "") if found else ("", "", "")


def complaint_of(text: str) -> str:
    """What a failed command complained of, in the memory of it; "" in every other."""
    found = _FAILED.fullmatch(text)
    return found[2] if found else ""


MIN_HELD_CHARS = 12
"""What is shorter stands in a file by chance."""


def told(text: str) -> str:
    """What a memory says on a line of a file that the client reads by itself: the user's own words where it quotes
    them, without a mark.
    """  # noqa: D205 - one sentence
    words = users_words(text) or text.partition(" says: ")[2] or text
    return " ".join(words.split()).replace("<!--", "<! --").replace("-->", "-- >")


def is_held(text: str, file_text: str) -> bool:
    """Whether a file (in one line) says what a memory does, in the same words."""
    said = told(text)
    return len(said) >= MIN_HELD_CHARS and said in file_text


TRUST = (events.ORIGIN_EXTERNAL, events.ORIGIN_TOOL, events.ORIGIN_TASK, events.ORIGIN_ASSISTANT, events.ORIGIN_USER)
"""Whose words are trusted how far, the least first: a memory has the origin of the least trusted of its sources."""


class Candidate:
    """What may become a memory.

    Attributes:
        type: One of `memories.TYPES`.
        text: 1 to 3 impersonal sentences of fact that stand by themselves, `MIN_TEXT_CHARS` to `MAX_TEXT_CHARS`.
        evidence: Ids of the events that bear it out, at most `memories.MAX_EVIDENCE`.
        origin: The least trusted of its sources'.
        ts_ms: When it was said, UTC milliseconds.
        subject: A normalised key of what it is about, "" where no rule knows it: a later candidate of the same type
            and subject takes its place.
    """

    __slots__ = ("evidence", "origin", "source", "subject", "text", "ts_ms", "type")

    def __init__(
        self,
        type: str,
        text: str,
        evidence: Iterable[str],
        origin: str,
        ts_ms: int,
        *,
        subject: str = "",
        source: str = "",
    ) -> None:
        self.type, self.text, self.origin, self.ts_ms = type, text, origin, ts_ms
        self.evidence = tuple(dict.fromkeys(evidence))[: memories.MAX_EVIDENCE]
        self.subject, self.source = subject, source

    def __repr__(self) -> str:
        """Type and text."""
        return f"Candidate({self.type}, {self.text!r})"


class Distilled:
    """What distilling an exchange gave: candidates in the order they were said; how many were rejected, by reason."""

    __slots__ = ("candidates", "rejected")

    def __init__(self, candidates: Sequence[Candidate] = (), rejected: dict[str, int] | None = None) -> None:
        self.candidates, self.rejected = list(candidates), dict(rejected or {})

    def reject(self, reason: str) -> None:
        """Counts one that became no candidate."""
        self.rejected[reason] = self.rejected.get(reason, 0) + 1


def least_trusted(origins: Iterable[str]) -> str:
    """The origin of what several sources said together; the user's where there is none."""
    return min(origins, key=TRUST.index, default=events.ORIGIN_USER)


class Told:
    """Who found a memory, and how often: the name of the source, in how many sessions it was said, and in how many
    projects somebody wished the same.
    """  # noqa: D205 - one sentence

    __slots__ = ("projects", "sessions", "source")

    def __init__(self, source: str, sessions: int, projects: int) -> None:
        self.source, self.sessions, self.projects = source, sessions, projects

    @property
    def is_standing(self) -> bool:
        """Whether it was said so often that it holds until somebody says otherwise."""
        return self.sessions >= STANDING_SESSIONS
