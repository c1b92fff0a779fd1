"""`howcome eval`: measure retrieval and redaction on data sets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from howcome.cli.declared import JSON, argument, click_command, option
from howcome.errors import UsageError
from howcome.evaluate.answers import AnswerReport, measure_answers
from howcome.evaluate.datasets import find_sets, kind_of, read_set
from howcome.evaluate.figures import as_json
from howcome.evaluate.measurement import Measurement, Plan, evaluate_secrets, named, secrets_as_text
from howcome.evaluate.note_report import NoteReport, measure_notes
from howcome.evaluate.precedent import PrecedentReport, measure_precedent
from howcome.evaluate.speak import SpeakReport, measure_speak
from howcome.evaluate.tables import as_markdown, has_part, with_part
from howcome.present.terminal import echo, echo_text
from howcome.retrieve.ranking import SHIPPED, STRATEGIES, WEIGHTS, Ranking
from howcome.wiring.atomic_files import decoded, edit_safely, read_snapshot, replace_file

Report = NoteReport | SpeakReport | AnswerReport | PrecedentReport
_FILE = click.Path(dir_okay=False, path_type=Path)
_DIR = click.Path(file_okay=False, path_type=Path)


def _ranking(value: str) -> Ranking:
    """The ranking of `tier=weight,strategy=name`; what is not named is as it ships."""
    weights, strategy = dict(WEIGHTS), SHIPPED.strategy
    for part in value.split(","):
        name, _, chosen = part.partition("=")
        if name == "strategy" and chosen not in STRATEGIES:
            raise click.BadParameter(f"{chosen!r} is no strategy; there are {', '.join(STRATEGIES)}")
        if name == "strategy":
            strategy = chosen
            continue
        if name not in weights:
            raise click.BadParameter(f"{name!r} is no tier; there are {', '.join(WEIGHTS)}")
        try:
            weights[name] = float(chosen)
        except ValueError as error:
            raise click.BadParameter(f"{part!r} is not TIER=NUMBER") from error
    return Ranking(weights, strategy)


@click_command
def eval_(
    paths: tuple[Path, ...] = argument(nargs=-1, required=True, type=click.Path(exists=True, path_type=Path)),
    with_baseline: bool = option("--baseline", help="Ask FTS5 the same questions, too."),
    ranking: Ranking | None = option(type=_ranking, metavar="TIER=N,…", help="Another one than the one that ships."),
    against: Ranking | None = option(type=_ranking, metavar="TIER=N,…", help="Another ranking to compare with."),
    with_ablation: bool = option("--ablation", help="Each tier alone, left out, switched on; other weights."),
    is_pooled: bool = option("--pooled", help="Then ask again in one store that holds all sets."),
    is_everywhere: bool = option("--everywhere", help="With --pooled: there also of all projects at once."),
    with_memories: bool = option("--memories", help="Distil the sessions; ask with and without memories."),
    with_notes: bool = option("--notes", help="Distil the sessions; measure memories by readers' notes."),
    with_speech: bool = option("--speak", help="Ask judged prompts as they were; grade what is said."),
    with_precedent: bool = option("--precedent", help="Say how often, and what it is worth, that it came before."),
    questions: Path | None = option(type=_FILE, metavar="IN", help="Ask these; measure what a search's rows show."),
    keep: Path | None = option(type=_DIR, metavar="STORE", help="With --notes, --speak, --questions: keep the import."),
    only_read: bool = option(help="With --notes: leave out the sessions that nobody read."),
    sheet: Path | None = option(type=_FILE, metavar="OUT", help="With --notes, --speak: write sheets for readers."),
    chunk: int | None = option(type=click.IntRange(1), metavar="N", help="With --sheet: so many rows a part."),
    grades: tuple[Path, ...] = option(
        type=_FILE, metavar="IN", multiple=True, help="With --notes, --speak: what readers said."
    ),
    into: Path | None = option(type=_FILE, metavar="FILE", help="Write the tables there."),
    part: str = option(default="results", metavar="NAME", help="Which part of FILE they are."),
    to_json: bool = JSON,
) -> None:
    """Measure on the data sets at or below PATHS, in stores of their own that are thrown away.

    A set is a folder with questions.jsonl and what is asked: transcripts/ (an agent's own files), sessions.jsonl
    (conversations) or docs.jsonl (single passages); or with LongMemEval's longmemeval*.json; or with secrets.jsonl and
    clean.jsonl. Each .jsonl may be a .jsonl.gz. With --notes, and nothing else, it is a folder with transcripts/,
    notes.jsonl and perhaps traps.jsonl: what careful readers would note, and what looks so and is wrong. With --speak
    or --precedent it is one with transcripts/ and judged_prompts.jsonl: real prompts, and what of the past would help
    with each. With --questions it is one with transcripts/, and IN has questions with verbatim answers, or with none
    for nonsense.

    \b
    questions.jsonl  {"question": "why no redis?", "evidence_sessions": ["s1"]}
                     or "evidence_turns", "evidence" (passages), "answer"
                     of --questions: "session", "quotes" ([]: nothing answers), "kind"
    sessions.jsonl   {"session": "s1", "ts": "2026-09-14 10:00", "turns":
                      [{"id": "t1", "role": "user", "text": "Redis?"}, …]}
    docs.jsonl       {"id": "d1", "text": "def port(): …"}

    docs/evaluation.md has every field, the metrics, and what was measured. Each figure comes with its 95 % interval. A
    ranking is named by what is different in it: weights of tiers (0 is off), and strategy=weighted, rrf, union or
    intersection. Differences are taken question by question. --into writes the tables as Markdown between
    <!-- howcome eval: NAME --> and <!-- end --> of FILE, in place of what stands there.

    \b
    Examples:
      howcome eval samples/gaps
      howcome eval data --baseline --ablation --into docs/evaluation.md
      howcome eval data --pooled --everywhere
      howcome eval data/sessions --memories
      howcome eval data/sessions --notes --keep stores --sheet grading/one --chunk 60
      howcome eval data/sessions --notes --keep stores --grades grading/first.jsonl --grades grading/second.jsonl
      howcome eval data/sessions --speak --sheet lines.jsonl
      howcome eval data/sessions --precedent
      howcome eval data/sessions --questions asked.jsonl
      howcome eval data/locomo --against trigram=0,strategy=rrf
    """
    if is_everywhere and not is_pooled:
        raise click.UsageError("--everywhere belongs to --pooled")
    of_notes = {"--keep": keep, "--only-read": only_read, "--sheet": sheet, "--chunk": chunk, "--grades": grades}
    of_speech = ("--keep", "--sheet", "--grades") if with_speech else ("--keep",) if questions or with_precedent else ()
    needing = [name for name, value in of_notes.items() if value and name not in of_speech]
    if needing and not with_notes:
        raise click.UsageError(f"{needing[0]} belongs to --notes")
    if into is not None and not _has_part(into, part):
        echo(f"{into} has no part {part!r} yet: it will be added at the end", err=True)
    report: Report
    if questions is not None:
        if len(paths) > 1:
            raise click.UsageError("--questions are of one set")
        report = measure_answers(paths[0], questions, _progress, keep=keep)
    elif with_precedent:
        report = measure_precedent(paths, _progress, keep=keep)
    elif with_notes:
        report = measure_notes(
            paths, _progress, keep=keep, only_read=only_read, sheet=sheet, chunk=chunk, grades=grades
        )
    elif with_speech:
        report = measure_speak(paths, _progress, keep=keep, sheet=sheet, grades=grades)
    else:
        plan = Plan(ranking or SHIPPED, against, with_baseline, with_ablation, is_pooled, is_everywhere, with_memories)
        _measure_questions(paths, plan, into, part, to_json=to_json)
        return
    _say(report, into, part, to_json=to_json)


def _measure_questions(paths: Sequence[Path], plan: Plan, into: Path | None, part: str, *, to_json: bool) -> None:
    folders = list(dict.fromkeys(found for path in paths for found in find_sets(path)))
    measurement = Measurement(plan, (lambda _: None) if to_json else echo_text, _progress)
    measurement.measure([read_set(folder) for folder in folders if kind_of(folder) != "secrets"])
    figures = [*measurement.figures]
    for folder in (folder for folder in folders if kind_of(folder) == "secrets"):
        figures.append(evaluate_secrets(folder))
        if not to_json:
            echo_text(secrets_as_text(figures[-1]))
    configuration = measurement.configuration()
    if into is not None:
        _write_part(into, part, as_markdown(_command(paths, plan), configuration, figures))
    if to_json:
        echo_text(as_json(configuration, figures))


def _say(report: Report, into: Path | None, part: str, *, to_json: bool) -> None:
    if into is not None:
        _write_part(into, part, report.as_markdown())
    echo_text(report.as_json() if to_json else report.as_markdown())
    if isinstance(report, NoteReport) and report.void:
        raise UsageError(f"the grades are void: {report.void}")


def _command(paths: Sequence[Path], plan: Plan) -> str:
    """The command line of a plan; of the folders their names, for where they lie is their owner's."""
    words = ["howcome eval", *(path.resolve().name for path in paths)]
    words += ["--ranking " + named(plan.ranking)] if named(plan.ranking) != named(SHIPPED) else []
    words += ["--against " + named(plan.against)] if plan.against is not None else []
    flags = {"--baseline": plan.with_baseline, "--ablation": plan.with_ablation, "--pooled": plan.is_pooled,
             "--everywhere": plan.is_everywhere, "--memories": plan.with_memories}  # fmt: skip
    return " ".join([*words, *(flag for flag, is_on in flags.items() if is_on)])


def _has_part(path: Path, part: str) -> bool:
    """Whether a document has a part already: asked before the minutes of a run, so that a problem is said first."""
    if not path.exists() and not (path.parent.is_dir() and os.access(path.parent, os.W_OK)):
        raise UsageError(f"{path}: no file can be made there")
    if path.exists() and not os.access(path, os.W_OK):
        raise UsageError(f"{path}: may not be written")
    try:
        return has_part(path.read_bytes().decode() if path.exists() else "", part)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: cannot be read as text: {error}") from error


def _write_part(path: Path, part: str, content: str) -> None:
    try:
        path.touch()  # a new document is its user's as any other file: only replacing keeps modes
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror or error}") from error

    def once() -> None:
        before = read_snapshot(path)
        mark, text = decoded(before.data or b"")
        replace_file(before, mark + with_part(text, part, content).encode())

    edit_safely(path, once)
    _progress(f"the part {part!r} of {path} is written")


def _progress(line: str) -> None:
    echo(line, err=True)
