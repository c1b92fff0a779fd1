"""The servers of the tests: real, empty, and gone with the process that started them."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from tests import postgres_servers

from howcome.store.postgres import PostgresStore

LIMIT = "timescaledb.max_tuples_decompressed_per_dml_transaction"


def test_a_database_is_empty_and_apart(postgres_dsn: str) -> None:
    """Two databases of one server do not see each other's tables."""
    other = postgres_servers.fresh_database()
    for dsn in (postgres_dsn, other):
        with psycopg.connect(dsn) as connection:
            connection.execute("CREATE TABLE harbour (id int)")
    postgres_servers.drop_database(other)
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(other)


def test_a_killed_process_leaves_no_server() -> None:
    """Server and folder go with the process that started them, also when that had no time to clean up."""
    code = "from tests.postgres_servers import server; import time; print(server('pypi'), flush=True); time.sleep(60)"
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )
    assert process.stdout is not None
    folder = Path(str(conninfo_to_dict(process.stdout.readline())["host"]))
    assert list(folder.glob(".s.PGSQL.*"))
    process.kill()
    process.communicate()
    until = time.monotonic() + 20
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not folder.exists()


@pytest.mark.parametrize("server", ["pypi", "given"])
def test_howcomes_connections_change_compressed_rows_however_many(server: str, tmp_path: Path) -> None:
    """TimescaleDB's limit is lifted for them alone; a server without it is given no such setting."""
    try:
        dsn = postgres_servers.fresh_database(server)
    except postgres_servers.NotHereError as error:
        pytest.skip(str(error))
    PostgresStore(str(tmp_path / "client"), dsn).close()
    with closing(PostgresStore(str(tmp_path / "client"), dsn)) as store, psycopg.connect(dsn) as other:
        has_timescale = other.execute("SELECT to_regnamespace('timescaledb_information') IS NOT NULL").fetchone()
        wanted = ("0", "100000") if has_timescale == (True,) else (None, None)
        [(ours,)] = store.database.rows(f"SELECT current_setting('{LIMIT}', true)")
        assert (ours, *(other.execute(f"SELECT current_setting('{LIMIT}', true)").fetchone() or ())) == wanted
