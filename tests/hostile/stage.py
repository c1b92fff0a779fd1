"""A store with two projects and its transcripts, to be tormented; and the undisturbed store that it has to equal.

`Stage.made` builds it once, `copied` hands out copies, `grow` gives the doors work, `wounds` heals it as a user would
(an import) and says what is not as it would be if nothing had happened.
"""

from __future__ import annotations

import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import apsw
from tests.builders import Claude, Record, write
from tests.checks import assert_accounted, assert_indexed
from tests.hostile.doors import DOORS, complaints, opened

from howcome.store.sqlite import SqliteStore

_EVENTS = (
    "SELECT e.key, s.name, p.root, f.path, e.offset, e.kind, e.origin, e.tool_use_id, e.ts_ms, e.excerpt, e.payload"
    " FROM events e JOIN sources f ON f.id = e.source_id JOIN sessions s ON s.id = e.session_id"
    " JOIN projects p ON p.id = e.project_id"
)
_MEMBERSHIPS = (
    "SELECT s.name, e.key FROM memberships m JOIN sessions s ON s.id = m.session_id JOIN events e ON e.id = m.event_id"
)
_BY_HAND = "SELECT text FROM memories WHERE source = 'hand' AND deleted_ms IS NULL"
_DISTILLED = (
    "SELECT m.type, m.text, m.subject, m.status, p.root FROM memories m LEFT JOIN projects p ON p.id = m.project_id"
    " WHERE m.source != 'hand' AND m.deleted_ms IS NULL"
)
EXCHANGES = 12


class Stage:
    """The store in `home`, its transcripts of two projects, and what was kept in it by hand."""

    def __init__(self, root: Path, user: Path | None = None) -> None:
        self.root, self.home, self.twin = root, root / "store", root / "twin"
        self.user = user or root / "user"
        self.transcripts = self.user / ".claude" / "projects"
        self.harbour = Claude("hostile-a", "/gone/harbour")
        self.dike = Claude("hostile-b", "/gone/dike")
        self.harbour_path = self.transcripts / "-gone-harbour" / "hostile-a.jsonl"
        self.dike_path = self.transcripts / "-gone-dike" / "hostile-b.jsonl"
        self.rounds = 0
        self.kept: list[str] = []

    @classmethod
    def made(cls, root: Path) -> Stage:
        """A store that has been used: read, remembered, distilled, asked."""
        stage = cls(root)
        stage.harbour_path.parent.mkdir(parents=True)
        stage.dike_path.parent.mkdir(parents=True)
        write(stage.harbour_path, *stage.harbour.conversation(EXCHANGES, "berth"), *taught(stage.harbour, "berth"))
        write(stage.dike_path, *stage.dike.conversation(EXCHANGES, "crane"), *taught(stage.dike, "crane"))
        for name in ("import", "remember", "distil", "UserPromptSubmit", "search"):
            outcome = opened(DOORS[name], stage)
            assert (outcome.code, outcome.err) == (0, b""), outcome.err[-3000:]
        stage.kept.append(stage.note)
        assert len(rows(stage.home, _DISTILLED)) == 2  # one of each project, or there is nothing to lose
        return stage

    def copied(self, root: Path) -> Stage:
        """The same at another place (where the store knows the transcripts by their new paths)."""
        shutil.copytree(self.root, root, symlinks=True, ignore=shutil.ignore_patterns("twin", "*.sock"))
        connection = apsw.Connection(str(root / "store" / "howcome.db"))
        connection.execute("UPDATE sources SET path = ? || substr(path, ?)", (str(root), len(str(self.root)) + 1))
        connection.close()
        return self._at(root, None)

    def with_same_transcripts(self, root: Path) -> Stage:
        """A copy of the store alone, byte for byte: its transcripts are these, and must not grow."""
        shutil.copytree(self.home, root / "store", symlinks=True)
        return self._at(root, self.user)

    def _at(self, root: Path, user: Path | None) -> Stage:
        other = type(self)(root, user)
        other.harbour.number, other.dike.number = self.harbour.number, self.dike.number
        other.rounds, other.kept = self.rounds, [*self.kept]
        return other

    @property
    def environment(self) -> dict[str, str]:
        """What processes on this stage have in their environment."""
        return {"HOWCOME_HOME": str(self.home), "HOME": str(self.user)}

    @property
    def note(self) -> str:
        """What this round would keep by hand."""
        return f"Note {self.rounds}: the winch of quay {self.rounds} is oiled every {self.rounds + 2} days."

    def grow(self, exchanges: int = 1) -> None:
        """One more round: new exchanges in the first project's transcript, and another note to keep."""
        self.rounds += 1
        for subject in (f"round{self.rounds}x{number}" for number in range(exchanges)):
            write(self.harbour_path, *self.harbour.exchange(subject), *taught(self.harbour, subject), append=True)

    # -- afterwards ----------------------------------------------------------------------------------------------------
    def wounds(self, *, distilled: bool = False) -> list[str]:
        """Heals by an import (and a distillation), then compares with a store to which nothing happened."""
        for name in ("import", "distil") if distilled else ("import",):
            outcome = opened(DOORS[name], self)
            if outcome.code != 0 or _unexpected(outcome.err) or complaints(DOORS[name], outcome):
                return [f"healing: {name} ended with {outcome.code}: {outcome.err.decode()[-400:]}"]
        self._bring_up_twin(distilled=distilled)
        return self._differences(distilled=distilled) or self._unsound()

    def _bring_up_twin(self, *, distilled: bool) -> None:
        fresh = {"HOWCOME_HOME": str(self.twin)}
        if not self.twin.exists():
            SqliteStore(str(self.twin)).close()
            key = rows(self.home, "SELECT value FROM meta WHERE name = 'key'")
            [(value,)] = key
            with apsw.Connection(str(self.twin / "howcome.db")) as connection:
                connection.execute("UPDATE meta SET value = ? WHERE name = 'key'", (value,))
            connection.close()
        for name in ("import", "distil") if distilled else ("import",):
            outcome = opened(DOORS[name], self, fresh)
            assert (outcome.code, outcome.err) == (0, b""), outcome.err[-3000:]

    def _differences(self, *, distilled: bool) -> list[str]:
        found = []
        for what, sql in (
            ("events", _EVENTS),
            ("memberships", _MEMBERSHIPS),
            *([("memories", _DISTILLED)] * distilled),
        ):
            here, there = rows(self.home, sql), rows(self.twin, sql)
            if here != there:
                found.append(f"{what}: {(there - here).total()} lost, {(here - there).total()} too many")
        kept = rows(self.home, _BY_HAND)
        wanted = Counter((text,) for text in self.kept)
        if wanted - kept or any(count > 1 for count in kept.values()):
            found.append(f"kept by hand: {(wanted - kept).total()} lost, {sum(n - 1 for n in kept.values())} twice")
        return found

    def _unsound(self) -> list[str]:
        store = SqliteStore(str(self.home))
        try:
            assert_accounted(store)
            assert_indexed(store)
        except AssertionError as error:
            return [f"unsound: {str(error)[:300]}"]
        finally:
            store.close()
        return []


def taught(claude: Claude, subject: str) -> list[Record]:
    """What the user says after an exchange about something, so that a memory comes of it."""
    said = f"never keep the fixture of `{subject}.py`, make it anew before each run because it is stale after an hour"
    return [claude.user(said), claude.text("It is made anew.")]


def _unexpected(said: bytes) -> list[bytes]:
    """What healing says on standard error, but for the damaged indexes that it names and makes anew."""
    return [line for line in said.splitlines() if not line.endswith(b"; it is made anew from the rows")]


def rows(home: Path, sql: str) -> Counter[tuple[Any, ...]]:
    """What a query finds in a store, each row with how often."""
    connection = apsw.Connection(os.path.join(home, "howcome.db"))
    try:
        return Counter(connection.execute(sql))
    finally:
        connection.close()
