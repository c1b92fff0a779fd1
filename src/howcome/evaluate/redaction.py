"""How many secrets are redacted, and how many clean texts are touched."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from howcome.evaluate.datasets import find, read_rows
from howcome.redact.redactor import Redactor


def evaluate_secrets(folder: Path) -> dict[str, object]:
    """The share of secrets in which something is redacted, and of clean texts in which something is (wrongly)."""
    redactor = Redactor(b"evaluation key, not a secret one")
    shares: dict[str, float] = {}
    sizes: dict[str, int] = {}
    missed: dict[str, int] = defaultdict(int)
    for name in ("secrets", "clean"):
        path = find(folder, name)
        rows = list(read_rows(path, "text")) if path else []
        touched = 0
        for row in rows:
            text = str(row["text"])
            is_touched = redactor.redact(text) != text
            touched += is_touched
            if name == "secrets" and not is_touched:
                missed[str(row.get("source", ""))] += 1
        sizes[name], shares[name] = len(rows), touched / len(rows) if rows else 0.0
    return {
        "set": folder.name, "secrets": sizes["secrets"], "clean": sizes["clean"],
        "recall": round(shares["secrets"], 4), "clean_touched": round(shares["clean"], 4), "missed": dict(missed),
    }  # fmt: skip


def as_text(figures: dict[str, object]) -> str:
    """The figures for people."""
    return (
        f"{figures['set']}: recall {figures['recall']:.3f} of {figures['secrets']} secrets,"
        f" {figures['clean_touched']:.3f} of {figures['clean']} clean texts touched; missed: {figures['missed']}"
    )
