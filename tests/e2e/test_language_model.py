"""The real client as the language model of a search: one session that nobody hears of, held apart from its user's."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.client import say
from tests.client.loopback import loopback
from tests.client.script import Rule, Script
from tests.client.stub import StubModel, listen
from tests.others import BUDGET, REVIEW

from howcome.providers.llm_adapter import INSTRUCTION

if TYPE_CHECKING:
    from pathlib import Path

    from tests.client.script import Body
    from tests.e2e.desk import Desk

ASKING = [sys.executable, "-m", "howcome", "search", "--json", "which pump, and the basin?"]
SECONDS = 110


def test_it_classifies_a_question_and_leaves_no_trace(desk: Desk, tmp_path: Path) -> None:
    """No hook, server, memory file or tool of the user's reaches it; no transcript, no event, but one receipt."""
    desk.howcome("init", "--yes")
    desk.ask("what drains the basin?", [say("We decided that pump four drains the TidalClock basin.")])
    mark = tmp_path / "mark"
    (desk.home / ".claude" / "CLAUDE.md").write_text("Sing every answer.")
    servers = {"noted": {"type": "stdio", "command": "sh", "args": ["-c", f"echo started >> {mark}; cat"]}}
    (desk.home / ".claude.json").write_text(json.dumps({"mcpServers": servers}))
    events, transcripts = desk.events(), sorted(desk.home.rglob("*.jsonl"))
    rule = Rule("asked", is_ours, [say(json.dumps(REVIEW), input_tokens=321, output_tokens=12)])
    with StubModel(Script(rules=[rule]), loopback().run(listen)) as model:
        environment = {
            **desk.client.environment(), **BUDGET, "ANTHROPIC_BASE_URL": model.url, "HOWCOME_LLM": "claude",
            "HOWCOME_LLM_COMMAND": str(desk.client.executable), "HOWCOME_CLASSIFIER_WEIGHT": "0.5",
        }  # fmt: skip
        search = loopback().run(
            lambda: subprocess.Popen(ASKING, cwd=desk.project, env=environment, stdout=subprocess.PIPE)
        )
        assert json.loads(search.communicate(timeout=SECONDS)[0])["results"]
    (asked,) = [exchange for exchange in model.exchanges if exchange.route == "asked"]
    assert not asked.body.get("tools")
    assert "Sing every answer" not in json.dumps(asked.body)
    assert not mark.exists()
    assert (desk.events(), sorted(desk.home.rglob("*.jsonl"))) == (events, transcripts)
    [receipt] = desk.report("spending")["receipts"]
    assert (receipt["provider"], receipt["outcome"], receipt["tokens_in"]) == ("claude", "ok", 321)


def is_ours(body: Body) -> bool:
    """Whether a request is the call: old clients warm up with others."""
    return INSTRUCTION.strip() in json.dumps(body.get("system"), ensure_ascii=False).replace("\\n", "\n")
