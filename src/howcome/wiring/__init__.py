"""Connecting agents to their memory, and disconnecting them without a trace.

Settings files belong to their users. So they are edited as text: entries are inserted and cut, everything else keeps
its bytes. The agents' objects (`clients/`) say what is put where, `engine` puts it there and takes it out,
`install_record` keeps what was there before, and the rest knows one kind of file or entry each.
"""

from howcome.wiring.agents import (
    GRADUATED,
    agent_of,
    elsewhere,
    graduated_owners,
    inspect,
    is_distrusted,
    other_owners,
    parts_of,
    recorded_owners,
    title_of,
    trust,
    wired_parts,
)
from howcome.wiring.commands import hook_command, hook_interpreter, howcome_home, server_words
from howcome.wiring.engine import FileReport, PartState, install, uninstall
from howcome.wiring.install_record import Owner

__all__ = [
    "GRADUATED",
    "FileReport",
    "Owner",
    "PartState",
    "agent_of",
    "elsewhere",
    "graduated_owners",
    "hook_command",
    "hook_interpreter",
    "howcome_home",
    "inspect",
    "install",
    "is_distrusted",
    "other_owners",
    "parts_of",
    "recorded_owners",
    "server_words",
    "title_of",
    "trust",
    "uninstall",
    "wired_parts",
]
