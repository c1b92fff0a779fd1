"""Observations on both sides of the spool: redacted on their way in, made rows on their way out.

A secret must rest nowhere, and a spool (with its dead letters) may rest for long: so redaction comes before the append,
with a key of the spool's own, because the store need not be there yet. The rows of all batches of one agent have one
source, `spool:<agent>`, whose cursor counts bytes; a batch that was committed but not deleted adds only duplicates.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable

from howcome.clients import spool
from howcome.clients.decode import decode_record
from howcome.clients.files import MAX_LINE_BYTES, digest_of, read_whole
from howcome.clients.observed import Observation, check_observation, read_observation
from howcome.clients.spool import DeadLetter
from howcome.domain.sources import Batch, NewEvent, NewRecord, SourceState
from howcome.errors import CursorMovedError, RecordError, StoreError, StoreLockedError, TranscriptError, UsageError
from howcome.ingest.exclusion import Places
from howcome.ingest.pipeline import Ingester
from howcome.redact.gate import Gate
from howcome.redact.private_spans import strip_private, strip_private_value
from howcome.settings import Settings
from howcome.store.base import Store

SOURCE_PREFIX = "spool:"
BATCH_RECORDS = 1000
MAX_RETRIES = 20
FIRST_RETRY_S = 600.0
LAST_RETRY_S = 24 * 3600.0
"""A batch that the store refused is tried again after 10 minutes, then after four times as long, at last once a day."""


class Intake:
    """What became of observations at the door; `problems` are (number of the observation, reason)."""

    def __init__(self) -> None:
        self.kept = self.excluded = 0
        self.problems: list[tuple[int, str]] = []


class SpoolReport:
    """What one pass over the spool did: events added and known already, records refused, and whether it is empty."""

    def __init__(self) -> None:
        self.accepted = self.duplicate = self.refused = 0
        self.is_complete = True


def take_in(
    settings: Settings, observations: Iterable[tuple[int, object]], *, agent: str = "", cwd: str = ""
) -> Intake:
    """Checks, redacts and spools observations; the store is not opened.

    Args:
        settings: Where the spool is, what is excluded; with `disable` nothing is kept.
        observations: Decoded JSON values with their numbers.
        agent: Whose they are where they do not say so.
        cwd: Where they were where they do not say so.

    Raises:
        StoreError: the spool cannot be written; nothing was kept.
    """
    intake, places, kept = Intake(), Places(settings.exclude), []
    gate = Gate(lambda: spool.key_of(settings.home), personal=settings.redact_personal)
    for number, value in observations:
        try:
            checked = check_observation(value, agent=_named(value, agent, gate), cwd=cwd)
            if settings.disable or places.is_excluded(str(checked.get("cwd") or "")):
                intake.excluded += 1
            else:
                kept.append(_fit_to_rest(checked, gate))
        except UsageError as error:
            intake.problems.append((number, gate.text(str(error))))
    intake.kept = spool.append(settings.home, kept)
    return intake


def _named(value: object, agent: str, gate: Gate) -> str:
    """The agent where an observation names none; one that is named as a secret is, is refused before it is folded."""
    named = value.get("agent", agent) if isinstance(value, dict) else agent
    if isinstance(named, str) and gate.text(named) != named:
        raise UsageError("agent: the agent's name, not a secret")
    return agent


def _fit_to_rest(checked: Observation, gate: Gate) -> Observation:
    """What may rest on disk: every field redacted, marked spans left out where people write, no longer than a line."""
    redacted = {name: gate.text(value) if isinstance(value, str) else value for name, value in checked.items()}
    for name in ("text", "file"):
        if isinstance(text := checked.get(name), str):
            redacted[name] = gate.text(strip_private(text))
    if "tool_input" in checked:
        redacted["tool_input"] = gate.value(strip_private_value(checked["tool_input"]))
    try:
        size = len(spool.encode(redacted))
    except ValueError as error:
        raise UsageError("tool_input: a number that is none") from error
    if size > MAX_LINE_BYTES:
        raise UsageError(f"larger than {MAX_LINE_BYTES >> 20} MB")
    return redacted


def ingest_spool(
    ingester: Ingester,
    store: Store,
    home: str,
    *,
    deadline: float | None = None,
    retry_all: bool = False,
    wait_s: float = 0.0,
) -> SpoolReport:
    """Moves what was spooled into the store, oldest first; what is new is handed on to the index, not indexed here.

    After the `deadline` the pass stops; what is left waits for the next one. With `retry_all` all dead letters are
    tried too, also single records; else only whole batches whose time has come.

    Raises:
        StoreError: the spool cannot be read or written; nothing is lost.
    """
    report = SpoolReport()
    if store.is_read_only or (spool.is_empty(home) and not spool.dead_letters(home)):
        return report
    try:
        with spool.claiming(home, wait_s):
            _Pass(ingester, store, home, deadline, report).run(retry_all=retry_all)
    except StoreLockedError:  # somebody else moves the spool, or holds the store: it waits
        report.is_complete = False
    return report


class _Pass:
    """One process's turn at the spool."""

    def __init__(
        self, ingester: Ingester, store: Store, home: str, deadline: float | None, report: SpoolReport
    ) -> None:
        self._ingester, self._store, self._home = ingester, store, home
        self._deadline, self._report = deadline, report
        self._roots: dict[str, tuple[str, bool]] = {}
        self._gate = Gate(lambda: spool.key_of(home))  # for lines that did not come by `take_in`, or not whole

    def run(self, *, retry_all: bool) -> None:
        claimed, now_s = [(path, 0) for path in spool.claim(self._home)], self._ingester.now_ms() / 1000
        dead = [letter for letter in spool.dead_letters(self._home) if retry_all or _is_due(letter, now_s)]
        for path, attempts in [*claimed, *((letter.path, letter.attempts) for letter in dead)]:
            if self._is_late():
                self._report.is_complete = False
                return
            self._move(path, attempts)

    def _is_late(self) -> bool:
        return self._deadline is not None and time.monotonic() > self._deadline

    def _move(self, path: str, attempts: int) -> None:
        """One batch into the store, then out of the way: deleted, or put aside with the reason."""
        try:
            refused = self._store_file(path)
        except StoreLockedError:
            raise
        except (StoreError, TranscriptError) as error:
            self._report.is_complete = False
            if not spool.is_records(path):
                spool.bury(self._home, path, type(error).__name__, attempts + 1)
            return
        self._report.refused += len(refused)
        if refused:
            spool.keep_refused(self._home, path, refused)
        if not (refused and spool.is_records(path)):  # else it was just written anew
            os.unlink(path)

    def _store_file(self, path: str) -> list[tuple[str, str]]:
        """Commits the lines of a batch; those that are refused, each with its reason.

        When the time is over, the lines that are left become a batch of their own.
        """
        lines, refused = self._read(path), list[tuple[str, str]]()
        for begin in range(0, len(lines), BATCH_RECORDS):
            if begin and self._is_late() and not spool.is_records(path):
                spool.keep_rest(self._home, path, lines[begin:])
                self._report.is_complete = False
                break
            refused += self._store_lines(lines[begin : begin + BATCH_RECORDS])
        return refused

    def _read(self, path: str) -> list[bytes]:
        lines = [line for line in read_whole(path).split(b"\n") if line and not line.isspace()]
        return [_unwrapped(line) for line in lines] if spool.is_records(path) else lines

    def _store_lines(self, lines: list[bytes]) -> list[tuple[str, str]]:
        refused, places = list[tuple[str, str]](), self._ingester.places
        records: dict[str, list[tuple[int, list[NewEvent]]]] = {}
        for line in lines:
            try:
                kept = check_observation(decode_record(line, None))
                kept.setdefault("id", digest_of(line))  # a line that somebody wrote by hand
                found = read_observation(kept)
                cwd = found[0].cwd or ""
                self._roots[cwd] = places.root_of(cwd)
                left = [] if places.is_excluded(cwd) else found  # its folder may have been excluded since
                rows = [self._ingester.preparer.prepare(event, event.ts_ms or 0) for event in left]
            except (RecordError, UsageError) as error:
                refused.append((self._gate.text(str(error)), self._gate.text(line.decode("utf-8", "replace"))))
            else:
                records.setdefault(str(kept["agent"]), []).append((len(line) + 1, rows))
        for agent, new in records.items():
            self._commit(agent, new)
        return refused

    def _commit(self, agent: str, found: list[tuple[int, list[NewEvent]]]) -> None:
        """Rows and cursor of one agent's source, in one transaction."""
        path = SOURCE_PREFIX + agent
        for _ in range(MAX_RETRIES):
            after = self._store.log.source(path) or SourceState(path, agent)
            records = []
            for size, rows in found:
                records.append(NewRecord(after.offset, size, rows))
                after.offset += size
            try:
                counts = self._ingester.store_batch(Batch(after, records, self._roots, self._ingester.now_ms()))
            except CursorMovedError:
                continue
            self._report.accepted += counts["accepted"]
            self._report.duplicate += counts["duplicate"]
            return
        raise StoreLockedError(f"{path}: other processes are writing it")


def _unwrapped(line: bytes) -> bytes:
    """A refused line as it was."""
    try:
        return str(json.loads(line)["line"]).encode("utf-8", "replace")
    except (ValueError, LookupError, TypeError, RecursionError):
        return line


def _is_due(letter: DeadLetter, now_s: float) -> bool:
    """Whether a batch that was refused should be tried again; single records only are when somebody asks for it."""
    wait_s = min(FIRST_RETRY_S * 4.0 ** min(letter.attempts - 1, 10), LAST_RETRY_S)
    return not letter.is_records and now_s - letter.failed_s >= wait_s
