"""One row an exchange: the sentences of it that answer the question, best first, and the prompt that opened it."""

from __future__ import annotations

from howcome.domain import events
from howcome.domain.answering import BETWEEN, FRAGMENT, MAX_WORD_CHARS, best_first, cut, share_of
from howcome.domain.query import phrases_in, plain_words
from howcome.domain.sentences import sentences
from howcome.domain.stored import Found
from howcome.domain.text import best_passage, coined_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from howcome.domain.stored import Filter, StoredEvent
    from howcome.retrieve.situation import Ranked, Situation
    from howcome.store.base import Store

ROW_CHARS, SENTENCE_CHARS, PROMPT_CHARS = 320, 240, 100
"""Of an exchange that answers, 320 characters of its sentences hold the words that answer in .65 to .85 of 40 questions
(each project, each way of asking), 240 in .47 to .70, 160 in .30 to .60 (docs/evaluation.md, "Rows")."""

WIDE_ROWS, WIDE_ROW_CHARS = 3, 640
"""The first rows are the ones that somebody reads. Of the exchange that answers, 640 characters hold the words that
answer in .81 and .86 of 101 and 206 questions and topics of the two projects, 320 in .76 and .77 (docs/evaluation.md).
"""

AROUND_SENTENCES, AROUND_CHARS, BEGUN_CHARS = 2, 200, 45
"""So many sentences of the exchanges next to it such a row shows, each so long. In ten invented projects the answer
then stands in the first three rows for .62 of the questions instead of .39 (docs/evaluation.md, "Rows"). A sentence of
which BEGUN_CHARS are shown is shown."""

TURNS, READ_TURNS = 60, 12
"""Of an exchange the last so many turns of the agent are looked at, and those read that hold most of the question."""

READ_AHEAD = 10
"""So many exchanges more than are wanted are read: what they say decides the order with."""

ANSWER_WEIGHT = 0.5
"""What the words that a row shows count in its score: 1 + .5 of the question's weight that they hold."""

ECHO, ECHO_MS, ANSWER_TERMS = 0.4, 3_600_000, 6
"""What an exchange of the last ECHO_MS counts that asked the same and was not answered: you asked an agent, and now
search for it. An answer has so many terms, or tools were called for it.
"""

NO_PLACE = -2
"""Of a passage that is no sentence: none is the next one."""

_USER = events.ORIGIN_USER
_WHO = {_USER: "user: ", events.ORIGIN_ASSISTANT: "agent: "}


class _Piece:
    """A sentence of a turn, and its number there."""

    __slots__ = ("place", "text", "turn", "who")

    def __init__(self, turn: StoredEvent, place: int, text: str) -> None:
        self.turn, self.place, self.text, self.who = turn, place, text, _WHO.get(turn.origin, "")


class Exchanges:
    """Ranked rows as answers, one an exchange (by session: one a session).

    What is quoted in the question has to stand in the exchange as it is. That, or an identifier if the question is
    nothing else, is looked for in whole texts, also of tools.
    """

    def __init__(self, store: Store, situation: Situation, now_ms: int) -> None:
        self._store, self._situation, self._now_ms = store, situation, now_ms
        self._weights = {term: situation.weights.windows[term] for term in situation.terms}
        self._phrases = phrases_in(situation.asked)
        names = coined_names(situation.asked)
        self.exact = [*self._phrases, *(names if len(names) == len(situation.asked.split()) else ())]
        self._told_of: dict[int, list[_Piece]] = {}

    def answers(self, ranked: Sequence[Ranked], limit: int) -> list[Found]:
        """The best answers, best first: at most so many, and where they are exchanges READ_AHEAD more."""
        by_session = self._situation.group_by_session
        rows: dict[int, list[Ranked]] = {}
        for item in ranked:
            rows.setdefault(item.candidate.session_id if by_session else item.candidate.exchange, []).append(item)
        found: list[Found] = []
        for items in rows.values():
            if len(found) == limit + (0 if by_session else READ_AHEAD):
                break
            row = self._row(items if self.exact else items[:1])
            found += [row] if row is not None else []
        return found if by_session else sorted(found, key=lambda row: -row.score)

    def widen(self, found: Iterable[Found]) -> None:
        """Lets rows show more of their exchanges."""
        for row in found:
            if row.exchange in self._told_of:
                row.passage = _passage(self._told_of[row.exchange], WIDE_ROW_CHARS)

    def surround(self, found: Iterable[Found]) -> None:
        """Lets rows show what was settled in the exchanges next to theirs, none that they or an earlier row show."""
        from howcome.retrieve.settled import Surroundings, place

        wanted = self._situation.wanted
        wrong = self._store.memory_search.refuted(wanted.then_ms)
        settled = Surroundings(self._store, self._weights, wanted, wrong)
        shown = list[str]()

        def is_shown(text: str) -> bool:
            return any(cut(text, AROUND_CHARS)[:BEGUN_CHARS] in had for had in shown)

        for row in found:
            shown.append(row.passage)
            if row.event is None or row.exchange not in self._told_of or row.event.kind not in events.TURN_KINDS:
                continue  # nothing is settled around what a tool printed
            for one in settled.of(place(row.event.row, row.exchange)):
                if one.item.candidate.exchange != row.exchange and not is_shown(one.text):
                    row.around.append((one.turn, cut(one.line(is_shown), AROUND_CHARS)))
                    shown.append(row.around[-1][1])
                if len(row.around) == AROUND_SENTENCES:
                    break

    def _row(self, items: Sequence[Ranked]) -> Found | None:
        """An exchange, of which these rows were found, as a row.

        None where nothing of it is wanted, or a quoted phrase is not there.
        """
        item, turns = items[0], self._turns(items)
        if not turns or not self._holds_phrases(turns):
            return None
        told = self._told_of[item.candidate.exchange] = self._told(turns)
        event = told[0].turn
        text = _passage(told, ROW_CHARS)
        factor = 1.0
        if not self._situation.group_by_session:
            factor = (1 + ANSWER_WEIGHT * share_of(text.lower(), self._weights)) / (1 + ANSWER_WEIGHT)
            is_new = self._now_ms - item.candidate.ts_ms < ECHO_MS
            factor *= ECHO if is_new and self._is_echo(item.candidate.exchange, turns) else 1
        row = Found(
            item.score * factor,
            item.tiers,
            text,
            event=event,
            strength=item.strength,
            adjustments={**item.adjustments, "answer": factor} if factor != 1.0 else item.adjustments,
        )
        row.exchange, row.prompt = item.candidate.exchange, self._prompt(item, event)
        return row

    def _is_echo(self, exchange: int, turns: Sequence[StoredEvent]) -> bool:
        """Whether a prompt asks mostly what the question asks, and the agent neither did nor said much."""
        prompts = [turn.text or turn.excerpt for turn in turns if turn.kind == events.USER_PROMPT]
        said = " ".join(turn.text or turn.excerpt for turn in turns if turn.kind != events.USER_PROMPT)
        asked = set(self._store.index.analyze(" ".join(prompts)))
        return (
            2 * len(asked & self._weights.keys()) >= max(1, len(asked))
            and len(set(self._store.index.analyze(said))) < ANSWER_TERMS
            and not self._store.log.answers(exchange, 1, events.TOOL_CALL)
        )

    def _turns(self, items: Sequence[Ranked]) -> list[StoredEvent]:
        """What was found, first, and the turns of its exchange that are wanted, too.

        Of several rows that were found those are first that hold what is to be there exactly.
        """
        log, exchange = self._store.log, items[0].candidate.exchange
        rows = {exchange, *(item.candidate.row for item in items)}
        told = log.events(rows, with_text=True) if self.exact else log.turns(rows)
        found = [told.pop(item.candidate.row) for item in items if item.candidate.row in told]
        if not found:
            return []
        event, *more = sorted(found, key=lambda turn: not self._quotes(turn))
        others = {turn.row: turn for turn in log.answers(exchange, TURNS)} | told | {turn.row: turn for turn in more}
        others.pop(event.row, None)
        wanted = self._situation.wanted
        kept = [turn for turn in others.values() if turn.project == event.project and _is_wanted(turn, wanted)]
        return [event, *sorted(kept, key=lambda turn: (turn.order_ms, turn.row))]

    def _told(self, turns: Sequence[StoredEvent]) -> list[_Piece]:
        """What is said in the turns that hold most of the question, best first.

        What was found itself may be no prose (code, a table, what a tool printed): then a passage of it as it stands.
        """
        found = turns[0]
        told = best_first(self._sentences(turns), self._weights)
        passage = best_passage(_said(found), {*self._weights, *self.exact}, SENTENCE_CHARS)
        is_quoted = found.kind not in events.TURN_KINDS and self._quotes(found)
        is_best = not told or is_quoted or share_of(passage.lower(), self._weights) - FRAGMENT > told[0][0]
        best = [_Piece(found, NO_PLACE, passage)] if is_best else []
        pieces = [(worth, _Piece(*whose, text)) for worth, whose, text in told]
        is_asked = is_best and found.kind not in events.TURN_KINDS  # the row names the prompt that opened it
        return [*best, *(one for worth, one in pieces if worth > 0 or not is_asked or one.turn.origin != _USER)]

    def _sentences(self, turns: Sequence[StoredEvent]) -> Iterator[tuple[tuple[StoredEvent, int], str]]:
        said = {turn.row: (turn.text or turn.excerpt) for turn in turns if turn.kind in events.TURN_KINDS}
        shares = {row: share_of(text.lower(), self._weights) for row, text in said.items()}
        telling = sorted((turn for turn in turns if turn.row in said), key=lambda turn: -shares[turn.row])
        for turn in telling[:READ_TURNS]:
            told = sentences(said[turn.row], is_typed=turn.kind == events.USER_PROMPT)
            yield from (((turn, place), sentence.text) for place, sentence in enumerate(told))

    def _holds_phrases(self, turns: Sequence[StoredEvent]) -> bool:
        said = " ".join(plain_words(_said(turn)) for turn in turns) if self._phrases else ""
        return all(phrase in said for phrase in self._phrases)

    def _quotes(self, turn: StoredEvent) -> bool:
        return any(map(plain_words(_said(turn)).__contains__, self.exact))

    def _prompt(self, item: Ranked, event: StoredEvent) -> str:
        """The beginning of the prompt that opened the exchange, where the row is not that prompt itself."""
        if event.row == item.candidate.exchange:
            return ""
        opening = self._store.log.events([item.candidate.exchange]).get(item.candidate.exchange)
        is_prompt = opening is not None and opening.kind == events.USER_PROMPT and opening.project == event.project
        return cut(opening.excerpt, PROMPT_CHARS) if opening is not None and is_prompt else ""


def _said(turn: StoredEvent) -> str:
    """What a turn says as far as it was read, of a call the strings of its input."""
    text = turn.text or turn.excerpt
    return events.call_words(text) if turn.kind == events.TOOL_CALL else text


def _passage(told: Sequence[_Piece], width_chars: int) -> str:
    """The best sentence, then the next best ones in the order in which they were said, as many as there is room for.

    Words of somebody else than who said the first say whose they are.
    """
    last, *others = told
    room = width_chars - len(last.text)
    rest = []
    for piece in others:
        if room < len(BETWEEN) + MAX_WORD_CHARS:
            break
        rest.append(piece)
        room -= len(BETWEEN) + len(piece.who) + min(len(piece.text), SENTENCE_CHARS)
    text = cut(last.text, min(width_chars, SENTENCE_CHARS))
    for piece in sorted(rest, key=lambda one: (one.turn.order_ms, one.turn.row, one.place)):
        is_next = (piece.turn.row, piece.place) == (last.turn.row, last.place + 1) and not text.endswith("…")
        before = (" " if is_next else BETWEEN) + (piece.who if piece.turn.origin != last.turn.origin else "")
        if (left := width_chars - len(text) - len(before)) < MAX_WORD_CHARS:
            break
        text = text.removesuffix("…") + before + cut(piece.text, min(left, SENTENCE_CHARS))
        last = piece
    return text


def _is_wanted(turn: StoredEvent, wanted: Filter) -> bool:
    """Whether a turn of a wanted exchange may be shown for it: of the kinds, the time and the subagent asked for."""
    moment = turn.ts_ms or 0
    is_in_time = (wanted.before_ms is None or moment < wanted.before_ms) and moment >= (wanted.since_ms or 0)
    is_of_kind = wanted.kinds is None or turn.kind in wanted.kinds
    return is_in_time and is_of_kind and wanted.agent_id in (None, turn.agent_id)
