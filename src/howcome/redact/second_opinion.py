"""A second opinion on what is a secret: another scanner's rules, over what ours left. Optional, and never in a hook."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable

from howcome.errors import SettingsError

Scan = Callable[[str], list[tuple[int, int]]]
"""The places of the secrets in a text."""

PACKAGE = "kingfisher-secret-scanner"
MODULE = "kingfisher_sdk"
SECOND = "second-opinion"
"""In place of a rule's name: what another scanner found."""


def replaced(text: str, scan: Scan, marks: list[tuple[int, int]], placeholder: Callable[[str], str]) -> str:
    """A text without what another scanner finds in it; our marks look like secrets, too, and stay."""
    kept: list[str] = []
    done = 0
    for start, end in sorted(scan(text), key=lambda place: (place[0], -place[1])):
        begin = max(start, done)  # several of its rules may find the same
        if begin < end and not any(start < stop and first < end for first, stop in marks):
            kept += (text[done:begin], placeholder(text[begin:end]) if begin == start else "")
            done = end
    return "".join(kept) + text[done:]


def kingfisher(cache_folder: str) -> Scan:
    """MongoDB's Kingfisher, in this process and without a network: it validates nothing.

    Args:
        cache_folder: Where it keeps its compiled rules; making them takes some seconds, reading them one.

    Raises:
        SettingsError: its package is not there.
    """
    from howcome.redact.search import bytes_of

    try:
        sdk = importlib.import_module(MODULE)
    except ImportError as error:
        message = f"second_opinion = kingfisher needs the package {PACKAGE}: howcome[kingfisher]"
        raise SettingsError(message) from error
    os.makedirs(cache_folder, 0o700, exist_ok=True)
    rules = sdk.Rules(cache_dir=cache_folder)
    scanner = sdk.Scanner(rules, base64=False, dedup=False, redact=False)  # base64 is decoded by ours

    def scan(text: str) -> list[tuple[int, int]]:
        found = scanner.scan(bytes_of(text))  # one byte a character: its places are those of the text
        return [(place.location["start_offset"], place.location["end_offset"]) for place in found if place.visible]

    return scan
