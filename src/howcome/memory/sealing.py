"""What one person's machines share is sealed with one key (`cryptography`'s Fernet): who has it reads and writes."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from hashlib import blake2b
from importlib.util import find_spec
from typing import Any

from howcome.errors import MissingError, UsageError

PACKAGE = "cryptography"
PADDED_BYTES = 512
"""Sealed texts are as long as the next multiple of it: the length says little of what is in it."""

_PREFIX = "howcome-key-1-"


def require_package() -> None:
    """Says what is missing where nothing can be sealed or signed."""
    if find_spec(PACKAGE) is None:
        remedy = "pip install 'howcome[sync]'"
        raise MissingError(f"this needs the package {PACKAGE}: install howcome with its extra `sync`: {remedy}", remedy)


class Key:
    """One person's key. `text` is how it is written down, `fingerprint` tells it from others and nothing else of it."""

    def __init__(self, text: str | None = None) -> None:
        """Takes a key as it is written down, or makes one that nobody has."""
        require_package()
        from cryptography.fernet import Fernet

        self.text = text or _PREFIX + Fernet.generate_key().decode()
        try:
            self._seal = Fernet(self.text.strip().removeprefix(_PREFIX))
        except ValueError as error:
            raise UsageError(f"this is no key: a key is one line that begins with {_PREFIX}") from error
        self.fingerprint = self._derived("fingerprint")[:16]

    def name(self, memory_key: str) -> str:
        """The file of a memory, as a path: it tells nothing of it."""
        name = self._derived(memory_key)
        return os.path.join(name[:2], f"{name[2:]}.sealed")

    def seal(self, value: Mapping[str, object]) -> bytes:
        """A JSON value that only this key opens."""
        data = json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "replace")
        return self._seal.encrypt(data + b" " * (-len(data) % PADDED_BYTES))

    def open(self, data: bytes) -> dict[str, Any] | None:
        """The value; None where the file is cut or changed, or another key sealed it."""
        from cryptography.fernet import InvalidToken

        try:
            return dict(json.loads(self._seal.decrypt(data)))
        except (InvalidToken, ValueError, TypeError):
            return None

    def _derived(self, what: str) -> str:
        key = blake2b(self.text.strip().encode()).digest()
        return blake2b(what.encode(), digest_size=16, key=key, person=b"names").hexdigest()
