"""Questions about the past, by what a search shows of them: does the answer stand in its rows, nothing for nonsense.

A row of the questions' file is `{"question": …, "session": …, "quotes": […], "kind": …}`: any of the quotes answers.
One without quotes is a question that nothing answers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from howcome.app import App
from howcome.domain.answering import cut
from howcome.domain.query import plain_words
from howcome.domain.shares import Share
from howcome.domain.stored import Found, Scope
from howcome.errors import UsageError
from howcome.evaluate.datasets import Row, kind_of, read_rows
from howcome.evaluate.harness import Pool, events_behind, throwaway_home
from howcome.evaluate.note_run import Progress, import_set
from howcome.evaluate.notes import stems
from howcome.evaluate.tables import table
from howcome.retrieve.question import Question

SHOWN, QUOTE_SHARE, HALF = 3, 0.7, 0.5
"""The rows that somebody looks at; a row that shows so many of a quote's stems shows the answer."""

NEW_SESSION = "asks"

LATER_MS = 21 * 24 * 3600 * 1000
"""Questions are asked three weeks after the newest event."""

INDEX_CHARS = 80
"""Of a row an agent's index of hits shows so much."""


@dataclass(frozen=True)
class AnswerReport:
    """What was measured, by kind of question: by name of a figure, of how many questions it holds."""

    kinds: Mapping[str, Mapping[str, Share]]

    def as_json(self) -> str:
        """For programs."""
        found = {
            kind: {name: {"share": round(share.value, 4), "of": share.of} for name, share in shares.items()}
            for kind, shares in self.kinds.items()
        }
        return json.dumps({"answers": found}, ensure_ascii=False)

    def as_markdown(self) -> str:
        """For people: a table, a row a kind."""
        names = list(dict.fromkeys(name for shares in self.kinds.values() for name in shares))
        rows = []
        for kind, shares in self.kinds.items():
            cells = [f"{shares[name].value:.2f}" if name in shares else "" for name in names]
            rows.append([f"{kind} ({next(iter(shares.values())).of})", *cells])
        return table(["questions", *(name.replace("_", " ") for name in names)], rows)


def measure_answers(folder: Path, questions: Path, progress: Progress, *, keep: Path | None = None) -> AnswerReport:
    """Asks the questions of a file of a set, in a store that holds it, distilled, and embedded where a model is.

    Each is asked of the search, and as the first prompt of a new session.

    Raises:
        UsageError: the set or the file cannot be read.
    """
    if not (folder / "transcripts").is_dir() and kind_of(folder) is None:
        raise UsageError(f"{folder}: no transcripts/ here, and no sessions.jsonl with questions.jsonl")
    rows = list(read_rows(questions, "question"))
    with throwaway_home() as home:
        import_set(folder, None, home, keep, progress)
        pool = Pool(home)
        progress(f"{folder.name}: distilling")
        pool.distil()
        with pool.open(f"/{folder.name}/{folder.name}") as app:
            app.index.finish()
            progress(f"{folder.name}: embedding what was said")
            app.index.embed()
            return AnswerReport(_asked(app, rows, f"/{folder.name}/{folder.name}"))


def _asked(app: App, rows: Sequence[Row], cwd: str) -> dict[str, dict[str, Share]]:
    now_ms, kinds = app.events.last_ms() + LATER_MS, dict[str, list[dict[str, bool]]]()
    for row in rows:
        named = row.get("quotes")
        quotes = [str(quote) for quote in named] if isinstance(named, list) else []
        asked = Question(str(row["question"]), Scope.everything(), before_ms=now_ms, with_near=True)
        found = app.search.find(asked)
        is_sure = bool(found) and not found[0].is_near
        session, kind = str(row.get("session") or ""), str(row.get("kind") or ("asked" if quotes else "nonsense"))
        recalled = app.search.recall(str(row["question"]), cwd=cwd, session=NEW_SESSION, recent=str, then_ms=now_ms)
        block = "\n".join(text for one in recalled for _, text in one.passages)
        held = {"sure": is_sure, **_figures(app, found[:SHOWN], quotes, session)} if quotes else _of_nonsense(found)
        held["session_told"] = bool(recalled)
        if quotes:
            held["block_answers"] = _shows(block, quotes, QUOTE_SHARE)
            held["block_says_half"] = _shows(block, quotes, HALF)
        kinds.setdefault(kind, []).append(held)
    names = {kind: dict.fromkeys(name for one in held for name in one) for kind, held in kinds.items()}
    return {
        kind: {name: Share.among(one[name] for one in held if name in one) for name in names[kind]}
        for kind, held in kinds.items()
    }


def _figures(app: App, found: Sequence[Found], quotes: Sequence[str], session: str) -> dict[str, bool]:
    phrases = [plain_words(quote) for quote in quotes]
    shown = ["\n".join([item.passage, item.prompt, *(text for _, text in item.around)]) for item in found]
    told = [_shows(text, quotes, QUOTE_SHARE) for text in shown]
    brief = [_shows(cut(item.passage, INDEX_CHARS), quotes, QUOTE_SHARE) for item in found]
    right = [_is_right(app, item, phrases, session) for item in found]
    return {
        "answer_in_first_row": any(told[:1]), "in_three": any(told), "first_row_right": any(right[:1]),
        "right_in_three": any(right), "index_line_in_three": any(brief),
    }  # fmt: skip


def _of_nonsense(found: Sequence[Found]) -> dict[str, bool]:
    return {"nothing_found": not found or found[0].is_near, "nothing_near": not found}


def _shows(text: str, quotes: Sequence[str], share: float) -> bool:
    shown = stems(text)
    return any(len(stem & shown) >= share * len(stem) for stem in map(stems, quotes))


def _is_right(app: App, item: Found, phrases: Sequence[str], session: str) -> bool:
    """Whether a row is of an exchange in which the answer was said."""
    exchanges = (app.events.exchange_of(one) for one in events_behind(app, item) if one.session.startswith(session))
    said = (plain_words(one.text or "") for exchange in exchanges for one in app.events.with_texts(exchange))
    return any(phrase in text for text in said for phrase in phrases)
