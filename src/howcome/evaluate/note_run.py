"""Sets with readers' notes: their transcripts into a throw-away store, distilled, and what is measured of it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howcome.app import App, open_app
from howcome.domain import events, spending
from howcome.domain.candidates import Told
from howcome.domain.memories import Memory, MemoryFilter
from howcome.domain.stored import Scope, StoredEvent
from howcome.errors import ProviderError
from howcome.evaluate.datasets import Corpus, DataSet, native, read_set
from howcome.evaluate.harness import MAX_LISTED, Pool, every_event, throwaway_home
from howcome.evaluate.notes import SAME_MEANING, Kept, Note, read_notes, verbatim
from howcome.providers.base import Embedder
from howcome.settings import read_settings

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Distilled:
    """A set with what is measured of it.

    Attributes:
        memories: The live ones, in the order in which they were kept; `prompts`: the baseline.
        alike: Places of memories that say the same by meaning, where an embedder is there.
        told: The events of the sessions that were read, with their texts.
        cost: Seconds to import (None: it was there already) and to distil; sessions; what a model used.
    """

    name: str
    notes: Sequence[Note]
    traps: Sequence[str]
    memories: Sequence[Kept]
    prompts: Sequence[Kept]
    alike: set[tuple[int, int]]
    told: Mapping[str, Sequence[StoredEvent]]
    cost: Mapping[str, float | None]


def distilled(folder: Path, keep: Path | None, progress: Progress, *, only_read: bool = False) -> Distilled:
    """What distilling makes of a set, without the sessions that nobody read if `only_read`.

    The imported store stays in `keep` for the next run, which distils a copy of it; None: nowhere.
    """
    notes, traps = read_notes(folder)
    read = {note.session for note in notes}
    with throwaway_home() as home:
        import_s = import_set(folder, read if only_read else None, home, keep, progress)
        pool = Pool(home)
        progress(f"{folder.name}: distilling")
        started_s, started_ms = time.perf_counter(), time.time_ns() // 1_000_000
        report = pool.distil()
        cost = {"import_s": import_s, "distil_s": time.perf_counter() - started_s, "sessions": float(report.sessions)}
        with pool.open() as app:
            cost |= _asked(app, started_ms, report.sessions)
            found = app.memories.listed(Scope.everything(), MemoryFilter(), MAX_LISTED)[::-1]
            sources = app.memories.told_of(found)
            memories = [_kept(memory, sources.get(memory.key), app) for memory in found]
            told = events_of(app)
            every = [event for rows in told.values() for event in rows]
            users = (events.USER_PROMPT, events.ORIGIN_USER)
            prompts = ((one.id, one.session, one.text or "") for one in every if (one.kind, one.origin) == users)
            embedder = app.models.embedder if app.models.vectors is not None else None
            return Distilled(
                folder.name, notes, traps, memories, verbatim(prompts),
                alike(embedder, [memory.text for memory in memories]),
                {name: rows for name, rows in told.items() if name in read}, cost,
            )  # fmt: skip


def said_in(event: StoredEvent) -> str:
    """The text of an event as a reader quotes it: a call's input also decoded."""
    text = event.text or ""
    if event.kind != events.TOOL_CALL:
        return text
    try:
        return "\n".join([text, *events.strings_in(json.loads(text))])
    except ValueError:
        return text


def alike(embedder: Embedder | None, texts: Sequence[str]) -> set[tuple[int, int]]:
    """The places of texts that an embedder takes for the same, the earlier one first; none without an embedder."""
    if embedder is None or not texts:
        return set()
    vectors = embedder.embed(texts)
    pairs = (vectors @ vectors.T >= SAME_MEANING).nonzero()
    return {(int(one), int(other)) for one, other in zip(*pairs, strict=True) if one < other}


def import_set(folder: Path, read: set[str] | None, home: str, keep: Path | None, progress: Progress) -> float | None:
    """Fills the store of `home`; the seconds that reading took, None where a kept store was copied."""
    kept = keep / (folder.name if read is None else f"{folder.name}, read sessions") if keep is not None else None
    if kept is not None and kept.is_dir():
        progress(f"{folder.name}: taken from {kept}")
        shutil.copytree(kept, home, symlinks=True, dirs_exist_ok=True)
        return None
    paths = [path for path in native(folder) if read is None or path.name.split(".")[0] in read]
    corpora = [Corpus(folder.name, [], lambda _: paths)] if paths else read_set(folder).corpora
    started_s = time.perf_counter()
    Pool(home, progress).load([DataSet(folder.name, corpora)], is_searched=False)
    seconds = time.perf_counter() - started_s
    if kept is not None:
        shutil.copytree(home, part := kept.with_name(f"{kept.name}.{os.getpid()}"), symlinks=True)
        part.rename(kept)  # whole or not at all
    return seconds


def distil_by_model(app: App) -> int | None:
    """Asks the model of the settings about each session, and says how many calls failed; None: they name no model.

    Raises:
        ProviderError: it did not come to its end: the figures would be of no configuration at all.
    """
    if app.settings.distiller != "llm":
        return None
    report = app.learn.batches().run(wait_s=app.settings.llm_deadline_s)
    if report.problem or report.waiting:
        raise ProviderError(f"not distilled: {report.problem or 'batches wait'}")
    return report.dead


def _asked(app: App, since_ms: int, sessions: int) -> dict[str, float | None]:
    """Distils by the model, too, where the settings name one: calls, failures, and what a session costs."""
    dead = distil_by_model(app)
    if dead is None:
        return {}
    with open_app(read_settings(os.environ)) as own:
        receipts = own.spending.receipts(since_ms)
    made = [one for one in receipts if one.call.purpose == spending.DISTIL and one.outcome != spending.OVER_BUDGET]
    priced = [one.usage.cost_usd for one in made if one.usage.cost_usd is not None]
    return {
        "model_calls": float(len(made)),
        "model_failed": float(dead),
        "model_tokens_per_session": sum(one.call.tokens for one in made) / max(sessions, 1),
        "model_usd_per_session": sum(priced) / max(sessions, 1) if priced else None,
    }


def _kept(memory: Memory, told: Told | None, app: App) -> Kept:
    cited = app.events.cited(memory.evidence)
    source = (told and told.source) or memory.source  # what found it, else who kept it
    return Kept(memory.id, memory.text, tuple(map(said_in, cited)), frozenset(one.session for one in cited), source)


def events_of(app: App) -> dict[str, list[StoredEvent]]:
    """Every event by its session, in their order, with its text."""
    found: dict[str, list[StoredEvent]] = {}
    for event in every_event(app):
        found.setdefault(event.session, []).append(event)
    return {name: sorted(rows, key=lambda event: (event.order_ms, event.row)) for name, rows in found.items()}
