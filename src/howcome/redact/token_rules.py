"""Formats that are a prefix, an alphabet and a length, as a table: one row is one rule.

The facts are from the vendors' documentation and from public rule files: gitleaks and its successor betterleaks (MIT),
CredSweeper (MIT), Kingfisher and Nosey Parker (Apache-2.0). `benchmarks/formats.py FILE` lists which formats of such a file
have no counterpart here.
"""

from __future__ import annotations

import random
import re
import string
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from howcome.redact.rules import Check, Rule, has_two_cases, is_mixed, is_scattered, lines_of, plain

_CHECKS: dict[str, Check] = {check.__name__: check for check in (has_two_cases, is_mixed, is_scattered)}


class Token(NamedTuple):
    """A format: the prefixes (as they are), the alphabet after them, how many characters, and what else must hold.

    `alphabet` is a class of a pattern without its brackets; `ignore_case` is for vendors whose tokens come in any case.
    """

    name: str
    prefixes: tuple[str, ...]
    alphabet: str
    least: int
    most: int
    check: Check | None = None
    ignore_case: bool = False


def _tokens() -> Iterator[Token]:
    """The rows of the table."""
    for line in lines_of("tokens.txt"):
        name, prefixes, alphabet, size, must = re.split("  +", line)
        check, _, any_case = must.partition(" ")
        least, most = map(int, size.split("-"))
        yield Token(
            name, tuple(map(plain, prefixes.split(" "))), alphabet, least, most, _CHECKS.get(check), bool(any_case)
        )


def _rule(token: Token) -> Rule:
    prefixes = token.prefixes
    flag = "(?i)" if token.ignore_case else ""
    either = "|".join(re.escape(prefix) for prefix in prefixes).replace("\\ ", " ").replace("\\-", "-")
    pattern = rf"{flag}\b(?:{either})[{token.alphabet}]{{{token.least},{token.most}}}"
    samples = tuple(_sample(token, prefix) for prefix in prefixes)
    literals = tuple(prefix.lower() for prefix in prefixes)
    return Rule(token.name, pattern, samples, literals, check=token.check, closed=True)


@lru_cache
def _letters(alphabet: str) -> str:
    """The letters and digits of a class."""
    return "".join(re.findall(f"[{alphabet}]", string.ascii_letters + string.digits))


def _sample(token: Token, prefix: str) -> str:
    """An invented token, the same each time, that holds what must hold."""
    letters = _letters(token.alphabet)
    for attempt in range(100):
        draw = random.Random(f"{token.name} {prefix} {attempt}")  # noqa: S311 - a sample is no secret
        sample = prefix + "".join(draw.choices(letters, k=token.least))
        if token.check is None or token.check(sample):
            return sample
    message = f"no token of {token.name} can pass its check"
    raise ValueError(message)


_PURPOSES = ("_api_", "_apikey_", "_pat_", "_oat_", "_secret_", "_sec_", "_live_", "_production_", "_prod_")
_NAMED = Rule(
    "named-token",  # a vendor's name, what the token is for, and the token
    rf"\b[a-z][a-z0-9]{{1,20}}(?:{'|'.join(_PURPOSES)})[A-Za-z0-9]{{20,100}}",
    (("samsara_api_" + "q9Zt4Kc8Rv1Wp6Hd3Ys5Nj"), ("acme_pat_" + "7Gx2Lm9Zt4Kc8Rv1Wp6Hd3")),
    _PURPOSES,
    before=(2, 21),
    check=is_scattered,
    closed=True,
)
TOKEN_RULES = (*(_rule(token) for token in _tokens()), _NAMED)
