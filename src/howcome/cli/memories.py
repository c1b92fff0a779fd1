"""`howcome memories`: what is kept, why, what has faded, what contradicts; `learnt`: what sessions taught; undo it."""

from __future__ import annotations

from contextlib import suppress

from howcome.app import App, now_ms
from howcome.cli.arguments import check_scope, clean_argument, open_existing, option_ms, scope_of
from howcome.cli.declared import ALL_PROJECTS, JSON, PROJECT, argument, command, option
from howcome.domain import memories as words
from howcome.domain.candidates import WISH, Told
from howcome.domain.memories import HAND, Memory, MemoryFilter, Review
from howcome.domain.stored import Scope
from howcome.errors import StoreMissingError, UsageError
from howcome.present.render import counted, iso_time
from howcome.present.screen import DAY_MS, Row, day, evidence_rows, memory_brief, memory_row, report_rows
from howcome.present.views import evidence_view, memory_view, review_view

ALL = 100_000
_SETTLES = "`howcome memories --settle NUMBER --keep both|older|newer` settles one."
_PROPOSED = (
    "What is proposed: `howcome memories --settle NUMBER --accept`, or `--refuse` (`--keep both` accepts it beside the"
    " older one)."
)
_SAYS = {
    "number": "another number", "negation": "one says that it is not so", "choice": "another choice",
    "subject": "said anew about the same", "proposed": "a model would say it otherwise",
    "outdated": "a model says that it does not hold any more; `--keep older` keeps it, `--keep newer` forgets it",
}  # fmt: skip
_NOTHING = {False: 'No memories here. Keep one: howcome remember "…"', True: "Nothing here has faded."}
_WHO = {"user": "the user", "assistant": "the agent", "tool": "a tool", "task": "a task", "external": "from outside"}
_WRONG = (
    "Wrong, never again: `howcome forget --wrong ID`. Take it back: `howcome learnt --undo ID`, or --session, --since."
)
_NOTHING_LEARNT = (
    "Nothing was learnt from sessions of this folder lately. --all-projects lists what every project taught, --project"
    " NAME one; `howcome distil` looks for more."
)


@command
def memories(
    type: str | None = option(type=words.TYPES, help="What kind of memory it is."),
    status: str | None = option(type=words.STATUSES, help="Whether it is still to be done."),
    source: str | None = option(type=words.SOURCES, help="Kept by hand, distilled by this, or from the agent's files."),
    agent: str | None = option(metavar="ID", help="Only those that this agent owns."),
    project: str | None = option(metavar="PROJECT", help="Those of this project: its folder, or its name."),
    all_projects: bool = option(help="Those of every project."),
    is_global: bool = option("--global", help="Only those that hold in every project."),
    forgotten: bool = option(help="Also those that were forgotten."),
    superseded: bool = option(help="Also those that a newer one took the place of."),
    limit: int = option("-n", type=range(1, 100_001), default=50, help="At most so many."),
    by: str | None = option(type=("topic",), help="All of them, in groups named by their own words."),
    stale: bool = option(help="Those that have faded and that hardly anybody asked for."),
    review: bool = option(help="Pairs that may contradict each other, and what files brought, by number."),
    settle: int | None = option(
        type=int, metavar="NUMBER", help="Settle such a pair, with --keep, --accept or --refuse."
    ),
    keep: str | None = option(type=("both", "older", "newer"), help="What stays of it; the other one is forgotten."),
    is_accepted: bool = option("--accept", help="Of what is proposed: it is yours, in the place of the older one."),
    is_refused: bool = option("--refuse", help="Of what is proposed: it is forgotten."),
    why: str | None = option(metavar="ID", help="What bears a memory out, and every time it was said."),
    pin: str | None = option(metavar="ID", help="It does not fade, and nothing distilled supersedes it."),
    unpin: str | None = option(metavar="ID", help="It fades again."),
    as_json: bool = JSON,
) -> None:
    """List the memories of this folder's project and those that hold everywhere, one line each.

    \b
    Examples:
      howcome memories --type decision
      howcome memories --by topic
      howcome memories --all-projects --forgotten --json
      howcome memories --why mem-3f9a
      howcome memories --review
      howcome memories --settle 12 --keep newer
      howcome memories --settle 13 --accept
    """
    if all_projects + is_global + (project is not None) > 1:
        raise UsageError("choose one of --all-projects, --global and --project")
    asked = {"--stale": stale, "--review": review, "--settle": settle is not None, "--why": why, "--pin": pin,
             "--unpin": unpin}  # fmt: skip
    if len(chosen := [name for name, value in asked.items() if value]) > 1:
        raise UsageError(f"choose one of {' and '.join(chosen)}")
    said = [word for word in (keep, "accept" * is_accepted, "refuse" * is_refused) if word]
    if len(said) != (settle is not None):
        raise UsageError("--settle NUMBER and one of --keep, --accept and --refuse belong together")
    if settle is not None or why or pin or unpin:
        _about_one(settle, "".join(said), why, pin, unpin, as_json=as_json)
        return
    narrowed = {"--type": type, "--status": status, "--source": source, "--agent": agent, "--global": is_global}
    of_the_dead = {"--forgotten": forgotten, "--superseded": superseded}
    useless = of_the_dead | narrowed if review else of_the_dead if stale else {}
    if given := [name for name, value in useless.items() if value]:
        raise UsageError(f"{'--review' if review else '--stale'} does not go with {' and '.join(given)}")
    wanted = MemoryFilter(
        type=type, agent=agent, status=status, source=source, with_forgotten=forgotten, with_superseded=superseded,
        is_global_only=is_global,
    )  # fmt: skip
    pairs, found = list[Review](), list[Memory]()
    nothing = _NOTHING[stale]
    with suppress(StoreMissingError), open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        pairs = app.memories.waiting(scope, limit) if review else []
        found = [] if review else _listed(app, scope, wanted, ALL if by else limit + 1, is_stale=stale)
        if not (found or review or as_json):
            nothing = _nothing(app, scope, wanted, is_stale=stale)
    if review:
        print_reviews(pairs, as_json=as_json)
    elif by and found:
        _print_topics(app.memories.topics(found), as_json=as_json)
    else:
        notes = [f"There are more: --limit {5 * limit}"] if len(found) > limit else [] if found else [nothing]
        views = [memory_view(memory) for memory in found[:limit]]
        report_rows({"memories": views}, map(memory_row, views), notes=notes, as_json=as_json)


def _listed(app: App, scope: Scope, wanted: MemoryFilter, limit: int, *, is_stale: bool) -> list[Memory]:
    return app.memories.stale(scope, limit, wanted) if is_stale else app.memories.listed(scope, wanted, limit)


def _nothing(app: App, scope: Scope, wanted: MemoryFilter, *, is_stale: bool) -> str:
    """What is said where nothing is listed: other projects have some, or sessions wait to be distilled."""
    hints = []
    if not scope.is_everything and _listed(app, Scope.everything(), wanted, 1, is_stale=is_stale):
        hints.append("--all-projects lists those of every project")
    if not is_stale and app.learn.distillation is not None and (due := app.learn.distillation.due(scope)):
        hints.append(f"`howcome distil` looks for some in {counted(len(due), 'new session')}")
    return "; ".join([_NOTHING[is_stale].removesuffix("."), *hints]) + "." if hints else _NOTHING[is_stale]


def _print_topics(found: list[tuple[str, list[Memory]]], *, as_json: bool) -> None:
    views = [(name or "other", [*map(memory_view, some)]) for name, some in found]
    heads = {name: name for name, _ in views} if len(views) > 1 else {"other": "no topic that three memories share"}
    rows = (Row(f"{heads.get(name, name)} ({len(some)})", (), [*map(memory_brief, some)]) for name, some in views)
    report_rows({"topics": [{"topic": name, "memories": some} for name, some in views]}, rows, as_json=as_json)


def print_reviews(pairs: list[Review], *, as_json: bool, settles: str = "") -> None:
    """Prints what somebody should look at, and how to settle it."""
    reasons = {pair.reason for pair in pairs}
    ways = [_PROPOSED] if words.IMPORTED in reasons else []
    ways += [_SETTLES] if reasons - {words.IMPORTED} else []
    notes = ([settles] if settles else ways) if pairs else ["Nothing to review."]
    report_rows({"reviews": list(map(review_view, pairs))}, map(_pair, pairs), notes=notes, as_json=as_json)


def _pair(pair: Review) -> Row:
    """Two memories, or one that has to be looked at, with the number that settles it."""
    named = {"older": pair.older, "newer": pair.newer}
    if pair.newer.row == pair.older.row:
        del named["older" if pair.reason == words.IMPORTED else "newer"]
    shown = [f"{name}: {memory_brief(memory_view(memory))}" for name, memory in named.items()]
    who = f"{pair.newer.agent or 'a file'} proposes{' in the place of the older one' * (len(named) > 1)}"
    return Row(f"{pair.row}  {_SAYS.get(pair.reason, who)}", (), shown)


def _about_one(
    settle: int | None, keep: str, why: str | None, pin: str | None, unpin: str | None, *, as_json: bool
) -> None:
    with open_existing() as app:
        notes: list[str] = []
        if settle is not None:
            pair = app.memories.settle(settle, keep)
            view, rows = review_view(pair), [Row(f"pair {settle} is settled: {_settled(pair)}")]
        elif why:
            view, rows, notes = _why(app, app.memories.get(clean_argument(why)))
        else:
            memory = app.memories.pin(clean_argument(pin or unpin or ""), is_pinned=bool(pin))
            view, rows = memory_view(memory), [Row(f"{memory.id} is {'pinned' if pin else 'not pinned'}")]
    report_rows(view, rows, notes=notes, as_json=as_json)


def _settled(pair: Review) -> str:
    both = {memory.id: memory for memory in (pair.older, pair.newer)}.values()
    said = [f"{one.id} stays" for one in both if one.is_live]
    gone = [one.id for one in both if one.state == "forgotten"]
    return ", ".join([*said, *(f"{one} is forgotten (`howcome restore {one}` brings it back)" for one in gone)])


def _why(app: App, memory: Memory) -> tuple[dict[str, object], list[Row], list[str]]:
    """Where a memory is from: its chain, every time it was said, in which words, and what bears it out."""
    chain = app.memories.chain(memory.key.hex())
    place = [other.row for other in chain].index(memory.row)
    said, wordings = app.memories.said(memory), app.memories.wordings(memory)
    evidence = evidence_view(app.events.cited(memory.evidence), memory, chain)
    lines = [f"{memory.source}, {f'of {memory.agent}' if memory.agent else memory.origin}, {memory.level}"]
    lines += [f"also in: {root}" for root in memory.also]
    lines += [f"replaced: {memory_brief(memory_view(other))}" for other in chain[:place]]
    lines += [f"replaced by: {memory_brief(memory_view(other))}" for other in chain[place + 1 :]]
    lines += [f"said: {day(iso_time(ts_ms))}  {event}" for ts_ms, event in said]
    lines += [f"also said as: {text}" for text in wordings]
    by_model = app.learn.queue.memory_reasons(memory.row)
    lines += [f"{op} by a model: {reason}  {day(iso_time(ts_ms))}" for op, reason, ts_ms in by_model]
    row = memory_view(memory) | {
        "chain": [memory_view(other) for other in chain], "wordings": wordings, "borne_out_by": evidence,
        "said": [{"ts": iso_time(ts_ms), "event": event} for ts_ms, event in said],
        "by_model": [{"op": op, "reason": reason, "ts": iso_time(ts_ms)} for op, reason, ts_ms in by_model],
    }  # fmt: skip
    app.memories.count_access([memory])
    notes = [f"borne out by the file {memory.subject}"] if memory.source == words.CLIENT else []
    return row, [memory_row(row, lines, is_whole=True), *evidence_rows(evidence)], notes


@command
def learnt(
    memory_ids: tuple[str, ...] = argument(metavar="[ID]...", nargs=-1, required=False),
    session: str | None = option(metavar="ID", help="What this session taught (any unique beginning of its id)."),
    since: str | None = option(metavar="WHEN", help="What was said since then, whenever it was learnt."),
    project: str | None = PROJECT,
    all_projects: bool = ALL_PROJECTS,
    undo: bool = option(help="Forget it; `howcome restore ID` brings a memory back."),
    as_json: bool = JSON,
) -> None:
    """List the memories that were distilled from sessions: each with who said it, when, about what, and the evidence.

    Without an ID, --session or --since: what was learnt in the last 24 hours, or else in the last session that taught
    anything. What an earlier session taught and this one said again is marked.

    --undo wants one of the three. It leaves what an earlier session taught, and what is pinned, unless it is named.

    WHEN is a date or a time, or how long ago: 2026-10-01, 2026-10-01T12:00Z, 7d, 12h. It goes by when a thing was said
    in its session, not by when howcome learnt it: what an old session taught today is not in `--since 1h`.

    \b
    Examples:
      howcome learnt
      howcome learnt --session 6295e04b
      howcome learnt --since 7d --json
      howcome learnt --undo mem-3f9a mem-71c0
      howcome learnt --undo --session 6295e04b
    """
    check_scope(project, all_projects=all_projects)
    if bool(memory_ids) + (session is not None) + (since is not None) > 1:
        raise UsageError("choose one of ID, --session and --since")
    if undo and not memory_ids and session is None and since is None:
        raise UsageError("--undo takes back what you name: give an ID, --session or --since")
    since_ms, more = option_ms(since, "--since"), 0
    try:
        with open_existing() as app:
            if memory_ids:
                found = [(app.memories.get(clean_argument(ident)), True) for ident in memory_ids]
            elif session is not None:
                found = app.memories.learnt_in(app.events.session_named(clean_argument(session))[0])
            else:
                scope = scope_of(app, project, all_projects=all_projects)
                found = app.memories.learnt_since(scope, now_ms() - DAY_MS if since_ms is None else since_ms)
                found = found or (app.memories.learnt_last(scope) if since_ms is None else [])
                more = len(app.memories.learnt_since(scope, 0)) - len(found) if since_ms is None else 0
            if undo:
                found = _taken_back(app, [one for one, is_new in found if is_new], is_named=bool(memory_ids))
            told = app.memories.told_of([memory for memory, _ in found])
            rows = [_learnt_row(app, memory, told.get(memory.key), is_new=is_new) for memory, is_new in found]
    except StoreMissingError:
        if memory_ids or session is not None:
            raise
        rows = []
    shown = [memory_row(row, [] if undo else [_about(row)]) for row in rows]
    earlier = f"{counted(more, 'more memory', 'more memories')} of earlier sessions: howcome memories"
    undone = f"{counted(len(rows), 'memory is', 'memories are')} forgotten; `howcome restore ID` brings one back."
    note = (undone if rows else "Nothing to take back.") if undo else _WRONG if rows else _NOTHING_LEARNT
    notes = [*([earlier] if more > 0 else []), note]
    report_rows({"undone" if undo else "learnt": rows}, shown, notes=notes, as_json=as_json)


def _taken_back(app: App, found: list[Memory], *, is_named: bool) -> list[tuple[Memory, bool]]:
    """Forgets what was learnt; what is pinned only where it is named."""
    for one in found:
        if one.source == HAND:
            raise UsageError(f"{one.id} was kept by hand, no session taught it: use `howcome forget {one.id}`")
    free = [one for one in found if is_named or one.pinned_ms is None]
    return [(app.memories.forget(one.key.hex(), is_person=True), True) for one in free]


def _learnt_row(app: App, memory: Memory, told: Told | None, *, is_new: bool) -> dict[str, object]:
    """A memory with its evidence; `said_by` is whose words it is, `is_new` that it was learnt then, not said again."""
    often = {"sessions": 1, "projects": 1} if told is None else {"sessions": told.sessions, "projects": told.projects}
    return memory_view(memory) | often | {
        "learnt_from": told.source if told is not None else memory.source,
        "is_standing": told is not None and told.is_standing,
        "said_by": memory.origin, "is_new": is_new, "borne_out_by": evidence_view(app.events.cited(memory.evidence)),
    }  # fmt: skip


def _about(row: dict[str, object]) -> str:
    about = f", about {str(row['subject']).removeprefix(WISH)}" if row["subject"] else ""
    about += f", said in {row['sessions']} sessions: standing" if row["is_standing"] else ""
    if int(str(row["projects"])) > 1:
        about += ", wished in another project, too (`howcome remember --global` keeps it everywhere)"
    about += "" if row["is_new"] else ", said again"
    shown, said = (day(str(row[name] or row["ts"])) for name in ("ts", "said_at"))
    when = f", {said}" if said != shown else ""  # the row has the other
    where = f"; {row['cited']}" if row["cited"] else ""
    return f"said by {_WHO.get(str(row['said_by']), row['said_by'])}{when}{about}{where}"
