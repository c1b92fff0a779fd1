"""Whether a line's session is found: `python benchmarks/lines.py DATA…`.

DATA holds native transcripts of Claude Code (.jsonl, .jsonl.gz). The working copies that their sessions had are rebuilt
in one new repository, a worktree each: every Edit and Write is applied in the order of time, and committed where a
session's `git commit` went through, with its message and time. What a file held before an edit and no session had
written is committed as an outsider's. Who wrote a line is kept beside it, edit by edit, never taken from git or from
howcome. Lines whose session is known are then drawn and asked for, and as many others. `--commits N` times the command
behind N more commits, of which one in 50 changes the file.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

from howcome.app import App, open_app
from howcome.clients.discover import named_transcripts
from howcome.settings import read_settings

SEED, SPREAD = 20, 50
OUTSIDER = "outsider"
_COMMIT = re.compile(r"\bgit\b[^\n|;&]*\bcommit\b")
_REFUSED = re.compile(r"FAILED: git|nothing to commit|no changes added|nothing added to commit")
_HEREDOC = re.compile(r"<<-?\s*['\"]?(\w+)['\"]?\n(.*?)\n\s*\1\b", re.DOTALL)
_MESSAGE = re.compile(r"-[a-z]*m\s+(?:\"((?:[^\"\\]|\\.)*)\"|'([^']*)')", re.DOTALL)


class Step(NamedTuple):
    """An edit (its file, and the text before and after it) or a commit (its message) of a session."""

    ts: str
    session: str
    copy: str
    file: str = ""
    before: str | None = None
    after: str = ""
    message: str = ""


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a transcript."""
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as stream:
        for line in stream:
            try:
                record = json.loads(line)
            except ValueError:
                continue
            if isinstance(record, dict):
                yield record


def copies(paths: list[Path]) -> list[str]:
    """The working copies: folders of sessions that are in no other one, and worktrees inside of one; longest first."""
    folders = sorted({str(record["cwd"]) for path in paths for record in records(path) if record.get("cwd")}, key=len)
    found: list[str] = []
    for folder in folders:
        above = max((copy for copy in found if folder.startswith(copy + "/")), key=len, default=None)
        if above is None or folder[len(above) :].startswith("/.worktrees/"):
            found.append(folder)
    return sorted(found, key=len, reverse=True)


def steps(path: Path, known: list[str]) -> Iterator[Step]:
    """What a transcript did to files, in its order."""
    calls: dict[str, dict[str, Any]] = {}
    for record in records(path):
        content = (record.get("message") or {}).get("content")
        for block in content if isinstance(content, list) else ():
            if block.get("type") == "tool_use":
                calls[block["id"]] = block
            elif block.get("type") == "tool_result" and block["tool_use_id"] in calls and not block.get("is_error"):
                yield from step(record, calls[block["tool_use_id"]], str(block.get("content")), known)


def step(record: dict[str, Any], call: dict[str, Any], said: str, known: list[str]) -> Iterator[Step]:
    """What a call that went through did."""
    values, result, ts, session = call["input"], record.get("toolUseResult"), record["timestamp"], record["sessionId"]
    if call["name"] in ("Edit", "Write") and isinstance(result, dict):
        name = str(values["file_path"])
        copy = next((copy for copy in known if name.startswith(copy + "/")), None)
        before = result.get("originalFile")
        after = values.get("content") if call["name"] == "Write" else edited(before or "", values)
        if copy and after is not None and not name[len(copy) :].startswith("/.git/"):
            yield Step(ts, session, copy, name[len(copy) + 1 :], before, after)
    command = str(values.get("command", ""))
    if call["name"] == "Bash" and _COMMIT.search(command) and not _REFUSED.search(said):
        copy = next((copy for copy in known if (record["cwd"] + "/").startswith(copy + "/")), None)
        found = _HEREDOC.search(command) or _MESSAGE.search(command)
        if copy:
            text = next(filter(None, reversed(found.groups()))) if found else ""
            yield Step(ts, session, copy, message=text)


def edited(text: str, values: dict[str, Any]) -> str | None:
    """A text after an Edit; None where it does not hold what was replaced."""
    old, new = values["old_string"], values["new_string"]
    if not old or old not in text:
        return None
    return text.replace(old, new) if values.get("replace_all") else text.replace(old, new, 1)


class Copy:
    """A worktree that is being rebuilt, with who wrote each line of its files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.owners: dict[str, list[tuple[str, str]]] = {}

    def apply(self, one: Step) -> None:
        """An edit; what the file held before it and nobody wrote is an outsider's commit."""
        known = self.owners.get(one.file, [])
        if one.before is not None and (lines := one.before.split("\n")) != [line for line, _ in known]:
            before = owned(known, lines, OUTSIDER)
            self._write(one.file, before)
            self.commit(f"outside {one.ts}", one.ts, "--", one.file)
        self._write(one.file, owned(self.owners.get(one.file, []), one.after.split("\n"), one.session))

    def _write(self, file: str, lines: list[tuple[str, str]]) -> None:
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(line for line, _ in lines), encoding="utf-8")
        self.owners[file] = lines

    def commit(self, message: str, ts: str, *more: str) -> None:
        """Commits what there is (or what is named)."""
        git(self.folder, "add", "-A", *more, check=False)
        when = {"GIT_AUTHOR_DATE": ts, "GIT_COMMITTER_DATE": ts}
        git(self.folder, "commit", "-q", "--no-verify", "--cleanup=verbatim", "-m", message, *more, check=False, **when)


def owned(known: list[tuple[str, str]], lines: list[str], owner: str) -> list[tuple[str, str]]:
    """The lines of a new text with who wrote each: those that were there keep theirs."""
    old = [line for line, _ in known]
    head = next((at for at, (a, b) in enumerate(zip(old, lines, strict=False)) if a != b), min(len(old), len(lines)))
    most = min(len(old), len(lines)) - head
    tail = next((at for at in range(most) if old[-1 - at] != lines[-1 - at]), most)
    result = [*known[:head], *((line, owner) for line in lines[head : len(lines) - tail]), *known[len(old) - tail :]]
    matcher = SequenceMatcher(None, old[head : len(old) - tail], lines[head : len(lines) - tail], autojunk=False)
    for start, there, size in matcher.get_matching_blocks():
        result[head + there : head + there + size] = known[head + start : head + start + size]
    return result


def git(folder: Path, *arguments: str, check: bool = True, **environment: str) -> str:
    """What git says."""
    settings = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "core.excludesFile=/dev/null")
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, capture_output=True, text=True, check=check,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout


def rebuild(paths: list[Path], known: list[str], root: Path) -> dict[str, Copy]:
    """The repository, a worktree a working copy."""
    root.mkdir()
    git(root, "init", "-q")
    git(root, "commit", "-q", "--allow-empty", "-m", "begin", GIT_COMMITTER_DATE="2020-01-01T00:00:00Z")
    done = sorted((one for path in paths for one in steps(path, known)), key=lambda one: one.ts)
    made: dict[str, Copy] = {}
    for one in done:
        if one.copy not in made:
            made[one.copy] = Copy(place := root / ".worktrees" / str(known.index(one.copy)))
            git(root, "worktree", "add", "-q", "-b", place.name, str(place))
        if one.file:
            made[one.copy].apply(one)
        elif one.message:
            made[one.copy].commit(one.message, one.ts)
    return made


def imported(paths: list[Path], known: list[str], root: Path, home: Path) -> App:
    """A store of the sessions, as if they had worked in the rebuilt worktrees."""
    (home / "transcripts").mkdir()
    for path in paths:
        text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for number, copy in enumerate(known):
            text = text.replace(copy.encode(), str(root / ".worktrees" / str(number)).encode())
        (home / "transcripts" / path.name.removesuffix(".gz")).write_bytes(text)
    app = open_app(read_settings({**os.environ, "HOWCOME_HOME": str(home / "store")}))
    for found in named_transcripts([str(home / "transcripts")]):
        app.ingest.file(found)
    return app


def lines_of(made: dict[str, Copy], *, known: bool) -> list[tuple[Copy, str, int]]:
    """Every line that is not blank and that a session wrote (or that none did)."""
    return [
        (copy, file, place)
        for copy in made.values()
        for file, lines in copy.owners.items()
        for place, (line, owner) in enumerate(lines)
        if line.strip() and (owner != OUTSIDER) == known
    ]


def deepen(copy: Copy, file: str, count: int) -> None:
    """That many more commits, one of SPREAD of which changes the end of a file, the others another one."""
    text, branch = (copy.folder / file).read_bytes(), f"refs/heads/{copy.folder.name}"
    stream = []
    for number in range(count):
        name, data = (
            (file, text + b"\n%d\n" % number) if number % SPREAD == 0 else (f"other{number % SPREAD}", b"%d" % number)
        )
        head = f"commit {branch}\ncommitter a <a@example.org> {1_800_000_000 + number} +0000\ndata 1\nx\n"
        head += "" if number else f"from {branch}^0\n"
        stream.append(f"{head}M 100644 inline {name}\ndata {len(data)}\n".encode() + data + b"\n")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=copy.folder, input=b"".join(stream), check=True)
    git(copy.folder, "reset", "-q", "--hard")


def measure(data: Path, folder: Path, options: argparse.Namespace) -> None:
    """The row of a data set."""
    paths = sorted(path for path in data.rglob("*.jsonl*") if any("sessionId" in one for one in records(path)))
    known = copies(paths)
    made = rebuild(paths, known, folder / "repository")
    rng, right, committed, seconds, said = random.Random(SEED), 0, 0, [], Counter[str]()
    with imported(paths, known, folder / "repository", folder) as app:
        written = rng.sample(lines_of(made, known=True), options.lines)
        others = rng.sample(lines_of(made, known=False), options.lines)
        for copy, file, place in [*written, *others]:
            began = time.perf_counter()
            _, past = app.files.line(str(copy.folder / file), place + 1)
            seconds.append(time.perf_counter() - began)
            line, owner = copy.owners[file][place]
            answer = past.done[0].session if past.done else "none"
            right += answer == owner
            committed += past.committed is not None and past.committed.session == owner
            if owner == OUTSIDER:
                said["none" if not past.done else "sure" if past.is_sure else "probably"] += 1
            elif options.list and answer != owner:
                print(f"{copy.folder.name}/{file}:{place + 1} {line!r}: {answer}, not {owner}")
    print(
        f"{data.name}: the right session for {right} of {len(written)} lines (by the commit alone {committed}); of"
        f" {len(others)} lines that no session is known to have written {dict(said)}; {percentiles(seconds)}"
    )
    if options.commits:
        deep(written, folder, options)


def deep(written: list[tuple[Copy, str, int]], folder: Path, options: argparse.Namespace) -> None:
    """How long the command takes, started anew each time, behind so many commits."""
    copy, file, _ = max(written, key=lambda one: len(one[0].owners[one[1]]))
    deepen(copy, file, options.commits)
    environment, seconds, before = {**os.environ, "HOWCOME_HOME": str(folder / "store")}, [], os.times()
    for place in range(1, len(copy.owners[file]), len(copy.owners[file]) // 20):
        began = time.perf_counter()
        command = [sys.executable, "-m", "howcome", "blame", f"{copy.folder / file}:{place}"]
        subprocess.run(command, env=environment, cwd=copy.folder, check=True, capture_output=True)
        seconds.append(time.perf_counter() - began)
    spent = os.times()
    count = git(copy.folder, "rev-list", "--count", "HEAD").strip()
    print(
        f"  the command in {count} commits, a file of {len(copy.owners[file])} lines: {percentiles(seconds)},"
        f" {(spent[2] + spent[3] - before[2] - before[3]) / len(seconds):.2f} s of processor time"
    )


def percentiles(seconds: list[float]) -> str:
    """The middle and the slowest but one in twenty."""
    ordered = sorted(seconds)
    return f"median {ordered[len(ordered) // 2]:.2f} s, 95 % within {ordered[len(ordered) * 19 // 20]:.2f} s"


def main() -> None:
    """A row a data set."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--lines", type=int, default=50)
    parser.add_argument("--commits", type=int, default=0)
    parser.add_argument("--list", action="store_true", help="print what was wrong")
    parser.add_argument("--keep", type=Path, help="keep what was rebuilt in this folder")
    options = parser.parse_args()
    for data in options.data:
        with tempfile.TemporaryDirectory() as scratch:
            folder = options.keep / data.name if options.keep else Path(scratch)
            folder.mkdir(parents=True, exist_ok=True)
            measure(data, folder, options)


if __name__ == "__main__":
    sys.exit(main())
