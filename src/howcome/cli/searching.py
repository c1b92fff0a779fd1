"""`howcome search`: finding events and memories."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from howcome.app import App
from howcome.cli.arguments import (
    check_scope,
    clean_argument,
    is_unknown,
    open_existing,
    option_ms,
    scope_of,
)
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, command, option
from howcome.domain.answering import BETWEEN
from howcome.domain.events import RATIONALE
from howcome.domain.memories import RESOLVED, author_of
from howcome.domain.stored import Found
from howcome.domain.text import STOP_WORDS
from howcome.errors import StoreMissingError
from howcome.present.answers import answers
from howcome.present.nothing_found import EMPTY, not_searchable, nothing_found, only_near
from howcome.present.screen import Row, day, is_terminal, report_rows, session_row
from howcome.present.views import around_lines, contradiction_of, hit_view, kind_of, session_view, short_session
from howcome.retrieve.branches import told as on_branch
from howcome.retrieve.question import TYPES, Question


@command
def search(
    text: tuple[str, ...] = argument(nargs=-1, required=True),
    limit: int = option("-n", type=range(1, 1001), default=10, help="At most so many."),
    all_projects: bool = ALL_PROJECTS,
    project: str | None = PROJECT,
    by: str | None = option(type=("session",), help="One row a session, by its best passage."),
    before: str | None = option(metavar="TIME", help="Only what is older than TIME."),
    since: str | None = option(metavar="TIME", help="Only what is not older than TIME."),
    types: tuple[str, ...] = option("--type", type=TYPES, multiple=True, help="Only this kind of event or memory."),
    session: str | None = option(help="Only this session, of any project (any unique beginning of its id)."),
    agent: str | None = option(help="Only this agent's sessions, or the memories that it owns."),
    subsystem: str | None = option(metavar="NAME", help="Only what is about this workspace package or folder."),
    is_explained: bool = option("--explain", help="Say why each hit is there."),
    as_json: bool = JSON,
) -> None:
    """Search what was said and done, best first.

    The scope is the project of the current folder. Where nothing surely answers, up to three of the nearest hits are
    shown, marked "near" (in JSON under "nearest", not under "results"). Nothing found is an empty list and exit code 0;
    a project that nobody knows is wrong usage (2), a session that nobody knows an error (1).

    TIME is a date or an ISO 8601 time (2026-10-01, 2026-10-01T12:00:00Z; yours when it has no zone), today, yesterday,
    or how long ago: 30m, 12h, 7d, 3w, "2 months ago", 1y.

    With --subsystem only exchanges count in which a call named a file below the folder, and memories that name one or
    that such an exchange bears out. NAME is a folder (packages/api), or what a package is called by its folder or its
    manifest (package.json, Cargo.toml, go.mod, pyproject.toml).

    With --explain each hit has the score of every tier and what the tier's word is worth, what changed the sum, how
    sure it is that the hit is about the question at all (strength), and where the question's words stand: in the hit,
    in the turns before it, elsewhere in its exchange.

    \b
    Examples:
      howcome search "why celery and not rq"
      howcome search --all-projects --by session "flaky migration test"
      howcome search --since 7d --json "retry policy"
      howcome search --type decision --type pattern "error handling"
      howcome search --subsystem packages/api "error handling"
      howcome search --explain "retry polcy"
    """
    asked = clean_argument(" ".join(text))
    if not asked.strip():
        import click

        raise click.UsageError("write what to search for: a question, or a few words")
    check_scope(project, all_projects=all_projects)
    before_ms, since_ms = option_ms(before, "--before"), option_ms(since, "--since")
    is_everywhere = all_projects or (session is not None and project is None)  # a session is named by itself
    narrowed = {"--type": types, "--session": session, "--since": since, "--before": before, "--agent": agent,
                "--subsystem": subsystem}  # fmt: skip
    try:
        with open_existing() as app:
            scope = scope_of(app, project, all_projects=is_everywhere)
            question = Question(
                asked, scope, limit=limit, by_session=by == "session", types=types, session=session, agent=agent,
                subsystem=subsystem, before_ms=before_ms, since_ms=since_ms, explained=is_explained,
                with_near=True,
            )  # fmt: skip
            names = [name for name, value in narrowed.items() if value]
            report, rows, notes = _answers(app, question, names, is_everywhere=is_everywhere)
    except StoreMissingError:
        report, rows, notes = {"results": [], "nearest": [], "ms": 0.0, "index_lag_rows": 0}, [], [EMPTY]
    marked = [word for word in asked.split() if word.lower() not in STOP_WORDS]
    report_rows(report, rows, marked, notes, as_json=as_json)


def _answers(
    app: App, question: Question, narrowed: Sequence[str], *, is_everywhere: bool
) -> tuple[dict[str, object], list[Row], list[str]]:
    """What a search gives programs, and people: rows, and what else is to be said."""
    lag = app.index.within(1.0, question.scope)  # seconds for what others have stored and nobody made searchable
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # for one question numpy's threads cost more than they save
    started = time.perf_counter()
    told = answers(app, question)
    found, failed = told.found, told.failed
    elapsed_ms = (time.perf_counter() - started) * 1000
    hints = [] if is_everywhere else ["--all-projects searches every project"]
    notes = [only_near(narrowed, hints)] if found and found[0].is_near else []
    notes = notes if found or told.is_told else _nothing(app, question, narrowed, hints)
    notes += [not_searchable(lag)] if lag else []
    notes += told.notes
    hits = [[hit_view(item) for item in found if item.is_near == is_near] for is_near in (False, True)]
    report = {"results": hits[0], "nearest": hits[1], "ms": round(elapsed_ms, 3), "index_lag_rows": lag}
    report |= {"sessions": [session_view(one) for one in told.sessions]} if told.sessions else {}
    if failed:
        report, notes = report | {"by_words_only": failed}, [*notes, f"Searched by words only: {failed}"]
    rows = [session_row(one, is_everywhere=is_everywhere) for one in told.sessions]
    return report, [*rows, *(_row(item, is_everywhere=is_everywhere) for item in found)], notes


def _nothing(app: App, question: Question, narrowed: Sequence[str], hints: Sequence[str]) -> list[str]:
    """What is said instead of hits; no words find rationales before any are written."""
    may_be = RATIONALE in question.types and not is_unknown(question.scope) and not app.events.is_empty()
    is_unwritten = may_be and not app.learn.rationale_counts(question.scope)
    missing = ["No rationales are written here yet: run `howcome rationale`."] if is_unwritten else []
    is_all = is_unwritten and set(question.types) == {RATIONALE}
    return missing if is_all else [nothing_found(app, question, narrowed, hints), *missing]


def _row(item: Found, *, is_everywhere: bool) -> Row:
    """An answer: what it says; when, who, how sure and which; what was asked then, and why it is there."""
    view, memory = hit_view(item), item.memory
    marks = ["near"] if item.is_near else []
    marks += [f"session {short_session(str(view['session_id']))}"] if memory is None else []
    marks += [f"kept: {', '.join(item.memories)}"] if item.memories else []
    marks += [f"[{item.later}]"] if item.later else []
    if memory is not None:
        marks += [f"of {author_of(memory.agent)}"] if memory.agent else []
        marks += ["[resolved]"] if memory.status == RESOLVED else []
        marks += ["[from outside, not reviewed]"] if memory.is_outside else []
        marks += [f"[{contradiction_of(view)}]"] if memory.contradicts else []
        marks += [memory.cited] if memory.evidence else []
    marks += [f"[{on_branch(item.unmerged)}]"] if item.unmerged else []
    marks += [view["project"] or "everywhere"] if is_everywhere else []
    about = (day(view["ts"]), kind_of(view), *marks, item.id)
    asked = [f"asked: {item.prompt}"] if item.prompt else []
    text = item.passage.replace(BETWEEN, " …\n") if is_terminal() else item.passage  # a person reads lines
    return Row(text, about, [*asked, *around_lines(view), *_explanation_lines(item)], is_whole=is_terminal())


def _explanation_lines(item: Found) -> list[str]:
    """Why an answer is there, for people; nothing when nobody asked."""
    why = item.explanation
    if why is None:
        return []
    tiers = " + ".join(f"{name} {score:.2f} * {weight:g}" for name, (score, weight) in why.tiers.items())
    factors = "".join(f" * {name} {factor:.2f}" for name, factor in why.adjustments.items())
    lines = [f"why: {tiers} → {why.fused:.2f}{factors} = {item.score:.2f}; strength {why.strength:.2f}"]
    met = [f"{one.word} {one.weight:.1f} ({', '.join(one.places)})" for one in why.terms if one.places]
    met += [f"{one.word} → {', '.join(one.widened)}" for one in why.terms if one.widened]
    missing = [one.word for one in why.terms if not one.places and not one.widened]
    lines += [f"words: {'; '.join(met)}"] if met else []
    return lines + ([f"not there: {', '.join(dict.fromkeys(missing))}"] if missing else [])
