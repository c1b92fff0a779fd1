"""What is said with prompts, judged: real prompts of a set, each asked as it was then, and every line graded.

A row of `judged_prompts.jsonl` is a prompt with exchanges of earlier sessions that a reader graded: 2 helps (with the
words that help), 1 related, 0 noise. A line helps when it is of a helping exchange and holds most stems of its words,
or when a reader of the line itself says so (`grades`). What nobody judged counts as noise.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from howcome.domain import events
from howcome.domain.text import tokens
from howcome.errors import UsageError
from howcome.evaluate.datasets import find, read_rows
from howcome.evaluate.harness import Pool, throwaway_home
from howcome.evaluate.note_run import import_set
from howcome.evaluate.notes import Share, stems
from howcome.recall.bites import bite_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from howcome.app import App
    from howcome.domain.stored import Reminder

    Progress = Callable[[str], None]

HELPS, RELATED, NOISE = 2, 1, 0
QUOTE_SHARE = 0.7
SAME_MS, SAME_MINUTE_MS = 2_000, 60_000
"""How near a row's time of an exchange has to be: `exchange_at` is exact, `when` says the minute."""

BLOCK_TOKENS = 35
"""What stands around the lines of a block."""

LAST_PROMPTS = 3
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

    @property
    def grade(self) -> int:
        """Of the block: its best line's."""
        return max((line.grade or NOISE for line in self.lines), default=NOISE)


@dataclass
class Spoken:
    """What was measured of one set. `foreign`: prompts of others that were answered; `chores`: chores."""

    asked: list[Asked] = field(default_factory=list)
    foreign: Share = field(default_factory=lambda: Share(0, 0))
    chores: Share = field(default_factory=lambda: Share(0, 0))

    def figures(self) -> dict[str, Share | float]:
        """Shares of prompts (spoke), of blocks, of prompts that could be helped (coverage), of lines; tokens."""
        blocks = [one for one in self.asked if one.lines]
        lines = [line for one in blocks for line in one.lines]
        could = [one for one in self.asked if one.can_help]
        costs = [BLOCK_TOKENS + sum(line.tokens for line in one.lines) for one in blocks]
        wasted = sum(line.tokens for line in lines if not line.grade)
        return {
            "spoke": Share(len(blocks), len(self.asked)),
            "helps": Share(sum(one.grade == HELPS for one in blocks), len(blocks)),
            "related": Share(sum(one.grade == RELATED for one in blocks), len(blocks)),
            "noise": Share(sum(one.grade == NOISE for one in blocks), len(blocks)),
            "coverage": Share(sum(one.grade == HELPS and bool(one.lines) for one in could), len(could)),
            "unjudged": Share(sum(line.grade is None for line in lines), len(lines)),
            "foreign": self.foreign,
            "chores": self.chores,
            "tokens_p50": float(median(costs)) if costs else 0.0,
            "noise_tokens_per_prompt": wasted / len(self.asked) if self.asked else 0.0,
        }


@dataclass(frozen=True)
class SpeakReport:
    """What was measured of each set, and of all together."""

    sets: Mapping[str, Spoken]
    void: str = ""

    def overall(self) -> Spoken:
        """All sets as one."""
        every = list(self.sets.values())
        foreign, chores = (
            Share(sum(share.count for share in shares), sum(share.of for share in shares))
            for shares in ([one.foreign for one in every], [one.chores for one in every])
        )
        return Spoken([asked for one in every for asked in one.asked], foreign, chores)

    def as_json(self) -> str:
        """For programs: shares and tokens by set."""
        named = {**self.sets, **({"overall": self.overall()} if len(self.sets) > 1 else {})}
        return json.dumps({"speak": {name: _values(spoken.figures()) for name, spoken in named.items()}})

    def as_markdown(self) -> str:
        """For people: a table, a column a set."""
        named = {**self.sets, **({"overall": self.overall()} if len(self.sets) > 1 else {})}
        columns = [spoken.figures() for spoken in named.values()]
        rows = [f"| | {' | '.join(named)} |", "|---" * (len(named) + 1) + "|"]
        rows += [f"| {name} | {' | '.join(_shown(column[name]) for column in columns)} |" for name in columns[0]]
        return "\n".join(rows)

    def write_sheet(self, path: Path) -> int:
        """Writes every line with its prompt, for a reader without context; how many."""
        rows = [
            {"id": line.id, "before": one.before, "prompt": one.prompt, "after": one.after, "line": line.line}
            for spoken in self.sets.values()
            for one in spoken.asked
            for line in one.lines
        ]
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
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

    Args:
        paths: Folders with sets.
        progress: Is told what is done.
        keep: Where imported stores stay for the next run.
        sheet: Where the lines are written for a reader; what he says counts more than where a line is from.
        grades: What readers said of such lines: `{"id": …, "grade": 0 to 2}`.

    Raises:
        UsageError: there are no judged prompts, or a file cannot be read.
    """
    folders = speak_sets(paths)
    judged = {line["id"]: _grade_of(line["grade"], path) for path in grades for line in read_rows(path, "id", "grade")}
    prompts = {folder.name: list(read_rows(prompts_of(folder), "session", "ts", "prompt")) for folder in folders}
    sets = {}
    for folder in folders:
        others = [row for name, rows in prompts.items() if name != folder.name for row in rows]
        sets[folder.name] = _measured(folder, prompts[folder.name], others, judged, progress, keep)
    report = SpeakReport(sets)
    if sheet is not None:
        progress(f"{sheet}: {report.write_sheet(sheet)} lines for a reader")
    return report


def speak_sets(paths: Sequence[Path]) -> list[Path]:
    """The sets with judged prompts at or below some paths.

    Raises:
        UsageError: there are none.
    """
    folders = [folder for path in paths for folder in (path, *sorted(path.rglob("*"))) if _is_set(folder)]
    if not folders:
        raise UsageError(f"{paths[0]}: no judged prompts here: expected judged_prompts.jsonl with transcripts/")
    return folders


def _measured(
    folder: Path,
    prompts: Sequence[Mapping[str, object]],
    others: Sequence[Mapping[str, object]],
    judged: Mapping[object, int],
    progress: Progress,
    keep: Path | None,
) -> Spoken:
    with throwaway_home() as home:
        import_set(folder, None, home, keep, progress)
        pool = Pool(home)
        progress(f"{folder.name}: distilling")
        pool.distil()
        root = f"/{folder.name}/{folder.name}"
        with pool.open(root) as app:
            app.index.finish()
            progress(f"{folder.name}: asking")
            asked = [_asked(app, root, row, judged) for row in prompts]
            last_ms = app.events.last_ms()

            def is_answered(prompt: str) -> bool:
                return bool(app.search.recall(prompt, cwd=root, session="", recent=str, then_ms=last_ms))

            foreign = [is_answered(str(row["prompt"])) for row in others]
            chores = [is_answered(prompt) for prompt in CHORES]
        return Spoken(asked, Share(sum(foreign), len(foreign)), Share(sum(chores), len(chores)))


def _asked(app: App, root: str, row: Mapping[str, object], judged: Mapping[object, int]) -> Asked:
    """One prompt, as it was then."""
    prompt, then_ms = str(row["prompt"]), milliseconds_of(str(row["ts"]))
    whole = app.events.session(app.events.session_named(str(row["session"]))[0], with_text=True)
    said = [turn for turn in whole if turn.kind in events.TURN_KINDS and turn.agent_id is None]
    texts = [("user: " if turn.kind == events.USER_PROMPT else "agent: ") + (turn.text or "") for turn in said]
    place = next((at for at, turn in enumerate(said) if turn.order_ms >= then_ms), len(said))
    before = [text for text in texts[:place] if text.startswith("user: ")][-LAST_PROMPTS:]
    before += [text for text in texts[:place] if text.startswith("agent: ")][-1:]
    found = app.search.recall(
        prompt, cwd=root, session=str(row["session"]), recent=lambda: "\n".join(before), then_ms=then_ms
    )
    helpful = row["candidates"] if isinstance(row.get("candidates"), list) else []
    candidates = [one for one in helpful if isinstance(one, dict)]  # type: ignore[attr-defined]
    lines = []
    for reminder, (head, text) in zip(found, bite_lines(found, then_ms), strict=True):
        key = blake2b(f"{row['session']}\0{row['ts']}\0{text}".encode(), digest_size=8).hexdigest()
        grade = judged.get(key, _grade(app, reminder, text, candidates))
        lines.append(Told(key, head.partition("] ")[2] + text, tokens(head + text), grade))
    can_help = any(one.get("grade") == HELPS for one in candidates)
    return Asked(prompt, before, texts[place + 1 : place + 11], lines, can_help)


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


def _values(figures: Mapping[str, Share | float]) -> dict[str, object]:
    values: dict[str, object] = {}
    for name, figure in figures.items():
        if isinstance(figure, Share):
            values |= {name: round(figure.value, 4), f"{name}_of": [figure.count, figure.of]}
        else:
            values[name] = round(figure, 2)
    return values


def _shown(figure: Share | float) -> str:
    if isinstance(figure, float):
        return f"{figure:.1f}"
    low, high = figure.interval
    return f"{figure.value:.3f} [{low:.2f} {high:.2f}] {figure.count}/{figure.of}"


def _is_set(folder: Path) -> bool:
    return folder.is_dir() and find(folder, "judged_prompts") is not None and (folder / "transcripts").is_dir()


def prompts_of(folder: Path) -> Path:
    """The judged prompts of a set.

    Raises:
        UsageError: there are none.
    """
    path = find(folder, "judged_prompts")
    if path is None:
        raise UsageError(f"{folder}: no judged_prompts.jsonl")
    return path


def _grade_of(value: object, path: Path) -> int:
    """A grade of a reader.

    Raises:
        UsageError: it is none.
    """
    if isinstance(value, int) and NOISE <= value <= HELPS:
        return value
    raise UsageError(f"{path}: {value!r} is no grade: expected 0, 1 or 2")


def milliseconds_of(moment: str) -> int:
    """UTC milliseconds of a moment as ISO 8601 has it; one without a zone is UTC.

    Raises:
        UsageError: it is no such moment.
    """
    try:
        found = datetime.fromisoformat(moment)
        return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1000)
    except ValueError as error:
        raise UsageError(f"{moment!r} is no time: expected 2026-10-01T12:00:00Z") from error
