"""The tool that lists what should be looked at again: faded memories, and pairs that may contradict each other."""

from __future__ import annotations

from howcome.domain.events import squeeze
from howcome.domain.memories import MemoryFilter
from howcome.mcp.reading import answer, cut_to_fit
from howcome.present.render import Rendered, counted, entry, joined
from howcome.present.views import memory_head, memory_view

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.domain.memories import Memory
    from howcome.mcp.arguments import Arguments
    from howcome.mcp.workplace import Workplace

LIMIT = 20
MAX_PAIRS = 1000
"""Looked through for an agent's."""

LINE_CHARS = 400
_SETTLE = "Correct one with update_memory or forget; a person settles a pair: howcome memories --settle NUMBER."


def list_stale(session: Workplace, arguments: Arguments) -> str:
    """Faded memories of a scope, or pairs of memories that may contradict each other."""
    app, scope, agent = session.app, session.scope(arguments.text("project")), arguments.text("agent_id")
    limit = arguments.number("limit", LIMIT)
    if arguments.flag("contradictions"):
        pairs = app.memories.waiting(scope, limit if agent is None else MAX_PAIRS)
        pairs = [one for one in pairs if agent is None or agent in (one.older.agent, one.newer.agent)][:limit]
        if not pairs:
            return "No memories here contradict each other, as far as their words tell."
        parts = [
            joined([entry(f"Pair {pair.row}, {pair.reason}:"), _entry(pair.older), _entry(pair.newer)])
            for pair in pairs
        ]
        return answer(app, f"{counted(len(pairs), 'pair')}, newest first. {_SETTLE}", cut_to_fit(parts, "limit"))
    stale = app.memories.stale(scope, limit, MemoryFilter(agent=agent))
    if not stale:
        return "No memories here have faded."
    head = f"{counted(len(stale), 'memory', 'memories')}, the longest unsaid first; forget what is no longer so."
    return answer(app, head, cut_to_fit([_entry(memory) for memory in stale], "limit"))


def _entry(memory: Memory) -> Rendered:
    return entry(memory_head(memory_view(memory)), squeeze(memory.text, LINE_CHARS))
