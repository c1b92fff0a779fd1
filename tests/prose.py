"""How long the sentences of the documents are: `python -m tests.prose [--long]` prints it, and the longest with --long.

A sentence ends with a full stop, a question mark or an exclamation mark; code, tables and headings are no sentences.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import mean
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DOCUMENTS = ("README.md", "AGENTS.md", "docs/*.md")
MAX_MEAN_WORDS, MAX_MOST_WORDS, MOST = 16, 30, 0.95
MIN_WORDS = 3
_CODE = re.compile(r"```.*?```", re.DOTALL)
_BLOCK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)|\n(?=[|#])|(?<=\|)\n")
_INLINE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_END = re.compile(r"(?<=[.!?])[*_)”\"]*\s+")
_WORD = re.compile(r"[\w'\u2019-]+")


class Length(NamedTuple):
    """The sentences of a document: words of each, the longest first, with the sentence."""

    name: str
    sentences: list[tuple[int, str]]

    @property
    def mean_words(self) -> float:
        """Words of a sentence on average."""
        return mean(count for count, _ in self.sentences) if self.sentences else 0.0

    @property
    def most_words(self) -> int:
        """Words that 95 % of the sentences do not exceed."""
        return self.sentences[int((1 - MOST) * len(self.sentences))][0] if self.sentences else 0

    @property
    def is_short(self) -> bool:
        """Whether a stranger can read it."""
        return self.mean_words <= MAX_MEAN_WORDS and self.most_words <= MAX_MOST_WORDS


def sentences(markdown: str) -> list[str]:
    """The sentences of a document, on one line each."""
    found = []
    for block in _BLOCK.split(_CODE.sub("", markdown)):
        if not block.lstrip().startswith(("|", "#", "<!--")):
            text = _LINK.sub(r"\1", _INLINE.sub("code", block))
            found += _END.split(" ".join(text.split()).lstrip("-* "))
    return [sentence for sentence in found if len(_WORD.findall(sentence)) >= MIN_WORDS]


def lengths() -> list[Length]:
    """Of every document."""
    files = sorted(file for pattern in DOCUMENTS for file in ROOT.glob(pattern))
    return [
        Length(
            str(file.relative_to(ROOT)),
            sorted(((len(_WORD.findall(one)), one) for one in sentences(file.read_text("utf-8"))), reverse=True),
        )
        for file in files
    ]


def main() -> int:
    """Prints; 1 when a document is too hard to read."""
    found = lengths()
    print(f"words of a sentence: mean (at most {MAX_MEAN_WORDS}), 95 % at most ({MAX_MOST_WORDS})")
    for one in found:
        print(f"{one.mean_words:>6.1f} {one.most_words:>4}  {len(one.sentences):>4} sentences  {one.name}")
        for count, sentence in one.sentences[:10] if "--long" in sys.argv else ():
            print(f"        {count}: {sentence}")
    return int(not all(one.is_short for one in found))


if __name__ == "__main__":
    sys.exit(main())
