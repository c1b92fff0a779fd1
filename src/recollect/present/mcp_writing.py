"""The tools that write: memories kept, corrected and forgotten by an agent. What they keep is the agent's own words."""

from __future__ import annotations

from recollect.domain import memories
from recollect.domain.events import ORIGIN_ASSISTANT
from recollect.present.render import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from recollect.present.mcp_session import Session
    from recollect.present.mcp_tools import Arguments


def remember(session: Session, arguments: Arguments) -> str:
    """Keeps a memory of this project, or of every project."""
    is_global = arguments.text("scope") == "global"
    memory, is_new = session.app.memories.add(
        arguments.text("text") or "", type=arguments.text("type") or memories.DEFAULT_TYPE,
        project=None if is_global else session.folder, agent=arguments.text("agent_id"),
        evidence=arguments.texts("evidence"), origin=ORIGIN_ASSISTANT,
    )  # fmt: skip
    where = "in every project" if memory.project is None else f"in {escape(memory.project)}"
    if not is_new:
        return f"Known already as {memory.id} ({memory.type}, {where}); nothing was added."
    return f"Kept as {memory.id} ({memory.type}, {where}). Later sessions find it; update_memory corrects it."


def update_memory(session: Session, arguments: Arguments) -> str:
    """Supersedes a memory, or sets its status."""
    old = arguments.text("id") or ""
    memory = session.app.memories.update(
        old, text=arguments.text("text"), type=arguments.text("type"), status=arguments.text("status"),
        agent=arguments.text("agent_id"),
    )  # fmt: skip
    if memory.supersedes is not None and (arguments.text("text") or arguments.text("type")):
        return f"{memory.id} supersedes {old}, which stays in its chain ({memory.type}, {memory.status})."
    return f"{memory.id} is {memory.status} now."


def forget(session: Session, arguments: Arguments) -> str:
    """Takes a memory out of every search."""
    memory = session.app.memories.forget(arguments.text("id") or "", agent=arguments.text("agent_id"))
    return f"{memory.id} is forgotten: no search finds it. A person can bring it back: recollect restore {memory.id}"
