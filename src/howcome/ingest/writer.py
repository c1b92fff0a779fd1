"""Records become rows and are committed: what reading many files, one after the other, needs to write.

An event as said becomes a row: private spans dropped, secrets redacted, keyed, cut, packed. Batches of small files wait
for each other: a transaction costs more than what most of them say.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from typing import Any, TypedDict

import zstandard

from howcome.clients.decode import decode_record
from howcome.clients.registry import history_of
from howcome.domain import events
from howcome.domain.events import Event
from howcome.domain.sources import Batch, NewEvent
from howcome.errors import TranscriptError
from howcome.ingest.exclusion import Places
from howcome.redact.gate import Gate
from howcome.redact.private_spans import strip_private, strip_private_value
from howcome.settings import Settings
from howcome.store.base import Store

Settle = Callable[[dict[str, int]], None]
Again = Callable[[], object]

KEY_BYTES = 16
PLAIN_PAYLOAD_CHARS = 200
"""Shorter payloads do not get smaller by compression."""

HELD_BATCHES, HELD_RECORDS, HELD_BYTES = 256, 2000, 4 << 20
"""So much waits to be committed together, at most."""

FEW_BYTES = 1 << 20
"""So much is decoded sooner than the faster decoder is imported: 20 ms of a turn's end, `json` reads 100 MB/s."""


class Preparer:
    """Turns events into rows with one store's key: equal events get equal keys, equal secrets equal placeholders.

    A store's own `gate` knows its settings, too.
    """

    def __init__(self, key: bytes, gate: object = None) -> None:
        self._key = key
        self.gate = gate if isinstance(gate, Gate) else Gate(lambda: key)
        self._compress = zstandard.ZstdCompressor(level=1, write_content_size=True).compress

    def foresee(self, events: Iterable[Event]) -> None:
        """Looks for secrets in all events that are prepared next at once."""
        self.gate.redactor.foresee(event.text if event.input is None else event.input for event in events)

    def prepare(self, event: Event, order_ms: int) -> NewEvent:
        """The row of an event. `order_ms` places it in its session whatever the clock did."""
        said = event.text if event.input is None else _as_text(event.input)
        key = self._identify(event, said)
        name = self.gate.name
        text, words = self._redact(said, event.input, event.tool)
        excerpt = events.cut(words, events.excerpt_limit(event.kind))
        new = NewEvent()
        new.key, new.session, new.cwd = key, self.gate.text(event.session_id), name(event.cwd)
        new.kind, new.origin = events.KIND_NUMBERS[event.kind], events.ORIGIN_NUMBERS[event.origin]
        new.ts_ms, new.order_ms = event.ts_ms, order_ms
        new.tool, new.tool_use_id, new.file = name(event.tool), name(event.tool_use_id), name(event.file)
        new.branch, new.agent_id = name(event.branch), name(event.agent_id)
        new.failed, new.exit_code, new.text_chars = event.failed, event.exit_code, len(text)
        new.excerpt, new.payload = excerpt, self._pack(event.kind, text, excerpt)
        new.search_text = events.searchable(event.kind, new.tool, new.file, words, text)
        return new

    def _identify(self, event: Event, said: str) -> bytes:
        """Identity is what was said, by whom, in which record: never the envelope, never the session (forks copy)."""
        head = f"{event.client}\0{event.record_id}\0{event.block}\0{event.kind}\0{event.tool_use_id or ''}\0"
        if not event.record_id:
            head += f"{event.session_id}\0{event.ts_ms}\0"
        return blake2b((head + said).encode("utf-8", "replace"), digest_size=KEY_BYTES, key=self._key).digest()

    def prepare_again(
        self, kind: str, tool: str | None, said: str, excerpt: str
    ) -> tuple[str, str, bytes | str | None] | None:
        """Text, excerpt and payload of a stored event by the rules as they are now; None when they may stay."""
        values = None
        if kind == events.TOOL_CALL and said.startswith("{"):
            with contextlib.suppress(ValueError):
                values = json.loads(said)
        text, words = self._redact(said, values, tool)
        if text == said and self.gate.redactor.redact(excerpt) == excerpt:
            return None
        excerpt = events.cut(words, events.excerpt_limit(kind))
        return text, excerpt, self._pack(kind, text, excerpt)

    def _redact(self, said: str, values: Mapping[str, object] | None, tool: str | None) -> tuple[str, str]:
        """The whole text to keep, and the words of it that are shown and searched; `values` are a call's input."""
        if values is None:
            text = self.gate.redactor.redact(strip_private(said))
            return text, text
        given: Any = strip_private_value(values) if "<private" in said else values
        gated = self.gate.text  # a part of a path may be a secret where the whole is none
        given = {
            name: gated(item) if isinstance(item, str) and item[:1] == "/" else item for name, item in given.items()
        }
        redacted = self.gate.value(given)
        text = said if redacted == values else _as_text(redacted)
        return text, events.call_text(self.gate.name(tool), redacted)  # type: ignore[arg-type]

    def _pack(self, kind: str, text: str, excerpt: str) -> bytes | str | None:
        """Turns stay plain: a prompt hook cuts passages from them and must not load a decompressor for it."""
        if text == excerpt:
            return None
        if len(text) <= PLAIN_PAYLOAD_CHARS or kind in events.TURN_KINDS:
            return text
        return self._compress(text.encode())


def _as_text(values: object) -> str:
    return json.dumps(values, ensure_ascii=False, separators=(",", ":"), default=str)


class RecordWriter:
    """Writes records into one store.

    Args:
        store: Where rows and cursors go.
        places: Decides the project of a folder, and whether it is excluded.
        now_ms: The clock, UTC milliseconds.
        on_rows: Called after each commit with the search texts of the new rows by row id.
        meet: Called with the root of a repository before anything of it is stored, where there is time for that.
    """

    commits = True
    """Whether what is written is committed here; else it is sent to who does."""

    def __init__(
        self,
        store: Store,
        places: Places,
        *,
        now_ms: Callable[[], int],
        on_rows: Callable[[dict[int, str]], None] | None = None,
        meet: Callable[[str], None] | None = None,
    ) -> None:
        self._store, self.places, self.now_ms, self._on_rows, self._meet = store, places, now_ms, on_rows, meet
        self._is_ended_then = False
        self.starts_over = False
        """Whether each source is read from its start, once, whatever was read of it."""
        self._started: set[str] = set()
        self._held: list[tuple[Batch, Settle, Again]] | None = None
        """The last batches of files that were read to their end, in their order, where several are committed at once.
        Each cursor still moves with its rows, and whoever is killed has read nothing of what is held."""
        self._held_records = self._held_bytes = 0
        self._met: set[str] = set()
        self._decoders: dict[str, Callable[[bytes], object] | None] = {}
        self._decoded_bytes = 0

    def commit_held(self) -> None:
        """Commits what waits for others."""
        if self._held:
            held, self._held, self._held_records, self._held_bytes = self._held, [], 0, 0
            self.commit_all(held)

    def commit_all(self, held: Sequence[tuple[Batch, Settle, Again]]) -> None:
        """Commits batches together; a source whose cursor another process has moved meanwhile is read anew."""
        moved = []
        appended = self._store.log.append_all([batch for batch, *_ in held]) if held else []
        for (_, settle, again), found in zip(held, appended, strict=True):
            if found is None:
                moved.append(again)
                continue
            counts, new_rows = found
            settle(counts)
            self._hand_on(new_rows)
        for again in moved:
            with contextlib.suppress(TranscriptError):  # gone meanwhile: nothing of it is lost that is still there
                again()

    def write(self, batch: Batch, settle: Settle, again: Again | None) -> None:
        """Commits a batch and tells what was counted: now, or with others where its source can be read `again`."""
        if self._held is None or again is None:
            self.commit_held()
            settle(self.store_batch(batch))
            return
        self._gate_roots(batch)
        self._held.append((batch, settle, again))
        self._held_records += len(batch.records)
        self._held_bytes += sum(record.size_bytes for record in batch.records)
        is_many = len(self._held) >= HELD_BATCHES or self._held_records >= HELD_RECORDS
        if is_many or self._held_bytes >= HELD_BYTES:
            self.commit_held()

    @cached_property
    def preparer(self) -> Preparer:
        """The preparer with the store's key, made on first use (it loads the secret rules)."""
        key = self._store.meta("key")
        return Preparer(bytes(key), self._store.gate)  # type: ignore[call-overload]

    def ask_second_opinion(self, settings: Settings) -> None:
        """Lets the scanner that the settings name look at what is read from now on, too."""
        if settings.second_opinion != "off":
            from howcome.redact.second_opinion import kingfisher

            cache_folder = os.path.join(settings.home, "models", "kingfisher")
            self.preparer.gate.redactor.ask_too(kingfisher(cache_folder))

    def decode(self, data: bytes, client: str) -> dict[str, object]:
        """One line as a record."""
        self._decoded_bytes += len(data)
        if self._decoded_bytes > FEW_BYTES and client not in self._decoders:
            self._decoders[client] = fast_decoder(client)
        return decode_record(data, self._decoders.get(client))

    def store_batch(self, batch: Batch) -> dict[str, int]:
        """Commits a batch; hands the new rows on to the index."""
        self._gate_roots(batch)
        counts, new_rows = self._store.log.append(batch)
        self._hand_on(new_rows)
        return counts

    def _gate_roots(self, batch: Batch) -> None:
        """Names the folders of a batch as its events do."""
        gated = self.preparer.gate.text
        batch.roots = {gated(cwd): (gated(root), is_sure) for cwd, (root, is_sure) in batch.roots.items()}

    def _hand_on(self, new_rows: dict[int, str]) -> None:
        if self._on_rows is not None and new_rows:
            self._on_rows(new_rows)

    def root_of(self, cwd: str) -> tuple[str, bool]:
        """As `Places.root_of`; a repository is met first, but not by who is ended at a deadline."""
        root, is_certain = self.places.root_of(cwd)
        if is_certain and self._meet is not None and not self._is_ended_then and root not in self._met:
            self._met.add(root)
            if not self.places.is_excluded(cwd):
                self._meet(root)
        return root, is_certain


def fast_decoder(client: str) -> Callable[[bytes], object] | None:
    """A decoder that never makes values of what nobody looks at; None where there is only the standard library's."""
    try:
        import msgspec
    except ImportError:  # the standard library's decoder gives the same records, more slowly
        return None
    wanted = history_of(client).fields
    if not wanted:
        return msgspec.json.decode

    def shape(fields: Mapping[str, tuple[str, ...]]) -> Any:  # noqa: ANN401 - a type made from a table
        kinds = {
            name: shape(dict.fromkeys(inner, ())) | str | list[Any] | float | bool | None if inner else Any
            for name, inner in fields.items()
        }
        return TypedDict("shape", kinds, total=False)  # type: ignore[operator]

    decode: Callable[[bytes], object] = msgspec.json.Decoder(shape(wanted)).decode
    return decode
