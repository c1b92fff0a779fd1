"""How many secrets are gone, by what kind of secret they are: `python benchmarks/secret_classes.py FOLDER [LABELS]`.

FOLDER holds secrets.jsonl and clean.jsonl (rows with a `text`; .gz as well). LABELS says by a text's hash where its
secrets stand and of which class they are; `secret_labels.json` beside this file was made by reading. Strictly: a secret
counts as gone when no more than two of its characters are left. A text that comes twice counts once.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections import Counter
from pathlib import Path

from howcome.evaluate.datasets import find, read_rows
from howcome.redact.redactor import Redactor

LEFT_CHARS = 2
"""What may stay of a secret of more than twelve characters."""


def texts_of(folder: Path, name: str) -> dict[str, str]:
    """The texts of a set by their hashes."""
    path = find(folder, name)
    texts = [str(row["text"]) for row in read_rows(path, "text")] if path else []
    return {hashlib.blake2b(text.encode(), digest_size=8).hexdigest(): text for text in texts}


def is_gone(redactor: Redactor, text: str, start: int, end: int) -> bool:
    """Whether the characters between two places are redacted."""
    covered = sum(max(0, min(f.end, end) - max(f.start, start)) for f in redactor.scan(text))
    return covered >= end - start - (LEFT_CHARS if end - start > 12 else 0)


def main() -> None:
    """Print the share of each class."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path, nargs="?", default=Path(__file__).with_name("secret_labels.json"))
    parser.add_argument("--missed", action="store_true", help="print the numbers of the texts whose secrets stay")
    options = parser.parse_args()
    labels = json.loads(options.labels.read_text())
    redactor = Redactor(b"to measure with")
    counts: Counter[tuple[str, bool]] = Counter()
    for digest, text in texts_of(options.folder, "secrets").items():
        for kind, start, end in labels["secrets"].get(digest, []):
            gone = is_gone(redactor, text, start, end) if end else redactor.redact(text) != text
            counts[kind, gone] += 1
            if options.missed and not gone and end:
                print(f"{digest} {kind}")
    for digest, text in texts_of(options.folder, "clean").items():
        counts[f"clean text, {labels['clean'].get(digest, 'without a label')}", redactor.redact(text) != text] += 1
    for kind in dict.fromkeys(kind for kind, _ in sorted(counts)):
        gone, left = counts[kind, True], counts[kind, False]
        print(f"{kind:28} {gone:4} of {gone + left:4} redacted  {gone / (gone + left):.3f}")


if __name__ == "__main__":
    main()
