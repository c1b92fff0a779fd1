"""What a user's words order for good, whatever is asked next: told by lists of words (`domain/words`).

A wrong rule costs more than a missing one. So only a few forms count, and what asks, quotes or reports orders nothing.
"""

from __future__ import annotations

import re
from itertools import pairwise

from howcome.domain import words
from howcome.domain.sentences import sentences

MAX_RULE_WORDS, MAX_FORM_WORDS = 30, 25
"""A longer sentence tells a story. The second is for sentences that do not begin with the order."""

MAX_LABEL_WORDS = 3
"""What introduces a rule in more words reports it: "The guide of the vendor says: …"."""

_MARKS = " .,;:!\u2026"

_TELLS = re.compile(r"\b(?:always|never) (?:\w*[^s\W]s|\w+ed|null|empty|undefined|zero|nil|none)\b", re.IGNORECASE)
"""English words that tell what a thing does: "always returns 404", "never called"."""


def ordered(said: str, most_chars: int) -> str:
    """The sentence of a user's words that is a rule, with those around it that fit; "": none is, or it does not fit.

    Args:
        said: The user's own words.
        most_chars: What fits.
    """
    is_likely = "?" not in said and any(words.has(said, name) for name in ("rules", "orders", "norms"))
    if not is_likely or words.has(said, "states") or _TELLS.search(said):
        return ""
    found = sentences(said, is_typed=True)
    told = [one.labelled for one in found]
    first = next((place for place, text in enumerate(told) if _is_rule(text)), None)
    is_document = any(one.heading or one.block for one in found)
    is_taken_back = any(_takes_back(text) for text in told[(first or 0) + 1 :])
    if first is None or is_document or is_taken_back or any(_reports(text) for text in told[: first + 1]):
        return ""
    return _fitting(told, first, most_chars)


def _fitting(told: list[str], first: int, most_chars: int) -> str:
    """A sentence with the whole ones after and before it that fit; "" if one that it hangs together with does not."""
    start, end = first, first + 1
    while end < len(told) and len(" ".join(told[start : end + 1])) <= most_chars:
        end += 1
    while start and len(" ".join(told[start - 1 : end])) <= most_chars:  # it may name what the rule is about
        start -= 1
    is_cut_before = start == first > 0 and words.opens(told[first], "dangles")
    is_cut_after = end < len(told) and words.opens(told[end], "dangles")
    line = " ".join(told[start:end])
    return "" if is_cut_before or is_cut_after or len(line) > most_chars else line


def _takes_back(text: str) -> bool:
    """Whether a sentence after the order takes it back: "scratch that", "actually no, …"."""
    return any(words.opens(text, name) for name in ("undoes", "retracts", "rejects"))


def _reports(text: str) -> bool:
    """Whether a sentence introduces what follows its colon as something that others say, or that does not hold."""
    label, colon, _ = text.partition(": ")
    if not colon or _begins(label) or words.has(label, "rules"):
        return False
    denied = any(words.has(label, name) for name in ("denies", "retracts", "rejects"))
    return denied or words.count(label) > MAX_LABEL_WORDS


def _is_rule(text: str) -> bool:
    """Whether a sentence says that it holds: it begins or ends so ("never …", "names as keys, always")."""
    count = words.count(text)
    if count > MAX_RULE_WORDS or words.has(text, "fades"):
        return False
    label, _, rest = text.partition(": ")
    if _begins(text) or (rest and _begins(rest) and words.count(label) <= MAX_LABEL_WORDS) or words.has(text, "rules"):
        return True
    if count > MAX_FORM_WORDS or words.has(text, "guesses") or words.opens(text, "open"):
        return False
    clauses = [clause for part in text.replace("; ", ", ").split(", ") if (clause := part.strip(_MARKS))]
    return _ends(clauses) or _pleads(clauses) or any(_is_norm(one) for one in clauses)


def _begins(text: str) -> bool:
    """Whether a sentence begins with an order after a mere no: "no no, never …", but not "never mind"."""
    first, _, rest = text.partition(", ")
    while rest and not words.rest_of(first, "rejects").strip(_MARKS):
        text = rest
        first, _, rest = text.partition(", ")
    return words.opens(text, "orders") and not words.opens(text, "dangles")


def _ends(clauses: list[str]) -> bool:
    """Whether the last clause is the order alone; "it crashes, always" tells of something."""
    is_order = len(clauses) > 1 and not words.rest_of(clauses[-1], "orders").strip(_MARKS)
    return is_order and not words.opens(clauses[0], "points")


def _pleads(clauses: list[str]) -> bool:
    """Whether an order follows what was asked for: "in its own commit please, never …"."""
    return any(
        words.opens(last, "orders") and words.opens(asked.rsplit(maxsplit=1)[-1], "requests")
        for asked, last in pairwise(clauses)
    )


def _is_norm(clause: str) -> bool:
    """Whether a clause ends with "ever again", or says what "every new …" needs; not of what is at hand."""
    if words.has(clause, "points"):
        return False
    said = clause.split()
    is_of_each = any(words.opens(" ".join(said[skipped:]), "norms") for skipped in (0, 1)) and words.has(
        clause, "needs"
    )
    return is_of_each or words.opens(" ".join(said[-2:]), "norms")
