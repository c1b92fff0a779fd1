"""Pinned clients from npm, kept in `.e2e/claude-<version>/` of the repository.

`python -m tests.client.install [VERSION ...]` installs them and prints the executables.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CACHE = Path(__file__).resolve().parents[2] / ".e2e"
PACKAGE = "@anthropic-ai/claude-code"
VERSIONS = ("2.1.329", "2.0.76")
NPM_SECONDS = 600
NATIVE_MAGIC = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")


class InstallError(RuntimeError):
    """A pinned client is neither in the cache nor installable."""

    def __init__(self, version: str, reason: str) -> None:
        super().__init__(f"claude-code {version} cannot be installed: {reason}")


def installed(version: str, cache: Path = CACHE) -> Path:
    """Return the executable of one client version, installing it on first use."""
    folder = cache / f"claude-{version}"
    if not folder.is_dir():
        _install(version, folder)
    executable = find_executable(folder)
    if executable is None:
        raise InstallError(version, f"no executable in {folder}; remove that folder and try again")
    return executable


def find_executable(folder: Path) -> Path | None:
    """Find the client inside an npm prefix: the native binary, else the script that node runs."""
    scope = folder / "node_modules" / "@anthropic-ai"
    for candidate in sorted(scope.glob("claude-code-*/claude*")):
        if candidate.is_file() and _is_native(candidate):
            return candidate
    script = scope / "claude-code" / "cli.js"
    return script if script.is_file() else None


def _is_native(path: Path) -> bool:
    """Tell a program of the operating system from scripts and text files."""
    with path.open("rb") as stream:
        return stream.read(4) in NATIVE_MAGIC


def _install(version: str, folder: Path) -> None:
    """Install into a folder beside the final one and move it into place when it is whole."""
    npm = shutil.which("npm")
    if npm is None:
        raise InstallError(version, "npm is not on PATH")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="npm-", dir=folder.parent) as scratch:
        prefix = Path(scratch) / "prefix"
        prefix.mkdir()
        _run_npm(npm, version, prefix)
        if find_executable(prefix) is None:
            raise InstallError(version, "the npm package holds no executable for this platform")
        _publish(prefix, folder)


def _run_npm(npm: str, version: str, prefix: Path) -> None:
    """Run npm without install scripts; its last words become the error."""
    argv = [npm, "install", "--prefix", str(prefix), "--ignore-scripts", "--no-audit", "--no-fund"]
    argv += ["--loglevel", "error", f"{PACKAGE}@{version}"]
    try:
        done = subprocess.run(argv, cwd=prefix, capture_output=True, text=True, timeout=NPM_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InstallError(version, str(error)) from error
    if done.returncode != 0:
        words = [line for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise InstallError(version, " | ".join(words[-3:]) or f"npm ended with status {done.returncode}")


def _publish(prefix: Path, folder: Path) -> None:
    """Rename into place; another process may have been first, and its copy is as good."""
    try:
        os.rename(prefix, folder)
    except OSError:
        if not folder.is_dir():
            raise


def main(argv: list[str]) -> int:
    """Install the named versions, or all pinned ones."""
    try:
        for version in argv or VERSIONS:
            print(installed(version))
    except InstallError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
