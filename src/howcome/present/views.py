"""The plain data of what is shown: an event, a session, a memory, a hit, a reminder.

Every door renders these: JSON as they are, text by the lines at the end. Their keys are what programs may rely on.
"""

from __future__ import annotations

from howcome.domain.events import ASSISTANT_TEXT, ASSISTANT_THINKING, TOOL_CALL, TOOL_RESULT, USER_PROMPT, cut, squeeze
from howcome.domain.memories import CLIENT, HAND, RESOLVED, author_of
from howcome.domain.text import tokens
from howcome.present.render import iso_time
from howcome.retrieve.branches import told as on_branch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from howcome.domain.explanation import Explanation
    from howcome.domain.memories import Memory, Review
    from howcome.domain.stored import Found, Reminder, SessionSummary, StoredEvent
    from howcome.recall.explained import Explained
    from howcome.recall.receipt import Row

    View = dict[str, Any]

EVIDENCE_CHARS = 4000
"""Of a longer event the beginning is shown: `howcome show` has all of it."""

AGAINST = {"gone": "is gone", "changed": "has changed"}
"""How a memory stands that is not as it was, in words."""

MAX_PLACE_CHARS = 200
MAX_FILE_CHARS = 80
_SHORT_TIME, _DAY = 16, 10
UUID_CHARS = 36
_WHO = {
    USER_PROMPT: "user", ASSISTANT_TEXT: "agent", ASSISTANT_THINKING: "thought", TOOL_CALL: "call",
    TOOL_RESULT: "result",
}  # fmt: skip


# -- data --------------------------------------------------------------------------------------------------------------
def event_view(event: StoredEvent, *, with_text: bool = False) -> View:
    """An event; `tokens` are those of its whole text, which is there when it was asked for."""
    view: View = {
        "id": event.id, "ts": iso_time(event.ts_ms), "type": event.kind, "session_id": event.session,
        "project": event.project, "branch": event.branch, "tool": event.tool, "file": event.file,
        "origin": event.origin, "summary": event.summary, "excerpt": event.excerpt, "tokens": tokens(event.text_chars),
    }  # fmt: skip
    if event.kind != TOOL_CALL and event.failed is not None:
        view |= {"failed": event.failed, "exit_code": event.exit_code}
    if with_text and event.text is not None and (dropped := event.text_chars - len(event.text)) > 0:
        view |= {"dropped_chars": dropped}
    return view | {"text": event.text} if with_text else view


def session_view(one: SessionSummary) -> View:
    """A session as a list of sessions has it."""
    return {
        "session_id": one.name, "agent": one.client, "project": one.project, "first": iso_time(one.first_ms),
        "last": iso_time(one.last_ms), "events": one.count, "prompt": one.prompt,
    }  # fmt: skip


def memory_view(memory: Memory) -> View:
    """A memory; `ts` is `created_at`, as of everything that is found, and `cited` says when its events were."""
    return {
        "id": memory.id, "type": memory.type, "status": memory.status, "state": memory.state,
        "ts": iso_time(memory.created_ms), "project": memory.project, "also": memory.also, "agent": memory.agent,
        "origin": memory.origin, "text": memory.text, "summary": memory.summary, "evidence": memory.evidence,
        "cited": memory.cited, "access_count": memory.access_count, "level": memory.level, "source": memory.source,
        "scope": "global" if memory.project is None else "project", "created_at": iso_time(memory.created_ms),
        "said_at": iso_time(memory.said_ms), "pinned": memory.pinned_ms is not None,
        "supersedes": memory.supersedes_id, "superseded_by": memory.superseded_by_id, "is_outside": memory.is_outside,
        "subject": memory.subject, "is_wrong": memory.wrong_ms is not None, "contradicts": memory.contradicts,
        "standing": memory.standing, "is_asleep": memory.is_asleep,
        "later": memory.later[1] if memory.later else "",
    }  # fmt: skip


def evidence_view(
    events: Sequence[StoredEvent], memory: Memory | None = None, chain: Sequence[Memory] = ()
) -> list[View]:
    """The events that bear a memory out, in the order of their times, with the beginnings of their texts.

    `is_earlier`: an event bears out what the memory said before somebody gave it other words.
    """
    ordered = sorted(events, key=lambda event: (event.order_ms, event.row))
    before = [one for one in chain if memory is not None and one.row == memory.supersedes and one.text != memory.text]
    earlier = tuple(ident for one in before for ident in one.evidence)
    return [
        event_view(event)
        | {
            "text": cut(event.text or event.excerpt, EVIDENCE_CHARS),
            "is_earlier": any(ident.startswith(event.id) for ident in earlier),
        }
        for event in ordered
    ]


def review_view(pair: Review) -> View:
    """Two memories that somebody should look at."""
    return {
        "number": pair.row, "reason": pair.reason, "older": memory_view(pair.older), "newer": memory_view(pair.newer),
        "found_at": iso_time(pair.found_ms), "settled_at": iso_time(pair.settled_ms),
    }  # fmt: skip


def hit_view(item: Found) -> View:
    """An answer to a question: an event, or a memory (of no session); `excerpt` is the part that answers.

    An event stands for its exchange: `prompt` is what opened that ('' where it is the event itself), `memories` are the
    ids of those that were learnt from it, `around` is what was settled in the exchanges next to it.
    """
    if item.memory is not None:
        of = {"kind": "memory", "session_id": None, "tokens": tokens(item.memory.text), **memory_view(item.memory)}
    elif item.event is not None:
        told = {"prompt": item.prompt, "memories": item.memories, "later": item.later}
        of = {"kind": "event", **event_view(item.event), **told, "around": _around_view(item.event, item)}
    else:
        of = {"kind": "event", "id": item.id, "ts": None, "type": None, "session_id": None, "project": None}
    tiers = {name: round(score, 4) for name, score in item.tiers.items()}
    view = of | {"unmerged": item.unmerged, "score": round(item.score, 4), "tiers": tiers, "excerpt": item.passage}
    return view | {"explain": explanation_view(item.explanation)} if item.explanation else view


def _around_view(found: StoredEvent, item: Found) -> list[View]:
    return [
        {
            "id": turn.id, "ts": iso_time(turn.ts_ms), "type": turn.kind, "excerpt": text,
            "is_later": (turn.order_ms, turn.row) > (found.order_ms, found.row),
        }
        for turn, text in item.around
    ]  # fmt: skip


def around_lines(view: View, most: int | None = None) -> list[str]:
    """What was settled around a hit (at most so many lines), in the order in which it was said: "then, user: …"."""
    told = sorted(view.get("around", ())[:most], key=lambda one: one["ts"] or "")
    return [f"{'then' if one['is_later'] else 'before'}, {_WHO[one['type']]}: {one['excerpt']}" for one in told]


def explanation_view(why: Explanation) -> View:
    """Why an answer is there."""
    return {
        "fused": round(why.fused, 4), "strength": round(why.strength, 4),
        "tiers": {name: {"score": round(score, 4), "weight": weight} for name, (score, weight) in why.tiers.items()},
        "adjustments": {name: round(factor, 4) for name, factor in why.adjustments.items()},
        "terms": [
            {"term": met.term, "word": met.word, "weight": round(met.weight, 2), "in": list(met.places),
             "widened_to": list(met.widened)}
            for met in why.terms
        ],
    }  # fmt: skip


def verdict_view(one: Explained) -> View:
    """What became of a prompt, or of a session's begin: what was said (rule ""), and what held the rest back."""
    verdict, prompt = one.verdict, one.prompt
    return {
        "session_id": verdict.session, "ts": iso_time(verdict.asked_ms), "hook": verdict.hook,
        "prompt_id": None if prompt is None else prompt.id, "prompt": None if prompt is None else prompt.excerpt,
        "lines": verdict.lines, "tokens": verdict.tokens, "rule": verdict.rule,
        "considered": [
            {"id": found and found.id, "chance": chance, "rule": rule, "why": one.why(found, chance, rule),
             "summary": found and one.said.get(found.id, found.summary)}
            for found, chance, rule in one.candidates
        ],
    }  # fmt: skip


def receipt_view(rows: Mapping[str, Row]) -> list[View]:
    """What was injected, by the way it came: how often, lines, tokens, and what of it was used."""
    names = ("times", "lines", "tokens", "used", "opened", "reused", "named")
    return [
        {"way": way, **{name: getattr(row, name) for name in names}} for way, row in sorted(rows.items()) if row.times
    ]


def reminder_view(reminder: Reminder) -> View:
    """What is said with a prompt: an event, or else a memory, and the `passages` of it (who said it, and what)."""
    if reminder.event is not None:
        of = {"kind": "event", **event_view(reminder.event)}
    elif reminder.memory is not None:
        of = {"kind": "memory", **memory_view(reminder.memory)}
    else:
        raise ValueError("a reminder is of an event or of a memory")
    return of | {"unmerged": reminder.unmerged, "passages": reminder.passages}


# -- lines -------------------------------------------------------------------------------------------------------------
def short_time(time: str | None) -> str:
    """A time of a view as people write it, to the minute."""
    return (time or "undated")[:_SHORT_TIME].replace("T", " ")


def short_session(name: str) -> str:
    """The beginning of a session's id that tells it from others, and that commands take for it.

    A random id (UUID 4) differs within 8 characters. Others begin with the time: its milliseconds take 13 in a UUID 7,
    and in `ses_…`.
    """
    is_random = len(name) == UUID_CHARS and name[14] == "4"
    return name[: 8 if is_random else 13]


def event_line(view: View) -> str:
    """An event on a line."""
    return f"{view['id']}  {short_time(view['ts'])}  {view['type']}  ~{view['tokens']} tok  {view['summary']}"


def event_head(view: View) -> str:
    """What stands above an event's text."""
    failed = " failed" if view.get("failed") and view["type"] == TOOL_RESULT else ""
    places = [view["tool"], view["file"], view["branch"] and f"branch {view['branch']}"]
    about = "".join(f"  {squeeze(place, MAX_PLACE_CHARS)}" for place in places if place)
    about += f"  session {short_session(view['session_id'])}"
    return f"[{view['id']}] {short_time(view['ts'])}  {view['type']}{failed}{about}"


def memory_head(view: View) -> str:
    """What stands above a memory's text: id, time, type, what has become of it, whose it is, where it holds."""
    owner = f"  owner {view['agent']}" if view["agent"] else ""
    state = "" if view["state"] == "live" else f"  {view['state']}"
    state += "  pinned" if view["pinned"] else ""
    state += f"  {source}" if (source := source_of(view)) else ""
    state += "  from outside, not reviewed" if view["is_outside"] else ""
    state += f"  {contradiction}" if (contradiction := contradiction_of(view)) else ""
    roots = [view["project"], *view["also"]] if view["project"] else ["every project"]
    where = squeeze(", ".join(roots), MAX_PLACE_CHARS)
    return f"[{view['id']}] {short_time(view['ts'])}  {view['type']}  {view['status']}{state}{owner}  {where}"


def source_of(view: View) -> str:
    """Where a memory comes from: of a client's file its name; '' when somebody kept it."""
    if view["source"] == CLIENT:
        return f"from the agent's file {squeeze(view['subject'].rpartition('/')[2], MAX_FILE_CHARS)}".rstrip()
    return "" if view["source"] == HAND else "distilled"


def contradiction_of(view: View) -> str:
    """What speaks against a memory: live ones, until somebody settles it, and what became of its files; or ''."""
    others = f"contradicts {', '.join(view['contradicts'])}" if view["contradicts"] else ""
    found = [view["later"] or others] if others else []
    found += [f"its file {AGAINST[view['standing']]}"] if view["standing"] in AGAINST else []
    return ", ".join(found)


def memory_marks(view: View) -> list[str]:
    """Where a memory holds, then what has become of it."""
    roots = [view["project"], *view["also"]] if view["project"] else []
    where = ", ".join(root.rstrip("/").rpartition("/")[2] or root for root in roots) or "everywhere"
    marks = ["wrong" if view["is_wrong"] else view["state"]] if view["state"] != "live" else []
    marks += ["resolved"] if view["status"] == RESOLVED else []
    marks += ["pinned"] if view["pinned"] else []
    marks += ["asleep"] if view["is_asleep"] else []
    marks += [source] if (source := source_of(view)) else []
    marks += ["from outside"] if view["is_outside"] else []
    marks += [f"of {view['agent']}"] if view["agent"] else []
    marks += [contradiction] if (contradiction := contradiction_of(view)) else []
    return [where, *marks]


def hit_head(view: View, running: str, *, with_project: bool) -> str:
    """What stands in front of a hit's words in an index of hits; `running` is the session that asks."""
    where = f" {', '.join([view['project'] or 'every project', *view.get('also', ())])}" if with_project else ""
    if view["kind"] == "memory":
        marks = [view["status"]] if view["status"] == RESOLVED else []
        marks += ["from outside"] if view["is_outside"] else []
        marks += [contradiction] if (contradiction := contradiction_of(view)) else []
        about = f" [{', '.join(marks)}]" if marks else ""
        about += f" of {author_of(view['agent'])}" if view["agent"] else ""
    else:
        about = " (this session)" if view["session_id"] == running else ""
        about += f" [{view['later'].partition(':')[0]}]" if view.get("later") else ""
    about += f" [{on_branch(view['unmerged'])}]" if view["unmerged"] else ""
    score = f"{view['score']:.2f}".removeprefix("0")
    day, cost = (view["ts"] or "undated")[:_DAY], view.get("tokens", 0)
    return f"{view['id']} {day} {score} {kind_of(view)}{about}{where} ~{cost} tok: "


def kind_of(view: View) -> str:
    """What an event or a memory is, for people: who said it, or its type."""
    return _WHO.get(view["type"], view["type"] or "")
