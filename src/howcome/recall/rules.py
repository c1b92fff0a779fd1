"""Rules that hold back what the gate would let through, each with a name: of a prompt as a whole, and of one line.

Who asks about the past is held back by none of them, nor is the question of a new session.
"""

from __future__ import annotations

from functools import cached_property

from howcome.domain import verdicts
from howcome.domain.answering import MAX_WORDS, is_question, is_request
from howcome.domain.text import entities
from howcome.domain.verdicts import row_of
from howcome.domain.words import telling

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Filter, Reminder
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.settings import Settings
    from howcome.store.base import Store

FOCUS_STEPS = 5
"""So many tools called since the last prompt are a run of work. Of 240 graded prompts earlier words could help 4 of the
50 that follow one and ask nothing, 46 of the 190 others; what was said with them helped none (docs/evaluation.md)."""

STEERING_WORDS, STEERING_STEPS = 8, 3
"""A prompt of so few words, without a name, after work that is on the screen, is about that: earlier words could help 3
of 29 such prompts of the same 240, and what was said helped none. After a look or two such a prompt points at what was
looked at ("ok, let's do that"), and is answered."""

DOCUMENT_CHARS, DOCUMENT_HEADINGS, MAX_LEVEL = 400, 2, 6
"""A prompt of so many characters with so many headings is a document. Of the same 240 earlier words could help 11 of
65 that are one, and 39 of 175 others; what was said helped none of seven of the former and 5 of 18 of the latter."""

TOPIC_LINES = 2
"""Of one earlier session so many lines are said to a session. Of 28 that came after two, readers saw three: none
helped."""

COOLDOWN_HOURS, COOLDOWN_SESSIONS = 24, 5
"""What the same prompt was told in so many other sessions of the last hours, it is not told again: a script asks. Who
asks again in a new window is told again. Of 2,301 prompts of two projects no repeated one got lines."""

EARLY_PROMPTS, MIN_QUESTION_TERMS = 1, 3
"""Of the judged questions earlier words could help 4 of the 5 that came after at most so many prompts, and 1 of the 4
after one more."""

NEW_STRENGTH, REQUEST_STRENGTH, UNSTEMMED_STRENGTH = 0.13, 0.15, 0.12
"""How strong an exchange has to be for a question of a new session, for one that asks for work ("can you add …?"), and
in another language than English, whose forms the index does not know: fewer words meet there. Of questions about a
project .49 to .89 are told, of another project's prompts 1 in 34 (docs/evaluation.md, "Questions of a new
session")."""

HOUR_MS = 3_600_000


def is_new_question(store: Store, situation: Situation, prompt: str, session: str, ranked: Sequence[Ranked]) -> bool:
    """Whether a new session asks something: it is about the project if an exchange is strong enough (NEW_STRENGTH).

    Later questions are about what is on the screen (EARLY_PROMPTS).
    """
    is_short = len(prompt.split()) <= MAX_WORDS and len(situation.terms) >= MIN_QUESTION_TERMS
    least = REQUEST_STRENGTH if is_request(prompt) else NEW_STRENGTH
    least = least if telling(prompt) == prompt else UNSTEMMED_STRENGTH
    if not is_short or not is_question(prompt) or all(item.strength < least for item in ranked):
        return False
    return store.sessions.since_prompt(session, situation.wanted.before_ms)[2] <= EARLY_PROMPTS


class Before:
    """What a session was told and did before a prompt; read only where something would be said."""

    def __init__(
        self, store: Store, settings: Settings, prompt: str, session: str, wanted: Filter, *, is_asked: bool
    ) -> None:
        self._store, self._settings, self.session, self._before_ms = store, settings, session, wanted.before_ms
        self.prompt, self.is_asked, self.wanted = prompt, is_asked, wanted

    def holds_prompt(self) -> str:
        """The first rule that holds everything back; ""."""
        return "" if self.is_asked else next((name for name, is_held in PROMPT_RULES.items() if is_held(self)), "")

    def holds(self, reminder: Reminder, asked: bytes | None, now_ms: int, session: int = 0) -> str:
        """The first rule that holds back a line of a session (its row) for a prompt (its keyed hash); ""."""
        if self.is_asked:
            return ""
        if self.bites[1].get(session, 0) >= TOPIC_LINES:
            return verdicts.TOPIC
        since_ms = now_ms - COOLDOWN_HOURS * HOUR_MS
        told = self._store.injections.told_elsewhere(asked, self.session, since_ms)
        return verdicts.COOLDOWN if told.get(row_of(reminder), 0) >= COOLDOWN_SESSIONS else ""

    @cached_property
    def steps(self) -> int:
        """How many tools were called since the last prompt."""
        return self._store.sessions.since_prompt(self.session, self._before_ms)[1]

    @cached_property
    def bites(self) -> tuple[int, dict[int, int]]:
        """How many lines the session was told, and of which sessions."""
        return self._store.injections.bites(self.session)

    def is_in_focus(self) -> bool:
        """A run of work goes on, and nothing is asked."""
        return self.steps >= FOCUS_STEPS and "?" not in self.prompt

    def is_steered(self) -> bool:
        """A few words about what is on the screen."""
        is_short = len(self.prompt.split()) <= STEERING_WORDS and "?" not in self.prompt
        return is_short and self.steps >= STEERING_STEPS and not entities(self.prompt)

    def is_document(self) -> bool:
        """A plan that is handed over, for instance: it was written with its context at hand.

        It begins with a heading, or behind a sentence that asks nothing; what stands in fences is a paste.
        """
        if len(self.prompt) < DOCUMENT_CHARS:
            return False
        lines = [line for line in _without_fences(self.prompt) if line.strip()]
        heads = [place for place, line in enumerate(lines) if _is_heading(line)]
        is_begun = bool(heads) and heads[0] <= 1 and not any("?" in line for line in lines[: heads[0]])
        # `# …` alone may be the comments of a script
        return is_begun and len(heads) >= DOCUMENT_HEADINGS and any(lines[at].lstrip()[:2] == "##" for at in heads)

    def is_told_enough(self) -> bool:
        """The session was told as many lines as it may be."""
        return self.bites[0] >= self._settings.session_bites


PROMPT_RULES = {
    verdicts.FOCUS: Before.is_in_focus, verdicts.STEERING: Before.is_steered, verdicts.DOCUMENT: Before.is_document,
    verdicts.SESSION: Before.is_told_enough,
}  # fmt: skip


def _without_fences(text: str) -> list[str]:
    kept, is_fenced = [], False
    for line in text.splitlines():
        is_fence = line.lstrip().startswith(("```", "~~~"))
        is_fenced ^= is_fence
        if not is_fenced and not is_fence:
            kept.append(line)
    return kept


def _is_heading(line: str) -> bool:
    mark, _, words = line.strip().partition(" ")
    return bool(mark) and not mark.strip("#") and len(mark) <= MAX_LEVEL and bool(words.strip())
