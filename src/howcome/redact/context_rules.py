"""Secrets that only their surroundings give away: assignments, headers, flags, addresses, connection strings."""

import base64
import binascii
import functools
import math
import re
from collections.abc import Callable

from howcome.redact.rules import read_rules

_STAND_INS = tuple(
    """
    xxx *** ... ${ {{ $( <% %( #{ () :// &lt; \x00 …
    your example placeholder changeme change_me change-me changeit change_it change-it changethis change_this change-this
    dummy redacted sample insert replace some_ some- undefined 123456789 abcdefg a1b2c3 1a2b3c b2a1
    process. environ getenv import.meta nota_ nota- not_a_ not-a- notset not_set not-set notreal not_real not-real
    fake todo masked hidden
    """.split(),
)
_WORDS = frozenset(
    """
    password passwd passwort passphrase pass pwd secret secrets token tokens key string text hidden true false
    null none nil undefined required optional invalid missing unknown empty bearer basic oauth oauth2 jwt env file
    prompt stdin plain plaintext bcrypt sha256 sha512 argon2 scrypt default test user username login admin value
    input number boolean object array char bytes byte list dict type any self this void int str bool float const
    var let new return function async await type=password field label error warning enabled disabled on off yes no
    and or not is the for with from password1 password2 oldpassword newpassword mypassword userpassword
    """.split(),
)
_NAME_LIKE = re.compile(
    r"[A-Za-z_$@#.][A-Za-z0-9_$./-]*?"
    r"(?:pass(?:w(?:or)?d)?|pwd|secret|token|key|cred|auth|field|label|input|error|name|type)"
    r"[A-Za-z_.#-]*[0-9]?",
    re.IGNORECASE,
)
_MAX_NAME_CHARS = 64
_BRACKETS = re.compile(r"[()\[\]{}<>]")
_DIGIT = re.compile(r"[0-9]")
_PARTS = re.compile(r"[_./$@#-]")
_WORD_WITH_NUMBER = re.compile(r"[A-Za-z_.]*[A-Za-z][._-]?[0-9]{1,2}")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{5,}", re.IGNORECASE)
_HEX = re.compile(r"(?:0x)?[0-9a-fA-F]{16,}")
_CLASS_RUNS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_CODE = re.compile(r"\w\(|\)$|=>|->|;$")
_REFERENCES = (*"${<%/~&([\\+", "./", "../", "--", ".$", "arn:")
_ASSIGNMENT = re.compile(r"[A-Za-z_.-]{2,24}=")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_SYMBOLS = re.compile(r"[!@#$%^&*+=?~,;:|]")


def entropy(value: str) -> float:
    """Shannon entropy of a value in bits per character."""
    size = len(value)
    return math.log2(size) - sum([n * math.log2(n) for n in map(value.count, set(value)) if n > 1]) / size


_SYMBOL = re.compile(r"[!@#$%^&*?+=~]")
_DESCRIBING = re.compile(r"-[a-z]{3,}$")
_NO_SEED_WORDS = frozenset("the and for has are not was its our your his her had but who how why is of to".split())
_TICKET = re.compile(r"[A-Z]+[0-9]*-?[0-9]+|[A-Za-z_]+[vV][0-9]+[A-Za-z_]*")
_FEW_DIGITS = 8
_REFERRING = (" ", "\t", "${", "%(", "{{", "://", "((")
_WEIRD_CHARS, _WEIRD_BITS = 24, 4.0
"""A value that is so long and so varied was drawn at random, whatever marks of code or assignment are in it."""


def is_filled_in(value: str) -> bool:
    """Tell whether a value is more than a placeholder, a reference to a variable or a path."""
    if _ASSIGNMENT.match(value):
        return False
    value = value.strip("'\"`")
    if len(value) < 3 or value.startswith(_REFERENCES):
        return False
    lowered = value.lower()
    for stand_in in _STAND_INS:  # twice as fast as any() of a generator, and this is asked of every candidate
        if stand_in in lowered:
            return False
    return len(set(value)) > 2 and lowered.strip(".,:") not in _WORDS


def is_password(value: str) -> bool:
    """Tell whether the value given for a password can be one: filled in, one word, and not the name of a field."""
    if _is_weird(value):
        return True
    if len(value) < 4 or _ASSIGNMENT.match(value) or " " in value or "\t" in value or value[-1] == ":":
        return False
    if not is_filled_in(value) or (value[0] in "#." and value[1:].replace("-", "").isalpha()):
        return False
    has_parts = _PARTS.search(value) is not None or (value.lower() != value != value.upper())
    return not (has_parts and len(value) <= _MAX_NAME_CHARS and _NAME_LIKE.fullmatch(value))


def is_hard_password(value: str) -> bool:
    """Tell whether a bare word can only be a password: letters with digits, no code punctuation."""
    if len(value) < 6 or not _has_both(value) or _BRACKETS.search(value) or "." in value[1:-1] or "->" in value:
        return False
    return _WORD_WITH_NUMBER.fullmatch(value) is None and is_password(value)


def is_told_password(value: str) -> bool:
    """Tell whether a bare word behind "the password is" is one: hard, and no kind of coding ("sha256-hashed")."""
    is_varied = value.lower() != value != value.upper() or _SYMBOL.search(value) is not None
    is_name = _DESCRIBING.search(value) or _TICKET.fullmatch(value)
    return is_varied and not is_name and is_hard_password(value)


def is_typed_password(value: str) -> bool:
    """Tell whether a word where a command takes a password is one: more than letters, and no variable."""
    return is_filled_in(value) and not value.isalpha() and "%" not in (value[0], value[-1])


def is_word_list(value: str) -> bool:
    """Tell whether words in a row are no sentence: it has one of those that the list of BIP 39 has not."""
    return _NO_SEED_WORDS.isdisjoint(value.lower().split())


def is_random_hex(value: str) -> bool:
    """Tell whether a number in hex was drawn at random."""
    return len(set(value)) > _FEW_DIGITS


def _has_both(value: str) -> bool:
    """Whether a value has letters and digits."""
    return value.lower() != value.upper() and _DIGIT.search(value) is not None


def is_random(value: str) -> bool:
    """Tell whether a value was drawn at random: hex, a UUID, or letters and digits that change class often."""
    if _is_weird(value):
        return True
    if len(value) < 10 or " " in value or "\t" in value or "=" in value.rstrip("="):
        return False
    if not is_filled_in(value) or _CODE.search(value):
        return False
    if _HEX.fullmatch(value):
        return len(set(value)) > 5 and not value.isdigit()
    return _UUID.fullmatch(value) is not None or (_changes_often(value) and entropy(value) >= 2.8)


def _is_weird(value: str) -> bool:
    """Whether a value has all kinds of characters, many changes and no reference in it: no code does."""
    if len(value) < _WEIRD_CHARS or not value.isascii() or any(mark in value for mark in _REFERRING):
        return False
    kinds = (str.isupper, str.islower, str.isdigit, lambda one: not one.isalnum())
    counts = [sum(map(kind, value)) for kind in kinds]
    return min(counts) >= 2 and entropy(value) >= _WEIRD_BITS and len(_CLASS_RUNS.findall(value)) >= len(value) / 2.5


def _changes_often(value: str) -> bool:
    runs = _CLASS_RUNS.findall(value)
    covered = len("".join(runs))
    letters = covered - len(_DIGIT.findall(value))
    others = len(value) - covered
    if letters == covered:
        plain = others == 0 and len(value) >= 16
        return plain and (_CONSONANTS.search(value) is not None or len(runs) >= len(value) / 2.5)
    if letters < 4:
        return False
    if len(value) >= 12 and _SYMBOLS.search(value) and entropy(value) >= 3.4:
        return True
    # Separators are discounted, so that words with a number among them do not count as changes.
    return len(runs) - others >= max(4, len(value) / 5) or len(runs) - others // 2 >= max(6, len(value) / 4)


def is_credential_pair(value: str) -> bool:
    """Tell whether base64 text decodes to `user:password`."""
    try:
        return b":" in base64.b64decode(value[: len(value) // 4 * 4], validate=True)
    except (binascii.Error, ValueError):
        return False


def is_url_password(value: str) -> bool:
    """Tell whether the password part of an address is filled in."""
    if any(c in value for c in "{}$<>*[]`|\x00") or value.isdigit():
        return False
    return _URL_STAND_IN.fullmatch(value.lower()) is None


_URL_STAND_IN = re.compile(
    r"x+|(?:my|your|the|db|user|some)?[_-]?(?:password|passwd|pwd|passw)|[._-]+"
    r"|abc|postgres|mysql|mongodb|redis|root|admin|guest|user"
    r"|.*(?:your|example|placeholder|replace|change_?me|insert).*",
)


def is_connection_password(value: str) -> bool:
    """Tell whether a connection string spells its password out."""
    return not any(c in value for c in "%(\x00") and len(set(value)) > 1


def is_storage_key(value: str) -> bool:
    """Tell whether a value has the length of a secret key of S3 or of a store that speaks its protocol."""
    return len(value) in _STORAGE_KEY_LENGTHS and not value.startswith(_DOCUMENTED_KEY)


# AWS and most others 40, Cloudflare 64, DigitalOcean 43, Backblaze 31, older Google and Aliyun stores 30 and 32.
_STORAGE_KEY_LENGTHS = frozenset({30, 31, 32, 40, 43, 44, 64})
# The example key in the documentation of AWS, quoted everywhere with various ends.
_DOCUMENTED_KEY = "wJalrXUtnFEMI/K7MDENG"


def is_credential(value: str) -> bool:
    """Tell whether what follows the name of a header is a credential."""
    return is_filled_in(value) and any(c.isdigit() for c in value) | value.endswith("=")


def is_session_id(value: str) -> bool:
    """Tell whether a cookie's value names a session: drawn at random, and no UUID."""
    return is_random(value) and not _UUID.fullmatch(value)


def is_option_password(value: str) -> bool:
    """Tell whether what follows a user's name and a colon is a password."""
    return is_url_password(value) and is_filled_in(value)


def is_login_password(value: str) -> bool:
    """Tell whether what follows `-p` of a program that logs in is a password, and no port."""
    return is_filled_in(value) and value.strip("0123456789.:") != ""


_rules, _parts = read_rules(
    "contexts.txt",
    *(is_filled_in, is_password, is_hard_password, is_random, is_credential_pair, is_url_password),
    *(is_connection_password, is_storage_key, is_credential, is_session_id, is_option_password, is_login_password),
    *(is_told_password, is_typed_password, is_word_list, is_random_hex),
)
CONTEXT_RULES = tuple(_rules)
_PASSWORD_NAME = re.compile(rf"{_parts['PASS']}s?[_-]?[0-9]{{0,3}}$", re.IGNORECASE | re.ASCII)
_SECRET_NAME = re.compile(rf"{_parts['SECRET']}[a-z0-9_]{{0,24}}$", re.IGNORECASE | re.ASCII)


def is_secret_name_for(name: str, value: str) -> bool:
    """Tell whether a value stored under a name is a secret."""
    check = _check_of(name)
    return check is not None and check(value)


@functools.lru_cache(maxsize=4096)
def _check_of(name: str) -> Callable[[str], bool] | None:
    """What tells whether a value under a name is a secret; None for most names."""
    if _PASSWORD_NAME.search(name):
        return is_password
    return is_random if _SECRET_NAME.search(name) else None
