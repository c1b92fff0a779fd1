"""Every command, by section."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import click

    from howcome.cli.declared import Declared

SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Set up": {
        "init": ("lifecycle", "Connect agents to their memory, and read the sessions that are already there."),
        "upgrade": ("lifecycle", "Bring the store and every install up to this version of howcome."),
        "doctor": ("doctor", "Find what is wrong, and say the remedy."),
        "status": ("status", "Show what is stored, what is unread, what went wrong."),
        "compact": ("whole_store", "Make the database smaller; drop whole texts of old tool traffic."),
        "backup": ("whole_store", "Copy the database to a file, or put a copy back."),
        "migrate": ("whole_store", "Copy the store to a server, or from one back to this machine."),
        "uninstall": ("lifecycle", "Disconnect agents from their memory; it stays, unless --purge is given."),
        "config": ("config", "Show and change settings."),
    },
    "Read transcripts": {
        "import": ("importing", "Read transcripts into the store."),
        "observe": ("observing", "Take observations of agents without transcripts (JSON on stdin)."),
        "projects": ("projects", "List projects; join two that are one, or keep them apart."),
    },
    "Find and read": {
        "search": ("searching", "Search what was said and done, best first."),
        "show": ("reading", "Show one event or memory with its whole text."),
        "timeline": ("reading", "List the latest sessions, or what happened in one."),
        "rationale": ("distilling", "What was asked, what was done, and why."),
        "blame": ("reading", "Why a line of a file is there: howcome FILE:LINE."),
        "history": ("reading", "What became of a file: edits, plans, commits."),
        "view": ("doors", "Show all of it in a browser; take back what is wrong."),
    },
    "What was said": {
        "try": ("why", "See what a new session would be told with a prompt, and why."),
        "why": ("why", "Say why a prompt was told what it was told, and no more."),
        "stats": ("stats", "Count what sessions did, what it cost, what precedes rework."),
        "patterns": ("stats", "What goes wrong again and again, what it costs, what helps."),
        "receipt": ("stats", "Say what was injected, its tokens, and how often it was used."),
    },
    "Memories": {
        "distil": ("distilling", "Turn what sessions taught into memories."),
        "consolidate": ("distilling", "Merge memories that say the same; let sleep what nobody used; undo it."),
        "graduate": ("carrying", "Propose what is proven for CLAUDE.md, AGENTS.md or MEMORY.md; take it out."),
        "learnt": ("memories", "List what sessions taught, newest first; take it back."),
        "memories": ("memories", "List memories, newest first; say why one is there; pin, review."),
        "remember": ("remembering", "Keep one thing that later sessions should know."),
        "update": ("remembering", "Correct a memory: the old one stays in its chain."),
        "forget": ("remembering", "Take a memory out of every search; it can be restored."),
        "restore": ("remembering", "Bring a forgotten memory back."),
        "purge": ("remembering", "Erase a memory's text from disk, for good."),
        "export": ("carrying", "Write memories as JSON Lines."),
        "import-memories": ("carrying", "Read exported memories into this store."),
        "share": ("sharing", "Write memories into the repository, for your team to review."),
        "sync": ("sharing", "Bring memories to your other machines, and theirs here."),
    },
    "A team": {
        "team": ("team", "Share memories through a team's server; make and administer a team."),
        "serve": ("team", "Serve a team's memories, over HTTPS and MCP."),
    },
    "Search by meaning": {"model": ("model", "Get, show, use or remove the model for search by meaning.")},
    "Code": {"graph": ("projects", "Which file of a project imports which.")},
    "Spend": {"spending": ("model", "Show what the language model cost; stop and allow it.")},
    "Measure": {
        "eval": ("evaluate", "Measure retrieval and redaction on data sets."),
        "replay": ("why", "See what would have been said in your own sessions."),
    },
    "For agents": {
        "mcp": ("doors", "Serve an agent's tools over MCP (stdio)."),
        "hook": ("doors", "Answer an agent's hook (payload on stdin)."),
    },
}
"""Every command by section: its module, and what a list says of it. Only the module that is asked for is imported."""


def names() -> list[str]:
    """Of every command."""
    return [name for commands in SECTIONS.values() for name in commands]


def command_of(name: str) -> Declared | click.Command | None:
    """The command of a name; None where there is none."""
    for commands in SECTIONS.values():
        if name in commands:
            found = vars(__import__(f"howcome.cli.{commands[name][0]}", fromlist=("",))).values()
            command: Declared | click.Command = next(one for one in found if getattr(one, "name", "") == name)
            return command
    return None
