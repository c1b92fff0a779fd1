"""What each page shows: a function from what is asked to what its template is filled with."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from howcome.app import App, now_ms
from howcome.clients.decode import clean_text
from howcome.doctor.base import Finding, Machine
from howcome.doctor.report import examine
from howcome.domain.memories import TYPES, Memory, MemoryFilter
from howcome.domain.spending import DAY_MS
from howcome.domain.stored import Scope
from howcome.domain.text import STOP_WORDS
from howcome.domain.verdicts import KEPT_DAYS, PastVerdict
from howcome.errors import NotFoundError
from howcome.present import statistics
from howcome.present.answers import answers
from howcome.present.nothing_found import nothing_found, only_near
from howcome.present.spent import gather
from howcome.present.unsaid import without_secrets
from howcome.present.views import (
    around_lines,
    evidence_view,
    hit_view,
    memory_marks,
    memory_view,
    receipt_view,
    verdict_view,
)
from howcome.recall.receipt import way_of
from howcome.retrieve.question import TYPES as FOUND_TYPES
from howcome.retrieve.question import Question
from howcome.web.changes import digest, proposal
from howcome.web.replay import PAGE_EXCHANGES, exchanges, steps

Context = dict[str, Any]
MAX_TEXT_CHARS, MAX_NUMBER = 1000, 1 << 53
ROWS, BOOK, SHORT, WEEKS, HITS, MORE_HITS, SOME = 50, 300, 6, 53, 10, 50, 20
OPEN_PROJECTS, MAX_PROPOSALS = 3, 8
PLOTTED = {
    "calls": "Calls", "failures": "Failed calls", "rework": "Edits replaced later", "compactions": "Compactions",
}  # fmt: skip


class Asked:
    """A page that is asked for: the façade, and what stands in the address."""

    def __init__(self, app: App, values: Mapping[str, str], examined: list[Finding] | None = None) -> None:
        self.app, self._values, self.examined = app, values, examined

    def text(self, name: str) -> str:
        """A text, as the store holds texts; '' where none is given."""
        return clean_text(self._values.get(name, ""))[:MAX_TEXT_CHARS].strip()

    def number(self, name: str) -> int:
        """A number, 0 where none is given."""
        text = self.text(name)
        return min(int(text), MAX_NUMBER) if text.isascii() and text.isdigit() and len(text) < 20 else 0

    @cached_property
    def scope(self) -> Scope:
        """The project that is looked at, or all of them."""
        project = self.number("project")
        known = project in {row for row, _ in self.app.projects.roots()}
        return Scope.project(project) if known else Scope.everything()


def today(asked: Asked) -> Context:
    """What was said today, what it cost, what was learnt, what is open."""
    app, scope = asked.app, asked.scope
    since_ms = int(datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0).timestamp() * 1000)
    told = app.search.verdicts(scope=scope, since_ms=since_ms)
    sessions = app.events.recent_sessions(scope, SHORT)
    learnt = app.memories.learnt_since(scope, since_ms)
    roots = dict.fromkeys(one.project for one in sessions)
    ends = [one for root in [*roots][:OPEN_PROJECTS] for one in app.search.briefing(root).open_ends() if one.memory]
    return {
        "sessions": sessions, "said": _said(app, [one for one in told if one.lines][:SHORT]),
        "shown": SHORT, "with_lines": sum(bool(one.lines) for one in told),
        "asked": len(told), "lines": sum(one.lines for one in told),
        "cost": receipt_view(app.search.receipt(told)), "spent": gather(app, since_ms, 0)["today"],
        "learnt": _marked(app, [memory for memory, _ in learnt or app.memories.learnt_last(scope)][:ROWS]),
        "is_today": bool(learnt), "open": ends, "waiting": len(app.memories.waiting(scope, ROWS)),
    }  # fmt: skip


def sessions(asked: Asked) -> Context:
    """The latest sessions, by day."""
    page = asked.number("page")
    found = asked.app.events.recent_sessions(asked.scope, min((page + 1) * ROWS, 100_000) + 1)
    shown = found[page * ROWS :][:ROWS]
    days = [(day, list(of)) for day, of in groupby(shown, key=lambda one: _date(one.last_ms))]
    return {"days": days, "page_number": page, "has_more": len(found) > (page + 1) * ROWS}


def session(asked: Asked) -> Context:
    """A session as it went; the exchange of an event (`at`) where one is named."""
    row, at, name = asked.number("id"), asked.text("at"), asked.text("name")
    if name:
        row = asked.app.events.session_named(name)[0]
    if at:
        row = asked.app.events.session_row(event := asked.app.events.by_id(at))
        at = event.id
    told = asked.app.events.session(row)
    if not told:
        raise NotFoundError("there is no such session")
    parts = exchanges(told)
    page = next((n for n, part in enumerate(parts) if any(one.id == at for one in part)), None)
    page = asked.number("page") if page is None else page // PAGE_EXCHANGES
    pages = -(-len(parts) // PAGE_EXCHANGES)
    first = min(page, pages - 1) * PAGE_EXCHANGES
    shown = parts[first : first + PAGE_EXCHANGES]
    learnt = _marked(asked.app, [memory for memory, _ in asked.app.memories.learnt_in(row)])
    told_it = [one for one in asked.app.search.verdicts(session=told[0].session) if one.lines]
    return {
        "told": _said(asked.app, told_it),
        "row": row, "at": at, "first": told[0], "last": told[-1], "count": len(told), "learnt": learnt,
        "page_number": first // PAGE_EXCHANGES, "pages_count": pages,
        "parts_of": [steps(asked.app, part, at) for part in shown],
        "failed": sum(bool(one.failed) for one in told), "prompts": len(parts),
    }  # fmt: skip


def search(asked: Asked) -> Context:
    """What answers a question, and why."""
    text, kind, is_explained = asked.text("q"), asked.text("type"), bool(asked.text("why"))
    found, sessions, nothing, most = [], [], "", MORE_HITS if asked.text("more") else HITS
    if text:
        wanted = (kind,) if kind in FOUND_TYPES else ()
        question = Question(text, asked.scope, limit=most + 1, types=wanted, explained=is_explained, with_near=True)
        told = answers(asked.app, question)
        found, sessions = told.found, told.sessions
        hints, narrowed = [] if asked.scope.is_everything else ["choose every project"], ["the type"] if wanted else []
        said = [f"Searched by words only: {told.failed}"] if told.failed and found else []
        if not found and not told.is_told:
            said = [nothing_found(asked.app, question, narrowed, hints)]
        elif found and found[0].is_near:
            said += [only_near(narrowed, hints)]
        nothing = " ".join([*said, *told.notes])
    words = [word for word in text.split() if word.lower() not in STOP_WORDS]
    hits = [(hit_view(one), one) for one in found[:most]]
    return {
        "q": text, "type": kind, "types": FOUND_TYPES, "hits": hits, "around": around_lines, "words": words,
        "nothing": nothing, "why": is_explained, "has_more": len(found) > most == HITS, "most": MORE_HITS,
        "sessions": sessions,
    }  # fmt: skip


def memories(asked: Asked) -> Context:
    """Memories as a book: a chapter for each type, or for each topic."""
    kind, is_whole = asked.text("type"), bool(asked.text("all"))
    wanted = MemoryFilter(type=kind if kind in TYPES else None, with_forgotten=is_whole, with_superseded=is_whole)
    page = min(asked.number("page"), 1000)
    found = asked.app.memories.listed(asked.scope, wanted, (page + 1) * BOOK + 1)
    by, shown = asked.text("by"), found[page * BOOK :][:BOOK]
    if by:
        topics = asked.app.memories.topics(shown)
        chapters = [(name or "of no topic", _marked(asked.app, some)) for name, some in topics]
    else:
        rows = _marked(asked.app, shown)
        rows.sort(key=lambda row: (TYPES.index(row["type"]), not row["pinned"]))
        chapters = [(name, list(of)) for name, of in groupby(rows, key=lambda row: row["type"])]
    return {
        "chapters": chapters, "type": kind, "types": TYPES, "all": is_whole, "by": by, "page_number": page,
        "has_more": len(found) > (page + 1) * BOOK,
    }  # fmt: skip


def memory(asked: Asked) -> Context:
    """One memory: its chain, when and in which words it was said, and what bears it out."""
    app = asked.app
    found = app.memories.get(asked.text("id"))
    app.search.look([found])
    reasons, chain = app.learn.queue.memory_reasons(found.row), app.memories.chain(found.key.hex())
    return {
        "memory": _marked(app, [found])[0], "chain": [memory_view(one) for one in chain],
        "earlier": next((one.id for one in chain if found.is_live and one.row == found.supersedes), ""),
        "said": app.memories.said(found), "wordings": app.memories.wordings(found), "reasons": reasons,
        "evidence": evidence_view(app.events.cited(found.evidence), found, chain), "missing": not found.evidence,
        "is_corrected": bool(asked.text("correct")) and found.is_live,
    }  # fmt: skip


def review(asked: Asked) -> Context:
    """What somebody should look at: contradictions, what files brought, and what could stand in a project's file."""
    found = asked.app.memories.waiting(asked.scope, ROWS)
    sides = [_marked(asked.app, [pair.older, pair.newer]) for pair in found]
    pairs = [(pair, *both, pair.older.row == pair.newer.row) for pair, both in zip(found, sides, strict=True)]
    numbers = [number for number, _ in asked.app.projects.roots() if asked.scope.project_id in (None, number)]
    proposed = [(number, proposal(asked.app, str(number))) for number in numbers[:MAX_PROPOSALS]]
    files = [
        (number, str(one.path), one.diff[2:], _marked(asked.app, one.memories), digest(one))
        for number, one in proposed
        if one is not None and one.diff
    ]
    return {"pairs": pairs, "files": files}


def injections(asked: Asked) -> Context:
    """What was said to sessions, each with the rule that let it through or held it back, and whether it was used."""
    is_all = bool(asked.text("all"))
    found = asked.app.search.verdicts(scope=asked.scope, limit=1000)
    rules = Counter(one.rule for one in found if one.rule).most_common()
    shown = [one for one in found if is_all or one.lines][:ROWS]
    return {
        "said": _said(asked.app, shown), "all": is_all, "rules_held": rules, "days": KEPT_DAYS, "count": len(found),
        "told": sum(bool(one.lines) for one in found),
    }  # fmt: skip


def stats(asked: Asked) -> Context:
    """What sessions did, as `howcome stats` says it, and by week."""
    facts = statistics.gather(asked.app, asked.scope, 0, "week", is_told=False)
    by_week = facts["by"]
    weeks = _weeks(by_week)[-WEEKS:]
    plots = [
        (title, [(week, _count(by_week[week][name]) if week in by_week else 0) for week in weeks])
        for name, title in PLOTTED.items()
    ]
    rows = statistics.rework_rows(facts["precede_rework"])
    return {
        "lines": statistics.lines_of(facts), "rework": rows, "caveat": facts["caveat"],
        "plots": plots if weeks else [],
    }  # fmt: skip


def _count(value: Any) -> int:  # noqa: ANN401 - a measure: a number, or what it is made of
    return int(value["count"] if isinstance(value, dict) else value)


def patterns(asked: Asked) -> Context:
    """What goes wrong again and again, and what the user said again and again."""
    telemetry = asked.app.telemetry
    every = telemetry.patterns(asked.scope)
    unsolved = max((one for one in every if not one.fix), key=lambda one: one.sessions, default=None)
    return {
        "unsolved": unsolved,
        "found": [one for one in every if one.fix][:SOME],
        "without": sum(not one.fix for one in every),
        "said": telemetry.corrections(asked.scope)[:SOME],
    }


def commands(asked: Asked) -> Context:
    """The commands that failed again, and what then worked; one that failed once and has no fix teaches nothing."""
    rows = [row for row in asked.app.search.failing(asked.scope, 20 * ROWS) if row.fix or row.times > 1]
    return {"rows": sorted(rows, key=lambda row: (-row.sessions, -(row.call.ts_ms or row.call.order_ms)))[: 2 * ROWS]}


def spending(asked: Asked) -> Context:
    """What calls of a language model cost."""
    return {"facts": gather(asked.app, now_ms() - 30 * DAY_MS, ROWS)}


def health(asked: Asked) -> Context:
    """What is stored, and what the doctor finds."""
    health = asked.app.health
    counts = health.counts() | {f"{name} memories": count for name, count in health.memories()[0]["by_state"].items()}
    found = [(one.level, one.check, without_secrets(one.what), without_secrets(one.remedy)) for one in
             asked.examined or ()]  # fmt: skip
    found.sort(key=lambda one: ("error", "warning", "note", "ok").index(one[0]))
    return {"counts": counts, "findings": found, "is_examined": asked.examined is not None}


def findings() -> list[Finding]:
    """What `howcome doctor` finds; it starts the hook and the server, and takes seconds."""
    machine = Machine(os.environ)
    try:
        return examine(machine)
    finally:
        machine.close()


class Page(NamedTuple):
    """A page: what is said of it in the menu ('': it is in none), the letter behind `g`, and what fills it."""

    title: str
    letter: str
    make: Callable[[Asked], Context]


PAGES = {
    "today": Page("Today", "t", today),
    "sessions": Page("Sessions", "s", sessions),
    "search": Page("Search", "f", search),
    "memories": Page("Memories", "m", memories),
    "review": Page("Review", "r", review),
    "injections": Page("Injections", "i", injections),
    "patterns": Page("Patterns", "w", patterns),
    "stats": Page("Statistics", "c", stats),
    "commands": Page("Commands", "x", commands),
    "spending": Page("Model calls", "p", spending),
    "health": Page("Health", "h", health),
    "session": Page("", "", session),
    "memory": Page("", "", memory),
}
"""Every page by its name, which is its address and its template's."""


def _said(app: App, told: list[PastVerdict]) -> list[Context]:
    """Verdicts with their prompts, what was considered, and how much of what was said was used."""
    used = app.search.receipt(told, by_row=True)
    return [
        verdict_view(one) | {"way": way_of(one.verdict), "use": used.get(str(one.verdict.row))}
        for one in app.search.explained(told)
    ]


def _marked(app: App, found: list[Memory]) -> list[Context]:
    """Memories with what stands beside each: where it holds, and in how many sessions it was said."""
    told = app.memories.told_of(found)
    return [
        (view := memory_view(one)) | {"marks": memory_marks(view), "sessions": told[one.key].sessions if one.key in told
        else 0}
        for one in found
    ]  # fmt: skip


def _weeks(known: Iterable[str]) -> list[str]:
    """The weeks ("2026-W07") from the first known one to the last, also those in which nothing was done."""
    found = sorted(week for week in known if re.fullmatch(r"\d{4}-W\d\d", week))
    if not found:
        return []
    first, last = (datetime.strptime(f"{week}-1", "%G-W%V-%u").replace(tzinfo=UTC) for week in (found[0], found[-1]))
    days = range(0, (last - first).days + 1, 7)
    return [(first + timedelta(days=day)).strftime("%G-W%V") for day in days]


def _date(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms / 1000, UTC).astimezone():%A, %Y-%m-%d}" if ms else "undated"
