"""Where OpenCode keeps its sessions, and how one becomes lines: its database, and the JSON files that came before it.

    opencode.db       session, message and part; newest versions: session_message instead of the last two
    storage/          session/<project>/<session>.json, message/<session>/<message>.json, part/<message>/<part>.json

Neither only grows: parts are rewritten while they stream. A session's lines are its head and the parts of its
messages, in order and without the fields that change later, up to the first part that is not finished. That one is an
unfinished last line: it waits like the torn line of a file, with all that follows it (a person may type on while the
agent still writes), and is read when it is done, or after a day of silence.
The agent is never in our way nor we in its: short reads, read-only, in the write-ahead log's own snapshots.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress

from howcome.clients.base import Status, names_in
from howcome.clients.decode import decode_record
from howcome.clients.files import check_ours, read_whole
from howcome.clients.records import Record, inside, objects
from howcome.errors import RecordError, TranscriptError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3  # not every Python has it

Row = tuple[str, str | bytes]
"""A message or part: its id, and its JSON."""

BUSY_S = 0.25
"""Readers wait only for a database that is not in WAL mode, or for its recovery."""

MAX_ANCESTORS = 10
"""Subagents start subagents, but not without end; a circle in a damaged store must end."""

_UNFINISHED = b'{"type": "unfinished"}'
_PART_FIELDS = (
    "type", "text", "synthetic", "ignored", "time", "callID", "tool", "state", "auto", "command", "index",
)  # fmt: skip
_STATE_FIELDS = ("status", "input", "output", "error")


# -- how sessions are now ----------------------------------------------------------------------------------------------
def database_state(path: str) -> Status:
    """How a database is with its write-ahead log; an empty log is no change."""
    status = check_ours(path)
    with suppress(OSError):
        log = os.lstat(path + "-wal")
        if log.st_size:
            return Status(status.st_size + log.st_size, max(status.st_mtime_ns, log.st_mtime_ns))
    return Status(status.st_size, status.st_mtime_ns)


def session_file_state(path: str) -> Status:
    """How a session file is, with the age of the folder of its messages."""
    status = check_ours(path)
    with suppress(OSError):
        return Status(status.st_size, max(status.st_mtime_ns, os.lstat(_messages_folder(path)).st_mtime_ns))
    return Status(status.st_size, status.st_mtime_ns)


# -- the database ------------------------------------------------------------------------------------------------------
@contextmanager
def _reading(path: str) -> Iterator[sqlite3.Connection]:
    """One snapshot of a database, read-only."""
    check_ours(path)
    import sqlite3
    from urllib.parse import quote

    try:
        place = f"file:{quote(os.fsencode(path))}?mode=ro"
        with closing(sqlite3.connect(place, uri=True, timeout=BUSY_S, isolation_level=None)) as connection:
            connection.text_factory = lambda data: data.decode("utf-8", "replace")
            connection.execute("PRAGMA trusted_schema = OFF")
            connection.execute("BEGIN")
            yield connection
    except sqlite3.Error as error:
        raise TranscriptError(f"{path}: {error}") from error


def sessions_in(path: str) -> list[tuple[str, Status]]:
    """The sessions of a database, longest untouched first: `<database>#<session>`, count of its rows and age.

    The count stands for a size: with the age it tells whether a session has changed since. It comes from indexes
    alone; what changes within a row does so in an unfinished message, which is read again in any case.
    """
    with _reading(path) as database:
        counts: Counter[object] = Counter()
        for table in ("message", "part", "session_message"):
            if "session_id" in _columns(database, table):
                rows = database.execute(f"SELECT session_id, count(*) FROM {table} GROUP BY 1")  # noqa: S608 - our names
                counts.update(dict(rows))
        updated = "time_updated" if "time_updated" in _columns(database, "session") else "0"
        sessions = database.execute(f"SELECT id, {updated} FROM session ORDER BY 2, 1").fetchall()  # noqa: S608
    return [
        (f"{path}#{name}", Status(counts[name], int(time_ms) * 1_000_000 if isinstance(time_ms, int | float) else 0))
        for name, time_ms in sessions
        if isinstance(name, str) and "/" not in name and "#" not in name
    ]


def _columns(database: sqlite3.Connection, table: str) -> set[str]:
    return {row[1] for row in database.execute(f"PRAGMA table_info({table})")}


def database_session(path: str, session: str, *, is_idle: bool = False) -> bytes:
    """A session of a database as lines; with `is_idle` whatever it holds is taken for finished."""
    with _reading(path) as database:
        known = _columns(database, "session")
        fields = [name if name in known else f"NULL AS {name}" for name in ("directory", "parent_id")]

        def read_head(name: str) -> Record | None:
            sql = f"SELECT {', '.join(fields)} FROM session WHERE id = ?"  # noqa: S608 - our names
            row = database.execute(sql, (name,)).fetchone()
            return {"directory": row[0], "parentID": row[1]} if row else None

        head = read_head(session)
        if head is None:
            raise TranscriptError(f"{path}#{session}: no such session")
        line = _head_line(session, head, read_head)
        order = "time_created, id" if "time_created" in _columns(database, "message") else "id"
        messages = database.execute(
            f"SELECT id, data FROM message WHERE session_id = ? ORDER BY {order}",  # noqa: S608 - ours
            (session,),
        ).fetchall()
        parts: dict[str, list[Row]] = {}
        for message, part, data in database.execute(
            "SELECT message_id, id, data FROM part WHERE session_id = ? ORDER BY message_id, id", (session,)
        ):
            parts.setdefault(message, []).append((part, data))
        if not messages and "data" in _columns(database, "session_message"):
            messages, parts = _from_session_messages(database, session)
    return line + _lines(messages, lambda message: parts.get(message, ()), is_idle=is_idle)


def _head_line(session: str, head: Record, read_head: Callable[[str], Record | None]) -> bytes:
    """The head of a session: its folder, and of a subagent's the session at the top, in which a person speaks."""
    top, parent = None, head.get("parentID")
    for _ in range(MAX_ANCESTORS):
        if not isinstance(parent, str) or not parent:
            break
        top, parent = parent, (read_head(parent) or {}).get("parentID")
    return _line({"type": "session", "id": session, "directory": head.get("directory"), "parent": top}) + b"\n"


def _from_session_messages(database: sqlite3.Connection, session: str) -> tuple[list[Row], dict[str, list[Row]]]:
    """The newest versions' rows, which hold a whole message each, as messages and parts of the older form."""
    messages: list[Row] = []
    parts: dict[str, list[Row]] = {}
    order = "seq" if "seq" in _columns(database, "session_message") else "time_created, id"
    sql = f"SELECT id, type, data FROM session_message WHERE session_id = ? ORDER BY {order}"  # noqa: S608 - ours
    for message, kind, data in database.execute(sql, (session,)):
        record = _decoded(data)
        if record is None:
            messages.append((message, data))
            continue
        is_agent = kind == "assistant"
        info = {"role": kind if is_agent else "user", "time": record.get("time"), "error": record.get("error")}
        messages.append((message, json.dumps(info)))
        one = {**record, "time": None, "type": "text" if kind == "user" else kind}
        content = record.get("content") if is_agent else [one]
        items = content if isinstance(content, list) else []
        parts[message] = [(str(index), json.dumps(_older_part(item, index))) for index, item in enumerate(items)]
    return messages, parts


def _older_part(item: object, index: int) -> dict[str, object]:
    """A content item of the newest versions in the older form; its place in the message tells equal ones apart."""
    item = item if isinstance(item, dict) else {"type": None}
    time = inside(item, "time")
    spans = {"start": time.get("ran") or time.get("created"), "end": time.get("completed")}
    part = {**item, "time": spans, "auto": item.get("reason") == "auto", "index": index}
    state = item.get("state")
    if item.get("type") == "tool" and isinstance(state, dict):
        texts, error = [block.get("text") for block in objects(state.get("content"))], state.get("error")
        output = "\n".join(text for text in texts if isinstance(text, str))
        message = error.get("message") if isinstance(error, dict) else error
        part |= {"tool": item.get("name"), "callID": item.get("id"), "time": None}
        part["state"] = {**state, "output": output, "error": message, "time": spans}
    return part


# -- the older files ---------------------------------------------------------------------------------------------------
def session_file(path: str, *, is_idle: bool = False) -> bytes:
    """A session of the older files as lines; ids come from the files' names, as the client's own migration takes them.

    With `is_idle` whatever it holds is taken for finished.
    """
    try:
        head = decode_record(read_whole(path), None)
    except RecordError as error:
        raise TranscriptError(f"{path}: not a whole document: {error.reason}") from error

    def read_head(name: str) -> Record | None:
        try:
            return decode_record(read_whole(os.path.join(os.path.dirname(path), name + ".json")), None)
        except TranscriptError:
            return None

    folder = _messages_folder(path)
    parts = os.path.join(os.path.dirname(os.path.dirname(folder)), "part")
    line = _head_line(os.path.basename(folder), head, read_head)
    return line + _lines(_files(folder), lambda message: _files(os.path.join(parts, message)), is_idle=is_idle)


def _messages_folder(path: str) -> str:
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    return os.path.join(storage, "message", os.path.basename(path).removesuffix(".json"))


def _files(folder: str) -> list[Row]:
    """The documents of a folder in the order of their ids, which is that of their making."""
    names = [name for name in names_in(folder) if name.endswith(".json")]
    return [(name.removesuffix(".json"), read_whole(os.path.join(folder, name))) for name in names]


# -- messages and parts as lines ---------------------------------------------------------------------------------------
def _lines(messages: list[Row], parts_of: Callable[[str], Iterable[Row]], *, is_idle: bool) -> bytes:
    """The parts of the messages as lines, up to what is not finished: with it the lines before it would change."""
    found: list[bytes] = []
    decoded = [_decoded(data) for _, data in messages]
    # A session's agent writes one message at a time, so those before its last one were given up.
    answers = (number for number, info in enumerate(decoded) if info is not None and info.get("role") == "assistant")
    last_answer = max(answers, default=0)
    for number, (message, data) in enumerate(messages):
        info = decoded[number]
        is_open = not is_idle and number >= last_answer and not _is_over(info)
        if info is None:
            found.append(_on_one_line(data) + b"\n")
        for _, part_data in parts_of(message):
            part = _decoded(part_data)
            line = _on_one_line(part_data) if part is None else _part_line(message, info or {}, part)
            if is_open and not _is_finished(part):
                return b"".join(found) + line
            found.append(line + b"\n")
        if is_open:
            return b"".join(found) + _UNFINISHED
    return b"".join(found)


def _is_over(info: Record | None) -> bool:
    """Whether nothing more comes in a message; a person's is written at once."""
    if info is None:
        return False
    return info.get("role") == "user" or bool(inside(info, "time").get("completed") or info.get("error"))


def _is_finished(part: Record | None) -> bool:
    if part is None:
        return False
    kind = part.get("type")
    if kind == "tool":
        return inside(part, "state").get("status") in ("completed", "error")
    return kind not in ("text", "reasoning") or bool(inside(part, "time").get("end"))


def _part_line(message: str, info: Record, part: Mapping[str, object]) -> bytes:
    """A part with what its message says of it; neither with anything that changes when both are finished."""
    kept = {name: part[name] for name in _PART_FIELDS if part.get(name) is not None}
    if isinstance(state := part.get("state"), dict):
        kept["state"] = _kept_state(state)
    record = {
        "type": "part", "message": message, "role": info.get("role"),
        "at": inside(info, "time").get("created"), "cwd": inside(info, "path").get("cwd"),
        "summary": True if info.get("role") == "assistant" and info.get("summary") is True else None,
        "index": kept.pop("index", None),
    }  # fmt: skip
    return _line({name: value for name, value in record.items() if value is not None} | {"part": kept})


def _kept_state(state: Record) -> dict[str, object]:
    kept = {name: state[name] for name in _STATE_FIELDS if state.get(name) is not None}
    time, code = state.get("time"), inside(state, "metadata").get("exit")
    if code is not None:
        kept["metadata"] = {"exit": code}
    if isinstance(time, dict):  # but for when the client took the output out of its context: that comes later
        kept["time"] = {name: time.get(name) for name in ("start", "end")}
    return kept


def _decoded(data: object) -> dict[str, object] | None:
    with suppress(RecordError):
        return decode_record(_raw(data, "surrogatepass"), None)
    return None


def _raw(data: object, errors: str = "replace") -> bytes:
    """What a row or file holds; a row may hold anything."""
    return data.encode("utf-8", errors) if isinstance(data, str) else data if isinstance(data, bytes) else b""


def _on_one_line(data: object) -> bytes:
    """What is no record: it is quarantined there."""
    return b" ".join(_raw(data).split()) or b"?"


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
