"""Another scanner's rules beside ours: only where its user wants it, and only at import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import Claude, write
from tests.processes import ask, run

from howcome.redact.redactor import Redactor

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

KEY = b"a key for tests"


def test_what_it_finds_is_replaced_and_our_marks_stay() -> None:
    """Places are those of the text, whatever stands before them; what overlaps a placeholder is left."""
    redactor = Redactor(KEY)
    redactor.ask_too(
        lambda text: [(at, at + 9) for at in range(len(text)) if text.startswith(("swordfish", "[redacted"), at)]
    )
    text = redactor.redact("\u00e9 the swordfish is in [redacted:token:01234567] \U0001f41f swordfish")
    mark = text[6:40]
    assert mark.startswith("[redacted:second-opinion:")
    assert text == f"\u00e9 the {mark} is in [redacted:token:01234567] \U0001f41f {mark}"
    value = redactor.redact_value({"command": "echo swordfish", "b": ["a swordfish", "an eel, that is all"]})
    assert value == {"command": f"echo {mark}", "b": [f"a {mark}", "an eel, that is all"]}


def test_places_that_overlap_are_one() -> None:
    """Two of its rules may find the same; what stands behind stays."""
    redactor = Redactor(KEY)
    redactor.ask_too(lambda text: [(4, 14), (4, 14), (8, 18)] if text.startswith("key=") else [])
    text = redactor.redact("key=abcdefghijklmn and what stays")
    assert text.startswith("key=[redacted:second-opinion:")
    assert text.endswith("] and what stays")


def test_it_looks_at_what_is_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A form that ours leave and Kingfisher knows; nothing of it is stored, and doctor says that it looks."""
    monkeypatch.setenv("HOWCOME_SECOND_OPINION", "kingfisher")
    key = "DdaBBc53d4D3EE5fbF3D617B66a77f1C.rOAmvoKUdC0cB11W"  # a form that ours do not know
    write(tmp_path / "transcripts" / "one.jsonl", Claude("one").user(f"it begins with {key} and so on"))
    ask("import", tmp_path / "transcripts")
    [found] = ask("search", "--all-projects", "begins")["results"]
    assert key not in found["excerpt"]
    assert "[redacted:second-opinion:" in found["excerpt"]
    assert "Kingfisher looks at what is imported, too" in run("doctor").stdout


def test_without_its_package_an_import_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is stored that it should have looked at."""
    monkeypatch.setenv("HOWCOME_SECOND_OPINION", "kingfisher")
    (tmp_path / "kingfisher_sdk.py").write_text("raise ImportError('no wheel for this machine')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    write(tmp_path / "transcripts" / "one.jsonl", *Claude("one").conversation(1))
    done = run("import", tmp_path / "transcripts")
    assert done.returncode == 1
    assert "howcome[kingfisher]" in done.stderr
    monkeypatch.setenv("HOWCOME_SECOND_OPINION", "off")
    assert ask("search", "--all-projects", "the")["results"] == []
