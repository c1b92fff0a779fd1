"""Looks for the text that takes redaction the longest: `python -m tests.hostile.slowest --seconds 300 --seed 7`.

A text is a list of pieces, repeated to a size of 64 KB: literals of rules, names of secrets, quotes, separators,
encoded bits, nested repetitions. Hill climbing: the worst text so far is changed a little, and kept where it is worse
still; now and then it begins anew. What is printed: the worst text, its milliseconds per megabyte, and what twice as
much of it takes (2 is linear, 4 is quadratic).
"""

from __future__ import annotations

import argparse
import random
import time
from typing import TYPE_CHECKING, NamedTuple

from howcome.redact.redactor import RULES, Redactor

if TYPE_CHECKING:
    from collections.abc import Iterator

SIZE = 64 << 10
STALLED = 60
"""Tries without a worse text after which it begins anew."""

SEPARATORS = (
    "=", ": ", "'", '"', '"', "`", "\\", "\\\\", '\\"', "\\n", "\n", "\r\n", "\t", " ", "  ", ",", ";", "|", "&", "?",
    "/", "://", "@", "-", "_", ".", "+", "<", ">", "{", "}", "[", "]", "(", ")", "%3D", "%20", "%25", "&quot;", "&#61;",
    "=3D",
    "=\n", "\\\n", "\x1b[31m", "\x1b[0m", "     1→", "12:", "\u200b", "\0", "é", "[redacted:", "<private>",
)  # fmt: skip
BODIES = (
    "a",
    "A1",
    "b7Qx2Lm9",
    "0123456789abcdef",
    "Zm9v",
    "eyJhbGci",
    "AKIA",
    "xX0_-",
    "=" * 8,
    "A" * 64,
    "a1B2" * 16,
)


class Text(NamedTuple):
    """Pieces, each with how often it stands there in a row; the whole is repeated to the size."""

    pieces: tuple[tuple[str, int], ...]

    def of_size(self, size: int) -> str:
        """So many characters of it."""
        once = "".join(piece * times for piece, times in self.pieces) or " "
        return (once * (size // len(once) + 1))[:size]


class Found(NamedTuple):
    """A text and the seconds that redaction takes for `SIZE` characters of it."""

    seconds: float
    text: Text

    @property
    def ms_per_megabyte(self) -> float:
        """Milliseconds for a million characters, if it were linear."""
        return self.seconds * 1000 * 1_000_000 / SIZE


def vocabulary() -> list[str]:
    """Every piece: what the rules look for, parts of their samples, and what stands between."""
    literals = [literal for rule in RULES for literal in rule.literals]
    samples = [sample[: 8 << size] for rule in RULES for sample in rule.samples[:1] for size in (0, 2)]
    return [*literals, *samples, *SEPARATORS * 3, *BODIES * 3]


class Search:
    """The climb: always from the worst text since it began anew."""

    def __init__(self, seed: int, size: int = SIZE) -> None:
        self._choice, self._words, self._size = random.Random(seed), vocabulary(), size
        self._redactor = Redactor(b"a key for tests")
        self._redactor.redact("nothing")
        self.tries = 0

    def run(self, seconds: float) -> Iterator[Found]:
        """Every text that is worse than all before it, until the time is over."""
        end, worst = time.monotonic() + seconds, Found(0.0, Text(()))
        here, stalled = worst, 0
        while time.monotonic() < end:
            text = self._new() if stalled > STALLED or not here.text.pieces else self._changed(here.text)
            if stalled > STALLED:
                here, stalled = Found(0.0, text), 0
            found = Found(self.cost(text, self._size), text)
            if found.seconds > here.seconds:  # what was slow once may have been the machine, or a first time
                found = Found(self.cost(text, self._size, 3), text)
            self.tries += 1
            stalled += 1
            if found.seconds > here.seconds:
                here, stalled = found, 0
            if found.seconds > worst.seconds:
                worst = found
                yield worst

    def cost(self, text: Text, size: int, times: int = 1) -> float:
        """Processor seconds to redact so much of a text: the least of several runs."""
        data, costs = text.of_size(size), []
        for _ in range(times):
            started = time.process_time()
            self._redactor.redact(data)
            costs.append(time.process_time() - started)
        return min(costs)

    def doubled(self, text: Text) -> float:
        """How much longer twice as much of a text takes."""
        return self.cost(text, 2 * self._size, 3) / max(self.cost(text, self._size, 3), 1e-6)

    def _piece(self) -> tuple[str, int]:
        return self._choice.choice(self._words), self._choice.choice((1, 1, 1, 1, 2, 3, 8, 30, 200, 3000))

    def _new(self) -> Text:
        return Text(tuple(self._piece() for _ in range(self._choice.randrange(1, 6))))

    def _changed(self, text: Text) -> Text:
        pieces, place = list(text.pieces), self._choice.randrange(len(text.pieces))
        how = self._choice.randrange(5)
        if how == 0 and len(pieces) > 1:
            del pieces[place]
        elif how == 1 and len(pieces) < 12:
            pieces.insert(place, self._piece())
        elif how == 2:
            pieces[place] = pieces[place][0], self._piece()[1]
        elif how == 3:
            other = self._choice.randrange(len(pieces))
            pieces[place], pieces[other] = pieces[other], pieces[place]
        else:
            pieces[place] = self._piece()
        return Text(tuple(pieces))


def shown(text: Text) -> str:
    """The pieces of a text."""
    return " ".join(f"{piece!r} x {times}" if times > 1 else repr(piece) for piece, times in text.pieces)


def described(search: Search, worst: Found) -> str:
    """The worst text in words: figures first."""
    words = shown(worst.text)
    rate = f"{worst.ms_per_megabyte:.0f} ms/MB, x {search.doubled(worst.text):.1f} when doubled"
    return f"{rate}, {search.tries} texts tried: {words[:600]}"


def main() -> None:
    """Searches for as long as it may, and says what it found."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    search, worst = Search(options.seed), None
    for worst in search.run(options.seconds):
        print(f"{worst.ms_per_megabyte:8.0f} ms/MB  {shown(worst.text)[:160]}", flush=True)
    if worst is not None:
        print(f"seed {options.seed}: {described(search, worst)}")


if __name__ == "__main__":
    main()
