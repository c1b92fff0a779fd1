"""Verdicts: what was considered for a prompt, what of it was said, and which named rule held each of the rest back."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Reminder

PROMPT, BRIEFING, MANIFEST, AGENT = "UserPromptSubmit", "SessionStart", "PreCompact", "SubagentStart"
"""What is said, by the hooks' names."""

OFF, CHORE, NOTHING = "inject-off", "chore", "nothing-found"
WEAK, UNLIKELY, BEST, UNSURE, OWN, GONE, TOLD, HELD, SAME, LIMIT, ROOM, ONE_MEMORY, WRONG = (
    "too-weak", "below-chance", "below-best", "unsure", "not-pushed", "file-gone", "already-told", "in-a-file",
    "no-new-words", "limit", "room", "one-memory", "called-wrong",
)  # fmt: skip
FOCUS, STEERING, DOCUMENT, SESSION, TOPIC, COOLDOWN = (
    "focus", "steering", "document", "budget-session", "budget-topic", "cooldown",
)  # fmt: skip

RULES = {
    OFF: "nothing is injected here (`inject`)",
    CHORE: "a step of the day asks for nothing",
    NOTHING: "nothing that may be told has its words",
    WEAK: "it holds too few of the prompt's words (`recall_threshold`)",
    UNLIKELY: "its chance to help is too low",
    BEST: "its chance to help is well below that of the best",
    UNSURE: "a memory is told by itself only if it holds more of the prompt's words",
    OWN: "a memory that is not told unasked, for the reason beside it",
    GONE: "the files that it is about are gone",
    TOLD: "it is told already: by a line beside it, in this session, or where that is a fork of",
    HELD: "a file that the agent reads by itself says it",
    SAME: "no sentence of it is about this and says what the prompt does not",
    LIMIT: "others came first (`recall_limit`)",
    ROOM: "the block was full",
    ONE_MEMORY: "beside what was said in a session one memory is enough",
    WRONG: "it taught a memory that somebody called wrong",
    FOCUS: "a run of work goes on, and the prompt asks nothing",
    STEERING: "a few words about what is on the screen",
    DOCUMENT: "the prompt is a plan or another document with headings, which brings what it is about",
    SESSION: "this session was told as many lines as it may be (`session_bites`)",
    TOPIC: "this session was told enough of that earlier session",
    COOLDOWN: "the same prompt was told it in other sessions of the day",
}
"""Every rule by its name, in the words of `howcome why`."""

PROMPT_MS = 5000
"""A prompt's record may be written so long after its hook."""

MAX_CONSIDERED = 8
KEPT_DAYS = 30


class Verdict:
    """What becomes of one prompt, or of the begin of a session.

    Attributes:
        said: What is to be said, best first.
        rule: What held everything back; "" where each was looked at.
        project_id: Where it was asked; `asked`: a keyed hash of what, None where nobody asked.
    """

    __slots__ = ("_looked_at", "asked", "project_id", "rule", "said")

    def __init__(self, project_id: int | None = None, asked: bytes | None = None) -> None:
        self.project_id, self.asked, self.rule = project_id, asked, ""
        self.said: list[Reminder] = []
        self._looked_at: dict[int, tuple[float, str]] = {}

    def held(self, rule: str) -> Verdict:
        """Everything is held back by one rule."""
        self.rule = rule
        return self

    def weigh(self, row: int, chance: float, rule: str) -> None:
        """An event (its row), or a memory (its negative row), was looked at; the last rule named counts."""
        self._looked_at[row] = chance, rule

    def hold(self, row: int, rule: str) -> None:
        """Another rule than before holds back what was looked at."""
        if row in self._looked_at:
            self._looked_at[row] = self._looked_at[row][0], rule

    def gave(self, row: int, reminder: Reminder) -> None:
        """What was looked at gave a reminder, which may be of another row of its exchange."""
        chance, _ = self._looked_at.pop(row, (reminder.score, ""))
        self.weigh(row_of(reminder), chance, ROOM)

    def kept(self, told: Sequence[Reminder], tokens: int) -> KeptVerdict:
        """As it is kept when so many tokens were told: what was told (rule ""), then the likeliest of the rest."""
        said = {row_of(reminder): reminder.score for reminder in told}
        rows = [(row, round(chance, 3), "") for row, chance in said.items()]
        held = [(row, round(chance, 3), rule) for row, (chance, rule) in self._looked_at.items() if row not in said]
        held.sort(key=lambda one: -one[1])
        considered = rows + held[: max(0, MAX_CONSIDERED - len(rows))]
        rule = self.rule or ("" if considered or self.asked is None else NOTHING)
        return KeptVerdict(self.project_id, self.asked, len(told), tokens, rule, considered)


def row_of(reminder: Reminder) -> int:
    """The row by which a verdict knows what was said: an event's, or the negative of a memory's."""
    source = reminder.source
    return source.row if reminder.memory is None else -source.row


class KeptVerdict:
    """A verdict as it is kept: how much was said, and the candidates as (event's row or -memory's, chance, rule)."""

    __slots__ = ("asked", "considered", "lines", "project_id", "rule", "tokens")

    def __init__(
        self,
        project_id: int | None,
        asked: bytes | None,
        lines: int,
        tokens: int,
        rule: str,
        considered: Sequence[tuple[int, float, str]],
    ) -> None:
        self.project_id, self.asked, self.lines, self.tokens = project_id, asked, lines, tokens
        self.rule, self.considered = rule, considered


class PastVerdict(KeptVerdict):
    """One that was kept: of which session and hook, when (UTC ms)."""

    __slots__ = ("asked_ms", "hook", "row", "session")

    def __init__(self, row: int, session: str, hook: str, asked_ms: int, *, kept: Sequence[object]) -> None:
        super().__init__(*kept)  # type: ignore[arg-type]
        self.row, self.session, self.hook, self.asked_ms = row, session, hook, asked_ms
