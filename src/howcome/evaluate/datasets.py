"""Data sets as they lie on disk, told apart by what is in the folder, never by its name.

* transcripts: `transcripts/*.jsonl[.gz]` (native records of an agent) with `questions.jsonl[.gz]`;
* conversations: `sessions.jsonl[.gz]` (rows: `session`, `ts`, `turns`, perhaps `corpus`) with `questions.jsonl[.gz]`;
* passages: `docs.jsonl[.gz]` (rows with `id` and `text`) with `questions.jsonl[.gz]`;
* LongMemEval: one `longmemeval*.json`, as its authors publish it;
* secrets: `secrets.jsonl[.gz]` and `clean.jsonl[.gz]`: rows with `text` and optional `source`, `rule`.

A question row holds `question` and what answers it: `evidence_sessions`, `evidence_turns`, `evidence` (passages) or
`answer` (its words). docs/evaluation.md describes every field.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from howcome.clients.records import parse_time_ms
from howcome.errors import UsageError

TURN_SECONDS = 20
"""Turns without a time of their own are so far apart."""

_SPEAKERS = {"user": "user", "human": "user", "assistant": "assistant", "ai": "assistant"}
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True)
class Turn:
    """What was said at once, by whom: `user`, `assistant`, or a name."""

    id: str
    role: str
    text: str


@dataclass(frozen=True)
class Conversation:
    """A session's turns in their order, and when it began (None: nobody knows)."""

    session: str
    start_ms: int | None
    turns: Sequence[Turn]

    def timed(self) -> Iterable[tuple[int, Turn]]:
        """The turns with their times in UTC milliseconds, no two at the same."""
        start_ms = self.start_ms or 0
        return ((start_ms + number * TURN_SECONDS * 1000, turn) for number, turn in enumerate(self.turns))


def written_ms(text: object) -> int | None:
    """UTC milliseconds of a date in any form that begins with year, month, day (2023/12/18 (Mon) 04:17)."""
    numbers = [int(number) for number in _NUMBERS.findall(str(text or ""))][:6]
    try:
        return int(datetime(*numbers, tzinfo=UTC).timestamp() * 1000)  # type: ignore[arg-type, misc]
    except (TypeError, ValueError):
        return None


def _records(conversation: Conversation, project: str) -> Iterable[dict[str, object]]:
    """Native records, of a project with that name; a record is called by its session and its turn."""
    speakers: dict[str, str] = {}
    for time_ms, turn in conversation.timed():
        role = _SPEAKERS.get(turn.role.lower())
        if role is None:  # two people: whoever speaks first asks; what one of them says begins with the name
            role = speakers.setdefault(turn.role, "assistant" if len(speakers) % 2 else "user")
        is_named = turn.role.lower() not in (*_SPEAKERS, "turn")
        text = f"{turn.role}: {turn.text}" if is_named else turn.text
        content = text if role == "user" else [{"type": "text", "text": text}]
        at = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        yield {
            "type": role, "uuid": f"{conversation.session}/{turn.id}", "sessionId": conversation.session,
            "cwd": f"/{project}", "version": "0", "isSidechain": False, "timestamp": at,
            "message": {"role": role, "content": content},
        }  # fmt: skip


Row = dict[str, object]
_HAYSTACK = ("question_id", "question", "haystack_session_ids", "haystack_dates", "haystack_sessions")


@dataclass(frozen=True)
class Asked:
    """One question with the sessions and turns that answer it (a passage is a session of one turn), or with its answer.

    Only what is older than `before_ms` counts; `asking` is the session that asks, which is never an answer.
    """

    text: str
    category: str
    sessions: frozenset[str]
    turns: frozenset[str] = frozenset()
    answer: str = ""
    before_ms: int | None = None
    asking: str | None = None


@dataclass(frozen=True)
class Corpus:
    """One project's history with the questions that are asked of it.

    `write` puts the transcripts into an empty folder where they are not native already, and names all of them;
    `turns` are the ids of turns by their session and time, where questions ask for turns.
    """

    name: str
    questions: Sequence[Asked]
    write: Callable[[Path], list[Path]]
    turns: Mapping[tuple[str, int], str] = field(default_factory=dict)


@dataclass(frozen=True)
class DataSet:
    """The corpora of one folder; `is_passages` when the units that are ranked are single passages."""

    name: str
    corpora: Sequence[Corpus]
    is_passages: bool = False


def read_rows(path: Path, *fields: str) -> Iterator[Row]:
    """The objects of a JSON Lines file, unpacked when its name says so; each has the fields.

    Raises:
        UsageError: a line is no such object, or the file is not what its name says; the message says where.
    """
    opener = gzip.open if path.suffix == ".gz" else open
    number = 0
    try:
        with opener(path, "rt", encoding="utf-8") as stream:
            for number, line in enumerate(stream, 1):
                if line.strip():
                    yield _checked(json.loads(line), fields, f"{path}, line {number}")
    except (OSError, EOFError, ValueError) as error:
        raise UsageError(f"{path}, line {number or 1}: cannot be read: {error}") from error


def _checked(row: object, fields: Sequence[str], where: str) -> Row:
    if not isinstance(row, dict):
        raise UsageError(f"{where}: is no JSON object")
    missing = [name for name in fields if name not in row]
    if missing:
        raise UsageError(f"{where}: has no {missing[0]!r}; docs/evaluation.md describes the formats")
    return row


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Writes objects as JSON Lines; the path."""
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


def find(folder: Path, stem: str) -> Path | None:
    """`stem.jsonl` or `stem.jsonl.gz` in a folder, when it is there."""
    paths = (folder / f"{stem}{suffix}" for suffix in (".jsonl", ".jsonl.gz"))
    return next((path for path in paths if path.is_file()), None)


def rows_of(folder: Path, stem: str, *fields: str) -> Iterator[Row]:
    """What `read_rows` gives of such a file in a folder; nothing where there is none."""
    path = find(folder, stem)
    return read_rows(path, *fields) if path else iter(())


def sets_with(paths: Sequence[Path], stem: str, what: str) -> list[Path]:
    """The sets at or below some paths that have transcripts and rows of that name.

    Raises:
        UsageError: there are none.
    """
    below = (folder for path in paths for folder in _folders(path) if find(folder, stem))
    if not (found := [folder for folder in below if (folder / "transcripts").is_dir()]):
        raise UsageError(f"{paths[0]}: no {what} here: expected {stem}.jsonl with transcripts/")
    return found


def _folders(path: Path) -> list[Path]:
    return [path, *sorted(child for child in path.rglob("*") if child.is_dir())] if path.is_dir() else []


def find_sets(path: Path) -> list[Path]:
    """The data sets at or below a folder.

    Raises:
        UsageError: there are none; the message says what was looked for.
    """
    if not (found := [folder for folder in _folders(path) if kind_of(folder)]):
        raise UsageError(
            f"{path}: no data set here: expected questions.jsonl with transcripts/, sessions.jsonl or docs.jsonl,"
            " a longmemeval*.json, or secrets.jsonl with clean.jsonl"
        )
    return found


def kind_of(folder: Path) -> str | None:
    """What a folder is a data set of, by what it holds; None when it is none."""
    if find(folder, "questions"):
        if (folder / "transcripts").is_dir():
            return "sessions"
        if find(folder, "sessions"):
            return "conversations"
        if find(folder, "docs"):
            return "passages"
    if find(folder, "secrets") and find(folder, "clean"):
        return "secrets"
    return "longmemeval" if next(folder.glob("longmemeval*.json"), None) else None


def read_set(folder: Path) -> DataSet:
    """What a folder asks, of what; never one of kind 'secrets'."""
    kind = kind_of(folder)
    if kind == "sessions":
        return DataSet(folder.name, [Corpus(folder.name, clean_questions(folder), lambda _: native(folder))])
    if kind == "passages":
        return DataSet(folder.name, [_passages(folder)], is_passages=True)
    return DataSet(folder.name, _haystacks(folder) if kind == "longmemeval" else _conversations(folder))


def clean_questions(folder: Path) -> list[Asked]:
    """The questions of a folder without leaks of either kind."""
    return [_asked(row) for row in _clean_rows(folder)]


def _clean_rows(folder: Path) -> list[Row]:
    rows = rows_of(folder, "questions", "question")
    return [row for row in rows if not row.get("leak") and not row.get("leak_tools")]


def _asked(row: Row, within: str = "") -> Asked:
    """A question; `within` is what its set's sessions are called by in front of their own names."""
    asking = row.get("self")
    sessions = _names(row.get("evidence_sessions") or row.get("evidence"))
    return Asked(
        text=str(row["question"]),
        category=str(row.get("category") or "all"),
        sessions=frozenset(within + name for name in sessions),
        turns=_names(row.get("evidence_turns")),
        answer=str(row.get("answer") or ""),
        before_ms=parse_time_ms(row.get("before")),
        asking=f"{within}{asking}" if asking else None,
    )


def _names(value: object) -> frozenset[str]:
    return frozenset(str(name) for name in value) if isinstance(value, list) else frozenset()


def native(folder: Path) -> list[Path]:
    """The transcripts of a set, in the order of their names."""
    return sorted(path for path in (folder / "transcripts").rglob("*") if path.name.endswith((".jsonl", ".jsonl.gz")))


def _passages(folder: Path) -> Corpus:
    def write(where: Path) -> list[Path]:  # one by one: there may be many
        rows = rows_of(folder, "docs", "id", "text")
        named = ((f"{_within(folder)}{row['id']}", str(row["text"])) for row in rows)
        alone = (Conversation(name, None, [Turn(name, "user", text)]) for name, text in named)
        records = (record for one in alone for record in _records(one, folder.name))
        return [write_rows(where / "docs.jsonl", records)]

    return Corpus(folder.name, [_asked(row, _within(folder)) for row in _clean_rows(folder)], write)


def _within(folder: Path) -> str:
    """In front of the names of sessions that are not native: sets in one store may all have a session `s1`."""
    return f"{folder.name}/"


def _conversations(folder: Path) -> list[Corpus]:
    sessions: dict[str, list[Conversation]] = {}
    for row in rows_of(folder, "sessions", "session", "turns"):
        sessions.setdefault(str(row.get("corpus") or folder.name), []).append(_conversation(row, _within(folder)))
    questions: dict[str, list[Asked]] = {name: [] for name in sessions}
    for row in _clean_rows(folder):
        questions.setdefault(str(row.get("corpus") or folder.name), []).append(_asked(row, _within(folder)))
    return [_corpus(name, questions[name], found) for name, found in sessions.items()]


def _conversation(row: Row, within: str) -> Conversation:
    turns = []
    for at, found in enumerate(row["turns"] if isinstance(row["turns"], list) else [], 1):
        turn = _checked(found, ("id", "text"), f"session {row['session']}, turn {at}")
        image = f" [image: {turn['image']}]" if turn.get("image") else ""  # what a shared picture shows is part of it
        turns.append(Turn(str(turn["id"]), str(turn.get("role") or "user"), f"{turn['text']}{image}"))
    return Conversation(f"{within}{row['session']}", written_ms(row.get("ts")), turns)


def _corpus(name: str, questions: Sequence[Asked], sessions: Sequence[Conversation]) -> Corpus:
    def write(where: Path) -> list[Path]:
        records = (record for session in sessions for record in _records(session, name))
        return [write_rows(where / "sessions.jsonl", records)]

    turns = {(session.session, at): turn.id for session in sessions for at, turn in session.timed()}
    return Corpus(name, questions, write, turns)


def _haystacks(folder: Path) -> list[Corpus]:
    """LongMemEval: every question has sessions of its own."""
    path = next(folder.glob("longmemeval*.json"))
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
        return [_haystack(_checked(row, _HAYSTACK, f"{path}, question {at}")) for at, row in enumerate(rows, 1)]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UsageError(f"{path}: is not as LongMemEval is published: {error}") from error


def _haystack(row: Row) -> Corpus:
    name = str(row["question_id"])
    asked = Asked(
        str(row["question"]),
        str(row.get("question_type") or "all"),
        frozenset(f"{name}/{session}" for session in _names(row.get("answer_session_ids"))),
        answer=str(row.get("answer") or ""),
    )
    columns = (row["haystack_session_ids"], row["haystack_dates"], row["haystack_sessions"])
    sessions = []
    for session, date, told in zip(*columns, strict=True):  # type: ignore[call-overload]
        named = f"{name}/{session}"
        turns = [Turn(f"{named}/{at}", str(turn["role"]), str(turn["content"])) for at, turn in enumerate(told)]
        sessions.append(Conversation(named, written_ms(date), turns))
    return _corpus(name, [asked], sessions)


def milliseconds_of(moment: str) -> int:
    """UTC milliseconds of a moment as ISO 8601 has it; one without a zone is UTC.

    Raises:
        UsageError: it is no such moment.
    """
    if (found := parse_time_ms(moment)) is None:
        raise UsageError(f"{moment!r} is no time: expected 2026-10-01T12:00:00Z")
    return found
