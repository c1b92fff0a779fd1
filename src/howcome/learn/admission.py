"""What may become a memory, whoever distilled it: no secrets, nothing that hides one, neither scrap nor document."""

from __future__ import annotations

from howcome.domain.candidates import MAX_TEXT_CHARS, MIN_TEXT_CHARS, SECRET, TOO_LONG, TOO_SHORT, Candidate
from howcome.redact.redactor import Redactor

REDACTED, PRIVATE = "[redacted", "[private]"


def admit(candidate: Candidate, redactor: Redactor) -> str:
    """Why a candidate is not kept, one of `candidates.REASONS`; "" when it may be.

    What it was made from is redacted already. It is looked through again, because a rewording can put together what no
    rule saw apart, and a model can say what it should not know; and what had a secret in it says nothing without it.
    """
    whole = f"{candidate.text}\n{candidate.subject}"  # looked through at once
    if REDACTED in whole.casefold() or PRIVATE in whole.casefold() or redactor.redact(whole) != whole:
        return SECRET
    length = len(candidate.text.strip())
    if length < MIN_TEXT_CHARS:
        return TOO_SHORT
    return TOO_LONG if length > MAX_TEXT_CHARS else ""
