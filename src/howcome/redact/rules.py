r"""What a rule for secrets is, and the rules as they stand in `tables/`, one file a kind.

Patterns stay in the subset where Python's `re` (ASCII) and RE2 agree: no look-around, no back-reference,
no `\s` (the engines disagree on the vertical tab), and no single negated class between two literals.
"""

import base64
import binascii
import os
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from howcome.redact.view import PASSWORD

Check = Callable[[str], bool]


class Rule(NamedTuple):
    """One kind of secret.

    `literals` are lower-case strings: one of them occurs (ignoring case) wherever the pattern matches.
    The last group that matched is the secret (without groups: the whole match). `check` may refuse a value, `tail`
    continues an accepted value, `closed` refuses a value inside a longer token, `final` makes a refusal hold
    against the other rules. A match begins with one of the literals, or at least and at most `before` characters before one.
    """

    name: str
    pattern: str
    samples: tuple[str, ...]
    literals: tuple[str, ...] = ()
    check: Check | None = None
    tail: str = ""
    closed: bool = False
    final: bool = False
    before: tuple[int, int] = (0, 0)


INVENTED = "b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuBiOoMkXqPzCgVhDwJyFrSnAlUeIt" * 4
MATERIAL = {
    "A": INVENTED,
    "L": "qzmwnxbevcrtyplokijhugfdsa" * 2,
    "U": "Q3EGRIZ7T2WKMNVB5YHXJC4DAS6LPFUO" * 3,
    "H": "3f9a1c7e5b2d8046a9e1c3f57b0d2846" * 5,
    "D": "8305917264" * 3,
    "N": "k3v9x1m7q5z2w8c4t6p0" * 4,
    "UUID": "3f9a1c7e-5b2d-4046-a9e1-c3f57b0d2846",
}
"""Invented material for samples: `{A9:40}` is the part from 9 to 40 of the first."""

_PART = re.compile(r"\{([A-Z]+)(?:([0-9]*):([0-9]*))?\}")
_FRAGMENT = re.compile(r"\{([A-Z_]+[0-9]?)(\|?)\}")
_MARKS = str.maketrans({"↵": "\n", "⏎": "\r", "⇥": "\t", "␣": " ", "·": None})

# The example of the documentation of AWS, quoted everywhere with various ends.
_DOCUMENTED_ID = "AKIAIOSFODNN7"


def is_undocumented_id(value: str) -> bool:
    """Tell whether an id is not the one of the documentation."""
    return not value.startswith(_DOCUMENTED_ID)


def is_encoded_private_key(value: str) -> bool:
    """Tell whether base64 text holds the head of a private key file."""
    head = value[:72]
    try:
        return b"PRIVATE KEY" in base64.b64decode(head[: len(head) // 4 * 4], validate=False)
    except (binascii.Error, ValueError):
        return False


def is_mixed(value: str) -> bool:
    """Tell whether a value has a digit and a letter in it, as a random token of some length always has."""
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def has_two_cases(value: str) -> bool:
    """Tell whether a value mixes upper and lower case."""
    return value.lower() != value and value.upper() != value


# A prefix of two characters and a token of 24.
_SHORTEST_SCATTERED = 26


def is_scattered(value: str) -> bool:
    """Tell whether digits, small and capital letters of a long value alternate too often for a name."""
    if len(value) < _SHORTEST_SCATTERED:
        return False
    runs = len(re.findall(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+", value))
    return runs >= len(value) / 4 and is_mixed(value) and has_two_cases(value)


def lines_of(table: str) -> Iterator[str]:
    """The lines of a table that say something."""
    with open(os.path.join(os.path.dirname(__file__), "tables", table), encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines if line.strip() and not line.startswith("#"))


def plain(text: str) -> str:
    """What is written with marks, as it is."""
    return text.translate(_MARKS)


def read_rules(table: str, *checks: Check) -> tuple[list[Rule], dict[str, str]]:
    """The rules of a table (`tables/formats.txt` tells its form), and what it gives names to; they may name `checks`."""
    known = {check.__name__: check for check in (is_mixed, has_two_cases, is_scattered, *checks)}
    fragments, rules = {"PASSWORD": PASSWORD}, list[dict[str, Any]]()

    def filled(match: re.Match[str]) -> str:
        told = fragments[match[1]]
        return "(?:" + "|".join(word.replace(".", r"\.") for word in told.split()) + ")" if match[2] else told

    for line in lines_of(table):
        if line[0].isupper():
            name, _, told = line.partition(" = ")
            fragments[name] = _FRAGMENT.sub(filled, told)
        elif line.startswith("  "):
            word, _, told = line[2:].partition(" ")
            told = told if word == "like" else _FRAGMENT.sub(filled, told)
            _add(rules[-1], word, known[told] if word == "check" else told)
        else:
            name, _, told = line.partition(": ")
            rules.append({"name": name, "pattern": _FRAGMENT.sub(filled, told), "samples": ()})
    return [Rule(**rule) for rule in rules], fragments


def _add(rule: dict[str, Any], word: str, told: Any) -> None:  # noqa: ANN401 - a text, or a check
    """What one line says of a rule."""
    if word == "near":
        rule["literals"] = tuple(plain(literal) for literal in told.split(" "))
    elif word == "like":
        rule["samples"] += (plain(_PART.sub(_material, told)),)
    elif word == "before":
        rule["before"] = tuple(map(int, told.split()))
    else:
        rule[word] = told or True  # `check` and `tail` say what, `closed` and `final` only that


def _material(match: re.Match[str]) -> str:
    made = MATERIAL[match[1]]
    return made[int(match[2] or 0) : int(match[3]) if match[3] else None] if match[3] is not None else made


_ENCODED = "encoded-secret"
_formats = read_rules("formats.txt", is_encoded_private_key, is_undocumented_id)[0]
PROVIDER_RULES = tuple(rule for rule in _formats if rule.name != _ENCODED)
"""Formats of secrets that are recognisable by themselves: tokens, keys, hashes and webhook addresses."""

(ENCODED_RULE,) = (rule for rule in _formats if rule.name == _ENCODED)
