"""A PostgreSQL 17 with TimescaleDB and pgvector of Debian's packages, unpacked beside the tests: `make test-timescale`.

    python -m tests.timescale [FOLDER] [-- arguments of pytest]

fetches the packages with apt (its state is in FOLDER: nothing of the machine changes), unpacks them, makes programs
that run them in a namespace of their own, and starts the tests of stores with HOWCOME_TEST_POSTGRES naming those. It
needs Linux, apt and user namespaces; where it has not what it needs it says what was not run, and fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg

PACKAGES = ("postgresql-17-timescaledb", "postgresql-17-pgvector", "dash")
SUITE = "trixie"
KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
BIN = "/usr/lib/postgresql/17/bin"
TESTS = ("tests/contract", "tests/integration/test_postgres_servers.py", "tests/integration/test_postgres_search.py")

# Sees the unpacked packages as the machine, with the real devices and the folder of the server, which it may name the
# same as outside; no user but a plain one is there, as PostgreSQL wants it.
_PROGRAM = """#!/bin/sh
exec unshare -rm /bin/sh -c '
root="$1" program="$2"; shift 2
mount --rbind /dev "$root/dev" && mount --rbind /tmp "$root/tmp" || exit
exec unshare -U --map-user=1000 --map-group=1000 --root="$root" {bin}/"$program" "$@"
' sh {root} {program} "$@" {options}
"""
_OPTIONS = {
    "initdb": "",
    "postgres": (
        "-c shared_preload_libraries=timescaledb -c timescaledb.telemetry_level=off"
        " -c timescaledb.max_background_workers=0"
    ),
}
"""Its workers would be connected to databases that are copied, which PostgreSQL refuses then."""


class NotRunError(Exception):
    """What this machine lacks."""


def main(arguments: list[str]) -> int:
    """Prepares the server, and runs the tests on it."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    folder = Path(*arguments[:at] or [".timescale"]).resolve()
    try:
        prepare(folder)
        os.environ["HOWCOME_TEST_POSTGRES"] = str(folder / "bin")
        print(f"On {about()}", flush=True)
    except NotRunError as reason:
        print(f"NOT RUN: no test on TimescaleDB: {reason}", file=sys.stderr)
        return 2
    tests = arguments[at + 1 :] or ["-q", "-n", "auto", "-k", "given", *TESTS]
    return subprocess.run([sys.executable, "-m", "pytest", *tests], check=False).returncode


def prepare(folder: Path) -> None:
    """Fetches and unpacks the packages, once, and makes the programs.

    Raises:
        NotRunError: it cannot be done here.
    """
    for tool in ("apt-get", "dpkg-deb", "unshare"):
        if shutil.which(tool) is None:
            raise NotRunError(f"{tool} is not here")
    root = folder / "root"
    if not (root / BIN.lstrip("/") / "postgres").exists():
        _fetch(folder)
        _unpack(folder, root)
    (folder / "bin").mkdir(exist_ok=True)
    for program, options in _OPTIONS.items():
        path = folder / "bin" / program
        path.write_text(_PROGRAM.format(root=root, program=program, options=options, bin=BIN), encoding="utf-8")
        path.chmod(0o755)


def _fetch(folder: Path) -> None:
    """Downloads the packages and all that they need, as on a machine that has none."""
    for name in ("state/lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "state/status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={KEYS}] http://deb.debian.org/debian {SUITE} main\n")
    options = {
        "Dir::State": folder / "state", "Dir::State::status": folder / "state/status", "Dir::Cache": folder / "cache",
        "Dir::Etc::sourcelist": folder / "sources.list", "Dir::Etc::sourceparts": "-",
        "Dir::Etc::preferencesparts": "-",
        "APT::Sandbox::User": "", "Debug::NoLocking": "true", "APT::Get::AllowUnauthenticated": "false",
    }  # fmt: skip
    given = [word for name, value in options.items() for word in ("-o", f"{name}={value}")]
    for command in (["update"], ["install", "-y", "--no-install-recommends", "--download-only", *PACKAGES]):
        _run(["apt-get", "-q", *given, *command], f"the packages of Debian's {SUITE} cannot be had")


def _unpack(folder: Path, root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    for name in ("usr/bin", "usr/lib", "usr/lib64", "usr/sbin", "etc", "dev", "tmp"):
        (root / name).mkdir(parents=True)
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for package in sorted((folder / "cache/archives").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(package), str(root)], f"{package.name} cannot be unpacked")
    shutil.rmtree(folder / "cache")
    (root / "etc/passwd").write_text("postgres:x:1000:1000::/tmp:/bin/sh\n", encoding="utf-8")


def _run(command: list[str], what: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotRunError(f"{what}: {(done.stderr or done.stdout).strip()[-500:]}")


def about() -> str:
    """The server's version, and what of the extensions it has.

    Raises:
        NotRunError: it does not start here.
    """
    from tests import postgres_servers  # reads HOWCOME_TEST_POSTGRES

    try:
        dsn = postgres_servers.fresh_database("given")
    except postgres_servers.NotHereError as error:
        raise NotRunError(str(error)) from error
    with psycopg.connect(dsn, autocommit=True) as connection:
        for extension in ("timescaledb", "vector", "pg_trgm"):
            connection.execute(f"CREATE EXTENSION {extension}")
        query = "SELECT string_agg(extname || ' ' || extversion, ', ' ORDER BY extname) FROM pg_extension"
        (found,) = connection.execute(query).fetchone() or ("",)
        (licence,) = connection.execute("SHOW timescaledb.license").fetchone() or ("",)
        return f"PostgreSQL {connection.info.server_version // 10000} with {found} (TimescaleDB's licence: {licence})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
