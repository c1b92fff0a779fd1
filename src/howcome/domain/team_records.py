"""A memory as it travels between a member's machine and the team's server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

from howcome.domain import memories
from howcome.domain.events import PUSHED_ORIGINS
from howcome.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TOKEN_PREFIX = "hct_"  # noqa: S105 - what they begin with
"""What scanners know a token by."""

MAX_RECORDS, MAX_BODY_BYTES, MAX_REPOSITORY_CHARS = 200, 1 << 20, 300
_KEY = re.compile(rf"[0-9a-f]{{{2 * memories.KEY_BYTES}}}")
_REPOSITORY = re.compile(r"[^\W_][\w.-]*(?:/[^/\x00-\x1f\x7f\ud800-\udfff]+)+")
_ALLOWED = {"type": memories.TYPES, "status": memories.STATUSES, "origin": PUSHED_ORIGINS}


@dataclass(frozen=True, slots=True)
class Record:
    """One memory: `repository` is `host/owner/name`; `is_withdrawn`: its author took it back, so it has no text."""

    key: str
    type: str
    status: str
    created_ms: int
    origin: str
    repository: str
    supersedes: str | None
    text: str
    is_withdrawn: bool = False

    @property
    def value(self) -> dict[str, object]:
        """As JSON."""
        created = datetime.fromtimestamp(self.created_ms / 1000, UTC).isoformat(timespec="milliseconds")
        return {
            "key": self.key, "type": self.type, "status": self.status, "created": created, "origin": self.origin,
            "repository": self.repository, "supersedes": self.supersedes, "text": self.text,
            "withdrawn": self.is_withdrawn,
        }  # fmt: skip


def record_of(value: object) -> Record:
    """A record of what somebody sent.

    Raises:
        UsageError: it is none; the message names the field.
    """
    if not isinstance(value, dict):
        raise UsageError("a memory is a JSON object")
    for name, allowed in _ALLOWED.items():
        if value.get(name) not in allowed:
            raise UsageError(f"{name}: one of {', '.join(allowed)}")
    is_withdrawn, supersedes = value.get("withdrawn", False), value.get("supersedes")
    if not isinstance(is_withdrawn, bool):
        raise UsageError("withdrawn: true or false")
    text = _text(value)
    if bool(text.strip()) == is_withdrawn:
        raise UsageError("text: a memory needs words, one that is withdrawn has none")
    return Record(
        _key(value, "key"), str(value["type"]), str(value["status"]), _created_ms(value),
        str(value["origin"]), repository_of(value.get("repository")),
        None if supersedes is None else _key(value, "supersedes"), text, is_withdrawn,
    )  # fmt: skip


def repository_of(value: object) -> str:
    """The name of a repository.

    Raises:
        UsageError: it is none.
    """
    if not isinstance(value, str) or len(value) > MAX_REPOSITORY_CHARS or _REPOSITORY.fullmatch(value) is None:
        raise UsageError("repository: host/owner/name, like github.com/acme/app")
    return value


def _text(value: Mapping[str, object]) -> str:
    text = value.get("text")
    if not isinstance(text, str) or len(text) > memories.MAX_TEXT_CHARS or "\0" in text:
        raise UsageError(f"text: at most {memories.MAX_TEXT_CHARS} characters, none of them NUL")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("text: half a character (a lone surrogate)") from error
    return text


def _key(value: Mapping[str, object], name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str) or _KEY.fullmatch(found) is None:
        raise UsageError(f"{name}: {2 * memories.KEY_BYTES} hexadecimal digits, lower case")
    return found


def _created_ms(value: Mapping[str, object]) -> int:
    try:
        found = datetime.fromisoformat(str(value.get("created")))
        if found.tzinfo is None:
            raise UsageError("created: a time with its zone, like 2026-11-24T02:31:02.796+00:00")
        return round(found.timestamp() * 1000)
    except (ValueError, OverflowError) as error:
        raise UsageError("created: a time, like 2026-11-24T02:31:02.796+00:00") from error
