"""Formats that hold a checksum: where it is right, the token is one whatever stands around it.

Only a right checksum says anything. These rules ask for no boundary, so that they find what the others leave: a token
glued to other letters, one whose letters all look alike. A wrong checksum may be a slip or a cut: the other rules
decide.

The facts are the vendors', and each was tried on a token that is public: GitHub's (its blog; the fine-grained ones by
the example in Kingfisher's rules), npm's (its changelog), Vercel's and Zuplo's (their documentation, the examples in
Kingfisher's rules), Cloudflare's (its documentation, the example in gitleaks' rules), Confluent's (the example in its
documentation), Grafana's (its tests), GitLab's routable ones (its source, the example in Kingfisher's rules).
"""

from __future__ import annotations

import base64
import hashlib
import string
from collections.abc import Callable
from typing import NamedTuple
from zlib import crc32

from howcome.redact.rules import INVENTED, Rule

_DIGITS = string.digits + string.ascii_uppercase + string.ascii_lowercase


class Sum(NamedTuple):
    """How a checksum is written: what it is of some text, in which characters, and how many of them."""

    of: Callable[[str], str]
    alphabet: str
    width: int


def _number(digits: str, width: int) -> Sum:
    """CRC-32 as a number of so many digits."""

    def of(text: str) -> str:
        number, written = crc32(text.encode()), ""
        for _ in range(width):
            number, digit = divmod(number, len(digits))
            written = digits[digit] + written
        return written

    return Sum(of, digits, width)


def _little(text: str) -> bytes:
    return crc32(text.encode()).to_bytes(4, "little")


_BASE62 = _number(_DIGITS, 6)
_BASE36 = _number(string.digits + string.ascii_lowercase, 7)
_HEX = _number("0123456789abcdef", 8)
_HEX_LITTLE = Sum(lambda text: _little(text).hex(), "0-9a-f", 8)
_BASE64 = Sum(lambda text: base64.b64encode(_little(text)).decode()[:6], "A-Za-z0-9+/", 6)
_SHA256 = Sum(lambda text: base64.b32encode(hashlib.sha256(text.encode()).digest()).decode()[:8], "A-Z2-7", 8)


class Format(NamedTuple):
    """A format: what it begins with, the pattern of what its checksum is of and an example of that, and the checksum.

    `whole`: the checksum is of the prefix as well; `joint` stands before it, `rest` letters and digits behind it.
    """

    name: str
    prefixes: tuple[str, ...]
    body: str
    example: str
    sum: Sum
    whole: bool = False
    joint: str = ""
    rest: int = 0

    @property
    def pattern(self) -> str:
        """The pattern of a token."""
        told = f"[{self.sum.alphabet}]{{{self.sum.width}}}" + (f"[A-Za-z0-9]{{{self.rest}}}" if self.rest else "")
        return f"(?:{'|'.join(self.prefixes)}){self.body}{self.joint}{told}"

    def token(self, prefix: str, body: str, rest: str = "") -> str:
        """A token with its checksum."""
        return prefix + body + self.joint + self.sum.of(prefix + body if self.whole else body) + rest

    def is_right(self, token: str) -> bool:
        """Whether a token that the pattern matches has the checksum that it should have."""
        start = 0 if self.whole else next((len(head) for head in self.prefixes if token.startswith(head)), 0)
        end = len(token) - self.rest
        told = end - self.sum.width
        return self.sum.of(token[start : told - len(self.joint)]) == token[told:end]


# fmt: off
FORMATS = (
    Format("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), "[A-Za-z0-9]{30}", INVENTED[:30], _BASE62),
    Format("github-refresh", ("ghr_",), "[A-Za-z0-9]{70}", INVENTED[:70], _BASE62),
    Format("github-fine-grained", ("github_pat_",), "[A-Za-z0-9]{22}_[A-Za-z0-9]{43}",
           INVENTED[:22] + "_" + INVENTED[:43], _SHA256, whole=True, rest=8),
    Format("npm", ("npm_",), "[A-Za-z0-9]{30}", INVENTED[:30], _BASE62),
    Format("vercel", ("vcp_", "vci_", "vca_", "vcr_", "vck_"), "[A-Za-z0-9_-]{50}", INVENTED[:50], _BASE62),
    Format("cloudflare", ("cfat_", "cfut_", "cfk_"), "[A-Za-z0-9]{40}", INVENTED[:40], _HEX),
    Format("confluent", ("cflt",), "[A-Za-z0-9+/]{54}", INVENTED[:54], _BASE64),
    Format("grafana", ("glsa_",), "[A-Za-z0-9]{32}", INVENTED[:32], _HEX_LITTLE, whole=True, joint="_"),
    Format("zuplo", ("zpka_",), "[a-z0-9]{32}", INVENTED[:32].lower(), _HEX, joint="_"),
    Format("gitlab", ("glpat-", "gloas-", "gldt-", "glrt-", "glrtr-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-",
           "glsoat-", "glffct-"), r"[A-Za-z0-9_-]{27,300}\.01\.[0-9a-z]{2}", INVENTED[:40] + ".01.0w", _BASE36,
           whole=True),
)
# fmt: on


def _rule(form: Format) -> Rule:
    samples = tuple(form.token(prefix, form.example, INVENTED[: form.rest]) for prefix in form.prefixes)
    return Rule(f"checked-{form.name}-token", form.pattern, samples, form.prefixes, check=form.is_right)


SUM_RULES = tuple(_rule(form) for form in FORMATS)
