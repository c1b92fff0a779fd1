"""Redaction of the corpus' strings with either engine, what its set-up costs, and lines made to be slow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import corpus
from howcome.redact.redactor import Redactor

if TYPE_CHECKING:
    from bench import Bench

KEY = b"benchmark" * 3
CHARS = {"re2": 30_000_000, "re": 8_000_000}
ADVERSARIAL_S = 5
_MEGABYTE = 1_000_000
ADVERSARIAL = {
    "one letter": "a",
    "upper case and digits": "A1B2C3D4",
    "base64 with no end": "aGVsbG8gd29ybGQ/+",
    "password=": "password=",
    'token: "': 'token: "',
    "eyJ headers": "eyJhbGciOiJIUzI1NiJ9.",
    "scheme and user": "https://user:",
    "PEM headers": "-----BEGIN PRIVATE KEY-----",
    "backslashes and quotes": '\\"',
    "unclosed private tags": "<private>",
    "blanks": " ",
    "key prefixes": "sk-ghp_AKIAxoxb-",
}


def run(bench: Bench) -> None:
    """Section `secrets`."""
    texts = corpus.strings(bench.files, max(CHARS.values()))
    for engine, limit in CHARS.items():
        started = time.perf_counter()
        redactor = Redactor(KEY, engine=engine)
        redactor.redact("nothing to find here")
        setup = time.perf_counter() - started
        part, size = [], 0
        for text in texts:
            part.append(text)
            size += len(text.encode("utf-8", "replace"))
            if size > limit:
                break
        started = time.process_time()
        changed = sum(redactor.redact(text) != text for text in part)
        seconds = time.process_time() - started
        name = f"with {engine}" if engine == "re2" else "without re2"
        bench.report.figure(f"{name}: set-up", setup * 1000, "ms")
        bench.report.figure(f"{name}: {len(part)} strings, by processor time", size / 1e6 / seconds, "MB/s")
        bench.report.figure(f"{name}: strings with a secret", changed)
        _adversarial(bench, name, redactor)


def _adversarial(bench: Bench, name: str, redactor: Redactor) -> None:
    times = {}
    for what, piece in ADVERSARIAL.items():
        text = piece * (_MEGABYTE // len(piece))
        started = time.process_time()
        redactor.redact(text)
        times[what] = time.process_time() - started
    worst = max(times, key=lambda what: times[what])
    bench.report.figure(f"{name}: worst line of 1 MB ({worst})", times[worst], "s", most=ADVERSARIAL_S)
