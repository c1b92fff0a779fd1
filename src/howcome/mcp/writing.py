"""The tools that write, and the one that lists what to look at again. What they keep is the agent's own words."""

from __future__ import annotations

from howcome.domain import memories
from howcome.domain.events import ORIGIN_ASSISTANT, squeeze
from howcome.domain.memories import Memory, MemoryFilter
from howcome.errors import UsageError
from howcome.mcp.arguments import Arguments
from howcome.mcp.reading import answer, cut_to_fit
from howcome.mcp.workplace import Workplace
from howcome.memory.wording import worded
from howcome.present.render import Rendered, counted, entry, joined
from howcome.present.views import memory_head, memory_view
from howcome.retrieve.projects import project_label

MIN_ID_CHARS = 8
"""What is changed is named by its id, not by the two letters that happen to find some project's memory."""


def remember(session: Workplace, arguments: Arguments) -> str:
    """Keeps a memory of this project, or of every project."""
    is_global = arguments.text("scope") == "global"
    memory, is_new = session.app.memories.add(
        worded(arguments.text("text") or "", as_is=arguments.flag("as_is")),
        type=arguments.text("type") or memories.DEFAULT_TYPE,
        project=None if is_global else session.project_folder(),
        also=_also(session, arguments),
        agent=arguments.text("agent_id"),
        evidence=arguments.texts("evidence"),
        origin=ORIGIN_ASSISTANT,
    )
    where = _where(memory)
    if not is_new:
        known = f"Known already as {memory.id} ({memory.type}, {where}); nothing was added."
        return answer(session.app, known, [entry(memory_head(memory_view(memory)), memory.text)])
    hints = f"Later sessions find it; update_memory corrects it.{_beside(arguments, memory)}"
    done = f"Kept as {memory.id} ({memory.type}, {where}). {hints}"
    if (arguments.text("text") or "").strip() == memory.text or _taken_out(arguments, memory):
        return done
    put = f"{done} It was put in other words (as_is keeps yours):"
    return answer(session.app, put, [entry(memory_head(memory_view(memory)), memory.text)])


def update_memory(session: Workplace, arguments: Arguments) -> str:
    """Supersedes a memory, or sets its status."""
    old = session.app.memories.get(_id(arguments))
    text = arguments.text("text")
    memory = session.app.memories.update(
        old.key.hex(),
        text=text if text is None else worded(text, as_is=arguments.flag("as_is")),
        type=arguments.text("type"),
        status=arguments.text("status"),
        agent=arguments.text("agent_id"),
        also=_also(session, arguments),
    )
    if memory.supersedes == old.row:
        about = f"({memory.type}, {memory.status})"
        return f"{memory.id} supersedes {old.id}, which stays in its chain {about}.{_taken_out(arguments, memory)}"
    if memory.row != old.row:
        return f"{memory.id} says that already, and is as it was; nothing was superseded: {old.id} stays, too."
    return f"{memory.id} is {memory.status} now" + (f", {_where(memory)}." if memory.also else ".")


def forget(session: Workplace, arguments: Arguments) -> str:
    """Takes a memory out of every search."""
    is_wrong = arguments.flag("never_again")
    memory = session.app.memories.forget(_id(arguments), agent=arguments.text("agent_id"), is_wrong=is_wrong)
    never = ", and nothing that says the same is learnt again" if memory.wrong_ms is not None else ""
    return (
        f"{memory.id} is forgotten: no search finds it{never}. A person can bring it back: howcome restore {memory.id}"
    )


def _also(session: Workplace, arguments: Arguments) -> list[str]:
    """The roots of other projects, by their folders (or their names)."""
    named, instead = session.app.projects.named, "or a folder that is there"
    return [named(folder, session.folder, instead)[1] for folder in arguments.texts("also")]


def _where(memory: Memory) -> str:
    return f"in {', '.join(map(project_label, memory.roots)) or 'every project'}"


def _beside(arguments: Arguments, memory: Memory) -> str:
    """What keeping a memory did to it and to others."""
    did = f" It supersedes {memory.supersedes_id}." if memory.supersedes_id else ""
    if memory.contradicts:
        did += f" It contradicts {', '.join(memory.contradicts)}: both are kept until a person settles it."
    return did + _taken_out(arguments, memory)


def _taken_out(arguments: Arguments, memory: Memory) -> str:
    """What an agent should know: what it thinks is kept is not all there."""
    rules = memories.taken_out(arguments.text("text") or "", memory.text)
    return f" Taken out of it: {counted(len(rules), 'secret')} ({', '.join(dict.fromkeys(rules))})." if rules else ""


def _id(arguments: Arguments) -> str:
    """The id of the memory to change; too little of it is refused."""
    text = (arguments.text("id") or "").strip()
    if len(text.lower().removeprefix(memories.ID_PREFIX)) < MIN_ID_CHARS:
        raise UsageError(f"id: write the whole id of the memory, such as {memories.ID_PREFIX}3f9a0c41d2e7")
    return text


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
