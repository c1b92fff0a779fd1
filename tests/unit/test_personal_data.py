"""Personal data: what is found, what is left alone, and where it goes."""

from __future__ import annotations

import pytest

from howcome.domain.personal_data import KINDS, without_personal_data
from howcome.redact.gate import Gate
from howcome.redact.redactor import Redactor

SAMPLES = [(kind.name, sample) for kind in KINDS for sample in kind.samples]


@pytest.mark.parametrize(("kind", "sample"), SAMPLES)
def test_each_kind_is_found(kind: str, sample: str) -> None:
    """A sample of each kind goes, whatever kind it is taken for, and the words around it stay."""
    text = without_personal_data(f"please call: {sample} (today)")
    assert text.startswith("please call: ")
    assert text.endswith(" (today)")
    assert "[redacted:" in text, kind
    assert sample.rsplit(maxsplit=1)[-1] not in text


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-22 10:00:01.123456", "192.168.100.200:8080", "1234567890123456", "v4.111.1111",
        "git@github.com:a/b.git", "user@example.com", "noreply@anthropic.com", "logo@2x.png",
        "commit 4111111111111111abc",
        "0.536-22-1874",
        "postgres://app:secret@db.internal:5432/app", "port 5432 and 8080", "1700000000000", "lines 120-134, 1200-1345",
        "DE00 0000 0000 0000 0000 00", "4111 1111 1111 1112", "12345678A",
    ],
)  # fmt: skip
def test_what_only_looks_like_it_stays(text: str) -> None:
    """Times, addresses of machines, versions, examples, and numbers whose check digit is wrong."""
    assert without_personal_data(text) == text


def test_what_is_stored_keeps_it_unless_told_otherwise() -> None:
    """By setting, also in fields that look plain and in a tool's input."""
    address = "mara.lind@tidewater.dev"
    plain, strict = Gate(lambda: b"k"), Gate(lambda: b"k", personal=True)
    assert plain.text(address) == address
    assert strict.text(address) == "[redacted:email]"
    assert strict.value({"to": address, "note": "x"}) == {"to": "[redacted:email]", "note": "x"}
    assert Redactor(b"k", personal=True).redact(f"mail {address}") == "mail [redacted:email]"
