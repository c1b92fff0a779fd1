"""The gate: every text from outside comes to rest through it, whatever field it is in and whatever door it came by.

Placeholders are keyed and always the same, so that what has to be found again is found by the same way: a session id or
a folder that held a secret is one and the same text in every row, and whoever asks for it by its own name asks through
the gate too. Most texts beside the words of people are ids and plain paths; these are told by their shape, so that no
hook loads the rules for them.
"""

from __future__ import annotations

import json

from howcome.domain.patterns import late
from howcome.redact.version import RULES_VERSION

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from howcome.redact.redactor import Redactor

REMEMBERED_CHARS = 256
REMEMBERED_TEXTS = 50_000
MAX_PATH_CHARS = 4096

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_HEX = rf"(?>{_UUID}|(?:ev-|mem-)?[0-9a-f]{{1,32}}(?![0-9A-Za-z])|[0-9A-F]{{1,32}}(?![0-9A-Za-z]))"
_WORD = r"(?>[A-Z]?[a-z]{1,14}[0-9]{0,4}|[A-Z]{1,15}[0-9]{0,4}|[0-9]{1,8})"
_PLAIN = late(
    r"(?:toolu|call|msg)_[A-Za-z0-9]{8,32}|"
    rf"""[\[\]{{}}",: ]*+(?:{_HEX}[\[\]{{}}",: ]+)*+(?:{_HEX})?+|[/._~@-]*+(?:{_WORD}[/._~@-]+)*+(?:{_WORD})?+"""
)
"""UUIDs and hexadecimal digits (also as JSON), words with what stands between them in paths, ids of calls.

No secret looks like that by itself: a token runs on without anything between its characters, or mixes letters and
digits; a password is told by what stands around it. Nothing in it is tried twice: a long text costs what its length is.
"""


_ONE_SLASH = late(r":/(?!/)")
"""What is left of a URL that was taken for a path and made normal."""


def is_plain(text: str) -> bool:
    """Whether a text is told to be clean by its shape alone."""
    return _is_uuid(text) or _PLAIN.fullmatch(text) is not None


def _is_uuid(text: str) -> bool:
    """Of a session, mostly: all that a prompt's hook writes, and the pattern takes it 1 ms to compile."""
    bare = text.replace("-", "") if len(text) == 36 and text[8:24:5] == "----" else ""
    return len(bare) == 32 and not bare.strip("0123456789abcdef")


class Gate:
    """The gate of one store.

    Args:
        key: Gives the key of its placeholders, when it is needed.
        personal: Whether personal data is kept out, too.
    """

    version = RULES_VERSION

    def __init__(self, key: Callable[[], bytes], *, personal: bool = False) -> None:
        self._key, self._personal = key, personal
        self._redactor: Redactor | None = None
        self._known: dict[str, str] = {}

    @property
    def redactor(self) -> Redactor:
        """The rules, loaded on first use: that takes 0.1 s."""
        if self._redactor is None:
            from howcome.redact.redactor import Redactor

            self._redactor = Redactor(self._key(), personal=self._personal)
        return self._redactor

    def text(self, text: str) -> str:
        """A text as it may rest on disk. A path is looked at part by part: what is below a folder stays below it."""
        known = self._known.get(text)
        if known is not None:
            return known
        gated = text if is_plain(text) and not self._personal else self._gated(text)
        if len(text) <= REMEMBERED_CHARS:
            if len(self._known) >= REMEMBERED_TEXTS:
                self._known.clear()
            self._known[text] = gated
        return gated

    def name(self, text: str | None) -> str | None:
        """The same for a field that may be empty."""
        return self._known.get(text) or self.text(text) if text else text

    def value(self, value: object) -> object:
        """Decoded JSON as it may rest on disk; a name in it may be anything, too."""
        redacted, known = self.redactor.redact_value(value), self._known
        is_clean = all(known.get(name) == name or self.text(name) == name for name in _names(redacted))
        return redacted if is_clean else self._renamed(redacted)

    def line(self, text: str) -> str:
        """A text that may be JSON: each of its strings as it may rest, paths part by part."""
        if text[:1] in ("{", "["):
            try:
                value = json.loads(text)
            except (ValueError, RecursionError):
                return self.text(text)
            gated = self._strings(self.value(value))
            return text if gated == value else json.dumps(gated, ensure_ascii=False)
        return self.text(text)

    def _renamed(self, value: object) -> object:
        if isinstance(value, dict):
            return {self.text(str(name)): self._renamed(item) for name, item in value.items()}
        return [self._renamed(item) for item in value] if isinstance(value, list) else value

    def _strings(self, value: object) -> object:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(name): self._strings(item) for name, item in value.items()}
        return [self._strings(item) for item in value] if isinstance(value, list) else value

    def _gated(self, text: str) -> str:
        redact = self.redactor.redact
        if not _is_path(text):
            return redact(text)
        gated = redact("/".join([redact(part) for part in text.split("/")]))
        if ":/" in gated and (url := redact(restored := _ONE_SLASH.sub("://", gated))) != restored:
            gated = url
        return gated if text[:1] != "/" or gated[:1] == "/" else "/" + gated


def _is_path(text: str) -> bool:
    """Whether a text may be a path: an absolute one, or one without blanks."""
    if len(text) > MAX_PATH_CHARS or "\n" in text:
        return False
    return text[:1] == "/" or ("/" in text and " " not in text)


def _names(value: object) -> Iterator[str]:
    """The names of everything in decoded JSON."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield str(name)
            if isinstance(item, dict | list):
                yield from _names(item)
    elif isinstance(value, list):
        for item in value:
            yield from _names(item)
