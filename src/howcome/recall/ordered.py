"""What a user's words order for good, whatever is asked next: told by lists of words (`domain/words`)."""

from __future__ import annotations

from howcome.domain import words
from howcome.domain.sentences import sentences

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_RULE_WORDS = 30
"""A longer sentence tells a story."""


def ordered(said: str, *, is_refusal: bool, most_chars: int) -> str:
    """The words of a user from the first sentence on that is a rule, and those before it that fit; "": none is.

    Args:
        said: The user's own words.
        is_refusal: Whether they turned down what the agent was about to do.
        most_chars: What fits.
    """
    told = [one.text for one in sentences(said, is_typed=True)]
    first = next((place for place, text in enumerate(told) if _is_rule(text, is_refusal=is_refusal)), None)
    if first is None:
        return ""
    line = " ".join(told[first:])
    while first and len(told[first - 1]) + len(line) < most_chars:  # it may name what the rule is about
        first -= 1
        line = f"{told[first]} {line}"
    return line


def _is_rule(text: str, *, is_refusal: bool) -> bool:
    """Whether a sentence says that it holds, or a clause begins as an order does: "never …", but not "never mind".

    Who refuses a step says for good what must not be done: "don't run the slow tests", but not "don't run this".
    """
    if "?" in text or words.count(text) > MAX_RULE_WORDS:
        return False
    clauses = list(_clauses(text))
    if words.has(text, "rules") or any(words.opens(one, "orders") and _stands(one, "dangles") for one in clauses):
        return True
    if words.has(text, "fades"):
        return False
    return any((is_refusal and _bans(one)) or words.has(one, "norms") for one in clauses if not _points(one))


def _bans(clause: str) -> bool:
    """Whether a clause says what must not be: more than a bare no, and no "no problem"."""
    is_of_something = bool(words.rest_of(clause, "rejects", "bans").strip(" .,!"))
    is_ban = words.opens(clause, "bans") or words.opens(clause.rsplit(maxsplit=1)[-1], "limits")
    return is_of_something and is_ban and _stands(clause, "concedes") and not words.has(clause, "narrates")


def _points(clause: str) -> bool:
    """Whether a clause is about what is at hand; "in this code base" is not."""
    return words.has(words.without(clause, "norms"), "points")


def _stands(clause: str, name: str) -> bool:
    return not words.opens(clause, name)


def _clauses(text: str) -> Iterator[str]:
    for mark in (";", ":", "\u2013", "\u3001", "\uff0c"):
        text = text.replace(f"{mark} " if mark < "\u3000" else mark, ", ")
    return (clause for part in text.split(", ") if (clause := part.strip()))
