"""A `claude` program that does what a test scripts, and writes down how it was started."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tests.others import BUDGET, REVIEW

PROGRAM = """#!{python}
import fcntl, json, os, subprocess, sys, time
FOLDER = {folder!r}
with open(os.path.join(FOLDER, "lock"), "a") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    with open(os.path.join(FOLDER, "script.json")) as stream:
        todo, *rest = json.load(stream) or [{{}}]
    with open(os.path.join(FOLDER, "script.json"), "w") as stream:
        json.dump(rest, stream)
    asked = {{"words": sys.argv[1:], "cwd": os.getcwd(), "prompt": sys.stdin.read(), "pid": os.getpid(),
             "files": os.listdir(), "environment": dict(os.environ), "session": os.getsid(0)}}
    with open(os.path.join(FOLDER, "asked.jsonl"), "a") as stream:
        stream.write(json.dumps(asked) + "\\n")
for words, given in todo.get("runs", []):
    subprocess.run(words, input=given.encode(), stdout=subprocess.DEVNULL, timeout=60)
if "leaves" in todo:
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(os.path.join(FOLDER, "left"), "w") as stream:
        stream.write(str(child.pid))
if "hangs" in todo:
    time.sleep(600)
sys.stderr.write(todo.get("stderr", ""))
answer = {{"type": "result", "subtype": "success", "is_error": False, "result": json.dumps({usual!r}),
          "total_cost_usd": 0.0125, "usage": {{"input_tokens": 30, "cache_creation_input_tokens": 5,
          "cache_read_input_tokens": 7, "output_tokens": 9}}, **todo.get("answer", {{}})}}
sys.stdout.write(todo.get("stdout", json.dumps(answer)))
sys.stdout.flush()
os._exit(todo.get("code", 0))
"""


class ClaudeProgram:
    """The program in a folder of its own; `script` is what its next runs do, in turn.

    An entry may have: answer (fields of the result), stdout, stderr, code, hangs, leaves (a process behind), runs
    (pairs of words and standard input).
    """

    def __init__(self, folder: Path, usual: Any = REVIEW) -> None:
        folder.mkdir(parents=True)
        self.folder, self.path = folder, folder / "claude"
        self.path.write_text(PROGRAM.format(python=sys.executable, folder=str(folder), usual=usual))
        self.path.chmod(0o755)
        self.will()

    def will(self, *script: dict[str, Any]) -> None:
        """What its next runs do."""
        (self.folder / "script.json").write_text(json.dumps(script))

    @property
    def asked(self) -> list[dict[str, Any]]:
        """How it was started, each time."""
        path = self.folder / "asked.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def settings(self) -> dict[str, str]:
        """The variables that name it."""
        return {"HOWCOME_LLM": "claude", "HOWCOME_LLM_COMMAND": str(self.path), **BUDGET}
