"""What is said with prompts, judged: real prompts of a set, each asked as it was then, and every line graded.

A row of `judged_prompts.jsonl` is a prompt with exchanges of earlier sessions that a reader graded: 2 helps (with the
words that help), 1 related, 0 noise. A line helps when it is of a helping exchange and holds most stems of its words,
or when a reader of the line itself says so (`grades`). What nobody judged counts as noise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from howcome.app import App
from howcome.domain.shares import NONE, Share
from howcome.domain.stored import Reminder
from howcome.errors import UsageError
from howcome.evaluate.datasets import Row, milliseconds_of, read_rows, rows_of, sets_with, write_rows
from howcome.evaluate.harness import Pool, throwaway_home
from howcome.evaluate.in_time import QUOTE_SHARE, Want, distinct, key_of, wants_of
from howcome.evaluate.ledger import Replayed, replay
from howcome.evaluate.note_run import Progress, distil_by_model, events_of, import_set
from howcome.evaluate.notes import stems
from howcome.evaluate.replay import BLOCK_TOKENS, Line, Moment, replayed
from howcome.evaluate.tables import table

Judged = Mapping[object, int]
JUDGED = ("judged_prompts", "judged prompts")
"""The file that makes a set one of these, and what is in it."""

HELPS, RELATED, NOISE = 2, 1, 0
SAME_MS, SAME_MINUTE_MS = 2_000, 60_000
"""How near a row's time of an exchange has to be: `exchange_at` is exact, `when` says the minute."""

LENGTHS = ((5, "to 5 words"), (15, "to 15 words"), (50, "to 50 words"), (10**9, "longer"))
CHORES = (
    "ok", "yes please", "continue", "thanks, commit it", "run the tests", "looks good, push it", "go ahead", "stop",
    "commit and push", "fix the typo", "run it again", "format the code", "what time is it?", "ja, mach weiter",
    "bitte committen", "danke", "lgtm", "try again", "undo that", "next",
)  # fmt: skip
"""Prompts that need no memory."""


@dataclass
class Told:
    """A line that was said with a prompt: its id for readers, what it costs, and what it was judged, if it was."""

    id: str
    line: str
    tokens: int
    grade: int | None


@dataclass
class Asked:
    """A judged prompt with what it was told."""

    prompt: str
    before: Sequence[str]
    after: Sequence[str]
    lines: Sequence[Told]
    can_help: bool
    kind: str = ""
    wants: Sequence[Want] = ()
    held_tokens: int = 0
    """What all lines cost that the window held by then."""

    @property
    def length(self) -> str:
        """How long the prompt is, in classes."""
        return next(name for most, name in LENGTHS if len(self.prompt.split()) <= most)

    @property
    def grade(self) -> int:
        """Of the block: its best line's."""
        return max((line.grade or NOISE for line in self.lines), default=NOISE)


@dataclass
class Spoken:
    """What was measured of one set.

    `foreign`: prompts of others that were answered; `chores`: chores; `repeats`: lines that their window held already;
    `ledger`: commands.
    """

    asked: list[Asked] = field(default_factory=list)
    foreign: Share = NONE
    chores: Share = NONE
    repeats: Share = NONE
    ledger: Replayed = field(default_factory=Replayed)

    def __add__(self, other: Spoken) -> Spoken:
        names = ("asked", "foreign", "chores", "repeats", "ledger")
        return Spoken(*(getattr(self, name) + getattr(other, name) for name in names))

    def figures(self) -> dict[str, Share | float]:
        """Shares of prompts (spoke), of blocks, of prompts that could be helped (coverage), of lines; tokens."""
        blocks = [one for one in self.asked if one.lines]
        lines = [line for one in blocks for line in one.lines]
        could = [one for one in self.asked if one.can_help]
        costs = [BLOCK_TOKENS + sum(line.tokens for line in one.lines) for one in blocks]
        wasted = sum(line.tokens for line in lines if not line.grade)
        return {
            "spoke": Share(len(blocks), len(self.asked)),
            "helps": Share.among(one.grade == HELPS for one in blocks),
            "related": Share.among(one.grade == RELATED for one in blocks),
            "noise": Share.among(one.grade == NOISE for one in blocks),
            "coverage": Share.among(one.grade == HELPS and bool(one.lines) for one in could),
            "unjudged": Share.among(line.grade is None for line in lines),
            "foreign": self.foreign,
            "chores": self.chores,
            "repeats": self.repeats,
            "in_time_quotes": self._in_time("quote"),
            "in_time_missing": self._in_time("missing"),
            "in_time_tokens": float(median([one.held_tokens for one in self.asked] or [0])),
            "tokens_p50": float(median(costs)) if costs else 0.0,
            "noise_tokens_per_prompt": wasted / len(self.asked) if self.asked else 0.0,
        }

    def _in_time(self, what: str) -> Share:
        """Of what was wanted the share that a line held in time: what is missing once, at most of its prompts."""
        wants = [want for one in self.asked for want in one.wants if want.what == what]
        things = distinct(wants) if what == "missing" else [[want] for want in wants]
        return Share.among(2 * sum(want.is_held for want in thing) >= len(thing) for thing in things)

    def by(self, what: str) -> dict[str, Spoken]:
        """The prompts in groups: by `kind` or by `length`."""
        groups: dict[str, Spoken] = {}
        for one in sorted(self.asked, key=lambda one: (len(one.prompt.split()), one.kind)):
            groups.setdefault(str(getattr(one, what)), Spoken()).asked.append(one)
        return groups


@dataclass(frozen=True)
class SpeakReport:
    """What was measured of each set, and of all together."""

    sets: Mapping[str, Spoken]

    def overall(self) -> Spoken:
        """All sets as one."""
        return sum(self.sets.values(), Spoken())

    def _named(self) -> Mapping[str, Spoken]:
        return self.sets if len(self.sets) < 2 else {**self.sets, "overall": self.overall()}

    def as_json(self) -> str:
        """For programs: shares and tokens by set."""
        found: dict[str, object] = {
            "speak": {
                name: {**_values(spoken.figures()), "ledger": _values(spoken.ledger.figures())}
                for name, spoken in self._named().items()
            }
        }
        for what in GROUPED_BY:
            groups = self.overall().by(what)
            found[f"speak_by_{what}"] = {name: _values(_blocks(spoken)) for name, spoken in groups.items()}
        return json.dumps(found)

    def as_markdown(self) -> str:
        """For people: a table, a column a set."""
        named = self._named()
        columns = [
            spoken.figures() | {f"ledger: {name}": figure for name, figure in spoken.ledger.figures().items()}
            for spoken in named.values()
        ]
        tables = [table(["", *named], [[name, *(shown(column[name]) for column in columns)] for name in columns[0]])]
        for what in GROUPED_BY:
            groups = self.overall().by(what).items()
            tables.append(table([what, *OF_BLOCKS], [[name, *map(shown, _blocks(of).values())] for name, of in groups]))
        return "\n\n".join(tables)

    def write_sheet(self, path: Path) -> int:
        """Writes for a reader without context: every line with its prompt, and what was wanted with each line that may
        hold it; how many.
        """  # noqa: D205 - one sentence
        asked = self.overall().asked
        rows: list[dict[str, object]] = [
            {"id": line.id, "before": one.before, "prompt": one.prompt, "after": one.after, "line": line.line}
            for one in asked
            for line in one.lines
        ]
        near = {key: (want, line) for one in asked for want in one.wants for key, line in want.near}
        rows += [{"id": key, "wanted": want.text, "line": line} for key, (want, line) in near.items()]
        path.parent.mkdir(parents=True, exist_ok=True)
        write_rows(path, rows)
        return len(rows)


def measure_speak(
    paths: Sequence[Path],
    progress: Progress,
    *,
    keep: Path | None = None,
    sheet: Path | None = None,
    grades: Sequence[Path] = (),
) -> SpeakReport:
    """Asks every judged prompt of the sets at or below some paths, as it was when it was typed.

    Imported stores stay in `keep` for the next run. The lines are written into `sheet` for a reader, and `grades` are
    what readers said of them (`{"id": …, "grade": 0 to 2}`), which counts more than where a line is from.

    Raises:
        UsageError: there are no judged prompts, or a file cannot be read.
    """
    folders = sets_with(paths, *JUDGED)
    judged = {line["id"]: _grade_of(line["grade"], path) for path in grades for line in read_rows(path, "id", "grade")}
    prompts = {folder.name: list(rows_of(folder, JUDGED[0], "session", "ts", "prompt")) for folder in folders}
    sets = {}
    for folder in folders:
        others = [row for name, rows in prompts.items() if name != folder.name for row in rows]
        sets[folder.name] = _measured(folder, prompts[folder.name], others, judged, progress, keep)
    report = SpeakReport(sets)
    if sheet is not None:
        progress(f"{sheet}: {report.write_sheet(sheet)} lines for a reader")
    return report


def _measured(
    folder: Path, prompts: Sequence[Row], others: Sequence[Row], judged: Judged, progress: Progress, keep: Path | None
) -> Spoken:
    with throwaway_home() as home:
        import_set(folder, None, home, keep, progress)
        pool = Pool(home)
        progress(f"{folder.name}: distilling")
        pool.distil()
        root = f"/{folder.name}/{folder.name}"
        with pool.open(root) as app:
            distil_by_model(app)
            app.index.finish()
            app.search.rehearse()
            progress(f"{folder.name}: asking")
            sessions: dict[str, list[Row]] = {}
            for row in prompts:
                sessions.setdefault(str(row["session"]), []).append(row)
            spoken = sum((_session(app, root, session, rows, judged) for session, rows in sessions.items()), Spoken())
            last_ms = app.events.last_ms()

            def is_answered(prompt: str) -> bool:
                return bool(app.search.recall(prompt, cwd=root, session="", recent=str, then_ms=last_ms))

            spoken.foreign = Share.among(is_answered(str(row["prompt"])) for row in others)
            spoken.chores = Share.among(map(is_answered, CHORES))
            progress(f"{folder.name}: replaying commands")
            app.index.note_commands()
            spoken.ledger = replay(app, root, events_of(app))
            for example in spoken.ledger.examples():
                progress(f"  {example}")
        return spoken


def _session(app: App, root: str, session: str, rows: Sequence[Row], judged: Judged) -> Spoken:
    """The judged prompts of a session, replayed up to the last of them; and the lines that were told twice."""
    by_time = {milliseconds_of(str(row["ts"])): row for row in rows}
    asked, last_ms = [], max(by_time)
    held: list[tuple[int, Line]] = []
    told = again = 0
    for moment in replayed(app, root, session, {ts_ms: str(row["prompt"]) for ts_ms, row in by_time.items()}):
        held = [(window, line) for window, line in held if window == moment.window]
        known = {line.text for _, line in held}
        told, again = told + len(moment.lines), again + sum(line.text in known for line in moment.lines)
        held += [(moment.window, line) for line in moment.lines]
        row = by_time.get(moment.ts_ms) if moment.prompt is not None else None
        if row is not None:
            asked.append(_asked(app, row, moment, [line for _, line in held], judged))
        if moment.ts_ms >= last_ms and moment.prompt is not None:
            break
    return Spoken(asked, repeats=Share(again, told))


def _asked(app: App, row: Row, moment: Moment, held: Sequence[Line], judged: Judged) -> Asked:
    """One prompt with its lines, and what its window held by then."""
    helpful = row["candidates"] if isinstance(row.get("candidates"), list) else []
    candidates = [one for one in helpful if isinstance(one, dict)]  # type: ignore[attr-defined]
    lines = []
    for line in moment.lines:
        key = key_of(str(row["session"]), str(row["ts"]), line.text)
        grade = _grade(app, line.reminder, line.text, candidates) if line.reminder is not None else None
        grade = judged.get(key, grade)
        lines.append(Told(key, line.head.partition("] ")[2] + line.text, line.tokens, grade))
    return Asked(
        str(row["prompt"]), moment.before, moment.after, lines,
        can_help=any(one.get("grade") == HELPS for one in candidates),
        kind=str(row.get("kind") or ""),
        wants=wants_of(row, candidates, held, judged),
        held_tokens=sum(line.tokens for line in held),
    )  # fmt: skip


def _grade(app: App, reminder: Reminder, text: str, candidates: Iterable[Mapping[str, object]]) -> int | None:
    """What a line is worth by the grade of the exchange that it is from; None: nobody graded that."""
    of = reminder.memory.evidence if reminder.memory is not None else [reminder.source.id]
    openings = [turn for event in app.events.cited(of) for turn in app.events.exchange_of(event)[:1]]
    best: int | None = None
    for one in candidates:
        near_ms = SAME_MS if "exchange_at" in one else SAME_MINUTE_MS
        at_ms = milliseconds_of(str(one.get("exchange_at") or one.get("when")))
        if not any(turn.session == one.get("session") and abs(turn.order_ms - at_ms) <= near_ms for turn in openings):
            continue
        wanted = stems(str(one.get("quote") or ""))
        holds = one.get("grade") == HELPS and wanted and len(wanted & stems(text)) >= QUOTE_SHARE * len(wanted)
        worth = HELPS if holds else RELATED if one.get("grade") == RELATED else NOISE
        if one.get("grade") == HELPS and not holds:
            continue  # of a helping exchange, in other words: a reader has to say
        best = max(best or NOISE, worth)
    return best


OF_BLOCKS = ("spoke", "helps", "related", "noise", "unjudged")
GROUPED_BY = ("kind", "length")


def _blocks(spoken: Spoken) -> dict[str, Share | float]:
    figures = spoken.figures()
    return {name: figures[name] for name in OF_BLOCKS}


def _values(figures: Mapping[str, Share | float]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, figure in figures.items():
        if isinstance(figure, Share):
            values |= {name: round(figure.value, 4), f"{name}_of": [figure.count, figure.of]}
        else:
            values[name] = round(figure, 2)
    return values


def shown(figure: Share | float) -> str:
    """A figure for people: a share with its interval and what it is of."""
    if isinstance(figure, float):
        return f"{figure:.1f}"
    low, high = figure.interval
    return f"{figure.value:.3f} [{low:.2f} {high:.2f}] {figure.count}/{figure.of}"


def _grade_of(value: object, path: Path) -> int:
    """A grade of a reader."""
    if isinstance(value, int) and NOISE <= value <= HELPS:
        return value
    raise UsageError(f"{path}: {value!r} is no grade: expected 0, 1 or 2")
