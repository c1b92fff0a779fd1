"""Redaction under transformations: every rule's sample in every form, counted; each form has its floor."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from tests.hostile.forms import FORMS, floor_of, is_leaked, samples

from howcome.redact.redactor import RULES, Redactor

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hostile.forms import Form

REDACTOR = Redactor(b"a key for tests")
PLACEHOLDER = re.compile(r"\[redacted:[a-z0-9-]+:[0-9a-f]{8}\]")
SAMPLES = samples(
    [(rule.name, sample) for rule in RULES for sample in rule.samples], REDACTOR.redact, PLACEHOLDER
)  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_secret_is_redacted_in_every_form(form: Form, figure: Callable[[str, object], None]) -> None:
    """The share of samples of which a reader sees less than a third afterwards; the rules that fail are named."""
    leaked = [one for one in SAMPLES if is_leaked(one, form.read(REDACTOR.redact(form.write(one))))]
    share = 1 - len(leaked) / len(SAMPLES)
    rules = Counter(one.rule for one in leaked)
    figure(f"redacted {form.name}", f"{share:.3f} of {len(SAMPLES)} samples")
    assert share >= floor_of(form), f"{share:.3f}: {rules.most_common(20)}"


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_a_reader_of_a_form_sees_the_secret(form: Form) -> None:
    """The measure itself: without redaction, every value is seen in every form."""
    assert [one.rule for one in SAMPLES if not is_leaked(one, form.read(form.write(one)))] == []
