"""Run the real Claude Code client against a scripted model on the loopback interface.

How it is called:

    from tests.client import Client, call, installed, say, where

    client = Client(installed("2.1.329"), home=tmp_path / "home")
    run = client.run(project, "what did we decide?", [say("We keep UTC.")])
    body = run.bodies("main")[0]
    where(body, "text a hook injected")

A test that wants another order of answers gives a `Script`; what came in is in `Run.exchanges`.
"""

from tests.client.install import InstallError, installed
from tests.client.runner import Client, Run
from tests.client.script import Call, Rule, Script, Turn, call, say
from tests.client.stub import Exchange, StubModel
from tests.client.transcripts import Place, read_lines, where

__all__ = [
    "Call",
    "Client",
    "Exchange",
    "InstallError",
    "Place",
    "Rule",
    "Run",
    "Script",
    "StubModel",
    "Turn",
    "call",
    "installed",
    "read_lines",
    "say",
    "where",
]
