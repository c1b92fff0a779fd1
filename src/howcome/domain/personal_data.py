"""Personal data in text: addresses, numbers of phones, cards and accounts, national numbers. Numbers with a check digit are checked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SEPARATORS = re.compile(r"[ .-]")


def is_card(value: str) -> bool:
    """Tell whether digits are a card's: 13 to 19 of them with the right check digit (ISO/IEC 7812, Luhn)."""
    digits = [int(c) for c in _SEPARATORS.sub("", value)]
    if len(set(digits)) < 2:
        return False
    doubled = [d if place % 2 else sum(divmod(2 * d, 10)) for place, d in enumerate(reversed(digits), 1)]
    return 13 <= len(digits) <= 19 and sum(doubled) % 10 == 0


def is_iban(value: str) -> bool:
    """Tell whether a value is an account's number: its remainder by 97 is 1 (ISO 13616, ISO 7064)."""
    compact = _SEPARATORS.sub("", value)
    return 15 <= len(compact) <= 34 and int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def is_nir(value: str) -> bool:
    """Tell whether digits are a French social security number: a key of 97 minus the remainder of the rest."""
    compact = _SEPARATORS.sub("", value)
    return 97 - int(compact[:13]) % 97 == int(compact[13:])


def is_dni(value: str) -> bool:
    """Tell whether a value is a Spanish identity number: the letter follows from the remainder by 23."""
    compact = value.upper().replace("-", "")
    return "TRWAGMYFPDXBNJZSQVHLCKE"[int(compact[:-1]) % 23] == compact[-1]


def is_steuer_id(value: str) -> bool:
    """Tell whether digits are a German tax number: eleven with a check digit (ISO 7064, mod 11,10)."""
    digits = [int(c) for c in _SEPARATORS.sub("", value)]
    product = 10
    for digit in digits[:-1]:
        product = 2 * ((digit + product) % 10 or 10) % 11
    return (11 - product) % 10 == digits[-1] and len(set(digits[:10])) in (8, 9)


def is_person(value: str) -> bool:
    """Tell whether an address is somebody's: not of an example, a program or a version control system."""
    name, _, host = value.lower().partition("@")
    if host.startswith("example.") or host.endswith(
        (".example", ".test", ".local", ".invalid", ".png", ".svg", ".jpg")
    ):
        return False
    return name not in {"git", "noreply", "no-reply", "user", "root", "admin", "postgres"} and "noreply" not in host


class Kind(NamedTuple):
    """One kind of personal data: the last group that matched (or all of it) is the datum."""

    name: str
    pattern: re.Pattern[str]
    samples: tuple[str, ...]
    check: Callable[[str], bool] | None = None


KINDS = (
    Kind("email", re.compile(r"(?<![A-Za-z0-9._%+/-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,62}\.){1,6}[A-Za-z]{2,18}(?![A-Za-z0-9/:])"),
         ("mara.lind@tidewater.dev",), is_person),
    Kind("iban", re.compile(r"\b[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), ("DE89 3704 0044 0532 0130 00",), is_iban),
    Kind("card", re.compile(r"(?<![0-9A-Za-z.-])[2-6][0-9]{3}(?:[ -]?[0-9]{4}){2}[ -]?[0-9]{1,7}(?![0-9A-Za-z]|[.-][0-9])"
                            r"|(?<![0-9A-Za-z.-])3[47][0-9]{2}[ -]?[0-9]{6}[ -]?[0-9]{5}(?![0-9A-Za-z]|[.-][0-9])"),
         ("4111 1111 1111 1111", "378282246310005"), is_card),
    Kind("phone", re.compile(r"(?<![0-9A-Za-z+./=-])\+[1-9][0-9]{0,2}(?:[ ./-]{0,1}\(?[0-9]{1,4}\)?){2,5}(?![0-9A-Za-z=+/])"), ("+49 30 901820 44",),
         lambda value: 8 <= sum(map(str.isdigit, value)) <= 15),
    Kind("phone-of-north-america", re.compile(r"(?<![0-9A-Za-z.-])\(?[2-9][0-9]{2}\)?[ -][2-9][0-9]{2}-[0-9]{4}(?![0-9-])"), ("(415) 555-2671",)),
    Kind("social-security-number", re.compile(r"(?<![0-9A-Za-z.-])(?!000|666|9)[0-9]{3}-(?!00)[0-9]{2}-(?!0000)[0-9]{4}(?![0-9-])"), ("536-22-1874",)),
    Kind("nir", re.compile(r"(?<![0-9])[12] ?[0-9]{2} ?(?:0[1-9]|1[0-2]) ?[0-9]{2} ?[0-9]{3} ?[0-9]{3} ?[0-9]{2}(?![0-9])"), ("1 84 12 76 451 089 46",), is_nir),
    Kind("dni", re.compile(r"\b[0-9]{8}-?[A-Z]\b"), ("12345678Z",), is_dni),
    Kind("steuer-id", re.compile(r"(?<![0-9.-])[1-9][0-9](?: ?[0-9]{3}){3}(?![0-9.-])"), ("86 095 742 719",), is_steuer_id),
    Kind("named-number", re.compile(r"(?i)\b(?:ssn|social security(?: number)?|national (?:id|insurance)(?: number)?|passport(?: no\.?| number)?"
                                    r"|steuernummer|bsn|cpf|pesel|aadhaar|personnummer)\b[\"'`]?[ \t]{0,4}[:=#]?[ \t]{0,4}[\"'`]?([A-Z0-9][A-Z0-9 .-]{6,16}[0-9A-Z])"),
         ("passport number: C01X00T47",), lambda value: sum(map(str.isdigit, value)) >= 5),
)  # fmt: skip


_SIGNS = re.compile(r"@|[0-9]{3}|[0-9] ?[0-9]")


def personal_data(text: str) -> Iterator[tuple[int, int, str]]:
    """The places of personal data in a text, each with its kind, in no order; they may overlap."""
    for kind in KINDS:
        for match in kind.pattern.finditer(text):
            group = match.lastindex or 0
            if kind.check is None or kind.check(match[group]):
                yield (*match.span(group), kind.name)


def without_personal_data(text: str) -> str:
    """A text with a mark in place of each personal datum: `[redacted:email]`."""
    if not _SIGNS.search(text):
        return text
    kept: list[str] = []
    done = 0
    for start, end, kind in sorted(personal_data(text)):
        if start >= done:
            kept += (text[done:start], f"[redacted:{kind}]")
            done = end
    return "".join((*kept, text[done:]))
