"""Make recorded transcripts publishable: invented paths, fixed dates, none of the client's own prompt texts."""

from __future__ import annotations

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

STRETCH = 90
DAY_MS = 86_400_000
SPOKEN_ATTACHMENTS = ("file", "edited_text_file", "hook_")
REQUEST_KEYS = ("type", "sessionId", "agentId", "id", "hash", "shapeHash", "timestamp", "version")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class LeakError(RuntimeError):
    """A scrubbed text still names the machine it was recorded on."""


class Clock:
    """Maps the seconds of a recording to minutes of an invented day."""

    def __init__(self, recorded: datetime, invented: datetime) -> None:
        self._recorded = recorded
        self._invented = invented

    def moment(self, text: str) -> str:
        """Move an ISO time stamp."""
        return _iso(self._move(datetime.fromisoformat(text)))

    def number(self, value: int) -> int:
        """Move a number that is a time in milliseconds, and leave every other one alone."""
        if abs(value - self._recorded.timestamp() * 1000) > DAY_MS:
            return value
        return int(self._move(datetime.fromtimestamp(value / 1000, UTC)).timestamp() * 1000)

    def _move(self, moment: datetime) -> datetime:
        """Keep the order and widen the distances."""
        offset = (moment - self._recorded) * STRETCH
        moved = self._invented + offset
        return moved - timedelta(microseconds=moved.microsecond % 1000)


def _iso(moment: datetime) -> str:
    """Write a time as the client does."""
    return moment.strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"


class Scrubber:
    """Rewrites everything below one recording folder that holds `tidepool` and `home`."""

    def __init__(self, root: Path) -> None:
        places = {
            root / "tidepool": "/home/dev/tidepool",
            root / "home": "/home/dev",
            root: "/home/dev",
            Path(sys.prefix): "/home/dev/tidepool/.venv",
            Path(sys.base_prefix): "/usr/local",
        }
        pairs = [(str(place), name) for place, name in places.items()]
        pairs += [(_folder(place), _folder(name)) for place, name in pairs]
        self._pairs = sorted(pairs, key=lambda pair: -len(pair[0]))
        self._forbidden = (str(root), root.name, sys.prefix)
        self._clocks: dict[datetime, Clock] = {}

    def text(self, text: str) -> str:
        """Replace the places of the recording in one string."""
        for place, name in self._pairs:
            text = text.replace(place, name)
        return text

    def file(self, path: Path, start: datetime) -> str:
        """Return the scrubbed text of one file of the session that is to begin at `start`."""
        content = path.read_text(encoding="utf-8")
        clock = self._clock(content, start)
        lines = content.splitlines() if path.suffix == ".jsonl" else [content]
        scrubbed = [self._value(hollow(json.loads(line)), clock) for line in lines if line.strip()]
        text = "".join(json.dumps(v, ensure_ascii=False, separators=(",", ":")) + "\n" for v in scrubbed)
        for word in self._forbidden:
            if word in text:
                raise LeakError(f"{path.name} still holds {word!r}")
        return text

    def _clock(self, content: str, start: datetime) -> Clock:
        """Return the clock of a session: files of one session share the first time stamp that was seen."""
        if start not in self._clocks:
            moments = MOMENT.findall(content)
            first = min(map(datetime.fromisoformat, moments)) if moments else start
            self._clocks[start] = Clock(first, start)
        return self._clocks[start]

    def _value(self, value: Any, clock: Clock) -> Any:
        """Rewrite the strings and times inside a JSON value."""
        if isinstance(value, str):
            return clock.moment(value) if MOMENT.fullmatch(value) else self.text(value)
        if isinstance(value, list):
            return [self._value(item, clock) for item in value]
        if isinstance(value, dict):
            return {self.text(key): self._value(item, clock) for key, item in value.items()}
        return clock.number(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _folder(place: str) -> str:
    """Name a folder as the client names the transcripts of it."""
    return re.sub(r"[^A-Za-z0-9]", "-", place)


def hollow(record: dict[str, Any]) -> dict[str, Any]:
    """Empty the records that carry the client's prompts, tool lists and raw requests; keep all others whole."""
    kind = str(record.get("type"))
    if kind.startswith("api-request"):
        return {key: record[key] for key in REQUEST_KEYS if key in record}
    if kind != "attachment":
        return record
    attachment = record["attachment"]
    spoken = str(attachment.get("type")).startswith(SPOKEN_ATTACHMENTS)
    kept = {key: value for key, value in record.items() if key != "rendered"}
    return {**kept, "attachment": attachment if spoken else {"type": attachment.get("type")}}
