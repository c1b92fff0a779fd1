"""Search: questions made of the corpus' own words (some misspelt, turned around, long), in process and as a process."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING

from howcome.app import open_app
from howcome.domain.stored import Scope
from howcome.retrieve.question import Question
from howcome.settings import read_settings
from timing import base_command, middle, share

if TYPE_CHECKING:
    from bench import Bench

QUESTIONS = 300
P95_MS = 15
_WORD = re.compile(r"[\w./-]{3,40}")
_FILLERS = ("how did we", "why does", "what was the", "where is", "did we ever fix", "the problem with")
_KINDS = ("words", "words", "words", "words", "typo", "typo", "turned around", "long", "one name", "unknown")


def questions(said: list[tuple[str, str, str]], count: int, seed: int) -> list[tuple[str, str]]:
    """(kind, text) of questions about what was said; the same for the same seed."""
    source = random.Random(f"{seed} questions")
    texts = [text for _, _, text in said if len(_WORD.findall(text)) >= 12]
    return [
        (kind, _question(kind, source.choice(texts), source))
        for kind in (_KINDS[n % len(_KINDS)] for n in range(count))
    ]


def _question(kind: str, text: str, source: random.Random) -> str:
    words = _WORD.findall(text)
    few = source.sample(words, min(len(words), source.randint(3, 6)))
    if kind == "typo":
        return " ".join(misspell(word, source) for word in few)
    if kind == "turned around":
        return f"{source.choice(_FILLERS)} {' '.join(reversed(few))}?"
    if kind == "long":
        return text[:4000]
    if kind == "one name":
        return max(words, key=len)
    if kind == "unknown":
        return " ".join("".join(source.choices("bcdfghjklmnprstvwaeiou", k=9)) for _ in range(4))
    return " ".join(few)


def misspell(word: str, source: random.Random) -> str:
    """A word with two of its letters swapped; short ones as they are."""
    if len(word) < 6:
        return word
    place = source.randrange(1, len(word) - 2)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def run(bench: Bench) -> None:
    """Section `search`."""
    asked = questions(bench.said, QUESTIONS, bench.options.seed)
    _in_process(bench, "corpus", bench.store, asked)
    _as_process(bench)
    if {"hooks", "stop", "memory"} & set(bench.options.sections) or bench.options.full:
        _in_process(bench, "100,000 events", bench.big, asked)


def _in_process(bench: Bench, name: str, home: str, asked: list[tuple[str, str]]) -> None:
    times: dict[str, list[float]] = {}
    empty = 0
    with open_app(read_settings({"HOWCOME_HOME": home})) as app:
        for _, text in asked[:10]:
            app.search.find(Question(text, Scope.everything(), limit=10))
        for kind, text in asked:
            started = time.perf_counter()
            found = app.search.find(Question(text, Scope.everything(), limit=10))
            times.setdefault(kind, []).append((time.perf_counter() - started) * 1000)
            empty += not found and kind != "unknown"
    figure, everything = bench.report.figure, [value for values in times.values() for value in values]
    figure(f"{name}: median of {len(asked)} questions", middle(everything), "ms")
    figure(f"{name}: 95 of 100 within", share(everything, 0.95), "ms", most=P95_MS)
    figure(f"{name}: slowest", max(everything), "ms")
    for kind in dict.fromkeys(_KINDS):
        figure(f"{name}: median, {kind}", middle(times[kind]), "ms")
    figure(f"{name}: questions without an answer", empty)


def _as_process(bench: Bench) -> None:
    env, base, search = bench.env(bench.store), [], []
    for _, text in questions(bench.said, 15, bench.options.seed + 1):
        base.append(bench.watch.run(base_command(), env)[0])
        search.append(bench.watch.run([*bench.command, "search", "--all-projects", "--", text[:500]], env)[0])
    bench.report.figure(
        "`howcome search` as a process", middle(search) / middle(base), "x base", note=f"(base {middle(base):.1f} ms)"
    )
