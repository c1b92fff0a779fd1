"""Planted secrets reach no byte of the store, its index or its logs, however they come in."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest
from tests.builders import Claude, Codex, write
from tests.processes import hook, payload, run

from recollect.app import open_app
from recollect.ingest.secrets import RULES, Redactor
from recollect.settings import read_settings

if TYPE_CHECKING:
    from pathlib import Path

REDACTOR = Redactor(b"only to find where the values are")
SAMPLES = [(rule.name, sample) for rule in RULES for sample in rule.samples]


def values_of(sample: str) -> set[str]:
    """The secret values in a sample."""
    return {sample[finding.start : finding.end] for finding in REDACTOR.scan(sample)}


def planted(folder: Path) -> list[Path]:
    """Transcripts with every sample: in prompts, answers, thoughts, tool inputs and results, bare and escaped."""
    claude, codex = Claude(), Codex()
    records = [claude.user("where do we start?")]
    lines = [codex.meta()]
    for number, (name, sample) in enumerate(SAMPLES):
        escaped = json.dumps({"log": json.dumps({"line": sample})})
        records += [
            claude.user(f"use this:\n{sample}\nplease"), claude.text(f"{name}:\n{sample}"), claude.thinking(sample),
            claude.call("Write", f"toolu_{number}", file_path=f"/home/mara/{number}.env", content=f"{sample}\n"),
            claude.result(f"toolu_{number}", f"{sample}\n\nand again:\n{sample}"),
            claude.call("Bash", f"toolu_b{number}", command=f"echo\n{sample}", env={"nested": [sample]}),
            claude.result(f"toolu_b{number}", [{"type": "text", "text": sample}], is_error=True),
        ]  # fmt: skip
        lines += [codex.message("user", sample), codex.output(f"call_{number}", json.dumps({"output": sample}))]
        assert escaped.isprintable()
    return [write(folder / "claude.jsonl", *records), write(folder / "rollout-1.jsonl", *lines)]


@pytest.fixture
def guarded(tmp_path: Path, store_folder: Path) -> Path:
    """A store that has read all of it, by import and by hooks."""
    paths = planted(tmp_path)
    assert run("import", *paths).returncode == 0
    prompt = "use this: " + SAMPLES[0][1]
    hook("UserPromptSubmit", payload("UserPromptSubmit", paths[0], "other", prompt=prompt, cwd=Claude().cwd))
    hook("Stop", payload("Stop", paths[0], "other", last_assistant_message=SAMPLES[1][1]))
    return store_folder


def test_no_byte_of_the_store_holds_a_planted_secret(guarded: Path) -> None:
    """Neither the database, its log, the index nor the hooks' log."""
    data = b"".join(path.read_bytes() for path in sorted(guarded.rglob("*")) if path.is_file())
    found = {
        name for name, sample in SAMPLES for value in values_of(sample) if len(value) > 5 and value.encode() in data
    }
    assert found == set()


def test_no_text_that_can_be_shown_or_searched_holds_one(guarded: Path) -> None:
    """Packed payloads and search texts hold none either."""
    with open_app(read_settings({**os.environ, "RECOLLECT_HOME": str(guarded)})) as app:
        rows = range(1, app.store.last_row() + 1)
        events = app.store.events_by_row(rows, with_text=True).values()
        texts = "\n".join(part or "" for event in events for part in (event.text, event.excerpt, event.file))
        texts += "\n".join(app.store.search_texts(rows).values())  # type: ignore[attr-defined]
    assert len(events) > len(SAMPLES)
    found = {name for name, sample in SAMPLES for value in values_of(sample) if value in texts and len(value) > 5}
    assert found == set()
