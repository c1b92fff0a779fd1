"""A store as rules left it that find nothing: every text in clear, in every table, index and file beside it."""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from tests.builders import Claude, Codex, write
from tests.hashing import HashingEmbedder

from howcome.app import App
from howcome.clients.spool import keep_refused
from howcome.domain.memories import NewMemory
from howcome.redact.gate import Gate
from howcome.settings import read_settings
from howcome.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from pathlib import Path

KEY_ID = "AKIA" + "Q3EGRIZ7T2WKMNVB"
TOKEN = "ghp_" + "b7Qx2Lm9Zt4Kc8Rv1Wp6Hd3Ys5Nj0GfTaEuB"
SECRETS = (KEY_ID, TOKEN)
SESSION = f"s {TOKEN}"
CWD = f"/home/mara/{TOKEN}"


class _NoRules:
    """What finds nothing."""

    def foresee(self, values: object) -> None:
        """Nothing."""

    def redact(self, text: str) -> str:
        """The text."""
        return text

    def redact_value(self, value: object) -> object:
        """The value."""
        return value


class OpenGate(Gate):
    """A gate through which everything goes."""

    @property
    def redactor(self) -> _NoRules:  # type: ignore[override]
        """None."""
        return _NoRules()


def transcripts(folder: Path, exchanges: int) -> list[Path]:
    """What was read: secrets in prompts, long results, inputs, names of everything, and a call that still runs."""
    claude, codex = Claude(session=SESSION, cwd=CWD, gitBranch=KEY_ID, agentId=TOKEN), Codex(session=SESSION, cwd=CWD)
    long = "\n".join(f"line {number} of the log, {KEY_ID}" for number in range(60))
    records = [
        claude.user(f"deploy with {TOKEN} please"), claude.text(f"I used {KEY_ID} for the jetty."),
        claude.call("Write", "toolu_1", file_path=f"{CWD}/a.env", content=f"id={KEY_ID}\n{long}"),
        claude.result("toolu_1", long), claude.call(TOKEN, f"t {TOKEN}", query=KEY_ID),
        *claude.conversation(exchanges, "berth"), claude.call("Read", "toolu_9", file_path=f"/srv/{TOKEN}"),
    ]  # fmt: skip
    other = Claude(session="clean", cwd="/home/mara/harbour")
    return [
        write(folder / f"{TOKEN}.jsonl", *records),
        write(folder / "rollout-1.jsonl", codex.meta(), codex.call(TOKEN, ["ls"])),
        write(folder / "clean.jsonl", *other.conversation(3, "crane")),
    ]  # fmt: skip


def open_ungated(home: Path) -> App:
    """The façade over a store without a gate."""
    settings = read_settings({**os.environ, "HOWCOME_HOME": str(home)})
    app = App(SqliteStore(str(home)), settings, embedder=HashingEmbedder())
    app.ingest.ingester().preparer.gate = OpenGate(lambda: b"")
    return app


def read(app: App, paths: list[Path]) -> dict[str, int]:
    """What reading transcripts adds."""
    counts = {"accepted": 0, "duplicate": 0}
    for path in paths:
        found = (
            app.ingest.ingester().ingest_file(str(path), "codex" if "rollout" in path.name else "claude-code").counts
        )
        counts = {name: number + found[name] for name, number in counts.items()}
    return counts


def make(home: Path, paths: list[Path]) -> None:
    """Everything that a store can hold."""
    with open_ungated(home) as app:
        store = app.store
        assert isinstance(store, SqliteStore)
        read(app, paths)
        new = NewMemory(
            key=b"m" * 16, digest=b"d" * 16, type="decision", text=f"The jetty's key is {KEY_ID}, not {TOKEN}.",
            project=CWD, agent=TOKEN, origin="user", status="open", created_ms=1, subject=KEY_ID,
        )  # fmt: skip
        memory, _ = store.memories.add(new)
        session, project = store.sessions.named(SESSION)[0], store.projects.of_root(CWD)
        execute = store.connection.execute
        execute(
            "INSERT INTO candidates (session_id, exchange, project_id, key, type, text, subject, origin, ts_ms,"
            " evidence) VALUES (?, 1, ?, ?, 'decision', ?, ?, 0, 1, '[]')",
            (session, project, b"c", TOKEN, KEY_ID),
        )  # fmt: skip
        execute("INSERT INTO memory_vectors VALUES (?, 'm', ?)", (b"c", b"v"))
        execute(
            "INSERT INTO rationales VALUES (1, ?, ?, ?, 0, 1, 1, 1, 'rules', ?, ?)",
            (b"r", session, project, TOKEN, f"asked for {KEY_ID}"),
        )  # fmt: skip
        store.injections.record(SESSION, "UserPromptSubmit", 1, [(1, 0.5)])
        store.injections.record(SESSION, "UserPromptSubmit", 1, (), [(memory.row, 0.5)])
        store.model_answers.pause(f"model {TOKEN}", 1, 2**50, f"refused: {KEY_ID}")
        store.model_answers.keep(b"a", {"files": [TOKEN]}, 0, 1)
        app.index.catch_up()
        assert app.index.embed()
    (home / "spool").mkdir()
    keep_refused(str(home), "batch-1-ab.jsonl", [("kind", json.dumps({"text": TOKEN}))])
    backups = home / "backups"
    backups.mkdir()
    shutil.copy(home / "howcome.db", backups / "howcome-2026-03-02.db")
    line = {"key": "ab", "text": f"The key is {KEY_ID}.", "project": CWD}
    (backups / "memories-2026-03-02.jsonl").write_text(json.dumps({"version": 1}) + "\n" + json.dumps(line) + "\n")


def holding(home: Path) -> dict[str, list[str]]:
    """The files that hold a secret, with those that they hold."""
    found = {str(path.relative_to(home)): path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file()}
    held = {name: [one for one in SECRETS if one.encode() in data] for name, data in found.items()}
    return {name: secrets for name, secrets in held.items() if secrets}
