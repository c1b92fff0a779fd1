"""Bites: one line that says the thing itself, of an exchange or a memory, short enough to cost nearly nothing.

Its first sentence is chosen for the weight of the prompt's words in it; the next best ones fill the line. Narration,
questions and heads of lists come last.
"""

from __future__ import annotations

from itertools import pairwise

from howcome.domain import verdicts, words
from howcome.domain.answering import HEAD, QUESTION_MARKS, cut, filled, passing, share_of
from howcome.domain.events import EDITORS, ORIGIN_ASSISTANT, ORIGIN_USER, PUSHED_ORIGINS, TOOL_CALL, USER_PROMPT
from howcome.domain.memories import author_of
from howcome.domain.stored import Reminder
from howcome.domain.text import coined_names, entities
from howcome.domain.times import iso_day
from howcome.recall.gate import POINTING_TERMS
from howcome.retrieve.branches import told as on_branch
from howcome.retrieve.situation import Candidate, Ranked

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from howcome.domain.memories import Memory
    from howcome.domain.stored import StoredEvent
    from howcome.retrieve.situation import Situation
    from howcome.store.base import Store

ANSWERS = 2
"""Of an exchange what was asked and the last things that the agent said are looked through."""

MIN_NEW_TERMS, FEW_TERMS = 2, 4
"""A sentence that has fewer words which the prompt has not says nothing new; to a prompt of few words one is enough."""

MIN_SHARE = 0.06
"""A sentence that has less of the weight of the prompt's terms is about something else. With twice as much one of four
helping blocks is lost."""

MIN_CHARS = 20
LATER = 0.6
"""Of two sentences of an exchange the first is the better one: where a block is full, the other is left out before a
memory. (.7 keeps one more of 20 answers about the past in each of two projects, and leaves out what was decided.)"""

FINAL = 0.15
"""What a sentence gains that is of the agent's last words; `domain/answering` has what others lose. Of 52 exchanges
that readers found helpful the line holds the words that helped in 16, and in 17 with a weight for
names, which is within chance (`benchmarks/gate.py`)."""

MAX_TYPED_CHARS = 1500
"""What is longer was not typed: a plan or a paste, whose items say nothing by themselves."""

TEXT_CHARS, HEAD_CHARS, MAX_LINES_CHARS, SHORT_ID_CHARS = 160, 38, 480, 12
"""Of a bite some 40 tokens are words, and so much at most is its id, its time and who said it. Any beginning of an id
that no other has finds it. Cut at 122 characters 13 of the same 52 lines hold the words; of one sentence, 11."""

MIN_LINE_CHARS = 60
"""Of a line that does not fit into a block so much must be left, else it is left out."""

MAX_BITE_CHARS = HEAD_CHARS + TEXT_CHARS

MAX_PLACES, PLACE_PARTS, LAST_CALLS = 2, 3, 100
"""With a sentence come so many of the files that were changed then, each with so much of its path. Of seven lines that
readers found helpful two were so for these."""

AROUND, SHARED_TERMS = 2, 2
"""So many exchanges before and after the one that was found are looked through, too, for who asks about the past, if
they have words of the question, or so many words of that exchange."""

LONG, FULL_CHARS, VOUCHED, HERE, BRIEF_WORDS, LEAST_CHARS = 2.0, 140, 0.4, 0.3, 12, 60
"""What a sentence of so many characters gains where an answer is looked for, one that the user said or answered in so
few words without a question ("ok, do it"), and one of the exchange that was found; what it shares with the question
counts from 0 to 1. A shorter one than LEAST_CHARS without a name or a reason never answered. No weight knows a word of
any language. docs/evaluation.md has what they do in ten projects
("Which sentence")."""

MINUTE_MS, MINUTES_A_DAY = 60_000, 24 * 60
QUOTED_CHARS, MIN_OUTCOME_CHARS, BEGUN_CHARS = 70, 50, 45
"""Of words that a later one changed so many are quoted. What was done about words is told where so much of it fits
beside them. A sentence of which BEGUN_CHARS were told was told."""

_WHO = {ORIGIN_USER: "user: ", ORIGIN_ASSISTANT: "agent: "}


def bite_lines(found: Sequence[Reminder], now_ms: int) -> list[tuple[str, str]]:
    """The line of each bite: its id, its day (and time, where the day says too little), who said it; the words."""
    days = [iso_day(reminder.said_ms) for reminder in found]
    today = iso_day(now_ms)
    lines = []
    for reminder, day in zip(found, days, strict=True):
        minutes = reminder.said_ms // MINUTE_MS % MINUTES_A_DAY
        when = f"{day} {minutes // 60:02}:{minutes % 60:02}" if day == today or days.count(day) > 1 else day
        (origin, text), *_ = reminder.passages
        who = _WHO.get(origin, "") if reminder.memory is None else _whose(reminder.memory)
        who = f"({on_branch(reminder.unmerged)}) {who}" if reminder.unmerged else who
        head = f"[{reminder.source.id[:SHORT_ID_CHARS]}] {when} {who}"
        lines.append((head, cut(text, MAX_BITE_CHARS - len(head))))
    return lines


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
        self._is_asked, self._wanted, self._wrong = is_asked, situation.wanted, wrong
        self._is_named = not is_asked and len(situation.terms) > POINTING_TERMS  # who looks back wants any answer
        self._weights = {term: situation.weights.windows[term] for term in situation.terms}
        self._least_new = MIN_NEW_TERMS if len(situation.terms) > FEW_TERMS else 1
        self._least_share = MIN_SHARE if len(situation.terms) > POINTING_TERMS else 0.0
        if not self._least_share and situation.recent is not None:
            self._weights |= dict.fromkeys(entities(situation.recent()), 1.0)

    def of(self, item: Ranked, known: set[int], chance: float) -> Reminder | str:
        """The bite of an exchange; else the rule that holds it back: it was said, or says what the prompt says."""
        turns = self._turns(item)
        if any(turn.row in known for turn in turns):
            return verdicts.TOLD
        return self._next(item, turns, chance) or verdicts.SAME

    def more(self, item: Ranked, first: Reminder, count: int, known: set[int]) -> list[Reminder]:
        """What was settled in an exchange and those around it, after its first bite, for who asked about it.

        A question shares its words with where something came up; the answer often stands an exchange further on.
        """
        if not self._is_asked or first.memory is not None or count < 1:
            return []
        rows, agreed = self._around(item.candidate.exchange)
        gone = {*self._store.reviews.overruled(rows, self._wanted.then_ms), *self._wrong}
        places = [item, *(_place(row, row) for row in rows if row not in gone)]
        found: list[Reminder] = []
        for place, turns, turn, sentence in self._settled(places, known, agreed):
            if len(found) >= count:
                break
            if len(sentence) < LEAST_CHARS and not is_telling(sentence):
                continue
            if not self._is_told(sentence) and passing(sentence.lower()) < HEAD and self._is_new(sentence):
                chance = first.score * LATER ** (len(found) + 1)
                found.append(self._bite(place, turns, turn, sentence, cut(sentence, TEXT_CHARS), chance))
        return found

    def again(self, exchange: int, row: int, count: int) -> list[tuple[int, str]]:
        """The first lines of an exchange (its prompt's row) in which a row was found, each with the row of its turn."""
        item = _place(row, exchange)
        first = self._next(item, self._turns(item), 0.0)
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

    def _around(self, exchange: int) -> tuple[list[int], set[int]]:
        """The prompts (rows) around an exchange's, and which of all these the user went on from in a few words."""
        near = self._store.sessions.prompts_around(exchange, AROUND + 1)
        prompts = self._store.log.events([exchange, *near]).values()
        order = sorted(prompts, key=lambda prompt: (prompt.order_ms, prompt.row))
        agreed = {prompt.row for prompt, after in pairwise(order) if _agrees(after.excerpt)}
        rows = [prompt.row for prompt in order]
        place = rows.index(exchange) if exchange in rows else 0  # a row of a session that begins without a prompt
        return [row for row in rows[max(0, place - AROUND) : place + AROUND + 1] if row != exchange], agreed

    def _settled(
        self, places: Sequence[Ranked], known: set[int], agreed: set[int]
    ) -> list[tuple[Ranked, list[StoredEvent], StoredEvent, str]]:
        """The sentences of some exchanges of one project, with exchange and turn, those first that settle most.

        The first of the exchanges is the one that was found.
        """
        found: list[tuple[float, tuple[Ranked, list[StoredEvent], StoredEvent, str]]] = []
        every, about = [self._turns(place) for place in places], set[str]()
        for place, there in zip(places, every, strict=True):
            turns = [turn for turn in there if turn.project == every[0][0].project and self._is_before(turn)]
            said = " ".join(turn.text or turn.excerpt for turn in turns).lower()
            terms = set(self._store.index.analyze(said))
            about = about or terms
            is_about_it = share_of(said, self._weights) >= MIN_SHARE or len(terms & about) >= SHARED_TERMS
            if is_about_it and known.isdisjoint(turn.row for turn in turns):
                pairs = by_weight(turns, self._weights, with_documents=True)
                gain = HERE * (place is places[0])
                for turn, text in pairs:
                    is_vouched = turn.kind == USER_PROMPT or place.candidate.exchange in agreed
                    found.append((self._settles(text) + gain + VOUCHED * is_vouched, (place, turns, turn, text)))
        return [one for _, one in sorted(found, key=lambda pair: -pair[0])]

    def _settles(self, sentence: str) -> float:
        """How much a sentence answers: what it shares with the question, and how much it says at all."""
        return share_of(sentence.lower(), self._weights) + LONG * min(len(sentence), FULL_CHARS) / FULL_CHARS

    def _is_before(self, turn: StoredEvent) -> bool:
        return self._wanted.before_ms is None or turn.order_ms < self._wanted.before_ms

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

    def _turns(self, item: Ranked) -> list[StoredEvent]:
        """The prompt of an exchange, what was found in it, and the agent's last words, of one project."""
        rows = {item.candidate.row, item.candidate.exchange}
        found = self._store.log.turns(rows)
        event = found.get(item.candidate.row)
        if event is None:
            return []
        found |= {turn.row: turn for turn in self._store.log.answers(item.candidate.exchange, ANSWERS)}
        kept = [turn for turn in found.values() if turn.origin in PUSHED_ORIGINS and turn.project == event.project]
        kept = [turn for turn in kept if not turn.excerpt.startswith("/")]  # typed to the client
        return sorted(kept, key=lambda turn: (turn.order_ms, turn.row))


def by_weight(
    turns: Iterable[StoredEvent], weights: Mapping[str, float], *, with_documents: bool = False
) -> list[tuple[StoredEvent, str]]:
    """The sentences of some turns, those first that say most about the terms of a prompt, with who said them.

    What was handed over (a plan, a paste) is left out, but for who asks about the past: its reasons may stand there.
    """
    typed = [turn for turn in turns if turn.kind != USER_PROMPT or turn.text_chars <= MAX_TYPED_CHARS]
    turns = list(turns) if with_documents else typed
    told = []
    for turn in turns:
        final = FINAL * (turn is turns[-1] and turn.kind != USER_PROMPT)
        for text in _said_in(turn):
            said = text.lower()
            if len(text) >= MIN_CHARS:
                told.append((share_of(said, weights) + final - passing(said), turn, text))
    return [(turn, text) for _, turn, text in sorted(told, key=lambda one: -one[0])]


def _said_in(turn: StoredEvent) -> list[str]:
    """The sentences of a turn, each with its label, which is often a file's name."""
    from howcome.domain.sentences import sentences  # its patterns cost a prompt that is told nothing 4 ms

    told = sentences(turn.text or turn.excerpt, is_typed=turn.kind == USER_PROMPT)
    return [f"{one.label}: {one.text}" if one.label and not one.place else one.text for one in told]


def line_of(turn: StoredEvent, sentence: str, told: Iterable[tuple[StoredEvent, str]]) -> str:
    """A sentence, and as many others of the same speaker (the next best, or those that follow) as its line can hold."""
    rest = [text for of, text in told if of.origin == turn.origin and text != sentence]
    return filled([sentence, *(text for text in rest if not words.opens(text, "narrates"))], TEXT_CHARS, TEXT_CHARS)


def is_telling(text: str) -> bool:
    """Whether a text names a thing (code, or a name that no language has) or gives a reason.

    Of 25 lines without a name readers found none helpful with a prompt, and half noise; of 78 others 8 and a third.
    """
    return _is_named(text) or _gives_reason(text)


def _is_named(text: str) -> bool:
    return "`" in text or any(coined_names(text))


def _gives_reason(text: str) -> bool:
    return words.rest_of(text, "reasons") != " ".join(text.split())


def _agrees(prompt: str) -> bool:
    """Whether a prompt takes up what was said before it, or passes over it: a few words, and no question."""
    return words.count(prompt) <= BRIEF_WORDS and not any(mark in prompt for mark in QUESTION_MARKS)


def _place(row: int, exchange: int) -> Ranked:
    """A row of an exchange (its prompt's row), of which nothing else is known."""
    return Ranked(Candidate(row, 0, exchange, 0, 0.0), 0.0, {}, 0.0)


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

    failed, worked = failed_and_worked(text)
    times = f"`{failed}` failed in {sessions} sessions;"
    is_wrapped = failed.partition(" ")[2] == worked
    return (f"{times} run `{worked}` directly." if is_wrapped else f"{times} `{worked}` then worked.") if worked else ""
