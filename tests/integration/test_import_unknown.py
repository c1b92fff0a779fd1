"""What no reader knows is said; what an earlier version did not hear can be read again."""

import gzip
from pathlib import Path

import apsw
import pytest
from tests.builders import Claude, write
from tests.conftest import Ingest
from tests.processes import ask, run

from howcome.store.sqlite import SqliteStore

STRANGE = {"speaker": "mara", "words": "hello"}


@pytest.mark.usefixtures("home", "store_folder")
def test_a_strangers_file_is_named(tmp_path: Path) -> None:
    """Beside files that are read; alone it is an error, and so is a folder of such."""
    folder = tmp_path / "t"
    write(folder / "known.jsonl", *Claude().conversation(1))
    strange = write(folder / "strange.jsonl", STRANGE, STRANGE)
    packed = write(folder / "packed.jsonl.gz", STRANGE)
    report = ask("import", "--json", folder)
    assert (report["files"], report["unknown"]) == (1, 3)
    assert report["unknown_files"] == {str(strange): 2, str(packed): 1}
    done = run("import", folder)
    assert f"{strange}: no reader knows 2 records in it\n" in done.stdout
    assert done.returncode == 0
    for path in (strange, packed):
        done = run("import", path)
        assert (done.returncode, done.stderr) == (1, "howcome: nothing could be read\n")
        assert f"{path}: no reader knows" in done.stdout
    assert run("import", strange, folder / "known.jsonl").returncode == 0


@pytest.mark.usefixtures("home", "store_folder")
def test_a_folder_is_read_to_its_lowest_folder(tmp_path: Path) -> None:
    """Transcripts that lie in folders of folders only."""
    write(tmp_path / "t" / "2026" / "11" / "one.jsonl", *Claude("one").conversation(1))
    write(tmp_path / "t" / "old" / "-home-mara" / "two.jsonl", *Claude("two").conversation(1))
    assert ask("import", tmp_path / "t")["files"] == 2


@pytest.mark.usefixtures("home", "store_folder")
def test_what_holds_no_records_at_all_is_refused(tmp_path: Path) -> None:
    """Words where a transcript should be, and bytes: each record is put aside. Of another file nothing is kept."""
    read_me = tmp_path / "README.md"
    read_me.write_text("# A tool\n\n```\nhello\n```\n")
    done = run("import", read_me)
    assert (done.returncode, done.stdout) == (1, f"{read_me}: no reader knows 4 records in it\n")
    assert "quarantine" not in run("status").stdout
    for name, data in (("x.jsonl", b"hello\n"), ("bin.jsonl", bytes(range(256)) * 16)):
        path = tmp_path / name
        path.write_bytes(data)
        done = run("import", path)
        assert (done.returncode, done.stderr) == (1, "howcome: nothing could be read\n"), name
        assert "could not be read: see `howcome status`" in done.stdout


def test_records_of_unknown_types_are_named(tmp_path: Path) -> None:
    """Among known ones they are counted; where there is nothing else, `doctor` says so, too."""
    claude = Claude()
    path = write(tmp_path / "a.jsonl", *claude.exchange("berth"), claude.record("hologram"))
    report = ask("import", "--json", path)
    assert (report["accepted"], report["unknown_files"]) == (5, {str(path): 1})
    assert ask("status", "--json")["unknown_files"] == {str(path): 1}
    assert f"no reader knows 1 record of 1 file, most in {path}" in run("status").stdout
    assert "no reader knows what" not in run("doctor").stdout
    other = write(tmp_path / "b.jsonl", claude.record("hologram"), claude.record("hologram"))
    done = run("import", other)
    assert (done.returncode, done.stderr) == (1, "howcome: nothing could be read\n")
    assert f"no reader knows what is in 1 transcript; 2 records in {other}" in " ".join(run("doctor").stdout.split())


def test_an_empty_report_has_no_unknown_files(home: Path, store_folder: Path) -> None:
    """Nothing there is nothing unknown."""
    assert home.exists() or store_folder
    report = ask("import", "--json")
    assert (report["unknown"], report["unknown_files"]) == (0, {})


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz"])
def test_what_was_missed_is_added_by_reading_again(
    name: str, tmp_path: Path, store: SqliteStore, ingest: Ingest, store_folder: Path
) -> None:
    """Only what is not there; once, in its place; and a pass after that reads nothing."""
    path = write(tmp_path / name, *Claude().conversation(3))
    ingest(path)
    content = gzip.decompress(path.read_bytes()) if name.endswith(".gz") else path.read_bytes()
    store.close()
    database = apsw.Connection(str(store_folder / "howcome.db"))
    (missed,) = next(database.execute("SELECT id FROM events WHERE kind = 1 ORDER BY id LIMIT 1"))
    database.execute("DELETE FROM events WHERE id = ?", (missed,))
    database.close()
    assert ask("import", "--json", path)["accepted"] == 0
    report = ask("import", "--json", "--again", path)
    assert (report["accepted"], report["duplicate"], report["bytes"]) == (1, 14, len(content))
    assert ask("import", "--json", path)["bytes"] == 0
    assert ask("import", "--json", "--again", path)["accepted"] == 0
