"""Connecting agents to their memory, and disconnecting them without a trace.

Settings files belong to their users. So they are edited as text: entries are inserted and cut, everything else keeps
its bytes. `agents` says what is put where, `engine` puts it there and takes it out, `install_record` keeps what was
there before, and the rest knows one kind of file or entry each.
"""

from howcome.present.lifecycle import former
from howcome.present.lifecycle.agents import (
    AGENTS,
    Agent,
    elsewhere,
    inspect,
    other_owners,
    parts_of,
    recorded_owners,
    title_of,
    wired_parts,
)
from howcome.present.lifecycle.claude_code import EVENT_TIMEOUTS, MCP_TOOL_EVENTS, MCP_TOOL_SINCE, client_version
from howcome.present.lifecycle.commands import (
    hook_command,
    hook_interpreter,
    howcome_home,
    server_words,
)
from howcome.present.lifecycle.engine import FileReport, PartState, install, uninstall
from howcome.present.lifecycle.install_record import Owner

__all__ = [
    "AGENTS",
    "EVENT_TIMEOUTS",
    "MCP_TOOL_EVENTS",
    "MCP_TOOL_SINCE",
    "Agent",
    "FileReport",
    "Owner",
    "PartState",
    "client_version",
    "elsewhere",
    "former",
    "hook_command",
    "hook_interpreter",
    "howcome_home",
    "inspect",
    "install",
    "other_owners",
    "parts_of",
    "recorded_owners",
    "server_words",
    "title_of",
    "uninstall",
    "wired_parts",
]
