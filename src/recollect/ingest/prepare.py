"""An event as said becomes a row ready to be stored: private spans dropped, secrets redacted, keyed, cut, packed."""

from __future__ import annotations

import json
from hashlib import blake2b

import zstandard

from recollect.domain import events
from recollect.domain.sources import NewEvent
from recollect.ingest.secrets import Redactor, strip_private, strip_private_value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.capture.records import ReaderState
    from recollect.domain.events import Event

KEY_BYTES = 16
PLAIN_PAYLOAD_CHARS = 200
"""Shorter payloads do not get smaller by compression."""

_KIND_NUMBERS = {kind: number for number, kind in enumerate(events.KINDS)}
_ORIGIN_NUMBERS = {origin: number for number, origin in enumerate(events.ORIGINS)}


class Preparer:
    """Turns events into rows with one store's key: equal events get equal keys, equal secrets equal placeholders."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._redactor = Redactor(key)
        self._compress = zstandard.ZstdCompressor(level=1, write_content_size=True).compress

    def prepare(self, event: Event, order_ms: int) -> NewEvent:
        """The row of an event. `order_ms` places it in its session whatever the clock did."""
        said = event.text
        if event.input is not None:
            said = json.dumps(event.input, ensure_ascii=False, separators=(",", ":"), default=str)
        key = self._identify(event, said)
        text, words = self._redact(event, said)
        excerpt = events.cut(words, events.excerpt_limit(event.kind))
        file = self._redactor.redact(event.file) if event.file else event.file
        columns = (
            _KIND_NUMBERS[event.kind], _ORIGIN_NUMBERS[event.origin], event.ts_ms, order_ms, event.tool,
            event.tool_use_id, file, event.branch, event.agent_id, event.failed, event.exit_code, len(text), excerpt,
            self._pack(event.kind, text, excerpt),
        )  # fmt: skip
        search_text = events.searchable(event.kind, event.tool, file, words)
        return NewEvent(key, event.session_id, event.cwd, columns, search_text)

    def redact_state(self, state: ReaderState) -> dict[str, object]:
        """What a reader remembers, without the secrets of the calls in it; their ids stay as they are."""
        calls = {call_id: self._redactor.redact_value(call) for call_id, call in state.calls.items()}
        return {**state.to_values(), "calls": calls}

    def _identify(self, event: Event, said: str) -> bytes:
        """Identity is what was said, by whom, in which record: never the envelope, never the session (forks copy)."""
        head = f"{event.client}\0{event.record_id}\0{event.block}\0{event.kind}\0{event.tool_use_id or ''}\0"
        if not event.record_id:
            head += f"{event.session_id}\0{event.ts_ms}\0"
        return blake2b((head + said).encode("utf-8", "replace"), digest_size=KEY_BYTES, key=self._key).digest()

    def _redact(self, event: Event, said: str) -> tuple[str, str]:
        """The whole text to keep, and the words of it that are shown and searched."""
        if event.input is None:
            text = self._redactor.redact(strip_private(said))
            return text, text
        values = self._redactor.redact_value(strip_private_value(event.input) if "<private" in said else event.input)
        text = said
        if values != event.input:
            text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str)
        return text, events.call_text(event.tool, values)  # type: ignore[arg-type]

    def _pack(self, kind: str, text: str, excerpt: str) -> bytes | str | None:
        """Turns stay plain: a prompt hook cuts passages from them and must not load a decompressor for it."""
        if text == excerpt:
            return None
        if len(text) <= PLAIN_PAYLOAD_CHARS or kind in events.TURN_KINDS:
            return text
        return self._compress(text.encode())
