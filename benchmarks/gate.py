"""What the gate of prompts is made from: `python benchmarks/gate.py DATA [--keep STORES]`.

DATA holds sets as `howcome eval --speak` reads them: transcripts/ and judged_prompts.jsonl. Each prompt is searched as
it was then, and the exchanges that readers judged get the five numbers of `recall/gate.py`. A logistic regression, in
which an exchange that helps counts 1 and a related one a quarter, is fitted on each project and tried on the others.
Printed are its weights, the area under the curve for "helps", what the best exchange of the surest 15 % of the prompts
is, and in how many helping exchanges the first sentences, and the line made of them, hold the words that helped.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import log1p
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from howcome.app import App
from howcome.evaluate.datasets import milliseconds_of, rows_of, sets_with
from howcome.evaluate.harness import Pool
from howcome.evaluate.note_run import import_set
from howcome.evaluate.notes import stems
from howcome.evaluate.speak import JUDGED, QUOTE_SHARE, SAME_MINUTE_MS, SAME_MS
from howcome.recall.bites import ANSWERS, by_weight, line_of
from howcome.recall.gate import HOUR_MS, MAX_HOURS, first_of_exchanges
from howcome.recall.prompt import pushed
from howcome.retrieve.search import RECALL_BREADTH, Searcher

NAMES = ("score", "strength", "log hours", "of its session", "place")
HELPS, RELATED, RELATED_WORTH = 2, 1, 0.25
PENALTY, ROUNDS, SURE_SHARE, FIRST = 10.0, 25, 0.15, 3
"""Ridge on weights of unit variance (chosen once, of .1, 1 and 10 times); Newton's steps; the surest prompts."""

Floats = NDArray[np.float64]


@dataclass
class Judged:
    """The exchanges of a project's prompts: numbers, grade and prompt of each; ranks of the sentences that helped.

    `lines` counts the helping exchanges whose line holds the words.
    """

    numbers: list[list[float]] = field(default_factory=list)
    grades: list[int] = field(default_factory=list)
    prompts: list[int] = field(default_factory=list)
    ranks: list[int | None] = field(default_factory=list)
    lines: int = 0


def judged(folder: Path, keep: Path | None, progress: Callable[[str], None]) -> Judged:
    """Searches each prompt of a set as it was then."""
    found = Judged()
    with tempfile.TemporaryDirectory(prefix="howcome-gate-", ignore_cleanup_errors=True) as home:
        import_set(folder, None, home, keep, progress)
        root = f"/{folder.name}/{folder.name}"
        with Pool(home).open(root) as app:
            app.index.finish()
            for number, row in enumerate(rows_of(folder, JUDGED[0], "session", "ts", "prompt")):
                add_prompt(app, root, row, number, found)
    return found


def add_prompt(app: App, root: str, row: dict[str, Any], number: int, found: Judged) -> None:
    """The judged exchanges of one prompt."""
    then_ms = milliseconds_of(row["ts"])
    searcher = Searcher(app.store)
    wanted = pushed(app.store, app.projects.scope_of(root), row["session"], then_ms)
    situation = searcher.situation(row["prompt"], wanted, breadth=RECALL_BREADTH, recent=str)
    best = first_of_exchanges(searcher.search(situation, limit=RECALL_BREADTH, now_ms=then_ms))
    sessions = [item.candidate.session_id for item in best]
    for place, item in enumerate(best):
        opening = app.store.log.turns([item.candidate.exchange]).get(item.candidate.exchange)
        grade = next((one for one in row["candidates"] if opening is not None and is_of(opening, one)), None)
        if grade is None or opening is None:
            continue
        hours = min(MAX_HOURS, max(0, then_ms - item.candidate.ts_ms) / HOUR_MS)
        siblings = sessions.count(item.candidate.session_id)
        found.numbers.append([item.score, item.strength, log1p(hours), siblings, place])
        found.grades.append(grade["grade"])
        found.prompts.append(number)
        if grade["grade"] == HELPS:
            turns = [opening, *app.store.log.answers(opening.row, ANSWERS)]
            weights = {term: situation.weights.windows[term] for term in situation.terms}
            told = by_weight(turns, weights)
            found.ranks.append(rank_of(grade["quote"], [text for _, text in told]))
            found.lines += rank_of(grade["quote"], [line_of(*one, told) for one in told[:1]]) is not None


def is_of(opening: Any, candidate: dict[str, Any]) -> bool:
    """Whether a judged exchange is the one that a prompt opened."""
    at_ms = milliseconds_of(candidate.get("exchange_at") or candidate["when"])
    near_ms = SAME_MS if "exchange_at" in candidate else SAME_MINUTE_MS
    return bool(opening.session == candidate["session"] and abs(opening.order_ms - at_ms) <= near_ms)


def rank_of(quote: str, told: Sequence[str]) -> int | None:
    """The place of the first sentence that holds most of a quote's stems."""
    wanted = stems(quote)
    holding = (at for at, text in enumerate(told) if len(wanted & stems(text)) >= QUOTE_SHARE * len(wanted))
    return next(holding, None) if wanted else None


def fitted(sets: Sequence[Judged]) -> Floats:
    """Weights, the bias last."""
    numbers = np.array([one for judged in sets for one in judged.numbers])
    grades = np.array([one for judged in sets for one in judged.grades])
    worth = np.where(grades == HELPS, 1.0, np.where(grades == RELATED, RELATED_WORTH, 0.0))
    mean, scale = numbers.mean(0), numbers.std(0)
    table = np.c_[(numbers - mean) / scale, np.ones(len(numbers))]
    ridge = np.diag([PENALTY] * len(NAMES) + [0.0])
    weights = np.zeros(len(NAMES) + 1)
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-table @ weights))
        slope = table.T @ (chance - worth) + ridge @ weights
        weights -= np.linalg.solve(table.T @ (table * (chance * (1 - chance))[:, None]) + ridge, slope)
    plain = weights[:-1] / scale
    return np.append(plain, weights[-1] - plain @ mean)


def report(weights: Floats, other: Judged) -> str:
    """What weights do on a project: area under the curve, and the best exchanges of the surest prompts."""
    odds = np.c_[np.array(other.numbers), np.ones(len(other.numbers))] @ weights
    grades, prompts = np.array(other.grades), np.array(other.prompts)
    better = odds[grades == HELPS][:, None] - odds[grades != HELPS][None, :]
    area = ((better > 0) + 0.5 * (better == 0)).mean()
    best = {prompt: np.flatnonzero(prompts == prompt)[odds[prompts == prompt].argmax()] for prompt in set(prompts)}
    sure = sorted(best.values(), key=lambda at: -odds[at])[: int(SURE_SHARE * (max(prompts) + 1))]
    shares = [float((grades[sure] == grade).mean()) for grade in (HELPS, RELATED, 0)]
    said = ", ".join(f"{name} {share:.2f}" for name, share in zip(("helps", "related", "noise"), shares, strict=True))
    return f"area {area:.2f}; of the surest {len(sure)}: {said}"


def main() -> None:
    """Fits and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--keep", type=Path, help="where imported stores stay for the next run")
    options = parser.parse_args()
    sets = {
        folder.name: judged(folder, options.keep, lambda text: print(text, file=sys.stderr))
        for folder in sets_with([options.data], *JUDGED)
    }
    for name, one in sets.items():
        helping = [rank for rank in one.ranks if rank is not None]
        within = [sum(rank < count for rank in helping) for count in (1, FIRST)]
        print(f"{name}: {len(one.grades)} judged exchanges, {one.grades.count(HELPS)} help")
        held = f"the first holds the words {within[0]} times, the first {FIRST} {within[1]}"
        print(f"  sentences: of {len(one.ranks)}, {held}, the line {one.lines}")
    print(f"{'fitted on':30} {' '.join(f'{name:>15}' for name in (*NAMES, 'bias'))}")
    for name in (*sets, "all"):
        weights = fitted([one for other, one in sets.items() if name in (other, "all")])
        print(f"{name:30} {' '.join(f'{weight:15.3f}' for weight in weights)}")
        for other, one in sets.items():
            if other != name:
                print(f"  on {other}: {report(weights, one)}")


if __name__ == "__main__":
    main()
