"""Other agents' real programs, each with a HOME of its own, a scripted model on loopback and nothing else to reach.

npm installs them into `.e2e/agents/`. One that cannot be installed is named by a skip.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.client import call, installed, say
from tests.client.install import CACHE, VERSIONS
from tests.client.loopback import loopback
from tests.e2e.desk import Desk, processes_of
from tests.warm import eventually

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

PACKAGES = {
    "codex": "@openai/codex",
    "gemini": "@google/gemini-cli",
    "copilot": "@github/copilot",
    "opencode": "opencode-ai",
}
RELEASES = {
    "claude-code": VERSIONS,
    "codex": ("0.169.0", "0.142.3"),
    "gemini": ("0.61.0", "0.53.0"),
    "copilot": ("1.0.102", "1.0.57"),
    "opencode": ("1.18.33", "1.15.13"),
}
"""The newest version of each, and an older one."""

AGENTS = tuple(RELEASES)
EACH = [(name, version) for name, versions in RELEASES.items() for version in versions]
HOWCOME = Path(sys.executable).with_name("howcome")
RUN_S, NPM_S = 240, 900


def program(agent: str, version: str) -> Path:
    """The agent's program, installed on first use."""
    package = f"{PACKAGES[agent]}@{version}"
    folder = CACHE / "agents" / version
    found = folder / "node_modules" / ".bin" / agent
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip(f"{agent} was not run: npm is not on PATH")
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        if not found.exists():
            words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", package]
            done = subprocess.run(words, capture_output=True, text=True, timeout=NPM_S, check=False)
            if done.returncode or not found.exists():
                pytest.skip(f"{agent} was not run: npm cannot install {package}: {done.stderr[-300:]}")
    return found


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Other test processes wait until it is installed."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Call:
    """One call of a tool, by the end of the name that the agent has for it."""

    tool: str
    arguments: dict[str, object]


@dataclass(frozen=True)
class Named:
    """A call by the name under which the agent offers its tool; Codex keeps that in the server's namespace."""

    name: str
    namespace: str
    arguments: str


class Model(ThreadingHTTPServer):
    """A model that makes its `calls`, then says one thing, by three protocols; `asked` are its requests' bodies."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.said = ""
        self.calls: list[Call] = []
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, body: str) -> str | Named:
        """The next call, when the request offers its tool; what is said for any other."""
        if self.calls:
            call = self.calls[0]
            for namespace, name in _offered(json.loads(body)):
                if name.endswith(call.tool):
                    self.calls.pop(0)
                    return Named(name, namespace, json.dumps(call.arguments))
        return self.said


def _offered(body: dict[str, Any]) -> list[tuple[str, str]]:
    """The tools of a request: namespace and name."""
    found = []
    for tool in body.get("tools") or []:
        for one in tool.get("functionDeclarations") or [tool.get("function") or tool]:
            inner = one.get("tools") or []
            found += [(one["name"], each["name"]) for each in inner] if inner else [("", one.get("name") or "")]
    return found


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Model

    def log_message(self, *_: object) -> None:
        """Nothing on the test's screen."""

    def do_GET(self) -> None:
        self._send(json.dumps({"object": "list", "data": [{"id": "scripted", "object": "model"}]}))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        self.server.asked.append(body)
        path, said = self.path.partition("?")[0], self.server.answer(body)
        if path.endswith("/responses"):
            self._stream(_responses(said))
        elif path.endswith("/chat/completions"):
            self._stream(_completions(said), end="data: [DONE]\n\n")
        elif path.endswith(":streamGenerateContent"):
            self._stream([_generated(said)])
        elif path.endswith(":generateContent"):
            self._send(json.dumps(_generated(_chosen(json.loads(body)) or said)))
        else:
            self._send(json.dumps({"totalTokens": 100}))

    def _stream(self, events: list[dict[str, Any]], end: str = "") -> None:
        names = [f"event: {event['type']}\n" if "type" in event else "" for event in events]
        lines = [f"{name}data: {json.dumps(event)}\n\n" for name, event in zip(names, events, strict=True)]
        self._send("".join(lines) + end, "text/event-stream")

    def _send(self, text: str, kind: str = "application/json") -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _responses(said: str | Named) -> list[dict[str, Any]]:
    usage = {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110,
    }  # fmt: skip
    response = {"id": "resp_1", "object": "response", "model": "scripted", "output": []}
    created = {"type": "response.created", "response": {**response, "status": "in_progress"}}
    done = {**response, "status": "completed", "usage": usage}
    item: dict[str, Any]
    if isinstance(said, Named):
        item = {"id": "fc_1", "type": "function_call", "call_id": "call_1", "status": "completed"}
        item |= {"name": said.name, "arguments": said.arguments}
        item |= {"namespace": said.namespace} if said.namespace else {}
        return [
            created,
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {**done, "output": [item]}},
        ]
    content = [{"type": "output_text", "text": said, "annotations": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return [
        created,
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": said,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**done, "output": [item]}},
    ]


def _completions(said: str | Named) -> list[dict[str, Any]]:
    base = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    delta: dict[str, Any] = {"role": "assistant", "content": said}
    if isinstance(said, Named):
        function = {"name": said.name, "arguments": said.arguments}
        delta = {
            "role": "assistant",
            "tool_calls": [{"index": 0, "id": "call_1", "type": "function", "function": function}],
        }
    reason = "tool_calls" if isinstance(said, Named) else "stop"
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": reason}], "usage": usage},
    ]


def _generated(said: str | Named) -> dict[str, Any]:
    part: dict[str, Any] = {"text": said}
    if isinstance(said, Named):
        part = {"functionCall": {"name": said.name, "args": json.loads(said.arguments)}}
    content = {"role": "model", "parts": [part]}
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}], "usageMetadata": usage}


def _chosen(body: dict[str, Any]) -> str:
    """A value for each property of a schema that the client wants an answer in; '' where it wants none."""
    schema = body.get("generationConfig", {}).get("responseJsonSchema") or {}
    properties = schema.get("properties", {})
    values = {name: (one.get("enum") or ["simple"])[0] for name, one in properties.items()}
    return json.dumps(values) if values else ""


class Agent:
    """One agent in a HOME, asked in one project; several share both."""

    def __init__(self, name: str, version: str, home: Path, project: Path) -> None:
        self.name, self.home, self.project = name, home, project
        self.program = program(name, version)
        self.network = loopback()
        self.model = self.network.run(Model)
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        home.mkdir(parents=True, exist_ok=True)
        project.mkdir(parents=True, exist_ok=True)
        CONFIGURED[name](self)

    def put(self, name: str, text: str) -> None:
        """Writes a file of the agent's user."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    @property
    def environment(self) -> dict[str, str]:
        """Everything that the agent knows of its machine."""
        node = shutil.which("node") or "/usr/bin/node"
        path = [str(self.program.parent), str(Path(node).parent), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            "HOME": str(self.home), "PATH": os.pathsep.join(path), "LANG": "C.UTF-8", "TERM": "dumb",
            "SHELL": "/bin/bash", "SCRIPTED_KEY": "dummy", "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": self.model.url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_TELEMETRY_ENABLED": "false", "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false", "COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1",
            "COPILOT_PROVIDER_API_KEY": "dummy", "COPILOT_MODEL": "scripted", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "HOWCOME_DISTILLER": "off",
        }  # fmt: skip

    def run(self, words: list[str], typed: bytes = b"") -> str:
        """Runs a program in the project, with nothing but loopback; what it printed."""

        def start() -> subprocess.CompletedProcess[bytes]:
            return subprocess.run(
                words,
                input=typed,
                cwd=self.project,
                env=self.environment,
                capture_output=True,
                timeout=RUN_S,
                check=False,
            )

        done = self.network.run(start)
        assert done.returncode == 0, f"{words}: {done.returncode}\n{done.stdout.decode()}\n{done.stderr.decode()}"
        return done.stdout.decode()

    def howcome(self, *words: str) -> str:
        """Runs a command of howcome's."""
        return self.run([str(HOWCOME), *words])

    def connect(self) -> None:
        """`howcome init`."""
        self.howcome("init", "--agent", self.name, "--yes", "--no-import")

    def ask(self, prompt: str, said: str = "Understood.", calls: Sequence[Call] = ()) -> str:
        """One session of one prompt: its model makes calls, then says something. What the model was sent."""
        before = len(self.model.asked)
        self.model.said, self.model.calls = said, list(calls)
        self.run([str(self.program), *ASKED[self.name], prompt])
        return "\n".join(self.model.asked[before:])

    def recalled(self, prompt: str) -> str:
        """What earlier sessions say in the requests of a session; a model without hooks has to search for it."""
        is_hooked = self.name in HOOKED
        if not is_hooked:  # its server reads what is new within seconds, and a scripted model asks at once
            self.howcome("import")
        sent = self.ask(prompt, calls=() if is_hooked else [Call("search_memory", {"query": prompt})])
        return sent.replace("&lt;", "<").partition("<howcome-memory" if is_hooked else ANSWERED)[2]

    def kill_in_tool(self, prompt: str) -> None:
        """A session that is killed, with everything it started, while its tool runs."""
        started = self.project / "started"
        self.model.calls = [Call(SHELLS[self.name], {"command": LONG, **SHELL_WORDS[self.name]})]
        words = [str(self.program), *KILLED[self.name], prompt]

        def start() -> subprocess.Popen[bytes]:
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            return subprocess.Popen(words, cwd=self.project, env=self.environment, start_new_session=True, **quiet)

        process = self.network.run(start)
        try:
            eventually(started.exists, limit_s=60)
            time.sleep(WRITTEN_AFTER_S)
        finally:
            _kill_all(self.home)
            process.wait()


ANSWERED = "best first. Full text"
"""What the search tool's answer begins with."""


class ClaudeCode:
    """The same of Claude Code, which has a harness of its own."""

    name = "claude-code"

    def __init__(self, root: Path, version: str) -> None:
        self._desk = Desk(root, installed(version), version)
        self.home, self.howcome = self._desk.home, self._desk.howcome

    def connect(self) -> None:
        """`howcome init`."""
        self.howcome("init", "--agent", self.name, "--yes", "--no-import")

    def ask(self, prompt: str, said: str = "Understood.", calls: Sequence[Call] = ()) -> str:
        """One session of one prompt: its model makes calls, then says something. What the model was sent."""
        made = [call(f"mcp__howcome__{one.tool}", **one.arguments) for one in calls]
        return json.dumps(self._desk.ask(prompt, [*made, say(said)]).bodies("main"))

    def recalled(self, prompt: str) -> str:
        """What earlier sessions say with its prompt."""
        return self.ask(prompt).partition("<howcome-memory")[2]

    def kill_in_tool(self, prompt: str) -> None:
        """A session that is killed while its tool runs: the limit of its time does it."""
        turns = [call("Bash", command=LONG, timeout=300_000)]
        done = self._desk.client.run(self._desk.project, prompt, turns, allow=("Bash",), seconds=KILLED_AFTER_S)
        _kill_all(self.home)
        assert done.exit_code is None


def _kill_all(home: Path) -> None:
    """Ends every process that has a HOME."""
    while left := processes_of(home):
        for number in left:
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(0.1)


def agent_of(name: str, root: Path, version: str = "") -> Agent | ClaudeCode:
    """An agent, its newest version where none is said; all of one root share their HOME and project."""
    version = version or RELEASES[name][0]
    if name == ClaudeCode.name:
        return ClaudeCode(root, version)
    return Agent(name, version, root / "home", root / "harbour")


WRITTEN_AFTER_S = 3
"""Copilot writes what happens some time later: what is killed before is nowhere."""

KILLED_AFTER_S = 20
HOOKED = ("claude-code", "codex", "gemini", "copilot")
"""The agents that have hooks of ours."""

ASKED = {
    "codex": ["exec", "--json", "--skip-git-repo-check"],
    "gemini": ["-p"],
    "copilot": ["--allow-all-tools", "-p"],
    "opencode": ["run", "--format", "json"],
}
KILLED = ASKED | {
    "codex": ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"],
    "gemini": ["--yolo", "-p"],
}
LONG = "touch started; tail -f /dev/null"
SHELLS = {"codex": "exec_command", "gemini": "run_shell_command", "copilot": "bash", "opencode": "bash"}
SHELL_WORDS: dict[str, dict[str, object]] = {
    "codex": {"cmd": LONG}, "gemini": {}, "copilot": {"description": "wait", "mode": "sync"},
    "opencode": {"description": "wait"},
}  # fmt: skip
"""What an agent's shell wants beside the command; Codex has a name of its own for that."""


def _configure_codex(agent: Agent) -> None:
    agent.put(
        ".codex/config.toml",
        'model = "scripted"\nmodel_provider = "scripted"\n\n[model_providers.scripted]\nname = "Scripted"\n'
        f'base_url = "{agent.model.url}/v1"\nwire_api = "responses"\nenv_key = "SCRIPTED_KEY"\n',
    )


def _configure_gemini(agent: Agent) -> None:
    agent.put(".gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n')


def _configure_opencode(agent: Agent) -> None:
    limits = {"context": 100_000, "output": 4000}
    provider = {
        "npm": "@ai-sdk/openai-compatible", "name": "Scripted",
        "options": {"baseURL": f"{agent.model.url}/v1", "apiKey": "dummy"},
        "models": {"scripted": {"name": "Scripted", "tool_call": True, "limit": limits}},
    }  # fmt: skip
    schema = "https://opencode.ai/config.json"  # it adds this itself
    settings = {
        "$schema": schema,
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
    }
    agent.put(".config/opencode/opencode.json", json.dumps(settings))


CONFIGURED = {
    "codex": _configure_codex, "gemini": _configure_gemini, "copilot": lambda _agent: None,
    "opencode": _configure_opencode,
}  # fmt: skip
