"""Other agents' real programs, each with a HOME of its own, a scripted model on loopback and nothing else to reach.

npm installs them into `.e2e/agents/`. One that cannot be installed is named by a skip.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.client.install import CACHE
from tests.client.loopback import loopback

PACKAGES = {
    "codex": "@openai/codex@0.169.0",
    "gemini": "@google/gemini-cli@0.61.0",
    "copilot": "@github/copilot@1.0.102",
    "opencode": "opencode-ai@1.18.33",
}
HOWCOME = Path(sys.executable).with_name("howcome")
RUN_S, NPM_S = 240, 900


def program(agent: str) -> Path:
    """The agent's program, installed on first use."""
    folder = CACHE / "agents" / PACKAGES[agent].rpartition("@")[2]
    found = folder / "node_modules" / ".bin" / agent
    if not found.exists():
        npm = shutil.which("npm")
        if npm is None:
            pytest.skip(f"{agent} was not run: npm is not on PATH")
        folder.mkdir(parents=True, exist_ok=True)
        words = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", PACKAGES[agent]]
        done = subprocess.run(words, capture_output=True, text=True, timeout=NPM_S, check=False)
        if done.returncode or not found.exists():
            pytest.skip(f"{agent} was not run: npm cannot install {PACKAGES[agent]}: {done.stderr[-300:]}")
    return found


class Model(ThreadingHTTPServer):
    """A model that says one thing, by three protocols; `asked` are the bodies of its requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.said = ""
        self.asked: list[str] = []

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_port}"


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
        path, said = self.path.partition("?")[0], self.server.said
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


def _responses(said: str) -> list[dict[str, Any]]:
    content = [{"type": "output_text", "text": said, "annotations": []}]
    item = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content}
    usage = {
        "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
        "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110,
    }  # fmt: skip
    response = {"id": "resp_1", "object": "response", "model": "scripted", "output": []}
    done = {**response, "status": "completed", "output": [item], "usage": usage}
    return [
        {"type": "response.created", "response": {**response, "status": "in_progress"}},
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "content": []}},
        {
            "type": "response.output_text.delta",
            "item_id": "msg_1",
            "output_index": 0,
            "content_index": 0,
            "delta": said,
        },
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": done},
    ]


def _completions(said: str) -> list[dict[str, Any]]:
    base = {"id": "chat-1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
    delta = {"role": "assistant", "content": said}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return [
        {**base, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {**base, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    ]


def _generated(said: str) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": said}]}
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

    def __init__(self, name: str, home: Path, project: Path) -> None:
        self.name, self.home, self.project = name, home, project
        self.program = program(name)
        self.network = loopback()
        self.model = self.network.run(Model)
        threading.Thread(target=self.model.serve_forever, daemon=True).start()
        home.mkdir(exist_ok=True)
        project.mkdir(exist_ok=True)
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
        """`howcome init`, and what the agent wants beside it."""
        self.howcome("init", "--agent", self.name, "--yes", "--no-import")
        if self.name == "codex":
            _trust(self)

    def ask(self, prompt: str, said: str = "Understood.") -> str:
        """One session of one prompt, answered with `said`; what its model was sent."""
        before = len(self.model.asked)
        self.model.said = said
        self.run([str(self.program), *ASKED[self.name], prompt])
        return "\n".join(self.model.asked[before:])


ASKED = {
    "codex": ["exec", "--json", "--skip-git-repo-check"],
    "gemini": ["-p"],
    "copilot": ["--allow-all-tools", "-p"],
    "opencode": ["run", "--format", "json"],
}


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


def _trust(agent: Agent) -> None:
    """What a person says with /hooks, through the program's own server."""
    about = {"clientInfo": {"name": "test", "title": "test", "version": "1"}, "capabilities": {"experimentalApi": True}}

    def start() -> list[str]:
        words = [str(agent.program), "app-server"]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        with subprocess.Popen(words, env=agent.environment, cwd=agent.project, text=True, **pipes) as server:

            def ask(number: int, method: str, params: object) -> Any:
                assert server.stdin is not None
                assert server.stdout is not None
                server.stdin.write(
                    json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}) + "\n"
                )
                server.stdin.flush()
                return next(said for line in server.stdout if (said := json.loads(line)).get("id") == number)["result"]

            ask(1, "initialize", about)
            hooks = [
                hook for one in ask(2, "hooks/list", {"cwds": [str(agent.project)]})["data"] for hook in one["hooks"]
            ]
            state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in hooks}
            edit = {"keyPath": "hooks.state", "mergeStrategy": "upsert", "value": state}
            ask(3, "config/batchWrite", {"edits": [edit], "reloadUserConfig": True})
            server.terminate()
            return list(state)

    assert len(agent.network.run(start)) == 3
