"""One run: sets asked apart, beside the baseline and other rankings, and again in one store that holds all of them."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from howcome.domain.events import SEARCHED_KINDS
from howcome.domain.shares import Share
from howcome.errors import UsageError
from howcome.evaluate import figures as made
from howcome.evaluate.datasets import DataSet, rows_of
from howcome.evaluate.figures import Figures, as_text, difference, figures_of
from howcome.evaluate.harness import OWN_PROJECT, SCOPES, Baseline, Measured, Pool, searched, shown, throwaway_home
from howcome.evaluate.metrics import percentile
from howcome.redact.redactor import Redactor
from howcome.retrieve.ranking import MEANING, SHIPPED, STRATEGIES, Ranking

TRIED_WEIGHT = 0.1
"""At which a tier that is off is switched on: the least of the weights that ship, for it has shown nothing yet."""

MAX_WEIGHT = 1.0
"""A weight is how far a tier is believed: more than wholly is nothing."""


def variants(ranking: Ranking, *, has_vectors: bool) -> dict[str, Ranking]:
    """By what is different: each tier alone, left out or switched on; other strategies; half and double of each weight.

    Without vectors the tier of meaning cannot be asked: then it has no variants.
    """
    weights = {tier: weight for tier, weight in ranking.weights.items() if has_vectors or tier != MEANING}
    on = {tier: weight for tier, weight in weights.items() if weight}
    found: dict[str, Ranking] = {}
    if len(on) > 1:
        found |= {f"{tier} alone": Ranking({tier: MAX_WEIGHT}) for tier in on}
        found |= {f"without {tier}": _with(ranking, tier, 0.0) for tier in on}
    found |= {f"with {tier}={TRIED_WEIGHT:g}": _with(ranking, tier, TRIED_WEIGHT) for tier in weights if tier not in on}
    found |= {name: Ranking(ranking.weights, name) for name in STRATEGIES if name != ranking.strategy}
    for tier, weight in on.items():
        changed = {"half": weight / 2, "double": min(weight * 2, MAX_WEIGHT)}
        found |= {f"{how} {tier}": _with(ranking, tier, other) for how, other in changed.items() if other != weight}
    return found


def _with(ranking: Ranking, tier: str, weight: float) -> Ranking:
    return Ranking({**ranking.weights, tier: weight}, ranking.strategy)


def named(ranking: Ranking) -> str:
    """A ranking as `--ranking` takes it."""
    weights = ",".join(f"{tier}={weight:g}" for tier, weight in ranking.weights.items())
    return f"{weights},strategy={ranking.strategy}"


_PACKAGES = ("apsw", "tantivy")
_PACKAGES_OF_MEANING = ("numpy", "onnxruntime")


@dataclass(frozen=True)
class Plan:
    """What a run measures: the options of `howcome eval`; `against` is another ranking to compare with."""

    ranking: Ranking = SHIPPED
    against: Ranking | None = None
    with_baseline: bool = False
    with_ablation: bool = False
    is_pooled: bool = False
    is_everywhere: bool = False
    with_memories: bool = False


class Measurement:
    """Runs a plan; keeps the figures (one object a set) and says each as soon as it is there.

    `model` is the embedder that was used; '' when search was by words alone.
    """

    def __init__(self, plan: Plan, say: Callable[[str], None], progress: Callable[[str], None]) -> None:
        self._plan, self._say, self._progress = plan, say, progress
        self.figures: list[Figures] = []
        self.model = self.mode = ""

    def measure(self, sets: Sequence[DataSet]) -> None:
        """Asks every set in a store of its own, and then, if the plan says so, in a store of all.

        Raises:
            UsageError: two sets of one store have the same name.
        """
        if self._plan.is_pooled and len({data.name for data in sets}) < len(sets):
            raise UsageError("two of the sets have the same name: in one store they could not be told apart")
        apart = [self._apart(data) for data in sets]
        if not self._plan.is_pooled or not sets:
            return
        with throwaway_home() as home:
            pool = Pool(home, self._progress)
            pool.load(sets)
            for data, (figures, ours, asked_ms) in zip(sets, apart, strict=True):
                self._pooled(pool, data, figures, ours, asked_ms)

    def configuration(self) -> dict[str, object]:
        """What a figure depends on beside the data: versions, model, ranking, how many questions, the day."""
        packages = _PACKAGES + (_PACKAGES_OF_MEANING if self.model else ())
        return {
            "howcome": _version("howcome"), "ranking": named(self._plan.ranking), "model": self.model,
            "mode": self.mode,
            "questions": sum(figures.get("questions", 0) for figures in self.figures),
            "python": platform.python_version(), "packages": {name: _version(name) for name in packages},
            "measured": datetime.now(UTC).date().isoformat(),
        }  # fmt: skip

    def _apart(self, data: DataSet) -> tuple[Figures, list[Measured], int]:
        """A set's figures, its questions, and the time at which they were asked."""
        with throwaway_home() as home:
            pool = Pool(home, self._progress)
            pool.load([data])
            is_said = bool(self.mode)  # figures by words are not those of who has a model
            self.model, self.mode = pool.model()
            if not is_said:
                self._say(f"measured {self.mode}")
            ours = pool.ask(data, searched, self._plan.ranking)
            figures: Figures = {"set": data.name, "is_passages": data.is_passages, **figures_of(ours)}
            self.figures.append(figures)
            self._say(as_text(data.name, figures))
            if self._plan.with_baseline:
                with pool.open() as app:
                    baseline = Baseline(app)
                theirs = pool.ask(data, baseline.measured, what=" the baseline")
                figures["baseline"] = figures_of(theirs)
                self._say(as_text("  baseline (FTS5, Porter)", figures["baseline"]))
                self._compare(figures, "difference from the baseline", ours, theirs)
            if self._plan.against is not None:
                theirs = pool.ask(data, searched, self._plan.against)
                self._compare(figures, f"against {named(self._plan.against)}", ours, theirs)
            if self._plan.with_ablation:
                self._ablate(pool, data, figures, ours)
            if self._plan.with_memories:
                self._remember(pool, data, figures)
            return figures, ours, pool.last_ms()

    def _remember(self, pool: Pool, data: DataSet, figures: Figures) -> None:
        """What memories change in what a search shows, by level and category."""
        report, types = pool.distil(), pool.memory_types()
        self._say(made.distilled_as_text(report.sessions, types, report.rejected))
        without, beside = (
            pool.ask(data, partial(shown, types), self._plan.ranking, what=f" {what} memories")
            for what, types in (("without", SEARCHED_KINDS), ("with", ()))
        )
        figures["memories"] = {
            "added": report.added, "sessions": report.sessions, "types": types, "rejected": report.rejected,
            "shown": figures_of(beside),
        }  # fmt: skip
        self._compare(figures, f"with {report.added} memories against without", beside, without)
        for level in figures["memories"]["shown"]["levels"]:
            found = made.difference_by_category(beside, without, level)
            figures["memories"][f"difference, {level}"] = found
            if found:
                self._say(f"    by category, {level}\n{made.categories_as_text(found)}")

    def _ablate(self, pool: Pool, data: DataSet, figures: Figures, ours: Sequence[Measured]) -> None:
        figures["ablation"] = {}
        self._say("  ablation: what changes, and the median processor time of a search")
        for name, other in variants(self._plan.ranking, has_vectors=bool(self.model)).items():
            theirs = pool.ask(data, searched, other)
            more_ms = [one.work_ms - mine.work_ms for one, mine in zip(theirs, ours, strict=True)]
            change, work_ms = difference(theirs, ours), round(percentile(more_ms, 0.5), 3)
            figures["ablation"][name] = {"change": change, "work_ms": work_ms}
            if change:
                self._say(f"  {name:<24}{made.headline(figures, change)}  {work_ms:+.1f} ms")

    def _pooled(self, pool: Pool, data: DataSet, figures: Figures, ours: Sequence[Measured], asked_ms: int) -> None:
        """Of its own project a question is asked when its set ended, as apart; of everything, when all had ended."""
        figures["pooled"] = {}
        for scope in SCOPES if self._plan.is_everywhere else SCOPES[:1]:
            when_ms = asked_ms if scope == OWN_PROJECT else None
            asked = pool.ask(data, searched, self._plan.ranking, of=scope, asked_ms=when_ms)
            figures["pooled"][scope] = figures_of(asked)
            self._say(as_text(f"{data.name}, pooled, asked of {scope}", figures["pooled"][scope]))
            self._compare(figures, f"difference from apart: pooled, asked of {scope}", asked, ours)

    def _compare(self, figures: Figures, name: str, ours: Sequence[Measured], theirs: Sequence[Measured]) -> None:
        found = difference(ours, theirs)
        figures.setdefault("differences", {})[name] = found
        if found:
            self._say(made.difference_as_text(name, found))


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:  # run from a checkout
        return "?"


def evaluate_secrets(folder: Path) -> dict[str, object]:
    """The share of secrets in which something is redacted, and of clean texts in which something is (wrongly)."""
    redactor = Redactor(b"evaluation key, not a secret one")

    def touched(name: str) -> list[tuple[str, bool]]:
        rows = ((str(row.get("source", "")), str(row["text"])) for row in rows_of(folder, name, "text"))
        return [(source, redactor.redact(text) != text) for source, text in rows]

    secrets = touched("secrets")
    found, wrong = (Share.among(is_touched for _, is_touched in one) for one in (secrets, touched("clean")))
    missed = Counter(source for source, is_touched in secrets if not is_touched)
    return {
        "set": folder.name, "secrets": found.of, "clean": wrong.of, "recall": round(found.value, 4),
        "clean_touched": round(wrong.value, 4), "missed": dict(missed),
    }  # fmt: skip


def secrets_as_text(figures: dict[str, object]) -> str:
    """The figures for people."""
    return (
        f"{figures['set']}: recall {figures['recall']:.3f} of {figures['secrets']} secrets,"
        f" {figures['clean_touched']:.3f} of {figures['clean']} clean texts touched; missed: {figures['missed']}"
    )
