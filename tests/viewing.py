"""A store that has something on each page of the viewer, and a browser's requests to the viewer in this process."""

from __future__ import annotations

import atexit
import html
import json
import os
import re
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

from starlette.testclient import TestClient
from tests.builders import START, Record, Shell, write
from tests.processes import HOOK_FIELDS, hook, payload, run

from howcome.web.guard import Keys
from howcome.web.viewer import Viewer

CWD = "/home/mara/quay"
PORT = 4321
QUESTION = "What did we decide about the retry limit of the poller?"
NO_COMMAND = "Exit code 1\ngit: 'comit' is not a git command."
DECIDED = "We decided to retry a `TidePoller` request five times, because the buoy reboots for a minute."
HOSTILE = "<script>alert(1)</script><b onclick=x>\x1b]0;title\x07\u202eturned</b>{{ 7*7 }}"
KEPT = ("The poller retries a request 5 times before it gives up on a buoy.",
        "The poller retries a request 3 times before it gives up on a buoy.")  # fmt: skip
OUTSIDE = "Every migration has a test that runs it twice on a copy of the data."


@cache
def _made() -> Path:
    """A store like that, made once in a process."""
    folder = Path(tempfile.mkdtemp(prefix="howcome-viewing-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    before = os.environ["HOWCOME_HOME"], os.environ["HOWCOME_TRANSCRIPT_FOLDERS"]
    os.environ |= {"HOWCOME_HOME": str(folder / "store"), "HOWCOME_TRANSCRIPT_FOLDERS": str(folder)}
    _fill(folder)
    os.environ["HOWCOME_HOME"], os.environ["HOWCOME_TRANSCRIPT_FOLDERS"] = before
    return folder / "store"


def fill(store_folder: Path) -> None:
    """Puts such a store into a folder."""
    shutil.copytree(_made(), store_folder, dirs_exist_ok=True)


def _fill(folder: Path) -> None:
    """Sessions, memories, a contradiction, one from outside, commands that failed, what was said to a new session."""
    talk = Shell("earlier-session", cwd=CWD)
    noise = [turn for at in range(4) for turn in talk.exchange(f"berth{at}")]
    once = talk.ran("ls berths", "Exit code 2\nls: cannot access 'berths': No such file or directory")
    ran = [*talk.ran("git comit", NO_COMMAND), *talk.ran("git commit"), *once, *_missed(talk)]
    spoken = [talk.user("let's talk about the retry limit of the poller"), talk.text(DECIDED), talk.text(HOSTILE)]
    write(folder / "t" / "one.jsonl", *noise, *ran, *talk.edited("/home/mara/quay/poll.py"), *spoken)
    _done("import", str(folder / "t"))
    _done("distil")
    for text in KEPT:
        _done("remember", "--project", CWD, "--type", "decision", text)
    _done("import-memories", _exported(folder))
    fields = {**HOOK_FIELDS["UserPromptSubmit"], "prompt": QUESTION, "cwd": CWD}
    hook("UserPromptSubmit", payload("UserPromptSubmit", folder / "t" / "running.jsonl", "a-new-session", **fields))
    new = Shell("a-new-session", cwd=CWD, start=int(time.time() - START.timestamp()))
    again = [*new.ran("git comit", NO_COMMAND), *new.ran("git commit"), *_missed(new)]
    write(folder / "t" / "running.jsonl", new.user(QUESTION), new.text("I change `TidePoller` now."), *again)
    _done("import", str(folder / "t"))


def _missed(talk: Shell) -> list[Record]:
    """A file that is looked for in the wrong place, and then found."""
    told: list[Record] = []
    for tool, values, said, is_error in (
        ("Read", {"file_path": "/home/mara/quay/pol.py"}, "File does not exist there.", True),
        ("Glob", {"pattern": "**/buoy*"}, "src/buoys.py", False),
        ("Read", {"file_path": "/home/mara/quay/src/buoys.py"}, "BUOYS = 3", False),
    ):
        call_id = f"toolu_{talk.number}"
        told.append(talk.call(tool, call_id, **values))
        told.append(talk.result(call_id, said, **({"is_error": True} if is_error else {})))
    return told


def _exported(folder: Path) -> str:
    """A memory that another store has written."""
    elsewhere = {**os.environ, "HOWCOME_HOME": str(folder / "elsewhere")}
    for words in (("import", str(folder / "t")), ("remember", "--project", CWD, "--type", "pattern", OUTSIDE),
                  ("export", "--all-projects", str(folder / "outside.jsonl"))):  # fmt: skip
        assert run(*words, environment=elsewhere).returncode == 0
    return str(folder / "outside.jsonl")


def _done(*words: str) -> None:
    done = run(*words)
    assert done.returncode == 0, done.stderr


class Browser:
    """Asks the viewer as a browser does that came by the link."""

    def __init__(self, folder: str = "/") -> None:
        self.keys = Keys(PORT)
        self.viewer = Viewer(os.environ, folder, self.keys)
        self.origin = f"http://{self.keys.host}"
        self.stranger = TestClient(self.viewer.answers, base_url=self.origin, follow_redirects=False)
        self.client = TestClient(self.viewer.answers, base_url=self.origin, follow_redirects=False)
        assert self.client.get(self.keys.link).status_code == 303

    def page(self, name: str, status: int = 200) -> str:
        """A page's HTML."""
        answer = self.client.get(f"{self.keys.root}/{name}")
        assert answer.status_code == status, answer.text
        return str(answer.text)

    def shows(self, name: str) -> str:
        """What a page says, without its markup."""
        return html.unescape(re.sub(r"<[^>]*>", "", self.page(name)))

    def do(self, name: str, status: int = 303, **fields: object) -> str:
        """Sends a form: the page that it leads to, or what the problem is."""
        form = {"form": self.keys.form, "back": f"{self.keys.root}/review", **fields}
        answer = self.client.post(f"{self.keys.root}/do/{name}", data=form, headers={"Origin": self.origin})
        assert answer.status_code == status, answer.text
        return str(self.client.get(answer.headers["location"]).text if status == 303 else answer.text)


def memories(*more: str) -> list[dict[str, object]]:
    """Every memory, as the command line tells programs."""
    listed = run("memories", "--all-projects", "--forgotten", "--superseded", *more, "--json")
    found: list[dict[str, object]] = json.loads(listed.stdout)["memories"]
    return found
