"""What a rule proposes, before it is checked like every other."""

from __future__ import annotations

import re

from howcome.domain import candidates, events
from howcome.learn import anchors

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Candidate
    from howcome.domain.stored import StoredEvent
    from howcome.learn.rules.scene import Scene
    from howcome.learn.sentences import Sentence


_DONE = re.compile(
    r"(?:done|fix\w*|add\w*|updat\w*|remov\w*|chang\w*|creat\w*|all|now|here|what|why|how|the|let|issue|bug|test\w*"
    r"|step"
    r"|line|comment|commit\w*|push\w*|verif\w*|i|your?|for|in)\b",
    re.IGNORECASE,
)
_NO_PLACE = re.compile(r"\.(?:md|mdx|txt|rst|lock|json)$|(?:^|[._-])(?:test|spec|tests)[._-]", re.IGNORECASE)
MAX_PLACE_CHARS = 80
_NUMBER = re.compile(r"^(?:\w+ )?\d+[.):]\s*")


class Draft:
    """A memory as a rule proposes it.

    `sources` are the events whose words it is made of (they say its origin and its time), `witnesses` those that bear
    it out. `is_wish`: somebody laid it down as a rule. `is_known_whole`: the rule made it of parts that need no more
    checks for what hangs on its neighbours. `context` says what it speaks of where its words alone do not ("In
    `tail.py`"), `topic` what it is an answer to; `is_answer`:
    somebody had asked for a cause, and it gives one.
    """

    __slots__ = (
        "context",
        "is_answer",
        "is_known_whole",
        "is_wish",
        "said",
        "sources",
        "subject",
        "text",
        "topic",
        "type",
        "witnesses",
    )

    def __init__(  # noqa: PLR0913 - one row, one constructor
        self,
        type: str,
        text: str,
        sources: Sequence[StoredEvent],
        *,
        witnesses: Sequence[StoredEvent] = (),
        subject: str = "",
        said: str = "",
        is_wish: bool = False,
        is_known_whole: bool = False,
        context: str = "",
        topic: str = "",
        is_answer: bool = False,
    ) -> None:
        self.context, self.topic = context, topic
        self.type, self.text, self.sources, self.witnesses = type, text, list(sources), list(witnesses)
        self.subject, self.said = subject, said
        self.is_wish, self.is_known_whole, self.is_answer = is_wish, is_known_whole, is_answer

    @property
    def ts_ms(self) -> int:
        """When the newest of its sources was said."""
        return max((event.ts_ms or event.order_ms for event in self.sources), default=0)

    def candidate(self, text: str) -> Candidate:
        """The candidate with this text."""
        return candidates.Candidate(
            self.type,
            text,
            [event.id for event in (*self.sources, *self.witnesses)],
            candidates.least_trusted(event.origin for event in self.sources) if self.sources else events.ORIGIN_USER,
            self.ts_ms,
            subject=self.subject,
            said=self.said or text,
        )


def context_of(sentence: Sentence, scene: Scene) -> str:
    """What a sentence speaks of: the name in its label or heading, or the only file that its exchange changed."""
    for place in (sentence.label, sentence.heading):
        if len(place) <= MAX_PLACE_CHARS and len(place.split()) <= 6 and ". " not in place:
            names = anchors.STRONG.search(place)
            if names and not _DONE.match(place):
                return f"In {_NUMBER.sub('', place).strip(' :')}"
    if len(scene.edited) == 1 and scene.edited[0]:
        file = scene.edited[0].replace("\\", "/").rpartition("/")[2]
        return "" if _NO_PLACE.search(file) else f"In `{file}`"
    return ""
