"""`recollect eval`: measure retrieval and redaction on data sets."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import click

from recollect.errors import UsageError
from recollect.evaluate.datasets import DataSet, find_sets, kind_of, read_set
from recollect.evaluate.figures import Figures, as_json, as_text, difference, difference_as_text, figures_of, headline
from recollect.evaluate.harness import Measured, Pool
from recollect.retrieve.ranking import SHIPPED, STRATEGIES, WEIGHTS, Ranking


class RankingSpec(click.ParamType["Ranking"]):
    """`tier=weight,strategy=name`; what is not named is as it ships."""

    name = "ranking"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> Ranking:
        """The ranking that is meant."""
        weights, strategy = dict(WEIGHTS), SHIPPED.strategy
        for part in str(value).split(","):
            name, _, chosen = part.partition("=")
            if name == "strategy":
                if chosen not in STRATEGIES:
                    self.fail(f"{chosen!r} is no strategy; there are {', '.join(STRATEGIES)}", param, ctx)
                strategy = chosen
                continue
            if name not in weights:
                self.fail(f"{name!r} is no tier; there are {', '.join(WEIGHTS)}", param, ctx)
            try:
                weights[name] = float(chosen)
            except ValueError:
                self.fail(f"{part!r} is not TIER=NUMBER", param, ctx)
        return Ranking(weights, strategy)


@click.command("eval", short_help="Measure retrieval and redaction on data sets.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--pooled", "is_pooled", is_flag=True, help="All sets in one store, each question asked of all of it.")
@click.option("--baseline", "with_baseline", is_flag=True, help="Ask FTS5 the same questions, too.")
@click.option("--ranking", type=RankingSpec(), metavar="TIER=N,…", help="Another ranking than the one that ships.")
@click.option("--against", type=RankingSpec(), metavar="TIER=N,…", help="Another ranking to compare with.")
@click.option("--ablation", "with_ablation", is_flag=True, help="What is lost with one tier alone, or without it.")
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
def evaluate(
    paths: tuple[Path, ...], *, is_pooled: bool, with_baseline: bool, ranking: Ranking | None,
    against: Ranking | None, with_ablation: bool, to_json: bool,
) -> None:  # fmt: skip
    """Measure on the data sets at or below PATHS, in stores of their own that are thrown away.

    A set is a folder with questions.jsonl and transcripts/, sessions.jsonl or docs.jsonl; or with a longmemeval*.json;
    or with secrets.jsonl and clean.jsonl (each may be .jsonl.gz). docs/evaluation.md describes the formats, the metrics
    and what was measured. A ranking is named by what is different in it: weights of tiers (0 is off), and
    strategy=weighted, rrf, union or intersection.

    \b
    Examples:
      recollect eval data/coding_sessions data/secrets
      recollect eval data --pooled --baseline
      recollect eval data/locomo --against trigram=0,strategy=rrf
    """
    folders = list(dict.fromkeys(found for path in paths for found in find_sets(path)))
    compared = {f"against {_named(against)}": against} if against is not None else {}
    if with_ablation:
        compared |= _ablations(ranking or SHIPPED)
    measurement = _Measurement(ranking, compared, with_baseline=with_baseline, to_json=to_json)
    retrieval = [read_set(folder) for folder in folders if kind_of(folder) != "secrets"]
    for sets in [retrieval] if is_pooled and retrieval else [[data] for data in retrieval]:
        with tempfile.TemporaryDirectory(prefix="recollect-eval-") as home:
            measurement.run(Pool(home, is_pooled), sets)
    measurement.redaction([folder for folder in folders if kind_of(folder) == "secrets"])
    if to_json:
        click.echo(as_json(measurement.figures))


def _ablations(ranking: Ranking) -> dict[str, Ranking]:
    """Each tier alone, and all but each, of those that are on; and the other strategies."""
    on = [tier for tier, weight in ranking.weights.items() if weight]
    if len(on) < 2:
        raise UsageError("there is nothing to leave out of one tier")
    found = {f"only {tier}": Ranking({tier: 1.0}) for tier in on}
    found |= {f"without {tier}": Ranking({**ranking.weights, tier: 0.0}, ranking.strategy) for tier in on}
    others = [strategy for strategy in STRATEGIES if strategy != ranking.strategy]
    return found | {f"strategy {strategy}": Ranking(ranking.weights, strategy) for strategy in others}


def _named(ranking: Ranking) -> str:
    weights = ",".join(f"{tier}={weight:g}" for tier, weight in ranking.weights.items())
    return f"{weights},strategy={ranking.strategy}"


class _Measurement:
    """Runs sets and keeps their figures; prints each as soon as it is there, unless all are wanted as JSON."""

    def __init__(
        self, ranking: Ranking | None, compared: Mapping[str, Ranking], *,
        with_baseline: bool, to_json: bool,
    ) -> None:  # fmt: skip
        self._ranking, self._compared = ranking, compared
        self._with_baseline, self._to_json = with_baseline, to_json
        self.figures: list[Figures] = []

    def run(self, pool: Pool, sets: Sequence[DataSet]) -> None:
        """Loads the sets into the pool and asks their questions there."""
        pool.load(sets, _progress)
        for data in sets:
            ours = pool.ask(data, _progress, self._ranking)
            figures = {"set": data.name, "pooled": pool.is_pooled, **figures_of(ours)}
            self._add(figures, as_text(data.name, figures))
            if self._with_baseline:
                theirs = pool.ask_baseline(data, _progress)
                figures["baseline"] = figures_of(theirs)
                self._print(as_text("  baseline (FTS5, Porter)", figures["baseline"]))
                self._compare(figures, "difference from the baseline", ours, theirs)
            for name, other in self._compared.items():
                self._compare(figures, name, ours, pool.ask(data, _progress, other))

    def redaction(self, folders: Sequence[Path]) -> None:
        """Measures the sets of secrets."""
        from recollect.evaluate import redaction

        for folder in folders:
            figures = redaction.evaluate_secrets(folder)
            self._add(figures, redaction.as_text(figures))

    def _compare(self, figures: Figures, name: str, ours: Sequence[Measured], theirs: Sequence[Measured]) -> None:
        found = difference(ours, theirs)
        figures.setdefault("differences", {})[name] = found
        if found:
            self._print(difference_as_text(name, found) if name.startswith("d") else f"  {name:<40}{headline(found)}")

    def _add(self, figures: Figures, text: str) -> None:
        self.figures.append(figures)
        self._print(text)

    def _print(self, text: str) -> None:
        if not self._to_json:
            click.echo(text)


def _progress(line: str) -> None:
    click.echo(line, err=True)
