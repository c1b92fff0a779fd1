"""Graph: what was said of files one import away from the files in question.

A question about a function is often answered where its caller was changed. The files in question are those that the
prompt names (those of the best hits add nothing: docs/evaluation.md); only their neighbours are looked for, because the
files themselves are found by name. A file that everything imports says little: a neighbour weighs
1 / √(its edges · the file's edges).

The graph is the one that howcome built, or one of a server where the settings name it and it knows the files.
"""

from __future__ import annotations

from howcome.domain import bm25, events
from howcome.domain.code import ends_alike, file_name
from howcome.domain.text import entities
from howcome.retrieve.code_files import files_meant
from howcome.retrieve.situation import Candidate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.stored import Filter, Hit, Scope, StoredEvent
    from howcome.log.code_graph import ImportGraph
    from howcome.retrieve.outside import Outside
    from howcome.retrieve.situation import Situation
    from howcome.retrieve.tiers.base import Tier
    from howcome.store.base import Store

MAX_NAMES = 16
MAX_MEANT = 4
"""A name of more files than these (`index.ts`, `mod.rs`) says none of them."""

MAX_NEIGHBOURS = 12
MAX_ROWS = 40
MIN_COMMON_ROWS = 20
MAX_SHARE = 0.1
"""A file's name that a tenth of all events mention says nothing, as with other names."""


class GraphTier:
    """Finds history of the callers and callees of what a prompt is about; it ranks and never makes howcome speak.

    Args:
        store: What is searched, and the graph that howcome built.
        outside: Who may know another graph, which is asked first.
    """

    name = "graph"

    def __init__(self, store: Store, outside: Outside | None = None) -> None:
        self._store, self._outside = store, outside

    def candidates(self, situation: Situation) -> list[Candidate]:
        """Turns that name a neighbour, and exchanges in which one was read or written; [] without a graph."""
        project_id = situation.wanted.scope.project_id
        if project_id is None:
            return []
        neighbours = self._of_outside(project_id, situation)
        neighbours = neighbours or self._neighbours(self._store.code_graph, project_id, situation.text)
        by_name: dict[str, list[str]] = {}
        for path in neighbours:
            by_name.setdefault(file_name(path), []).append(path)
        weights = self._weights(situation.wanted.scope, neighbours, by_name)
        if not weights:
            return []
        kinds = (*events.TURN_KINDS, events.TOOL_CALL)
        hits = self._store.index.search("names", weights, _searched(situation.wanted).narrowed(kinds), MAX_ROWS)
        return self._candidates(situation, hits, by_name)

    def _of_outside(self, project_id: int, situation: Situation) -> dict[str, float]:
        """As `_neighbours`, of a graph elsewhere, which sees no secrets; {} without one."""
        if self._outside is None or not self._outside.has_graph:
            return {}
        text = self._outside.redact(situation.text)
        ask = self._outside.ask_graph
        return ask(lambda graph: self._neighbours(graph, project_id, text)) or {}

    def _neighbours(self, graph: ImportGraph, project_id: int, text: str) -> dict[str, float]:
        """The paths of the neighbours that weigh most, with their weights (0 to 1)."""
        named = _longest(entities(text, MAX_NAMES))
        seeds: dict[int, float] = {}
        for meant in files_meant(graph, project_id, dict.fromkeys(named)).values():
            if len(meant) <= MAX_MEANT:
                for row, _ in meant:
                    seeds[row] = max(seeds.get(row, 0.0), 1 / len(meant))
        found: dict[str, float] = {}
        for near in graph.neighbours(seeds) if seeds else ():
            if near.row not in seeds:
                weight = seeds[near.of] / (near.degree * near.degree_of) ** 0.5
                found[near.path] = min(1.0, found.get(near.path, 0.0) + weight)
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0]))[:MAX_NEIGHBOURS])

    def _weights(self, scope: Scope, neighbours: dict[str, float], by_name: dict[str, list[str]]) -> dict[str, float]:
        total, frequencies = self._store.index.name_frequencies(list(by_name), scope)
        common = max(MIN_COMMON_ROWS, MAX_SHARE * total)
        return {
            name: max(neighbours[path] for path in paths) * bm25.weight(frequencies[name], total, is_generic=False)
            for name, paths in by_name.items()
            if 0 < frequencies[name] <= common
        }

    def _candidates(self, situation: Situation, hits: Sequence[Hit], by_name: dict[str, list[str]]) -> list[Candidate]:
        """Turns as they are; a tool call as the prompt of its exchange, unless tools are asked for too."""
        rows = {hit.row for hit in hits} | {hit.exchange for hit in hits}
        stored = self._store.log.events(rows)
        total = self._store.index.name_frequencies((), situation.wanted.scope)[0]
        full = bm25.SATURATION * bm25.weight(0, total, is_generic=False) * 2
        found: dict[int, Candidate] = {}
        for hit in hits:
            event = stored.get(hit.row)
            is_call = event is not None and event.kind == events.TOOL_CALL
            row = hit.exchange if is_call and not situation.with_tools else hit.row
            shown = stored.get(row)
            if event is None or shown is None or not _is_about(event, by_name):
                continue
            if row != hit.row and (shown.kind not in events.TURN_KINDS or shown.project != event.project):
                continue  # an exchange may begin with a tool's output, or in another project
            if not _may_answer(shown, situation.wanted):
                continue
            score = min(1.0, hit.score / full)
            if row not in found or found[row].score < score:
                found[row] = Candidate(row, hit.session_id, hit.exchange, shown.ts_ms or hit.ts_ms, score, 0.0)
        return list(found.values())


def _longest(names: Sequence[str]) -> list[str]:
    """Names without those that are only the end of another one: of `a/b.py` and `b.py` the path is meant."""
    return [name for name in names if not any(other.endswith("/" + name) for other in names)]


def _searched(wanted: Filter) -> Filter:
    """The filter of what is searched: a call may lead to a prompt whose origin is asked for."""
    from howcome.domain.stored import Filter

    return Filter(
        wanted.scope,
        before_ms=wanted.before_ms,
        since_ms=wanted.since_ms,
        without=wanted.without,
        sessions=wanted.sessions,
    )


def _is_about(event: StoredEvent, by_name: dict[str, list[str]]) -> bool:
    """Whether an event is about one of the files: a call about another file of the same name is not."""
    if event.kind != events.TOOL_CALL or event.file is None:
        return True
    file = event.file.lower()
    named = by_name.get(file_name(file))
    return named is None or any(ends_alike(path.lower(), file) for path in named)


def _may_answer(event: StoredEvent, wanted: Filter) -> bool:
    """Whether a row that the index did not give is one that was asked for."""
    ts_ms = event.ts_ms or 0
    return (
        (wanted.kinds is None or event.kind in wanted.kinds)
        and (wanted.origins is None or event.origin in wanted.origins)
        and (wanted.before_ms is None or ts_ms < wanted.before_ms)
        and (wanted.since_ms is None or ts_ms >= wanted.since_ms)
    )


if TYPE_CHECKING:
    _: type[Tier] = GraphTier
