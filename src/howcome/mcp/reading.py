"""The tools that read: an index of hits, what stands around one, whole texts, sessions unwound.

Every answer says what it costs and where to go on. What is quoted is escaped and stands in one block as data, which
is taken out again when the transcript is read: memory must not feed on its own echo.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from howcome.app import App
from howcome.clients.projects import MAX_PATH_CHARS, is_inside
from howcome.domain import events
from howcome.domain.answering import cut as shorten
from howcome.domain.events import squeeze
from howcome.domain.memories import Memory, MemoryFilter, is_memory_id
from howcome.domain.stored import Scope, SessionSummary, StoredEvent
from howcome.domain.text import tokens
from howcome.errors import NotFoundError, UsageError
from howcome.mcp.arguments import Arguments
from howcome.mcp.workplace import Workplace
from howcome.present import files
from howcome.present.answers import answers
from howcome.present.moments import moment_ms
from howcome.present.nothing_found import EMPTY, agents, not_searchable, nothing_found, only_near
from howcome.present.render import Rendered, block, counted, entry, inline, iso_time, joined, line, stored
from howcome.present.views import (
    around_lines,
    event_head,
    event_line,
    event_view,
    hit_head,
    hit_view,
    memory_head,
    memory_view,
    session_view,
    short_time,
)
from howcome.retrieve.projects import project_label
from howcome.retrieve.question import Question

KINDS = events.STORED_KINDS
ANSWER_CHARS = 30_000
"""7,500 tokens, as a block's text is counted once it is escaped: clients warn at 10,000."""

LINE_CHARS = 200
"""Of a session its first prompt."""

HIT_CHARS, HITS_CHARS, MAX_HIT_CHARS = 80, 800, 320
"""Of a hit, which is some 35 tokens with what stands in front of it; fewer hits share what ten of them take."""

HIT_AROUND_CHARS = 160
"""Of what was settled around one of the first hits."""

SLACK = 4
"""What an entry's own line breaks and mark take."""

AROUND = 6
CHANGES = 8
REPLAY_EVENTS = 200
TIMELINE_EVENTS = 100
TIMELINE_SESSIONS = 20
MAX_NAME_CHARS = 60
MAX_PROBLEM_CHARS = 100
MAX_LISTED = 1_000_000
_NARROWING = ("type", "session", "since", "before", "agent", "agent_id", "subsystem")


# -- search ------------------------------------------------------------------------------------------------------------
def search_memory(session: Workplace, arguments: Arguments) -> str:
    """The index of hits: one line each."""
    from howcome.app import now_ms

    app, now = session.app, now_ms()
    before, since, of_session = (arguments.text(name) for name in ("before", "since", "session"))
    project = arguments.text("project")
    is_everywhere = project is None and of_session is not None  # a session is named by itself, as in the other tools
    query = arguments.texts("query")
    of_agents = {arguments.text(name) for name in ("agent", "agent_id")} - {None}
    if len(of_agents) > 1:
        raise UsageError("agent and agent_id name two agents: give one of them")
    question = Question(
        query if len(query) > 1 else query[0],
        Scope.everything() if is_everywhere else session.scope(project),
        limit=arguments.number("limit", 10),
        types=arguments.texts("type"),
        session=of_session,
        agent=next(iter(of_agents), None),
        subsystem=arguments.text("subsystem"),
        before_ms=moment_ms(before, "before", now) if before else None,
        since_ms=moment_ms(since, "since", now) if since else None,
        with_near=True,
    )
    told = answers(app, question)
    found, failed = told.found, told.failed and f"Searched by words only: {told.failed}"
    lag = "".join(f" {one}." for one in (not_searchable(app.index.lag()), failed) if one)
    narrowed = [name for name in _NARROWING if arguments.texts(name)]
    hints = [] if project or is_everywhere else ["project: 'all' searches every project"]
    if not found:
        nothing = " ".join(told.notes) if told.is_told else nothing_found(app, question, narrowed, hints)
        return _of_time(session, told.sessions, nothing + lag)
    is_named = project is not None or is_everywhere
    views = [hit_view(item) for item in found]
    chars = max(HIT_CHARS, min(MAX_HIT_CHARS, HITS_CHARS // len(found)))
    lines = []
    for view in views:
        hit = line(hit_head(view, session.name, with_project=is_named), shorten(view["excerpt"], chars))
        lines.append(joined([hit, *(line("  ", shorten(one, HIT_AROUND_CHARS)) for one in around_lines(view, 1))]))
    head = only_near(narrowed, hints) if found[0].is_near else f"{counted(len(found), 'hit')}, best first."
    head = " ".join((head, *told.notes, f"Full text: get_memories; around an event: get_context, expand_memory.{lag}"))
    return answer(app, head, cut_to_fit(lines, "a smaller limit"))


def _of_time(session: Workplace, found: Sequence[SessionSummary], head: str) -> str:
    if not found:
        return head
    lines = [_session_line(one, session.name) for one in found]
    return answer(session.app, f"{head} get_timeline(session=…) tells one.", cut_to_fit(lines, "a smaller limit"))


# -- whole texts -------------------------------------------------------------------------------------------------------
def get_memories(session: Workplace, arguments: Arguments) -> str:
    """The whole texts of some ids; an unknown one does not spoil the others."""
    app, ids, agent = session.app, list(dict.fromkeys(arguments.texts("ids"))), arguments.text("agent_id")
    room = ANSWER_CHARS // len(ids)
    parts: list[Rendered] = []
    problems: list[str] = []
    for ident in ids:
        try:
            parts.append(_whole(app, ident, agent, arguments.number("offset", 0) * (len(ids) == 1), room))
        except NotFoundError as error:
            problems.append(squeeze(str(error), MAX_PROBLEM_CHARS))
    if not parts:
        raise NotFoundError("; ".join(problems))
    return answer(app, "; ".join(problems), cut_to_fit(parts, "asking for fewer at once"))


def _memory(app: App, ident: str, agent: str | None) -> Memory:
    """A memory; of an agent only one that it owns."""
    memory = app.memories.get(ident)
    if agent is not None and memory.agent != agent:
        raise NotFoundError(f"{memory.id} is not agent {_name(agent)}'s; leave out agent_id to read it")
    return memory


def _event(app: App, ident: str, agent: str | None) -> StoredEvent:
    """An event; of an agent only one of that client or subagent."""
    event = app.events.by_id(ident)
    if agent is not None and not _of(agent, [event]):
        raise NotFoundError(f"{event.id} is not of agent {_name(agent)}; leave out agent_id to read it")
    return event


def _of(agent: str | None, told: Sequence[StoredEvent]) -> list[StoredEvent]:
    """Those of some events that are an agent's: of that client, or of a subagent with that id."""
    return [event for event in told if agent is None or agent in (event.client, event.agent_id)]


def _whole(app: App, ident: str, agent: str | None, offset: int, room: int) -> Rendered:
    if is_memory_id(ident):
        memory = _memory(app, ident, agent)
        app.search.look([memory])
        if not offset:  # going on with a text is the same reading
            app.memories.count_access([memory])
        return _part(memory_head(memory_view(memory)), memory.id, memory.text, offset, room)
    event = _event(app, ident, agent)
    return _part(event_head(event_view(event)), event.id, event.text or event.excerpt, offset, room)


def _part(head: str, ident: str, text: str, offset: int, room: int, mark: str = "") -> Rendered:
    """A text from an offset on, below its head, as much of it as there is room for, and how to go on."""
    part = text[offset : offset + room]
    while len(shown := entry("", part)) > room + SLACK:  # markup and line breaks grow when they are escaped
        part = part[: min(len(part) - 1, len(part) * room // len(shown))]
    left = len(text) - offset - len(part)
    more = f"… {left} more characters: get_memories(ids=[{ident!r}], offset={offset + len(part)})"
    return joined([entry(head, part, mark=mark), *([entry(more)] if left > 0 else [])])


def expand_memory(session: Workplace, arguments: Arguments) -> str:
    """An event with its exchange, or a memory with its chain and evidence."""
    app, ident, agent = session.app, arguments.text("id") or "", arguments.text("agent_id")
    if is_memory_id(ident):
        return _expand_memory(app, _memory(app, ident, agent))
    event = _event(app, ident, agent)
    exchange = _of(agent, app.events.exchange_of(event))
    spoken = [other for other in exchange if other.kind in events.TURN_KINDS or other.row == event.row]
    texts = {other.row: other for other in app.events.with_texts(spoken)}
    room = ANSWER_CHARS // (2 * max(1, len(spoken)))
    parts = [
        _part(event_head(event_view(other)), other.id, texts[other.row].text or other.excerpt, 0, max(room, 600))
        if other.row in texts
        else entry(event_line(event_view(other)))
        for other in exchange
    ]
    head = f"The exchange of {event.id} in session {_name(event.session)}; the way to it: replay_session({event.id!r})."
    return answer(app, head, cut_to_fit(parts, "get_context"))


def _expand_memory(app: App, memory: Memory) -> str:
    app.memories.count_access([memory])
    room = ANSWER_CHARS // 4
    parts = [_part(memory_head(memory_view(memory)), memory.id, memory.text, 0, room)]
    way = "replaced"
    for other in app.memories.chain(memory.key.hex()):
        if other.row == memory.row:
            way = "replaced by"
            continue
        parts.append(_part(f"{way} {memory_head(memory_view(other))}", other.id, other.text, 0, room))
    for ident in memory.evidence:
        found = app.events.cited([ident])
        words = (
            (event_head(event_view(found[0])), found[0].excerpt) if found else ("one that is not in this store", None)
        )
        parts.append(entry(f"borne out by {words[0]}", words[1]))
    return answer(app, "", cut_to_fit(parts, "get_memories"))


# -- sessions ----------------------------------------------------------------------------------------------------------
def get_context(session: Workplace, arguments: Arguments) -> str:
    """The events around one, in their order."""
    app, ident, agent = session.app, arguments.text("id") or "", arguments.text("agent_id")
    if is_memory_id(ident):
        return _expand_memory(app, _memory(app, ident, agent))
    event = _event(app, ident, agent)
    told = _of(agent, app.events.session_of(event)[0])
    place = next((place for place, other in enumerate(told) if other.row == event.row), 0)
    start = max(0, place - arguments.number("before", AROUND))
    chosen = told[start : place + 1 + arguments.number("after", AROUND)]
    span = f"Events {start + 1} to {start + len(chosen)} of {len(told)}"
    head = f"{span} of session {_name(event.session)}; {event.id} is marked >."
    return answer(app, head, _told(app, chosen, arguments, mark=event.row))


def replay_session(session: Workplace, arguments: Arguments) -> str:
    """A session from its start to an event, or all of it."""
    app, ident, agent = session.app, (arguments.text("id") or "").strip(), arguments.text("agent_id")
    try:
        event = _event(app, ident, agent)
        told, place = app.events.session_of(event)
        told, name, mark = _of(agent, told[: place + 1]), event.session, event.row
    except NotFoundError:
        if ident.startswith("ev-") and not app.events.is_session(ident):
            raise
        row, name, _ = app.events.session_named(ident)
        told, mark = _of(agent, app.events.session(row)), -1
    offset = arguments.number("offset", 0)
    chosen = told[offset : offset + arguments.number("limit", REPLAY_EVENTS)]
    if not chosen:
        return f"Session {_name(name)} has {counted(len(told), 'event')} up to there; offset {offset} is after its end."
    head = f"Session {_name(name)}, events {offset + 1} to {offset + len(chosen)} of {len(told)}."
    return answer(app, head, _told(app, chosen, arguments, mark=mark, offset=offset, total=len(told)))


def get_timeline(session: Workplace, arguments: Arguments) -> str:
    """The latest sessions, the events of one, or what is known of a file or a line of it."""
    if (place := arguments.text("file")) is not None:
        return _of_file(session, arguments, place)
    app, name, agent = session.app, arguments.text("session"), arguments.text("agent_id")
    if name is None:
        return _sessions(session, arguments)
    row, name, _ = app.events.session_named(name)
    kinds = arguments.texts("type")
    told = [event for event in _of(agent, app.events.session(row)) if not kinds or event.kind in kinds]
    offset = arguments.number("offset", 0)
    chosen = told[offset : offset + arguments.number("limit", TIMELINE_EVENTS)]
    if not chosen:
        return f"Session {_name(name)} has {counted(len(told), 'such event')}; none after {offset}."
    head = f"Session {_name(name)}, events {offset + 1} to {offset + len(chosen)} of {len(told)}."
    return answer(app, head, _told(app, chosen, arguments, offset=offset, total=len(told)))


def _of_file(session: Workplace, arguments: Arguments, place: str) -> str:
    """Only of a file of this project: what is told of another is not for who may not read it."""
    app, folder = session.app, session.project_folder()
    if "\0" in place or len(place) > MAX_PATH_CHARS:
        raise UsageError("file: that is no path")
    file, line = files.file_and_line(os.path.join(folder, place))
    roots = (os.path.realpath(root) for root in (folder, app.projects.root_of(folder)))
    if not any(is_inside(os.path.realpath(file), root) for root in roots):
        raise UsageError("file: name a file of this project")
    if line is None:
        name, found, _ = app.files.history(file, arguments.number("limit", CHANGES))
        head = f"{name}: what became of it, newest first." if found else f"{name}: no session, plan or commit names it."
    else:
        name, past = app.files.line(file, line)
        head, found = " ".join((f"{name}:{line}: why it is there.", *files.missing(files.past_view(past)))), [past]
    parts = [
        entry("  ".join(about), "\n".join((text, *more)))
        for past in found
        for text, about, more in files.told(files.past_view(past), short_time)
    ]
    return answer(app, head, cut_to_fit(parts, "a smaller limit"))


def _sessions(session: Workplace, arguments: Arguments) -> str:
    app = session.app
    limit, offset = arguments.number("limit", TIMELINE_SESSIONS), arguments.number("offset", 0)
    agent = arguments.text("agent_id")
    found = app.events.recent_sessions(session.scope(arguments.text("project")), offset + limit, agent)[offset:]
    if not found and agent is not None:
        return f"No sessions of agent {_name(agent)} here; leave out agent_id for all."
    if not found:
        return EMPTY if app.events.is_empty() else "No sessions of this project; project: 'all' lists every one."
    lines = [_session_line(one, session.name) for one in found]
    head = f"{counted(len(found), 'session')}, newest first; get_timeline(session=…) tells one."
    return answer(app, head, cut_to_fit(lines, "offset"))


def _session_line(one: SessionSummary, running: str) -> Rendered:
    view = session_view(one)
    here = "  this session" if one.name == running else ""
    about = f"{_name(one.name)}  {short_time(view['first'])} to {short_time(view['last'])}  {one.client}"
    return entry(f"{about}  {counted(one.count, 'event')}{here}", squeeze(one.prompt, LINE_CHARS))


def _told(
    app: App, chosen: Sequence[StoredEvent], arguments: Arguments, *, mark: int = -1, offset: int = 0, total: int = 0
) -> list[Rendered]:
    """Events one after the other, whole or one line each, as far as the answer may reach; then where to go on."""
    is_full = arguments.flag("full")
    shown = app.events.with_texts(chosen) if is_full else chosen
    parts: list[Rendered] = []
    room = ANSWER_CHARS
    for event in shown:
        sign = ">" if event.row == mark else " "
        if is_full:
            part = _part(event_head(event_view(event)), event.id, event.text or "", 0, ANSWER_CHARS // 4, mark=sign)
        else:
            part = entry(event_line(event_view(event)), mark=sign)
        room -= len(part)
        if room < 0 and parts:
            break
        parts.append(part)
    end = offset + len(parts)
    is_cut = len(parts) < len(shown) or end < total
    return [*parts, *([entry(f"… {max(total, offset + len(shown)) - end} more: offset={end}")] if is_cut else [])]


def memory_status(session: Workplace, arguments: Arguments) -> str:
    """What is stored, in a few lines; of an agent, what it owns."""
    app, agent = session.app, arguments.text("agent_id")
    if agent is not None:
        owned = app.memories.listed(Scope.everything(), MemoryFilter(agent=agent), MAX_LISTED)
        sessions = app.events.recent_sessions(Scope.everything(), MAX_LISTED, agent)
        holds = f"{counted(len(owned), 'memory', 'memories')} and {counted(len(sessions), 'session')}"
        return f"Agent {_name(agent)}: {holds}, of all projects."
    counts, kept = app.health.counts(), app.health.memories()[0]
    if app.events.is_empty():
        return EMPTY
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(kept["by_type"].items())) or "none"
    lag = app.index.lag()
    of, newest = ", ".join(agents(app)) or "none", short_time(iso_time(app.events.last_ms()))
    lines = [
        f"{stored(counts)} (agents: {of}); the newest is of {newest}.",
        f"Memories: {kinds}.",
        f"This project: {_here(session)}",
    ]
    if lag:
        lines.append(f"{counted(lag, 'event is', 'events are')} not searchable yet; they will be in a moment.")
    if counts["quarantine"]:
        lines.append(f"{counted(counts['quarantine'], 'record')} could not be read: `howcome doctor` tells.")
    return "\n".join(lines)


def _here(session: Workplace) -> str:
    if session.is_nowhere:
        return "none: the client has started howcome in no project's folder"
    is_known = session.scope(None).project_id is not None
    return " ".join(project_label(session.folder, parts=2).split()) + (
        "" if is_known else " (nothing of it is stored yet)"
    )


# -- words -------------------------------------------------------------------------------------------------------------
def _name(name: str) -> str:
    """A session's id, or an agent's, in our own words: it comes from a transcript or a caller, and has one line."""
    return squeeze(name, MAX_NAME_CHARS)


def cut_to_fit(parts: Sequence[Rendered], how: str) -> list[Rendered]:
    """As many parts as an answer may hold."""
    room, kept = ANSWER_CHARS, 0
    for part in parts:
        room -= len(part)
        if room < 0 and kept:
            break
        kept += 1
    left = len(parts) - kept
    return [*parts[:kept], *([entry(f"… {left} more are left out; {how} shows them")] if left else [])]


def answer(app: App, head: str, parts: Sequence[Rendered]) -> Rendered:
    """What a tool says: its own words, what the answer costs, and the quotations as one block of data."""
    body, head = block(parts, app.nonce("".join(parts))), inline(head)
    return Rendered(f"{head}{' ' if head else ''}(~{tokens(head) + tokens(body)} tokens)\n{body}")
