"""`recollect eval`: measure retrieval and redaction on data sets."""

from __future__ import annotations

from pathlib import Path

import click

from recollect.evaluate.datasets import find_sets
from recollect.evaluate.harness import as_json, as_text, evaluate_set


@click.command("eval", short_help="Measure retrieval and redaction on data sets.")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--json", "to_json", is_flag=True, help="Print JSON.")
def evaluate(paths: tuple[Path, ...], *, to_json: bool) -> None:
    """Measure on the data sets at or below PATHS, each in a store of its own that is thrown away.

    A set is a folder with transcripts/ and questions.jsonl, or with secrets.jsonl and clean.jsonl (either may be
    .jsonl.gz); the formats are described in docs/evaluation.md.

    \b
    Example:
      recollect eval data/coding_sessions data/secrets
    """
    figures = []
    for folder in dict.fromkeys(found for path in paths for found in find_sets(path)):
        figures.append(evaluate_set(folder, lambda line: click.echo(line, err=True)))
        if not to_json:
            click.echo(as_text(figures[-1]))
    if to_json:
        click.echo(as_json(figures))
