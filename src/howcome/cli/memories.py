"""`howcome memories`: what is kept, why, what has faded, what contradicts, and what must not fade."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from howcome.app import App, now_ms
from howcome.cli.arguments import clean_argument, open_existing, scope_of
from howcome.cli.declared import JSON, command, option
from howcome.domain import memories as words
from howcome.domain.memories import Memory, MemoryFilter, Review
from howcome.domain.stored import Scope
from howcome.errors import StoreMissingError, UsageError
from howcome.present.render import counted, iso_time
from howcome.present.screen import Row, day, evidence_rows, memory_brief, memory_row, report, report_rows
from howcome.present.views import evidence_view, memory_view, review_view

TOPIC, ALL = "topic", 100_000
_KEEP = ("both", "older", "newer")
_SAYS = {
    "number": "another number", "negation": "one says that it is not so", "choice": "another choice",
    "subject": "said anew about the same", "proposed": "a model would say it otherwise",
    "imported": "from outside; `--keep newer` accepts it, `both` beside the older one, `--keep older` forgets it",
    "outdated": "a model says that it does not hold any more; `--keep older` keeps it, `--keep newer` forgets it",
}  # fmt: skip


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
    by: str | None = option(type=(TOPIC,), help="All of them, in groups named by their own words."),
    stale: bool = option(help="Those that have faded and that hardly anybody asked for."),
    review: bool = option(help="Pairs that may contradict each other, and what files brought, by number."),
    settle: int | None = option(type=int, metavar="NUMBER", help="Settle such a pair, with --keep."),
    keep: str | None = option(type=_KEEP, help="What stays of it; the other one is forgotten."),
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
    """
    if all_projects + is_global + (project is not None) > 1:
        raise UsageError("choose one of --all-projects, --global and --project")
    asked = {"--stale": stale, "--review": review, "--settle": settle is not None, "--why": why, "--pin": pin,
             "--unpin": unpin}  # fmt: skip
    if len(chosen := [name for name, value in asked.items() if value]) > 1:
        raise UsageError(f"choose one of {' and '.join(chosen)}")
    if (settle is None) != (keep is None):
        raise UsageError("--settle NUMBER and --keep belong together")
    if settle is not None or why or pin or unpin:
        _about_one(settle, keep or "", why, pin, unpin, as_json=as_json)
        return
    _check_narrowed(
        {"--forgotten": forgotten, "--superseded": superseded},
        {"--type": type, "--status": status, "--source": source, "--agent": agent, "--global": is_global},
        is_stale=stale,
        is_review=review,
    )
    wanted = MemoryFilter(
        type=type, agent=agent, status=status, source=source, with_forgotten=forgotten, with_superseded=superseded,
        is_global_only=is_global,
    )  # fmt: skip
    pairs, found = list[Review](), list[Memory]()
    nothing = _nothing([], is_stale=stale)
    with suppress(StoreMissingError), open_existing() as app:
        scope = scope_of(app, project, all_projects=all_projects)
        pairs = app.memories.waiting(scope, limit) if review else []
        found = [] if review else _listed(app, scope, wanted, ALL if by else limit + 1, is_stale=stale)
        if not (found or review or as_json):
            nothing = _nothing(_elsewhere(app, scope, wanted, is_stale=stale), is_stale=stale)
    if review:
        print_reviews(pairs, as_json=as_json)
    elif by and found:
        _print_topics(app.memories.topics(found), as_json=as_json)
    else:
        notes = [f"There are more: --limit {5 * limit}"] if len(found) > limit else [] if found else [nothing]
        views = [memory_view(memory) for memory in found[:limit]]
        report_rows({"memories": views}, (memory_row(view, now_ms()) for view in views), notes=notes, as_json=as_json)


def _check_narrowed(
    of_the_dead: Mapping[str, object], narrowed: Mapping[str, object], *, is_stale: bool, is_review: bool
) -> None:
    """Options that would do nothing are wrong usage."""
    useless = {**(of_the_dead if is_stale or is_review else {}), **(narrowed if is_review else {})}
    if given := [name for name, value in useless.items() if value]:
        raise UsageError(f"{'--review' if is_review else '--stale'} does not go with {' and '.join(given)}")


def _listed(app: App, scope: Scope, wanted: MemoryFilter, limit: int, *, is_stale: bool) -> list[Memory]:
    return app.memories.stale(scope, limit, wanted) if is_stale else app.memories.listed(scope, wanted, limit)


def _elsewhere(app: App, scope: Scope, wanted: MemoryFilter, *, is_stale: bool) -> list[str]:
    """What to do where nothing is listed: other projects have some, or sessions wait to be distilled."""
    hints = []
    if not scope.is_everything and _listed(app, Scope.everything(), wanted, 1, is_stale=is_stale):
        hints.append("--all-projects lists those of every project")
    due = [] if is_stale or app.learn.distillation is None else app.learn.distillation.due(scope)
    if due:
        hints.append(f"`howcome distil` looks for some in {counted(len(due), 'new session')}")
    return hints


def _nothing(hints: list[str], *, is_stale: bool) -> str:
    what = "Nothing here has faded." if is_stale else 'No memories here. Keep one: howcome remember "…"'
    return what if not hints else f"{what.removesuffix('.')}; {'; '.join(hints)}."


def _print_topics(found: list[tuple[str, list[Memory]]], *, as_json: bool) -> None:
    views = [(name or "other", [memory_view(memory) for memory in some]) for name, some in found]
    now = now_ms()
    rows = (Row(f"{name} ({len(some)})", (), [memory_brief(one, now) for one in some]) for name, some in views)
    report_rows({"topics": [{"topic": name, "memories": some} for name, some in views]}, rows, as_json=as_json)


SETTLES = "`howcome memories --settle NUMBER --keep both|older|newer` settles one."


def print_reviews(pairs: list[Review], *, as_json: bool, settles: str = SETTLES) -> None:
    """Prints what somebody should look at, and how to settle it."""
    notes = [settles if pairs else "Nothing to review."]
    report_rows({"reviews": list(map(review_view, pairs))}, map(_pair, pairs), notes=notes, as_json=as_json)


def _pair(pair: Review) -> Row:
    """Two memories, or one that has to be looked at, with the number that settles it."""
    named = {"older": pair.older, "newer": pair.newer}
    if pair.newer.row == pair.older.row:
        del named["older" if pair.reason == words.IMPORTED else "newer"]
    shown = [f"{name}: {memory_brief(memory_view(memory), now_ms())}" for name, memory in named.items()]
    return Row(f"{pair.row}  {_SAYS.get(pair.reason, pair.reason)}", (), shown)


def _about_one(
    settle: int | None, keep: str, why: str | None, pin: str | None, unpin: str | None, *, as_json: bool
) -> None:
    with open_existing() as app:
        rows: list[Row] = []
        if settle is not None:
            pair = app.memories.settle(settle, keep)
            view, line = review_view(pair), f"pair {settle} is settled: {_settled(pair)}"
        elif why:
            view, line, rows = _why(app, app.memories.get(clean_argument(why)))
        else:
            memory = app.memories.pin(clean_argument(pin or unpin or ""), is_pinned=bool(pin))
            view, line = memory_view(memory), f"{memory.id} is {'pinned' if pin else 'not pinned'}"
    if rows:
        report_rows(view, rows, notes=[line] if line else [], as_json=as_json)
    else:
        report(view, [line], as_json=as_json)


def _settled(pair: Review) -> str:
    """What became of the two, which may be one."""
    both = {memory.id: memory for memory in (pair.older, pair.newer)}.values()
    stays = [f"{memory.id} stays" for memory in both if memory.is_live]
    gone = [
        f"{memory.id} is forgotten (`howcome restore {memory.id}` brings it back)"
        for memory in both
        if memory.state == "forgotten"
    ]
    return ", ".join(stays + gone)


def _why(app: App, memory: Memory) -> tuple[dict[str, object], str, list[Row]]:
    """Where a memory is from: its chain, every time it was said, in which words, and what bears it out."""
    now = now_ms()
    chain = app.memories.chain(memory.key.hex())
    place = [other.row for other in chain].index(memory.row)
    said, wordings = app.memories.said(memory), app.memories.wordings(memory)
    evidence = evidence_view(app.events.cited(memory.evidence))
    lines = [f"{memory.source}, {memory.origin}, {memory.level}"]
    lines += [f"also in: {root}" for root in memory.also]
    lines += [f"replaced: {memory_brief(memory_view(other), now)}" for other in chain[:place]]
    lines += [f"replaced by: {memory_brief(memory_view(other), now)}" for other in chain[place + 1 :]]
    lines += [f"said: {day(iso_time(ts_ms), now)}  {event}" for ts_ms, event in said]
    lines += [f"also said as: {text}" for text in wordings]
    by_model = app.learn.queue.memory_reasons(memory.row)
    lines += [f"{op} by a model: {reason}  {day(iso_time(ts_ms), now)}" for op, reason, ts_ms in by_model]
    row = memory_view(memory) | {
        "chain": [memory_view(other) for other in chain], "wordings": wordings, "borne_out_by": evidence,
        "said": [{"ts": iso_time(ts_ms), "event": event} for ts_ms, event in said],
        "by_model": [{"op": op, "reason": reason, "ts": iso_time(ts_ms)} for op, reason, ts_ms in by_model],
    }  # fmt: skip
    app.memories.count_access([memory])
    by_file = f"borne out by the file {memory.subject}" if memory.source == words.CLIENT else ""
    return row, by_file, [memory_row(row, now, lines, is_whole=True), *evidence_rows(evidence, now)]
