"""What makes a sentence technical: names that a project has, and words of the trade."""

from __future__ import annotations

import re

from howcome.learn.prose import Prose

_P = Prose("anchors")

_ENDINGS = (
    "py|pyi|go|rs|ts|tsx|js|jsx|mjs|cjs|java|kt|kts|swift|rb|php|cs|cpp|cc|c|h|hpp|m|mm|scala|ex|exs|dart"
    "|lua|sh|bash|zsh|ps1|sql"
    "|json|jsonl|ya?ml|toml|ini|cfg|conf|env|lock|md|mdx|rst|txt|html|css|scss|vue|svelte|proto|graphql|tf"
    "|gradle|xml|csv|db|sqlite"
    "|plist|mod|sum|dockerfile|mk|log|svg|png"
)
FILE = re.compile(rf"(?<![\w/@])(?:[\w.@~-]+/)*[\w.-]*[\w-]\.(?:{_ENDINGS})\b(?!\()", re.IGNORECASE)
_STRONG = (
    r"`[^`\n]{1,200}`|\b\w+\(\)|\b[a-z]+[A-Z]\w*|\b[A-Z][a-z0-9]+[A-Z]\w*|\b[A-Z]+[A-Z][a-z]+[A-Z]?\w*\b|\b\w+_\w+"
    rf"|(?<![\w/])@?[\w.-]+/[\w./@-]+|{FILE.pattern}|(?<!\w)--?[a-z][\w-]+|\bv?\d+\.\d+(?:\.\d+)*\b"
    r"|\b(?!OK\b|TODO\b|PR\b|PRs\b|FYI\b|ASAP\b|BTW\b|IMO\b|TL\b|DR\b|NOT\b|AND\b|OR\b|NO\b|YES\b|ALL\b"
    r"|ANY\b|IS\b|TDD\b|AI\b|UI\b)[A-Z][A-Z0-9]+s?\b"
    r"|\b(?=[0-9a-f]*[a-f])(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b|\b[a-z]+[0-9]+[a-z]*\b|\b[45]\d\d\b"
    r"|(?<![\w/.<:])/[a-z][\w-]*(?:/[\w{}:-]+)*"
)
_PLAIN_OR_STRONG = re.compile(rf"(?:[A-Z]?[a-z]++[,;:!?.)]?[ \n]++)++|({_STRONG})")
"""In plain words, each with a blank behind it, no name begins: taking them in one step, it is four times as fast."""


_MAY_BE_STRONG = re.compile(r"[`_/]|[(][)]|[a-z][A-Z]|[A-Z][A-Z]|[0-9]|[A-Za-z][.][A-Za-z]|-[a-z]")
"""Every text that has a name has one of these; most that have none of those have none of these."""

MAX_CODE_CHARS = 200
_PROPER = re.compile(r"(?<=[a-z,;] )[A-Z][A-Za-z0-9.+#]{1,30}\b")
WORDS = _P.words("words")

PRODUCTS = _P.words("products")
"""Names of the trade that everybody knows, whatever their case."""

_WORD = re.compile(r"[A-Za-z][\w-]*")


def has_strong(text: str) -> bool:
    """Whether there is a name in a text that only a project has; what stands in backticks is one."""
    first = text.find("`")
    if first >= 0 and 1 < text.find("`", first + 1) - first <= MAX_CODE_CHARS:
        return True
    return _MAY_BE_STRONG.search(text) is not None and any(one.lastindex for one in _PLAIN_OR_STRONG.finditer(text))


def names_in(text: str) -> list[str]:
    """Names that only a project has: identifiers, paths, flags, versions, commits, acronyms, status codes."""
    return [name for name in _PLAIN_OR_STRONG.findall(text) if name] if _MAY_BE_STRONG.search(text) else []


def is_technical(text: str) -> bool:
    """Whether a text has a name in it, or at least two words of the trade."""
    if has_strong(text):
        return True
    words = {word.lower() for word in _WORD.findall(text)}
    if words & PRODUCTS:
        return True
    known = words & WORDS
    return len(known) >= 2 or bool(known and _PROPER.search(text)) or len(_PROPER.findall(text)) >= 2
