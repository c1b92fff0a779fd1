"""Record the sample transcripts again with the real client.

    python -m tests.client.record_samples [TARGET]      TARGET defaults to samples/claude-code/projects

Builds the project `tidepool` in a temporary folder, plays the scripted sessions so that every tool really runs, and
writes the transcripts without machine paths and without the client's own prompt texts.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from tests.client.install import installed
from tests.client.runner import Client, Run
from tests.client.script import Script
from tests.client.scrub import Scrubber
from tests.client.tidepool import SESSIONS, Session, build, commit
from tests.client.tidepool.dialogue import placed

VERSION = "2.1.329"
MODEL = "claude-opus-5-5"
TARGET = Path(__file__).resolve().parents[2] / "samples" / "claude-code" / "projects"
TOOLS = ("Read", "Write", "Edit", "Bash", "Grep", "Agent")


class RecordingError(RuntimeError):
    """A scripted session did not go the way it is written."""


def record(target: Path) -> list[Path]:
    """Play all sessions and write their scrubbed transcripts below the target; return the files."""
    with tempfile.TemporaryDirectory(prefix="record-") as scratch:
        root = Path(scratch).resolve()
        project = build(root)
        client = _client(root)
        for session in SESSIONS:
            session.prepare(project)
            play(client, project, session)
            commit(project, session.commit)
        scrubber = Scrubber(root)
        source = client.config / "projects"
        shutil.rmtree(target, ignore_errors=True)
        return [_keep(path, source, target, scrubber) for path in _parents_first(source)]


def _client(root: Path) -> Client:
    """Return a client whose PATH begins with the project's own tools."""
    path = os.pathsep.join([str(root / "bin"), "/usr/local/bin", "/usr/bin", "/bin"])
    env = {"PATH": path, "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"}
    return Client(installed(VERSION), root / "home", env)


def play(client: Client, project: Path, session: Session) -> None:
    """Run the steps of one session, each as the next prompt of the same session."""
    for number, step in enumerate(session.steps):
        script = Script(placed(step.turns, project), subagent=placed(step.subagent, project), summary=step.summary)
        first = ["--session-id", session.session_id] if number == 0 else []
        run = client.run(
            project,
            step.prompt,
            script,
            resume=session.session_id if number else None,
            allow=TOOLS,
            args=["--model", MODEL, *first],
        )
        _check(run, session, number)


def _check(run: Run, session: Session, number: int) -> None:
    """Stop when the client failed, asked for more than was written, or asked for less."""
    step = session.steps[number]
    asked = (len(run.bodies("main")), len(run.bodies("subagent")), len(run.bodies("spent")))
    if run.exit_code != 0 or asked != (len(step.turns), len(step.subagent), 0):
        said = run.stderr or run.stdout
        raise RecordingError(f"{step.prompt[:60]!r}: exit {run.exit_code}, requests {asked}: {said}")


def _parents_first(source: Path) -> list[Path]:
    """List the files of a recording so that a session comes before its subagents, which share its clock."""
    return sorted(source.rglob("*.json*"), key=lambda path: (len(path.parts), path))


def _keep(path: Path, source: Path, target: Path, scrubber: Scrubber) -> Path:
    """Write the scrubbed form of one file to its place on a user's disk."""
    destination = target / scrubber.text(str(path.relative_to(source)))
    destination.parent.mkdir(parents=True, exist_ok=True)
    session = next(s for s in SESSIONS if s.session_id in str(path))
    destination.write_text(scrubber.file(path, session.start), encoding="utf-8")
    return destination


def main(argv: list[str]) -> int:
    """Record into the named folder and list the files."""
    for path in record(Path(argv[0]) if argv else TARGET):
        print(path, path.stat().st_size)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
