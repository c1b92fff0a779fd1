"""Bites: one line that says the thing itself, of an exchange or a memory, short enough to cost nearly nothing.

Its first sentence is chosen for the weight of the prompt's words in it; the next best ones fill the line. Narration,
questions and heads of lists come last.
"""

from __future__ import annotations

from itertools import pairwise

from howcome.domain import verdicts, words
from howcome.domain.answering import QUESTION_MARKS, cut, filled, share_of
from howcome.domain.events import EDITORS, ORIGIN_ASSISTANT, ORIGIN_USER, TOOL_CALL
from howcome.domain.memories import author_of
from howcome.domain.stored import Reminder
from howcome.domain.text import entities
from howcome.domain.times import iso_day
from howcome.recall.gate import POINTING_TERMS
from howcome.retrieve.branches import told as on_branch
from howcome.retrieve.settled import MIN_SHARE, Surroundings, by_weight, is_telling, place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import StoredEvent
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.store.base import Store

MIN_NEW_TERMS, FEW_TERMS = 2, 4
"""A sentence that has fewer words which the prompt has not says nothing new; to a prompt of few words one is enough."""

LATER = 0.6
"""Of two sentences of an exchange the first is the better one: where a block is full, the other is left out before a
memory. (.7 keeps one more of 20 answers about the past in each of two projects, and leaves out what was decided.)"""

TEXT_CHARS, HEAD_CHARS, MAX_LINES_CHARS, SHORT_ID_CHARS = 160, 38, 480, 12
"""Of a bite some 40 tokens are words, and so much at most is its id, its time and who said it. Any beginning of an id
that no other has finds it. Cut at 122 characters 13 of the same 52 lines hold the words; of one sentence, 11."""

NEWER_SHARE = 0.75
"""An exchange of a later session that has so much of the score of the best one gets a line, too. In ten samples .34
instead of .35 of the blocks answer so, in the TypeScript project .45 instead of .42, in the Go tool the same."""

MIN_LINE_CHARS = 60
"""Of a line that does not fit into a block so much must be left, else it is left out."""

MAX_BITE_CHARS = HEAD_CHARS + TEXT_CHARS

MAX_PLACES, PLACE_PARTS, LAST_CALLS = 2, 3, 100
"""With a sentence come so many of the files that were changed then, each with so much of its path. Of seven lines that
readers found helpful two were so for these."""

MINUTE_MS, MINUTES_A_DAY = 60_000, 24 * 60
QUOTED_CHARS, MIN_OUTCOME_CHARS, BEGUN_CHARS = 70, 50, 45
"""Of words that a later one changed so many are quoted. What was done about words is told where so much of it fits
beside them. A sentence of which BEGUN_CHARS were told was told."""

_WHO = {ORIGIN_USER: "user: ", ORIGIN_ASSISTANT: "agent: "}


def bite_lines(found: Sequence[Reminder], now_ms: int) -> list[tuple[str, str]]:
    """The line of each bite: its id, its day (and time, where the day says too little), who said it; the words.

    What was said later on the same day in the session of the line before it has "then" in place of the day.
    """
    after = [_is_after(*pair) for pair in pairwise([None, *found])]
    days = [iso_day(reminder.said_ms) for reminder in found]
    told = [day for day, is_after in zip(days, after, strict=True) if not is_after]
    today = iso_day(now_ms)
    lines = []
    for reminder, day, is_after in zip(found, days, after, strict=True):
        minutes = reminder.said_ms // MINUTE_MS % MINUTES_A_DAY
        when = f"{day} {minutes // 60:02}:{minutes % 60:02}" if day == today or told.count(day) > 1 else day
        when = "then," if is_after else when
        (origin, text), *_ = reminder.passages
        who = _WHO.get(origin, "") if reminder.memory is None else _whose(reminder.memory)
        who = f"({on_branch(reminder.unmerged)}) {who}" if reminder.unmerged else who
        head = f"[{reminder.source.id[:SHORT_ID_CHARS]}] {when} {who}"
        lines.append((head, cut(text, MAX_BITE_CHARS - len(head))))
    return lines


def in_order(found: Iterable[Reminder]) -> list[Reminder]:
    """Bites of the newest session and day first, those of the same in the order in which they were said."""
    kept = list(found)
    last: dict[tuple[str, str], int] = {}
    for one in kept:
        last[_sitting(one)] = max(last.get(_sitting(one), 0), one.said_ms)
    return sorted(kept, key=lambda one: (-last[_sitting(one)], _sitting(one), one.said_ms))


def _sitting(one: Reminder) -> tuple[str, str]:
    """The session (of a memory: itself) and the day."""
    return (one.source.id if one.event is None else one.event.session), iso_day(one.said_ms)


def _is_after(first: Reminder | None, second: Reminder | None) -> bool:
    if first is None or second is None or _sitting(first) != _sitting(second):
        return False
    return first.unmerged == second.unmerged


def _may_change(other: Ranked, item: Ranked) -> bool:
    """Whether a later session says nearly as much of the matter."""
    is_later = other.candidate.ts_ms > item.candidate.ts_ms and other.candidate.session_id != item.candidate.session_id
    return is_later and other.score >= NEWER_SHARE * item.score


def _whose(memory: Memory) -> str:
    """Whose words it is, if not the user's; which memory says otherwise, where one may and `with_later` is silent."""
    is_told = memory.contradicts and not memory.later
    marks = [author_of(memory.agent), f"contradicts {memory.contradicts[0][:SHORT_ID_CHARS]}" if is_told else ""]
    return "".join(f"({mark}) " for mark in marks if mark)


def fitting(found: Sequence[Reminder], now_ms: int) -> list[Reminder]:
    """Those of some bites that fit into a block: what helps least is left out first."""
    kept = list(found)
    while (over := sum(len(head) + len(text) + 1 for head, text in bite_lines(kept, now_ms)) - MAX_LINES_CHARS) > 0:
        least = min(kept, key=lambda reminder: reminder.score)
        (origin, text), *_ = least.passages
        if least.memory is None and len(text) - over >= MIN_LINE_CHARS:
            least.passages = [(origin, cut(text, len(text) - over))]
        else:
            kept.remove(least)
    return kept


class Bites:
    """Makes bites of what was found for a prompt; says nothing twice, nor what stands in the lines that are `told`.

    Exchanges that are `wrong` (rows of their prompts, see `MemorySearch.refuted`) stand beside nothing.
    """

    def __init__(
        self, store: Store, situation: Situation, told: Iterable[str] = (), *,
        is_asked: bool = False, wrong: Iterable[int] = (),
    ) -> None:  # fmt: skip
        self._told = [" ".join(text.split()).casefold() for text in told]
        self._store = store
        self._is_asked = is_asked
        self._is_named = not is_asked and len(situation.terms) > POINTING_TERMS  # who looks back wants any answer
        self._weights = {term: situation.weights.windows[term] for term in situation.terms}
        self._surroundings = Surroundings(store, self._weights, situation.wanted, wrong)
        self._least_new = MIN_NEW_TERMS if len(situation.terms) > FEW_TERMS else 1
        self._least_share = MIN_SHARE if len(situation.terms) > POINTING_TERMS else 0.0
        if not self._least_share and situation.recent is not None:
            self._weights |= dict.fromkeys(entities(situation.recent()), 1.0)

    def of(self, item: Ranked, known: set[int], chance: float) -> Reminder | str:
        """The bite of an exchange; else the rule that holds it back: it was said, or says what the prompt says."""
        turns = self._surroundings.turns(item)
        if any(turn.row in known for turn in turns):
            return verdicts.TOLD
        return self._next(item, turns, chance) or verdicts.SAME

    def more(
        self, item: Ranked, first: Reminder, count: int, known: set[int], others: Iterable[Ranked] = ()
    ) -> list[Reminder]:
        """What was settled in an exchange and those around it, after its first bite, for who asked about it.

        A question shares its words with where something came up; the answer often stands an exchange further on. One of
        the lines is left to another exchange that may have changed it since.
        """
        count -= any(_may_change(one, item) for one in others)
        if not self._is_asked or first.memory is not None or count < 1:
            return []
        found: list[Reminder] = []
        for one in self._surroundings.of(item, known):
            if len(found) >= count:
                break
            if not self._is_told(one.text) and self._is_new(one.text):
                chance = first.score * LATER ** (len(found) + 1)
                line = cut(one.line(self._is_told), TEXT_CHARS)
                found.append(self._bite(one.item, one.turns, one.turn, one.text, line, chance))
        return found

    def again(self, exchange: int, row: int, count: int) -> list[tuple[int, str]]:
        """The first lines of an exchange (its prompt's row) in which a row was found, each with the row of its turn."""
        item = place(row, exchange)
        first = self._next(item, self._surroundings.turns(item), 0.0)
        found = [first, *self.more(item, first, count - 1, set())] if first is not None else []
        return [(bite.source.row, bite.passages[0][1]) for bite in found]

    def _next(self, item: Ranked, turns: list[StoredEvent], chance: float) -> Reminder | None:
        pairs = by_weight(turns, self._weights, with_documents=self._is_asked)
        told = [pair for pair in pairs if not self._is_told(pair[1])]
        for turn, sentence in told:
            if self._is_about_it(sentence) and self._is_new(sentence):
                line = line_of(turn, sentence, [] if self._is_asked else told)  # room for what was settled
                return self._bite(item, turns, turn, sentence, line, chance)
        return None

    def _bite(
        self, item: Ranked, turns: list[StoredEvent], turn: StoredEvent, sentence: str, line: str, chance: float
    ) -> Reminder:
        line = self._with_place(line, item.candidate.exchange, turn.project)
        self._told += [" ".join(text.split()).casefold() for text in (line, sentence)]  # a line may be cut
        return Reminder(turn, chance, [(turn.origin, line)], [one.row for one in turns])

    def _with_place(self, sentence: str, exchange: int, project: str) -> str:
        """A sentence with the files that its exchange changed, those first that the prompt names: what fits whole."""
        sentence = " ".join(sentence.split())
        calls = self._store.log.answers(exchange, LAST_CALLS, TOOL_CALL)
        changed = dict.fromkeys(one.file for one in calls if one.file and (one.tool or "").lower() in EDITORS)
        files = [file.removeprefix(f"{project}/") for file in changed]
        files.sort(key=lambda file: -share_of(file.lower(), self._weights))
        places = ["/".join(file.split("/")[-PLACE_PARTS:]) for file in files if file.rpartition("/")[2] not in sentence]
        for count in range(MAX_PLACES, 0, -1):
            told = f"{sentence} (changed {', '.join(places[:count])})"
            if places[count - 1 : count] and len(told) <= TEXT_CHARS:
                return told
        return sentence

    def _is_about_it(self, sentence: str) -> bool:
        """Whether it shares enough of what the prompt is about, tells a thing, and does not tell what is done next."""
        if self._is_named and not is_telling(sentence):
            return False
        if self._is_asked and sentence.endswith("?"):  # no answer
            return False
        shared = share_of(sentence.lower(), self._weights)
        return shared >= self._least_share and not words.opens(sentence, "narrates")

    def _is_told(self, sentence: str) -> bool:
        """Whether it was said in a line of this block."""
        begun = " ".join(sentence.split()).casefold()[:BEGUN_CHARS]  # a memory quotes it, and may cut it
        return any(begun in text for text in self._told)

    def _is_new(self, sentence: str) -> bool:
        """Whether it has words that the prompt has not."""
        return len(set(self._store.index.analyze(sentence)) - self._weights.keys()) >= self._least_new


def line_of(turn: StoredEvent, sentence: str, told: Iterable[tuple[StoredEvent, str]]) -> str:
    """A sentence, and as many others of the same speaker (the next best, or those that follow) as its line can hold."""
    rest = [text for of, text in told if of.origin == turn.origin and text != sentence]
    return filled([sentence, *(text for text in rest if not words.opens(text, "narrates"))], TEXT_CHARS, TEXT_CHARS)


def with_later(memory: Memory, text: str) -> str:
    """What a memory says, and what a later one changed of it."""
    return f"{cut(text, QUOTED_CHARS)} ({memory.later[1]})" if memory.later else text


def of_memory(text: str) -> str:
    """What a memory says in a bite: words, and what was done then if it fits; an answer without its question; else all.

    Of a plan the title is left out where the line would have to be cut: "should not be" must not end as "should…".
    """
    from howcome.domain.candidates import asked_and_chosen, plan_and_line, words_and_outcome

    said, then = words_and_outcome(text)
    asked, chosen, _ = asked_and_chosen(text)
    if chosen:  # where both do not fit, what was chosen stays whole
        whole = f"{asked} The user chose “{chosen}"
        return whole if len(whole) <= TEXT_CHARS else f"The user chose “{chosen} ({asked})"
    if not said or not then:
        asked, mark, answer = text.partition("”: ")
        line = answer if mark and asked.startswith(("Asked “", "After “")) else text
        return said or (plan_and_line(line)[1] if len(line) > TEXT_CHARS else line)
    if said.endswith(QUESTION_MARKS):  # what was found out then answers it
        return cut(f"“{cut(said, max(QUOTED_CHARS, TEXT_CHARS - 3 - len(then)))}” {then}", TEXT_CHARS)
    told = cut(said, TEXT_CHARS)
    room = TEXT_CHARS - len(told) - 3
    return f"“{told}” {cut(then, room)}" if room >= MIN_OUTCOME_CHARS else told


def of_failure(text: str, sessions: int) -> str:
    """What a memory of a failed command says, without the words of the tool (nobody vouches for them); "" of others."""
    from howcome.domain.candidates import failed_and_worked

    failed, worked, before = failed_and_worked(text)
    times = f"`{failed}` failed {f'in {sessions} sessions' if sessions > 1 else 'here'};"
    if before:
        return f"{times} it worked after `{before}`."
    is_wrapped = failed.partition(" ")[2] == worked
    return (f"{times} run `{worked}` directly." if is_wrapped else f"{times} `{worked}` then worked.") if worked else ""
