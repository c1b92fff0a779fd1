"""What was typed while the agent worked, through passes, forks and stores: said once, and nowhere at rest before."""

import random
from pathlib import Path

import pytest
from tests.builders import CWD, Claude, lines, moment, write
from tests.checks import assert_whole, keys, timeline
from tests.conftest import Ingest

from howcome.ingest.exclusion import Places
from howcome.store.sqlite import SqliteStore

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


def queued(claude: Claude, operation: str, **fields: object) -> dict[str, object]:
    """A record of the queue."""
    claude.number += 1
    return claude.bookkeeping("queue-operation", operation=operation, timestamp=moment(claude.number), **fields)


def session(claude: Claude, words: str = "use tabs") -> list[dict[str, object]]:
    """A session in which something is typed meanwhile, given to the agent, and answered."""
    return [
        *claude.exchange("berth"),
        queued(claude, "enqueue", content=words),
        claude.call("Bash", "b1", command="make"),
        claude.result("b1", "ok"),
        queued(claude, "remove"),
        claude.text("tabs it is"),
        queued(claude, "enqueue", content="and the crane?"),
        queued(claude, "dequeue"),
        claude.user("and the crane?"),
        claude.text("later"),
    ]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_passes_in_between_change_nothing(
    name: str, seed: int, tmp_path: Path, store: SqliteStore, ingest: Ingest
) -> None:
    """Whatever a pass sees of a queue, its words are said once, where the agent got them."""
    records, path, chance = session(Claude()), tmp_path / name, random.Random(seed)
    for record in records:
        write(path, record, append=True)
        if chance.random() < 0.6:
            ingest(path)
    ingest(path)
    said = [text for kind, text in timeline(store, Claude().session) if kind in ("user_prompt", "assistant_text")]
    assert said[2:] == ["use tabs", "tabs it is", "and the crane?", "later"]
    assert_whole(store, path, len(lines(records)))


def test_a_fork_says_it_once(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A fork copies what has an id under its own session's, and the attachment with it."""
    claude = Claude()
    records = [
        *claude.exchange("berth"),
        queued(claude, "enqueue", content="use tabs"),
        claude.attachment(type="queued_command", prompt="use tabs", commandMode="prompt", origin={"kind": "human"}),
        queued(claude, "remove", content="use tabs", reason="absorbed_mid_turn"),
        claude.text("tabs it is"),
    ]
    copied = [record | {"sessionId": "fork"} for record in records if "uuid" in record]
    ingest(write(tmp_path / "fork.jsonl", *copied))
    before = keys(store)
    ingest(write(tmp_path / "a.jsonl", *records))
    assert keys(store) == before
    assert [text for kind, text in timeline(store, "fork") if kind == "user_prompt"][1:] == ["use tabs"]


def test_the_same_queue_in_a_copy_is_the_same(tmp_path: Path, store: SqliteStore, ingest: Ingest) -> None:
    """A backup of a transcript, and its history appended once more, add nothing."""
    records = session(Claude())
    ingest(write(tmp_path / "a.jsonl", *records))
    before = keys(store)
    ingest(write(tmp_path / "b.jsonl", *records, *records))
    assert keys(store) == before


def at_rest(folder: Path) -> bytes:
    """All that a store's files hold."""
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_waiting_words_do_not_rest(tmp_path: Path, store: SqliteStore, store_folder: Path, ingest: Ingest) -> None:
    """A pass that ends between typing and giving keeps nothing of the words: they may be a secret."""
    records = session(Claude(), f"the token is {SECRET}")
    path = write(tmp_path / "a.jsonl", *records[:7])
    ingest(path)
    assert b"the token is" not in at_rest(store_folder)
    write(path, *records[7:], append=True)
    ingest(path)
    assert any(text.startswith("the token is") for _, text in timeline(store, Claude().session))
    assert SECRET.encode() not in at_rest(store_folder)


@pytest.mark.parametrize("cut", [0, 7])
def test_an_excluded_folder_is_not_heard(cut: int, tmp_path: Path, store: SqliteStore, store_folder: Path) -> None:
    """Neither what is typed meanwhile there, nor why a call was refused."""
    claude = Claude()
    records = [*session(claude, "zanzibar"), claude.call("Edit", "e1"), claude.result(
        "e1", "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. x)."
        " To tell you how to proceed, the user said:\nzanzibar", is_error=True)]  # fmt: skip
    ingest = Ingest(store, Places([CWD]))
    path = write(tmp_path / "a.jsonl", *records[:cut])
    ingest(path)
    write(path, *records[cut:], append=True)
    ingest(path)
    assert timeline(store, claude.session) == []
    assert b"zanzibar" not in at_rest(store_folder)
