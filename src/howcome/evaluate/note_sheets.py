"""Blinded sheets for two readers, and their grades: the half of the measure that keeping everything does not win.

The first reader sees single texts, shuffled: memories, verbatim prompts, bags of keywords, other projects' memories.
The second sees them by session, with what was said there. No grade needs the key: a row's id is made of what it is.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import blake2b
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from howcome.domain import events
from howcome.domain.events import cut
from howcome.domain.shares import Share
from howcome.domain.stored import StoredEvent
from howcome.errors import UsageError
from howcome.evaluate.datasets import read_rows, write_rows
from howcome.evaluate.metrics import words_of
from howcome.evaluate.note_run import Distilled, said_in
from howcome.evaluate.notes import Graded, Kept

MEMORY, VERBATIM, BAG, FOREIGN = "memory", "verbatim", "bag", "foreign"
_KEPT = {MEMORY: "memories", VERBATIM: "prompts"}
BAGS, BAG_WORDS, MIN_BAG_TIMES = 2, 12, 2
"""Bags a session, words a bag, and how many turns of a session say such a word."""

MAX_DECOYS = 0.1
"""Readers who let more of the decoys pass have not read."""

MAX_ROW_CHARS, MAX_TURN_CHARS, MAX_TOOL_CHARS = 1500, 700, 300
MAX_CITED_CHARS, MAX_CITED_TOOL_CHARS = 8000, 2500
ASKED = ("alone", "useful", "right")
_YES, _NO = ("true", "yes", "y", "1"), ("false", "no", "n", "0")
_FIRST = """# Single notes

Somebody joins a software project and is handed these notes, one by one, in no order. You know nothing else of it.
For every row answer two questions with true or false:

- `alone`: can it be understood by itself: is it clear what it is about and what it says?
- `useful`: would it still help somebody who works on that project weeks later?

Answer one JSON object a line: {"id": "…", "alone": true, "useful": false}
"""
_SECOND = """# Notes beside what was said

Under each session stands what was said there (parts, in order), then notes that may have been taken from it.
For every note answer with true or false:

- `right`: does the session bear it out, and does nothing said later there overrule it?

Answer one JSON object a line: {"id": "…", "right": true}
"""


@dataclass(frozen=True)
class Row:
    """A row of the sheets: what it is, and the session that the second reader sees with it."""

    id: str
    set: str
    what: str
    session: str
    text: str


@dataclass(frozen=True)
class Grades:
    """What readers said of today's rows.

    Attributes:
        memories: By set; `prompts`: of the baseline.
        bags: Keyword bags that passed the first reader; `foreign`: other projects' memories that passed the second.
        missing: Memories of today without a whole grade.
        unknown: Grades of rows that are none of today's.
    """

    memories: Mapping[str, Graded]
    prompts: Mapping[str, Graded]
    bags: Share
    foreign: Share
    missing: int
    unknown: int

    @property
    def void(self) -> str:
        """Why the grades are worth nothing; '' when they are worth something."""
        passed = (self.bags, "keyword bags", "first"), (self.foreign, "memories of other projects", "second")
        for decoys, what, reader in passed:
            if decoys.value > MAX_DECOYS:
                return f"{decoys.count} of {decoys.of} {what} passed the {reader} reader"
        return "" if self.bags.of else "no keyword bag was graded"


def sheet_rows(sets: Sequence[Distilled]) -> list[Row]:
    """All rows, shuffled; a text that is kept twice is one."""
    chance = random.Random(7)  # noqa: S311 - order, not secrets
    found: dict[str, Row] = {}
    for data in sets:
        strange = [(bool(one.sessions & other.told.keys()), one.text) for other, one in _others(sets, data)]
        chance.shuffle(strange)
        strange.sort(key=lambda pair: pair[0])  # those that are rows of their own last: nobody needs to see them twice
        rows = [(what, at, one.text) for what, kept in _KEPT.items() for at, one in _read(data, getattr(data, kept))]
        rows += [(BAG, session, text) for session, text in bags(data)]
        rows += [(FOREIGN, session, text) for session, (_, text) in zip(data.told, strange, strict=False)]
        for what, session, text in rows:
            row = Row(row_id(data.name, what, text), data.name, what, session, text)
            found.setdefault(row.id, row)
    shuffled = [found[name] for name in sorted(found)]
    chance.shuffle(shuffled)
    return shuffled


def bags(data: Distilled) -> list[tuple[str, str]]:
    """The words that a session says and the others do not, without a sentence: they share most with any note."""
    said = {
        name: Counter(word for event in told if event.kind in events.TURN_KINDS for word in words_of(event.text or ""))
        for name, told in data.told.items()
    }
    rare = Counter(word for counts in said.values() for word in counts)
    found = []
    for session, counts in said.items():
        often = (word for word, times in counts.items() if times >= MIN_BAG_TIMES and not word.isdigit())
        words = [word for *_, word in sorted((rare[word], -counts[word], word) for word in often)]
        cuts = (words[at : at + BAG_WORDS] for at in range(0, BAGS * BAG_WORDS, BAG_WORDS))
        found += [(session, " ".join(bag)) for bag in cuts if bag]
    return found


def write_sheets(out: Path, sets: Sequence[Distilled], chunk: int | None = None) -> list[Path]:
    """The two readers' sheets, in parts of about `chunk` rows, as JSON Lines and Markdown; and the key, for nobody."""
    rows = sheet_rows(sets)
    size = chunk or len(rows) or 1
    out.parent.mkdir(parents=True, exist_ok=True)
    key = Path(f"{out}.key.json")
    key.write_text(json.dumps([asdict(row) for row in rows], ensure_ascii=False, indent=1), encoding="utf-8")
    written = [key]
    for number, at in enumerate(range(0, len(rows), size), 1):
        shown = [_shown(row) for row in rows[at : at + size]]
        written += _write(Path(f"{out}.first-{number:02}"), shown, _FIRST + _listed(shown))
    named = {data.name: data for data in sets}
    for number, groups in enumerate(_packed(rows, size), 1):
        lines, text = list[dict[str, str]](), _SECOND
        for group in groups:
            said, shown = excerpt(named[group[0].set], group), [_shown(row) for row in group]
            lines += [{"session": group[0].session, "said": said}, *shown]
            text += f"\n# Session {group[0].session}\n\n{said}\n\n# Notes of this session\n{_listed(shown)}"
        written += _write(Path(f"{out}.second-{number:02}"), lines, text)
    return written


def excerpt(data: Distilled, rows: Sequence[Row]) -> str:
    """What the user said in a session, and what a session's rows cite, with the turns before and after it."""
    wanted = {row.text for row in rows}
    cited = {text for one in (*data.memories, *data.prompts) if one.text in wanted for text in one.cited}
    told = [event for event in data.told[rows[0].session] if event.kind != events.ASSISTANT_THINKING]
    turns = [at for at, event in enumerate(told) if event.kind in events.TURN_KINDS]
    shown = {at for at, event in enumerate(told) if said_in(event) in cited}
    near = set(shown)
    for one in sorted(shown):
        near |= {*[at for at in turns if at < one][-1:], *[at for at in turns if at > one][:1]}
    near |= {at for at in turns if told[at].kind == events.USER_PROMPT} | set(turns[-1:])
    return "\n\n".join(_said(told[at], is_cited=at in shown) for at in sorted(near))


def _said(event: StoredEvent, *, is_cited: bool) -> str:
    """An event with its time: nearly whole where a row cites it, else its beginning."""
    if event.kind in events.TURN_KINDS:
        most = MAX_CITED_CHARS if is_cited else MAX_TURN_CHARS
    else:
        most = MAX_CITED_TOOL_CHARS if is_cited else MAX_TOOL_CHARS
    at = datetime.fromtimestamp((event.ts_ms or 0) / 1000, UTC)
    return f"[{at:%Y-%m-%d %H:%M}] {event.tool or event.origin}: {cut((event.text or '').strip(), most)}"


def read_grades(paths: Iterable[Path]) -> dict[str, dict[str, bool]]:
    """What readers said, by the row's id; the later word counts.

    Raises:
        UsageError: an answer is neither yes nor no.
    """
    found: dict[str, dict[str, bool]] = {}
    for path in paths:
        for row in read_rows(path, "id"):
            for name in ASKED:
                if (answer := str(row.get(name, "")).strip().lower()) not in ("", "none"):
                    if answer not in _YES + _NO:
                        raise UsageError(f"{path}: {row['id']}: {name} is {answer!r}; expected true or false")
                    found.setdefault(str(row["id"]), {})[name] = answer in _YES
    return found


def graded(sets: Sequence[Distilled], grades: Mapping[str, Mapping[str, bool]]) -> Grades:
    """Grades of the rows that today's memories give."""
    memories, prompts, known = {}, {}, set()
    bag_rows, foreign_rows, missing = [], [], 0
    for data in sets:
        ours = {one.id: row_id(data.name, MEMORY, one.text) for _, one in _read(data, data.memories)}
        theirs = {one.id: row_id(data.name, VERBATIM, one.text) for _, one in _read(data, data.prompts)}
        bag_rows += [row_id(data.name, BAG, text) for _, text in bags(data)]
        foreign_rows += [row_id(data.name, FOREIGN, one.text) for _, one in _others(sets, data)]
        memories[data.name], prompts[data.name] = _graded(ours, grades), _graded(theirs, grades)
        given = [grades.get(row, {}) for row in ours.values()]
        missing += sum(len(one) < len(ASKED) and all(one.values()) for one in given)  # one who says no is enough
        known |= {*ours.values(), *theirs.values()}
    first = [_passes(grades[row], "alone", "useful") for row in bag_rows if "alone" in grades.get(row, {})]
    second = [_passes(grades[row], "right") for row in set(foreign_rows) if "right" in grades.get(row, {})]
    unknown = len(grades.keys() - known - {*bag_rows, *foreign_rows})
    return Grades(memories, prompts, Share.among(first), Share.among(second), missing, unknown)


def row_id(set_name: str, what: str, text: str) -> str:
    """The id of a row: the same text gives the same one in every run, and nothing is seen in it."""
    return blake2b(f"{set_name}\0{what}\0{text}".encode("utf-8", "replace"), digest_size=5).hexdigest()


def _graded(rows: Mapping[str, str], grades: Mapping[str, Mapping[str, bool]]) -> Graded:
    passed = {name for name, row in rows.items() if _passes(grades.get(row, {}), *ASKED)}
    return Graded(passed, {name for name, row in rows.items() if grades.get(row, {}).get("right") is False})


def _passes(grade: Mapping[str, bool], *names: str) -> bool:
    return all(grade.get(name, False) for name in names)


def _read(data: Distilled, kept: Iterable[Kept]) -> Iterator[tuple[str, Kept]]:
    """What is of sessions that were read, with the first of these."""
    for one in kept:
        if sessions := sorted(one.sessions & data.told.keys()):
            yield sessions[0], one


def _others(sets: Sequence[Distilled], data: Distilled) -> list[tuple[Distilled, Kept]]:
    """The memories of the other projects."""
    return [(other, one) for other in sets if other is not data for one in other.memories]


def _packed(rows: Sequence[Row], size: int) -> Iterator[list[list[Row]]]:
    """The rows that the second reader sees by session, sessions whole, about so many rows at once."""
    place = attrgetter("set", "session")
    shown = sorted((row for row in rows if row.what != BAG), key=place)  # within a session they stay shuffled
    part: list[list[Row]] = []
    for found in (list(group) for _, group in groupby(shown, key=place)):
        if part and sum(map(len, part)) + len(found) > size:
            yield part
            part = []
        part.append(found)
    if part:
        yield part


def _shown(row: Row) -> dict[str, str]:
    return {"id": row.id, "text": cut(row.text, MAX_ROW_CHARS)}


def _listed(shown: Iterable[Mapping[str, str]]) -> str:
    quoted = ((row["id"], "\n".join(f"> {line}" for line in row["text"].splitlines())) for row in shown)
    return "".join(f"\n## {name}\n\n{text}\n" for name, text in quoted)


def _write(path: Path, rows: Iterable[Mapping[str, str]], text: str) -> list[Path]:
    as_text = Path(f"{path}.md")
    as_text.write_text(text, encoding="utf-8")
    return [write_rows(Path(f"{path}.jsonl"), rows), as_text]
